"""The rows of a benchmark: JSON lines that are only ever appended to, readable by people, whole after any crash.

One line is one row: what was run (experiment, data set, recording, source, method, seed, and a fingerprint of the
settings), how it ended, its scores, what it took. A row is on the disk before the next is begun. A line that a crash
has torn is cut off when the file is opened to write; what it would have said is run again. A row that failed may be
followed by one that did not: the last of a key counts. One process writes at a time.

Label tracks stand in a row as their runs, which are short.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.data.labels import runs_of
from rondo.errors import InputError, OutputError
from rondo.store.csv_text import csv_of_rows
from rondo.store.folder import open_appending
from rondo.store.lock import locked

FILE, LOCK = "rows.jsonl", "rows.lock"
CPU = "cpu"
_VERSIONS = ("numpy", "torch")  # those of a row that its line of CSV has


class Key(NamedTuple):
    """What a row is about; there is at most one good row of each."""

    experiment: str
    data_set: str
    recording: str
    source: str  # the participant that was learned from (transfer); else empty
    method: str
    seed: int
    fingerprint: str  # of the settings that made it


@dataclass(frozen=True)
class Row:
    key: Key
    status: str  # ok, failed
    error: str = ""
    scores: Mapping[str, float | None] = field(default_factory=dict)  # of `rondo.metrics`, and of the protocol
    clock: Mapping[str, float] = field(default_factory=dict)  # the control at as many segments
    counts: Mapping[str, int] = field(default_factory=dict)  # frames, channels, segments predicted and true
    details: Mapping[str, Any] = field(default_factory=dict)  # runs of labels, for figures; what the method warned of
    config: Mapping[str, Any] = field(default_factory=dict)  # as it was in effect
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float | None = 0.0  # None: this system does not tell
    finished: str = ""  # UTC
    device: str = ""  # cpu, or the name of the GPU; empty: not known, as of rows from before it was kept

    @property
    def is_ok(self) -> bool:
        return self.status == "ok"

    def to_json(self) -> str:
        own = {name: value for name, value in asdict(self).items() if name != "key"}
        return json.dumps(self.key._asdict() | own, allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> Row:
        read = json.loads(line)
        key = Key(**{name: read.pop(name) for name in Key._fields})
        return cls(key, **({"device": _device_before(read.get("config", {}))} | read))


def _device_before(config: Mapping[str, Any]) -> str:
    """That of a row from before it was kept: of a GPU there is no name, and baselines and the clock used none."""
    return CPU if config.get("device") == CPU or "baseline" in config or "pieces" in config else ""


def read_rows(folder: Path) -> list[Row]:
    """The last row of each key, in the order in which these were written; a torn last line is left out.

    In place of a folder, a `.csv` file that `to_csv` made.
    """
    if folder.suffix == ".csv":
        return _rows_of_csv(folder)
    path = folder / FILE
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{folder}: no rows here; run `rondo bench run EXPERIMENT --out {folder}` first") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    return _last_of_each(path, text)


def _last_of_each(path: Path, text: bytes) -> list[Row]:
    *lines, _torn = text.split(b"\n")
    rows: dict[Key, Row] = {}
    for number, line in enumerate(lines, start=1):
        try:
            row = Row.from_json(line.decode("utf-8"))
        except (ValueError, KeyError, TypeError):
            raise InputError(
                f"{path}: line {number} is no row of a benchmark; take it out, and what it said is run again"
            ) from None
        rows.pop(row.key, None)
        rows[row.key] = row
    return list(rows.values())


class RowStore:
    """The rows of a folder, open to write; made by `open_rows`."""

    def __init__(self, path: Path, descriptor: int, rows: Iterable[Row]) -> None:
        self.path, self._descriptor = path, descriptor
        self._rows = {row.key: row for row in rows}

    @property
    def rows(self) -> Sequence[Row]:
        return list(self._rows.values())

    def add(self, rows: Sequence[Row]) -> None:
        """Append rows; when this returns they are on the disk. A key that has a good row already is left out."""
        new = {row.key: row for row in rows if not (self._rows.get(row.key) or _NOTHING).is_ok}
        rest = memoryview("".join(row.to_json() + "\n" for row in new.values()).encode())
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError as error:
            raise _unwritable(self.path, error) from None
        self._rows |= new


_NOTHING = Row(Key("", "", "", "", "", 0, ""), "none")


@contextmanager
def open_rows(folder: Path) -> Iterator[RowStore]:
    """The rows of a folder, to read and append to, for one process at a time; made where there is none."""
    path = folder / FILE
    with locked(folder, LOCK, "another `rondo bench run` writes here; wait for it, stop it, or give another --out"):
        try:
            descriptor = open_appending(path)
        except OSError as error:
            raise _unwritable(path, error) from None
        try:
            text = path.read_bytes()
            whole = text.rfind(b"\n") + 1
            if whole < len(text):
                os.ftruncate(descriptor, whole)
            os.lseek(descriptor, whole, os.SEEK_SET)
            yield RowStore(path, descriptor, _last_of_each(path, text[:whole]))
        finally:
            os.close(descriptor)


def _unwritable(path: Path, error: OSError) -> OutputError:
    return OutputError(
        f"{path}: cannot be written ({error.strerror or error}); make room or give permission, then start the same "
        "command again: it goes on where it stopped"
    )


def to_csv(rows: Sequence[Row]) -> str:
    """One line per row for a spreadsheet: everything but configurations, most versions and details."""
    columns = {
        **dict.fromkeys((*Key._fields, "device", "status", "error")),
        **dict.fromkeys(name for name in _VERSIONS if any(name in row.versions for row in rows)),
        **dict.fromkeys(name for row in rows for name in row.scores),
        **dict.fromkeys(f"clock_{name}" for row in rows for name in row.clock),
        **dict.fromkeys(name for row in rows for name in row.counts),
        **dict.fromkeys(("seconds", "cpu_seconds", "peak_mb", "finished")),
    }
    table: list[list[Any]] = []
    for row in rows:
        cells: dict[str, Any] = row.key._asdict() | {"status": row.status, "error": row.error} | dict(row.scores)
        cells |= {"device": row.device} | {name: row.versions.get(name) for name in _VERSIONS}
        cells |= {f"clock_{name}": value for name, value in row.clock.items()} | dict(row.counts)
        cells |= {"seconds": row.seconds, "cpu_seconds": row.cpu_seconds, "peak_mb": row.peak_mb}
        cells["finished"] = row.finished
        values = [cells.get(name) for name in columns]  # with as many digits as a table could show, and two more
        table.append([float(f"{value:.4f}") if isinstance(value, float) else value for value in values])
    return csv_of_rows(list(columns), table)


def _rows_of_csv(path: Path) -> list[Row]:
    """The rows that `to_csv` made a line of each, to as many digits as it keeps; columns that are missing are empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    try:
        return [_from_cells(cells) for cells in csv.DictReader(io.StringIO(text))]
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{path}: not the rows of a benchmark as `rondo bench rows` prints them ({error})") from None


_COUNTS = ("n_frames", "n_channels", "n_segments", "n_true_segments")


def _from_cells(cells: Mapping[str, str]) -> Row:
    named = {name: cells.get(name, "") for name in (*Key._fields, "status", "error", "finished", "device")}
    versions = {name: cells[name] for name in _VERSIONS if cells.get(name)}
    key = Key(*(int(named[name]) if name == "seed" else named[name] for name in Key._fields))  # type: ignore[arg-type]
    numbers = {name: float(cell) for name, cell in cells.items() if cell and name not in {*named, *versions}}
    counts = {name: int(numbers.pop(name)) for name in _COUNTS if name in numbers}
    seconds, cpu_seconds = numbers.pop("seconds", 0.0), numbers.pop("cpu_seconds", 0.0)
    peak_mb = numbers.pop("peak_mb", None)
    clock = {name.removeprefix("clock_"): numbers.pop(name) for name in list(numbers) if name.startswith("clock_")}
    took = (seconds, cpu_seconds, peak_mb, named["finished"], named["device"])
    return Row(key, named["status"] or "ok", named["error"], numbers, clock, counts, {}, {}, versions, *took)


def as_runs(track: ArrayLike) -> dict[str, list[int]]:
    """Where each run of a track ends, and its id."""
    runs = runs_of(track)
    return {"stops": runs.stops.tolist(), "ids": runs.ids.tolist()}


def from_stored(runs: Mapping[str, Sequence[int]]) -> NDArray[np.int64]:
    return np.repeat(np.asarray(runs["ids"], np.int64), np.diff(runs["stops"], prepend=0))
