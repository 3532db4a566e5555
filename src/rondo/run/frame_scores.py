"""How well each frame fits its unit and its motif: kept beside the labels, drawn beneath the lanes.

The score of a unit is exp(-r), where r is the distance of the window to the centre of its unit over the radius of that
unit: 1 at the centre, 0.37 at the radius. Streams measure to the nearest exemplar instead, in reaches. It says how
typical a window is, not how likely its label is right. The score of a motif is what the motif model gives: the
length of its phrase over length plus edits, 1 where the occurrence is exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.errors import OutputError
from rondo.run.overview import packed, signal_overview
from rondo.store.own_arrays import UNREADABLE, read_archive
from rondo.store.writing import make_folder, whole_file

if TYPE_CHECKING:
    from rondo.labelling import Labelling

Scores = NDArray[np.float32]


class FrameScores(NamedTuple):
    """One score in [0, 1] per frame and level; 0 where the label is OTHER."""

    units: Scores
    motifs: Scores

    @property
    def tell_something(self) -> bool:
        """A method without scores gives every label a 1."""
        return any(bool(((track > 0) & (track < 1)).any()) for track in self)


def told_scores(labelling: Labelling) -> FrameScores | None:
    """The scores of a labelling; None where they tell nothing."""
    scores = FrameScores(labelling.unit_scores, labelling.motif_scores)
    return scores if scores.tell_something else None


def scores_path(run_dir: Path, recording_id: str) -> Path:
    """Where a run folder keeps the scores of a recording, if its method has any."""
    return run_dir / "scores" / f"{recording_id}.npz"


def write_scores(path: Path, scores: FrameScores) -> None:
    """Write `unit` and `motif`, float32, to an .npz file; nothing where they tell nothing."""
    if not scores.tell_something:
        return
    make_folder(path.parent)
    with whole_file(path) as file:
        np.savez_compressed(file, unit=scores.units.astype(np.float32), motif=scores.motifs.astype(np.float32))


def read_scores(path: Path, n_frames: int) -> FrameScores | None:
    """Read what `write_scores` wrote; None where there is no such file, as in older runs."""
    if not path.exists():
        return None
    try:
        stored = read_archive(path, ("unit", "motif"), 2 * 8 * n_frames)
        scores = FrameScores(stored["unit"].astype(np.float32), stored["motif"].astype(np.float32))
    except UNREADABLE as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OutputError(f"{path}: expected an .npz with the scores of every frame, but {reason}; remove it") from None
    if any(track.shape != (n_frames,) for track in scores):
        raise OutputError(f"{path}: expected one score for each of {n_frames} frames; remove it")
    return scores


def score_rows(runs: Mapping[str, FrameScores | None], budget_bytes: int) -> dict[str, Any]:
    """What the page draws of the scores of each run by its name, as of a signal that runs from 0 to 1.

    Motifs have a row only where they say more than units.
    """
    rows: dict[str, tuple[str, Scores]] = {}
    for run, scores in runs.items():
        if scores is not None:
            rows[f"unit score {run}".rstrip()] = "unit", scores.units
            if not np.array_equal(scores.units, scores.motifs):
                rows[f"motif score {run}".rstrip()] = "motif", scores.motifs
    if not rows:
        return {"channels": [], "kinds": [], "coarse": None, "fine": None}
    tracks = np.stack([track for _, track in rows.values()], axis=1)
    levels = packed(signal_overview(tracks, [*rows], extent=(0.0, 1.0)), budget_bytes)
    return {"channels": [*rows], "kinds": [kind for kind, _ in rows.values()], **levels}
