"""`rondo label`: recordings read with the vocabularies of a fitted model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rondo.cli import options
from rondo.cli.discover import announce, read_all, run_of
from rondo.cli.progress import progress

_POOR_FIT = 0.5  # by construction about 95 % of the fitted windows lie within the radius of their unit


def label(
    model: Annotated[Path, typer.Argument(help="A model folder, or the run folder that holds it.")],
    paths: Annotated[list[Path], typer.Argument(metavar="FILE|DIR...", help="Recordings, or folders of them.")],
    out: options.Out,
    refit_motifs: Annotated[
        bool, typer.Option("--refit-motifs", help="Transfer: keep the units, learn the motifs anew.")
    ] = False,
    rate: options.Rate = None,
    key: options.Key = None,
    label_column: options.LabelColumns = None,
    json: options.Json = False,
) -> None:
    """Label recordings with a fitted model; its vocabulary stays as it is."""
    from rondo.model import Rondo
    from rondo.report.run import check_free, write_run

    check_free(out)
    inner = model / "model"
    fitted = Rondo.load(inner if inner.is_dir() and not (model / "manifest.json").exists() else model)
    recordings, sources = read_all(paths, rate, key, label_column)
    with progress() as tell:
        tell("labelling", 0, len(recordings))
        if refit_motifs:
            fitted.fit_motifs(recordings)
        labellings = fitted.predict(recordings)
        run = run_of([fitted], recordings, sources, labellings, "rondo")
        tell("writing", len(recordings), len(recordings))
        summary = write_run(out, run, fitted.save)
    for labelling in labellings:
        if labelling.share_accepted < _POOR_FIT:
            share = f"{100 * labelling.share_accepted:.0f} %"
            message = f"only {share} of its windows lie near any unit of the model; it may not fit this recording"
            print(f"note: {labelling.recording_id}: {message}", file=sys.stderr)
    announce(out, summary, json)
