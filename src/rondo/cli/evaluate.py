"""`rondo evaluate`: labels against ground truth, always beside the clock."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from rondo.cli import options


def evaluate(
    truth: Annotated[Path, typer.Argument(metavar="TRUTH", help="Classes: .npy, .csv, .npz, or a folder of them.")],
    labels: Annotated[Path, typer.Argument(metavar="LABELS", help="Labels: a file, or a folder matched by file stem.")],
    key: Annotated[str | None, typer.Option("--key", metavar="NAME", help="Array or column of the truth.")] = None,
    json: options.Json = False,
) -> None:
    """Score labels against ground truth: ARI, AMI, one-to-one, the paper's scores, and the clock control."""
    from rondo.cli.demo import score_table
    from rondo.data.annotation import read_label_pairs
    from rondo.metrics import evaluate as score

    scores = score(read_label_pairs(truth, labels, key)).as_dict()
    if json:
        print(json_module.dumps(scores))
        return
    print(score_table({"labels": scores}))
    print("clock: equal pieces, as many as the labels have segments, without looking at the data;")
    print("       a claim that something was discovered rests on ARI, AMI and one-to-one.")
