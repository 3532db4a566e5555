"""Does a recording come back to where it was more than a structureless one would?

Clustering finds units in any slow signal, noise included. Whether they are more than that is asked of surrogates
(`rondo.evidence.surrogates`) that are as slow, as correlated and have the same values, but in which nothing recurs. The
measure is closeness of the windows' statistics, of at most ten mixtures of channels: its mean over all windows, against
three kinds of surrogates; p is the largest of three. Those of the windows' statistics keep how slowly each statistic
changes. Those of the signal are right for a linear process. Those with the signal's loudness keep in addition how loud
it is for how long. What passes is tested once more without its *common loudness*, signal and surrogates divided by it:
noise that is loud and quiet in all channels at once would pass otherwise. The closeness of a unit is the mean over its
windows to windows of the same unit in another run.

With n surrogates of mean m and deviation s, p = P(t_{n-1} >= (figure - m) / (s sqrt(1 + 1/n))): closeness is a mean
over many windows. A rank among surrogates would need 19 of them for p = 0.05, and could not be corrected for the other
tests. At least five surrogates of a kind are drawn, then more until p is clearly below or above the level: with seven
at most, verdicts depended on the draw. Where most windows lie in spans of less than 60 windows nothing is judged, and p
is NaN: surrogates of short spans are rougher than the signal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtr, ndtri, stdtr

from rondo.arrays import Floats, Ints
from rondo.data.labels import OTHER, Labels
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.encoders.base import Representations
from rondo.evidence.surrogates import LoudnessRandomiser, PhaseRandomiser, evened, window_statistics
from rondo.evidence.verdicts import SIGNIFICANT

_SAME = 1e-3  # windows closer than this share of the median distance are the same (dead sensors, silence)
_ROWS = 128  # of the distances, evenly spread, from which the median is taken


Draw = Callable[[], Representations]


@dataclass(frozen=True, eq=False)
class WindowAxis:
    """Windows whose `places` differ by `apart` share no frame. Closeness is how alike a window is to the most alike one
    with which it shares no frame,

        closeness = -log(distance / median distance between windows)

    in the space of window statistics. Slowness alone raises it in surrogates too, so that it is no finding there.
    """

    spans: tuple[Span, ...]
    places: Ints  # (n_windows,); those of two spans are farther apart than any two of one span
    apart: int

    @classmethod
    def of(cls, windows: Windows) -> WindowAxis:
        grid = windows.grid
        apart = -(-grid.length_frames // grid.step_frames)
        beyond = apart + len(windows)
        places = np.concatenate([np.arange(a, b) + i * beyond for i, (a, b) in enumerate(grid.window_spans)])
        return cls(grid.window_spans, places, apart)

    @cached_property
    def mask(self) -> NDArray[np.float32]:
        """Infinite where two windows share a frame, else 0; (n_windows, n_windows)."""
        near = np.abs(self.places[:, None] - self.places) < self.apart
        return np.where(near, np.float32(np.inf), np.float32(0))

    def closeness(self, statistics: NDArray[np.float32]) -> float:
        """Mean over the windows (n_windows, n_dims) that share no frame with some other; 0 where nothing varies."""
        points = statistics - statistics.mean(axis=0)
        squares = _squared_distances(points, points)
        each = _closeness(points, squares + self.mask, _typical(squares))
        return float(np.nanmean(each)) if np.isfinite(each).any() else 0.0

    def entry_closeness(self, statistics: NDArray[np.float32], labels: Labels) -> dict[int, float]:
        """The same for the windows of each entry, to windows of the same entry in another run."""
        points = statistics - statistics.mean(axis=0)
        typical = _typical(_squared_distances(points[:: -(-len(points) // _ROWS)], points))
        runs = self.runs(labels)
        found: dict[int, float] = {}
        for id in np.unique(labels[labels != OTHER]).tolist():
            own = np.flatnonzero(labels == id)
            squares = _squared_distances(points[own], points[own]) + self.mask[np.ix_(own, own)]
            squares[runs[own][:, None] == runs[own]] = np.inf
            if np.isfinite(squares).any() and typical > 0:
                found[id] = float(np.nanmean(_closeness(points[own], squares, typical)))
        return found

    def runs(self, labels: Labels) -> Ints:
        """The number of the run of each window; a run ends with its span."""
        begins = np.diff(labels, prepend=labels[:1]) != 0
        begins[[start for start, _ in self.spans]] = True
        return np.cumsum(begins)


def _squared_distances(some: NDArray[np.float32], points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Squared Euclidean distances (n_some, n_points), good enough to tell which is least: the product is rounded."""
    products = some @ points.T
    products *= -2
    products += np.square(some).sum(axis=1)[:, None]
    products += np.square(points).sum(axis=1)
    return np.asarray(np.maximum(products, 0, out=products))


def _typical(squares: NDArray[np.float32]) -> float:
    return float(np.median(np.sqrt(squares[:: -(-len(squares) // _ROWS)])))


def _closeness(points: NDArray[np.float32], squares: NDArray[np.float32], typical: float) -> NDArray[np.float64]:
    """Of each row, from its least finite distance, computed again from the points; NaN for rows that have none."""
    found = np.full(len(points), np.nan)
    if typical == 0:
        return found
    nearest = squares.argmin(axis=1)
    compared = np.flatnonzero(np.isfinite(squares[np.arange(len(squares)), nearest]))
    gaps = points[compared].astype(np.float64) - points[nearest[compared]]
    distances = np.sqrt(np.square(gaps).sum(axis=1))
    found[compared] = -np.log(np.maximum(distances / typical, _SAME))
    return found


# Of more windows some are asked about, then evenly spread stretches, so that the cost does not grow with the recording.
_MOST_WINDOWS, _FEWEST_WINDOWS = 800, 300
_MOST_STRETCHES, _SHORTEST_STRETCH = 4, 100  # of each signal; in a short one there is little to be put in another order
_MOST_VALUES = 1_000_000  # in all windows asked about, unless these were too few
_MOST_CHANNELS = 10  # more are mixed to their principal axes: 6 lose half the units of COMPASS, 30 add nothing
_SHORTEST_SPAN = 60  # windows; surrogates of shorter spans are rougher than they, and low-passed noise would pass
_LOUDNESS_WINDOWS = 6  # window lengths over which loudness is taken; fewer claim less in noise, and find less
SHARE_OF_LIKENESS = 0.6  # 3 of the 5 %: few surrogates limit it; chosen by hand, not measured
_LEVEL = SHARE_OF_LIKENESS * SIGNIFICANT
_AT_LEAST = 5  # surrogates of a kind
_UNCLEAR = 0.02  # chance to lie so far from the level by the draw alone; 0.01 to 0.05 give nearly the same verdicts
_LEAST_SPREAD = 1e-9  # surrogates that are all alike would give z = 0/0


class Alike(NamedTuple):
    """p and closeness of the whole, and closeness of each unit that occurs twice in the windows asked about."""

    p: float  # NaN where it cannot be judged
    closeness: float
    by_chance: Mapping[str, Floats]  # closeness of the surrogates of each kind that was drawn
    units: Mapping[int, float]

    def closer(self, id: int) -> float:
        """How much closer an entry is than surrogates of the likest kind; NaN where unknown."""
        by_chance = max((float(figures.mean()) for figures in self.by_chance.values()), default=np.nan)
        return self.units.get(id, np.nan) - by_chance


def alike_test(
    windows: Sequence[Windows], labels: Sequence[Labels], n_surrogates: int, rng: np.random.Generator
) -> Alike:
    """For labels, one array (n_windows,) per signal; the signals share a vocabulary, and windows of a length.

    OTHER is no unit. At most `n_surrogates` of each kind are drawn, and at least five; no more once a kind has failed.
    """
    if n_surrogates < 1:
        raise ValueError(f"expected at least 1 surrogate, got {n_surrogates}")
    asked, own_labels = _asked(windows, labels)
    starts, length = asked.grid.starts, asked.grid.length_frames
    axis, statistics = WindowAxis.of(asked), window_statistics(asked.values, starts, length)
    whole, own = axis.closeness(statistics), axis.entry_closeness(statistics, own_labels)
    if 2 * sum(b - a for a, b in axis.spans if b - a >= _SHORTEST_SPAN) < len(own_labels):
        return Alike(np.nan, whole, {}, own)
    p, by_chance = 0.0, {}
    for kind, draw in _kinds(asked, statistics, axis, rng):
        most = n_surrogates if p <= _LEVEL else _AT_LEAST
        by_chance[kind] = _drawn(draw, axis, whole, min(most, n_surrogates))
        p = max(p, surrogate_p(whole, by_chance[kind]))
        if p > 0.5:
            break  # no kind can make it smaller
    if p <= _LEVEL:
        p = max(p, _evened_p(asked, axis, n_surrogates, rng))
    return Alike(p, whole, by_chance, own)


def _kinds(
    asked: Windows, statistics: Representations, axis: WindowAxis, rng: np.random.Generator
) -> Iterator[tuple[str, Draw]]:
    """Each kind of surrogate, by name, and what draws the statistics of one."""
    values, spans, starts, length = asked.values, asked.grid.spans, asked.grid.starts, asked.grid.length_frames
    yield "statistics", partial(PhaseRandomiser.of(statistics, axis.spans).draw, rng)
    signal = PhaseRandomiser.of(values, spans)
    yield "signal", lambda: window_statistics(signal.draw(rng), starts, length)
    loud = LoudnessRandomiser.of(values, spans, _LOUDNESS_WINDOWS * length)
    yield "loudness", lambda: window_statistics(loud.draw(rng), starts, length)


def _evened_p(asked: Windows, axis: WindowAxis, n_surrogates: int, rng: np.random.Generator) -> float:
    """p of the signal without its common loudness, against surrogates of that, without theirs."""
    spans, starts, length = asked.grid.spans, asked.grid.starts, asked.grid.length_frames
    even = evened(asked.values, spans, length)
    whole, signal = axis.closeness(window_statistics(even, starts, length)), PhaseRandomiser.of(even, spans)

    def draw() -> Representations:
        return window_statistics(evened(signal.draw(rng), spans, length), starts, length)

    return surrogate_p(whole, _drawn(draw, axis, whole, n_surrogates))


def _drawn(draw: Draw, axis: WindowAxis, whole: float, most: int) -> Floats:
    """Closeness of surrogates, until it is clear on which side of the level the whole lies."""
    figures = [axis.closeness(draw()) for _ in range(min(most, _AT_LEAST))]
    while len(figures) < most and not is_clear(whole, np.array(figures), _LEVEL):
        figures.append(axis.closeness(draw()))
    return np.array(figures)


def is_clear(figure: float, by_chance: Floats, level: float) -> bool:
    """Whether a figure at the level would hardly lie so far above or below these surrogates (noncentral t).

    >>> by_chance = np.array([-1.0, 0.0, 1.0, 0.5, -0.5])
    >>> [is_clear(figure, by_chance, 0.05) for figure in (0.1, 2.0, 9.0)]
    [True, False, True]
    """
    root, spread = np.sqrt(by_chance.size), max(float(by_chance.std(ddof=1)), _LEAST_SPREAD)
    distance = max(0.0, (figure - by_chance.mean()) / spread)  # far below zero the function is NaN
    chance = float(nctdtr(by_chance.size - 1, -ndtri(level) * root, distance * root))
    return not _UNCLEAR <= chance <= 1 - _UNCLEAR


def surrogate_p(figure: float, by_chance: Floats) -> float:
    """The chance that one more surrogate reaches the figure, if they vary as these do (Student).

    >>> round(surrogate_p(3.0, np.array([-1.0, 0.0, 1.0, 0.5, -0.5])), 3)
    0.013
    """
    n = by_chance.size
    if n < 2:
        return 1.0
    spread = max(float(by_chance.std(ddof=1)), _LEAST_SPREAD) * np.sqrt(1 + 1 / n)
    return float(stdtr(n - 1, -(figure - by_chance.mean()) / spread))


def _asked(windows: Sequence[Windows], labels: Sequence[Labels]) -> tuple[Windows, Labels]:
    """What is asked about, with its labels: some signals, so that each can be asked in a long stretch, of these sparse
    windows, then parts of each, laid one after the other; their spans stay apart.
    """
    chosen = [i for i, w in enumerate(windows) if len(w)]
    if sum(map(len, windows)) > _MOST_WINDOWS:
        long = [i for i in chosen if len(windows[i]) >= _SHORTEST_SPAN] or chosen
        n_chosen = min(len(long), max(1, _FEWEST_WINDOWS // _SHORTEST_SPAN))
        chosen = [long[int(place)] for place in np.linspace(0, len(long) - 1, n_chosen)]
    reduced = _few_channels([windows[i] for i in chosen])
    every = _spacing([b - a for w in reduced for a, b in w.grid.window_spans], reduced[0].grid)
    sparse = [_every(w, labels[i], every) for w, i in zip(reduced, chosen, strict=True)]
    n_frames, n_windows = reduced[0].grid.length_frames, sum(len(w) for w, _ in sparse)
    most = min(_MOST_WINDOWS, max(_FEWEST_WINDOWS, _MOST_VALUES // (n_frames * reduced[0].n_channels)))
    parts = [_part(w, own, most / max(most, n_windows)) for w, own in sparse]
    grid = sparse[0][0].grid
    offsets = np.cumsum([0, *(len(w.values) for w, _ in parts)]).tolist()
    spans = tuple(
        (a + offset, b + offset) for (w, _), offset in zip(parts, offsets, strict=False) for a, b in w.grid.spans
    )
    values = np.concatenate([w.values for w, _ in parts])
    joined = Windows(values, WindowGrid(grid.length_frames, grid.step_frames, offsets[-1], spans))
    return joined, np.concatenate([own for _, own in parts])


def _spacing(n_windows: Sequence[int], grid: WindowGrid) -> int:
    """Every how many windows to ask about, up to side by side; spans of so many stay long enough to be judged.

    Surrogates of short stretches are rougher than the signal: sparser windows over more of the recording let less noise
    pass than all windows of a few stretches.
    """
    most = min(grid.length_frames // grid.step_frames, -(-sum(n_windows) // _MOST_WINDOWS))
    for every in range(most, 1, -1):
        sparse = [n // every for n in n_windows]
        if 2 * sum(n for n in sparse if n >= _SHORTEST_SPAN) >= sum(sparse):
            return every
    return 1


def _every(windows: Windows, labels: Labels, every: int) -> tuple[Windows, Labels]:
    """Each so many-th window of every span, with its label."""
    if every == 1:
        return windows, labels
    grid = windows.grid
    kept = np.concatenate([np.arange(a, b, every) for a, b in grid.window_spans])
    sparse = WindowGrid(grid.length_frames, every * grid.step_frames, grid.n_frames, grid.spans)
    return Windows(windows.values, sparse), labels[kept]


def _few_channels(windows: Sequence[Windows]) -> list[Windows]:
    """The same windows of the principal axes of their channels, where there are more than ten of them."""
    if windows[0].n_channels <= _MOST_CHANNELS:
        return list(windows)
    n_frames = sum(len(w.values) for w in windows)
    mean = (sum(w.values.sum(axis=0, dtype=np.float64) for w in windows) / n_frames).astype(np.float32)
    centred = [w.values - mean for w in windows]
    scatter = sum(own.T @ own for own in centred)
    axes = np.linalg.eigh(np.asarray(scatter, np.float64))[1][:, ::-1][:, :_MOST_CHANNELS].astype(np.float32)
    return [Windows(own @ axes, w.grid) for own, w in zip(centred, windows, strict=True)]


def _part(windows: Windows, labels: Labels, share: float) -> tuple[Windows, Labels]:
    """Evenly spread stretches of the windows, with their labels, on a grid of their own; all of them for share 1."""
    if share == 1:
        return windows, labels
    grid = windows.grid
    n_asked = int(share * len(windows))
    n_stretches = min(_MOST_STRETCHES, max(1, n_asked // _SHORTEST_STRETCH))
    n_each = max(1, n_asked // n_stretches)
    values, kept, edges = [], [], [0]
    room = len(windows) - n_each
    firsts = np.linspace(0, room, n_stretches) if n_stretches > 1 else np.array([room / 2])  # apart: each window once
    for first in firsts.astype(int).tolist():
        for start, stop in grid.window_spans:
            a, b = max(start, first), min(stop, first + n_each)
            if a < b:
                values.append(windows.values[grid.starts[a] : grid.starts[b - 1] + grid.length_frames])
                kept.append(labels[a:b])
                edges.append(edges[-1] + len(values[-1]))
    own = WindowGrid(grid.length_frames, grid.step_frames, edges[-1], tuple(pairwise(edges)))
    return Windows(np.concatenate(values), own), np.concatenate(kept)
