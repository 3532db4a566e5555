"""A run folder brought up to date with its edits: labels, segments, summary and report.

What is shown is made again from what was found, so that the same command repairs a run whose update was interrupted.
"""

from __future__ import annotations

from pathlib import Path

from rondo.continual.checkpoint import locked
from rondo.data.labels import Labels
from rondo.errors import OutputError
from rondo.grown_model import CHECKPOINT
from rondo.metrics.scores import evaluate as score
from rondo.result import Result, with_truth
from rondo.run.folder import update_run
from rondo.run.segments import LEVELS, labels_in
from rondo.run.summary import LevelScores, RunScores, model_place
from rondo.vocabulary.edits import read_edits
from rondo.vocabulary.vocabulary import Level


def show_edits(run: Path) -> None:
    """Bring a run folder up to date with the edits stored with its model. A running stream does so itself.

    Parameters
    ----------
    run : Path
        The folder of a run.

    Raises
    ------
    OutputError
        If the folder holds no run.
    """
    result = Result.load(run)
    stream = result.summary.stream
    if stream is None or stream.finished:
        _show(run, result)
        return
    try:
        with locked(run / CHECKPOINT):
            _show(run, result)
    except OutputError:  # another process is writing it
        return


def _show(run: Path, result: Result) -> None:
    edits = read_edits(model_place(run)) if result.model is None else None
    update_run(run, _scored(result.edited(edits)))


def _scored(result: Result) -> Result:
    """The same with the scores of its labels as they are now, where the run was scored against a truth."""
    if result.summary.scores is None or "truth" not in result.tables:
        return result
    truth = result.tables["truth"]
    n_frames = {one.id: one.n_frames for one in result.recordings}

    def scores(level: Level) -> LevelScores:
        pairs: dict[str, tuple[Labels, Labels]] = {}
        for id in truth["recording"].unique(maintain_order=True).to_list():
            true = labels_in(truth.filter(truth["recording"] == id), level, n_frames[id])
            pairs[id] = (true, result[id].units if level == "unit" else result[id].motifs)
        return LevelScores.model_validate(score(pairs).as_dict())

    units, motifs = (scores(level) for level in LEVELS)
    return with_truth(result, RunScores(units=units, motifs=motifs), truth)
