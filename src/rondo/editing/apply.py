"""Labels as they were found -> labels as people have edited them: the only place that changes a label.

Frames are relabelled in the order of the list, so the last edit that covers a frame decides. Each span is one
occurrence; it goes on where the frames beside it belong to the same entry, unless they are another span of the edit.
Then entries that were merged take the id that is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import Labels
from rondo.editing.edits import Edits
from rondo.units.vocabulary import Level

if TYPE_CHECKING:
    from rondo.run.labelling import Labelling


def shown(found: Labelling, edits: Edits) -> Labelling:
    """The labelling under the edits, in place of any that it was shown under before; scores do not change."""
    beside, found = found.unshown, found.as_found
    units, unit_begins = _track(found, "unit", edits)
    motifs, motif_begins = _track(found, "motif", edits)
    unshown = None
    if beside is not None:  # whose motifs are others: only its units follow what was done to frames
        other = beside.as_found
        own = kept_ids(edits.moved("motif"), other.motifs)
        unshown = replace(other, units=units, motifs=own, unit_begins=unit_begins, edits=edits, found=other)
    tracks: dict[str, Any] = {"units": units, "motifs": motifs}
    begins: dict[str, Any] = {"unit_begins": unit_begins, "motif_begins": motif_begins}
    return replace(found, **tracks, **begins, edits=edits, found=found, unshown=unshown)


def _track(found: Labelling, level: Level, edits: Edits) -> tuple[Labels, NDArray[np.int64]]:
    """The labels of a level, and where an occurrence begins although the label stays the same."""
    begins = found.unit_begins if level == "unit" else found.motif_begins
    labels, begins = relabelled(found.labels_of(level), begins, edits, level, found.recording_id)
    return kept_ids(edits.moved(level), labels), begins


def relabelled(
    labels: Labels, begins: NDArray[np.int64], edits: Edits, level: Level, recording: str
) -> tuple[Labels, NDArray[np.int64]]:
    """The track after every relabel; the arrays given stay as they are.

    >>> from rondo.editing.kinds import Edit, FrameSpan
    >>> edits = Edits((Edit("relabel", "unit", (3,), spans=(FrameSpan("day", 1, 4),)),))
    >>> labels, begins = relabelled(np.array([3, 3, 3, 7, 7]), np.array([1]), edits, "unit", "day")
    >>> labels.tolist(), begins.tolist()
    ([3, 3, 3, 3, 7], [])
    """
    if recording not in edits.touched:
        return labels, begins
    track, is_begin = np.array(labels), np.zeros(labels.size + 1, dtype=np.bool_)
    is_begin[begins] = True
    for edit in edits.relabels:
        spans = [(span.start, span.stop) for span in edit.spans if span.recording == recording]
        for id in edit.ids_of(level):
            for start, stop in spans:
                track[start:stop] = id
                is_begin[start : stop + 1] = False
            between = {start for start, _ in spans} & {stop for _, stop in spans}
            is_begin[[frame for frame in between if frame < is_begin.size]] = True
    return track, np.flatnonzero(is_begin[: labels.size]).astype(np.int64)


def kept_ids(moved: Mapping[int, int], labels: NDArray[np.integer]) -> NDArray[Any]:
    """Labels under the ids that are kept; the array itself where no merge concerns it."""
    if not moved or not labels.size:
        return labels
    ids, codes = np.unique(labels, return_inverse=True)
    kept = np.array([moved.get(id, id) for id in ids.tolist()], dtype=labels.dtype)
    return np.asarray(kept[codes].reshape(labels.shape))
