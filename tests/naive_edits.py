"""Slow, obvious twin of edits: groups as a list of sets, labels and frames one by one."""

from __future__ import annotations

from collections.abc import Sequence

from rondo.editing.edits import Edit

OTHER = -1


def is_in_force(history: Sequence[Edit], place: int) -> bool:
    """Not taken back by any later undo that is in force itself."""
    later = range(place + 1, len(history))
    return not any(history[i].kind == "undo" and history[i].of == place and is_in_force(history, i) for i in later)


def in_force(history: Sequence[Edit]) -> list[Edit]:
    return [edit for i, edit in enumerate(history) if edit.kind != "undo" and is_in_force(history, i)]


def painted(
    history: Sequence[Edit], level: str, recording: str, labels: Sequence[int], begins: set[int]
) -> tuple[list[int], set[int]]:
    """The frames of a recording after every span edit, each in its turn, frame by frame."""
    track, starts = list(labels), set(begins)
    for edit in in_force(history):
        if edit.level != level:
            continue
        for span in edit.spans:
            if span.recording != recording:
                continue
            if edit.kind == "cut":
                starts |= {span.start}
            for frame in range(span.start, span.stop):
                track[frame] = edit.ids[-1]
            if edit.kind == "relabel":
                starts -= set(range(span.start, span.stop + 1))
    return track, starts


def occurrences(labels: Sequence[int], begins: set[int]) -> list[tuple[int, int, int]]:
    """(start, end, id) of every run of one label that no begin cuts; OTHER left out."""
    found: list[tuple[int, int, int]] = []
    start = 0
    for frame in range(1, len(labels) + 1):
        if frame == len(labels) or labels[frame] != labels[frame - 1] or frame in begins:
            found += [(start, frame, labels[start])] if labels[start] != OTHER else []
            start = frame
    return found


def groups(history: Sequence[Edit], level: str) -> list[set[int]]:
    """Who is together after every edit of a level, each in its turn."""
    together: list[set[int]] = []
    for edit in in_force(history):
        if edit.level != level or edit.kind not in ("merge", "split"):
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
        given = [
            edit.name
            for edit in in_force(history)
            if edit.kind == "name" and (edit.level, edit.ids) == (level, (member,))
        ]
        if given and given[-1]:
            return given[-1]
    return ""
