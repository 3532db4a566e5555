"""Where one unit ends and the next begins, found in the signal itself instead of on the grid of windows.

A window that straddles two units tells that they meet, not where: boundaries read off windows miss by a good part of a
window, and lean to the louder unit. So every unit gets a second description at a finer scale, a Gaussian over the
statistics of short *blocks* of frames (mean, deviation, change per channel), learned from its own runs. The boundary
between a run of unit a and one of unit b is then put at the block edge e that maximises

    sum over blocks j < e of log p_a(x_j)  +  sum over blocks j >= e of log p_b(x_j)

between the middles of the two runs (in speech recognition: forced alignment). Which units follow each other stays as
the windows had it, but a run that its own blocks do not support is squeezed to nothing.

A run shorter than half a window is then absorbed: windows cannot tell a unit that short from a passage between its
neighbours. From the first run to the last, the boundary between the neighbours of such a run is put at the likeliest
of the edges inside it, by the same sum. At the end of a stretch its only neighbour takes all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints, check_shapes, leading_axes, owned, owned_by
from rondo.data.labels import Labels, Runs, runs_of
from rondo.data.recording import Values
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.errors import ModelError
from rondo.units.mixture import FittedMixture

_BLOCKS_PER_WINDOW = 16  # chosen by hand, not measured
_MOST_DIMS = 30  # principal axes; chosen by hand, not measured
_CLIP = 5.0  # deviations
_LEAST_SPREAD = 1e-6  # of a statistic, relative to its size; float32 cannot tell less from a constant
_PRIOR_BLOCKS = 10.0  # per dimension: how many blocks the covariance common to all units is worth
_LEAST_VARIANCE = 1e-4  # of the mean variance, added to every direction
_CHUNK_VALUES = 1 << 19  # of a signal, described at once: 2 MB
_GAUSSIANS = ("weights", "means", "precision_roots", "log_constants")


class BlockSpace(NamedTuple):
    """Where blocks are compared: their statistics, standardised and turned to the principal axes."""

    centre: Floats  # (n_statistics,)
    scale: Floats  # (n_statistics,), 1 / deviation, 0 for a statistic that did not vary
    axes: Floats  # (n_statistics, n_dims)

    def points(self, statistics: Floats) -> Floats:
        """Statistics (..., n_blocks, n_statistics) as points (..., n_blocks, n_dims)."""
        return np.asarray(np.clip((statistics - self.centre) * self.scale, -_CLIP, _CLIP) @ self.axes)


@dataclass(frozen=True, eq=False)
class Boundaries:
    """Every unit at the scale of blocks."""

    unit_ids: tuple[int, ...]  # ascending
    block_frames: int
    space: BlockSpace
    gaussians: FittedMixture  # a component for each unit

    def points(self, values: Values) -> Floats:
        """The blocks of stretches (..., n_frames, n_channels), where they are compared: (..., n_blocks, n_dims)."""
        return self.space.points(block_statistics(values, self.block_frames))

    def windows_of_frames(self, windows: Windows, units: Labels) -> Ints:
        """The window that speaks for each frame, (n_frames,), from the unit of each window; OTHER where none does.

        It is the window with the nearest centre among those of the run in which the frame lies.
        """
        nearest = windows.grid.project(np.arange(len(windows)), "centre").astype(np.int64)
        codes = np.searchsorted(np.array(self.unit_ids), units)
        for stretch in _stretches(windows, codes, self.block_frames):
            (start, stop), runs = stretch.frame_span, stretch.runs
            chunks = _statistics_in_chunks(windows.values[start:stop], self.block_frames)
            log_density = np.concatenate([self.gaussians.log_joint(self.space.points(chunk)) for chunk in chunks])
            frames = np.diff(stretch.first_frames(stretch.aligned(log_density), log_density), append=stop)
            nearest[start:stop] = np.clip(
                nearest[start:stop], np.repeat(runs.starts, frames), np.repeat(runs.stops - 1, frames)
            )
        return nearest

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        return {
            "unit_ids": np.array(self.unit_ids, np.int64),
            "block_frames": np.array([self.block_frames], np.int64),
            **self.space._asdict(),
            **owned("gaussians", {name: getattr(self.gaussians, name) for name in _GAUSSIANS}),
        }

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> Boundaries:
        try:
            ids = tuple(np.asarray(tensors["unit_ids"], np.int64).tolist())
            space = BlockSpace(*(np.asarray(tensors[name], np.float64) for name in BlockSpace._fields))
            stored = owned_by("gaussians", tensors)
            weights, means, roots, constants = (np.asarray(stored[name], np.float64) for name in _GAUSSIANS)
            block_frames = int(tensors["block_frames"][0])
            shapes = {"unit_ids": "units", "centre": "s", "scale": "s", "axes": "s d"}
            gaussians = ("units", "units d", "units d d", "units")
            check_shapes(tensors, shapes | {f"gaussians.{n}": s for n, s in zip(_GAUSSIANS, gaussians, strict=True)})
        except (KeyError, IndexError, ValueError) as error:
            raise ModelError(f"the boundaries are not complete ({error}); fit and save the model again") from None
        if block_frames < 1:
            raise ModelError(f"{len(means)} descriptions of {len(ids)} units, in blocks of {block_frames} frames")
        return cls(ids, block_frames, space, FittedMixture(weights, means, roots, constants))


def fit_boundaries(windows: Sequence[Windows], units: Sequence[Labels], unit_ids: Sequence[int]) -> Boundaries:
    """Describe units at the scale of blocks, from the unit of each window of one or more signals."""
    block_frames = max(1, windows[0].grid.length_frames // _BLOCKS_PER_WINDOW)
    stretches: list[_Stretch] = []
    each: list[Floats] = []
    for signal, labels in zip(windows, units, strict=True):
        parts = _stretches(signal, np.searchsorted(np.array(unit_ids), labels), block_frames)
        stretches += parts
        for stretch in parts:
            chunks = _statistics_in_chunks(signal.values[slice(*stretch.frame_span)], block_frames)
            each.append(np.concatenate([*chunks]))
    statistics = np.concatenate(each)
    centre, spread = statistics.mean(axis=0), statistics.std(axis=0)
    scale = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > _LEAST_SPREAD * np.abs(centre))
    n_dims = min(_MOST_DIMS, max(1, int(np.count_nonzero(scale))))
    axes = leading_axes(np.clip((statistics - centre) * scale, -_CLIP, _CLIP), n_dims)
    space = BlockSpace(centre, scale, np.ascontiguousarray(axes[:, :n_dims]))
    points = [space.points(own) for own in each]
    stacked = np.concatenate(points)
    first = np.concatenate([stretch.owners(stretch.first_cuts()) for stretch in stretches])
    rough = _gaussians(stacked, first, first, len(unit_ids))
    aligned = [stretch.aligned(rough.log_joint(own)) for stretch, own in zip(stretches, points, strict=True)]
    owners = np.concatenate([stretch.owners(cuts) for stretch, cuts in zip(stretches, aligned, strict=True)])
    gaussians = _gaussians(stacked, owners, first, len(unit_ids))
    return Boundaries(tuple(int(id) for id in unit_ids), block_frames, space, gaussians)


class _Stretch(NamedTuple):
    """One unbroken span of frames that holds windows, cut into blocks; the last one speaks for what is left over."""

    frame_span: Span
    first_window: int
    grid: WindowGrid
    frame_of_block: Ints  # (n_blocks,), first frame
    runs: Runs  # of unit codes, their starts and stops counted in windows of the whole recording

    def first_cuts(self) -> Ints:
        """The first block of every run but the first, half way between the centres of the windows on both sides."""
        windows = self.runs.starts[1:] - self.first_window
        frames = windows * self.grid.step_frames + (self.grid.length_frames - self.grid.step_frames) / 2
        return np.searchsorted(self.frame_of_block - self.frame_span[0], frames)  # windows reach far beyond blocks

    def owners(self, cuts: Ints) -> Ints:
        """The unit code of each block."""
        return np.repeat(self.runs.ids, np.diff(cuts, prepend=0, append=self.frame_of_block.size))

    def aligned(self, log_density: Floats) -> Ints:
        """The first block of every run but the first, (n_runs - 1,), where the blocks of both runs are likeliest.

        This is `likeliest_edge` between the middles of all neighbours at once.
        """
        drawn = self.first_cuts()
        if not drawn.size:
            return drawn
        edges = np.concatenate([[0], drawn, [log_density.shape[0]]])
        middles = (edges[1:] + edges[:-1]) // 2
        summed, units = summed_up(log_density), self.runs.ids
        n_places = np.diff(middles) + 1
        firsts = np.cumsum(n_places) - n_places  # of each boundary in the flat arrays below
        places = np.arange(n_places.sum()) + np.repeat(middles[:-1] - firsts, n_places)
        gain = summed[places, np.repeat(units[:-1], n_places)] - summed[places, np.repeat(units[1:], n_places)]
        is_best = gain == np.repeat(np.maximum.reduceat(gain, firsts), n_places)
        distance = np.where(is_best, np.abs(places - np.repeat(drawn, n_places)), len(summed))
        is_nearest = distance == np.repeat(np.minimum.reduceat(distance, firsts), n_places)
        return np.minimum.reduceat(np.where(is_nearest, places, len(summed)), firsts)

    def first_frames(self, cuts: Ints, log_density: Floats) -> Ints:
        """The first frame of every run, where runs shorter than half a window are squeezed to nothing."""
        (start, stop), shortest = self.frame_span, self.grid.length_frames / 2
        edges = [0, *cuts.tolist()]
        first_frames = np.append(start, self.frame_of_block[cuts])
        if (np.diff(first_frames, append=stop) >= shortest).all():
            return first_frames
        frames = first_frames.tolist()  # single numbers of a list are read and written several times faster
        summed, last = summed_up(log_density), len(self.runs) - 1
        kept: int | None = None  # the unit of the last run that stays
        absorbed: list[int] = []  # runs since then, which end where the next begins that stays
        for i, unit in enumerate(self.runs.ids.tolist()):
            end = stop if i == last else frames[i + 1]
            if unit == kept or end - frames[i] >= shortest or (kept is None and i == last):
                for j in absorbed:
                    frames[j] = frames[i]
                kept, absorbed = unit, []
                continue
            absorbed.append(i)
            if i < last and kept is not None:
                edges[i + 1] = edge_within(summed, edges[i], edges[i + 1], kept, int(self.runs.ids[i + 1]))
                frames[i + 1] = int(self.frame_of_block[edges[i + 1]])
            elif i < last:
                edges[i + 1], frames[i + 1] = edges[i], frames[i]
        for j in absorbed:
            frames[j] = stop
        return np.array(frames)


def _stretches(windows: Windows, codes: Ints, block_frames: int) -> list[_Stretch]:
    grid = windows.grid
    holding = [span for span in grid.spans if span[1] - span[0] >= grid.length_frames]
    stretches = []
    for (start, stop), (first, last) in zip(holding, grid.window_spans, strict=True):
        frames = start + np.arange((stop - start) // block_frames) * block_frames
        runs = runs_of(codes[first:last])
        runs = Runs(runs.starts + first, runs.stops + first, runs.ids)
        stretches.append(_Stretch((start, stop), first, grid, frames, runs))
    return stretches


def _statistics_in_chunks(values: Values, block_frames: int) -> Iterator[Floats]:
    """`block_statistics` of one stretch, some blocks at a time: what they are computed from stays in the cache."""
    n_frames = values.shape[0] // block_frames * block_frames
    chunk_frames = block_frames * max(1, _CHUNK_VALUES // (block_frames * values.shape[1]))
    for first in range(0, n_frames, chunk_frames):
        before = values[first - 1 : first] if first else None
        yield block_statistics(values[first : min(first + chunk_frames, n_frames)], block_frames, before)


def block_statistics(values: Values, block_frames: int, before: Values | None = None) -> Floats:
    """Mean, deviation and mean change from frame to frame of each channel, (..., n_blocks, 3 n_channels).

    `values` (..., n_frames, n_channels) are one stretch, or windows of the same length; frames after the last whole
    block are left out. `before` (1, n_channels) is the frame before the first, if it belongs to the stretch.
    """
    *leading, n_frames, n_channels = values.shape
    n_blocks = n_frames // block_frames
    shape = (*leading, n_blocks, block_frames, n_channels)
    values = values[..., : n_blocks * block_frames, :]
    blocks = values.reshape(shape)
    change = np.abs(np.diff(values, axis=-2, prepend=values[..., :1, :] if before is None else before)).reshape(shape)
    mean = blocks.mean(axis=-2, dtype=np.float64)  # of equal values exactly that value, so that their deviation is 0
    around = blocks - mean.astype(np.float32)[..., None, :]
    deviation = np.sqrt(np.square(around).mean(axis=-2, dtype=np.float64))
    return np.concatenate([mean, deviation, change.mean(axis=-2, dtype=np.float64)], axis=-1)


def edge_within(summed: Floats, first: int, last: int, before: int, after: int) -> int:
    """The boundary between the neighbours of a run that is absorbed, among the block edges from `first` to `last`."""
    return likeliest_edge(summed, np.arange(first, last + 1), before, after, drawn=(first + last) / 2)


def summed_up(log_density: Floats) -> Floats:
    """Log-density of all blocks before each edge, (n_blocks + 1, n_units), from that of each block."""
    return np.concatenate([np.zeros((1, log_density.shape[1])), np.cumsum(log_density, axis=0)])


def likeliest_edge(summed: Floats, places: Ints, before: int, after: int, drawn: float) -> int:
    """The boundary between two unit codes: of these block edges the one where the blocks of both are likeliest.

    Of equals it is the one nearest to `drawn`, where the windows have it.
    """
    gain = summed[places, before] - summed[places, after]
    best = places[gain == gain.max()]
    return int(best[np.abs(best - drawn).argmin()])


def _gaussians(points: Floats, owners: Ints, first: Ints, n_units: int) -> FittedMixture:
    """A Gaussian for each unit code; a unit left without blocks is described by those it had at `first`."""
    members = [points[owners == k] if (owners == k).any() else points[first == k] for k in range(n_units)]
    n_dims = points.shape[1]
    means = np.stack([own.mean(axis=0) if len(own) else points.mean(axis=0) for own in members])
    scatters = np.stack([(own - mean).T @ (own - mean) for own, mean in zip(members, means, strict=True)])
    floor = _LEAST_VARIANCE * max(float(points.var(axis=0).mean()), np.finfo(float).tiny) * np.eye(n_dims)
    common = scatters.sum(axis=0) / len(points)
    counts = np.array([len(own) for own in members], dtype=np.float64)
    worth = _PRIOR_BLOCKS * n_dims
    covariances = (scatters + worth * common) / (counts + worth)[:, None, None] + floor
    roots = np.linalg.inv(np.linalg.cholesky(covariances)).transpose(0, 2, 1)
    constants = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1)
    return FittedMixture(counts / len(points), means, np.ascontiguousarray(roots), constants)
