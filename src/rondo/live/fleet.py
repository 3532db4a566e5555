"""Fleet: the messages of many devices -> one session each, with its own state and folder, OUT/devices/<device>/.

Exactly once: a checkpoint of a device holds the offset up to which it has read. The mark of a partition is the lowest
offset that lies in no checkpoint yet; it is written after the checkpoints, and then confirmed to the broker. A fleet
that is started again, or another process that gets the partition, begins at the mark; devices pass over what they have.
One that sends what cannot be read, or whose folder cannot be used, is refused and does not stop the others; a full or
broken disk stops all. Those that were silent longest are put away when more than `most_open` are open, and go on from
their checkpoints when they send again.
"""

from __future__ import annotations

import errno
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from rondo.continual.checkpoint import fingerprint, locked
from rondo.errors import InputError, OutputError, SettingError
from rondo.live.address import seconds_in
from rondo.live.device import DeviceRows, MessageRules
from rondo.live.growing_run import copy_model
from rondo.live.inbox import FeedStore
from rondo.live.payloads import UnreadablePayload, check_kind, rows_by_field
from rondo.live.session import GivenSource, Session, SessionPaths, Written, missing_cells
from rondo.live.source import FeedRequest, Message, feed_kind
from rondo.live.watching import Typical
from rondo.model.describe import fitted_ids
from rondo.model.method import CHECKPOINT
from rondo.run.health import DEVICES
from rondo.store.folder import make_folder
from rondo.store.model_file import MANIFEST

if TYPE_CHECKING:
    from rondo.model.rondo import Rondo

_KEEP_AFTER_S = 90.0  # a message waits no longer than that for a checkpoint, however few come
_MARKS_AFTER_S = 1.0
_BUSY_S = 60.0  # a device that another process has (before a rebalance reaches it, or to name units) is waited for
_REFRESH_SHARE = 0.05  # of the time, for segments and summaries
_LONGEST_NAME = 100
_OF_ALL = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EMFILE, errno.ENFILE, errno.ENOMEM)


def fleet_address(where: str) -> tuple[str, MessageRules]:
    """What --source names: the address of the feed, and the options about messages, which it does not see.

    >>> fleet_address("mqtt://host/sensors/#?key=device&client=a")[0]
    'mqtt://host/sensors/#?client=a'
    """
    address, _, query = where.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    key, sequence = options.pop("key", None), options.pop("sequence", None)
    payload = check_kind(options.pop("payload", "auto").replace(" ", "+"))  # what a plus is in a query
    gap_s = seconds_in(options.pop("gap", "10s"), "gap")
    rest = f"?{urlencode(options, safe='/:')}" if options else ""
    return address + rest, MessageRules(key, sequence, payload, gap_s)


@dataclass
class OpenDevice:
    """A device whose session is open."""

    name: str
    folder: Path
    session: Session
    rows: DeviceRows
    opened: ExitStack
    waiting: dict[str, int] = field(default_factory=dict)  # the first offsets that are in no checkpoint
    waiting_since: float = 0.0
    is_stale: bool = False  # segments and summary are behind


class DeviceStep(NamedTuple):
    """What one device has written."""

    device: OpenDevice
    written: Written


class Told(NamedTuple):
    """Callbacks: a line for people, a device that has begun or resumed, and one that is refused."""

    said: Callable[[str], None] = lambda line: None
    begun: Callable[[str, Path, Session], None] = lambda device, folder, session: None
    refused: Callable[[str, str], None] = lambda device, reason: None


class Fleet:
    """All devices of a feed."""

    def __init__(
        self,
        model: Rondo,
        model_folder: Path,
        where: str,
        out: Path,
        *,
        frozen: bool = False,
        told: Told | None = None,
        most_open: int = 1000,
        keep_columns: Sequence[str] = (),
        typical: Typical | None = None,
    ) -> None:
        kind = feed_kind(where)
        if kind is None:
            raise SettingError(f"{where}: expected an address such as mqtt://host/topic; check --source")
        self._model, self._where, self.out = model, where, out
        self._most_open = most_open
        missing_cells(model, keep_columns)  # refuses names that the model does not have
        self._chosen: dict[str, Any] = {"frozen": frozen, "keep_columns": tuple(keep_columns), "typical": typical}
        self._told = told or Told()
        address, self._rules = fleet_address(where)
        self._kind = kind.name
        self.devices: OrderedDict[str, OpenDevice] = OrderedDict()  # those that are open, the longest silent first
        self.refused: dict[str, str] = {}  # devices that cannot be labelled, and why
        self.n_unreadable = 0  # messages of which nobody can tell the device
        self._next: dict[str, int] = {}  # of each partition, the offset after the last message given
        self._marks: dict[str, int] = {}  # as written last
        self._marks_due = 0.0
        self._refresh_at = 0.0
        self._model_folder, self._model_sha256 = self._shared_model(model_folder)
        self._store = FeedStore(out / "feed")
        request = FeedRequest(self._store, model.preprocessor_.row_channels, model.rate_, self.revoke, self._told.said)
        try:
            self.feed = kind.open(address, request)
        except BaseException:
            self._store.close()
            raise

    def _shared_model(self, model_folder: Path) -> tuple[Path, str]:
        sha256 = fingerprint(model_folder)
        own = self.out / "model"
        make_folder(self.out, DEVICES)
        if (own / MANIFEST).is_file() and fingerprint(own) != sha256:  # without one, `copy_model` was killed
            raise OutputError(f"{self.out}: it was begun with another model; give that one, or choose another --out")
        copy_model(model_folder, own, self._model.edits_.among(fitted_ids(self._model)))
        return own, sha256

    def step(self, seconds: float) -> list[DeviceStep]:
        """Take the messages that come within so many seconds, and label their rows; gives what was written."""
        touched: dict[str, None] = {}
        for message in self.feed.poll(seconds):
            for name, own in self._of_devices(message):
                if self._hand_over(name, own):
                    touched[name] = None
            self._next[message.partition] = message.offset + 1
        steps = [step for name in touched for step in self._label(self.devices[name])]
        self._keep_due()
        self._put_away()
        return steps

    def _of_devices(self, message: Message) -> Iterator[tuple[str, Message]]:
        """The message, or its part for each device that it names."""
        if self._rules.key is None:
            yield message.device, message
            return
        try:
            parts = rows_by_field(message.payload, self._rules.key)
        except UnreadablePayload as error:
            self.n_unreadable += 1
            if self.n_unreadable == 1 or self.n_unreadable % 1000 == 0:
                self._told.said(f"{self.n_unreadable} messages so far belong to no device ({error}); they are left out")
            return
        for name, payload in parts.items():
            yield name, message._replace(device=name, payload=payload)

    def _hand_over(self, name: str, message: Message) -> bool:
        """Whether the device has something to read now."""
        if name in self.refused:
            return False
        device = self.devices.get(name)
        if device is None:
            with self._refused_alone(name):
                device = self._begun(name)
            if device is None:
                return False
            self._told.begun(name, device.folder, device.session)
        self.devices.move_to_end(name)
        if not device.rows.take(message):
            return False
        if not device.waiting:
            device.waiting_since = time.monotonic()
        device.waiting.setdefault(message.partition, message.offset)
        return True

    def _begun(self, name: str) -> OpenDevice:
        """The session of a device, new or from its checkpoint."""
        folder = make_folder(self.out, DEVICES, folder_of(name))
        given = GivenSource(self._kind, folder.name, partial(DeviceRows, name, self._rules), self._model_sha256)
        place = SessionPaths(self._where, folder, follow=True)
        with ExitStack() as stack:
            stack.enter_context(locked(folder / CHECKPOINT, _BUSY_S))
            session = Session(self._model, self._model_folder, place, given=given, **self._chosen)
            stack.callback(session.close)
            assert isinstance(session.source, DeviceRows)
            opened = OpenDevice(name, folder, session, session.source, stack.pop_all())
        self.devices[name] = opened
        return opened

    @contextmanager
    def _refused_alone(self, name: str) -> Iterator[None]:
        """What fails in the block concerns one device, which is refused; what every device would meet ends the run.

        Then what came is not lost: the same command reads it again.
        """
        try:
            yield
        except InputError as error:
            if _concerns_all(error):
                raise
            if name in self.devices:
                self._close(self.devices[name])
            with suppress(OSError):  # there is something in it
                (self.out / DEVICES / folder_of(name)).rmdir()
            self.refused[name] = str(error)
            self._told.said(f"device '{name}' is refused, its messages are left out: {error}")
            self._told.refused(name, str(error))

    def _label(self, device: OpenDevice) -> Iterator[DeviceStep]:
        """Everything that has come, to the last row: only then can a checkpoint be made."""
        with self._refused_alone(device.name):  # what came before the trouble is labelled and kept
            while (written := device.session.step()) is not None:
                device.is_stale = True
                yield DeviceStep(device, written)
            if device.session.is_due:
                self._keep(device)

    def _keep(self, device: OpenDevice) -> None:
        with self._refused_alone(device.name):
            device.session.keep()
            device.waiting.clear()

    def _keep_due(self) -> None:
        """Checkpoints of those that have waited long enough, the marks, and now and then what follows from labels."""
        now = time.monotonic()
        for device in list(self.devices.values()):
            if device.waiting and now - device.waiting_since > _KEEP_AFTER_S:
                self._keep(device)
        if now >= self._marks_due:
            self._put_marks()
            self._marks_due = now + _MARKS_AFTER_S
        if now >= self._refresh_at:
            stale = next((device for device in self.devices.values() if device.is_stale), None)
            if stale is not None:
                self._refresh(stale)
                self._refresh_at = time.monotonic() + (time.monotonic() - now) / _REFRESH_SHARE

    def _refresh(self, device: OpenDevice) -> None:
        device.is_stale = False
        with self._refused_alone(device.name):
            device.session.refresh()

    def _put_marks(self) -> None:
        marks = dict(self._next)
        for device in self.devices.values():
            for partition, offset in device.waiting.items():
                marks[partition] = min(marks.get(partition, offset), offset)
        changed = {name: offset for name, offset in marks.items() if self._marks.get(name) != offset}
        if changed:
            self._store.put_marks(changed)
            self._marks |= changed
            self.feed.settle(changed)

    def _put_away(self) -> None:
        """The longest silent, where too many are open."""
        while len(self.devices) > self._most_open:
            device = next(iter(self.devices.values()))
            if device.is_stale:
                self._refresh(device)
            self._keep_and_close(device)

    def _keep_and_close(self, device: OpenDevice) -> None:
        if device.waiting:
            self._keep(device)
        if device.name in self.devices:
            self._close(device)

    def _close(self, device: OpenDevice) -> None:
        del self.devices[device.name]
        device.opened.close()

    def revoke(self, partitions: Collection[str]) -> None:
        """Another process gets these partitions: their devices are kept and let go of before it begins."""
        gone = [device for device in self.devices.values() if device.rows.partitions & set(partitions)]
        for device in gone:
            for _ in self._label(device):
                pass
            self._keep_and_close(device)
        self._put_marks()
        for partition in partitions:
            self._next.pop(partition, None)
            self._marks.pop(partition, None)

    def stop(self, seconds: float = 5.0) -> None:
        """Everything is kept; segments and summaries as far as there is time. The same command goes on from here."""
        for device in list(self.devices.values()):
            if device.waiting:
                self._keep(device)
        self._put_marks()
        until = time.monotonic() + seconds
        for device in list(self.devices.values()):
            if device.is_stale and time.monotonic() < until:
                self._refresh(device)

    def close(self) -> None:
        """Let go of everything; what is in no checkpoint will be given again."""
        for device in list(self.devices.values()):
            self._close(device)
        self.feed.close()
        self._store.close()


def folder_of(device: str) -> str:
    """A name for the folder of a device, another one for each.

    >>> folder_of("hall 2/press.7"), folder_of(".."), folder_of(".lock")
    ('hall 2%2Fpress.7', '%2E%2E', '%2Elock')
    """
    name = quote(device, safe=" -_.~")
    if name.startswith("."):
        name = name.replace(".", "%2E")
    if len(name) > _LONGEST_NAME:
        name = f"{name[:_LONGEST_NAME]}~{hashlib.sha256(device.encode()).hexdigest()[:16]}"
    return name


def _concerns_all(error: BaseException | None) -> bool:
    """Whether another device would meet this too: the disk is full or broken. Or another process has the device: it
    lets go of it soon, and no message is lost."""
    while error is not None:
        if isinstance(error, TimeoutError) or (isinstance(error, OSError) and error.errno in _OF_ALL):
            return True
        error = error.__context__
    return False
