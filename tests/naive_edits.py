"""Slow, obvious twin of edits: groups as a list of sets, labels and frames one by one."""

from __future__ import annotations

from collections.abc import Sequence

from rondo.editing.kinds import Edit

OTHER = -1


def in_force(history: Sequence[Edit]) -> list[Edit]:
    taken_back = [edit.of for edit in history if edit.kind == "undo"]
    return [edit for place, edit in enumerate(history) if edit.kind != "undo" and place not in taken_back]


def ids_in(edit: Edit, level: str) -> tuple[int, ...]:
    """Of a unit and its own motif both are meant."""
    if edit.level == level:
        return edit.ids
    return edit.motifs if level == "motif" else ()


def relabelled(
    history: Sequence[Edit], level: str, recording: str, labels: Sequence[int], begins: set[int]
) -> tuple[list[int], set[int]]:
    """The frames of a recording after every relabel, each in its turn, frame by frame."""
    track, starts = list(labels), set(begins)
    for edit in in_force(history):
        if edit.kind != "relabel" or not ids_in(edit, level):
            continue
        own = [span for span in edit.spans if span.recording == recording]
        for span in own:
            for frame in range(span.start, span.stop):
                track[frame] = ids_in(edit, level)[0]
            starts -= set(range(span.start, span.stop + 1))
        starts |= {one.start for one in own for other in own if one.start == other.stop}
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
    """Who is together after the last coarsening of a level, and then every merge, each in its turn."""
    coarsenings = [edit for edit in in_force(history) if edit.kind == "coarsen" and edit.level == level]
    together: list[set[int]] = [set(group) for edit in coarsenings[-1:] for group in edit.groups]
    for edit in in_force(history):
        ids = set(ids_in(edit, level)) if edit.kind == "merge" else set()
        if ids:
            met = [group for group in together if group & ids]
            together = [group for group in together if group not in met] + [ids.union(*met)]
    return together


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
            if (edit.kind == "name" or (edit.kind == "relabel" and edit.name))
            and (edit.level, edit.ids) == (level, (member,))
        ]
        if given and given[-1]:
            return given[-1]
    return ""
