"""Speed of the motif stage: the search for phrases, and the reading of all runs with them.

    OMP_NUM_THREADS=1 python benchmarks/bench_motifs.py

Wanted: the search reads at most 1,000 runs, so that its time stops growing there; reading grows linearly.
"""

from __future__ import annotations

import time

import numpy as np

from rondo.config.settings import ComposedMotifsConfig
from rondo.motifs.discover import fit_phrases
from rondo.units.viterbi import Timeline

N_RUNS = (300, 1_000, 3_000, 20_000)
N_UNITS = 9
REST, PHRASES = 0, ((1, 2, 3), (4, 5, 6, 7), (2, 8, 5))
MISSED = 0.1  # share of units that are missing from an occurrence


def planted(n_runs: int, seed: int = 0) -> Timeline:
    rng = np.random.default_rng(seed)
    units = [REST]
    while len(units) < n_runs:
        phrase = [unit for unit in PHRASES[rng.integers(len(PHRASES))] if rng.random() > MISSED]
        units += [*phrase, REST] if phrase else []
    ids = np.repeat(np.array(units[:n_runs], dtype=np.int32), rng.integers(2, 9, n_runs))
    return Timeline(ids, np.full(ids.size, 0.5), ((0, ids.size),))


def main() -> None:
    fit_phrases([planted(50)], range(N_UNITS), ComposedMotifsConfig(), np.random.default_rng(0))  # imports
    print("    runs       fit   reading   motifs   evidence per run")
    for n_runs in N_RUNS:
        timeline = planted(n_runs)
        start = time.perf_counter()
        model = fit_phrases([timeline], range(N_UNITS), ComposedMotifsConfig(), np.random.default_rng(0))
        fitted = time.perf_counter()
        model.timeline(timeline)
        read = time.perf_counter()
        per_run = model.gain_per_run
        print(
            f"{n_runs:>8,} {fitted - start:>8.2f} s {read - fitted:>7.2f} s {len(model.ids):>8} {per_run:>14.2f} nats"
        )


if __name__ == "__main__":
    main()
