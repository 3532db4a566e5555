"""What is like one marked span of a result, as a table; `rondo.motifs.alike` searches what the model sees."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.annotations.marks import marks_of
from rondo.data.labels import OTHER
from rondo.data.signal import Signal
from rondo.editing.names import EntryId
from rondo.errors import AnnotationError, SettingError
from rondo.model.rondo import Rondo
from rondo.model.taught_spans import rows_of
from rondo.model.teaching import read_again
from rondo.motifs.alike import FEWEST_FRAMES, Alike, find_alike
from rondo.run.clock import clock_of, seconds_at
from rondo.run.labelling import Labelling
from rondo.run.segments import LEVELS

if TYPE_CHECKING:
    import pandas as pd

    from rondo.result import Result

COLUMNS = ("recording", "start_frame", "end_frame", "start_s", "end_s", "score", "suggested", "entry")


def spans_alike(result: Result, recording: str, start: Any, end: Any, data: Any = None, most: int = 50) -> pd.DataFrame:
    """One row per span, the most alike first, with the columns of `COLUMNS`; row 0 is the marked span."""
    import pandas as pd

    model = result.model
    if result.kind == "stream" or not isinstance(model, Rondo):
        raise SettingError("only runs of `rondo discover` and `rondo label` with the method rondo can be searched")
    first, past = _marked_rows(result, recording, start, end)
    ids = [one.id for one in result.recordings]  # a file may have another name now
    signals = {id: replace(read_again(result, model, id, data).signal, id=id) for id in ids}
    found = find_alike(list(signals.values()), recording, *_frames(signals[recording], first, past))
    shown = [one for rank, one in enumerate(found) if one.suggested or (rank < most and one.score > 0)]
    rows = [_row(result, signals[one.recording], one) for one in shown]
    rows[0] = (recording, first, past, *rows[0][3:])
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _marked_rows(result: Result, recording: str, start: Any, end: Any) -> tuple[int, int]:
    """The rows of the file that were marked."""
    ends, n_frames = (start, end), {one.id: one.n_frames for one in result.recordings}
    clock = clock_of(result, recording)
    are_frames = all(isinstance(each, Integral) or (clock is None and str(each).isdecimal()) for each in ends)
    if clock is None and not are_frames:
        raise AnnotationError(f"'{recording}': the run knows no rate, so expected frames, got {start!r} to {end!r}")
    columns = ("start_frame", "end_frame") if are_frames else ("start_s", "end_s")
    mark = {"name": "the span", "recording": recording, **dict(zip(columns, ends, strict=True))}
    ((first, past, _),) = marks_of([mark], n_frames, partial(clock_of, result))[recording]
    if past - first < FEWEST_FRAMES:
        expected = f"expected a span of {FEWEST_FRAMES} frames at least, got {past - first} (12.0 is in seconds)"
        raise AnnotationError(f"'{recording}': {expected}; mark more")
    return first, past


def _frames(signal: Signal, first: int, past: int) -> tuple[int, int]:
    """The frames of the signal that these rows are; without a gap among them."""
    if signal.frame_of_row is not None:
        first, past = int(signal.frame_of_row[first]), int(signal.frame_of_row[past - 1]) + 1
    inside = any(start <= first and past <= stop for start, stop in signal.spans)
    if not inside or past - first < FEWEST_FRAMES:
        raise AnnotationError(f"'{signal.id}': the span lies over a gap in the values; mark one without missing values")
    return first, past


def _row(result: Result, signal: Signal, place: Alike) -> tuple[Any, ...]:
    first, last = rows_of(signal, np.array([place.start, place.stop - 1])).tolist()
    about, seconds = result.summary.recording(place.recording), (np.nan, np.nan)
    if about is not None and about.rate is not None:
        seconds = (round(seconds_at(about, first), 3), round(seconds_at(about, last + 1), 3))
    entry = _entry(result[place.recording], first, last + 1)
    return place.recording, first, last + 1, *seconds, round(place.score, 4), place.suggested, entry


def _entry(labelling: Labelling, first: int, past: int) -> str:
    """The motif that most of the rows lie in, else the unit; "" where that is OTHER."""
    for level in reversed(LEVELS):
        ids, counts = np.unique(labelling.labels_of(level)[first:past], return_counts=True)
        if (id := int(ids[counts.argmax()])) != OTHER:
            return str(EntryId(level, id))
    return ""
