"""`rondo discover`: files in, run folder out."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rondo.cli import options
from rondo.cli.progress import detail, is_quiet, progress
from rondo.cli.terminal import print
from rondo.methods import DEFAULT, method_names
from rondo.store.locations import as_location, joined
from rondo.wording import notes_by_recording

if TYPE_CHECKING:
    from rondo.data.recording import Recording
    from rondo.files.reading import Reading
    from rondo.run.summary import RunSummary


MethodName = Annotated[
    str,
    typer.Option(
        "--method",
        metavar="NAME",
        help=f"rondo (default), or another method: {', '.join(method_names()[1:-1])}; or clock (the data-blind "
        "control).",
        autocompletion=options.completing_methods,
    ),
]
States = Annotated[
    int | None,
    typer.Option("--states", metavar="N", help="Number of states, for ticc and kmeans; of pieces, for clock."),
]


@options.takes_reading(before="preset")
def discover(
    paths: options.Recordings,
    out: options.RunPlace,
    reading: Reading,
    method: MethodName = DEFAULT,
    window: options.Window = None,
    step: options.Step = None,
    motif_window: options.MotifWindow = None,
    states: States = None,
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

    with progress() as tell:
        result = find(
            paths,
            method,
            window=window,
            step=step,
            motif_window=motif_window,
            states=states,
            encoder=encoder,
            preset=preset,
            device=device,
            seed=seed,
            reading=reading,
            config=config,
            settings=options.overrides(set_),
            out=out,
            group_by=group_by,
            engine=engine,
            workers=workers,
            ray_address=ray_address,
            progress=tell,
        )
    announce(out, result.summary, json)
    raise typer.Exit(2 if result.summary.failed else 0)


def read_all(paths: list[Path], reading: Reading) -> list[Recording]:
    """The recordings of files and folders."""
    from rondo.files.inputs import read_files

    recordings = read_files(paths, reading)
    for recording in recordings:
        detail(f"{recording.source}: {recording!r}, channels {', '.join(recording.channels)}")
    return recordings


def announce(out: Path, summary: RunSummary, json: bool) -> None:
    """Say what was found and where it lies; notes about the data go to stderr."""
    from rondo.run.findings import fit_sentences, found_sentence, unfit_notes

    detail(f"window {summary.window_length_frames} frames, step {summary.step_frames}, seed {summary.seed}")
    for note in unfit_notes(summary):
        print(f"note: {note}", file=sys.stderr)
    for note in notes_by_recording((recording.id, recording.notes) for recording in summary.recordings):
        print(f"note: {note}", file=sys.stderr)
    if not is_quiet() and any(recording.rate is None for recording in summary.recordings):
        print(f"note: {_NO_CLOCK}", file=sys.stderr)
    if json:
        print(json_module.dumps(summary.as_json() | {"out": str(as_location(out))}))
        return
    print(found_sentence(summary))
    for sentence in fit_sentences(summary):
        print(sentence)
    for finding in summary.findings:
        print(finding)
    print(f"report: {joined(out, 'report.html')}")


_NO_CLOCK = "no column tells the time, so times are counted in rows; give --rate HZ (rows per second) for seconds"
