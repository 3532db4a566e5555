"""All scores of a set of recordings beside those of the clock: `evaluate`.

Scores are computed per recording and averaged with equal weight, except SegRatio, which is pooled. Shares are
percentages, 0-100; ARI and AMI fall below 0 where a prediction agrees less than chance would.

The clock is a control that looks at no data, so that a score which rewards chopping is seen to do so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import ArrayLike

from rondo.data.labels import Labels, Runs
from rondo.errors import AnnotationError, SettingError
from rondo.metrics.meaning import SharedScores
from rondo.metrics.overlap import Overlap, class_of_cluster, mapped_runs, mof
from rondo.metrics.recurrence import (
    adjusted_mutual_information,
    adjusted_rand,
    occurrences_per_cluster,
    one_to_one,
)
from rondo.metrics.segmental import edit, f1, match_segments, recall


@dataclass(frozen=True)
class ScoreRow:
    """The scores of one recording, or averages over several; shares are percentages.

    Parameters
    ----------
    mof : float
        Frame accuracy, each cluster mapped to its most frequent class.
    recall : float
        Share of true segments with the right class on at least half of their frames, mean over classes.
    f1_10, f1_25, f1_50 : float
        Segmental F1 at an overlap of 10, 25 and 50 %.
    edit : float
        Edit score of the sequence of segments.
    seg_ratio : float
        Number of predicted segments over number of true ones; pooled over recordings.
    ari : float
        Adjusted Rand index.
    ami : float
        Adjusted mutual information.
    one_to_one : float
        Frame accuracy under the best one-to-one mapping of clusters and classes.
    n_clusters : float
        Number of clusters.
    occurrences_per_cluster : float
        Mean number of segments of a cluster.
    """

    mof: float
    recall: float
    f1_10: float
    f1_25: float
    f1_50: float
    edit: float
    seg_ratio: float
    ari: float
    ami: float
    one_to_one: float
    n_clusters: float
    occurrences_per_cluster: float

    def as_dict(self) -> dict[str, float]:
        """Each score by its name."""
        return asdict(self)


@dataclass(frozen=True)
class Scores:
    """The scores of labels, and those of the clock.

    The clock is a control: it cuts each recording into as many equal pieces as the labels have segments there.

    Parameters
    ----------
    average : ScoreRow
        The average over recordings.
    recordings : mapping
        The scores of each recording, by its id.
    clock : ScoreRow
        The average of the clock.
    clock_recordings : mapping
        The scores of the clock for each recording.
    shared : SharedScores or None
        Scores of a vocabulary that several people share; only `rondo.evaluate` fills it.
    """

    average: ScoreRow
    recordings: Mapping[str, ScoreRow]
    clock: ScoreRow
    clock_recordings: Mapping[str, ScoreRow]
    shared: SharedScores | None = None

    def as_dict(self) -> dict[str, float | int | dict[str, float | int]]:
        """Plain values, as `rondo evaluate --json` prints them: averages, those of the clock, `shared` if any."""
        n_recordings = len(self.recordings)
        found: dict[str, float | int | dict[str, float | int]] = {
            **self.average.as_dict(),
            "n_recordings": n_recordings,
            "clock": {**self.clock.as_dict(), "n_recordings": n_recordings},
        }
        return found if self.shared is None else found | {"shared": self.shared.as_dict()}


def evaluate(pairs: Mapping[str, tuple[ArrayLike, ArrayLike]]) -> Scores:
    """Score labels against a ground truth: for each recording id two tracks (n_frames,), classes and labels.

    Both are whole numbers or names; OTHER is one more cluster.

    >>> scores = evaluate({"day1": ([0, 0, 1, 1, 0, 0], [4, 4, 7, 7, 4, 9])})
    >>> round(scores.average.mof), round(scores.average.one_to_one), scores.average.seg_ratio
    (100, 83, 1.3333333333333333)
    >>> round(scores.average.ari), round(scores.clock.ari)
    (59, 2)
    """
    if not pairs:
        raise AnnotationError("there is nothing to evaluate: expected at least one recording with truth and labels")
    overlaps = {name: Overlap.of(truth, labels, name) for name, (truth, labels) in pairs.items()}
    clocks = {
        name: Overlap.of_runs(overlap.truth, clock_runs(overlap.n_frames, len(overlap.labels)))
        for name, overlap in overlaps.items()
    }
    rows = {name: score(overlap) for name, overlap in overlaps.items()}
    clock_rows = {name: score(overlap) for name, overlap in clocks.items()}
    ratio = sum(len(o.labels) for o in overlaps.values()) / sum(len(o.truth) for o in overlaps.values())
    return Scores(_average(rows, ratio), rows, _average(clock_rows, ratio), clock_rows)


def score(overlap: Overlap) -> ScoreRow:
    """All scores of one recording."""
    mapping = class_of_cluster(overlap)
    predicted = mapped_runs(overlap, mapping)
    matches = match_segments(overlap.truth, predicted)
    return ScoreRow(
        mof=100 * mof(overlap, mapping),
        recall=100 * recall(overlap, mapping),
        f1_10=100 * f1(matches, 10),
        f1_25=100 * f1(matches, 25),
        f1_50=100 * f1(matches, 50),
        edit=100 * edit(overlap.truth, predicted),
        seg_ratio=len(overlap.labels) / len(overlap.truth),
        ari=100 * adjusted_rand(overlap),
        ami=100 * adjusted_mutual_information(overlap),
        one_to_one=100 * one_to_one(overlap),
        n_clusters=overlap.n_clusters,
        occurrences_per_cluster=occurrences_per_cluster(overlap),
    )


def _average(rows: Mapping[str, ScoreRow], seg_ratio: float) -> ScoreRow:
    columns = {name: [row.as_dict()[name] for row in rows.values()] for name in ScoreRow.__dataclass_fields__}
    means = {name: float(np.mean(values)) for name, values in columns.items()}
    return ScoreRow(**(means | {"seg_ratio": seg_ratio}))


def clock_runs(n_frames: int, n_pieces: int) -> Runs:
    """Equal pieces, each a cluster of its own: frame t of n frames lies in piece t·K // n."""
    if not 1 <= n_pieces <= n_frames:
        raise SettingError(f"a clock cuts {n_frames} frames into 1 to {n_frames} pieces, got {n_pieces}")
    pieces = np.arange(n_pieces, dtype=np.int64)
    starts = -(-pieces * n_frames // n_pieces)  # the first t with t·K >= piece·n
    return Runs(starts, np.append(starts[1:], n_frames), pieces)


def clock_labels(n_frames: int, n_pieces: int) -> Labels:
    """Label frames by the clock, which cuts a recording into equal pieces.

    >>> clock_labels(7, 3).tolist()
    [0, 0, 0, 1, 1, 2, 2]
    """
    runs = clock_runs(n_frames, n_pieces)
    return np.repeat(runs.ids.astype(np.int32), runs.lengths)
