"""The rows of all baselines beside the published ones: scores of frames, mean ± deviation over seeds.

    OMP_NUM_THREADS=1 python benchmarks/baseline_rows.py DATA [--sets MoCap ActRecTut] [--methods ticc …] [--seeds 5]

DATA holds one folder per set with an .npz for each recording (`X`, and `y` for scoring). Every method runs as the RONDO
paper has it: its preprocessing per method and set (app. Preprocessing: channels, PCA fitted once over all recordings,
windows), its settings (app. Hyperparameter Selection), its number of seeds. `paper` is the published row (Table 1 and
its full version with deviations); methods without one are ours. Scores are those of `rondo evaluate`; ARI, AMI and
one-to-one were not published. The clock cuts each recording into as many equal pieces as the method has segments.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # CPU time of one thread, set before numpy and torch are loaded

import numpy as np
from numpy.typing import NDArray

from rondo import Recording
from rondo.baselines import BASELINES, build_baseline
from rondo.baselines.discovery import discover
from rondo.errors import InputError, RondoWarning
from rondo.metrics import evaluate

SCORES = ("mof", "recall", "f1_50", "edit", "seg_ratio", "ari", "ami", "one_to_one")
N_PUBLISHED = 5  # the first of SCORES
HEAD = "| set | method | seeds | MoF | Recall | F1@50 | Edit | SegRatio | ARI | AMI | one-to-one | clock: ARI | CPU-s |"

# Published: mean, and deviation over five seeds where there is one. RONDO paper, Table 1 and app. Extra results.
PUBLISHED: Mapping[str, Mapping[str, str]] = {
    "MoCap": {
        "time2state": "88.68±2.07 91.49±2.36 84.48±2.29 83.80±1.17 1.70±0.13",
        "e2usd": "84.97±2.81 87.45±6.11 77.95±5.77 76.48±6.78 1.97±0.28",
        "ticc": "86.61±0.00 84.52±0.00 79.39±0.00 83.18±0.00 2.19±0.00",
        "autoplait": "90.27 90.28 91.18 92.05 0.97",
        "compile": "66.45 61.05 52.19 63.14 1.97",
        "clap": "74.61 65.63 60.53 62.39 0.74",
    },
    "ActRecTut": {
        "time2state": "73.40±2.20 49.08±2.11 42.20±0.73 49.07±2.19 1.10±0.07",
        "e2usd": "72.87±0.75 46.83±2.44 40.41±2.06 45.03±4.89 1.01±0.04",
        "ticc": "69.68±0.36 41.59±1.66 29.33±1.02 32.24±1.06 0.45±0.03",
        "autoplait": "44.42 14.06 2.04 2.31 0.01",
        "compile": "45.69 27.96 8.76 31.11 0.44",
        "clap": "51.68 27.70 5.45 5.45 0.02",
    },
}

# app. Preprocessing; windows only where a method has that setting.
WINDOWS: Mapping[str, tuple[int, int]] = {"MoCap": (256, 50), "ActRecTut": (90, 30)}
SETTINGS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "MoCap": {"ticc": {"as_released": True}},
    "ActRecTut": {
        "time2state": {"n_groups": 20},
        "ticc": {"preprocess.pca_components": 10, "as_released": True},
        "autoplait": {"preprocess.pca_components": 10},
        "compile": {"preprocess.pca_components": 8},
        "clap": {"preprocess.pca_components": 8},
    },
}
RUN_ONCE = ("autoplait", "clap", "compile", "ticc", "denstream", "dbstream", "hdbscan")  # nothing random, or once there


class Row(NamedTuple):
    """One method on one set: scores by seed, (n_seeds, n_scores), the clock's ARI and the CPU time of one seed."""

    scores: NDArray[np.float64]
    clock_ari: float
    seconds: float


def read(folder: Path) -> tuple[list[Recording], dict[str, NDArray[np.generic]]]:
    recordings, truth = [], {}
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as arrays:
            recordings.append(Recording(arrays["X"], id=path.stem))
            truth[path.stem] = arrays["y"]
    if not recordings:
        raise SystemExit(f"{folder}: no .npz files; give the folder that holds the sets")
    return recordings, truth


def settings_of(name: str, of_set: str) -> dict[str, Any]:
    settings = dict(SETTINGS.get(of_set, {}).get(name, {}))
    if of_set in WINDOWS and "windows" in type(build_baseline(name).config).model_fields:
        settings["windows.length"], settings["windows.step"] = WINDOWS[of_set]
    return settings


def row_of(name: str, of_set: str, folder: Path, n_seeds: int) -> Row:
    baseline = build_baseline(name, settings_of(name, of_set))
    recordings, truth = read(folder)
    scores, seconds, clock_ari = [], [], []
    for seed in range(1 if name in RUN_ONCE else n_seeds):
        began = time.process_time() + sum(os.times()[2:4])  # of children, too: some methods have a process of their own
        found = discover(recordings, name, baseline, seed, _tell(f"{of_set} {name} seed {seed}"))
        seconds.append(time.process_time() + sum(os.times()[2:4]) - began)
        evaluated = evaluate({each.labelling.recording_id: _pair(each.labelling, truth) for each in found})
        scores.append([evaluated.as_dict()[score] for score in SCORES])
        clock_ari.append(evaluated.clock.ari)
        said = ", ".join(f"{score} {value:.2f}" for score, value in zip(SCORES, scores[-1], strict=True))
        print(f"  {of_set} {name} seed {seed}: {said} ({seconds[-1]:.1f} s)", file=sys.stderr, flush=True)
    return Row(np.array(scores), float(np.mean(clock_ari)), float(np.mean(seconds)))


def _pair(labelling: Any, truth: Mapping[str, NDArray[np.generic]]) -> tuple[Any, Any]:
    return truth[labelling.recording_id], labelling.units


def _tell(what: str) -> Any:
    last = 0.0

    def tell(stage: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > 30:
            last = time.monotonic()
            print(f"  {what}: {stage} {done}/{total}", file=sys.stderr, flush=True)

    return tell


def lines_of(of_set: str, name: str, row: Row) -> list[str]:
    """Our row as a line of a table, and the published one below it."""
    n_seeds = len(row.scores)
    means = row.scores.mean(axis=0)
    if n_seeds > 1:
        spreads = row.scores.std(axis=0, ddof=1)
        cells = [f"{mean:.2f}±{spread:.2f}" for mean, spread in zip(means, spreads, strict=True)]
    else:
        cells = [f"{mean:.2f}" for mean in means]
    lines = [f"| {of_set} | {name} | {n_seeds} | {' | '.join(cells)} | {row.clock_ari:.1f} | {row.seconds:.1f} |"]
    published = PUBLISHED.get(of_set, {}).get(name)
    if published is not None:
        unknown = ["–"] * (len(SCORES) - N_PUBLISHED + 2)
        lines.append(f"| | paper | | {' | '.join([*published.split(), *unknown])} |")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(PUBLISHED))
    parser.add_argument("--methods", nargs="+", default=list(BASELINES), choices=list(BASELINES))
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", RondoWarning)
    print(HEAD)
    print("|" + "---|" * (HEAD.count("|") - 1))
    for of_set in given.sets:
        for name in given.methods:
            try:
                row = row_of(name, of_set, given.data / of_set, given.seeds)
            except InputError as error:  # an extra that is not installed, a set that a method refuses
                print(f"| {of_set} | {name} | {error} |", flush=True)
                continue
            print("\n".join(lines_of(of_set, name, row)), flush=True)


if __name__ == "__main__":
    main()
