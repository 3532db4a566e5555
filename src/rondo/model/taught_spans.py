"""What a model was taught, read in a recording: frames that belong to a name, as spans of an edit."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from rondo.arrays import Flags, Ints
from rondo.data.labels import OTHER, runs_of
from rondo.data.signal import Signal
from rondo.data.windows import Windows
from rondo.editing.kinds import TaughtSpan
from rondo.errors import ModelError
from rondo.motifs.described import described_grid, middles
from rondo.motifs.taught import TaughtMotifs

if TYPE_CHECKING:
    from rondo.model.label import Windowed
    from rondo.model.rondo import Rondo
    from rondo.run.labelling import Labelling


def taught_spans(model: Rondo, one: Windowed, labelling: Labelling) -> tuple[TaughtSpan, ...]:
    """The frames of a recording that the model reads as what it was taught; () where it was taught nothing."""
    teaching = model.edits_.teaching
    if teaching is None:
        return ()
    reader = reader_in(teaching.reader, len(teaching.ids))
    return spans_of(
        model, reader, one.signal, labelling.motifs.astype(np.int64), labelling.recording_id, np.array(teaching.ids)
    )


def taught_windows(model: Rondo, signal: Signal) -> Windows:
    """The windows in which names are read."""
    return Windows(signal.values, described_grid(model.motif_window_frames_, signal.n_frames, signal.spans))


def found_in(signal: Signal, windows: Windows, motifs: Ints) -> Ints:
    """The entry of each window that was found in the row at its middle."""
    return motifs[rows_of(signal, middles(windows.grid))]


def rows_of(signal: Signal, frames: Ints) -> Ints:
    """The row of the file for each frame."""
    if signal.frame_of_row is None:
        return frames
    return np.minimum(np.searchsorted(signal.frame_of_row, frames), signal.n_rows - 1)


def spans_of(
    model: Rondo, reader: TaughtMotifs, signal: Signal | None, motifs: Ints, recording: str, ids: Ints,
    marked: Ints | None = None, by_hand: Flags | None = None,
) -> tuple[TaughtSpan, ...]:  # fmt: skip
    """Spans of rows.

    `motifs`: what was found; `ids`: of the names; `marked`: the column that people gave a row, OTHER where they gave
    none; `by_hand`: rows that stay as they are.
    """
    marked = np.full(motifs.size, OTHER) if marked is None else marked
    window_of, read = None, None
    columns = reader.of_entries(motifs)
    if reader.windows is not None and signal is not None:
        windows = taught_windows(model, signal)
        read = reader.windows.read(windows, found_in(signal, windows, motifs))
        window_of = signal.to_rows(windows.grid.project(np.arange(len(windows)), "centre")).astype(np.int64)
        columns = np.append(read.columns, OTHER)[window_of]
    spans = [TaughtSpan(recording, start, stop, int(ids[column]), True) for start, stop, column in runs_in(marked)]
    stays = marked != OTHER if by_hand is None else (marked != OTHER) | by_hand
    for start, stop, column in runs_in(np.where(stays, OTHER, columns)):
        span = TaughtSpan(recording, start, stop, int(ids[column]), False)
        if read is not None and window_of is not None:
            inside = np.unique(window_of[start:stop])
            second, margin = np.bincount(read.seconds[inside]).argmax(), round(float(read.margins[inside].mean()), 4)
            span = span._replace(second=int(ids[second]), margin=margin)
        spans.append(span)
    return tuple(sorted(spans))


def runs_in(columns: Ints) -> list[tuple[int, int, int]]:
    """Start, stop and column of what is not OTHER."""
    rows = zip(*(part.tolist() for part in runs_of(columns)), strict=True)
    return [(start, stop, column) for start, stop, column in rows if column != OTHER]


def text_of(reader: TaughtMotifs) -> str:
    """What reads names, as an edit keeps it: nothing in it is code."""
    from safetensors.numpy import save

    return b64encode(save({name: np.ascontiguousarray(each) for name, each in reader.tensors().items()})).decode()


@lru_cache(maxsize=2)
def reader_in(text: str, n_names: int) -> TaughtMotifs:
    """What `text_of` gave; a damaged one is refused."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return TaughtMotifs.restore(load(b64decode(text, validate=True)), n_names)
    except (binascii.Error, SafetensorError, LookupError, ValueError, TypeError, ModelError) as error:
        raise ModelError(f"edits.json: what was taught cannot be read ({error}); undo it and teach again") from None
