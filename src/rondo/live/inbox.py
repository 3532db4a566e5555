"""FeedStore: what a feed keeps between two runs, in one SQLite file; Inbox: messages, for networks that keep none.

An append is one transaction: after a crash it is there whole or not at all, together with what follows from it. A
message may be confirmed to its sender once `append` has returned. Offsets are never used twice. The file is written in
WAL mode, which needs a file system of this machine: network drives are refused.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from rondo.errors import ModelError, OutputError
from rondo.live.address import bytes_in, patience_in
from rondo.live.source import FeedRequest, Message, Patience
from rondo.store.folder import make_folder, refuse_link
from rondo.store.lock import locked

PARTITION = "inbox"
LIMIT_BYTES = 1 << 30
_FILE = "feed.sqlite"
_BUSY_S = 60.0  # processes that share the partitions of a Kafka topic share the file
_OVERHEAD_BYTES = 40  # of a message, beside its device and payload
_MOUNTS = Path("/proc/mounts")
_NETWORK_DRIVES = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "9p", "fuse.sshfs", "glusterfs", "ceph")
_TABLES = """
CREATE TABLE IF NOT EXISTS inbox (
    offset INTEGER PRIMARY KEY AUTOINCREMENT, device TEXT, payload BLOB, arrived_s REAL, lost_until INTEGER
);
-- MQTT: the newest message under each packet id
CREATE TABLE IF NOT EXISTS packets (id INTEGER PRIMARY KEY, digest BLOB);
-- marks of partitions, the client id and so on, in JSON
CREATE TABLE IF NOT EXISTS known (name TEXT PRIMARY KEY, value TEXT);
"""
_SIZE = f"SELECT total(length(payload) + length(CAST(device AS BLOB)) + {_OVERHEAD_BYTES}) FROM inbox WHERE offset < ?"
_NEXT = "SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'inbox'"
_READ = "SELECT device, payload, offset, arrived_s, lost_until FROM inbox WHERE offset > ? ORDER BY offset LIMIT ?"
_EVERYTHING = (1 << 63) - 1


class Arrival(NamedTuple):
    """A message as a network delivers it; with an empty device, the notice that what was not delivered is lost."""

    device: str
    payload: bytes
    arrived_s: float
    is_after_loss: bool = False
    packet_id: int = 0  # MQTT: 0 if the broker wants no confirmation
    is_repeat: bool = False  # MQTT: the flag DUP
    connection: int = 0  # MQTT: the number of the connection that it came by


class FeedStore:
    """The file of one feed; threads of this process and other processes may use it at the same time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._lock = folder, threading.RLock()
        _refuse_network_drive(folder)
        with self._errors_in_words():
            make_folder(folder.parent, folder.name)
            _refuse_former(folder)
            for beside in ("", "-wal", "-shm", "-journal"):
                refuse_link(folder / f"{_FILE}{beside}")
            self._db = sqlite3.connect(folder / _FILE, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        try:
            with self._errors_in_words():
                self._db.execute("PRAGMA journal_mode = WAL")
                self._db.execute("PRAGMA synchronous = FULL")  # a commit returns when it is on the disk
                self._db.executescript(_TABLES)
        except BaseException:
            self._db.close()
            raise

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Everything in the block is on the disk when it ends, or nothing of it."""
        with self._errors_in_words():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite has rolled back by itself where the disk is full
                    self._db.execute("ROLLBACK")
                raise

    def rows(self, query: str, *values: Any) -> list[Any]:
        with self._errors_in_words():
            return self._db.execute(query, values).fetchall()

    def get(self, name: str) -> Any:
        """A value from the disk, where another process may have put it; None if there is none."""
        found = self.rows("SELECT value FROM known WHERE name = ?", name)
        return json.loads(found[0][0]) if found else None

    def put(self, values: Mapping[str, Any]) -> None:
        """Write values, all of them or none."""
        if values:
            with self.transaction() as db:
                _put(db, values)

    def setdefault(self, name: str, make: Callable[[], Any]) -> Any:
        """A value that is made once, and is the same for every process from then on."""
        with self.transaction() as db:
            found = self.get(name)
            if found is None:
                found = make()
                _put(db, {name: found})
        return found

    def mark_of(self, partition: str) -> int | None:
        """The first offset of a partition that is still needed; None: read it from its beginning."""
        found = self.get(f"mark {partition}")
        return None if found is None else int(found)

    def put_marks(self, marks: Mapping[str, int]) -> None:
        self.put({f"mark {partition}": offset for partition, offset in marks.items()})

    def close(self) -> None:
        with self._lock:
            self._db.close()

    @contextmanager
    def _errors_in_words(self) -> Iterator[None]:
        """One thread at a time; a full disk, a damaged file or a busy one is one line."""
        with self._lock:
            try:
                yield
            except (sqlite3.OperationalError, OSError) as error:
                raise OutputError(
                    f"{self.folder}: cannot be written ({error}); make room or give permission, then run the same "
                    "command again: it continues from its last checkpoint"
                ) from None
            except sqlite3.DatabaseError as error:
                raise ModelError(
                    f"{self.folder / _FILE}: damaged ({error}); put it back, or choose another --out"
                ) from None


def _put(db: sqlite3.Connection, values: Mapping[str, Any]) -> None:
    rows = [(name, json.dumps(value)) for name, value in values.items()]
    db.executemany("INSERT OR REPLACE INTO known VALUES (?, ?)", rows)


class Inbox:
    """Messages from the mark on; one thread may append while another reads and settles."""

    def __init__(self, store: FeedStore, limit_bytes: int = LIMIT_BYTES) -> None:
        self._store, self._limit_bytes = store, limit_bytes
        self._opened = ExitStack()
        busy = "another process reads into this inbox; stop it, or wait"
        self._opened.enter_context(locked(store.folder, ".lock", busy, is_inside=True))
        try:
            self._given = (store.mark_of(PARTITION) or 0) - 1  # the offset of the last message that was given
            with store.transaction() as db:
                db.execute("DELETE FROM inbox WHERE offset <= ?", (self._given,))
            # each written by one thread: what was appended, and what was read and settled
            self._n_appended = int(store.rows("SELECT count(*) FROM inbox")[0][0])
            self._bytes_appended = int(store.rows(_SIZE, _EVERYTHING)[0][0])
            self._n_read = self._bytes_settled = 0
            self._lost_until = int(store.get("lost until") or -1)
        except BaseException:
            self._opened.close()
            raise

    @property
    def is_full(self) -> bool:
        n_bytes = self._bytes_appended - self._bytes_settled
        return n_bytes > 0 and n_bytes >= self._limit_bytes

    @property
    def backlog(self) -> int:
        return self._n_appended - self._n_read

    def append(self, arrivals: Iterable[Arrival]) -> None:
        """Return when they are on the disk, all of them or none.

        A broker that did not see the confirmation delivers a message again, under the same packet id and with the flag
        DUP. It is the same message if the last one with that id had the same device and payload. The flag alone does
        not tell: a message that was on its way when the connection broke has it too. Nor does the content: a sensor at
        rest sends the same bytes again and again.
        """
        n_rows, n_bytes, lost_until = 0, 0, self._lost_until
        with self._store.transaction() as db:
            (offset,) = db.execute(_NEXT).fetchone()
            for arrival in arrivals:
                if not arrival.device:  # the broker has forgotten the session, and its packet ids
                    lost_until = offset + n_rows
                    _put(db, {"lost until": lost_until})
                    db.execute("DELETE FROM packets")
                elif not _is_stored(db, arrival):
                    place = offset + n_rows
                    lost = place if arrival.is_after_loss else lost_until
                    row = (place, arrival.device, arrival.payload, arrival.arrived_s, lost)
                    db.execute("INSERT INTO inbox VALUES (?, ?, ?, ?, ?)", row)
                    n_rows += 1
                    n_bytes += len(arrival.payload) + len(arrival.device.encode()) + _OVERHEAD_BYTES
        self._n_appended += n_rows
        self._bytes_appended += n_bytes
        self._lost_until = lost_until

    def read(self, at_most: int) -> list[Message]:
        """The next messages; none if all were given."""
        rows = self._store.rows(_READ, self._given, at_most)
        if rows:
            self._given = rows[-1][2]
            self._n_read += len(rows)
        return [
            Message(device, payload, PARTITION, offset, arrived_s, lost_until)
            for device, payload, offset, arrived_s, lost_until in rows
        ]

    def settle(self, mark: int) -> None:
        """Delete messages before this offset."""
        with self._store.transaction() as db:
            (n_bytes,) = db.execute(_SIZE, (mark,)).fetchone()
            db.execute("DELETE FROM inbox WHERE offset < ?", (mark,))
        self._bytes_settled += int(n_bytes)

    def close(self) -> None:
        """Let another process have it; messages that were not settled are given again."""
        self._opened.close()


class InboxFeed:
    """What the feeds of networks that keep nothing share: an inbox, of which the address names the size."""

    ended = False

    def __init__(self, name: str, request: FeedRequest, options: Mapping[str, str]) -> None:
        self._name, self._request = name, request
        self._patience = Patience(name, patience_in(options), request.say)
        limit = bytes_in(options["inbox"], "inbox") if "inbox" in options else LIMIT_BYTES
        self._inbox = Inbox(request.store, limit)
        self._was_full = False

    def settle(self, marks: Mapping[str, int]) -> None:
        if PARTITION in marks:
            self._inbox.settle(marks[PARTITION])

    @property
    def backlog(self) -> int:
        return self._inbox.backlog

    def _say_if_full(self, is_full: bool, so: str) -> None:
        """A line when the inbox becomes full, with what follows from it, and when it has room again."""
        if is_full != self._was_full:
            self._was_full = is_full
            self._request.say(f"{self._name}: the inbox {f'is full{so}' if is_full else 'has room again'}")


def _is_stored(db: sqlite3.Connection, arrival: Arrival) -> bool:
    """Whether a delivery under a packet id is one that was stored before; remembers it."""
    if not arrival.packet_id:
        return False
    content = arrival.device.encode() + b"\0" + arrival.payload
    digest = hashlib.blake2b(content, digest_size=8).digest()
    if arrival.is_repeat:
        found = db.execute("SELECT digest FROM packets WHERE id = ?", (arrival.packet_id,)).fetchone()
        if found == (digest,):
            return True
    db.execute("INSERT OR REPLACE INTO packets VALUES (?, ?)", (arrival.packet_id, digest))
    return False


def _refuse_former(folder: Path) -> None:
    """A fleet of version 0.2.0 has another inbox and other marks."""
    if not (folder / _FILE).exists() and any(folder.iterdir()):
        raise ModelError(
            f"{folder}: expected {_FILE}, found the feed of an older version of Rondo; choose another --out, or "
            "finish this stream with the version that began it"
        )


def _refuse_network_drive(folder: Path) -> None:
    """SQLite cannot share its log over a network: messages could be lost in silence."""
    here, listed = folder.resolve(), ""
    with suppress(OSError):  # systems without such a list
        listed = _MOUNTS.read_text(encoding="utf-8", errors="replace")
    mounts = [line.split(" ")[1:3] for line in listed.splitlines()]
    above = [(place, kind) for place, kind in mounts if here.is_relative_to(place)]
    place, kind = max(above, key=lambda mount: len(mount[0]), default=("", ""))
    if kind in _NETWORK_DRIVES:
        raise OutputError(f"{folder}: a feed needs a disk of this machine, {place} is {kind}; choose another --out")
