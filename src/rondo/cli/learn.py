"""`rondo discover` and `rondo label`: files in, run folder out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rondo.cli import options
from rondo.cli.terminal import detail, is_quiet, print, print_json, progress
from rondo.errors import SettingError
from rondo.methods import DEFAULT, method_names
from rondo.store.locations import as_location, joined, refuse_url
from rondo.wording import counted

if TYPE_CHECKING:
    from rondo.data.recording import Recording
    from rondo.files.reading import Reading
    from rondo.result import Result
    from rondo.run.summary import RunSummary

_NO_CLOCK = "no column tells the time, so times are counted in rows; give --rate HZ (rows per second) for seconds"

MethodName = Annotated[
    str,
    options.option(
        "--method",
        "NAME",
        f"rondo (default), or another method: {', '.join(method_names()[1:-1])}; or clock (the data-blind control).",
        options.completing_from(method_names),
    ),
]
States = Annotated[
    int | None, options.option("--states", "N", "Number of states, for ticc and kmeans; of pieces, for clock.")
]
MotifCount = Annotated[
    int | None,
    options.option("--motifs", "N", "Show at most N motifs: those that are confused most are merged.", min=2),
]
Fast = Annotated[
    bool, options.switch("--fast", "Only the suggested window lengths; compare no others. About half the time.")
]
PoseFrame = Annotated[
    str | None,
    options.option(
        "--pose",
        "FRAME",
        "Of points of a pose: centred (default: posture in the frame of the body, speed, turning), arena (as in the "
        "file) or both.",
        options.completing("centred", "arena", "both"),
    ),
]
BodyPoints = Annotated[
    str | None,
    options.option(
        "--body", "ORIGIN,TIP", "The points that carry the frame of the body; chosen by the data if not given."
    ),
]
Adapt = Annotated[bool, options.switch("--adapt", "Transfer: move the units to where these recordings have them.")]
RefitMotifs = Annotated[bool, options.switch("--refit-motifs", "Transfer: keep the units, learn the motifs again.")]
Resample = Annotated[bool, options.switch("--resample", "Read recordings of another rate at the rate of the model.")]
MotifSeed = Annotated[
    int | None, options.option("--seed", "N", "For --refit-motifs; the seed of the model if not given.")
]


@options.takes_reading(before="preset")
def discover(
    paths: options.Recordings,
    reading: Reading,
    out: options.RunPlace = None,
    method: MethodName = DEFAULT,
    window: options.Window = None,
    step: options.Step = None,
    motif_window: options.MotifWindow = None,
    fast: Fast = False,
    states: States = None,
    motifs: MotifCount = None,
    pose: PoseFrame = None,
    body: BodyPoints = None,
    encoder: options.EncoderName = None,
    preset: options.Preset = "default",
    config: options.ConfigFile = None,
    set_: options.Settings = None,
    seed: options.Seed = None,
    device: options.Device = None,
    group_by: options.Groups = None,
    engine: options.EngineName = None,
    workers: options.Workers = None,
    ray_address: options.RayAddress = None,
    json: options.Json = False,
) -> None:
    """Find units and motifs in recordings and write a run folder: labels, segments, model and report.

    Nothing has to be set: a clock in the file tells the rate, and notes say what was done with the columns.

    Many recordings, or more than fit into memory, are read file by file. A run that was stopped goes on when the same
    command is given again; files that cannot be read are listed in failed.csv.

    Example: rondo discover walk.csv --out run
    """
    from rondo.discovery import discover as find

    out = options.run_place(out, paths)
    if motifs is not None:
        _refuse_coarsening(out, method)
    named = {"windows.step": step, "motifs.window": motif_window, "n_states": states, "encoder.name": encoder}
    ends = None if body is None else tuple(body.split(","))
    more = {"device": device, "windows.scales": 1 if fast else None, "preprocess.pose": pose, "preprocess.body": ends}
    settings = options.overrides(set_, {**named, **more})
    with progress() as tell:
        result = find(
            paths,
            method,
            window=window,
            preset=preset,
            settings=settings if config is None else (config, settings),
            seed=seed,
            reading=reading,
            out=out,
            group_by=group_by,
            engine=engine,
            workers=workers,
            ray_address=ray_address,
            progress=tell,
        )
    _announce(out, result.summary if motifs is None else _coarsened(out, result, motifs), json)


def _refuse_coarsening(out: Path, method: str) -> None:
    """Before anything is learned, what --motifs cannot do."""
    if method != DEFAULT:
        raise SettingError(f"--motifs needs the tree of motifs of the method {DEFAULT}, not {method}; see --states")
    refuse_url(out, "--motifs changes a run where it lies; write it here first")


def _coarsened(out: Path, result: Result, n_motifs: int) -> RunSummary:
    """The run with at most so many motifs."""
    from rondo.edit import coarsen_run

    found = len(result.summary.shown_motifs)
    if found < n_motifs:
        print(f"note: --motifs {n_motifs}: only {counted(found, 'motif')} found, all are shown", file=sys.stderr)
    return result.summary if found <= n_motifs else coarsen_run(as_location(out), n_motifs).summary


@options.takes_reading(before="seed")
def label(
    model: options.FittedModel,
    paths: options.Recordings,
    reading: Reading,
    out: options.RunPlace = None,
    adapt: Adapt = False,
    refit_motifs: RefitMotifs = False,
    resample: Resample = False,
    seed: MotifSeed = None,
    device: options.Device = None,
    group_by: options.Groups = None,
    engine: options.EngineName = None,
    workers: options.Workers = None,
    ray_address: options.RayAddress = None,
    json: options.Json = False,
) -> None:
    """Label recordings with a fitted model; its vocabulary stays as it is.

    With --adapt, for another person, machine or day, the ids stay and the units move to where these recordings have
    them. The model in --out is the moved one.

    If MODEL is the folder of a stream, recordings are read with what the stream has learned so far, even while it runs.

    Many recordings, or more than fit into memory, are read file by file, and a run that was stopped goes on when the
    same command is given again.

    Example: rondo label run day2.csv --rate 100 --out run2
    """
    from rondo.discovery import label as read_with

    out = options.run_place(out, paths)
    with progress() as tell:
        result = read_with(
            model,
            paths,
            adapt=adapt,
            refit_motifs=refit_motifs,
            resample=resample,
            settings=options.overrides(None, {"seed": seed, "device": device}),
            reading=reading,
            out=out,
            group_by=group_by,
            engine=engine,
            workers=workers,
            ray_address=ray_address,
            progress=tell,
        )
    _announce(out, result.summary, json)


def read_all(paths: list[Path], reading: Reading) -> list[Recording]:
    """The recordings of files and folders."""
    from rondo.files.inputs import read_files

    recordings = read_files(paths, reading)
    for recording in recordings:
        detail(f"{recording.source}: {recording!r}, channels {', '.join(recording.channels)}")
    return recordings


def _announce(out: Path, summary: RunSummary, json: bool) -> None:
    """Print what was found and where it lies, notes about the data on stderr; exit code 2 where files failed."""
    from rondo.data.notes import gathered
    from rondo.run.findings import fit_sentences, unfit_notes
    from rondo.run.headline import headline

    detail(f"window {summary.window_length_frames} frames, step {summary.step_frames}, seed {summary.seed}")
    notes = [*unfit_notes(summary), *gathered((one.id, one.notes) for one in summary.recordings)]
    if not is_quiet() and any(recording.rate is None for recording in summary.recordings):
        notes.append(_NO_CLOCK)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    if json:
        print_json(summary.as_json() | {"out": str(as_location(out))})
    else:
        for sentence in (headline(summary), *fit_sentences(summary), *summary.findings):
            print(sentence)
        print(f"report: {joined(out, 'report.html')}")
    raise typer.Exit(2 if summary.failed else 0)
