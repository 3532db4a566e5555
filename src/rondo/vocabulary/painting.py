"""FrameSpan edits applied to the labels of one level of one recording, frame by frame.

A track is a label for every frame and the frames at which an occurrence begins although the label stays the same. Edits
are applied in their order:

    relabel [a, b) to K    label(t) <- K for a <= t < b; no occurrence begins in [a, b] unless the label changes there
    divide  [a, b) into N  label(t) <- N for a <= t < b; occurrences begin where they did
    cut at f               an occurrence begins at f

So the last edit that covers a frame decides, and applying all of them twice is applying them once. To move the boundary
between two occurrences is to relabel the frames between its old and its new place; where both are of one entry, a cut
at the new place follows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import Labels
from rondo.vocabulary.edit import Edit, EditKind


class Stroke(NamedTuple):
    """One span of an edit, on one track."""

    kind: EditKind
    start: int
    stop: int
    label: int = 0


class LevelTrack(NamedTuple):
    """The labels of every frame, and where occurrences begin inside runs of one label, in order."""

    labels: Labels
    begins: NDArray[np.int64]

    def painted(self, strokes: Sequence[Stroke]) -> LevelTrack:
        """The track after the strokes; the arrays of this one stay as they are.

        >>> track = LevelTrack(np.array([3, 3, 3, 7, 7]), np.array([1]))
        >>> painted = track.painted([Stroke("relabel", 1, 4, 3), Stroke("cut", 2, 2)])
        >>> painted.labels.tolist(), painted.begins.tolist()
        ([3, 3, 3, 3, 7], [2])
        """
        if not strokes:
            return self
        labels = np.array(self.labels)
        begins = np.zeros(labels.size + 1, dtype=np.bool_)
        begins[self.begins] = True
        for stroke in strokes:
            if stroke.kind == "cut":
                begins[stroke.start : stroke.start + 1] = True
                continue
            labels[stroke.start : stroke.stop] = stroke.label
            if stroke.kind == "relabel":
                begins[stroke.start : stroke.stop + 1] = False
        return LevelTrack(labels, np.flatnonzero(begins[: labels.size]).astype(np.int64))


def strokes_of(edits: Sequence[Edit], recording: str) -> list[Stroke]:
    """What edits of one level do to one recording, in order."""
    return [
        Stroke(edit.kind, span.start, span.stop, edit.ids[-1] if edit.ids else 0)
        for edit in edits
        for span in edit.spans
        if span.recording == recording
    ]
