"""How far the evidence of recurrence can be trusted: claims on noise, where all are false, and on planted streams.

    python benchmarks/evidence_quality.py noise [n_seeds] [n_frames]
    python benchmarks/evidence_quality.py planted [n_seeds] [n_frames]
    python benchmarks/evidence_quality.py recordings DATA SET...
    python benchmarks/evidence_quality.py motifs [n_seeds] [n_frames]
    python benchmarks/evidence_quality.py phrases [n_seeds] [n_frames]

`claimed` is the share of streams with p <= 0.05, `units claimed` the share of streams with at least one unit that
'recurs'. Gaussian noises are what the surrogates stand for; the noises after them are not, and show what happens then.
DATA holds a folder of .npz recordings (`X`) per set; annotations are not read. `motifs` asks about motifs of several
units: those found in planted streams, and every phrase that recurs in the same unit runs without their order. `phrases`
counts the streams of noise in which a fit claims any phrase.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # set before numpy and torch are loaded

import numpy as np
from numpy.typing import NDArray
from scipy.signal import butter, lfilter, sosfilt

from rondo import Rondo
from rondo.data.recording import Recording
from rondo.evidence.composition import composition_evidence, phrase_book
from rondo.evidence.signal import signal_evidence, unit_labels
from rondo.evidence.verdicts import EntryEvidence, Evidence
from rondo.motifs.model import UnitRuns
from rondo.motifs.shuffling import Sequences
from rondo.synthetic import StreamPlan, plant

N_SURROGATES, N_CHANNELS, RATE = 19, 6, 50.0
WARM_UP = 3000  # frames that a filter needs to forget that it began at zero
WINDOWS = {"MoCap": (256, 50), "ActRecTut": (90, 30), "OpenPack": (90, 30), "HuGaDB": (90, 30), "USC-HAD": (150, 37)}

Floats = NDArray[np.float64]
Noise = Callable[[int, np.random.Generator], Floats]


def ar1(n_frames: int, rng: np.random.Generator) -> Floats:
    memories = np.exp(rng.uniform(*np.log([5, 100]), N_CHANNELS))
    return _filtered([([1.0], [1.0, -np.exp(-1 / m)]) for m in memories], n_frames, rng.standard_normal)


def oscillation(n_frames: int, rng: np.random.Generator) -> Floats:
    periods, memories = rng.uniform(15, 80, N_CHANNELS), rng.uniform(50, 300, N_CHANNELS)
    kept = np.exp(-1 / memories)
    poles = zip(periods, kept, strict=True)
    filters = [([1.0], [1.0, -2 * k * np.cos(2 * np.pi / t), k * k]) for t, k in poles]
    return _filtered(filters, n_frames, rng.standard_normal)


def pink(n_frames: int, rng: np.random.Generator) -> Floats:
    frequency = np.fft.rfftfreq(2 * n_frames)
    frequency[0] = frequency[1]
    spectrum = np.fft.rfft(rng.standard_normal((2 * n_frames, N_CHANNELS)), axis=0) / np.sqrt(frequency)[:, None]
    return np.fft.irfft(spectrum, axis=0)[:n_frames]


def walk(n_frames: int, rng: np.random.Generator) -> Floats:
    steps = rng.standard_normal((n_frames + WARM_UP, N_CHANNELS))
    smooth = sosfilt(butter(2, 0.05, output="sos"), np.cumsum(steps, axis=0), axis=0)[WARM_UP:]
    return smooth / smooth.std(axis=0) + 0.05 * rng.standard_normal(smooth.shape)


def smooth(n_frames: int, rng: np.random.Generator) -> Floats:
    fresh = rng.standard_normal((n_frames + WARM_UP, N_CHANNELS))
    return np.asarray(sosfilt(butter(4, 0.02, output="sos"), fresh, axis=0)[WARM_UP:])


def heavy_tails(n_frames: int, rng: np.random.Generator) -> Floats:
    memories = np.exp(rng.uniform(*np.log([5, 60]), N_CHANNELS))
    filters = [([1.0], [1.0, -np.exp(-1 / m)]) for m in memories]
    return _filtered(filters, n_frames, lambda n: rng.standard_t(3, n))


def skewed(n_frames: int, rng: np.random.Generator) -> Floats:
    return np.exp(0.7 * ar1(n_frames, rng))


def wandering_loudness(n_frames: int, rng: np.random.Generator) -> Floats:
    kept = np.exp(-1 / 400)
    fresh = rng.standard_normal((n_frames + WARM_UP, 2))
    slow = lfilter([np.sqrt(1 - kept**2)], [1.0, -kept], fresh, axis=0)[WARM_UP:]
    return ar1(n_frames, rng) * np.exp(0.5 * slow @ rng.standard_normal((2, N_CHANNELS)) / np.sqrt(2))


def correlated(noise: Noise) -> Noise:
    def mixed(n_frames: int, rng: np.random.Generator) -> Floats:
        mixing = np.eye(N_CHANNELS) + 0.6 * rng.standard_normal((N_CHANNELS, N_CHANNELS)) / np.sqrt(N_CHANNELS)
        return noise(n_frames, rng) @ mixing

    return mixed


def _filtered(filters: list[tuple[list[float], list[float]]], n_frames: int, draw: Callable[[int], Floats]) -> Floats:
    columns = [lfilter(b, a, draw(n_frames + WARM_UP))[WARM_UP:] for b, a in filters]
    return np.stack([column / column.std() for column in columns], axis=1)


NOISES: dict[str, Noise] = {
    "AR(1)": ar1,
    "AR(1), correlated channels": correlated(ar1),
    "AR(2) oscillation": oscillation,
    "AR(2), correlated channels": correlated(oscillation),
    "1/f": pink,
    "random walk, low-passed": walk,
    "low-passed": smooth,
    "heavy tails (t, 3)": heavy_tails,
    "skewed (log-normal)": skewed,
    "wandering loudness": wandering_loudness,
}
PLANS = {f"planted, noise {noise:g}": StreamPlan(noise=noise) for noise in (0.15, 0.5, 1.0, 1.5)}
PLANS |= {"planted, drift 1": StreamPlan(drift=1.0), "planted, 2 channels": StreamPlan(n_channels=2)}


def evidence_of(recording: Recording, seed: int, **windows: int) -> tuple[Evidence, float]:
    """The evidence for the units of the default preset, and the CPU seconds it took."""
    model = Rondo(seed=seed, settings={"motifs.method": "none", "evidence.surrogates": 0}, **windows).fit(recording)
    _, own = model._windows_of(recording)
    labels = model.unit_model_.timeline(own).ids
    start = time.process_time()
    rng = np.random.default_rng(seed)
    evidence = signal_evidence([own], [labels], unit_labels(model.config_), N_SURROGATES, rng)
    return evidence, time.process_time() - start


def row(name: str, results: list[tuple[Evidence, float]]) -> str:
    evidences = [evidence for evidence, _ in results]
    verdicts = Counter(entry.verdict for evidence in evidences for entry in evidence.units.values())
    any_unit = [any(e.verdict == "recurs" for e in evidence.units.values()) for evidence in evidences]
    cells = [
        f"{np.mean([evidence.recurs for evidence in evidences]):.0%}",
        f"{np.mean([evidence.p for evidence in evidences]):.2f}",
        f"{np.mean(any_unit):.0%}",
        *(str(verdicts[v]) for v in ("recurs", "no more than chance", "occurs once", "not tested")),
        f"{np.mean([seconds for _, seconds in results]):.1f}",
    ]
    return f"| {name} | " + " | ".join(cells) + " |"


def motif_claims(n_seeds: int, n_frames: int) -> None:
    """How many motifs of several units are claimed, where order was planted and where there is none."""
    print("| seed | runs | motifs | claimed | without order: phrases | claimed | CPU-s |\n" + "|---" * 7 + "|")
    for seed in range(n_seeds):
        recording = plant(n_frames=n_frames, seed=seed).recording
        model = Rondo(seed=seed, settings={"evidence.surrogates": 0}).fit(recording)
        runs = UnitRuns.of([model.unit_model_.timeline(model._windows_of(recording)[1])])
        ids = np.array(model.unit_model_.ids)
        units = dict.fromkeys(ids.tolist(), EntryEvidence(0.05, 1.0, 2, "recurs"))
        rng, start = np.random.default_rng(seed), time.process_time()
        book = phrase_book(model.motif_model_)
        own = composition_evidence(runs, book, units, 0.05, N_SURROGATES, rng)
        seconds = time.process_time() - start
        composed = [entry.verdict == "recurs" for entry in own.values() if np.isnan(entry.closeness)]
        plain = Sequences(np.searchsorted(ids, runs.units)[None], runs.first, ids.size).shuffled(1, rng).units[0]
        phrases = Counter(tuple(ids[plain[i : i + n]].tolist()) for n in (2, 3, 4) for i in range(plain.size - n + 1))
        recurring = {i: Counter({phrase: n}) for i, (phrase, n) in enumerate(phrases.items()) if n > 1}
        chance = composition_evidence(replace(runs, units=ids[plain]), recurring, units, 0.05, N_SURROGATES, rng)
        false = sum(entry.verdict == "recurs" for entry in chance.values())
        cells = (seed, runs.units.size, len(composed), sum(composed), len(chance), false, f"{seconds:.2f}")
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


def phrase_claims(n_seeds: int, n_frames: int) -> None:
    """In how many streams of noise phrases are claimed; all such claims are false."""
    print("| stream | streams | claimed | runs, median |\n|---|---|---|---|")
    for name, noise in NOISES.items():
        claimed, runs = 0, []
        for seed in range(n_seeds):
            recording = Recording(noise(n_frames, np.random.default_rng(seed)).astype(np.float32), rate=RATE)
            model = Rondo(seed=seed, settings={"evidence.surrogates": 0}).fit(recording)
            claimed += model.motif_model_.composed
            runs.append(UnitRuns.of([model.unit_model_.timeline(model._windows_of(recording)[1])]).units.size)
        print(f"| {name} | {n_seeds} | {claimed} | {np.median(runs):.0f} |", flush=True)


def main(what: str, *rest: str) -> None:
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if what in ("motifs", "phrases"):
        claims = motif_claims if what == "motifs" else phrase_claims
        claims(*(*map(int, rest), *(10, 30_000)[len(rest) :]))
        return
    print(
        "| stream | claimed | mean p | units claimed | recurs | chance | once | not tested | CPU-s |\n"
        + "|---" * 9
        + "|"
    )
    if what == "recordings":
        for name in rest[1:]:
            length, step = WINDOWS[name]
            for path in sorted((Path(rest[0]) / name).glob("*.npz")):
                recording = Recording(np.load(path)["X"], id=path.stem)
                found = evidence_of(recording, 0, window=length, step=step)
                print(row(f"{name} {path.stem}", [found]), flush=True)
        return
    n_seeds, n_frames = (*map(int, rest), *(20, 6000)[len(rest) :])
    for name in NOISES if what == "noise" else PLANS:
        results = []
        for seed in range(n_seeds):
            if what == "noise":
                values = NOISES[name](n_frames, np.random.default_rng(seed))
                recording = Recording(values.astype(np.float32), rate=RATE)
            else:
                recording = plant(PLANS[name], n_frames=n_frames, seed=100 + seed).recording
            results.append(evidence_of(recording, seed))
        print(row(name, results), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
