"""`rondo label`: recordings read with the vocabularies of a fitted model."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.discover import announce, read_all, run_of
from rondo.cli.findings import moved_sentence
from rondo.cli.methods import reading_run, refuse_idle
from rondo.cli.progress import progress
from rondo.errors import ModelError, SettingError

if TYPE_CHECKING:
    from rondo.data.recording import Recording
    from rondo.model import Rondo
    from rondo.progress import Progress
    from rondo.report.run import Run
    from rondo.units.fit_profile import FitProfile


def label(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder, or the run folder that holds it.")],
    paths: options.Recordings,
    out: options.Out,
    adapt: Annotated[
        bool,
        typer.Option("--adapt", metavar="", help="Transfer: move the units to where these recordings have them."),
    ] = False,
    refit_motifs: Annotated[
        bool, typer.Option("--refit-motifs", metavar="", help="Transfer: keep the units, learn the motifs anew.")
    ] = False,
    stream: Annotated[
        Path | None,
        typer.Option("--stream", metavar="DIR", help="Units and motifs as they have grown in this --out of `stream`."),
    ] = None,
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
    """Label recordings with a fitted model; its vocabulary stays as it is.

    With --adapt, for another person, machine or day, the ids stay and the units move to where these recordings have
    them. The model in --out is the moved one.

    With --stream, recordings are read anew with what a stream that began with this model has learned since. The labels
    that it has issued stay issued.

    Example: rondo label run day2.csv --rate 100 --out run2
    """
    from rondo.report.run import write_run
    from rondo.store.artifact import load
    from rondo.store.writing import check_free
    from rondo.units.fit_profile import FitProfile
    from rondo_bench.baselines.saved_baseline import is_baseline

    if stream is not None and (refit_motifs or adapt):
        given = "--refit-motifs" if refit_motifs else "--adapt"
        raise SettingError(f"--stream reads with what a stream has learned, {given} learns from what is read; give one")
    check_free(out)
    folder = model_folder(model)
    if is_baseline(load(folder)):
        learning = {"--adapt": adapt, "--refit-motifs": refit_motifs, "--stream": stream}
        idle = learning | {"--seed": seed, "--device": device}
        summary = _label_with_baseline(folder, idle, resample, read_all(paths, rate, key, label_column), out)
        return announce(out, summary, json)
    fitted = _loaded(folder, stream, {"seed": seed, "device": device})
    profile = FitProfile.from_json(fitted.provenance_.get("fit_profile"), model)
    recordings, sources = read_all(paths, rate, key, label_column)
    with progress() as tell:
        tell("labelling", 0, len(recordings))
        if stream is None:
            run = _read(fitted, (recordings, sources), profile, adapt, refit_motifs, resample, tell)
        else:  # distances to exemplars are none to centres: the profile of the fit says nothing about them
            labellings = fitted.relabel(recordings, resample=resample)
            run = run_of([fitted], recordings, sources, labellings, is_foreign=True)
            run = replace(run, findings=[*run.findings, _grown_sentence(fitted, stream)])
        tell("writing", len(recordings), len(recordings))
        summary = write_run(out, run, fitted.save)
    if stream is None:
        _say_unfit(summary)
    return announce(out, summary, json)


def _loaded(folder: Path, stream: Path | None, chosen: Mapping[str, Any]) -> Rondo:
    """The model, with what a stream has learned since if one is named, and the settings that were given."""
    from rondo.continual.checkpoint import fingerprint
    from rondo.live.session import checkpoint_folder, edits_with, grown_stream
    from rondo.model import Rondo

    fitted = Rondo.load(folder)
    if stream is not None:
        fitted.stream_ = grown_stream(fitted, fingerprint(folder), stream)
        fitted.edits_ = edits_with(fitted, checkpoint_folder(stream))
    fitted.set_params(**{name: value for name, value in chosen.items() if value is not None}).resolved_config()
    return fitted


def _say_unfit(summary: Mapping[str, Any]) -> None:
    for recording in summary["recordings"]:
        if recording["fit"]["verdict"] == "does not fit":
            share = f"{100 * recording['share_accepted']:.0f} %"
            message = f"only {share} of its windows lie near any unit of the model; it may not fit this recording"
            print(f"note: {recording['id']}: {message}", file=sys.stderr)


def _read(
    model: Rondo,
    given: tuple[list[Recording], dict[str, str]],
    profile: FitProfile | None,
    adapt: bool,
    refit_motifs: bool,
    resample: bool,
    tell: Progress,
) -> Run:
    """The run of these recordings, by the vocabularies as they are or changed for them."""
    recordings, _ = given
    as_fitted = model.predict(recordings, resample=resample) if adapt else []
    if adapt:
        model.adapt(recordings, resample=resample, progress=tell)
    if refit_motifs:
        model.fit_motifs(recordings, resample=resample, progress=tell)
    labellings = model.predict(recordings, resample=resample)
    for i, was in enumerate(as_fitted):  # whether a model fits is a question to its units before they were moved
        labellings[i] = replace(labellings[i], share_accepted=was.share_accepted, distance_profile=was.distance_profile)
    run = run_of([model], *given, labellings, is_foreign=not (adapt or refit_motifs), fitted=profile)
    return replace(run, findings=[*run.findings, moved_sentence(model.provenance_)]) if adapt else run


def _label_with_baseline(
    folder: Path,
    idle: Mapping[str, object],
    resample: bool,
    given: tuple[list[Recording], dict[str, str]],
    out: Path,
) -> dict[str, Any]:
    """The same with what a baseline learned: states only, and no word on how well they fit."""
    from rondo.report.run import write_run
    from rondo_bench.baselines.saved_baseline import KeptBaseline

    kept = KeptBaseline.load(folder)
    refuse_idle(idle, f"a model of {kept.name}")
    with progress() as tell:
        run = reading_run(kept, *given, resample, tell)
        return write_run(out, run, kept.save)


def _grown_sentence(model: Rondo, stream: Path) -> str:
    known = set(model.unit_model_.ids)
    new = [f"u{unit}" for unit in model.stream_.updater.units.ids if unit not in known]
    added = f"added {', '.join(new)}" if new else "added no unit"
    return f"Read anew with what the stream in {stream} has learned, which has {added}; what is new was not tested."


def model_folder(given: Path) -> Path:
    """The model folder that was meant: the one given, or the only one inside a run folder."""
    folder = given / "model" if (given / "model").is_dir() and not (given / "manifest.json").exists() else given
    if (given / "events.jsonl").is_file() and not (folder / "manifest.json").exists():
        raise ModelError(
            f"{given}: what `rondo stream` wrote, which is no model; give the model that the stream began with "
            f"(rondo label MODEL … --stream {given} reads with what it has learned since)"
        )
    if (folder / "manifest.json").exists():
        return folder
    if (folder / "summary.json").is_file():
        _refuse_unreadable(folder)
    each = [path.parent for path in sorted(folder.glob("*/manifest.json"))]
    if len(each) > 1:
        raise ModelError(f"{given}: it holds {len(each)} models, one per recording; name one, as {each[0]}")
    return each[0] if each else folder


def _refuse_unreadable(run: Path) -> None:
    """A run of a method that keeps nothing which another recording could be read with."""
    from rondo.report.run_folder import read_run_summary
    from rondo_bench.baselines import BASELINES, ReadingBaseline, build_baseline

    method = read_run_summary(run).method
    if method == "clock" or (method in BASELINES and not isinstance(build_baseline(method), ReadingBaseline)):
        raise ModelError(
            f"{run}: {method} cannot read another recording, it labels only those it learns from; "
            f"use `rondo discover --method {method}` on this one too"
        )
    if method in BASELINES:
        raise ModelError(
            f"{run}: {method} kept no model here (run as released, or the folder was emptied), so it cannot read "
            f"another recording; use `rondo discover --method {method}` anew"
        )
