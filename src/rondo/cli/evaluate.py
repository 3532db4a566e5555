"""`rondo evaluate`: labels against ground truth, always beside the clock."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rondo.cli import options

if TYPE_CHECKING:
    from rondo.data.frame_clock import FrameClock


def evaluate(
    truth: Annotated[
        Path,
        typer.Argument(
            metavar="TRUTH", help="Classes (.npy .csv .npz), a folder of them, or annotations ({annotation_suffixes})."
        ),
    ],
    labels: Annotated[Path, typer.Argument(metavar="LABELS", help="Labels: a file, or a folder matched by file stem.")],
    key: options.TruthKey = None,
    rate: Annotated[
        float | None,
        typer.Option("--rate", metavar="HZ", help="For annotations in seconds, where the labels lie in no run folder."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Score labels against ground truth: ARI, AMI, one-to-one, the paper's scores, and the clock control.

    Example: rondo evaluate truth/ run/labels --json

    Annotations of other programs (ELAN, Audacity, Label Studio, BORIS) are laid on the frames of the labels.
    """
    from rondo.cli.demo import score_table
    from rondo.formats.annotations.annotation import read_label_pairs
    from rondo.metrics import evaluate as score

    scores = score(read_label_pairs(truth, labels, key, lambda file: clock_of(file, rate))).as_dict()
    if json:
        print(json_module.dumps(scores))
        return
    print(score_table({"labels": scores}))
    print("clock: equal pieces, as many as the labels have segments, without looking at the data;")
    print("       a claim that something was discovered rests on ARI, AMI and one-to-one.")


def clock_of(labels: Path, rate: float | None) -> FrameClock | None:
    """By which clock annotations in seconds become frames: the given rate, or that of the run around `labels`."""
    from rondo.data.frame_clock import FrameClock
    from rondo.data.recording import checked_rate
    from rondo.report.run_clock import clock_in_run

    given = checked_rate(rate)
    run = labels.absolute().parent.parent
    return clock_in_run(run, labels.stem) if given is None else FrameClock.from_rate(given)
