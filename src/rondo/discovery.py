"""`rondo.discover` and `rondo.label`: recordings in, Result out."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

from rondo.config.settings import resolve
from rondo.data.groups import GroupBy
from rondo.data.known_channels import KnownChannel
from rondo.data.recording import Recording
from rondo.data.window_lengths import refuse_too_short
from rondo.edit import model_folder
from rondo.errors import RondoWarning, SettingError
from rondo.files.inputs import are_several, as_recordings, recording_files
from rondo.files.reading import Reading, reading_at
from rondo.many.driver import ManyFiles, discover_files, label_files_with
from rondo.many.engines import ENGINES, engine_of
from rondo.many.unfinished import check_place
from rondo.memory import is_much, refuse_all_at_once
from rondo.methods import DEFAULT, Model, Options, find_method, load_model, refuse_idle
from rondo.model.describe import carrying
from rondo.model.folder import from_config
from rondo.model.method import CHECKPOINT, has_checkpoint, relabel
from rondo.model.rondo import Rondo
from rondo.model.transfer import transferred
from rondo.result import Result
from rondo.run.bucket import check_free_place
from rondo.run.findings import failed_sentence
from rondo.store.locations import is_url, joined
from rondo.wording import Progress, silent

_log = logging.getLogger("rondo")


def discover(
    data: Any,
    method: str = DEFAULT,
    *,
    window: int | str | None = None,
    step: int | str | None = None,
    motif_window: int | str | None = None,
    states: int | None = None,
    encoder: str | None = None,
    preset: str = "default",
    device: str | None = None,
    seed: int | None = None,
    rate: float | None = None,
    reading: Reading | None = None,
    config: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    group_by: GroupBy = None,
    engine: str | None = None,
    workers: int | None = None,
    ray_address: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Find what recurs in recordings.

    Parameters
    ----------
    data : path, folder, array, table, Recording, or a list of them
        The recordings. An array has the shape (n_frames, n_channels); a table is a pandas or polars one.
    method : str
        "rondo", "clock", or a method that an installed package adds; `rondo.methods.method_names()` lists them.
    window : int, str or None
        Length of a unit window: frames (256), a time ("2s", "500ms") or "auto". None takes the setting of the preset.
    step : int, str or None
        Distance between the starts of two windows, in the same forms as `window`.
    motif_window : int, str or None
        Length of the long window in which contexts are read, in the same forms as `window`.
    states : int or None
        Number of states, for methods that require it.
    encoder : str or None
        Encoder of the windows, such as "summary_stats" or "ts2vec". None takes the setting of the preset.
    preset : str
        The settings to start from: "default", "paper" or "paper-variational".
    device : str or None
        Where networks run: "cpu", "cuda" or "auto". None takes the setting of the preset.
    seed : int or None
        Seed of all random draws: the same input, seed and settings give the same output. None takes the seed of
        `config`, else 0.
    rate : float or None
        Frames per second, for input without a clock: short for Reading(rate=...).
    reading : Reading or None
        How files and tables become recordings, as in `rondo.read`.
    config : path or None
        A TOML file of settings.
    settings : mapping or None
        Any other setting by its dotted name: {"units.dimension": 3}.
    out : path or None
        Folder to write the run to. With `out`, paths of many recordings, or of more than fits into memory, are read
        file by file; a run that was interrupted continues.
    group_by : str, mapping or None
        The person, machine or day that each recording belongs to, in a form that `rondo.data.groups` describes. Groups
        share the units, and each group has its own positions of them. None makes each recording a group.
    engine : str or None
        How files are read one by one: "local" (processes), "serial" (this process) or "ray". Requires `out`.
    workers : int or None
        Number of processes for `engine`.
    ray_address : str or None
        Address of the Ray cluster for engine="ray".
    progress : callable or None
        Called as progress(what, done, total).

    Returns
    -------
    Result
        Labels, segments, model and report of the run.

    Raises
    ------
    RecordingError
        If a recording cannot be read, or is too short.
    SettingError
        If a setting is unknown, out of range, or contradicts another one.
    OutputError
        If `out` cannot be written, or already holds a run.
    MissingExtraError
        If the chosen encoder or engine needs a package that is not installed.

    Examples
    --------
    >>> from rondo.synthetic import plant
    >>> recording = plant(n_frames=3_000, seed=1).recording
    >>> result = discover(recording, window="1.5s", settings={"evidence.surrogates": 0})
    >>> result.method, result.units.shape
    ('rondo', (3000,))
    """
    chosen = find_method(method)
    file, others = None if config is None else Path(config), dict(settings or {})
    options = Options(window, step, states, encoder, preset, device, others, file, motif_window, group_by)
    configured, chosen_seed, tell = chosen.configure(options), checked_seed(seed), progress or silent
    reading = reading_at(reading, rate)
    at_once = f"--method {method} takes all recordings at once" if method != DEFAULT else ""
    inputs = _inputs(data, reading, out, at_once, group_by, engine, workers, ray_address)
    if isinstance(inputs, ManyFiles):
        assert out is not None, "results in memory read all recordings at once"
        own = configured.config if chosen_seed is None else configured.config.model_copy(update={"seed": chosen_seed})
        return _with_failures_told(discover_files(inputs, from_config(Rondo, own), out, tell), out)
    refuse_too_short(inputs)
    for note in chosen.notes(inputs, configured):
        warnings.warn(note, RondoWarning, stacklevel=2)
    if _log.isEnabledFor(logging.INFO):
        _log.info("\n".join(chosen.notes(inputs, configured, in_detail=True)))
    return _saved(chosen.discover(inputs, configured, chosen_seed, tell), out, tell)


def _inputs(
    data: Any,
    reading: Reading,
    out: str | Path | None,
    at_once: str,
    group_by: GroupBy,
    engine: str | None,
    workers: int | None,
    ray_address: str | None,
) -> ManyFiles | list[Recording]:
    """Files to be read one after the other, or recordings in memory.

    `at_once`: why recordings must be in memory at once; "" if they need not be. If they do not fit, they are refused
    before they are read.
    """
    if engine is not None and engine not in ENGINES:
        engine_of(engine)  # says which one was probably meant
    if ray_address is not None and engine != "ray":
        raise SettingError("--ray-address names a cluster for --engine ray; give both, or neither")
    if out is not None:
        check_place(out)
    given = list(data) if are_several(data) else [data]
    are_paths = bool(given) and all(isinstance(one, str | Path) for one in given)
    if engine is not None and not are_paths:
        raise SettingError("engine reads file by file; give paths, or leave it out")
    if engine is not None and out is None:
        raise SettingError("engine reads file by file, and writes labels as files are done; give out=")
    if are_paths and out is not None:
        if reading.split_by is not None and not at_once:
            at_once = "--split-by cuts files that are held in memory"
        files = recording_files(given, reading)
        # With `split_by` nobody knows the ids of recordings, and so their groups, before files are read.
        known = group_by if reading.split_by is None else None
        many = ManyFiles.of(files, known, engine or "local", workers, ray_address)
        if at_once and engine is not None:
            raise SettingError(f"--engine reads file by file, but {at_once}; leave it out")
        if at_once:
            refuse_all_at_once(many.sizes, f"{at_once}: give fewer or shorter ones")
        elif engine is not None or workers is not None or is_url(files[0].url) or is_much(many.sizes):
            return many
        check_free_place(out)
    recordings = as_recordings(data, reading)
    for one in recordings:
        _log.info("%s: %r, channels %s", one.source, one, ", ".join(one.channels))
    return recordings


def _with_failures_told(result: Result, out: str | Path) -> Result:
    if result.summary.failed:
        listed = joined(out, "failed.csv")
        warnings.warn(f"{failed_sentence(result.summary)}; {listed} lists them", RondoWarning, stacklevel=3)
    return result


def _saved(result: Result, out: str | Path | None, progress: Progress) -> Result:
    if out is not None:
        progress("writing", len(result), len(result))
        result.save(out)
    return result


def checked_seed(seed: int | None) -> int | None:
    """A seed that every method takes; None leaves it to the settings."""
    return None if seed is None else resolve(overrides={"seed": seed}).seed


# ---------------------------------------------------------------- with a model that is there


def label(
    model: Model | str | Path,
    data: Any,
    *,
    adapt: bool = False,
    refit_motifs: bool = False,
    resample: bool = False,
    rate: float | None = None,
    reading: Reading | None = None,
    out: str | Path | None = None,
    group_by: GroupBy = None,
    engine: str | None = None,
    workers: int | None = None,
    ray_address: str | None = None,
    progress: Progress | None = None,
) -> Result:
    """Label recordings with a fitted model.

    Parameters
    ----------
    model : model, or path
        A fitted model, or the folder of a model, a run or a stream. The model of a stream is read with everything that
        the stream has learned.
    data : path, folder, array, table, Recording, or a list of them
        The recordings, as in `rondo.discover`.
    adapt : bool
        First move the units to their positions in these recordings. `result.model` is the moved model; the given model
        does not change.
    refit_motifs : bool
        First learn the motifs again from these recordings and keep the units. `result.model` is the changed model.
    resample : bool
        Read recordings of another rate at the rate of the model. Without it they are refused.
    rate : float or None
        Frames per second, for input without a clock: short for Reading(rate=...).
    reading : Reading or None
        How files and tables become recordings, as in `rondo.read`.
    out : path or None
        Folder to write the run to, as in `rondo.discover`.
    group_by : str, mapping or None
        The group of each recording, as in `rondo.discover`. Groups that the model was fitted on keep the positions of
        their units; for every other recording the positions are estimated from it.
    engine : str or None
        How files are read one by one: "local", "serial" or "ray". Requires `out`.
    workers : int or None
        Number of processes for `engine`.
    ray_address : str or None
        Address of the Ray cluster for engine="ray".
    progress : callable or None
        Called as progress(what, done, total).

    Returns
    -------
    Result
        The labels; `result.fit` reports whether the model fits each recording.

    Raises
    ------
    RecordingError
        If a recording cannot be read, or lacks a channel of the model, or has another rate.
    SettingError
        If an argument has no effect with this model.
    ModelError
        If the folder holds no model, or a damaged one.
    NotFittedError
        If the model is not fitted.
    OutputError
        If `out` cannot be written, or already holds a run.

    Examples
    --------
    >>> from rondo.synthetic import plant
    >>> stream = plant(n_frames=3_000, seed=1)
    >>> result = discover(stream.recording, window="1.5s", settings={"evidence.surrogates": 0})
    >>> label(result.model, stream.recording).kind
    'label'
    """
    fitted, with_stream = _model_of(model)
    return label_with(
        fitted,
        data,
        replace(reading_at(reading, rate), known=channels_of(fitted)),
        out,
        adapt=adapt,
        refit_motifs=refit_motifs,
        resample=resample,
        with_stream=with_stream,
        group_by=group_by,
        engine=engine,
        workers=workers,
        ray_address=ray_address,
        progress=progress or silent,
    )


def label_with(
    model: Model,
    data: Any,
    reading: Reading,
    out: str | Path | None,
    *,
    adapt: bool = False,
    refit_motifs: bool = False,
    resample: bool = False,
    with_stream: bool = False,
    group_by: GroupBy = None,
    engine: str | None = None,
    workers: int | None = None,
    ray_address: str | None = None,
    progress: Progress = silent,
) -> Result:
    """`label` with a model that is in memory; `with_stream`: with what a stream has learned since the fit."""
    at_once = ""
    if not isinstance(model, Rondo):
        refuse_idle({"adapt": adapt, "refit_motifs": refit_motifs, "group_by": group_by}, type(model).__name__)
        at_once = "this model reads all recordings at once"
    elif with_stream:
        at_once = "this model reads all recordings at once"
    elif adapt or refit_motifs:
        at_once = f"{'--adapt' if adapt else '--refit-motifs'} learns from all recordings at once"
    inputs = _inputs(data, reading, out, at_once, group_by, engine, workers, ray_address)
    if isinstance(inputs, ManyFiles):
        assert isinstance(model, Rondo) and out is not None, "other models and results in memory read all at once"
        return _with_failures_told(label_files_with(inputs, model, out, resample=resample, progress=progress), out)
    progress("labelling", 0, len(inputs))
    if not isinstance(model, Rondo):
        result = model.predict(inputs, resample=resample)
    elif adapt or refit_motifs:
        how = {"adapt": adapt, "refit_motifs": refit_motifs, "resample": resample}
        result = transferred(copy(model), inputs, **how, group_by=group_by, progress=progress)
    elif with_stream:
        result = relabel(model, inputs, resample=resample)
    else:
        result = model.predict(inputs, resample=resample, group_by=group_by)
    return _saved(result, out, progress)


def channels_of(model: Model) -> tuple[KnownChannel, ...]:
    """The channels that a model knows by name; () where it has none."""
    return model.preprocessor_.known_channels if isinstance(model, Rondo) else ()


def _model_of(given: Model | str | Path) -> tuple[Model, bool]:
    """The model, and whether a stream has grown it."""
    if isinstance(given, str | Path):
        folder = model_folder(Path(given))
        model = load_model(folder)
        return carrying(model) if isinstance(model, Rondo) else model, follows_stream(folder)
    if isinstance(given, Rondo):
        _ = given.units_  # refuses one that is not fitted
    return given, False


def follows_stream(folder: Path) -> bool:
    """Whether a model folder lies in the folder of a stream."""
    return has_checkpoint(folder.parent / CHECKPOINT)
