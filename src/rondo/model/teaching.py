"""Teaching: marked spans of a result -> an edit of its labels, and of those of other recordings read with its model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.arrays import Ints
from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.data.windows import Windows
from rondo.editing.edits import Edits, now
from rondo.editing.kinds import Edit, TaughtSpan
from rondo.errors import RecordingError, RondoError, SettingError
from rondo.files.inputs import as_recordings
from rondo.files.reading import Reading
from rondo.model.describe import known_ids
from rondo.model.label import Windowed, as_labelled
from rondo.model.rondo import Rondo
from rondo.model.taught_spans import found_in, rows_of, spans_of, taught_windows, text_of
from rondo.motifs.taught import middles, teach

if TYPE_CHECKING:
    from rondo.result import Result

Marks = Mapping[str, Sequence[tuple[int, int, str]]]
"""Frames [start, stop) and names, by the id of the recording."""


def taught_edits(result: Result, marks: Marks, data: Any = None) -> Edits:
    """The edits of the model of a result with one more: the marks of its teaching so far, and these."""
    model = result.model
    if result.kind == "stream" or not isinstance(model, Rondo):
        raise SettingError("only runs of `rondo discover` and `rondo label` with the method rondo can be taught")
    edits: Edits = model.edits_
    tracks = _tracks(result, edits, marks)
    names = _names(tracks)
    ids = edits.ids_for(names, known_ids(model))
    seen = {id: _windowed(result, model, id, data) for id in tracks}
    columns = {id: np.array([names.index(name) if name else OTHER for name in track]) for id, track in tracks.items()}
    windows = {id: taught_windows(model, one.signal) for id, one in seen.items()}
    found = {id: found_in(seen[id].signal, windows[id], result.run.found[id].motifs) for id in seen}
    marked = {id: _marked(seen[id], windows[id], columns[id]) for id in seen}
    for place, name in enumerate(names):
        if not any((own == place).any() for own in marked.values()):
            raise SettingError(f"'{name}' is marked only where no window of {_length(windows)} frames fits; mark more")
    claimed = {entry for id in seen for entry in _claimed(columns[id], result.run.found[id].motifs)}
    reader = teach(
        *([each[id] for id in sorted(seen)] for each in (windows, found, marked)), np.array(sorted(claimed), np.int64)
    )
    numbers, spans = np.array([ids[name] for name in names]), list[TaughtSpan]()
    for about in result.recordings:
        id = about.id
        one = seen.get(id) or _windowed(result, model, id, data)
        own = windows.get(id) or taught_windows(model, one.signal)
        motifs = result.run.found[id].motifs
        reading = reader.read(own, found_in(one.signal, own, motifs), marked.get(id))
        by_hand = _by_hand(edits, id, about.n_frames)
        spans += spans_of(one.signal, own, reading, id, numbers, columns.get(id), by_hand)
    edit = Edit("teach", "motif", tuple(numbers.tolist()), names=names, taught=tuple(spans), reader=text_of(reader))
    return edits.added(Edit(**{**vars(edit), "at": now()}), known_ids(model))


def _tracks(result: Result, edits: Edits, marks: Marks) -> dict[str, list[str]]:
    """The name of every marked row, "" elsewhere; new marks hold where they lie over older ones."""
    tracks: dict[str, list[str]] = {}
    for about in result.recordings:
        before = [(one.start, one.stop, edits.name("motif", one.id)) for one in edits.marks(about.id)]
        own = [*before, *marks.get(about.id, ())]
        if own:
            track = tracks.setdefault(about.id, [""] * about.n_frames)
            for start, stop, name in own:
                track[start:stop] = [name] * (stop - start)
    return tracks


def _names(tracks: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """In the order of their first marked rows: other names for the same marks change nothing else."""
    return tuple(dict.fromkeys(name for id in sorted(tracks) for name in tracks[id] if name))


def _length(windows: Mapping[str, Windows]) -> int:
    return next(iter(windows.values())).grid.length_frames


def _marked(one: Windowed, windows: Windows, columns: Ints) -> Ints:
    """The column at the middle of each window; a mark without a middle has the nearest window."""
    rows = rows_of(one.signal, middles(windows.grid))
    marked = columns[rows]
    edges = np.flatnonzero(np.diff(columns, prepend=OTHER, append=OTHER))
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        if rows.size and columns[start] != OTHER and not ((rows >= start) & (rows < stop)).any():
            nearest = int(np.abs(rows - (start + stop) / 2).argmin())
            if marked[nearest] == OTHER and abs(rows[nearest] - (start + stop) / 2) < windows.grid.length_frames:
                marked[nearest] = columns[start]
    return marked


def _claimed(columns: Ints, motifs: Ints) -> set[int]:
    """The entries that hold the larger part of a marked span."""
    edges = np.flatnonzero(np.diff(columns, prepend=OTHER, append=OTHER))
    claimed = set()
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        if columns[start] != OTHER:
            entries, counts = np.unique(motifs[start:stop], return_counts=True)
            claimed.add(int(entries[counts.argmax()]))
    return claimed


def _by_hand(edits: Edits, recording: str, n_frames: int) -> Ints:
    """Whether someone has given a row to a motif already."""
    given = np.zeros(n_frames, np.bool_)
    for edit in edits.relabels:
        for span in edit.spans if edit.ids_of("motif") else ():
            given[span.start : span.stop] |= span.recording == recording
    return given


def _windowed(result: Result, model: Rondo, id: str, data: Any) -> Windowed:
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
    known = model.preprocessor_.known_channels
    try:
        found = as_recordings(source if data is None else data, Reading(known=known))
        if found[0].rate is None and rate is not None:
            found = as_recordings(source if data is None else data, Reading(rate, known=known))
    except RondoError as error:
        raise RecordingError(f"{error}; give the recordings of the run (RECORDING, data=)") from None
    own = next((one for one in found if one.id == id), found[0] if len(found) == len(result) == 1 else None)
    if own is None:
        raise RecordingError(f"'{source}': it holds no recording '{id}'; give the recordings of the run")
    return own
