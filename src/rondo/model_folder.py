"""A fitted model <-> its folder: manifest.json, tensors.safetensors, and edits.json where people have named or merged.

Nothing in a folder is executed. Whatever does not fit together is refused before the model is given out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.config.schema import MotifFormerConfig, MotifsConfig, RondoConfig, network_in, resolve
from rondo.continual.stream import Stream
from rondo.data.preprocess import Preprocessor
from rondo.data.recording import Recording
from rondo.errors import InputError, MissingExtraError, ModelError
from rondo.evidence.verdicts import Evidence
from rondo.motifs.base import Motifs
from rondo.motifs.former.subsequences import lengths_in_windows
from rondo.motifs.model import MotifModel
from rondo.store import artifact
from rondo.tensors import Tensors, as_bits, from_bits, owned
from rondo.training.device import require_torch
from rondo.units.fit_profile import FitProfile
from rondo.units.model import UnitModel
from rondo.vocabulary.edits import Edits, read_edits

if TYPE_CHECKING:
    from rondo.model import Rondo

_PARTS = ("preprocess", "units", "motifs", "evidence", "stream")
_LONGEST_WINDOW = 1_000_000  # frames; a model folder that asks for more is damaged, and would ask for all memory


def save(model: Rondo, folder: Path) -> None:
    """Write a fitted model, and the stream if it follows one."""
    preprocessor = model.preprocessor_
    tensors: dict[str, NDArray[np.generic]] = {
        "preprocess.mean": preprocessor.mean,
        "preprocess.scale": preprocessor.scale,
        "preprocess.components": preprocessor.components,
        "preprocess.spacing": np.array(preprocessor.spacing, dtype=np.int64),
    }
    tensors |= owned("units", model.unit_model_.tensors()) | owned("motifs", model.motif_model_.tensors())
    tensors |= owned("evidence", model.evidence_.tensors())
    provenance = model.provenance_ | {
        "channels": list(preprocessor.channels),
        "rate": model.rate_,
        "window_length_frames": model.window_length_frames_,
        "step_frames": model.step_frames_,
    }
    if hasattr(model, "stream_"):
        state, plain = model.stream_.state()
        bits, kinds = as_bits(state)
        tensors |= owned("stream", bits)
        provenance["stream"] = {"tensors": kinds, "plain": plain}
    config = model.config_.model_dump(mode="json")
    edits = model.edits_.as_json() if model.edits_.history else None
    artifact.save(folder, artifact.Artifact(config, provenance, tensors), edits=edits)


def load(kind: type[Rondo], folder: Path) -> Rondo:
    """The model of a folder; a damaged one is refused with what is wrong."""
    stored = artifact.load(folder)
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
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"{folder}: its parts do not fit together ({why}); fit the model again") from None
    FitProfile.from_json(model.provenance_.get("fit_profile"), folder)  # refused here, where its folder is known
    model.edits_ = read_edits(folder)
    return model


def _restored(kind: type[Rondo], stored: artifact.Artifact) -> Rondo:
    model = kind.from_config(resolve(overrides=stored.config))
    config = model.resolved_config()
    require_torch(network_in(config))
    parts: dict[str, dict[str, NDArray[np.generic]]] = {name: {} for name in _PARTS}
    for name, tensor in stored.tensors.items():
        part, _, inner = name.partition(".")
        parts[part][inner] = tensor
    provenance = dict(stored.provenance)
    channels = tuple(str(name) for name in provenance.pop("channels"))
    model.preprocessor_ = _preprocessor(parts["preprocess"], channels, config)
    rate = provenance.pop("rate")
    model.rate_ = None if rate is None else float(rate)
    model.window_length_frames_ = int(provenance.pop("window_length_frames"))
    model.step_frames_ = int(provenance.pop("step_frames"))
    if not 1 <= model.step_frames_ <= model.window_length_frames_ <= _LONGEST_WINDOW:
        raise ValueError(f"a window of {model.window_length_frames_} frames and a step of {model.step_frames_}")
    model.unit_model_ = UnitModel.restore(parts["units"], config.encoder, config.units)
    model.motif_model_ = _motifs(parts["motifs"], lengths_in_windows(config.motifs, model.step_frames_, model.rate_))
    model.evidence_ = Evidence.restore(parts["evidence"], model.unit_model_.ids, model.motif_model_.ids)
    followed = provenance.pop("stream", None)
    model.config_, model.provenance_, model.edits_ = config, provenance, Edits()
    probe = np.random.default_rng(0).normal(size=(model.window_length_frames_ + model.step_frames_, len(channels)))
    model.label_one(Recording(probe, rate=model.rate_, channels=channels))  # shapes that do not fit fail here
    if followed is not None:
        model.stream_ = _stream(model, from_bits(parts["stream"], followed["tensors"]), followed["plain"])
    return model


def _preprocessor(tensors: Tensors, channels: tuple[str, ...], config: RondoConfig) -> Preprocessor:
    mean, scale, components = (np.asarray(tensors[name], np.float64) for name in ("mean", "scale", "components"))
    if mean.shape != (len(channels),) or scale.shape != mean.shape or components.shape[1:] != mean.shape:
        raise ValueError("preprocessing does not fit the channels")
    spacing = tuple(np.asarray(tensors["spacing"], np.int64).tolist())
    if len(spacing) != len(channels) or min(spacing) < 0:
        raise ValueError("the spacing of slow sensors does not fit the channels")
    return Preprocessor(config.preprocess, channels, mean, scale, components, spacing)


def _motifs(tensors: dict[str, NDArray[np.generic]], config: MotifsConfig) -> Motifs:
    if isinstance(config, MotifFormerConfig):
        from rondo.motifs.former.motifs import FormerMotifs  # brings torch, which need not be installed

        return FormerMotifs.restore(tensors, config)
    return MotifModel.restore(tensors)


def _stream(model: Rondo, tensors: Tensors, plain: Mapping[str, Any]) -> Stream:
    """Where `partial_fit` stood; a copy is tried first, so that parts that do not fit fail here."""
    Stream.restore(model.stream(), tensors, plain).spend()
    return Stream.restore(model.stream(), tensors, plain)
