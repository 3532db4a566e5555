"""`rondo discover`: files in, run folder out."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.findings import fit_sentence, found_sentence, in_kept_units, merged_sentence, recurrence_sentence
from rondo.cli.methods import OWN_VOCABULARIES, Given, check_method, finder, refuse_idle
from rondo.cli.progress import progress
from rondo.cli.verbosity import detail, is_quiet
from rondo.errors import RecordingError

if TYPE_CHECKING:
    from rondo.cli.methods import Find, WriteModels
    from rondo.config.schema import RondoConfig
    from rondo.data.recording import Recording
    from rondo.labelling import Labelling
    from rondo.model import Rondo
    from rondo.progress import Progress
    from rondo.report.run import Run, Words


def discover(
    paths: options.Recordings,
    out: options.Out,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            metavar="NAME",
            help="rondo (default); a baseline: autoplait, ticc, time2state, e2usd, compile, clap, denstream, dbstream, "
            "hmm, kmeans, hdbscan; or clock (the data-blind control).",
            autocompletion=options.completing(*options.METHODS),
        ),
    ] = "rondo",
    window: options.Window = None,
    step: options.Step = None,
    per_recording: Annotated[
        bool,
        typer.Option("--per-recording", metavar="", help="A vocabulary for each recording, as in the paper."),
    ] = False,
    states: Annotated[
        int | None,
        typer.Option("--states", metavar="N", help="Number of states, for ticc, hmm and kmeans; of pieces, for clock."),
    ] = None,
    encoder: options.EncoderName = None,
    rate: options.Rate = None,
    key: options.Key = None,
    label_column: options.LabelColumns = None,
    preset: options.Preset = "default",
    config: options.ConfigFile = None,
    set_: options.Settings = None,
    seed: options.Seed = None,
    device: options.Device = None,
    json: options.Json = False,
) -> None:
    """Find units and motifs in recordings and write a run folder: labels, segments, model and report.

    Nothing has to be set: a clock in the file tells the rate, and notes say what was done with the columns.

    Example: rondo discover walk.csv --out run
    """
    check_method(method)
    if method == "rondo":
        refuse_idle({"--states": states}, "--method rondo")
        settings = options.resolve_settings(
            preset, config, set_, window=window, step=step, encoder=encoder, seed=seed, device=device
        )
        find: Find = partial(_rondo_run, settings, per_recording)
    else:
        for_rondo = {"--encoder": encoder, "--preset": preset != "default", "--per-recording": per_recording}
        refuse_idle(for_rondo | {"--device": device}, f"--method {method}")
        find = finder(method, Given(window, step, states, set_, config, seed))
    from rondo.report.run import check_free, write_run

    check_free(out)
    recordings, sources = read_all(paths, rate, key, label_column)
    with progress() as tell:
        run, write_models = find(recordings, sources, tell)
        tell("writing", len(recordings), len(recordings))
        summary = write_run(out, run, write_models)
    announce(out, summary, json)


def read_all(
    paths: Sequence[Path], rate: float | None, key: str | None, label_columns: Sequence[str] | None
) -> tuple[list[Recording], dict[str, str]]:
    """The recordings of files and folders, and where each came from."""
    from rondo.formats.files import find_recordings, label_files_in, read_recording

    files = find_recordings(paths)
    for labels in (file for path in paths if path.is_dir() for file in label_files_in(path)):
        print(f"note: {labels}: labels of the recording beside it; not read", file=sys.stderr)
    read = []
    for path in files:
        try:
            read.append(read_recording(path, rate=rate, key=key, label_columns=label_columns or ()))
        except RecordingError as error:
            if path in paths:
                raise
            raise RecordingError(
                f"{error}; if it is no recording, name the files to read and not the folder"
            ) from error
    for path, recording in zip(files, read, strict=True):
        detail(f"{path}: {recording!r}, channels {', '.join(recording.channels)}")
    return read, {recording.id: str(path) for recording, path in zip(read, files, strict=True)}


def _rondo_run(
    settings: RondoConfig,
    per_recording: bool,
    recordings: list[Recording],
    sources: dict[str, str],
    tell: Progress,
) -> tuple[Run, WriteModels]:
    from rondo.model import Rondo

    _say_cost(settings, recordings, per_recording)
    groups = [[recording] for recording in recordings] if per_recording else [recordings]
    models: list[Rondo] = []
    labellings: list[Labelling] = []
    for group in groups:
        told = _named(tell, group[0]) if per_recording else tell
        model = Rondo.from_config(settings).fit(group, progress=told)
        detail(f"window {model.window_length_frames_} frames, step {model.step_frames_}, seed {model.config_.seed}")
        say_short(model, group)
        models.append(model)
        labellings += model.predict(group)

    def write_models(folder: Path) -> None:
        if not per_recording:
            return models[0].save(folder)
        for model, recording in zip(models, recordings, strict=True):
            model.save(folder / recording.id)
        return None

    return run_of(models, recordings, sources, labellings, per_recording=per_recording), write_models


def say_short(model: Rondo, group: Sequence[Recording]) -> None:
    """A window of a few frames, chosen because no longer one fits often enough, sees values and no movement."""
    if model.config_.windows.length == "auto" and model.window_length_frames_ < FEWEST_TELLING_FRAMES:
        longest = max(recording.n_frames for recording in group)
        print(
            f"note: {group[0].id}: with {longest} frames a window is only {model.window_length_frames_} frames long; "
            "units are then values and no movements: record longer, or give --window",
            file=sys.stderr,
        )


def _say_cost(settings: RondoConfig, recordings: list[Recording], per_recording: bool) -> None:
    """Before anything that takes more than a minute."""
    from rondo.cost import WORTH_SAYING_S, cost_of_fit, expected_window_and_step

    sizes = [recording.n_frames for recording in recordings]
    length, step = expected_window_and_step(settings.windows, recordings)
    cost = cost_of_fit(settings, sizes, recordings[0].n_channels, length, step, per_recording=per_recording)
    if cost.seconds is not None and cost.seconds > WORTH_SAYING_S:
        print(f"note: this will take {cost.sentence()}", file=sys.stderr)
    else:
        detail(f"this will take {cost.sentence()}")


def run_of(
    models: Sequence[Rondo],
    recordings: Sequence[Recording],
    sources: dict[str, str],
    labellings: Sequence[Labelling],
    is_foreign: bool = False,
    **extra: Any,
) -> Run:
    """The run that one model, or one model per recording, makes of these recordings; `extra` as in `Run`.

    `is_foreign`: the evidence for the model comes from other recordings.
    """
    from rondo.report.run import Run

    first = models[0]
    return Run(
        "rondo",
        first.config_.seed,
        first.config_.model_dump(mode="json"),
        first.window_length_frames_,
        first.step_frames_,
        recordings,
        sources,
        labellings,
        [_words(one) for one in models],
        _findings(models, is_foreign),
        **extra,
    )


def _words(model: Rondo) -> Words:
    from rondo.report.run import Words

    tree = model.unit_model_.tree
    advised, kept = tree.kept_at(tree.best), model.edits_.kept
    taken_for = {id: kept("unit", advised[id]) for id in model.unit_model_.ids if kept("unit", id) == id}
    return Words(
        {id: "" if other == id else f"u{other}" for id, other in taken_for.items()},
        {id: in_kept_units(model.motif_model_.composition(id), model.edits_) for id in model.motif_model_.ids},
        {**model.unit_model_.curves, **{f"motifs.{name}": curve for name, curve in model.motif_model_.curves.items()}},
        [asdict(step) | {"advised": number < tree.best} for number, step in enumerate(tree.steps)],
        model.evidence_,
        model.edits_,
    )


def _findings(models: Sequence[Rondo], is_foreign: bool) -> list[str]:
    """What the whole run says about recurrence, composition and comparability, honestly."""
    n_surrogates = models[0].config_.evidence.surrogates
    is_flat = not any(model.motif_model_.composed for model in models)
    found = [recurrence_sentence([model.evidence_ for model in models], n_surrogates, is_foreign, is_flat)]
    if is_flat:
        was_asked = models[0].config_.motifs.method != "none"
        own = ": every unit is its own motif" if all(_motifs_are_units(model) for model in models) else ""
        found.append(f"{_FLAT if was_asked else _NOT_ASKED}{own}.")
    found += [sentence for model in models if (sentence := merged_sentence(model.edits_, _motifs_are_units(model)))]
    if len(models) > 1:
        found.append(OWN_VOCABULARIES)
        lengths = sorted({model.window_length_frames_ for model in models})
        if len(lengths) > 1:
            found.append(f"Windows are {lengths[0]} to {lengths[-1]} frames long, as suits each recording.")
    return found


def _motifs_are_units(model: Rondo) -> bool:
    """Whether every unit is its own motif, and still is after what people have merged in either level."""
    kept, own = model.edits_.kept, model.own_motifs()
    groups = {(kept("unit", unit), kept("motif", motif)) for unit, motif in own.items()}
    return bool(own) and len(groups) == len({unit for unit, _ in groups}) == len({motif for _, motif in groups})


FEWEST_TELLING_FRAMES = 8
_NO_CLOCK = "no column tells the time, so times are counted in rows; give --rate HZ (rows per second) for seconds"
_FLAT = "No composition of units into longer motifs recurs here"
_NOT_ASKED = "Motifs were not looked for (motifs.method = 'none')"


def _named(tell: Progress, recording: Recording) -> Progress:
    return lambda what, done, total: tell(f"{recording.id}: {what}", done, total)


def announce(out: Path, summary: dict[str, Any], json: bool) -> None:
    """Say what was found and where it lies; notes about the data go to stderr."""
    for recording in summary["recordings"]:
        for note in recording["notes"]:
            print(f"note: {recording['id']}: {note}", file=sys.stderr)
    if not is_quiet() and any(recording["rate"] is None for recording in summary["recordings"]):
        print(f"note: {_NO_CLOCK}", file=sys.stderr)
    if json:
        print(json_module.dumps(summary | {"out": str(out)}))
        return
    print(found_sentence(summary))
    for recording in summary["recordings"]:
        if "fit" in recording:
            print(fit_sentence(recording["id"], recording["fit"], summary["fitted"]))
    for finding in summary["findings"]:
        print(finding)
    print(f"report: {out / 'report.html'}")
