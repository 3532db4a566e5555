"""`rondo discover`: files in, run folder out."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.progress import detail, is_quiet, is_verbose, progress
from rondo.cli.terminal import print
from rondo.methods import DEFAULT, Method, Options, find_method, method_names
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
    chosen = find_method(method)
    own = options.overrides(set_)
    given = Options(window, step, states, encoder, preset, device, own, config, motif_window, group_by)
    settings = chosen.configure(given)
    from rondo.discovery import checked_seed, why_in_memory
    from rondo.many.unfinished import check_place
    from rondo.many.way import Asked, goes_file_by_file, many_files, why_not_split
    from rondo.store.folder import check_free

    chosen_seed = checked_seed(seed)
    check_place(out)
    asked = Asked(engine, workers, ray_address, group_by)
    many = many_files(paths, asked, reading)
    why_not = why_in_memory(method) or why_not_split(reading)
    file_by_file = goes_file_by_file(many, asked, why_not)
    if file_by_file:
        from rondo.discovery import discover_file_by_file

        with progress() as tell:
            summary = discover_file_by_file(many, settings, chosen_seed, out, tell)
        announce(out, summary, json)
        raise typer.Exit(2 if summary.failed else 0)
    check_free(out)
    from rondo.data.window_lengths import refuse_too_short

    recordings = read_all(paths, reading)
    refuse_too_short(recordings)
    _say_notes(chosen, recordings, settings)
    with progress() as tell:
        result = chosen.discover(recordings, settings, chosen_seed, tell)
        tell("writing", len(recordings), len(recordings))
        result.save(out)
    announce(out, result.summary, json)


def _say_notes(method: Method, recordings: list[Recording], settings: Any) -> None:
    """What a method says before it begins; with --verbose, all of it."""
    notes = method.notes(recordings, settings)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    if is_verbose():
        for note in method.notes(recordings, settings, in_detail=True):
            if note not in notes:
                detail(note)


def read_all(paths: list[Path], reading: Reading) -> list[Recording]:
    """The recordings of files and folders."""
    from rondo.files.inputs import read_files

    recordings = read_files(paths, reading)
    for recording in recordings:
        detail(f"{recording.source}: {recording!r}, channels {', '.join(recording.channels)}")
    return recordings


def announce(out: Path, summary: RunSummary, json: bool) -> None:
    """Say what was found and where it lies; notes about the data go to stderr."""
    from rondo.run.findings import failed_sentence, fit_sentences, found_sentence, unfit_notes

    detail(f"window {summary.window_length_frames} frames, step {summary.step_frames}, seed {summary.seed}")
    for note in unfit_notes(summary):
        print(f"note: {note}", file=sys.stderr)
    for note in notes_by_recording((recording.id, recording.notes) for recording in summary.recordings):
        print(f"note: {note}", file=sys.stderr)
    if not is_quiet() and any(recording.rate is None for recording in summary.recordings):
        print(f"note: {_NO_CLOCK}", file=sys.stderr)
    if summary.failed:
        print(f"note: {failed_sentence(summary)}; {joined(out, 'failed.csv')} lists them", file=sys.stderr)
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
