"""Slow, obvious twin of the edits of a vocabulary: groups as a list of sets, labels one by one."""

from __future__ import annotations

from collections.abc import Sequence

from rondo.vocabulary.edits import Edit

OTHER = -1


def groups(history: Sequence[Edit], level: str) -> list[set[int]]:
    """Who is together after every edit of a level, each in its turn."""
    together: list[set[int]] = []
    for edit in history:
        if edit.level != level or edit.kind == "name":
            continue
        if edit.kind == "merge":
            met = [group for group in together if group & set(edit.ids)]
            together = [group for group in together if group not in met] + [set(edit.ids).union(*met)]
        else:
            together = [group - set(edit.ids) for group in together]
    return [group for group in together if len(group) > 1]


def kept(history: Sequence[Edit], level: str, id: int) -> int:
    return next((min(group) for group in groups(history, level) if id in group), id)


def applied(history: Sequence[Edit], level: str, labels: Sequence[int]) -> list[int]:
    return [OTHER if label == OTHER else kept(history, level, label) for label in labels]


def name(history: Sequence[Edit], level: str, id: int) -> str:
    """The last name of the entry with the lowest id in its group that has one."""
    group = next((group for group in groups(history, level) if id in group), {id})
    for member in sorted(group):
        given = [edit.name for edit in history if edit.kind == "name" and (edit.level, edit.ids) == (level, (member,))]
        if given and given[-1]:
            return given[-1]
    return ""
