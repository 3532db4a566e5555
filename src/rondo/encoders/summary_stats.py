"""Window statistics: training-free, instant, deterministic.

Per window and channel: mean, standard deviation, mean absolute difference of neighbouring frames; between channels:
correlations (docs/results/units.md). Each family is one block; blocks are balanced, so that many correlations do not
drown few means. One to three channels leave few statistics, so there a further block describes shapes
(`rondo.encoders.convolution_shares`), if a window has 27 frames or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Tensors, leading_eigenvectors
from rondo.data.windows import FEW_CHANNELS, Windows
from rondo.encoders.base import Curves, DeclaredEncoder, EncoderCost, FittedEncoder, Representations
from rondo.encoders.convolution_shares import KERNELS, TAPS, ConvolutionShares, fit_convolution_shares
from rondo.errors import ModelError
from rondo.registry import EncoderSettings, setting
from rondo.wording import Progress, silent

_MOST_CORRELATED = 32  # channels beyond this are reduced by PCA first: pairs grow with the square
_FEWEST_KERNELS = 3  # lengths of a kernel in a window: a shorter one holds too few responses to tell shapes apart
_FRAMES_AT_ONCE = 4096  # multiplied with each other
_LEAST_VARIATION = 1e-6  # of a statistic, relative to its size; float32 cannot tell less from a constant

_ENCODED: WeakKeyDictionary[Windows, tuple[FittedSummaryStats, Representations]] = WeakKeyDictionary()
"""What the fitted windows are encoded as, kept while they live: units, motifs and labels all ask for it."""


class SummaryStatsConfig(EncoderSettings):
    """Training-free window statistics."""

    name: Literal["summary_stats"] = "summary_stats"
    correlation_floor: float = setting(0.1, "ours: keeps silent channels quiet in the correlations", gt=0)
    clip: float = setting(5.0, "ours: standardised statistics beyond this many deviations are cut", gt=0)
    shape_channels: int = setting(
        FEW_CHANNELS, "ours: shapes are described for up to this many channels, 0 = never (docs/results/units.md)", ge=0
    )
    shape_weight: float = setting(
        3.0, "ours: size of the shape block, that of each block of statistics being 1 (docs/results/units.md)", ge=0
    )


@dataclass(frozen=True)
class SummaryStats:
    """The encoder before it has seen data."""

    config: SummaryStatsConfig

    def fit(self, windows: Sequence[Windows], progress: Progress = silent) -> FittedSummaryStats:
        """Learn the centre and spread of each statistic over all windows."""
        fitted, blocks = self._fit(windows)
        at = 0
        for filled in (w for w in windows if len(w)):
            encoded = fitted._standardised([block[at : at + len(filled)] for block in blocks])
            encoded.setflags(write=False)
            _ENCODED[filled] = fitted, encoded
            at += len(filled)
        return fitted

    def fit_encode(self, windows: Sequence[Windows]) -> Representations:
        """The representations of all windows by the encoder that is fitted to them, in one pass over the data."""
        fitted, blocks = self._fit(windows)
        return fitted._standardised(blocks)

    def _fit(self, windows: Sequence[Windows]) -> tuple[FittedSummaryStats, list[NDArray[np.float32]]]:
        filled = [w for w in windows if len(w)]
        axes = _channel_axes(filled)
        few_channels = filled[0].n_channels <= self.config.shape_channels
        holds_shapes = filled[0].grid.length_frames >= _FEWEST_KERNELS * TAPS
        shapes = fit_convolution_shares(filled) if few_channels and holds_shapes else None
        each = zip(*(self._blocks(w, axes, shapes) for w in filled), strict=True)
        blocks = [np.concatenate(parts) for parts in each]
        centre = np.concatenate([block.mean(axis=0, dtype=np.float64) for block in blocks])
        spread = np.concatenate([block.std(axis=0, dtype=np.float64) for block in blocks])
        spread[spread <= _LEAST_VARIATION * np.abs(centre)] = 0.0
        return FittedSummaryStats(self, axes, shapes, centre, spread), blocks

    def restore(self, tensors: Tensors) -> FittedSummaryStats:
        """The fitted encoder that wrote these tensors."""
        try:
            axes, centre, spread = (np.asarray(tensors[name], np.float64) for name in ("axes", "centre", "spread"))
        except KeyError as error:
            raise ModelError(f"the encoder's tensor {error} is missing; fit and save the model again") from None
        shapes = None
        if "thresholds" in tensors:
            thresholds = np.asarray(tensors["thresholds"], np.float64)
            dilations = np.asarray(tensors.get("dilations", ()), np.int64)
            if thresholds.ndim != 3 or thresholds.shape[1:] != (dilations.size, len(KERNELS)):
                raise ModelError(
                    f"the encoder's tensors dilations {dilations.shape} and thresholds {thresholds.shape} do not "
                    "belong together; fit and save the model again"
                )
            shapes = ConvolutionShares(dilations, thresholds)
        n_axes, n_channels = axes.shape if axes.ndim == 2 else (0, 0)
        n_correlated = n_axes or n_channels
        n_columns = 3 * n_channels + n_correlated * (n_correlated - 1) // 2 + (shapes.n_columns if shapes else 0)
        if axes.ndim != 2 or centre.shape != (n_columns,) or spread.shape != centre.shape:
            raise ModelError(
                f"the encoder's tensors axes {axes.shape}, centre {centre.shape} and spread {spread.shape} do not "
                "belong together; fit and save the model again"
            )
        return FittedSummaryStats(self, axes, shapes, centre, spread)

    def _blocks(
        self, windows: Windows, axes: NDArray[np.float64], shapes: ConvolutionShares | None = None
    ) -> list[NDArray[np.float32]]:
        """Raw statistics, one (n_windows, n_columns) array per family; shapes, where they count, are the last."""
        rows = [self._batch_blocks(batch, axes) for batch in windows.batches()]
        blocks = [np.concatenate(parts) for parts in zip(*rows, strict=True)]
        return blocks if shapes is None else [*blocks, shapes.of(windows)]

    def _batch_blocks(self, batch: NDArray[np.float32], axes: NDArray[np.float64]) -> list[NDArray[np.float32]]:
        # One memory layout for all batches: the order in which numpy adds, and so the last digit, follows it.
        batch = np.ascontiguousarray(batch)
        mean = batch.mean(axis=2)
        centred = batch - mean[:, :, None]
        spread = np.sqrt(np.square(centred).mean(axis=2))
        change = np.abs(np.diff(batch, axis=2)).mean(axis=2) if batch.shape[2] > 1 else np.zeros_like(mean)
        blocks = [mean, spread, change]
        if batch.shape[1] == 1:
            return blocks
        if axes.shape[0]:
            centred = axes.astype(np.float32) @ centred
            spread = np.sqrt(np.square(centred).mean(axis=2))
        scaled = centred / (spread + np.float32(self.config.correlation_floor))[:, :, None]
        products = scaled @ scaled.transpose(0, 2, 1) / centred.shape[2]
        upper = np.triu_indices(centred.shape[1], k=1)
        return [*blocks, np.ascontiguousarray(products[:, upper[0], upper[1]])]


@dataclass(frozen=True, eq=False)
class FittedSummaryStats:
    """Statistics standardised by the centre and spread they had over the fitted windows."""

    encoder: SummaryStats
    axes: NDArray[np.float64]  # (32, n_channels), or (0, n_channels) where every pair of channels is correlated
    shapes: ConvolutionShares | None  # where channels are few
    centre: NDArray[np.float64]  # (n_dims,)
    spread: NDArray[np.float64]  # (n_dims,), 0 where a statistic did not vary

    @property
    def curves(self) -> Curves:
        return {}  # nothing is trained

    def encode(self, windows: Windows) -> Representations:
        """Representations (n_windows, n_dims); a statistic that did not vary when fitted stays 0.

        Those of the fitted windows are computed once and shared, and so are read-only.
        """
        if not len(windows):
            return np.zeros((0, self.centre.size), dtype=np.float32)
        encoder, encoded = _ENCODED.get(windows, (None, None))
        if encoder is self and encoded is not None:
            return encoded
        return self._standardised(self.encoder._blocks(windows, self.axes, self.shapes))

    @property
    def encodes_batches_exactly(self) -> bool:
        """Whether `encode_batch` gives each window the exact values that `encode` gives it alone."""
        return self.shapes is None

    def encode_batch(self, batch: NDArray[np.float32]) -> Representations:
        """Representations of the contents of windows (n_windows, n_channels, length), without shapes."""
        return self._standardised(self.encoder._batch_blocks(batch, self.axes))

    def _standardised(self, blocks: Sequence[NDArray[np.float32]]) -> Representations:
        factor = np.divide(1.0, self.spread, out=np.zeros_like(self.spread), where=self.spread > 0)
        limit, at, parts = self.encoder.config.clip, 0, []
        for block in blocks:
            columns = slice(at, at + block.shape[1])
            scaled = np.clip((block - self.centre[columns]) * factor[columns], -limit, limit)
            n_varying = max(1, int(np.count_nonzero(factor[columns])))
            parts.append((scaled / np.sqrt(n_varying)).astype(np.float32))
            at += block.shape[1]
        if self.shapes is not None:
            parts[-1] *= np.float32(self.encoder.config.shape_weight)
        return np.concatenate(parts, axis=1)

    def tensors(self) -> Tensors:
        """Everything learned, as arrays, for the model folder."""
        learned: Tensors = {"axes": self.axes, "centre": self.centre, "spread": self.spread}
        if self.shapes is None:
            return learned
        return {**learned, "dilations": self.shapes.dilations, "thresholds": self.shapes.thresholds}


def describes_few_channels(encoder: FittedEncoder) -> bool:
    """Whether representations are window statistics of so few channels that shapes count."""
    if not isinstance(encoder, FittedSummaryStats):
        return False
    return bool(encoder.axes.shape[1] <= encoder.encoder.config.shape_channels)


def _scatter_within(windows: Windows) -> NDArray[np.float64]:
    """Products of the channels around the mean of each window, summed over windows, (n_channels, n_channels).

    Windows overlap, so each frame counts as often as windows hold it, and then n_frames mean mean' is taken away for
    each window. In float64: where a level is large, little of the difference is left.
    """
    length, starts = windows.grid.length_frames, windows.grid.starts
    steps = np.zeros(len(windows.values) + 1)
    np.add.at(steps, starts, 1.0)
    np.add.at(steps, starts + length, -1.0)
    n_holding = np.cumsum(steps)[:-1]
    held = np.flatnonzero(n_holding > 0)  # frames in no window may hold anything
    scatter = np.zeros((windows.n_channels, windows.n_channels))
    for first in range(0, held.size, _FRAMES_AT_ONCE):
        frames = held[first : first + _FRAMES_AT_ONCE]
        weighted = windows.values[frames] * np.sqrt(n_holding[frames])[:, None]
        scatter += weighted.T @ weighted
    for batch in windows.batches():
        sums = batch.sum(axis=2, dtype=np.float64)
        scatter -= sums.T @ sums / length
    return scatter


def _channel_axes(windows: Sequence[Windows]) -> NDArray[np.float64]:
    """Principal axes of the channels where there are too many to correlate each pair; none otherwise."""
    n_channels = windows[0].n_channels
    if n_channels <= _MOST_CORRELATED:
        return np.zeros((0, n_channels))
    scatter = np.sum([_scatter_within(w) for w in windows], axis=0)
    axes = leading_eigenvectors(scatter, _MOST_CORRELATED).T
    signs = np.sign(axes[np.arange(axes.shape[0]), np.abs(axes).argmax(axis=1)])
    return np.asarray(axes * signs[:, None])


ENCODER: DeclaredEncoder[SummaryStatsConfig] = DeclaredEncoder(
    settings=SummaryStatsConfig,
    help="window statistics, nothing is trained",
    order=0,
    build=lambda config, seed, device: SummaryStats(config),
    # The cost per window of every run is measured with it.
    cost=lambda config, n_windows, length: EncoderCost(0.0, 0.0),
)
