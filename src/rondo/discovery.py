"""`rondo.discover` and `rondo.label`: recordings in, Result out."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Any

from rondo.config.settings import resolve
from rondo.data.groups import GroupBy
from rondo.data.recording import Recording
from rondo.data.window_lengths import refuse_too_short
from rondo.edit import model_folder
from rondo.errors import RondoWarning
from rondo.files.inputs import Reading, as_recordings
from rondo.files.reading import KnownColumn, with_kept
from rondo.many.driver import ManyFiles, discover_files, label_many
from rondo.many.way import Asked, files_to_read, warn_of_failed
from rondo.methods import DEFAULT, Model, Options, find_method, load_model, refuse_idle
from rondo.model.describe import carrying
from rondo.model.folder import from_config
from rondo.model.method import CHECKPOINT, RondoSettings, has_checkpoint, relabel
from rondo.model.rondo import Rondo
from rondo.model.transfer import transferred
from rondo.result import Result
from rondo.run.summary import RunSummary
from rondo.store.folder import check_free
from rondo.wording import Progress, silent


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
    key: str | None = None,
    label_columns: Sequence[str] = (),
    keep_columns: Sequence[str] = (),
    split_by: str | None = None,
    session: bool = False,
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
        Frames per second, for input without a clock.
    key : str or None
        The array, stream or sheet, in files that hold several.
    label_columns : sequence of str
        Columns that are not channels.
    keep_columns : sequence of str
        Columns that are channels, although their names or values look like labels, ids or counters.
    split_by : str or None
        A column of files or tables that separates recordings, as in `rondo.read`.
    session : bool
        Read each folder as one session, as in `rondo.read`.
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
    asked = Options(window, step, states, encoder, preset, device, others, file, motif_window, group_by)
    configured = chosen.configure(asked)
    chosen_seed = checked_seed(seed)
    where = Asked(engine, workers, ray_address, group_by)
    why_not = why_in_memory(method)
    label_columns = with_kept(label_columns, keep_columns)
    reading = Reading(rate, key, label_columns, split_by, session)
    many = files_to_read(data, out, where, why_not, reading)
    if many is not None and out is not None:
        warn_of_failed(discover_file_by_file(many, configured, chosen_seed, out, progress or silent))
        return Result.load(out)
    if out is not None:
        check_free(out)
    recordings = as_recordings(data, **reading._asdict())
    refuse_too_short(recordings)
    for note in chosen.notes(recordings, configured):
        warnings.warn(note, RondoWarning, stacklevel=2)
    result = chosen.discover(recordings, configured, chosen_seed, progress or silent)
    if out is not None:
        result.save(out)
    return result


def why_in_memory(method: str) -> str:
    """Why recordings must be read all at once; "" where they need not be."""
    return f"--method {method} takes all recordings at once" if method != DEFAULT else ""


def discover_file_by_file(
    many: ManyFiles, settings: RondoSettings, seed: int | None, out: str | Path, progress: Progress = silent
) -> RunSummary:
    """Find what recurs in recordings that are read one after the other; see `rondo.many.driver`."""
    config = settings.config if seed is None else settings.config.model_copy(update={"seed": seed})
    return discover_files(many, from_config(Rondo, config), out, progress)


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
    key: str | None = None,
    label_columns: Sequence[str] = (),
    keep_columns: Sequence[str] = (),
    split_by: str | None = None,
    session: bool = False,
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
        Frames per second, for input without a clock.
    key : str or None
        The array, stream or sheet, in files that hold several.
    label_columns : sequence of str
        Columns that are not channels.
    keep_columns : sequence of str
        Columns that are channels, although their names or values look like labels, ids or counters.
    split_by : str or None
        A column of files or tables that separates recordings, as in `rondo.read`.
    session : bool
        Read each folder as one session, as in `rondo.read`.
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
    if not isinstance(fitted, Rondo):
        idle = {"adapt": adapt, "refit_motifs": refit_motifs, "group_by": group_by}
        refuse_idle(idle, type(fitted).__name__)
    where = Asked(engine, workers, ray_address, group_by)
    label_columns = with_kept(label_columns, keep_columns, channels_of(fitted))
    why_not = why_labelled_at_once(fitted, adapt=adapt, refit_motifs=refit_motifs, with_stream=with_stream)
    reading = Reading(rate, key, label_columns, split_by, session)
    many = files_to_read(data, out, where, why_not, reading)
    if many is not None and out is not None and isinstance(fitted, Rondo):
        warn_of_failed(label_many(many, fitted, out, resample=resample, progress=progress or silent))
        return Result.load(out)
    if out is not None:
        check_free(out)
    result = labelled(
        fitted,
        as_recordings(data, **reading._asdict()),
        adapt=adapt,
        refit_motifs=refit_motifs,
        resample=resample,
        group_by=group_by,
        with_stream=with_stream,
        progress=progress or silent,
    )
    if out is not None:
        result.save(out)
    return result


def channels_of(model: Model) -> tuple[KnownColumn, ...]:
    """The channels that a model knows by name; () where it has none."""
    return model.preprocessor_.known_columns if isinstance(model, Rondo) else ()


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


def why_labelled_at_once(model: Model, *, adapt: bool, refit_motifs: bool, with_stream: bool) -> str:
    """Why recordings must be read all at once to be labelled; "" where they need not be."""
    if not isinstance(model, Rondo) or with_stream:
        return "this model reads all recordings at once"
    learning = "--adapt" if adapt else "--refit-motifs"
    return f"{learning} learns from all recordings at once" if adapt or refit_motifs else ""


def labelled(
    model: Model,
    recordings: Sequence[Recording],
    *,
    adapt: bool = False,
    refit_motifs: bool = False,
    resample: bool = False,
    group_by: GroupBy = None,
    with_stream: bool = False,
    progress: Progress = silent,
) -> Result:
    """Label recordings that are in memory; `with_stream`: with what a stream has learned since the fit."""
    given = list(recordings)
    progress("labelling", 0, len(given))
    if not isinstance(model, Rondo):
        return model.predict(given, resample=resample)
    if adapt or refit_motifs:
        return transferred(
            copy(model),
            given,
            adapt=adapt,
            refit_motifs=refit_motifs,
            resample=resample,
            group_by=group_by,
            progress=progress,
        )
    if with_stream:
        return relabel(model, given, resample=resample)
    return model.predict(given, resample=resample, group_by=group_by)
