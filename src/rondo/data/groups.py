"""Groups of recordings: whose they are (person, machine) or when they were made, from their ids, paths or a table.

A group is named by one of

    a word       subject       what follows it in every id or folder: subject12_walk, walk-subject=A, subject=3/walk.csv
    a pattern    s([0-9]+)_    a regular expression on the ids; its first bracket is the group, or all that it finds
    a table      people.csv    .csv or .tsv with the columns recording and group
    a mapping    {"a": "p1"}   from recording ids to groups
"""

from __future__ import annotations

import csv
import re
import reprlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rondo.errors import InputError, SettingError
from rondo.store.csv_text import cell_text

if TYPE_CHECKING:
    from rondo.data.recording import Recording

GroupBy = str | Mapping[str, str] | None
"""What names groups: see above; None makes every recording a group of its own."""
_TABLES = (".csv", ".tsv")
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"


def groups_of(ids: Sequence[str], by: GroupBy, sources: Mapping[str, str] | None = None) -> dict[str, str]:
    """The group of each recording, by its id; `sources`: the path or URL that each was read from.

    A plain word stands for the word with its value: digits or capitals right after it, or anything alphanumeric (or a
    date) after one of `=`, `_`, `-`, `.` or a space. What an id lacks may stand in the path that it was read from; ids
    and paths are not mixed, so either every id has a group or every path. A recording without a group is refused.

    >>> groups_of(["subject12_walk", "subject7_walk"], "subject")
    {'subject12_walk': 'subject12', 'subject7_walk': 'subject7'}
    """
    if by is None:
        return {id: id for id in ids}
    if not isinstance(by, str | Mapping):
        raise SettingError(f"group_by: expected a word, a pattern, a .csv or a mapping, got {reprlib.repr(by)}")
    if not isinstance(by, str):
        lost = [id for id in ids if not str(by.get(id) or "")]
        if lost:
            raise SettingError(
                f"group_by: no group for the recording '{lost[0]}' ({len(lost)} of {len(ids)}); name one for each id"
            )
        return {id: str(by[id]) for id in ids}
    if Path(by).suffix.lower() in _TABLES:
        return _of_table(Path(by), ids)
    find = _finder(by)
    places = [{id: find(id) for id in ids}]
    if sources is not None:
        places.append({id: find(_folders(sources.get(id, ""))) for id in ids})
    for found in places:
        groups = {id: group for id, group in found.items() if group is not None}
        if len(groups) == len(found):
            return groups
    lost = [id for id, group in places[0].items() if group is None]
    raise SettingError(
        f"--group-by '{by}' finds nothing in the recording '{lost[0]}' ({len(lost)} of {len(ids)} recordings); "
        "give a pattern that all ids hold, or a .csv with the columns recording and group"
    )


def groups_of_recordings(recordings: Sequence[Recording], group_by: GroupBy) -> list[str]:
    """Whose each recording is."""
    sources = {recording.id: recording.source for recording in recordings}
    groups = groups_of([recording.id for recording in recordings], group_by, sources)
    return [groups[recording.id] for recording in recordings]


def _finder(by: str) -> Callable[[str], str | None]:
    """What finds the group in an id, or in folders; the last one there, as the innermost folder is the nearest."""
    if re.fullmatch(r"\w+", by):
        attached, apart = "[0-9]+|[A-Z]+(?![a-z])", rf"[=_. -](?:{_DATE}|[^\W_]+)"
        word = re.compile(rf"(?<![^\W_]){re.escape(by)}(?:{apart}|{attached})")
        return lambda text: (word.findall(text) or [None])[-1]
    try:
        pattern = re.compile(by)
    except re.error as error:
        raise SettingError(f"--group-by '{by}' is no regular expression ({error}); try 'subject[0-9]+'") from None

    def first(text: str) -> str | None:
        match = pattern.search(text)
        return None if match is None else match[1 if pattern.groups else 0] or None  # an empty group is none

    return first


def _folders(source: str) -> str:
    """The path without the file, whose name is the id already; with one kind of slash."""
    return re.sub(r"[^/]*$", "", source.replace("\\", "/"))


def _of_table(path: Path, ids: Sequence[str]) -> dict[str, str]:
    from rondo.store.reading import read_regular  # brings numpy, which help does not need

    try:
        text = read_regular(path).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise InputError(
            f"{path}: cannot be read ({reason}); give a .csv with the columns recording and group"
        ) from None
    reader = csv.DictReader(text.splitlines(), delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    columns = [name.strip() for name in reader.fieldnames or []]
    if not {"recording", "group"} <= set(columns):
        raise InputError(f"{path}: expected the columns recording and group, found {', '.join(columns) or 'none'}")
    reader.fieldnames = columns
    groups = {cell_text(str(row["recording"]).strip()): cell_text(str(row["group"] or "").strip()) for row in reader}
    lost = [id for id in ids if not groups.get(id)]
    if lost:
        raise InputError(f"{path}: no group for the recording '{lost[0]}' ({len(lost)} of {len(ids)}); add a row")
    return {id: groups[id] for id in ids}
