"""`rondo.discover` and `rondo.label`: recordings in, Result out."""

from __future__ import annotations

import logging
import reprlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import wraps
from numbers import Integral
from pathlib import Path
from typing import Any, ParamSpec

from rondo.config.settings import RondoConfig, resolve
from rondo.data.groups import GroupBy
from rondo.data.notes import warn_of
from rondo.data.recording import Recording
from rondo.data.window_lengths import refuse_too_short
from rondo.edit import model_folder
from rondo.errors import RondoWarning, SettingError
from rondo.files.inputs import are_several, as_recordings, recording_files
from rondo.files.poses import as_the_model_reads, poses_in
from rondo.files.reading import Reading, reading_at
from rondo.many.driver import ENGINES, ManyFiles, discover_files, engine_of, label_files_with
from rondo.many.unfinished import check_place, reserved
from rondo.memory import is_much, refuse_all_at_once
from rondo.methods import DEFAULT, Model, Options, find_method, load_model, refuse_idle
from rondo.model.describe import carrying
from rondo.model.folder import as_settings, config_of, from_config, listener
from rondo.model.method import CHECKPOINT, has_checkpoint, relabel
from rondo.model.rondo import Rondo
from rondo.model.transfer import transferred
from rondo.result import Result
from rondo.run.bucket import check_free_place
from rondo.run.findings import failed_sentence
from rondo.store.locations import as_location, is_url, joined
from rondo.wording import Progress

_log = logging.getLogger("rondo")
_MOVED = {
    "step": "windows.step",
    "motif_window": "motifs.window",
    "states": "n_states",
    "encoder": "encoder.name",
    "device": "device",
}
_NO_RATE = "no rate was given, so times are counted in frames; give rate= (frames per second) for seconds"
Settings = Mapping[str, Any] | str | Path | tuple[str | Path, Mapping[str, Any]] | None
P = ParamSpec("P")


def _naming_moved(function: Callable[P, Result]) -> Callable[P, Result]:
    """Arguments of version 0.2.0 that are settings now are refused with the name of the setting."""

    @wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> Result:
        for name in kwargs.keys() & {*_MOVED, "config"}:
            instead = "settings=PATH" if name == "config" else f"settings={{'{_MOVED[name]}': {kwargs[name]!r}}}"
            raise SettingError(f"discover has no argument '{name}' any more; give {instead}")
        return function(*args, **kwargs)

    return called


@_naming_moved
def discover(
    data: Any,
    method: str = DEFAULT,
    *,
    window: int | str | None = None,
    preset: str = "default",
    settings: Settings = None,
    seed: int | None = None,
    rate: float | None = None,
    reading: Reading | None = None,
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
    data : path, folder, array, table, Recording, or a list or mapping of them
        The recordings; a mapping gives their ids. An array has the shape (n_frames, n_channels); a table is a pandas or
        polars one, or a list of mappings, one per row.
    method : str
        "rondo", "clock", or a method that an installed package adds; `rondo.methods.method_names()` lists them.
    window : int, str or None
        Length of a unit window: frames (256), a time ("2s", "500ms") or "auto". None takes the setting of the preset.
    preset : str
        The settings to start from: "default", "paper" or "paper-fast".
    settings : mapping, path, pair of both, or None
        Any other setting by its dotted name: {"windows.step": "500ms", "encoder.name": "ts2vec", "device": "cpu"}.
        `rondo config show` prints all; methods that need a number of states take "n_states". A path is a TOML file of
        settings; in (path, mapping) the mapping wins.
    seed : int or None
        Seed of all random draws: the same input, seed and settings give the same output. None takes the seed of the
        settings, else 0.
    rate : float or None
        Frames per second, for input without a clock: short for Reading(rate=...).
    reading : Reading or None
        How files and tables become recordings, as in `rondo.read`.
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
    chosen, tell = find_method(method), listener(progress)
    configured = chosen.configure(_options(preset, settings, window, group_by))
    if seed is not None:
        seed = resolve(overrides={"seed": seed}).seed  # refuses what no method takes
    at_once = f"--method {method} takes all recordings at once" if method != DEFAULT else ""
    reading = reading_at(reading, rate)
    if isinstance(config := getattr(configured, "config", None), RondoConfig):
        reading = replace(reading, poses=poses_in(config.preprocess))
    inputs = _inputs(data, reading, out, at_once, group_by, engine, workers, ray_address)
    if isinstance(inputs, ManyFiles):
        assert out is not None, "results in memory read all recordings at once"
        config = configured.config if seed is None else configured.config.model_copy(update={"seed": seed})
        return _with_failures(discover_files(inputs, from_config(Rondo, config), out, tell), out)
    refuse_too_short(inputs)
    if any(recording.rate is None and not recording.source for recording in inputs):
        warnings.warn(_NO_RATE, RondoWarning, stacklevel=3)
    for note in chosen.notes(inputs, configured):
        warnings.warn(note, RondoWarning, stacklevel=3)
    if _log.isEnabledFor(logging.INFO):
        _log.info("\n".join(chosen.notes(inputs, configured, in_detail=True)))
    with reserved(out):
        return _saved(chosen.discover(inputs, configured, seed, tell), out, tell)


def _options(preset: str, settings: Settings, window: int | str | None, group_by: GroupBy) -> Options:
    file, named = settings if isinstance(settings, tuple) and len(settings) == 2 else (None, settings)
    if isinstance(named, str | Path):
        file, named = named, None
    if named is not None and not isinstance(named, Mapping):
        raise SettingError(f"settings: expected a mapping, a path, or a path and a mapping, got {reprlib.repr(named)}")
    window_setting = {} if window is None else {"windows.length": window}
    return Options(
        preset, {**(named or {}), **window_setting}, None if file is None else Path(as_location(file)), group_by
    )


def label(
    model: Model | str | Path,
    data: Any,
    *,
    adapt: bool = False,
    refit_motifs: bool = False,
    resample: bool = False,
    settings: Mapping[str, Any] | None = None,
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
    settings : mapping or None
        "seed" for `refit_motifs` and "device" for networks. None takes those of the model.
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
    settings, tell = as_settings(settings), listener(progress)
    if out is not None:
        check_place(out)  # before a model is loaded
    fitted, with_stream = _model_of(model, settings)
    reading = reading_at(reading, rate)
    at_once = "this model reads all recordings at once"
    if not isinstance(fitted, Rondo):
        idle = {"--adapt": adapt, "--refit-motifs": refit_motifs, "--group-by": group_by}
        refuse_idle(idle | {f"--{name}": value for name, value in settings.items()}, type(fitted).__name__)
    else:
        reading = as_the_model_reads(reading, fitted.preprocessor_)
        if adapt or refit_motifs:
            at_once = f"{'--adapt' if adapt else '--refit-motifs'} learns from all recordings at once"
        elif fitted.edits_.teaching is not None:
            at_once = "a taught model keeps what it reads with its edits, for all recordings at once"
        elif not with_stream:
            at_once = ""
    inputs = _inputs(data, reading, out, at_once, group_by, engine, workers, ray_address)
    if isinstance(inputs, ManyFiles):
        assert isinstance(fitted, Rondo) and out is not None, "other models and results in memory read all at once"
        return _with_failures(label_files_with(inputs, fitted, out, resample=resample, progress=tell), out)
    tell("labelling", 0, len(inputs))
    with reserved(out):
        if not isinstance(fitted, Rondo):
            result = fitted.predict(inputs, resample=resample)
        elif adapt or refit_motifs:
            how = {"adapt": adapt, "refit_motifs": refit_motifs, "resample": resample}
            result = transferred(copy(fitted), inputs, **how, group_by=group_by, progress=tell)
        elif with_stream:
            result = relabel(fitted, inputs, resample=resample)
        else:
            result = fitted.predict(inputs, resample=resample, group_by=group_by)
        return _saved(result, out, tell)


def _model_of(model: Model | str | Path, settings: Mapping[str, Any]) -> tuple[Model, bool]:
    """The model with these settings, and whether it is to be read as a stream has grown it."""
    grown = False
    if isinstance(model, str | Path):
        folder = model_folder(Path(as_location(model)))
        model = load_model(folder)
        if isinstance(model, Rondo):
            model, grown = carrying(model), has_checkpoint(folder.parent / CHECKPOINT)
    if isinstance(model, Rondo):
        _ = model.units_  # refuses one that is not fitted
        if unknown := [name for name in settings if name not in ("seed", "device")]:
            raise SettingError(f"unknown setting '{unknown[0]}'; a fitted model takes 'seed' and 'device'")
        if settings:
            model = copy(model).set_params(**settings)
            config_of(model)  # refuses what they cannot be
    elif not hasattr(model, "predict"):
        raise SettingError(f"model: expected a fitted model or its folder, got {reprlib.repr(model)}")
    return model, grown


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
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, Integral) or workers < 1):
        raise SettingError(f"workers: expected a number of processes, 1 or more, got {workers!r}")
    if ray_address is not None and engine != "ray":
        raise SettingError("--ray-address names a cluster for --engine ray; give both, or neither")
    if out is not None:
        check_place(out)
    data = list(data) if isinstance(data, Iterator) else data
    given = list(data) if are_several(data) else [data]
    are_paths = bool(given) and all(isinstance(one, str | Path) for one in given)
    if engine is not None and not are_paths:
        raise SettingError("engine reads file by file; give paths, or leave it out")
    if engine is not None and out is None:
        raise SettingError("engine reads file by file, and writes labels as files are done; give out=")
    if are_paths and out is not None:
        at_once = at_once or reading.why_at_once
        files = recording_files(given, reading)
        # Where files are cut, nobody knows the ids of recordings, and so their groups, before they are read.
        many = ManyFiles.of(files, None if reading.why_at_once else group_by, engine or "local", workers, ray_address)
        if at_once and engine is not None:
            raise SettingError(f"--engine reads file by file, but {at_once}; leave it out")
        if at_once:
            refuse_all_at_once(many.sizes, f"{at_once}: give fewer or shorter ones")
        elif engine is not None or workers is not None or is_url(files[0].url) or is_much(many.sizes):
            return many
        check_free_place(out)
    recordings = as_recordings(data, reading)
    for recording in recordings:
        _log.info("%s: %r, channels %s", recording.source, recording, ", ".join(recording.channels))
    return recordings


def _with_failures(result: Result, out: str | Path) -> Result:
    warn_of(result.noted)
    if result.summary.failed:
        listed = joined(out, "failed.csv")
        warnings.warn(f"{failed_sentence(result.summary)}; {listed} lists them", RondoWarning, stacklevel=3)
    return result


def _saved(result: Result, out: str | Path | None, progress: Progress) -> Result:
    if out is not None:
        progress("writing", len(result), len(result))
        result.save(out)
    return result
