"""The journal: events as JSON lines, only ever appended to; a person can read it, a program can replay it.

Events are written and brought to the disk before the checkpoint that counts them. So after a crash the file may hold
more than the checkpoint knows, never less: on resume it is cut back to the length in the checkpoint, and the events
beyond it come again, the same ones.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, get_args

from rondo.errors import ModelError, OutputError, RondoWarning
from rondo.store.folder import open_appending
from rondo.store.reading import read_regular

Kind = Literal["refine", "merge", "promote", "expire", "gap", "skip", "scaling", "fit"]
EventLevel = Literal["unit", "motif", "input"]
Evidence = Mapping[str, float | int | str]

_FIELDS = ("kind", "level", "frame", "time_s", "ids", "evidence")
_MOST_BYTES = 1 << 32  # 20 million events; what is larger is no journal


@dataclass(frozen=True)
class Event:
    """One change of a vocabulary, a novelty buffer or the input of a stream.

    Parameters
    ----------
    kind : "refine", "merge", "promote", "expire", "gap", "skip", "scaling" or "fit"
        What happened.
    level : "unit", "motif" or "input"
        Where; the last four belong to the input.
    frame : int
        The prepared frame at which it happened.
    time_s : float or None
        Its time by the clock of the data, never of the computer; None without a clock.
    ids : tuple of int
        The entries that it is about.
    evidence : mapping
        Numbers and texts that led to it, by name. Numbers are Python's own and finite.

    Raises
    ------
    ModelError
        If a field has another type, or a value that JSON cannot hold.

    Examples
    --------
    >>> event = Event("promote", "unit", frame=1200, time_s=12.0, ids=(4,), evidence={"support": 9.5, "regions": 3})
    >>> event.to_json()
    '{"kind":"promote","level":"unit","frame":1200,"time_s":12.0,"ids":[4],"evidence":{"support":9.5,"regions":3}}'
    >>> Event.from_json(event.to_json()) == event
    True
    """

    kind: Kind
    level: EventLevel
    frame: int
    time_s: float | None
    ids: tuple[int, ...]
    evidence: Evidence

    def __post_init__(self) -> None:
        _require(self.kind in get_args(Kind), f"a kind among {', '.join(get_args(Kind))}", self.kind)
        _require(self.level in get_args(EventLevel), f"a level among {', '.join(get_args(EventLevel))}", self.level)
        _require(_is_int(self.frame) and self.frame >= 0, "a frame number from 0 on", self.frame)
        _require(self.time_s is None or _is_finite(self.time_s), "a finite time_s, or none", self.time_s)
        ids_are_plain = isinstance(self.ids, tuple) and all(map(_is_int, self.ids))
        _require(ids_are_plain, "ids as a tuple of whole numbers", self.ids)
        _require(isinstance(self.evidence, Mapping), "evidence as a mapping", self.evidence)
        for name, value in self.evidence.items():
            is_plain = isinstance(value, str) or _is_int(value) or _is_finite(value)
            _require(isinstance(name, str) and is_plain, "evidence of names with finite numbers or text", {name: value})
        object.__setattr__(self, "evidence", dict(self.evidence))  # the caller may go on with its own

    def to_json(self) -> str:
        """Write the event as one line of JSON.

        Returns
        -------
        str
            The line, from which `from_json` reads the same event to the bit.
        """
        return json.dumps(asdict(self), separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> Event:
        """Read an event from a line of a journal.

        Parameters
        ----------
        line : str
            What `to_json` wrote.

        Returns
        -------
        Event
            The event.

        Raises
        ------
        ModelError
            If the line is not an event.
        """
        try:
            fields: Any = json.loads(line)
        except (ValueError, RecursionError):
            raise ModelError(f"not an event: expected one line of JSON, got {_shown(line)}") from None
        _require(isinstance(fields, dict) and set(fields) == set(_FIELDS), f"an object of {', '.join(_FIELDS)}", fields)
        _require(isinstance(fields["ids"], list), "ids as a list", fields["ids"])
        return cls(**(fields | {"ids": tuple(fields["ids"])}))


def _is_int(value: object) -> bool:
    """Python's own whole numbers; those of numpy are not JSON, and True is no number here."""
    return type(value) is int


def _is_finite(value: object) -> bool:
    return type(value) is float and math.isfinite(value)


def _require(holds: bool, expected: str, got: object) -> None:
    if not holds:
        raise ModelError(f"not an event: expected {expected}, got {_shown(got)}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


class AppendOnly:
    """A file that grows by whole lines, and can be cut back once, when it is opened.

    Nothing is held back in memory: what `append` returned from is with the system, and after `sync` it is on the disk.
    """

    def __init__(self, path: Path, n_bytes: int = 0) -> None:
        """Open the file and cut it back to `n_bytes`; one that is shorter is not the file that was written."""
        self.path = path
        try:
            self._descriptor = open_appending(path)
            size = os.fstat(self._descriptor).st_size
            os.lseek(self._descriptor, max(0, n_bytes - 1), os.SEEK_SET)
            if size < n_bytes or (n_bytes and os.read(self._descriptor, 1) != b"\n"):
                os.close(self._descriptor)
                raise ModelError(
                    f"{path}: expected the {n_bytes} bytes that the checkpoint counts, got {size} or others; "
                    "put the file back, or choose another --out"
                )
            os.ftruncate(self._descriptor, n_bytes)
            os.lseek(self._descriptor, n_bytes, os.SEEK_SET)
        except OSError as error:
            raise _unwritable(path, error) from None
        self.n_bytes = n_bytes

    def append(self, lines: str) -> None:
        """Write lines, each with its line end; a full disk leaves what the last checkpoint counts as it was."""
        rest = memoryview(lines.encode())
        try:
            if os.fstat(self._descriptor).st_size < self.n_bytes:  # there would be a hole of zero bytes
                self.check()
            while rest:
                written = os.write(self._descriptor, rest)
                self.n_bytes += written
                rest = rest[written:]
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def check(self) -> None:
        """Refuse to go on where the file has been removed, replaced or cut since it was opened."""
        try:
            own = os.fstat(self._descriptor)
            is_there = os.path.samestat(self.path.lstat(), own) and own.st_size >= self.n_bytes
        except FileNotFoundError:
            is_there = False
        except OSError as error:
            raise _unwritable(self.path, error) from None
        if not is_there:
            raise OutputError(
                f"{self.path}: it was removed, replaced or cut while the stream was writing it; put it back as it was "
                "and start the same command again, or choose another --out"
            )

    def sync(self) -> None:
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            raise _unwritable(self.path, error) from None

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> AppendOnly:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def append_events(journal: AppendOnly, events: Iterable[Event]) -> None:
    lines = "".join(event.to_json() + "\n" for event in events)
    if lines:
        journal.append(lines)


def read_journal(path: str | Path) -> list[Event]:
    """Every event of a journal, in order.

    A last line without its end was torn by a crash: it is left out, with a note. Anything else that is no event is
    refused with the number of its line.
    """
    path = Path(path)
    try:
        text = read_regular(path, _MOST_BYTES)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror}); give the events.jsonl of a stream") from None
    *lines, torn = text.split(b"\n")
    if torn:
        warnings.warn(f"{path}: its last line is torn ({len(torn)} bytes) and left out", RondoWarning, stacklevel=2)
    events = []
    for number, line in enumerate(lines, start=1):
        try:
            events.append(Event.from_json(line.decode("utf-8")))
        except UnicodeDecodeError:
            raise ModelError(f"{path}: line {number} is not UTF-8 text; the journal is damaged there") from None
        except ModelError as error:
            raise ModelError(f"{path}: line {number} is {error}; the journal is damaged there") from None
    return events


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{path}: cannot be written ({error.strerror or error}); make room or give permission, then start the same "
        "command again: it goes on from its last checkpoint"
    )
