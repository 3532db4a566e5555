"""Planted streams: recordings whose units, motifs and times of first appearance are known.

A stream is background and motif occurrences in turn; an occurrence is a sequence of unit instances that
follows the motif's grammar. Neighbours are cross-faded; then the subject's style, slow drift and sensor noise
are laid over the whole, and gaps are cut. The units, the grammars and all the rest come from one seed:
another seed is another problem, the same seed the same bytes. Truth is plain arrays, OTHER in the background.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.signal import lfilter

from rondo.arrays import Ints
from rondo.data.labels import OTHER, Labels, from_runs
from rondo.data.recording import Recording, Values
from rondo.synthetic.motifs import PlantedMotif, draw_motifs, write_programme
from rondo.synthetic.plan import STANDARD, StreamPlan, refuse
from rondo.synthetic.units import PlantedUnit, draw_instances, draw_units, rest

_NOISE_MEMORY_S = 0.5  # of half of the sensor noise; ours, not measured


class PlantedOccurrence(NamedTuple):
    """A motif on the frames [start, stop), and the units that performed it; unit i begins at unit_starts[i].

    Missing rows may have swallowed frames of it: a unit wholly inside them has an empty span.
    """

    motif: int
    start: int
    stop: int
    units: tuple[int, ...]
    unit_starts: tuple[int, ...]


class Silence(NamedTuple):
    """The frames [start, stop) on which these channels are NaN."""

    start: int
    stop: int
    channels: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class PlantedStream:
    """A recording with its truth.

    Parameters
    ----------
    plan : StreamPlan
        What was planted, and how it varies.
    recording : Recording
        The recording.
    unit_truth : array of int32
        The unit of each frame; OTHER in the background.
    motif_truth : array of int32
        The motif of each frame; OTHER in the background.
    units : tuple of PlantedUnit
        The units, which all subjects share.
    motifs : tuple of PlantedMotif
        The motifs of this subject.
    occurrences : tuple of PlantedOccurrence
        Every occurrence of a motif.
    one_offs : tuple of (int, int)
        Frame spans of events that happen once, in the background.
    silences : tuple of Silence
        Frame spans in which channels are NaN.
    jumps : tuple of int
        The first frame after each stretch of missing rows.
    """

    plan: StreamPlan
    recording: Recording
    unit_truth: Labels
    motif_truth: Labels
    units: tuple[PlantedUnit, ...]
    motifs: tuple[PlantedMotif, ...]
    occurrences: tuple[PlantedOccurrence, ...]
    one_offs: tuple[tuple[int, int], ...]
    silences: tuple[Silence, ...]
    jumps: tuple[int, ...]

    @cached_property
    def unit_first_seen(self) -> dict[int, int]:
        """The first frame of each unit that occurs."""
        return _first_frames(self.unit_truth)

    @cached_property
    def motif_first_seen(self) -> dict[int, int]:
        """The first frame of each motif that occurs."""
        return _first_frames(self.motif_truth)

    def describe(self) -> str:
        """Describe units and grammars as text, one per line; {1,2} are repeats, [ ] is optional.

        Returns
        -------
        str
            The text.
        """
        return "\n".join(str(entry) for entry in (*self.units, *self.motifs))


def plant(plan: StreamPlan = STANDARD, *, n_frames: int = 30_000, seed: int = 0) -> PlantedStream:
    """Make one planted stream, of one subject.

    Parameters
    ----------
    plan : StreamPlan
        How many units, motifs and channels there are, and how they vary.
    n_frames : int
        Number of frames.
    seed : int
        The same seed gives the same bytes, another seed another problem.

    Returns
    -------
    PlantedStream
        The recording with its truth.

    Raises
    ------
    SettingError
        If a number is out of range.

    Examples
    --------
    >>> stream = plant(n_frames=3_000, seed=3)
    >>> stream.recording
    Recording('planted3-subject0', 3000 frames x 6 channels, 50 Hz)
    >>> first = stream.occurrences[0]
    >>> set(stream.motif_truth[first.start : first.stop].tolist()) == {first.motif}
    True
    """
    return plant_subjects(plan, 1, n_frames=n_frames, seed=seed)[0]


def plant_subjects(
    plan: StreamPlan = STANDARD, n_subjects: int = 3, *, n_frames: int = 30_000, seed: int = 0
) -> list[PlantedStream]:
    """Make streams of subjects that share all units and no motif, each with its own gain and offset per channel.

    The first k of n subjects are the same for every n. Motif ids are unique over the subjects.

    Parameters
    ----------
    plan : StreamPlan
        How many units, motifs and channels there are, and how they vary.
    n_subjects : int
        Number of streams.
    n_frames : int
        Number of frames of each.
    seed : int
        The same seed gives the same bytes.

    Returns
    -------
    list of PlantedStream
        One stream for each subject.

    Raises
    ------
    SettingError
        If a number is out of range.

    Examples
    --------
    >>> [stream.recording.id for stream in plant_subjects(n_subjects=2, n_frames=1_000, seed=3)]
    ['planted3-subject0', 'planted3-subject1']
    """
    refuse(n_subjects < 1, "n_subjects", "at least 1", n_subjects)
    refuse(n_frames < 1, "n_frames", "at least 1", n_frames)
    refuse(seed < 0, "seed", "at least 0", seed)
    unit_rng, *subject_rngs = np.random.default_rng(seed).spawn(1 + n_subjects)
    n_shapes = plan.n_units + n_subjects * plan.n_one_offs
    shapes = draw_units(n_shapes, plan.n_channels, plan.unit_s, unit_rng)
    units, one_offs = shapes[: plan.n_units], shapes[plan.n_units :]
    streams: list[PlantedStream] = []
    taken: frozenset[tuple[int, ...]] = frozenset()
    for subject, rng in enumerate(subject_rngs):
        motifs = draw_motifs(plan.stages, subject * plan.n_motifs, taken, rng, plan.form)
        taken = taken.union(*(motif.orders for stage in motifs for motif in stage))
        shown = units + one_offs[subject * plan.n_one_offs :][: plan.n_one_offs]
        streams.append(_stream(f"planted{seed}-subject{subject}", plan, shown, motifs, n_frames, rng))
    return streams


def structureless(n_frames: int = 30_000, n_channels: int = 6, rate: float = 50.0, seed: int = 0) -> Recording:
    """Make autocorrelated noise of unit variance in which nothing recurs: one AR(1) process per channel.

    Parameters
    ----------
    n_frames : int
        Number of frames.
    n_channels : int
        Number of channels.
    rate : float
        Frames per second.
    seed : int
        The same seed gives the same bytes.

    Returns
    -------
    Recording
        The noise.

    Raises
    ------
    SettingError
        If a number is out of range.

    Examples
    --------
    >>> structureless(n_frames=100, n_channels=2)
    Recording('structureless0', 100 frames x 2 channels, 50 Hz)
    """
    refuse(min(n_frames, n_channels) < 1, "n_frames and n_channels", "at least 1", (n_frames, n_channels))
    refuse(not 0 < rate < np.inf, "rate", "a positive number of Hz", rate)
    refuse(seed < 0, "seed", "at least 0", seed)
    rng = np.random.default_rng(seed)
    values = np.empty((n_frames, n_channels), dtype=np.float32)
    for channel in range(n_channels):
        memory_s = np.exp(rng.uniform(*np.log([0.1, 2.0])))
        values[:, channel] = _autoregressive(n_frames, memory_s * rate, rng)
    return Recording(values, rate=rate, id=f"structureless{seed}")


def _stream(
    id: str,
    plan: StreamPlan,
    shapes: Sequence[PlantedUnit],
    motifs: list[list[PlantedMotif]],
    n_frames: int,
    rng: np.random.Generator,
) -> PlantedStream:
    """Write the programme, draw it, dress it, cut the gaps; rows that will be missing are drawn on top."""
    holes = _place_gaps(plan.gaps.n_missing, plan, n_frames, rng, inserted=True)
    n_drawn = n_frames + sum(stop - start for start, stop in holes)
    starts = [0, *(int(np.ceil(new.at * n_drawn)) for new in plan.novelty)]
    unit_frames = [_in_frames(unit.duration_s, plan.rate) for unit in shapes[: plan.n_units]]
    arrivals = list(zip(starts, motifs, strict=True))
    programme = write_programme(arrivals, unit_frames, _in_frames(plan.background_s, plan.rate), n_drawn, rng)
    between = np.flatnonzero(programme.units == OTHER)[1:-1]  # rests between two motifs
    expected = f"at most {between.size} in so short a stream"
    refuse(between.size < plan.n_one_offs, "n_one_offs", expected, plan.n_one_offs)
    one_offs = [int(place) for place in rng.permutation(between)[: plan.n_one_offs]]
    shown = [rest(plan.n_channels) if unit == OTHER else shapes[unit] for unit in programme.units]
    for place, shape in zip(one_offs, shapes[plan.n_units :], strict=True):
        shown[place] = shape
    values = draw_instances(shown, programme.edges, plan.rate, plan.variation, rng)
    _dress(values, plan, rng)
    timestamps_s = None
    if holes:
        frames = np.delete(np.arange(n_drawn), np.concatenate([np.arange(*hole) for hole in holes]))
        values, timestamps_s = values[frames], frames / plan.rate
    silences = []
    for start, stop in _place_gaps(plan.gaps.n_silent, plan, len(values), rng, inserted=False):
        everywhere = rng.random() < 0.5
        channels = range(plan.n_channels) if everywhere else [int(rng.integers(plan.n_channels))]
        values[start:stop, list(channels)] = np.nan
        silences.append(Silence(start, stop, tuple(channels)))
    edges = _without(holes, programme.edges)
    occurrences = tuple(
        PlantedOccurrence(
            motif=motif,
            start=int(edges[instances.start]),
            stop=int(edges[instances.stop]),
            units=tuple(programme.units[instances].tolist()),
            unit_starts=tuple(edges[instances].tolist()),
        )
        for motif, instances in programme.played
    )
    firsts, pasts, ids = np.array([(o.start, o.stop, o.motif) for o in occurrences], dtype=int).reshape(-1, 3).T
    unit_truth = from_runs(edges[:-1], edges[1:], programme.units, n_frames)
    motif_truth = from_runs(firsts, pasts, ids, n_frames)
    unit_truth.flags.writeable = motif_truth.flags.writeable = False
    return PlantedStream(
        plan=plan,
        recording=Recording(values, rate=plan.rate, id=id, timestamps_s=timestamps_s),
        unit_truth=unit_truth,
        motif_truth=motif_truth,
        units=tuple(shapes[: plan.n_units]),
        motifs=tuple(motif for stage in motifs for motif in stage),
        occurrences=occurrences,
        one_offs=tuple((int(edges[place]), int(edges[place + 1])) for place in one_offs),
        silences=tuple(silences),
        jumps=tuple(_without(holes, np.array([stop for _, stop in holes], dtype=np.int64)).tolist()),
    )


def _dress(values: Values, plan: StreamPlan, rng: np.random.Generator) -> None:
    """Lay style, drift and noise over the clean values, in place, channel by channel to stay small in memory.

    x <- g exp(0.3 d c(t)) x + o + d c'(t) + noise, with gain g and offset o of the subject, drift d and slow
    curves c and c'. Half of the noise's variance is white, half has a memory of half a second.
    """
    n_frames = len(values)
    for channel in range(plan.n_channels):
        column = values[:, channel]
        column *= np.float32(np.exp(plan.style * rng.standard_normal()))
        column += np.float32(plan.style * rng.standard_normal())
        if plan.drift > 0:
            column *= np.exp(np.float32(0.3 * plan.drift) * _slow_curve(n_frames, rng))
            column += np.float32(plan.drift) * _slow_curve(n_frames, rng)
        share = np.float32(plan.noise * np.sqrt(0.5))
        column += share * rng.standard_normal(n_frames, dtype=np.float32)
        column += share * _autoregressive(n_frames, _NOISE_MEMORY_S * plan.rate, rng)


def _slow_curve(n_frames: int, rng: np.random.Generator) -> Values:
    """A part of a sine, less than one turn over the whole stream, that begins at 0."""
    start, turns = rng.uniform(0, 1), rng.uniform(0.3, 1.0)
    curve = np.sin(2 * np.pi * np.linspace(start, start + turns, n_frames, dtype=np.float32))
    return np.asarray(curve - curve[0], dtype=np.float32)


def _autoregressive(n_frames: int, memory_frames: float, rng: np.random.Generator) -> Values:
    """A stationary AR(1) process of unit variance, its autocorrelation down to 1/e after `memory_frames`."""
    kept = np.exp(-1.0 / memory_frames)
    fresh = rng.standard_normal(n_frames, dtype=np.float32)
    fresh[1:] *= np.float32(np.sqrt(1.0 - kept**2))
    return np.asarray(lfilter([np.float32(1.0)], np.array([1.0, -kept], dtype=np.float32), fresh), dtype=np.float32)


def _place_gaps(
    n_gaps: int, plan: StreamPlan, n_frames: int, rng: np.random.Generator, *, inserted: bool
) -> list[tuple[int, int]]:
    """Spans, one in each of `n_gaps` equal parts of the stream, that never touch each other or its ends.

    Inserted gaps lengthen the stream: `n_frames` frames remain beside them.
    """
    least, most = _in_frames(plan.gaps.seconds, plan.rate)
    lengths = rng.integers(least, most + 1, n_gaps).tolist()
    part = n_frames // max(n_gaps, 1)
    room = part if inserted else part - most
    refuse(n_gaps > 0 and room < 3, "gaps", f"fewer or shorter ones in {n_frames} frames", plan.gaps)
    spans, shift = [], 0
    for i, length in enumerate(lengths):
        start = i * part + shift + int(rng.integers(1, room - 1))
        spans.append((start, start + length))
        shift += length if inserted else 0
    return spans


def _without(holes: Sequence[tuple[int, int]], frames: Ints) -> Ints:
    """The frames as they are counted once the holes are cut out."""
    return frames - sum((np.clip(frames - start, 0, stop - start) for start, stop in holes), np.int64(0))


def _in_frames(seconds: tuple[float, float], rate: float) -> tuple[int, int]:
    return max(1, round(seconds[0] * rate)), max(1, round(seconds[1] * rate))


def _first_frames(truth: Labels) -> dict[int, int]:
    ids, frames = np.unique(truth, return_index=True)
    return {int(id): int(frame) for id, frame in zip(ids, frames, strict=True) if id != OTHER}
