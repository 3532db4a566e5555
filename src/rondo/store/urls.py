"""Places that are paths of this machine or URLs of a bucket, told apart by their text alone."""

from __future__ import annotations

import re
from pathlib import Path

from rondo.errors import OutputError

Location = Path | str
"""A Path, or a URL as text: `s3://bucket/day1.csv`."""

# two characters or more: one is a drive of Windows; a Path of "s3://" keeps no slash
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?:/|$)")


def as_location(where: str | Path) -> Location:
    """A path as a Path, a URL as text, also where someone has made a Path of it, which keeps one slash of two.

    >>> as_location(Path("s3://bucket/day1.csv"))
    's3://bucket/day1.csv'
    >>> as_location("days/day1.csv").name
    'day1.csv'
    """
    text = where.as_posix() if isinstance(where, Path) else where
    found = _SCHEME.match(text)
    if found is None or Path(f"{found[1]}:").exists():  # a folder may be called so
        return Path(where)
    return f"{found[1].lower()}://{text[found.end() :].removeprefix('/')}"


def is_url(where: str | Path) -> bool:
    """Whether a place is in a bucket."""
    return isinstance(as_location(where), str)


def joined(folder: str | Path, name: str) -> Location:
    """A file in a folder.

    >>> joined("s3://bucket/run/", "report.html")
    's3://bucket/run/report.html'
    """
    place = as_location(folder)
    return place / name if isinstance(place, Path) else f"{place.rstrip('/')}/{name}"


def refuse_url(where: str | Path, why: str) -> None:
    """An OutputError where a folder of this machine is needed and a URL was given."""
    place = as_location(where)
    if isinstance(place, str):
        raise OutputError(f"{place}: {why}")
