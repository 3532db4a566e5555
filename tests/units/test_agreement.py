"""Of several labellings the one that agrees best with the others, and units that hardly depend on the seed."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from rondo import Rondo
from rondo.data.labels import Labels
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_rand
from rondo.synthetic import StreamPlan, plant
from rondo.units.agreement import most_agreed


def naive_most_agreed(labellings: list[np.ndarray]) -> int:
    """Every labelling with every other, itself included."""
    sums = [sum(adjusted_mutual_info_score(own, other) for other in labellings) for own in labellings]
    return int(np.argmax(np.round(sums, 9)))


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_one_of_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, 200)
    labellings = [np.where(rng.random(200) < noise, rng.integers(0, 5, 200), truth) for noise in rng.random(5)]
    assert most_agreed(labellings) == naive_most_agreed(labellings)


def test_an_odd_one_is_never_taken_and_of_equals_the_first() -> None:
    rng = np.random.default_rng(0)
    usual, odd = rng.integers(0, 4, 100), rng.integers(0, 4, 100)
    assert most_agreed([odd, usual, usual + 7]) == 1  # ids are names, not numbers
    assert most_agreed([usual]) == 0


def _least_agreement(plan: StreamPlan, stream_seed: int) -> float:
    """The least ARI between the units that five seeds find in one planted stream."""
    recording = plant(plan, n_frames=9_000, seed=stream_seed).recording
    units_alone = {"motifs.method": "none", "evidence.surrogates": 0}

    def units(seed: int) -> Labels:
        return Rondo(window="1.5s", seed=seed, settings=units_alone).fit(recording).label_one(recording).units

    found = [units(seed) for seed in range(5)]
    return min(adjusted_rand(Overlap.of(one, other)) for one, other in combinations(found, 2))


def test_units_of_other_seeds_agree_where_those_of_one_start_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = StreamPlan(motifs="cycles", n_units=12, n_motifs=3)
    steady = [_least_agreement(plan, stream) for stream in (3, 4)]
    monkeypatch.setattr("rondo.units.fit._STARTS", 1)
    swinging = [_least_agreement(plan, stream) for stream in (3, 4)]
    assert max(swinging) < 0.87 < min(steady)
