"""`rondo evaluate`: labels against ground truth, always beside the clock."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rondo.cli import options
from rondo.errors import SettingError

if TYPE_CHECKING:
    from rondo.data.frame_clock import FrameClock
    from rondo.metrics.scores import Scores


def evaluate(
    truth: Annotated[
        Path,
        typer.Argument(
            metavar="TRUTH", help="Classes (.npy .csv .npz), a folder of them, or annotations ({annotation_suffixes})."
        ),
    ],
    labels: Annotated[
        Path,
        typer.Argument(metavar="LABELS", help="A run folder; or labels: a file, or a folder matched by file stem."),
    ],
    level: Annotated[str, typer.Option("--level", metavar="NAME", help="Of a run: motif (default) or unit.")] = "motif",
    key: options.TruthKey = None,
    rate: Annotated[
        float | None,
        typer.Option("--rate", metavar="HZ", help="For annotations in seconds, where the labels lie in no run folder."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Score labels against ground truth: ARI, AMI, one-to-one, the paper's scores, and the clock control.

    Example: rondo evaluate truth/ run --json

    Annotations of other programs (ELAN, Audacity, Label Studio, BORIS) are laid on the frames of the labels.
    """
    from rondo.cli.demo import score_table

    scores = _scores(truth, labels, level, key, rate).as_dict()
    if json:
        print(json_module.dumps(scores))
        return
    print(score_table({"labels": scores}))
    print("clock: equal pieces, as many as the labels have segments, without looking at the data;")
    print("       a claim that something was discovered rests on ARI, AMI and one-to-one.")


def _scores(truth: Path, labels: Path, level: str, key: str | None, rate: float | None) -> Scores:
    from rondo.formats.annotations.annotation import read_label_pairs
    from rondo.metrics import evaluate as score
    from rondo.run.summary import SUMMARY
    from rondo.store.cloud_folder import run_here

    labels = run_here(labels)
    if (labels / SUMMARY).is_file():
        from rondo.evaluation import evaluate as score_run

        if level not in ("unit", "motif"):
            raise SettingError(f"--level is unit or motif, got '{level}'")
        return score_run(truth, labels, level="unit" if level == "unit" else "motif", key=key, rate=rate)
    if level != "motif":
        raise SettingError("--level chooses among the labels of a run folder; these are labels already, leave it out")
    return score(read_label_pairs(truth, labels, key, lambda file: _clock_of(file, rate)))


def _clock_of(labels: Path, rate: float | None) -> FrameClock | None:
    """By which clock annotations in seconds become frames: the given rate, or that of the run around `labels`."""
    from rondo.data.frame_clock import FrameClock
    from rondo.data.recording import checked_rate
    from rondo.report.wall_clock import clock_of
    from rondo.result import Result
    from rondo.run.summary import SUMMARY

    given = checked_rate(rate)
    if given is not None:
        return FrameClock.from_rate(given)
    run = labels.absolute().parent.parent
    return clock_of(Result.load(run), labels.stem) if (run / SUMMARY).is_file() else None
