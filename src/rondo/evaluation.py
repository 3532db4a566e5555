"""`rondo.evaluate`: what was found against a ground truth, always beside the clock. Learners never see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.analysis.usage import groups_of_run
from rondo.annotations.annotation import Annotation
from rondo.data.labels import OTHER, Labels, runs_of
from rondo.errors import AnnotationError, SettingError
from rondo.metrics.comparison import Comparison, compare
from rondo.metrics.meaning import shared_scores
from rondo.metrics.scores import Scores
from rondo.metrics.scores import evaluate as score
from rondo.report.contents import TruthFile
from rondo.report.lanes import read_truth
from rondo.result import Result, with_truth
from rondo.run.segments import LEVELS
from rondo.run.shown import unmarked
from rondo.run.summary import LevelScores, RunScores
from rondo.units.vocabulary import Level

if TYPE_CHECKING:
    import polars as pl


def evaluate(
    truth: Any,
    result: Result | str | Path,
    *,
    level: Level = "motif",
    key: str | None = None,
    rate: float | None = None,
    group_by: str | Mapping[str, str] | None = None,
) -> Scores:
    """Score the labels of a result against a ground truth.

    The scores are ARI, AMI, one-to-one and those of the paper, each also for the clock. Frames that were marked to
    teach the result are not scored. If two or more groups of
    recordings share a vocabulary, `scores.shared` holds pooled ARI and meaning as well; classes of the same name or
    number then count as the same class in all recordings.

    Parameters
    ----------
    truth : path, array, Annotation, or mapping
        A file or folder of classes per frame or of annotations (ELAN, Audacity, Label Studio, BORIS), one array of
        classes (n_frames,), or a mapping from recording ids to arrays.
    result : Result or path
        A Result, or the folder of a run.
    level : "motif" or "unit"
        The labels to score.
    key : str or None
        The array, column or track of the truth.
    rate : float or None
        Frames per second, for annotations in seconds where the run has no rate.
    group_by : str, mapping or None
        The group of each recording, for `scores.shared` (`rondo.data.groups`). None takes the groups of the run, else
        every recording is a group.

    Returns
    -------
    Scores
        `average` over recordings, each recording, and `clock`.

    Raises
    ------
    AnnotationError
        If the truth cannot be read, or does not match the recordings.
    OutputError
        If `result` is a folder that holds no run.

    Examples
    --------
    >>> import rondo
    >>> from rondo.synthetic import plant
    >>> stream = plant(n_frames=3_000, seed=1)
    >>> result = rondo.discover(stream.recording, window="1.5s", settings={"evidence.surrogates": 0})
    >>> scores = rondo.evaluate(stream.unit_truth, result, level="unit")
    >>> scores.average.ari > scores.clock.ari
    True
    """
    if level not in LEVELS:
        raise SettingError(f"level: expected unit or motif, got {level!r}")
    found = result if isinstance(result, Result) else Result.load(result)
    annotations, labels = _to_score(found, annotations_of(found, truth, key, rate), level)
    scores = score({id: (one.classes, labels[id]) for id, one in annotations.items()})
    groups = groups_of_run(found, group_by)
    return with_shared(scores, annotations, labels, groups)


def with_shared(
    scores: Scores,
    annotations: Mapping[str, Annotation],
    labels: Mapping[str, NDArray[np.integer] | Annotation],
    groups: Mapping[str, str] | None,
) -> Scores:
    """The scores with those of labels from one vocabulary, where two groups or more have classes of one kind."""
    names = {id: id if groups is None else groups[id] for id in annotations}
    are_named = {bool(one.names) for one in annotations.values()}
    if len(set(names.values())) < 2 or len(are_named) > 1:
        return scores
    return replace(scores, shared=shared_scores(annotations, labels, names))


def annotations_of(
    result: Result, truth: Any, key: str | None = None, rate: float | None = None
) -> dict[str, Annotation]:
    """The truth as one annotation for each recording that it is about."""
    if isinstance(truth, str | Path):
        return read_truth(result, TruthFile(Path(truth), key, rate))
    if isinstance(truth, Mapping):
        unknown = [id for id in truth if result.summary.recording(id) is None]
        if unknown:
            raise AnnotationError(f"the truth has a recording '{unknown[0]}' that the result does not have; rename it")
        return {id: _annotation(track, id) for id, track in truth.items()}
    if len(result) > 1:
        raise AnnotationError(
            f"one track of classes for {len(result)} recordings; give a mapping from their ids to tracks"
        )
    id = result.recordings[0].id
    return {id: _annotation(truth, id)}


def _annotation(track: Any, id: str) -> Annotation:
    return track if isinstance(track, Annotation) else Annotation(track, id=id)


def compared(
    result: Result,
    truth: Any,
    *,
    level: Level = "motif",
    recording: str | None = None,
    key: str | None = None,
    rate: float | None = None,
) -> Comparison:
    """The class of each entry, its purity, and the confusion table; of one recording, or of all."""
    if level not in LEVELS:
        raise SettingError(f"--level is unit or motif, got '{level}'")
    ids = [one.id for one in result.recordings]
    where = "" if result.run.folder is None else f"{result.run.folder}: "
    if recording is not None and recording not in ids:
        raise SettingError(f"{where}no recording '{recording}'; it has {', '.join(ids[:8])}")
    chosen = result if recording is None else only(result, recording)
    annotations, labels = _to_score(chosen, annotations_of(chosen, truth, key, rate), level)
    return compare({id: (annotation, labels[id]) for id, annotation in annotations.items()})


def _to_score(
    result: Result, annotations: Mapping[str, Annotation], level: Level
) -> tuple[dict[str, Annotation], dict[str, Labels]]:
    """Truth and labels of the frames that nobody has marked to teach; recordings without any are left out."""
    truth, labels = dict(annotations), {id: labels_of(result, id, level) for id in annotations}
    for id, one in annotations.items():
        kept = unmarked(result.run.edits, id, labels[id].size)
        if not kept.all() and one.n_frames == kept.size:
            del truth[id]
            if kept.any():
                truth[id] = Annotation(one.classes[kept], one.names, id)
            labels[id] = labels[id][kept]
    if annotations and not truth:
        raise AnnotationError("every frame was marked to teach the result, so there is none to score; mark fewer")
    return truth, {id: labels[id] for id in truth}


def only(result: Result, recording: str) -> Result:
    """The result of one recording; what is counted of entries is still of all."""
    about = tuple(one for one in result.recordings if one.id == recording)
    summary = result.summary.model_copy(update={"recordings": about})
    return replace(result, run=replace(result.run, summary=summary))


def labels_of(result: Result, recording: str, level: Level) -> Labels:
    """The labels of one level."""
    return np.asarray(result[recording].units if level == "unit" else result[recording].motifs)


def scored(result: Result, truth: Mapping[str, tuple[Labels, Labels]]) -> Result:
    """The result with its scores, and with the truth for its report: units and motifs of every recording."""
    rows = {
        level: score({id: (tracks[place], labels_of(result, id, level)) for id, tracks in truth.items()}).as_dict()
        for place, level in enumerate(LEVELS)
    }
    scores = RunScores(units=LevelScores.model_validate(rows["unit"]), motifs=LevelScores.model_validate(rows["motif"]))
    return with_truth(result, scores, _truth_table(truth))


def _truth_table(truth: Mapping[str, tuple[Labels, Labels]]) -> pl.DataFrame:
    import polars as pl

    rows: list[tuple[str, str, int, int, int]] = []
    for id, tracks in truth.items():
        for level, track in zip(LEVELS, tracks, strict=True):
            runs = zip(*(part.tolist() for part in runs_of(track)), strict=True)
            rows += [(id, level, label, start, stop) for start, stop, label in runs if label != OTHER]
    columns = {
        "recording": pl.String, "level": pl.String, "id": pl.Int32, "start_frame": pl.Int64, "end_frame": pl.Int64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=columns, orient="row")
