"""`rondo label`: recordings read with the vocabularies of a fitted model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rondo.cli import options
from rondo.cli.discover import announce, read_all, run_of
from rondo.cli.progress import progress
from rondo.errors import ModelError


def label(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder, or the run folder that holds it.")],
    paths: options.Recordings,
    out: options.Out,
    refit_motifs: Annotated[
        bool, typer.Option("--refit-motifs", metavar="", help="Transfer: keep the units, learn the motifs anew.")
    ] = False,
    resample: Annotated[
        bool, typer.Option("--resample", metavar="", help="Read recordings of another rate at the rate of the model.")
    ] = False,
    rate: options.Rate = None,
    key: options.Key = None,
    label_column: options.LabelColumns = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="For --refit-motifs; the seed of the model if not given.")
    ] = None,
    device: options.Device = None,
    json: options.Json = False,
) -> None:
    """Label recordings with a fitted model; its vocabulary stays as it is."""
    from rondo.model import Rondo
    from rondo.report.run import check_free, write_run
    from rondo.units.fit_profile import FitProfile

    check_free(out)
    fitted = Rondo.load(model_folder(model))
    profile = FitProfile.from_json(fitted.provenance_.get("fit_profile"), model)
    chosen = {"seed": seed, "device": device}
    fitted.set_params(**{name: value for name, value in chosen.items() if value is not None}).resolved_config()
    recordings, sources = read_all(paths, rate, key, label_column)
    with progress() as tell:
        tell("labelling", 0, len(recordings))
        if refit_motifs:
            fitted.fit_motifs(recordings, resample=resample, progress=tell)
        labellings = fitted.predict(recordings, resample=resample)
        run = run_of([fitted], recordings, sources, labellings, is_foreign=not refit_motifs, fitted=profile)
        tell("writing", len(recordings), len(recordings))
        summary = write_run(out, run, fitted.save)
    for recording in summary["recordings"]:
        if recording["fit"]["verdict"] == "does not fit":
            share = f"{100 * recording['share_accepted']:.0f} %"
            message = f"only {share} of its windows lie near any unit of the model; it may not fit this recording"
            print(f"note: {recording['id']}: {message}", file=sys.stderr)
    announce(out, summary, json)


def model_folder(given: Path) -> Path:
    """The model folder that was meant: the one given, or the one inside a run folder."""
    folder = given / "model" if (given / "model").is_dir() and not (given / "manifest.json").exists() else given
    each = [path.parent for path in sorted(folder.glob("*/manifest.json"))]
    if each and not (folder / "manifest.json").exists():
        raise ModelError(f"{given}: it holds {len(each)} models, one per recording; name one, as {each[0]}")
    return folder
