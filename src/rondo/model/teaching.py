"""Teaching: marked spans of a result -> an edit of its labels, and of those of other recordings read with its model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.annotations.marks import marks_of
from rondo.arrays import Flags, Ints
from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.data.windows import Windows
from rondo.editing.edits import Edits, now
from rondo.editing.kinds import Edit, TaughtSpan
from rondo.editing.names import checked_name
from rondo.errors import RecordingError, RondoError, RondoWarning, SettingError
from rondo.files.inputs import as_recordings
from rondo.files.poses import as_the_model_reads
from rondo.files.reading import Reading
from rondo.model.describe import known_ids
from rondo.model.label import Windowed, as_labelled
from rondo.model.rondo import Rondo
from rondo.model.taught_spans import found_in, rows_of, runs_in, spans_of, taught_windows, text_of
from rondo.motifs.described import middles
from rondo.motifs.taught import TaughtMotifs, taught_by_entries, taught_by_windows
from rondo.run.clock import clock_of

if TYPE_CHECKING:
    from rondo.result import Result

Marks = Mapping[str, Sequence[tuple[int, int, str]]]
"""Frames [start, stop) and names, by the id of the recording."""


def taught_edits(result: Result, spans: Any, data: Any = None, key: str | None = None) -> Edits:
    """The edits of the model of a result with one more: the marks of its teaching so far, and these."""
    model = result.model
    if result.kind == "stream" or not isinstance(model, Rondo):
        raise SettingError("only runs of `rondo discover` and `rondo label` with the method rondo can be taught")
    edits: Edits = model.edits_
    n_frames = {one.id: one.n_frames for one in result.recordings}
    columns, names = _columns(result, edits, marks_of(spans, n_frames, partial(clock_of, result), key))
    ids = edits.ids_for(names, known_ids(model))
    found = {one.id: np.asarray(result.run.found[one.id].motifs, np.int64) for one in result.recordings}
    reader, entries_tell = _by_entries(columns, found, len(names))
    seen = {} if entries_tell else {id: read_again(result, model, id, data) for id in sorted(columns)}
    if seen:
        reader = _by_windows(model, reader, seen, found, columns, names)
    numbers, taught = np.array([ids[name] for name in names]), list[TaughtSpan]()
    for about in result.recordings:
        id, signal = about.id, None
        if reader.windows is not None:
            signal = (seen.get(id) or read_again(result, model, id, data)).signal
        stays = _by_hand(edits, id, about.n_frames)
        taught += spans_of(model, reader, signal, found[id], id, numbers, columns.get(id), stays)
    edit = Edit("teach", "motif", tuple(numbers.tolist()), names=names, taught=tuple(taught), reader=text_of(reader))
    return edits.added(Edit(**{**vars(edit), "at": now()}), known_ids(model))


def _columns(result: Result, edits: Edits, marks: Marks) -> tuple[dict[str, Ints], tuple[str, ...]]:
    """The column of every row of recordings with marks, OTHER elsewhere, and the names of the columns.

    New marks hold where they lie over older ones. Columns are in the order of the first rows marked with them: other
    names for the same marks change nothing else.
    """
    codes, tracks = dict[str, int](), dict[str, Ints]()
    for about in sorted(result.recordings, key=lambda one: one.id):
        before = [(one.start, one.stop, edits.name("motif", one.id)) for one in edits.marks(about.id)]
        for start, stop, name in (*before, *marks.get(about.id, ())):
            track = tracks.setdefault(about.id, np.full(about.n_frames, OTHER))
            track[start:stop] = codes.setdefault(checked_name(name), len(codes))
    joined = np.concatenate([track[track != OTHER] for track in tracks.values()])
    found, first = np.unique(joined, return_index=True)
    order = found[np.argsort(first)]
    column_of = np.full(len(codes) + 1, OTHER)  # OTHER = -1 finds the last
    column_of[order] = np.arange(order.size)
    names = list(codes)
    return {id: column_of[track] for id, track in tracks.items()}, tuple(names[code] for code in order)


def _by_entries(columns: Mapping[str, Ints], found: Mapping[str, Ints], n_names: int) -> tuple[TaughtMotifs, bool]:
    """What the entries that were found say of the marks, and whether that is how to read."""
    entries = np.unique(np.concatenate([found[id] for id in columns])).astype(np.int64)
    marked = np.zeros((n_names, entries.size), np.int64)
    claimed = set[int]()
    for id, own in columns.items():
        places = np.searchsorted(entries, found[id])
        np.add.at(marked, (own[own != OTHER], places[own != OTHER]), 1)
        for start, stop, _ in runs_in(own):
            claimed.add(int(entries[np.bincount(places[start:stop]).argmax()]))
    return taught_by_entries(entries, marked, np.array(sorted(claimed), np.int64))


def _by_windows(
    model: Rondo, by_entries: TaughtMotifs, seen: Mapping[str, Windowed], found: Mapping[str, Ints],
    columns: Mapping[str, Ints], names: Sequence[str],
) -> TaughtMotifs:  # fmt: skip
    """What the windows of recordings with marks say."""
    windows = {id: taught_windows(model, one.signal) for id, one in seen.items()}
    there = {id: found_in(seen[id].signal, windows[id], found[id]) for id in seen}
    marked = {id: _marked(seen[id], windows[id], columns[id]) for id in seen}
    lost = [name for column, name in enumerate(names) if not any((own == column).any() for own in marked.values())]
    if lost:
        length = next(iter(windows.values())).grid.length_frames
        why = f"'{lost[0]}' is marked only where no window of {length} frames fits; mark more of it"
        if len(lost) == len(names):
            raise SettingError(why)
        warnings.warn(f"{why}: nothing else is read as '{lost[0]}'", RondoWarning, stacklevel=5)
    ids = list(seen)
    each = [windows[id] for id in ids], [there[id] for id in ids], [marked[id] for id in ids]
    return taught_by_windows(by_entries, len(names), *each)


def _marked(one: Windowed, windows: Windows, columns: Ints) -> Ints:
    """The column at the middle of each window; a mark without a middle has the nearest window."""
    rows = rows_of(one.signal, middles(windows.grid))
    marked = columns[rows]
    for start, stop, column in runs_in(columns):
        if rows.size and not ((rows >= start) & (rows < stop)).any():
            nearest = int(np.abs(rows - (start + stop) / 2).argmin())
            is_near = abs(rows[nearest] - (start + stop) / 2) < windows.grid.length_frames
            if is_near and (marked[nearest] == OTHER or not (marked == column).any()):
                marked[nearest] = column
    return marked


def _by_hand(edits: Edits, recording: str, n_frames: int) -> Flags:
    """Whether someone has given a row to a motif already."""
    given = np.zeros(n_frames, np.bool_)
    for edit in edits.relabels:
        for span in edit.spans if edit.ids_of("motif") else ():
            given[span.start : span.stop] |= span.recording == recording
    return given


def read_again(result: Result, model: Rondo, id: str, data: Any) -> Windowed:
    """A recording of a result as its labels were read from; from its file where it is not in memory."""
    about = result.summary.recording(id)
    assert about is not None, "marks are checked"
    recording = _recording(result, model, id, data, about.source, about.rate)
    if recording.n_frames != about.n_frames:
        raise RecordingError(
            f"'{recording.source or id}': {recording.n_frames} rows, but '{id}' has {about.n_frames} in the run; give "
            "the file that the run was made from"
        )
    return as_labelled(model, recording, True, about.group or None, was_fitted=result.kind == "discover")


def _recording(result: Result, model: Rondo, id: str, data: Any, source: str, rate: float | None) -> Recording:
    if data is None and id in result.at_hand:
        return result.at_hand[id]
    if data is None and not source:
        raise RecordingError(f"the run was made from an array, so the values of '{id}' are not on disk; give them")
    reading = as_the_model_reads(Reading(), model.preprocessor_)
    try:
        found = as_recordings(source if data is None else data, reading)
        if found[0].rate is None and rate is not None:
            found = as_recordings(source if data is None else data, replace(reading, rate=rate))
    except RondoError as error:
        raise RecordingError(f"{error}; give the recordings of the run (RECORDING, data=)") from None
    own = next((one for one in found if one.id == id), found[0] if len(found) == len(result) == 1 else None)
    if own is None:
        raise RecordingError(f"'{source}': it holds no recording '{id}'; give the recordings of the run")
    return own
