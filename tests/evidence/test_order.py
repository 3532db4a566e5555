"""Order of units: claimed where there is a direction, not where every way is taken both ways."""

from __future__ import annotations

import numpy as np

from rondo.evidence.order import Occurrences, order_test


def of_sequence(units: list[int]) -> Occurrences:
    return Occurrences.of([np.array(units, np.int32)], [((0, len(units)),)])


def walk(n: int, n_units: int, seed: int, forward: float = 0.5) -> list[int]:
    """A walk on a ring of units: as slow change passes through them; with `forward` 0.5 it is reversible."""
    steps = np.where(np.random.default_rng(seed).random(n) < forward, 1, -1)
    return (np.cumsum(steps) % n_units).tolist()


def test_a_cycle_passes() -> None:
    found = order_test(of_sequence([0, 1, 2] * 15), np.random.default_rng(0))
    assert set(found.p) == {0, 1, 2}
    assert max(found.p.values()) <= 0.01


def test_there_and_back_is_no_order() -> None:
    assert order_test(of_sequence([0, 1, 0, 2] * 15), np.random.default_rng(0)).p == {}


def test_p_is_conservative_on_a_reversible_walk_and_small_where_it_has_a_direction() -> None:
    rng = np.random.default_rng(1)
    reversible = [min(order_test(of_sequence(walk(150, 5, seed)), rng).p.values(), default=1.0) for seed in range(150)]
    assert np.mean(np.array(reversible) <= 0.05) <= 0.1
    directed = [min(order_test(of_sequence(walk(150, 5, seed, 0.8)), rng).p.values()) for seed in range(20)]
    assert np.mean(np.array(directed) <= 0.05) >= 0.9


def test_ways_do_not_cross_spans() -> None:
    labels = np.array([0, 1, 2] * 15, np.int32)
    spans = [[(i, i + 3) for i in range(0, 45, 3)]]
    assert order_test(Occurrences.of([labels], spans), np.random.default_rng(0)).p == {}
