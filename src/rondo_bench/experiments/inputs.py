"""What enters a method of a spec: its settings in effect on one data set, recordings, their channels, and shared axes.

The fingerprint of the settings is what rows are known by. The axes of a PCA are fitted once over all recordings of a
set, whichever of them are run. They are kept in the folder of the rows, so that a task need not read the whole set to
run on one recording.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rondo.annotations.annotation import Annotation
from rondo.arrays import owned
from rondo.config.settings import PreprocessConfig, RondoConfig, network_in, resolve
from rondo.data.recording import Recording
from rondo.data.relations import ChannelRelations
from rondo.data.scaling import Preprocessor
from rondo.errors import AnnotationError, SettingError
from rondo.store.folder import make_folder, whole_file
from rondo.synthetic.plan import Novelty, StreamPlan
from rondo.synthetic.streams import plant
from rondo_bench.baselines.baseline import Baseline, JoiningBaseline, build_baseline
from rondo_bench.data_sets.read import DataSet, find_copy, read_data_set
from rondo_bench.experiments.spec import Level, Method, Protocol, SetSpec


def baseline_for(method: Method, data_set: str, of_set: SetSpec) -> Baseline:
    """The baseline with the windows and axes of the data set, where it has such settings; its own axes go first."""
    settings = method.settings_for(data_set)
    if "windows" in type(build_baseline(method.baseline).config).model_fields:
        settings |= _windows(of_set)
    n_axes = of_set.pca_of(method.baseline)
    return build_baseline(method.baseline, ({"preprocess.pca_components": n_axes} if n_axes else {}) | settings)


def rondo_for(method: Method, data_set: str, of_set: SetSpec, protocol: Protocol, mantis: str = "") -> RondoConfig:
    """Every setting of Rondo; windows are those of the data set, unless the method has its own.

    Axes that all recordings of a set share are applied before (`experiments/inputs.py`), and Rondo takes the values as
    they come; a stream, whose future is not known, fits its own on its first part.
    """
    settings = _windows(of_set) | method.settings_for(data_set)
    n_axes = of_set.pca_of("rondo")
    if n_axes and protocol == "continual":
        settings["preprocess.pca_components"] = n_axes
    elif n_axes:
        settings["preprocess.scaling"] = "none"
    return resolve(
        method.preset, overrides=settings | ({"encoder.weights": mantis} if method.needs == "mantis" else {})
    )


def _windows(of_set: SetSpec) -> dict[str, Any]:
    return {"windows.length": of_set.window, "windows.step": of_set.step} if of_set.window != "auto" else {}


def joins(method: Method, baseline: Baseline | None) -> bool:
    """Whether the method is given all recordings of a set together."""
    return method.joint or isinstance(baseline, JoiningBaseline)


def level_of(method: Method, of_set: SetSpec) -> Level:
    return of_set.level or method.level


def config_of(
    method: Method, data_set: str, of_set: SetSpec, protocol: Protocol, mantis: str = ""
) -> tuple[dict[str, Any], Baseline | None]:
    """The settings in effect as plain values, and the baseline that has them."""
    about: dict[str, Any] = {"channels": list(of_set.channels)}
    if method.clock:
        return about | {"pieces": method.clock}, None
    if method.stored:
        return about | {"stored": method.stored}, None
    if method.baseline:
        baseline = baseline_for(method, data_set, of_set)
        return about | {"baseline": method.baseline} | baseline.config.model_dump(mode="json"), baseline
    own = rondo_for(method, data_set, of_set, protocol, mantis).model_dump(mode="json")
    about |= {"axes": of_set.pca_of("rondo"), "level": level_of(method, of_set), "refit_motifs": method.refit_motifs}
    about |= {"adapt_units": True} if method.adapt_units else {}  # rows from before there was such a choice stay valid
    about |= {"joint": True} if method.joint else {}
    return about | own, None


def trains_networks(config: Mapping[str, Any]) -> bool:
    """Whether a GPU helps: Rondo with an encoder, units or motifs that are networks. Baselines do not use one."""
    if "baseline" in config:
        return False
    own = {name: config[name] for name in RondoConfig.model_fields if name in config}
    return network_in(RondoConfig.model_validate(own)) is not None


def fingerprint(config: Mapping[str, Any], protocol: str, learned_from: Sequence[str] = ()) -> str:
    """Letters that differ where settings do, then, after a dash, letters for the recordings that were learned from.

    Not for what leaves labels as they are: seed, device, paths.
    """
    kept = {name: value for name, value in config.items() if name not in ("seed", "device")}
    if isinstance(kept.get("encoder"), Mapping):
        kept["encoder"] = {name: value for name, value in kept["encoder"].items() if name != "weights"}
    kept = _without_later_settings(kept)
    for section, settings_gone, beside in _GONE:
        if isinstance(kept.get(section), Mapping) and beside in kept[section]:
            kept[section] = settings_gone | dict(kept[section])
    continual = kept.get("continual")
    # Rows from before there was another rule; and the rule of streams says nothing about a row that is of no stream.
    if isinstance(continual, Mapping) and (continual.get("rule") == "exemplars" or protocol != "continual"):
        kept["continual"] = {name: value for name, value in continual.items() if name != "rule"}
    settings = _letters([protocol, kept])
    return f"{settings}-{_letters(sorted(learned_from))[:4]}" if learned_from else settings


# Rows from before a setting could be chosen, or from when one could, stay valid: below are settings by what was the
# rule before, and sections with settings that are gone, what has been the rule since, and a setting beside them.
_LATER = {
    "autoencoder_least_steps": 40,
    "items_per_epoch": 4096,
    "dropouts": "fill",
    "claim_of": "candidates",
    "full_weight": False,
    "standardise": True,
    "scales": 4,
    "pose": "centred",
    "body": [],
}
_GONE = (
    ("preprocess", {"missing": "interpolate"}, "scaling"),
    ("units", {"window_weight": "overlap"}, "ridge"),
)


def _without_later_settings(config: Any) -> Any:
    if not isinstance(config, Mapping):
        return config
    return {
        name: _without_later_settings(value)
        for name, value in config.items()
        if not (name in _LATER and value == _LATER[name])
    }


def _letters(values: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:8]


PLANTED = ("planted", "planted_motifs")
PLANTED_PLAN = StreamPlan(n_units=10, n_motifs=7, novelty=(Novelty(at=0.4), Novelty(at=0.6)))
PLANTED_SEEDS = range(20, 28)
PLANTED_FRAMES = 100_000


def recording_ids(data_set: str, data: Path | None) -> tuple[str, ...]:
    if data_set in PLANTED:
        return tuple(f"planted{seed}" for seed in PLANTED_SEEDS)
    return find_copy(data_set, data).ids


def read_some(data_set: str, data: Path | None, ids: Sequence[str], of_set: SetSpec) -> DataSet:
    """These recordings with the channels that are used, and their annotations; one without is refused."""
    read = _planted(data_set, ids) if data_set in PLANTED else read_data_set(data_set, data, only=ids)
    bare = next((recording.id for recording in read.recordings if recording.id not in read.annotations), None)
    if bare is not None:
        raise AnnotationError(
            f"recording '{bare}' of {data_set} has no annotation to score against: give it `y` (.npz), a column of "
            f"classes (.csv), or a file {bare}_labels.csv beside it"
        )
    return read._replace(recordings=tuple(with_channels(recording, of_set) for recording in read.recordings))


def _planted(data_set: str, ids: Sequence[str]) -> DataSet:
    streams = {id: plant(PLANTED_PLAN, n_frames=PLANTED_FRAMES, seed=int(id.removeprefix("planted"))) for id in ids}
    truths = {id: own.unit_truth if data_set == "planted" else own.motif_truth for id, own in streams.items()}
    return DataSet(
        data_set,
        tuple(stream.recording.renamed(id) for id, stream in streams.items()),
        {id: Annotation(truth, id=id) for id, truth in truths.items()},
    )


def with_channels(recording: Recording, of_set: SetSpec) -> Recording:
    """The recording with the channels that the data set uses; one whose channels have no names is used as it is."""
    if recording.is_unnamed:
        return recording
    try:
        chosen = of_set.chosen(recording.channels)
    except SettingError as error:
        raise SettingError(f"recording '{recording.id}': {error}") from None
    if chosen == recording.channels:
        return recording
    values = np.take(recording.values, [recording.channels.index(name) for name in chosen], axis=1)
    return Recording(values, recording.rate, chosen, recording.id, recording.timestamps_s, recording.notes)


def shared_preprocessor(
    config: PreprocessConfig, data_set: str, data: Path | None, of_set: SetSpec, kept_in: Path
) -> Preprocessor | None:
    """Fitted over all recordings of the set, or read where it was; None where recordings share nothing."""
    if not config.pca_components and (config.scaling == "none" or config.statistics == "recording"):
        return None
    ids = recording_ids(data_set, data)
    what = json.dumps([data_set, config.model_dump(mode="json"), list(of_set.channels), ids], sort_keys=True)
    path = kept_in / "axes" / f"{Path(data_set).name}-{hashlib.sha256(what.encode()).hexdigest()[:12]}.npz"
    if path.is_file():
        with np.load(path, allow_pickle=False) as kept:
            channels = tuple(str(name) for name in kept["channels"])
            related = {name.removeprefix("relations."): kept[name] for name in kept if name.startswith("relations.")}
            relations = ChannelRelations(**related) if related else None
            arrays = (kept["mean"], kept["scale"], kept["components"])
            return Preprocessor(config, channels, *arrays, relations=relations)
    whole = read_some(data_set, data, ids, of_set)
    fitted = Preprocessor.fit(whole.recordings, config)
    make_folder(path.parent)
    names, mean, scale = np.array(fitted.channels), fitted.mean, fitted.scale
    with whole_file(path) as file:
        related = {} if fitted.relations is None else owned("relations", vars(fitted.relations))
        np.savez(file, channels=names, mean=mean, scale=scale, components=fitted.components, **related)
    return fitted


def projected(recording: Recording, preprocessor: Preprocessor) -> Recording:
    """The recording on the shared axes, for a method that has no notion of them; gaps stay gaps."""
    signal = preprocessor.apply(recording)
    values = np.full_like(signal.values, np.nan)
    for start, stop in signal.spans:
        values[start:stop] = signal.values[start:stop]
    rows = values if signal.frame_of_row is None else values[signal.frame_of_row]
    return Recording(rows, recording.rate, signal.channels, recording.id, recording.timestamps_s, signal.notes)
