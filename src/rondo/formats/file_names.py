"""What the name of a file tells: which reader it gets, how it is packed, and the id of its recording."""

from __future__ import annotations

import os
from pathlib import Path

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
