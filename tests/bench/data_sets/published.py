"""Small files in the forms in which the data sets are published, for the tests of their readers."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests import naive_metrics as naive


def written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def csv_file(path: Path, header: Sequence[str], rows: NDArray[np.floating] | Sequence[Sequence[object]]) -> Path:
    """A csv with a header, commas and no index."""
    lines = [",".join(header)] + [",".join(str(cell) for cell in row) for row in rows]
    return written(path, "\n".join(lines) + "\n")


def blank_file(path: Path, rows: NDArray[np.floating] | Sequence[Sequence[object]], end: str = "\n") -> Path:
    """Numbers between blanks without a header; some data sets end each line with another blank."""
    return written(path, "".join(" ".join(str(cell) for cell in row) + end for row in rows))


CLAP_STATES = {"Sines": ([200, 400], [0, 1, 0]), "Steps": ([300], [0, 1]), "Alone": ([], [0])}  # changes, states
CLAP_FRAMES = 600


def clap_clone(folder: Path) -> Path:
    """A clone of the CLaP paper's repository with three series of a set, and the labels of CLaP and TICC for them.

    CLaP's are right but for the first change, which comes 20 frames late, TICC's right and 9 frames short.
    """
    for data_set in ("TSSB", "UTSA", "SKAB"):
        place = folder / "datasets" / data_set
        before_states = ["true", 1, 4] if data_set == "TSSB" else []  # a label cut of 1 halves numbers of states
        factor = 2 if data_set == "TSSB" else 1
        _comma_lines(place / "desc.txt", [[name, 10, *changes] for name, (changes, _) in CLAP_STATES.items()])
        states = [[name, *before_states, *(factor * s for s in own)] for name, (_, own) in CLAP_STATES.items()]
        _comma_lines(place / "properties.txt", states)
        series = {name: clap_series(name, 3 if data_set == "SKAB" else 1) for name in CLAP_STATES}
        if data_set == "SKAB":
            np.savez(place / "data.npz", **series)  # type: ignore[arg-type]
        else:
            for name, values in series.items():
                written(place / f"{name}.txt", "".join(f"  {value:.7e}\n" for value in values[:, 0]))
        for method, late, short in (("CLaP", 20, 0), ("TICC", 0, 9)):
            write_clap_labels(folder, data_set, method, late, short)
    return folder


def clap_series(name: str, n_channels: int) -> NDArray[np.float64]:
    """Two kinds of waves, by state, with noise."""
    state = clap_track(name)
    phase = np.cumsum(np.where(state == 0, 0.2, 0.9))
    noise = np.random.default_rng(len(name)).normal(scale=0.05, size=(CLAP_FRAMES, n_channels))
    return np.asarray(np.stack([np.sin(phase + c) for c in range(n_channels)], axis=1) + noise)


def clap_track(name: str, late: int = 0) -> NDArray[np.int64]:
    changes, states = CLAP_STATES[name]
    moved = [*(change + late for change in changes[:1]), *changes[1:]]
    return np.repeat(states, np.diff([0, *moved, CLAP_FRAMES]))


def write_clap_labels(folder: Path, data_set: str, method: str, late: int, short: int, **wrong: str) -> Path:
    """The stored results of a method; `wrong` replaces columns of the first series."""
    rows: list[dict[str, object]] = []
    for name in CLAP_STATES:
        labels = clap_track(name, late)
        found = (np.flatnonzero(np.diff(labels)) + 1).tolist()
        row: dict[str, object] = {"dataset": name, "true_cps": CLAP_STATES[name][0], "found_cps": found}
        row["found_labels"] = (7 + labels)[: CLAP_FRAMES - short].tolist()
        covering, ami = _published_scores(name, late, short)
        row |= {"f1_score": 1.0, "covering_score": covering, "ami_score": ami, "runtime": 1.5}
        rows.append(row)
    rows[0] |= wrong
    path = folder / "experiments" / "state_detection" / f"{data_set}_{method}.csv.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


@cache
def _published_scores(name: str, late: int, short: int) -> tuple[float, float]:
    from sklearn.metrics import adjusted_mutual_info_score

    truth, labels = clap_track(name), clap_track(name, late)
    ami = adjusted_mutual_info_score(truth[: CLAP_FRAMES - short], labels[: CLAP_FRAMES - short])
    return round(naive.covering(truth.tolist(), labels.tolist()), 3), round(float(ami), 3)


def _comma_lines(path: Path, rows: Sequence[Sequence[object]]) -> Path:
    return written(path, "".join(",".join(map(str, row)) + "\n" for row in rows))


MOCAP6_STARTS = [0, 20, 40, 60, 80, 100, 120]


def mocap6_arrays() -> dict[str, object]:
    """Six captures of 20 rows and two channels; names are bytes, as Python 2 stored them."""
    return {
        "X": np.random.default_rng(6).normal(size=(120, 2)),
        "doc_range": np.array(MOCAP6_STARTS),
        "TrueZ": np.repeat(np.array([1, 2] * 6, dtype=np.int32), 10),
        "true_state_names": np.array([b"JumpJack", b"Jog"]),
        "column_names": np.array([b"root.ty", b"lfoot.rx"]),
    }


def mocap6_clone(folder: Path) -> Path:
    place = folder / "bnpy" / "datasets" / "mocap6"
    place.mkdir(parents=True)
    np.savez(place / "dataset.npz", **mocap6_arrays())  # type: ignore[arg-type]
    return folder
