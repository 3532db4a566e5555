"""Rows made by hand, for tables whose numbers can be checked with a pencil."""

from __future__ import annotations

from functools import cache
from typing import Any

from rondo_bench.experiments.rows import Key, Row
from rondo_bench.experiments.spec import SetSpec, read_data_sets, read_experiment
from rondo_bench.experiments.summary import settings_now

SCORES = ("mof", "recall", "f1_10", "f1_25", "f1_50", "edit", "ari", "ami", "one_to_one", "n_clusters")


@cache
def now(method: str, experiment: str = "static", data_set: str = "mocap") -> str:
    """The fingerprint that a row of that method has as the experiment is."""
    return settings_now(read_experiment(experiment), method, data_set, read_data_sets().get(data_set, SetSpec()))


def row(recording: str, method: str, value: float, seed: int = 0, **changes: Any) -> Row:
    """A row whose scores are all `value`, with 3 segments of 2."""
    about = {"experiment": "static", "data_set": "mocap", "source": "", "fingerprint": ""}
    about |= {name: changes.pop(name) for name in list(changes) if name in about}
    about["fingerprint"] = about["fingerprint"] or now(method, about["experiment"], about["data_set"])
    key = Key(recording=recording, method=method, seed=seed, **about)
    made: dict[str, Any] = {
        "status": "ok",
        "scores": dict.fromkeys(SCORES, value) | {"seg_ratio": 1.5},
        "clock": dict.fromkeys(SCORES, value / 2),
        "counts": {"n_frames": 100, "n_channels": 4, "n_segments": 3, "n_true_segments": 2},
        "seconds": 1.0,
    }
    return Row(key, **(made | changes))
