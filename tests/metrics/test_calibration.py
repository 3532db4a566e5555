"""Labels that AutoPlait and TICC gave on the nine MoCap recordings must score what the paper printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rondo.data.labels import Labels
from rondo.metrics.scores import Scores, clock_labels, evaluate

FACTS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "calibration" / "mocap_labels.json").read_text(encoding="utf-8")
)


def track(runs: list[tuple[int, int]]) -> Labels:
    stops, ids = np.array(runs).T
    return np.repeat(ids, np.diff(stops, prepend=0)).astype(np.int32)


TRUTH = {name: track(runs) for name, runs in FACTS["truth"].items()}


def published(method: str) -> Scores:
    return evaluate({name: (TRUTH[name], track(runs)) for name, runs in FACTS["predictions"][method].items()})


def clock(n_pieces: int) -> Scores:
    return evaluate({name: (truth, clock_labels(truth.size, n_pieces)) for name, truth in TRUTH.items()})


def rounded(scores: Scores, expected: dict[str, float], digits: int) -> dict[str, float]:
    return {name: round(scores.average.as_dict()[name], digits) for name in expected}


def test_the_stored_tracks_are_the_papers_data_set() -> None:
    assert len(TRUTH) == 9
    assert sum(truth.size for truth in TRUTH.values()) == 65_611
    assert sum(len(runs) for runs in FACTS["truth"].values()) == 74


@pytest.mark.parametrize("method", ["AutoPlait", "TICC"])
def test_published_rows_to_the_last_digit(method: str) -> None:
    expected = FACTS["expected"][method]
    assert rounded(published(method), expected, digits=2) == expected


@pytest.mark.parametrize("n_pieces", [8, 16, 20])
def test_clock_rows_to_the_last_digit(n_pieces: int) -> None:
    expected = FACTS["expected_clock"][str(n_pieces)]
    assert rounded(clock(n_pieces), expected, digits=2) == expected


def test_only_recurrence_tells_discovery_from_a_clock() -> None:
    of_clock = {"ari": 23.8, "ami": 58.6, "one_to_one": 27.4}
    of_autoplait = {"ari": 80.6, "ami": 82.9, "one_to_one": 87.5}
    assert rounded(clock(20), of_clock, digits=1) == of_clock
    assert rounded(published("AutoPlait"), of_autoplait, digits=1) == of_autoplait


def test_a_constant_prediction() -> None:
    expected = {"mof": 39.49, "recall": 20.32, "f1_50": 0.0, "edit": 12.73}
    constant = evaluate({name: (truth, np.zeros_like(truth)) for name, truth in TRUTH.items()})
    assert rounded(constant, expected, digits=2) == expected
