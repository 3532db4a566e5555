"""How well planted units and motifs are recovered: mean over seeds, both levels, beside the clock.

    python benchmarks/planted_quality.py [n_seeds] [n_frames] [first_seed] [motifs.method]
    python benchmarks/planted_quality.py 4 60000 20 motif_former --page docs/results/motifs.md

The constants of the motif search were chosen while looking at seeds 0 to 5, so the first seed is 20.
"""

from __future__ import annotations

import argparse

import numpy as np
from results_page import Table, parse, write_section

from rondo.cli.demo import COLUMNS, N_FRAMES
from rondo.metrics.scores import evaluate
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import plant

SECTIONS = ("motif-former",)  # of one method; the default is scored by guard.py


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("n_seeds", 10), ("n_frames", N_FRAMES), ("first_seed", 20)):
        parser.add_argument(name, type=int, nargs="?", default=value)
    parser.add_argument("method", nargs="?", default="motif_former")
    given = parse(parser, __file__)
    rows: dict[str, list[list[float]]] = {"units": [], "motifs": [], "units, clock": [], "motifs, clock": []}
    for seed in range(given.first_seed, given.first_seed + given.n_seeds):
        stream = plant(n_frames=given.n_frames, seed=seed)
        labelling = Rondo(seed=seed, settings={"motifs.method": given.method}).fit_predict(stream.recording)
        pairs = {"units": (stream.unit_truth, labelling.units), "motifs": (stream.motif_truth, labelling.motifs)}
        for level, pair in pairs.items():
            scores = evaluate({"stream": pair}).as_dict()
            rows[level].append([scores[key] for key in COLUMNS])
            rows[f"{level}, clock"].append([scores["clock"][key] for key in COLUMNS])
    table = Table("", *COLUMNS.values())
    for name, own in rows.items():
        mean, spread = np.mean(own, axis=0), np.std(own, axis=0)
        table.add(name, *(f"{m:.1f} ± {s:.1f}" for m, s in zip(mean, spread, strict=True)))
    write_section(given, "motif-former", table)


if __name__ == "__main__":
    main()
