"""The settings of the default unit stage that were chosen by measurement, each against its alternatives.

    OMP_NUM_THREADS=1 python benchmarks/unit_choices.py DATA [--seeds 3] [--only NAME …] [--untouched]
        [--page docs/results/units.md]

Development: MoCap, ActRecTut, OpenPack and HuGaDB (a folder of .npz with `X` and `y` each), and planted streams of
seeds 0 to 5. `--untouched` scores the more telling settings on USC-HAD and planted streams of seeds 20 to 29 instead,
which had no part in the choice. All units are found at the window of the paper for that set. Cells are
ARI/AMI/one-to-one, clusters; AVG is the mean of the three scores over the real sets.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section
from unit_tables import STAGES, WINDOWS, Remembered

from rondo.arrays import generators
from rondo.config.settings import resolve
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.windows import WindowGrid, Windows
from rondo.encoders.base import build_encoder
from rondo.encoders.summary_stats import SummaryStatsConfig
from rondo.metrics.scores import evaluate
from rondo.synthetic.streams import plant
from rondo.units.fit import fit_units

SECTIONS = ("settings", "settings-held-out")
CHOICES: dict[str, dict[str, Any]] = {
    "**default**": {},
    "labels by vote of the windows": {"windows.projection": "vote"},
    "labels of the nearest window": {"windows.projection": "centre"},
    **{f"{k} dimensions": {"units.dimension": k} for k in (3, 4, 5, 6, 8)},
    "merged": {"units.merge": True},
    "no rule of persistence": {"units.persistence": 0.0},
    "half the price of a change": {"units.transition_scale": 1.0},
    "twice the price of a change": {"units.transition_scale": 4.0},
    "30 components at most": {"units.mixture.component_cap": 30},
}
UNTOUCHED = (  # the others differ less
    "**default**",
    "labels by vote of the windows",
    *(f"{k} dimensions" for k in (4, 8)),
    "merged",
)
PLANTED_WINDOW = (75, 18)

Case = tuple[Windows, Remembered, NDArray[Any]]


def case_of(values: NDArray[Any], truth: NDArray[Any], length: int, step: int) -> Case:
    recording = Recording(values)
    signal = Preprocessor.fit([recording], resolve().preprocess).apply(recording)
    windows = Windows(signal.values, WindowGrid(length, step, signal.n_frames, signal.spans))
    return windows, Remembered(build_encoder(SummaryStatsConfig()).fit([windows]), windows), truth


def cases_of(data: Path, untouched: bool) -> dict[str, list[Case]]:
    names = ["USC-HAD"] if untouched else ["MoCap", "ActRecTut", "OpenPack", "HuGaDB"]
    cases = {}
    for name in names:
        files = [np.load(path) for path in sorted((data / name).glob("*.npz"))]
        cases[name] = [case_of(own["X"], own["y"], *WINDOWS[name]) for own in files]
    streams = [plant(n_frames=60_000, seed=seed) for seed in (range(20, 30) if untouched else range(6))]
    cases["planted"] = [case_of(s.recording.values, s.unit_truth, *PLANTED_WINDOW) for s in streams]
    return cases


def scores_of(cases: list[Case], overrides: dict[str, Any], seed: int) -> NDArray[np.float64]:
    """ARI, AMI, one-to-one and clusters."""
    config = resolve(overrides={**overrides, "seed": seed})
    pairs = {}
    for number, (windows, encoder, truth) in enumerate(cases):
        units = fit_units([windows], encoder, config.units, generators(seed, STAGES)["units"], "cpu")
        ids, rule = units.timeline(windows).ids, config.windows.projection
        aligned = rule == "aligned"
        labels = ids[units.boundaries.windows_of_frames(windows, ids)] if aligned else windows.grid.project(ids, rule)
        pairs[str(number)] = (truth, labels)
    row = evaluate(pairs).as_dict()
    return np.array([row[name] for name in ("ari", "ami", "one_to_one", "n_clusters")])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=CHOICES, metavar="NAME")
    parser.add_argument("--untouched", action="store_true")
    given = parse(parser, __file__)
    warnings.simplefilter("ignore")
    cases = cases_of(given.data, given.untouched)
    table = Table("units", *cases, "AVG")
    for name in given.only or (UNTOUCHED if given.untouched else CHOICES):
        overrides = CHOICES[name]
        mean = {
            set_name: np.mean([scores_of(own, overrides, seed) for seed in range(given.seeds)], axis=0)
            for set_name, own in cases.items()
        }
        cells = ["/".join(f"{v:.0f}" for v in row[:3]) + f", {row[3]:.0f}" for row in mean.values()]
        average = np.mean([row[:3].mean() for set_name, row in mean.items() if set_name != "planted"])
        table.add(name, *cells, f"{average:.1f}")
    write_section(given, "settings-held-out" if given.untouched else "settings", table)


if __name__ == "__main__":
    main()
