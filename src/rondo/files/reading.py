"""Columns that are to be channels whatever they look like: the way back for all that is left out by a guess.

Readers take `label_columns`, the columns to leave out. A column to keep travels in the same sequence, as a KeptColumn,
so that no reader has to know of it but the code that guesses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.registry import Registry


class KeptColumn(str):
    """The name of a column that a user says is a channel; that it is not there is an error."""

    __slots__ = ()


class KnownColumn(KeptColumn):
    """The name of a channel of a model: kept where it is there.

    `missing` are the numbers that stand for no value in it (`known_values`); None where the model does not know.
    """

    missing: tuple[float, ...] | None

    def __new__(cls, name: str, missing: tuple[float, ...] | None = None) -> KnownColumn:
        known = super().__new__(cls, name)
        known.missing = missing
        return known

    def __getnewargs__(self) -> tuple[str, tuple[float, ...] | None]:  # type: ignore[override]
        return str(self), self.missing  # it is sent to other processes


def with_kept(
    label_columns: Sequence[str] | None, keep_columns: Sequence[str] | None, known: Iterable[str] = ()
) -> tuple[str, ...]:
    """What readers take: columns to leave out, those to keep, and those that a model knows.

    >>> with_kept(["y"], ["anomaly"], ["x"])
    ('y', 'anomaly', 'x')
    """
    left_out, kept = (as_names(given) for given in (label_columns, keep_columns))
    both = next((name for name in kept if name in left_out and not isinstance(name, KeptColumn)), None)
    if both is not None:
        raise RecordingError(f"column '{both}' is to be left out (--label-column) and kept (--keep-column); give one")
    of_model = (name if isinstance(name, KnownColumn) else KnownColumn(name) for name in known)
    return (*left_out, *map(KeptColumn, kept), *of_model)


def as_names(given: Sequence[str] | None) -> tuple[str, ...]:
    """One name or several."""
    return () if not given else (given,) if isinstance(given, str) else tuple(given)


def left_out_and_kept(
    label_columns: Sequence[str], names: Sequence[str], what: str = "column"
) -> tuple[frozenset[str], frozenset[str]]:
    """The names to leave out and those to keep; one that the table does not have is refused.

    >>> left_out_and_kept(with_kept(["y"], ["id"], ["z"]), ["x", "y", "id"])
    (frozenset({'y'}), frozenset({'id'}))
    """
    given = as_names(label_columns)
    left_out = {name for name in given if not isinstance(name, KeptColumn)}
    kept = {str(name) for name in given if isinstance(name, KeptColumn)}
    asked = {str(name) for name in given if not isinstance(name, KnownColumn)}
    unknown = sorted(asked - set(names))
    if unknown:
        to_do = "leave out" if unknown[0] in left_out else "keep"
        raise RecordingError(f"there is no {what} '{unknown[0]}' to {to_do}; the {what}s are: {listed(names)}")
    return frozenset(left_out), frozenset(kept & set(names))


def listed(names: Sequence[str], most: int = 20) -> str:
    """A list of names that stays on one line however many there are."""
    more = f", … ({len(names)} in all)" if len(names) > most else ""
    return ", ".join(str(name) for name in names[:most]) + more if names else "(none)"


# ----------------------------------------------------------------
# What the name of a file tells: which reader it gets, how it is packed, and the id of its recording.

TEXT_SUFFIXES = (".csv", ".tsv", ".txt", ".jsonl", ".ndjson")
"""Of the files that are read line by line, and may still grow."""

PACKINGS = (".gz", ".bz2", ".zst")
"""Behind the suffix of a text: it is read through them."""


def packing_of(place: str | Path) -> str:
    """How a text is packed, or nothing; other files are not read packed.

    >>> packing_of("day.csv.GZ"), packing_of("day.csv"), packing_of("day.npy.gz")
    ('.gz', '', '')
    """
    path = Path(place)
    packing = path.suffix.lower()
    is_packed = packing in PACKINGS and Path(path.stem).suffix.lower() in TEXT_SUFFIXES
    return packing if is_packed else ""


def suffix_of(place: str | Path) -> str:
    """The suffix by which its reader is found, in small letters, without that of the packing.

    >>> suffix_of("day.csv.gz"), suffix_of("day.NPY"), suffix_of("day.npy.gz")
    ('.csv', '.npy', '.gz')
    """
    path = Path(place)
    return Path(path.stem if packing_of(path) else path.name).suffix.lower()


def is_folder(place: str | Path) -> bool:
    """Whether it is a folder of this machine; names that no file can have are none."""
    return os.path.isdir(place)  # noqa: PTH112  # Path.is_dir raises for a name that is too long


def id_of(place: str | Path) -> str:
    """The id of the recording: the name without its suffix, or without both; of a folder, which is a session, its name.

    >>> id_of("days/day1.csv.zst"), id_of("s3://bucket/day1.parquet"), id_of("day.1.csv")
    ('day1', 'day1', 'day.1')
    """
    if is_folder(place):
        return Path(os.path.abspath(place)).name  # noqa: PTH100  # ".." too has a name, and a link keeps its own
    stem = Path(place).stem
    return Path(stem).stem if packing_of(place) else stem


# ----------------------------------------------------------------
# A format of recordings as the registry finds it: one value at the top of the file that reads it.


@dataclass(frozen=True, kw_only=True)
class RecordingFormat:
    """How files with some suffixes are read.

    Parameters
    ----------
    name
        One word.
    suffixes
        In small letters, with the dot.
    read
        `read(path, rate=…, label_columns=…)` gives the recording, called by the file name without its suffix. Whatever
        it raises becomes one line that names the file.
    read_parts
        `read_parts(path, split_by, rate=…, label_columns=…)` gives the recordings that a column tells apart; None where
        files are no tables.
    takes_key
        Whether a file holds several recordings, so that `read` (and `read_parts`) also has a parameter `key`.
    extra
        The extra of Rondo (or the name of another package) without which it cannot be read; imported inside `read`.
    help
        What is read, for the table in the documentation.
    order
        Its place in lists, and among formats that share a suffix.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[..., Recording]
    read_parts: Callable[..., list[Recording]] | None = None
    takes_key: bool = False
    extra: str = ""
    help: str
    order: int = 100


RECORDING_FORMATS: Registry[RecordingFormat] = Registry(
    RecordingFormat, ("rondo.files", "rondo.files.text", "rondo.formats"), "rondo.recording_formats"
)
