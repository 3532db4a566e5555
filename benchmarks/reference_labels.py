"""What labels score that no method found: those of a clock, those that the paper's authors published, the true ones.

    python benchmarks/reference_labels.py clock [--page docs/results/judging.md]
    python benchmarks/reference_labels.py window-ceilings --data DATA [--page docs/results/units.md]

`clock`: 20 equal pieces of each MoCap recording, beside the labels of AutoPlait and TICC, on the annotation that is
stored in tests/calibration. `window-ceilings`: every window carries its most frequent class, and a rule of
`windows.projection` turns windows into frames; no method with such windows can do better by that rule.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section

from rondo.data.windows import Projection, WindowGrid
from rondo.metrics.scores import Scores, clock_labels, evaluate

SECTIONS = ("clock", "window-ceilings")
CALIBRATION = Path(__file__).resolve().parents[1] / "tests" / "calibration" / "mocap_labels.json"
N_PIECES = 20
WINDOWS = {"MoCap": (256, 50), "ActRecTut": (90, 30)}  # of the paper
COLUMNS = {
    "mof": "MoF",
    "recall": "Recall",
    "f1_50": "F1@50",
    "edit": "Edit",
    "seg_ratio": "SegRatio",
    "ari": "ARI",
    "ami": "AMI",
    "one_to_one": "one-to-one",
}

Track = NDArray[np.integer]


def track(runs: Sequence[tuple[int, int]]) -> Track:
    """Labels by frame from (stop, id) of each run.

    >>> track([(2, 7), (5, 3)]).tolist()
    [7, 7, 3, 3, 3]
    """
    stops, ids = np.array(runs).T
    return np.repeat(ids, np.diff(stops, prepend=0)).astype(np.int32)


def cells_of(scores: Scores, columns: Sequence[str]) -> list[str]:
    own = scores.average.as_dict()
    return [f"{own[column]:.2f}" for column in columns]


def clock_table() -> Table:
    stored: Mapping[str, Any] = json.loads(CALIBRATION.read_text(encoding="utf-8"))
    truth = {name: track(runs) for name, runs in stored["truth"].items()}
    table = Table("labels", *COLUMNS.values())
    clock = evaluate({name: (own, clock_labels(own.size, N_PIECES)) for name, own in truth.items()})
    table.add(f"clock, {N_PIECES} pieces", *cells_of(clock, list(COLUMNS)))
    for method, predicted in stored["predictions"].items():
        scores = evaluate({name: (truth[name], track(runs)) for name, runs in predicted.items()})
        table.add(method, *cells_of(scores, list(COLUMNS)))
    return table


def ceiling_table(data: Path) -> Table:
    columns = ("mof", "f1_50", "edit", "ari")
    table = Table("set", "windows", "rule", *(COLUMNS[column] for column in columns))
    for name, (length, step) in WINDOWS.items():
        classes = {path.stem: np.load(path)["y"] for path in sorted((data / name).glob("*.npz"))}
        for rule in get_args(Projection):
            pairs = {id: (own, projected(own, length, step, rule)) for id, own in classes.items()}
            table.add(name, f"{length} every {step}", rule, *cells_of(evaluate(pairs), columns))
    return table


def projected(classes: Track, length: int, step: int, rule: Projection) -> Track:
    """The labels of frames where each window has its most frequent class."""
    numbers = np.unique(classes, return_inverse=True)[1]
    grid = WindowGrid(length, step, numbers.size, ((0, numbers.size),))
    commonest = [int(np.bincount(numbers[start : start + length]).argmax()) for start in grid.starts]
    return grid.project(np.array(commonest), rule)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", choices=SECTIONS)
    parser.add_argument("--data", type=Path, default=Path(), help="the folder of data sets")
    given = parse(parser, __file__, arguments)
    write_section(given, given.table, clock_table() if given.table == "clock" else ceiling_table(given.data))


if __name__ == "__main__":
    main()
