"""How well planted units and motifs are recovered: mean over seeds, both levels, beside the clock.

    python benchmarks/planted_quality.py [n_seeds] [n_frames] [first_seed] [motifs.method]

The constants of the motif search were chosen while looking at seeds 0 to 5, so the first seed is 20.
"""

from __future__ import annotations

import sys

import numpy as np

from rondo import Rondo
from rondo.cli.demo import COLUMNS, N_FRAMES
from rondo.metrics import evaluate
from rondo.synthetic import plant


def main(n_seeds: int = 10, n_frames: int = N_FRAMES, first_seed: int = 20, method: str = "phrases") -> None:
    rows: dict[str, list[list[float]]] = {"units": [], "motifs": [], "units, clock": [], "motifs, clock": []}
    for seed in range(first_seed, first_seed + n_seeds):
        stream = plant(n_frames=n_frames, seed=seed)
        labelling = Rondo(seed=seed, settings={"motifs.method": method}).fit_predict(stream.recording)
        pairs = {"units": (stream.unit_truth, labelling.units), "motifs": (stream.motif_truth, labelling.motifs)}
        for level, pair in pairs.items():
            scores = evaluate({"stream": pair}).as_dict()
            rows[level].append([scores[key] for key in COLUMNS])
            rows[f"{level}, clock"].append([scores["clock"][key] for key in COLUMNS])
    print("| | " + " | ".join(COLUMNS.values()) + " |\n|" + "---|" * (len(COLUMNS) + 1))
    for name, table in rows.items():
        mean, spread = np.mean(table, axis=0), np.std(table, axis=0)
        print(f"| {name} | " + " | ".join(f"{m:.1f} ± {s:.1f}" for m, s in zip(mean, spread, strict=True)) + " |")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:4]), *sys.argv[4:5])
