"""Planted units: families of shapes over several channels, drawn at random but distinguishable in principle.

A unit is a level per channel plus a waveform per channel over one phase axis. Four kinds differ only in how
these are drawn: an *oscillation* and a *burst* run through their waveform again and again, a *transient* once
from its first frame to its last, a *posture* has a level only. Instances of one unit vary in amplitude,
duration, tempo, phase and level (`Variation`); sensor noise and drift belong to the stream, not to the unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Values
from rondo.errors import SettingError

N_PHASES = 256  # rows of a waveform table, less one; linear interpolation between them is off by less than 0.1 %
SEPARATION = 0.45  # least distance of two unit signatures; sensor noise and an instance's level jitter are 0.1 each
CROSSFADE_S = 0.2  # ours, not measured
_N_TRIES = 500  # of a unit that can be told from the others, before the plan is refused
_SIGNATURE_RATE = 50  # Hz; signatures compare shapes, so they do not depend on the rate of the stream


class Variation(NamedTuple):
    """How one instance departs from its unit: the nominal instance is `NOMINAL`."""

    amplitude: float = 1.0
    tempo: float = 1.0
    phase: float = 0.0
    warp: float = 0.0
    level: Values | float = 0.0


NOMINAL = Variation()


@dataclass(frozen=True, eq=False)
class PlantedUnit:
    """A family of shapes: `level` (n_channels,) and `waveform` (N_PHASES + 1, n_channels) in float32.

    `cycle_hz` says how often the waveform passes per second; 0 means that it passes once per instance.
    """

    id: int
    kind: str
    level: Values
    waveform: Values
    cycle_hz: float
    duration_s: tuple[float, float]

    def __post_init__(self) -> None:
        self.level.flags.writeable = False
        self.waveform.flags.writeable = False

    def trace(self, position: Values, seconds: float, variation: Variation = NOMINAL) -> Values:
        """An instance's values (n_frames, n_channels) at positions 0 (its start) to 1 (its stop).

        The position is warped to p + w sin(2 pi p) / (2 pi), |w| < 1, which keeps its order and its two ends.
        Positions outside [0, 1] go on smoothly, so that neighbouring instances can be cross-faded.
        """
        warped = position + variation.warp / (2 * np.pi) * np.sin(2 * np.pi * position)
        if self.cycle_hz > 0:
            phase = (variation.phase + self.cycle_hz * variation.tempo * seconds * warped) % 1.0
        else:
            phase = np.clip(warped, 0.0, 1.0)
        row = phase * N_PHASES
        below = np.minimum(row.astype(np.intp), N_PHASES - 1)
        share = (row - below).astype(np.float32)[:, None]
        left = self.waveform[below]
        shape = left + share * (self.waveform[below + 1] - left)
        shape *= np.float32(variation.amplitude)
        shape += self.level + variation.level
        return np.asarray(shape, dtype=np.float32)

    def __str__(self) -> str:
        tempo = f" at {self.cycle_hz:.2g} Hz" if self.cycle_hz > 0 else ""
        return f"u{self.id} = {self.kind}{tempo}, {self.duration_s[0]:.1f} to {self.duration_s[1]:.1f} s"


def draw_instances(
    shapes: Sequence[PlantedUnit],
    edges: NDArray[np.int64],
    rate: float,
    amount: float,
    rng: np.random.Generator,
) -> Values:
    """Instances in a row, shapes[i] on the frames [edges[i], edges[i + 1]): values (n_frames, n_channels).

    Each instance departs from its unit at random, `amount` times the usual. Neighbours are cross-faded around
    their common edge by a raised cosine, so that an edge is no more of a jump than a quick movement is.
    """
    n_instances, n_channels = len(shapes), shapes[0].level.size
    amplitude = np.exp(0.15 * amount * rng.standard_normal(n_instances))
    tempo = np.exp(0.08 * amount * rng.standard_normal(n_instances))
    warp = np.clip(0.2 * amount * rng.standard_normal(n_instances), -0.9, 0.9)
    phase = rng.uniform(0, 1, n_instances)
    level = (0.1 * amount * rng.standard_normal((n_instances, n_channels))).astype(np.float32)
    half = round(CROSSFADE_S * rate / 2)
    fade = (0.5 - 0.5 * np.cos(np.pi * (np.arange(2 * half) + 0.5) / (2 * half))).astype(np.float32)[:, None]
    values = np.zeros((int(edges[-1]), n_channels), dtype=np.float32)
    for i, (shape, start, stop) in enumerate(zip(shapes, edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        first, last = max(start - half, 0), min(stop + half, len(values))
        position = (np.arange(first - start, last - start, dtype=np.float32) + 0.5) / (stop - start)
        variation = Variation(amplitude[i], tempo[i], phase[i], warp[i], level[i])
        trace = shape.trace(position, (stop - start) / rate, variation)
        if start > 0:
            trace[: 2 * half] *= fade
        if stop < len(values):
            trace[-2 * half :] *= fade[::-1]
        values[first:last] += trace
    return values


def rest(n_channels: int) -> PlantedUnit:
    """The quiet background: level 0 on every channel."""
    quiet = np.zeros((N_PHASES + 1, n_channels), dtype=np.float32)
    return PlantedUnit(-1, "rest", quiet[0], quiet, 0.0, (1.0, 1.0))


def draw_units(
    n_units: int, n_channels: int, duration_s: tuple[float, float], rng: np.random.Generator
) -> list[PlantedUnit]:
    """Units with ids 0, 1, … whose kinds take turns, each `SEPARATION` away from the others and from rest.

    The first k of n units are the same for every n, so adding a unit to a plan leaves the others as they are.
    """
    units: list[PlantedUnit] = []
    signatures = [signature(rest(n_channels))]
    kinds = list(_KINDS)
    rng.shuffle(kinds)
    for unit_id in range(n_units):
        for _ in range(_N_TRIES):
            kind = kinds[unit_id % len(kinds)]
            level, waveform, cycle_hz = _KINDS[kind](n_channels, rng)
            typical_s = rng.uniform(*duration_s)
            lasts_s = (max(duration_s[0], 0.75 * typical_s), min(duration_s[1], 1.25 * typical_s))
            shape = (level.astype(np.float32), waveform.astype(np.float32))
            unit = PlantedUnit(unit_id, kind, *shape, cycle_hz, lasts_s)
            candidate = signature(unit)
            if min(signature_distance(candidate, other) for other in signatures) >= SEPARATION:
                break
        else:
            raise SettingError(
                f"planted stream: found no {n_units} units that can be told apart on {n_channels} channels "
                f"(stopped at {unit_id}); plan fewer units or more channels"
            )
        units.append(unit)
        signatures.append(candidate)
    return units


def signature(unit: PlantedUnit) -> Values:
    """Mean, spread and mean absolute change over 0.1 s of the nominal instance; (n_channels, 3)."""
    seconds = sum(unit.duration_s) / 2
    n_frames = round(seconds * _SIGNATURE_RATE)
    values = unit.trace(np.linspace(0.0, 1.0, n_frames, dtype=np.float32), seconds)
    lag = _SIGNATURE_RATE // 10
    change = np.abs(values[lag:] - values[:-lag]).mean(axis=0)
    return np.stack([values.mean(axis=0), values.std(axis=0), change], axis=1)


def signature_distance(one: Values, other: Values) -> float:
    """Euclidean over the three statistics, root mean square over the channels."""
    return float(np.sqrt(np.square(one - other).sum(axis=1).mean()))


Matrix = NDArray[np.float64]
_Family = tuple[Matrix, Matrix, float]  # level, waveform, cycles per second
_PHASES = np.linspace(0.0, 1.0, N_PHASES + 1)[:, None]


def _draw_oscillation(n_channels: int, rng: np.random.Generator) -> _Family:
    """sum_h a_hc cos(2 pi (h phase + psi_hc)), h = 1, 2, 3, the higher harmonics weaker."""
    waveform = np.zeros((N_PHASES + 1, n_channels))
    amplitude = _draw_amplitudes(n_channels, (0.5, 1.3), rng)
    for harmonic, strength in ((1, 1.0), (2, 0.4), (3, 0.2)):
        psi = rng.uniform(0, 1, n_channels)
        share = strength * (1.0 if harmonic == 1 else rng.uniform(0, 1, n_channels))
        waveform += amplitude * share * np.cos(2 * np.pi * (harmonic * _PHASES + psi))
    return rng.uniform(-0.6, 0.6, n_channels), waveform, float(np.exp(rng.uniform(*np.log([0.6, 3.0]))))


def _draw_burst(n_channels: int, rng: np.random.Generator) -> _Family:
    """One short ringing pulse per cycle, reaching the channels one shortly after the other."""
    cycle_hz = rng.uniform(1.5, 3.0)
    width = cycle_hz * rng.uniform(0.04, 0.07)  # a pulse lasts as long whether it comes often or seldom
    distance = _PHASES - rng.uniform(0.35, 0.65, n_channels)
    ringing = np.cos(2 * np.pi * rng.uniform(0.0, 0.4) * distance / width)
    pulse = np.exp(-np.square(distance / width)) * ringing
    amplitude = _draw_amplitudes(n_channels, (1.2, 2.8), rng) * _draw_signs(n_channels, rng)
    return rng.uniform(-0.6, 0.6, n_channels), amplitude * pulse, cycle_hz


def _draw_posture(n_channels: int, rng: np.random.Generator) -> _Family:
    return rng.uniform(-1.6, 1.6, n_channels), np.zeros((N_PHASES + 1, n_channels)), 0.0


def _draw_transient(n_channels: int, rng: np.random.Generator) -> _Family:
    """A ramp from one level to another, with a bump on the way."""
    ramp = np.tanh((_PHASES - rng.uniform(0.3, 0.7, n_channels)) / rng.uniform(0.25, 0.4))
    bump = np.exp(-np.square((_PHASES - rng.uniform(0.3, 0.7, n_channels)) / rng.uniform(0.15, 0.25)))
    reach = _draw_amplitudes(n_channels, (0.6, 1.4), rng) * _draw_signs(n_channels, rng)
    height = _draw_amplitudes(n_channels, (0.4, 1.0), rng) * _draw_signs(n_channels, rng)
    return rng.uniform(-0.6, 0.6, n_channels), reach * ramp + height * bump, 0.0


_KINDS: dict[str, Callable[[int, np.random.Generator], _Family]] = {
    "oscillation": _draw_oscillation,
    "burst": _draw_burst,
    "posture": _draw_posture,
    "transient": _draw_transient,
}


def _draw_amplitudes(n_channels: int, amplitude: tuple[float, float], rng: np.random.Generator) -> Matrix:
    """A unit moves at least half of the channels; the others hardly take part."""
    n_idle = rng.integers(0, n_channels // 2 + 1)
    activity = np.ones(n_channels)
    activity[rng.permutation(n_channels)[:n_idle]] = 0.1
    return activity * rng.uniform(*amplitude, n_channels)


def _draw_signs(n_channels: int, rng: np.random.Generator) -> Matrix:
    return rng.choice([-1.0, 1.0], n_channels)
