"""Units of one to three channels: with shapes and without, windows from the data alone.

    OMP_NUM_THREADS=1 python benchmarks/few_channels.py DATA [--sets TSSB cuts many] [--page docs/results/units.md]

`TSSB`: 75 series of one channel and unknown rate. Series of odd rank by name are the development half, on which the
settings were chosen; the others are the confirmation half. `cuts`: the first one or three channels of recordings with a
known rate. `many`: whole recordings of four and more channels, which must not change. DATA holds a folder of .npz files
(`X`, `y`) and a meta.json (`rate_hz`) for each set. Cells are ARI/AMI/one-to-one/covering/F1 of change points,
then the number of clusters.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section
from rondo.metrics.segmentation import change_point_f1, covering

from rondo.config.settings import resolve
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.window_lengths import window_and_step
from rondo.data.windows import WindowGrid, Windows
from rondo.encoders.base import build_encoder
from rondo.metrics.overlap import Overlap
from rondo.metrics.scores import evaluate
from rondo.units.fit import fit_units

SECTIONS = ("one-to-three-channels",)
Case = tuple[Recording, NDArray[Any]]
CUTS = (("USC-HAD", 3, 3), ("USC-HAD", 1, 3), ("HuGaDB", 3, 9), ("ActRecTut", 3, 4), ("MoCap", 3, 9), ("MoCap", 1, 9))
MANY = ("MoCap", "HuGaDB", "ActRecTut")
CHOICES: dict[str, dict[str, Any]] = {"default": {}, "without shapes": {"encoder.shape_channels": 0}}


def cases_of(folder: Path, n_channels: int | None = None, most: int | None = None) -> list[Case]:
    rate = json.loads((folder / "meta.json").read_text())["rate_hz"]
    files = [np.load(path) for path in sorted(folder.glob("*.npz"))[:most]]
    return [(Recording(own["X"][:, :n_channels], rate), own["y"]) for own in files]


def scores_of(cases: list[Case], overrides: dict[str, Any]) -> str:
    config = resolve(overrides=overrides)
    pairs = {}
    for number, (recording, truth) in enumerate(cases):
        signal = Preprocessor.fit([recording], config.preprocess).apply(recording)
        grid = WindowGrid(*window_and_step([signal], config.windows), signal.n_frames, signal.spans)
        windows = Windows(signal.values, grid)
        encoder = build_encoder(config.encoder).fit([windows])
        units = fit_units([windows], encoder, config.units, np.random.default_rng(0), "cpu")
        ids = units.timeline(windows).ids
        pairs[str(number)] = (truth, ids[units.boundaries.windows_of_frames(windows, ids)])
    row, overlaps = evaluate(pairs).average, [Overlap.of(*pair) for pair in pairs.values()]
    segmentation = [100 * float(np.mean([measure(o) for o in overlaps])) for measure in (covering, change_point_f1)]
    return "/".join(f"{v:.1f}" for v in (row.ari, row.ami, row.one_to_one, *segmentation)) + f", {row.n_clusters:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", choices=("TSSB", "cuts", "many"), default=["TSSB", "cuts"])
    given = parse(parser, __file__)
    warnings.simplefilter("ignore")
    sets: dict[str, list[Case]] = {}
    if "TSSB" in given.sets:
        series = cases_of(given.data / "TSSB")
        halves = {"TSSB, development half": series[::2], "TSSB, confirmation half": series[1::2], "TSSB, all": series}
        sets |= {f"{name} ({len(own)} series)": own for name, own in halves.items()}
    if "cuts" in given.sets:
        sets |= {f"{name}, {n} of its channels": cases_of(given.data / name, n, most) for name, n, most in CUTS}
    if "many" in given.sets:
        sets |= {name: cases_of(given.data / name) for name in MANY}
    table = Table("set", *CHOICES)
    for name, cases in sets.items():
        table.add(name, *(scores_of(cases, own) for own in CHOICES.values()))
    write_section(given, "one-to-three-channels", table)


if __name__ == "__main__":
    main()
