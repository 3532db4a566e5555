"""UnitModel: everything needed to read the units of a recording. Fitting gives it; it never changes afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rondo.config import EncoderConfig, SlowUnitsConfig, UnitsConfig
from rondo.data.windows import Span, Windows
from rondo.encoders import FittedEncoder, Representations, build_encoder
from rondo.units.discover import discover_units
from rondo.units.slow import SlowProjection, fit_slow
from rondo.units.timeline import Timeline, decode, typical_step
from rondo.vocabulary import Vocabulary


class Projection(Protocol):
    """Representations -> latents: the slow projection, or UnitAlign."""

    def apply(self, representations: NDArray[np.floating]) -> NDArray[np.float64]:
        """Latents (n_windows, n_dims)."""

    def tensors(self) -> Mapping[str, NDArray[np.generic]]:
        """Everything learned, as arrays, for the model folder."""


@dataclass(frozen=True, eq=False)
class UnitModel:
    """Encoder -> projection -> vocabulary, smoothed with `penalty` per change of unit."""

    encoder: FittedEncoder
    projection: Projection
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
        parts = {
            "encoder": self.encoder.tensors(),
            "projection": self.projection.tensors(),
            "vocabulary": self.vocabulary.tensors(),
        }
        named = {f"{part}.{name}": tensor for part, own in parts.items() for name, tensor in own.items()}
        return named | {"penalty": np.array([self.penalty])}

    @classmethod
    def restore(
        cls, tensors: Mapping[str, NDArray[np.generic]], encoder: EncoderConfig, config: UnitsConfig
    ) -> UnitModel:
        """The model that wrote these tensors."""
        fitted = build_encoder(encoder).restore(_under("encoder.", tensors))
        vocabulary = Vocabulary.restore("unit", _under("vocabulary.", tensors))
        own = _under("projection.", tensors)
        projection: Projection
        if isinstance(config, SlowUnitsConfig):
            projection = SlowProjection.restore(own)
        else:
            from rondo.units.align import UnitAlignment  # brings torch, which takes seconds to import

            projection = UnitAlignment.restore(own, config)
        return cls(fitted, projection, vocabulary, float(tensors["penalty"][0]))


def fit_units(
    windows: Sequence[Windows], encoder: EncoderConfig, config: UnitsConfig, rng: np.random.Generator, device: str
) -> UnitModel:
    """One unit vocabulary over the windows of one or many signals."""
    fitted = build_encoder(encoder, int(rng.integers(2**31)), device).fit(windows)
    representations = np.concatenate([fitted.encode(w) for w in windows])
    spans = joined_spans([w.grid.window_spans for w in windows])
    projection = _fit_projection(representations, spans, config, int(rng.integers(2**31)), device)
    latents = projection.apply(representations)
    penalty = config.transition_scale * typical_step(latents, spans)
    grid = windows[0].grid
    persistence = config.persistence if isinstance(config, SlowUnitsConfig) else 0.0  # the paper knows no such rule
    shortest_run = persistence * grid.length_frames / grid.step_frames
    vocabulary = discover_units(latents, spans, penalty, shortest_run, config.mixture, rng, device)
    return UnitModel(fitted, projection, vocabulary, penalty)


def _fit_projection(
    representations: Representations, spans: Sequence[Span], config: UnitsConfig, seed: int, device: str
) -> Projection:
    if isinstance(config, SlowUnitsConfig):
        return fit_slow(representations, spans, config.pca_dim, config.dimension, config.ridge)
    from rondo.units.align import fit_unit_align  # brings torch, which takes seconds to import

    return fit_unit_align(representations, spans, config, seed, device)


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
