"""A fitted model <-> its folder: manifest.json, tensors.safetensors, and edits.json where people have named or merged.

Nothing in a folder is executed. Whatever does not fit together is refused before the model is given out.

The provenance of a model (versions, the recordings it saw) has no time stamps: same input, same folder.
"""

from __future__ import annotations

import math
import platform
import reprlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rondo.arrays import Tensors, as_bits, check_shapes, from_bits, owned, owned_by
from rondo.config.overrides import changed, changes_from
from rondo.config.settings import PRESETS, RondoConfig, network_in, resolve
from rondo.continual.stream import Stream, rule_of
from rondo.data.body import BodyFrame
from rondo.data.known_channels import KnownValues, SoundBounds
from rondo.data.recording import Recording
from rondo.data.relations import ChannelRelations
from rondo.data.scaling import Preprocessor, Typical
from rondo.data.signal import shortened
from rondo.data.survey import Survey
from rondo.device import require_torch
from rondo.editing.edits_file import read_edits
from rondo.editing.names import EntryId
from rondo.errors import InputError, MissingExtraError, ModelError, SettingError
from rondo.evidence.verdicts import Entries, Evidence
from rondo.files.inputs import in_hertz
from rondo.registry import MOTIFS
from rondo.store import model_file
from rondo.units.fit_profile import FitProfile
from rondo.units.model import UnitModel
from rondo.units.vocabulary import Level, MergeTree
from rondo.version import __version__
from rondo.wording import Progress, card, found_in_words, silent

if TYPE_CHECKING:
    from rondo.model.rondo import Rondo

_PARTS = ("preprocess", "units", "motifs", "motif_tree", "evidence", "stream")
_LONGEST_WINDOW = 1_000_000  # frames; a model folder that asks for more is damaged, and would ask for all memory
_REMOVED = {("preprocess", "missing"): "interpolate", ("units", "window_weight"): "overlap"}  # settings of 0.2.0
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "torch")


class _SeenRecording(BaseModel):
    """One that the model was fitted on."""

    model_config = ConfigDict(strict=True)

    id: str
    n_frames: int = Field(ge=0)
    n_channels: int = Field(ge=0)
    rate: float | None = Field(gt=0, allow_inf_nan=False)


class _Provenance(BaseModel):
    """What is asked of the provenance in a folder that may be someone else's; the rest is for people."""

    model_config = ConfigDict(strict=True)

    channels: list[str] = Field(min_length=1)
    left_out: list[str] = []
    rate: float | None = Field(gt=0, allow_inf_nan=False)
    window_length_frames: int
    step_frames: int
    motif_window_frames: int
    recordings: list[_SeenRecording]
    training_notes: list[str] = []


def _first_fault(error: Exception) -> str:
    """One line of an error; of several that pydantic found, the first with its place."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        place = ".".join(str(part)[:40] for part in first["loc"])
        return f"{place}: {first['msg']}, got {reprlib.repr(first['input'])}"
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def save(model: Rondo, folder: Path) -> None:
    """Write a fitted model, and the stream if it follows one."""
    preprocessor = model.preprocessor_
    tensors: dict[str, NDArray[np.generic]] = {
        "preprocess.mean": preprocessor.mean,
        "preprocess.scale": preprocessor.scale,
        "preprocess.components": preprocessor.components,
        "preprocess.spacing": np.array(preprocessor.spacing, dtype=np.int64),
    }
    if preprocessor.bounds is not None:
        bounds = {name: np.array(of) for name, of in preprocessor.bounds._asdict().items()}
        tensors |= owned("preprocess.bounds", bounds)
    if preprocessor.offsets:
        tensors["preprocess.offsets"] = np.array(preprocessor.offsets, np.float64)
    if preprocessor.known is not None:
        tensors |= _known_values(preprocessor.known)
    if preprocessor.typical is not None:
        tensors |= owned("preprocess.typical", preprocessor.typical._asdict())
    if preprocessor.relations is not None:
        tensors |= owned("preprocess.relations", vars(preprocessor.relations))
    tensors |= owned("units", model.unit_model_.tensors()) | owned("motifs", model.motif_model_.tensors())
    tensors |= owned("motif_tree", model.motif_tree_.tensors())
    tensors |= owned("evidence", model.evidence_.tensors())
    provenance = model.provenance_ | {
        "channels": list(preprocessor.channels),
        "rate": model.rate_,
        "window_length_frames": model.window_length_frames_,
        "step_frames": model.step_frames_,
        "motif_window_frames": model.motif_window_frames_,
    }
    if preprocessor.body is not None:
        provenance["body"] = preprocessor.body.as_json()
    if preprocessor.left_out:
        provenance["left_out"] = list(preprocessor.left_out)
    if hasattr(model, "stream_"):
        state, plain = model.stream_.state()
        bits, kinds = as_bits(state)
        tensors |= owned("stream", bits)
        provenance["stream"] = {"tensors": kinds, "plain": plain}
    config = model.config_.model_dump(mode="json")
    edits = model.edits_.as_json() if model.edits_.history else None
    model_file.save(folder, model_file.Artifact(config, provenance, tensors), edits=edits)


def load(kind: type[Rondo], folder: Path) -> Rondo:
    """The model of a folder; a damaged one is refused with what is wrong."""
    stored = model_file.load(folder)
    if "method" in stored.config:
        name = stored.config["method"]
        raise ModelError(
            f"{folder}: a model of the method {name}, not of Rondo: it cannot be streamed or transferred; "
            "`rondo label` reads with it"
        )
    try:
        model = _restored(kind, stored)
    except MissingExtraError:
        raise
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, InputError) as error:
        why = f"{_first_fault(error):.200}"
        raise ModelError(f"{folder}: its parts do not fit together ({why}); fit the model again") from None
    FitProfile.from_json(model.provenance_.get("fit_profile"), folder)  # refused here, where its folder is known
    model.edits_ = read_edits(folder)
    return model


def from_config(kind: type[Rondo], config: RondoConfig) -> Rondo:
    """A model with exactly this configuration, not fitted."""
    settings = changes_from(PRESETS["default"], config)
    settings = {name: value for name, value in settings.items() if name not in ("seed", "device")}
    model = kind(settings=settings or None, seed=config.seed, device=config.device)
    model._resolved = repr(model.get_params()), config
    return model


def config_of(model: Rondo) -> RondoConfig:
    """Every setting: those of the preset, changed by the arguments of the model; resolved once for the same ones."""
    arguments = repr(model.get_params())
    if model._resolved is not None and model._resolved[0] == arguments:
        return model._resolved[1]
    given = {"encoder.name": model.encoder, "windows.length": model.window, "windows.step": model.step}
    given["motifs.window"] = model.motif_window
    overrides = {**as_settings(model.settings)} | {name: value for name, value in given.items() if value is not None}
    config = resolve(model.preset, overrides=overrides | {"seed": model.seed, "device": model.device})
    model._resolved = arguments, config
    return config


def as_settings(given: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Settings by their names; whatever has no names is refused."""
    if given is not None and not isinstance(given, Mapping):
        raise SettingError(f"settings: expected a mapping from names to values, got {reprlib.repr(given)}")
    return given or {}


def listener(progress: Progress | None) -> Progress:
    """Whom to call about progress; `silent` if nobody was named."""
    if progress is not None and not callable(progress):
        raise SettingError(f"progress: expected a function, called as progress(what, done, total), got {progress!r}")
    return progress or silent


def _restored(kind: type[Rondo], stored: model_file.Artifact) -> Rondo:
    model = from_config(kind, changed(PRESETS["default"], overrides=_without_removed(stored.config)))
    config = config_of(model)
    require_torch(network_in(config))
    parts: dict[str, dict[str, NDArray[np.generic]]] = {name: {} for name in _PARTS}
    for name, tensor in stored.tensors.items():
        part, _, inner = name.partition(".")
        parts[part][inner] = tensor
    _Provenance.model_validate(stored.provenance)
    provenance = dict(stored.provenance)
    channels = tuple(str(name) for name in provenance.pop("channels"))
    left_out = tuple(str(name) for name in provenance.pop("left_out", ()))
    body = provenance.pop("body", None)
    model.preprocessor_ = replace(
        _preprocessor(parts["preprocess"], channels, config),
        left_out=left_out,
        body=None if body is None else BodyFrame.from_json(body),
    )
    rate = provenance.pop("rate")
    model.rate_ = None if rate is None else float(rate)
    model.window_length_frames_ = int(provenance.pop("window_length_frames"))
    model.step_frames_ = int(provenance.pop("step_frames"))
    model.motif_window_frames_ = int(provenance.pop("motif_window_frames"))
    if not 1 <= model.step_frames_ <= model.window_length_frames_ <= _LONGEST_WINDOW:
        raise ValueError(f"a window of {model.window_length_frames_} frames and a step of {model.step_frames_}")
    model.unit_model_ = UnitModel.restore(parts["units"], config.encoder, config.units)
    block_frames = model.unit_model_.boundaries.block_frames
    if block_frames > model.window_length_frames_:
        raise ValueError(f"blocks of {block_frames} frames in windows of {model.window_length_frames_}")
    motif_settings = config.motifs.in_windows(model.step_frames_, model.rate_)
    motifs = MOTIFS[config.motifs.method].restore(parts["motifs"], motif_settings)
    model.motif_model_ = motifs
    model.motif_tree_ = _motif_tree(parts["motif_tree"], motifs.ids)
    model.evidence_ = Evidence.restore(parts["evidence"], model.unit_model_.ids, motifs.ids, motifs.unshown_ids)
    followed = provenance.pop("stream", None)
    model.config_, model.provenance_ = config, provenance
    model.unit_model_.refuse_misfit(model.preprocessor_.n_dims, model.window_length_frames_)
    if motifs.unit_ids != model.unit_model_.ids:
        raise ValueError(f"motifs of units {motifs.unit_ids}, there are {model.unit_model_.ids}")
    if followed is not None:
        begun = model.stream(rule=rule_of(followed["plain"]))
        model.stream_ = Stream.restore(begun, from_bits(parts["stream"], followed["tensors"]), followed["plain"])
    return model


def _motif_tree(tensors: Tensors, motif_ids: Sequence[int]) -> MergeTree:
    """The tree of these motifs; models of 0.2.0 have none."""
    tree = MergeTree.restore(tensors) if tensors else MergeTree((), ())
    if not set(tree.ids) <= set(motif_ids):
        raise ValueError(f"a tree of the motifs {tree.ids}, there are {tuple(motif_ids)}")
    return tree


def _without_removed(config: Mapping[str, Any]) -> dict[str, Any]:
    """Stored settings without those that are gone, and with one that was fixed; a model that used one is refused."""
    kept = {name: dict(value) if isinstance(value, Mapping) else value for name, value in config.items()}
    if (motifs := kept.get("motifs")) and motifs.get("method") == "motif_former":
        motifs.setdefault("length_bonus", 0.1)
    for (section, name), default in _REMOVED.items():
        settings = kept.get(section)
        if isinstance(settings, dict) and settings.pop(name, default) != default:
            raise ValueError(f"it was fitted with {section}.{name}, a setting that Rondo no longer has")
    return kept


def _preprocessor(tensors: Tensors, channels: tuple[str, ...], config: RondoConfig) -> Preprocessor:
    mean, scale, components = (np.asarray(tensors[name], np.float64) for name in ("mean", "scale", "components"))
    if len({*channels}) < len(channels):
        raise ValueError(f"the channel '{max(channels, key=channels.count)}' occurs twice")
    if mean.shape != (len(channels),) or scale.shape != mean.shape or components.shape[1:] != mean.shape:
        raise ValueError("preprocessing does not fit the channels")
    spacing = tuple(np.asarray(tensors["spacing"], np.int64).tolist())
    if len(spacing) != len(channels) or min(spacing) < 0:
        raise ValueError("the spacing of slow sensors does not fit the channels")
    known, relations = _restored_values(tensors, channels), None
    if stored := owned_by("relations", tensors):  # models of 0.1.0 have none
        relations = ChannelRelations(**{name: np.asarray(array, np.float64) for name, array in stored.items()})
        if relations.correlations.shape != (len(channels),) * 2 or relations.scale.shape != mean.shape:
            raise ValueError("the relations of channels do not fit the channels")
    typical = None
    if stored := owned_by("typical", tensors):  # models of 0.2.0 have none
        n_dims = len(components) or len(channels)
        shapes = {"mean": "channels", "scale": "channels", "spread": "dims"}
        check_shapes(stored, shapes, channels=len(channels), dims=n_dims)
        typical = Typical(*(np.asarray(stored[name], np.float64) for name in Typical._fields))
    offsets = tuple(np.asarray(tensors.get("offsets", ()), np.float64).tolist())
    if offsets and len(offsets) != len(channels):
        raise ValueError("the offsets do not fit the channels")
    bounds = None
    if stored := owned_by("bounds", tensors):  # models of 0.2.0 have none
        bounds = SoundBounds(*(tuple(np.asarray(stored[name], np.float64).tolist()) for name in SoundBounds._fields))
        if any(len(of) != len(channels) for of in bounds):
            raise ValueError("the bounds do not fit the channels")
    more = (spacing, known, relations)
    fitted = Preprocessor(config.preprocess, channels, mean, scale, components, *more, offsets=offsets, bounds=bounds)
    return replace(fitted, typical=typical)


def _known_values(known: KnownValues) -> dict[str, NDArray[np.generic]]:
    """Range and codes of each channel: `codes` has one row for each code, with the place of its channel."""
    codes = [(place, code) for place, own in enumerate(known.codes) for code in own]
    return {
        "preprocess.low": np.array(known.low, np.float64),
        "preprocess.high": np.array(known.high, np.float64),
        "preprocess.codes": np.array(codes, np.float64).reshape(-1, 2),
    }


def _restored_values(tensors: Tensors, channels: tuple[str, ...]) -> KnownValues | None:
    """What `_known_values` gave; None of a model of an earlier version, which has none."""
    if "codes" not in tensors:
        return None
    low, high, codes = (np.asarray(tensors[name], np.float64) for name in ("low", "high", "codes"))
    places = codes[:, 0].astype(np.int64)
    if low.shape != (len(channels),) or high.shape != low.shape or not ((places >= 0) & (places < low.size)).all():
        raise ValueError("the codes of missing values do not fit the channels")
    own = tuple(tuple(codes[places == place, 1].tolist()) for place in range(low.size))
    return KnownValues(tuple(low.tolist()), tuple(high.tolist()), own)


def provenance_of(recordings: Sequence[Recording | Survey]) -> dict[str, Any]:
    """Versions of what computed, and id, size and rate of every recording."""
    packages = {"rondo-ts": __version__}
    for name in _LIBRARIES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = "not installed"
    rows = [own.n_rows if isinstance(own, Survey) else own.n_frames for own in recordings]
    return {
        "python": platform.python_version(),
        "packages": packages,
        "recordings": [
            {"id": own.id, "n_frames": n_frames, "n_channels": own.n_channels, "rate": own.rate}
            for own, n_frames in zip(recordings, rows, strict=True)
        ],
    }


def model_card(model: Rondo) -> str:
    """HTML of a fitted model; motifs that are the units under other ids are not listed again."""
    units, motifs, evidence = model.unit_model_, model.motif_model_, model.evidence_
    kinds = Counter(motifs.kind(id) for id in (*motifs.ids, *motifs.unshown_ids))
    found = found_in_words({kind: kinds[kind] for kind in ("phrase", "context")} | {"unit": len(units.ids)})
    recurs = "yes" if evidence.recurs else "slow random change would look the same"
    facts = {
        "fitted on": shortened([recording["id"] for recording in model.provenance_["recordings"]]),
        "channels": shortened(model.preprocessor_.channels),
        "window, step": f"{model.window_length_frames_}, {model.step_frames_} frames at {in_hertz(model.rate_)}",
        "found": found,
        "recurs": "not tested" if math.isnan(evidence.p) else f"{recurs} (p = {evidence.p:.2g})",
    }

    def name(level: Level, id: int) -> str:
        return f"{EntryId(level, id).short} {model.edits_.name(level, id)}".rstrip()

    def verdict(entries: Entries, id: int) -> str:
        return entries[id].verdict if id in entries else "not tested"

    if not motifs.composed:
        listed = [(name("unit", id), verdict(evidence.units, id)) for id in units.ids]
        return card(repr(model), facts, ("unit", "evidence"), listed)
    known = {**evidence.motifs, **evidence.unshown}
    rows = [
        (name("motif", id), motifs.kind(id), motifs.composition(id), verdict(known, id))
        for id in (*motifs.ids, *motifs.unshown_ids)
    ]
    return card(repr(model), facts, ("motif", "kind", "made of", "evidence"), rows)
