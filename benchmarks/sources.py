"""Recordings of which it is known what recurs: noises, planted streams, plain cases, public recordings, half noise.

`Case.truth` has a class for every frame of the first recording, in each of its annotations; noise has none. The classes
of the noise in a half-noise recording are NOISE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from guard import Fit, read, recording_ids
from numpy.typing import NDArray
from scipy.signal import butter, lfilter, sosfilt

from rondo import Recording
from rondo.evidence.surrogates import PhaseRandomiser
from rondo.synthetic import StreamPlan, plant

N_CHANNELS, RATE = 6, 50.0
WARM_UP = 3000  # frames that a filter needs to forget that it began at zero
NOISE = "noise"
N_HALF = 20_000  # frames of a public recording that are followed by noise

Floats = NDArray[np.float64]
Noise = Callable[[int, np.random.Generator], Floats]


class Case(NamedTuple):
    """A recording, or several with a common vocabulary, and what is in it."""

    recordings: list[Recording]
    truth: tuple[NDArray[np.generic], ...] = ()
    window: str | None = None


# ---------------------------------------------------------------- noise


def _filtered(filters: list[tuple[list[float], list[float]]], n_frames: int, draw: Callable[[int], Floats]) -> Floats:
    columns = [lfilter(b, a, draw(n_frames + WARM_UP))[WARM_UP:] for b, a in filters]
    return np.stack([column / column.std() for column in columns], axis=1)


def autoregressive(longest: float, draw: Callable[[np.random.Generator, int], Floats]) -> Noise:
    """First-order noise of memories from 5 frames to the longest."""

    def noise(n_frames: int, rng: np.random.Generator) -> Floats:
        memories = np.exp(rng.uniform(*np.log([5, longest]), N_CHANNELS))
        return _filtered([([1.0], [1.0, -np.exp(-1 / m)]) for m in memories], n_frames, lambda n: draw(rng, n))

    return noise


def oscillation(periods: tuple[float, float], memories: tuple[float, float]) -> Noise:
    """Second-order noise that swings."""

    def noise(n_frames: int, rng: np.random.Generator) -> Floats:
        period, kept = rng.uniform(*periods, N_CHANNELS), np.exp(-1 / rng.uniform(*memories, N_CHANNELS))
        poles = zip(period, kept, strict=True)
        filters = [([1.0], [1.0, -2 * k * np.cos(2 * np.pi / t), k * k]) for t, k in poles]
        return _filtered(filters, n_frames, rng.standard_normal)

    return noise


def pink(n_frames: int, rng: np.random.Generator) -> Floats:
    frequency = np.fft.rfftfreq(2 * n_frames)
    frequency[0] = frequency[1]
    spectrum = np.fft.rfft(rng.standard_normal((2 * n_frames, N_CHANNELS)), axis=0) / np.sqrt(frequency)[:, None]
    return np.fft.irfft(spectrum, axis=0)[:n_frames]


def walk(n_frames: int, rng: np.random.Generator) -> Floats:
    return np.cumsum(rng.standard_normal((n_frames, N_CHANNELS)), axis=0)


def smooth_walk(n_frames: int, rng: np.random.Generator) -> Floats:
    steps = rng.standard_normal((n_frames + WARM_UP, N_CHANNELS))
    smooth = sosfilt(butter(2, 0.05, output="sos"), np.cumsum(steps, axis=0), axis=0)[WARM_UP:]
    return smooth / smooth.std(axis=0) + 0.05 * rng.standard_normal(smooth.shape)


def smooth(n_frames: int, rng: np.random.Generator) -> Floats:
    fresh = rng.standard_normal((n_frames + WARM_UP, N_CHANNELS))
    return np.asarray(sosfilt(butter(4, 0.02, output="sos"), fresh, axis=0)[WARM_UP:])


def loud(n_factors: int, memory: float, depth: float) -> Noise:
    """First-order noise, loud and quiet in turn; channels mix the factors of their loudness, or share one."""

    def noise(n_frames: int, rng: np.random.Generator) -> Floats:
        slow = slow_change(n_frames, memory, rng, n_factors)
        mixing = rng.standard_normal((n_factors, N_CHANNELS)) / np.sqrt(n_factors) if n_factors > 1 else np.ones((1, 1))
        return AR1(n_frames, rng) * np.exp(depth * slow @ mixing)

    return noise


def volatile(n_frames: int, rng: np.random.Generator) -> Floats:
    """Noise that is loud after it was loud (GARCH), filtered."""
    variance, before, values = np.ones(N_CHANNELS), np.zeros(N_CHANNELS), np.empty((n_frames + 500, N_CHANNELS))
    for frame, fresh in enumerate(rng.standard_normal(values.shape)):
        variance = 0.01 + 0.08 * before**2 + 0.91 * variance
        values[frame] = before = np.sqrt(variance) * fresh
    return np.asarray(lfilter([1], [1, -0.9], values[500:], axis=0))


def coupled(n_frames: int, rng: np.random.Generator) -> Floats:
    """Channels that drive each other (VAR)."""
    weights = rng.standard_normal((N_CHANNELS, N_CHANNELS))
    weights *= 0.985 / np.abs(np.linalg.eigvals(weights)).max()
    values, fresh = np.zeros((n_frames + 1000, N_CHANNELS)), rng.standard_normal((n_frames + 1000, N_CHANNELS))
    for frame in range(1, len(values)):
        values[frame] = weights @ values[frame - 1] + fresh[frame]
    return values[1000:]


def mixed(noise: Noise) -> Noise:
    def correlated(n_frames: int, rng: np.random.Generator) -> Floats:
        mixing = np.eye(N_CHANNELS) + 0.6 * rng.standard_normal((N_CHANNELS, N_CHANNELS)) / np.sqrt(N_CHANNELS)
        return noise(n_frames, rng) @ mixing

    return correlated


def drifting(n_frames: int, rng: np.random.Generator) -> Floats:
    return AR1(n_frames, rng) + 3 * np.linspace(-1, 1, n_frames)[:, None] * rng.standard_normal(N_CHANNELS)


def one(noise: Noise) -> Noise:
    return lambda n_frames, rng: noise(n_frames, rng)[:, :1]


def slow_change(n_frames: int, memory: float, rng: np.random.Generator, n_channels: int = 1) -> Floats:
    """Of variance 1 (n_frames, n_channels)."""
    kept = np.exp(-1 / memory)
    fresh = rng.standard_normal((n_frames + WARM_UP, n_channels))
    return np.asarray(lfilter([np.sqrt(1 - kept**2)], [1.0, -kept], fresh, axis=0)[WARM_UP:])


AR1, SWINGING, SLOWLY = (
    autoregressive(100, lambda rng, n: rng.standard_normal(n)),
    oscillation((15, 80), (50, 300)),
    oscillation((150, 500), (300, 900)),
)
NOISES: dict[str, Noise] = {
    "white": lambda n, rng: rng.standard_normal((n, N_CHANNELS)),
    "white, heavy tails (t, 2.5)": lambda n, rng: rng.standard_t(2.5, (n, N_CHANNELS)),
    "AR(1)": AR1,
    "AR(1), 1 channel": one(AR1),
    "AR(1), correlated channels": mixed(AR1),
    "AR(1) and drift": lambda n, rng: (
        AR1(n, rng) + 3 * np.linspace(-1, 1, n)[:, None] * rng.standard_normal(N_CHANNELS)
    ),
    "heavy tails (t, 3)": autoregressive(60, lambda rng, n: rng.standard_t(3, n)),
    "skewed (log-normal)": lambda n, rng: np.exp(0.7 * AR1(n, rng)),
    "coupled channels (VAR)": coupled,
    "AR(2) oscillation": SWINGING,
    "AR(2), correlated channels": mixed(SWINGING),
    "slow AR(2)": SLOWLY,
    "slow AR(2), 1 channel": one(SLOWLY),
    "1/f": pink,
    "1/f, 1 channel": one(pink),
    "random walk": walk,
    "random walk, 1 channel": one(walk),
    "random walk, low-passed": smooth_walk,
    "low-passed": smooth,
    "volatile (GARCH)": volatile,
    "wandering loudness": loud(2, 400, 0.5),
    "wandering loudness, common": loud(1, 600, 0.8),
}


def noise_case(name: str, n_frames: int, seed: int, n_files: int = 1) -> Case:
    rng = np.random.default_rng(seed)
    each = [NOISES[name](n_frames, rng).astype(np.float32) for _ in range(n_files)]
    return Case([Recording(values, rate=RATE, id=f"file{i}") for i, values in enumerate(each)])


# ---------------------------------------------------------------- planted streams and plain cases

PLANS = {f"planted, noise {noise:g}": StreamPlan(noise=noise) for noise in (0.15, 0.5, 1.0, 1.5)}
PLANS |= {"planted, drift 1": StreamPlan(drift=1.0), "planted, 2 channels": StreamPlan(n_channels=2)}


def planted_case(name: str, n_frames: int, seed: int) -> Case:
    stream = plant(PLANS[name], n_frames=n_frames, seed=seed)
    return Case([stream.recording], (stream.unit_truth, stream.motif_truth))


def nights(rng: np.random.Generator) -> Case:
    """An actigraph for seven days, one count a minute: sleep at night, and a nap."""
    n_frames, asleep = 7 * 1440, np.zeros(7 * 1440, np.int64)
    for day in range(-1, 8):
        start = day * 1440 + 23 * 60 + rng.normal(0, 25)
        asleep[max(0, int(start)) : max(0, int(start + 8 * 60 + rng.normal(0, 30)))] = 1
    asleep[3 * 1440 + 14 * 60 : 3 * 1440 + 15 * 60 + 20] = 1
    awake = 150 * np.exp(0.8 * slow_change(n_frames, 40, rng)[:, 0]) * rng.gamma(2, 0.5, n_frames)
    twitches = np.where(rng.random(n_frames) < 0.08, rng.gamma(1, 20, n_frames), 0)
    return _case(np.where(asleep, twitches, awake)[:, None], asleep, 1 / 60)


def valve(rng: np.random.Generator) -> Case:
    """Two hours of pressure and flow at a valve that opens nine times."""
    opened, at = np.zeros(7200, np.int64), 200
    for _ in range(9):
        at += int(rng.uniform(300, 500))
        length = int(rng.uniform(120, 300))
        opened[at : at + length] = 1
        at += length
    lagging = lfilter([1 / 8], [1, -7 / 8], opened.astype(float))
    values = lagging[:, None] * [2, -1.5, 0.5] + 0.15 * slow_change(7200, 60, rng, 3)
    return _case(values + 0.1 * rng.standard_normal((7200, 3)), opened, 1.0)


def fault(rng: np.random.Generator) -> Case:
    """A machine in three modes for ten minutes, and a vibration of 6 s that occurs twice (class 3)."""
    n_frames, mode, at, number = 15_000, np.zeros(15_000, np.int64), 0, 0
    while at < n_frames:
        length = int(rng.uniform(250, 700))
        mode[at : at + length] = number % 3
        at, number = at + length, number + 1
    for middle in (0.25, 0.8):
        start = int(middle * n_frames + rng.uniform(-300, 300))
        mode[start : start + 150] = 3
    phase = 2 * np.pi * np.cumsum(np.choose(mode, [1.2, 2.5, 0.5, 6.0])) / 25
    loudness = np.choose(mode, [1, 0.7, 0.4, 2.5])
    values = np.stack([loudness * np.sin(phase + k) for k in range(5)], axis=1)
    return _case(values + 0.3 * rng.standard_normal((n_frames, 5)), mode, 25.0)


def temperature(rng: np.random.Generator) -> Case:
    """A machine's temperature every 5 minutes for 76 days; it is shut down four times, for 12 to 25 h."""
    n_frames, down = 22_000, np.zeros(22_000, np.int64)
    for middle in (0.16, 0.35, 0.62, 0.85):
        start = int(middle * n_frames + rng.uniform(-600, 600))
        down[start : start + int(rng.uniform(150, 300))] = 1
    level = 90 + lfilter([1 / 20], [1, -19 / 20], np.where(down, -65.0, 0.0))
    daily = 3 * np.sin(2 * np.pi * np.arange(n_frames) / 288) + 4 * slow_change(n_frames, 300, rng)[:, 0]
    return _case((level + daily + 1.5 * rng.standard_normal(n_frames))[:, None], down, 1 / 300)


def barbell(rng: np.random.Generator) -> Case:
    """Five sets of eleven repetitions with rest between, 50 Hz; class 1: a set."""
    parts, classes = [], []

    def put(values: Floats, own: int) -> None:
        parts.append(values)
        classes.append(np.full(len(values), own))

    def rest(n: int) -> Floats:
        return [0, 0, 1] + 0.05 * slow_change(n, 30, rng, 3) + 0.03 * rng.standard_normal((n, 3))

    for _ in range(5):
        put(rest(int(rng.uniform(20, 40) * 50)), 0)
        for _ in range(11):
            n = int(rng.normal(2.6, 0.2) * 50)
            t = np.linspace(0, 1, n, endpoint=False)
            up, down = (
                np.where(t < 0.45, np.sin(np.pi * t / 0.45), 0),
                np.where(t < 0.45, 0, np.sin(np.pi * (t - 1) / 0.55)),
            )
            lift = np.stack([0.3 * up, 0.2 * down, 1 + up + 0.6 * down], axis=1) * rng.normal(1, 0.06)
            put(lift + 0.06 * rng.standard_normal((n, 3)), 1)
    put(rest(1500), 0)
    return _case(np.concatenate(parts), np.concatenate(classes), 50.0)


def fridge(rng: np.random.Generator) -> Case:
    """A day at one value a minute: nine or ten cycles of about half an hour, 150 min apart, and other appliances."""
    n_frames, at = 1440, int(rng.integers(0, 100))
    power = 0.1 * lfilter([0.44], [1.0, -0.9], rng.standard_normal(n_frames)) + 0.05 * rng.standard_normal(n_frames)
    while at < n_frames:
        power[at : at + rng.integers(29, 39)] += 1.0
        at += int(rng.normal(150, 6))
    for start in rng.integers(0, n_frames - 60, rng.poisson(4)):
        power[start : start + rng.integers(5, 60)] += rng.uniform(0.5, 2.5)
    return _case(power[:, None], (power > 0.6).astype(np.int64), 1 / 60)._replace(window="20min")


def engines(rng: np.random.Generator) -> Case:
    """30 files, each from start to failure; degradation begins at a random time of life."""
    direction, files = rng.standard_normal(8), []
    for i in range(30):
        n_frames = int(rng.integers(130, 300))
        begins = int(rng.uniform(0.4, 0.75) * n_frames)
        worn = np.clip((np.arange(n_frames) - begins) / (n_frames - begins), 0, 1) ** 1.5
        values = rng.standard_normal((n_frames, 8)) + 4 * worn[:, None] * direction
        files.append(Recording(values.astype(np.float32), rate=1.0, id=f"engine{i}"))
    return Case(files)


def wrist(rng: np.random.Generator) -> Case:
    """A gesture of 1.5 to 4 s, 240 times, with rest of 1.5 to 8 s between, 20 Hz."""
    parts, classes = [], []
    for _ in range(240):
        n_rest, n_own = int(rng.uniform(30, 160)), int(rng.uniform(30, 80))
        slow = lfilter([0.31], [1.0, -0.95], rng.standard_normal(n_rest))
        parts.append(0.3 * slow[:, None] + 0.1 * rng.standard_normal((n_rest, 3)) + [0, 0, 1])
        turn = 2 * np.pi * 1.8 * np.arange(n_own) / 20
        shape = np.stack([np.sin(turn), 0.6 * np.sin(turn + 1), 1 + 0.4 * np.sin(2 * turn)], axis=1)
        parts.append(shape * rng.uniform(0.7, 1.3) + 0.25 * rng.standard_normal((n_own, 3)))
        classes += [0] * n_rest + [1] * n_own
    return _case(np.concatenate(parts), np.array(classes), 20.0)


def _case(values: Floats, classes: NDArray[np.int64], rate: float) -> Case:
    return Case([Recording(values.astype(np.float32), rate=rate)], (classes,))


PLAIN: dict[str, Callable[[np.random.Generator], Case]] = {
    "seven nights and a nap": nights,
    "a valve, open 9 times": valve,
    "a fault that occurs twice": fault,
    "barbell repetitions": barbell,
    "machine temperature, 4 shutdowns": temperature,
    "fridge": fridge,
    "engines": engines,
    "wrist": wrist,
}

# ---------------------------------------------------------------- public recordings

CHOSE = {  # how many recordings of each set were in view when the constants of the grades were chosen
    "MoCap": 5,
    "HuGaDB": 1,
    "PTE": 4,
    "COMPASS_Suturing": 5,
    "USC-HAD": 3,
    "OpenPack": 2,
    "ActRecTut": 3,
    "Billboard": 6,
    "MoCap6": 4,
    "TSSB": 16,
}


def ids_of(data: Path, name: str, *, held_out: bool) -> list[str]:
    """The recordings of a set that chose constants, evenly spread, or the others."""
    ids = recording_ids(data, name)
    chose = {ids[int(place)] for place in np.linspace(0, len(ids) - 1, CHOSE[name])}
    return [id for id in ids if (id not in chose) == held_out]


def public_case(data: Path, name: str, id: str) -> Case:
    recording, annotations = read(data, Fit(name, id, 0))
    return Case([recording], tuple(annotations.values()))


def half_noise(data: Path, *, held_out: bool, n_each: int) -> Iterator[Case]:
    """Recordings of five sets and planted streams, each followed by its own phase-randomised surrogate."""
    for name in ("MoCap", "PTE", "COMPASS_Suturing", "HuGaDB", "Billboard"):
        for id in ids_of(data, name, held_out=held_out)[:n_each]:
            yield followed_by_noise(public_case(data, name, id))
    for seed in range(n_each):
        yield followed_by_noise(planted_case("planted, noise 0.15", 6_000, (600 if held_out else 100) + seed))


def followed_by_noise(case: Case) -> Case:
    (recording,) = case.recordings
    values = np.asarray(recording.values[:N_HALF], np.float32)
    surrogate = PhaseRandomiser.of(values, ((0, len(values)),)).draw(np.random.default_rng(5))
    noise = np.full(len(values), NOISE)
    truth = tuple(np.concatenate([track[: len(values)].astype(str), noise]) for track in case.truth)
    return Case([Recording(np.concatenate([values, surrogate]), rate=recording.rate)], truth)


# ---------------------------------------------------------------- gestures between rests


class Movement:
    """Sines of their own pitch in each channel, which swell and fade."""

    def __init__(self, rng: np.random.Generator, n_channels: int) -> None:
        self.pitch, self.phase = rng.uniform(0.6, 2.4, n_channels), rng.uniform(0, 2 * np.pi, n_channels)
        self.size, self.level = rng.normal(size=n_channels), rng.normal(0, 0.7, n_channels)
        self.seconds = rng.uniform(0.9, 2.6)

    def drawn(self, rng: np.random.Generator) -> Floats:
        stretch = rng.uniform(0.9, 1.1)
        t = np.arange(int(self.seconds * stretch * RATE)) / RATE / stretch
        swell = np.sqrt(np.sin(np.pi * np.linspace(0, 1, t.size)))
        return (self.size * np.sin(2 * np.pi * self.pitch * t[:, None] + self.phase) + self.level) * swell[:, None]


def gestures(
    seed: int, n_gestures: int, n_movements: int, *, noise: float = 0.08, rest_s: tuple[float, float] = (1.5, 3.5),
    n_channels: int = N_CHANNELS,
) -> tuple[Floats, NDArray[np.int64]]:  # fmt: skip
    """Five minutes of gestures of their own movements in any order, rests between; what is done in each frame."""
    rng = np.random.default_rng(seed)
    each = [[Movement(rng, n_channels) for _ in range(n_movements)] for _ in range(n_gestures)]
    parts: list[Floats] = []
    truth: list[int] = []
    while len(truth) < 300 * RATE:
        gesture = int(rng.integers(n_gestures))
        done = [movement.drawn(rng) for movement in each[gesture]]
        rest = np.zeros((int(rng.uniform(*rest_s) * RATE), n_channels))
        truth += [gesture + 1] * sum(map(len, done)) + [0] * len(rest)
        parts += [*done, rest]
    values = np.concatenate(parts)
    return values + rng.normal(0, noise, values.shape), np.array(truth)
