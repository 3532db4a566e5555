"""Find more like one marked span: every place of some recordings, ranked by how much it is like the span, and a cut.

Each channel has two distances: of shapes, the root of one minus the correlation, where deviations have a floor, so that
a channel at rest has no shape; and of levels, between the means. Places are searched at three lengths. A place's
distance is the weighted mean over the channels: all weigh the same at first, then by how much nearer they are at the
three best places than at places in general. The score is one minus the distance as a share of the median place.

Suggested is what ranks before the largest fall of the score (as a share of the score), if nothing that is as like the
span mirrored in time and in values ranks before it: noise is as like the one as like the other. Nothing is random.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import fft
from scipy.ndimage import minimum_filter1d

from rondo.arrays import Floats, Ints
from rondo.data.signal import Signal
from rondo.errors import SettingError

FEWEST_FRAMES = 4  # of a span: fewer have no shape; ours, not measured
# Chosen by F1 on planted streams 0 to 2, half of the series of LAMA and one person of ActRecTut (studies.py find):
LENGTHS = (0.85, 1.0, 1 / 0.85)  # of the span, at which it is looked for (1 alone, 3 and 5 up to 1.25, 7)
_FLOOR = 0.1  # of deviations, in those of the channel in its recording (0.03 to 0.3)
_LEVEL_WEIGHT = 0.2  # of a distance of levels; one of shapes has 1 (0 to 0.3)
_N_BEST = 3  # places that tell which channels count (2, 3, 5)
_LEAST_SCORE = 0.15  # of what is suggested (0.1 to 0.2)
_CLEARLY = 0.95  # of a distance, so that a span that is its own mirror has no rival (0.7 to 1, on noise and rests)
_LEAST_TELLING = 0.01  # a channel always weighs something; ours, not measured
_MOST_SAMPLED = 4096  # places from which the background of a channel is estimated; ours, not measured
_BLOCK_VALUES = 1 << 20  # frames x channels that are transformed at once, 8 MB; chosen by hand for memory


class Alike(NamedTuple):
    """A place [start, stop) of a recording. The score is 1 for the marked span and 0 for any place."""

    recording: str
    start: int
    stop: int
    score: float
    suggested: bool


Profile = tuple[Floats, Ints]  # the distance of every place, inf where none fits, and the length that is nearest


def find_alike(signals: Sequence[Signal], recording: str, start: int, stop: int) -> list[Alike]:
    """The marked frames, which no gap interrupts, then all places that are like them, the most alike first."""
    home = next(one for one in signals if one.id == recording)
    deviations = np.concatenate([home.values[first:past] for first, past in home.spans]).std(axis=0, dtype=np.float64)
    moves = deviations > 0
    if not moves.any():
        raise SettingError(f"'{recording}': no channel changes, so nothing tells one span from another")
    scaled = [replace(one, values=one.values[:, moves] / deviations[moves]) for one in signals]
    signals = sorted(scaled, key=lambda one: one.id)
    query = next(one for one in signals if one.id == recording).values[start:stop].astype(np.float64)
    span, apart = Alike(recording, start, stop, 1.0, True), max(1, len(query) // 2)
    weights = np.repeat([1.0, _LEVEL_WEIGHT], query.shape[1]) / query.shape[1]
    profiles = [_profile(one, query, weights) for one in signals]
    weights = _telling(signals, query, weights, _ranked(signals, profiles, apart, span)[:_N_BEST])
    profiles = [_profile(one, query, weights) for one in signals]
    everywhere = np.concatenate([distances for distances, _ in profiles])
    background = float(np.median(everywhere[np.isfinite(everywhere)])) or 1.0
    ranked = [one._replace(score=1 - one.score / background) for one in _ranked(signals, profiles, apart, span)]
    mirrored = [_profile(one, 2 * query.mean(axis=0) - query[::-1], weights) for one in signals]
    limit = 1 - _best_decoy(profiles, mirrored, apart) / background
    n = n_suggested(np.array([one.score for one in ranked]), limit)
    return [span, *(one._replace(suggested=rank < n, score=max(0.0, one.score)) for rank, one in enumerate(ranked))]


def channel_distances(values: Floats, query: Floats) -> Floats:
    """The distances of shapes in all channels, then those of levels, of every place where the query fits."""
    n_frames, length, centre = len(values), len(query), values.mean(axis=0)
    values, query = values - centre, query - centre
    level, size = query.mean(axis=0), fft.next_fast_len(n_frames, real=True)
    spectra = fft.rfft(values, size, axis=0) * np.conj(fft.rfft(query - level, size, axis=0))
    products = fft.irfft(spectra, size, axis=0)[: n_frames - length + 1] / length
    means, squares = (_running_mean(each, length) for each in (values, values**2))
    variance, own = np.maximum(squares - means**2, 0), query.var(axis=0)
    floored, own_floored = variance + _FLOOR**2, own + _FLOOR**2
    shapes = (own / own_floored + variance / floored) / 2 - products / np.sqrt(own_floored * floored)
    return np.hstack([np.sqrt(np.maximum(shapes, 0)), np.abs(means - level)])


def _running_mean(values: Floats, length: int) -> Floats:
    sums = np.vstack([np.zeros((1, values.shape[1])), values.cumsum(axis=0)])
    return np.asarray((sums[length:] - sums[:-length]) / length)


def stretched(query: Floats, length: int) -> Floats:
    """The query at another number of frames, by straight lines between its own."""
    at = np.linspace(0, len(query) - 1, length)
    return np.stack([np.interp(at, np.arange(len(query)), channel) for channel in query.T], axis=1)


def _blocks(signal: Signal, length: int) -> Iterator[tuple[int, Floats]]:
    """The frames of its spans a part at a time, each with its first frame; every place lies in one part."""
    step = max(4 * length, _BLOCK_VALUES // signal.n_dims)
    for first, stop in signal.spans:
        for start in range(first, stop - length + 1, step):
            yield start, signal.values[start : min(start + step + length - 1, stop)].astype(np.float64)


def _profile(signal: Signal, query: Floats, weights: Floats) -> Profile:
    nearest, lengths = np.full(signal.n_frames, np.inf), np.full(signal.n_frames, len(query))
    for share in LENGTHS:
        length = max(2, round(share * len(query)))
        for start, values in _blocks(signal, length):
            distances = channel_distances(values, stretched(query, length)) @ weights
            nearer = np.flatnonzero(distances < nearest[start : start + distances.size])
            nearest[start + nearer], lengths[start + nearer] = distances[nearer], length
    return nearest, lengths


def _telling(signals: Sequence[Signal], query: Floats, weights: Floats, best: Sequence[Alike]) -> Floats:
    """The weights by how much nearer a channel is at the best places than in general."""
    if not best:
        return weights
    every = -(-sum(one.n_frames for one in signals) // _MOST_SAMPLED)
    blocks = (values for one in signals for _, values in _blocks(one, len(query)))
    sampled = [channel_distances(values, query)[::every] for values in blocks]
    values_of, near = {one.id: one.values for one in signals}, []
    for place in best:
        values = values_of[place.recording][place.start : place.stop].astype(np.float64)
        near.append(channel_distances(values, stretched(query, len(values)))[0])
    background = np.maximum(np.median(np.concatenate(sampled), axis=0), np.finfo(np.float64).tiny)
    told = weights * np.maximum(1 - np.mean(near, axis=0) / background, _LEAST_TELLING)
    return np.asarray(told / told.sum())


def _ranked(signals: Sequence[Signal], profiles: Sequence[Profile], apart: int, span: Alike) -> list[Alike]:
    """Places that are nearer than all around them, but not the span; the score is the distance."""
    found = []
    for one, (distances, lengths) in zip(signals, profiles, strict=True):
        lowest = np.flatnonzero(np.isfinite(distances) & (distances == _least_around(distances, apart)))
        for start in lowest[np.diff(lowest, prepend=-apart) >= apart].tolist():
            stop, distance = start + int(lengths[start]), float(distances[start])
            shared = min(stop, span.stop) - max(start, span.start)
            if one.id != span.recording or 2 * shared < min(stop - start, span.stop - span.start):
                found.append(Alike(one.id, start, stop, distance, False))
    return sorted(found, key=lambda place: (place.score, place.recording, place.start))


def _least_around(distances: Floats, apart: int) -> Floats:
    return np.asarray(minimum_filter1d(distances, 2 * apart - 1, mode="constant", cval=np.inf))


def _best_decoy(profiles: Sequence[Profile], mirrored: Sequence[Profile], apart: int) -> float:
    """The smallest distance to the mirrored span where all around is clearly farther from the span; inf without one."""
    pairs = zip(profiles, mirrored, strict=True)
    wins = [decoy[decoy < _CLEARLY * _least_around(own, apart)] for (own, _), (decoy, _) in pairs]
    return float(np.concatenate(wins).min(initial=np.inf))


def n_suggested(scores: Floats, limit: float) -> int:
    """How many of the ranked scores: up to their largest relative fall, and none that the limit exceeds."""
    n = int((scores > _LEAST_SCORE).sum())
    falls = 1 - np.append(scores, 0.0)[1 : n + 1] / scores[:n]
    return min(int(falls.argmax()) + 1, int((scores > limit).sum())) if n else 0
