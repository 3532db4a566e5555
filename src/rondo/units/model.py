"""UnitModel: everything needed to read the units of a recording. Fitting gives it; it never changes afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.config import EncoderConfig, SlowUnitsConfig, UnitsConfig
from rondo.data.windows import Span, Windows
from rondo.encoders import FittedEncoder, build_encoder
from rondo.errors import SettingError
from rondo.units.discover import discover_units
from rondo.units.slow import SlowProjection, fit_slow
from rondo.units.timeline import Timeline, decode, typical_step
from rondo.vocabulary import Vocabulary


@dataclass(frozen=True, eq=False)
class UnitModel:
    """Encoder -> projection -> vocabulary, smoothed with `penalty` per change of unit."""

    encoder: FittedEncoder
    projection: SlowProjection
    vocabulary: Vocabulary
    penalty: float

    def timeline(self, windows: Windows) -> Timeline:
        """The unit of every window of one signal."""
        spans = windows.grid.window_spans
        if not spans:
            return Timeline(np.zeros(0, np.int32), np.zeros(0), ())
        latents = self.projection.apply(self.encoder.encode(windows))
        return decode(latents, spans, self.vocabulary, self.penalty)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Everything learned, as arrays, for the model folder."""
        named = {f"encoder.{name}": tensor for name, tensor in self.encoder.tensors().items()}
        named |= {f"vocabulary.{name}": tensor for name, tensor in self.vocabulary.tensors().items()}
        projection = self.projection
        return named | {
            "projection.mean": projection.mean,
            "projection.matrix": projection.matrix,
            "projection.slowness": projection.slowness,
            "penalty": np.array([self.penalty]),
        }

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]], encoder: EncoderConfig) -> UnitModel:
        """The model that wrote these tensors."""
        projection = SlowProjection(
            *(np.asarray(tensors[f"projection.{name}"], np.float64) for name in ("mean", "matrix", "slowness"))
        )
        fitted = build_encoder(encoder).restore(_under("encoder.", tensors))
        vocabulary = Vocabulary.restore("unit", _under("vocabulary.", tensors))
        return cls(fitted, projection, vocabulary, float(tensors["penalty"][0]))


def fit_units(
    windows: Sequence[Windows],
    encoder: EncoderConfig,
    config: UnitsConfig,
    rng: np.random.Generator,
    device: str,
) -> UnitModel:
    """One unit vocabulary over the windows of one or many signals."""
    if not isinstance(config, SlowUnitsConfig):
        raise SettingError(
            f"units.method = '{config.method}' is not in this version of Rondo; use units.method = 'slow'"
        )
    fitted = build_encoder(encoder).fit(windows)
    representations = np.concatenate([fitted.encode(w) for w in windows])
    spans = joined_spans([w.grid.window_spans for w in windows])
    projection = fit_slow(representations, spans, config.pca_dim, config.dimension, config.ridge)
    latents = projection.apply(representations)
    penalty = config.transition_scale * typical_step(latents, spans)
    grid = windows[0].grid
    shortest_run = config.persistence * grid.length_frames / grid.step_frames
    vocabulary = discover_units(latents, spans, penalty, shortest_run, config.mixture, rng, device)
    return UnitModel(fitted, projection, vocabulary, penalty)


def joined_spans(spans_of_each: Sequence[Sequence[Span]]) -> tuple[Span, ...]:
    """Spans of several window axes laid one after the other."""
    joined: list[Span] = []
    offset = 0
    for spans in spans_of_each:
        joined += [(start + offset, stop + offset) for start, stop in spans]
        offset = joined[-1][1] if spans else offset
    return tuple(joined)


def _under(prefix: str, tensors: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
