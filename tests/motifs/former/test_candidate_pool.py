from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.paper import candidates as pool_module
from rondo.paper.candidates import Pool, weighted_sample


def timeline(n_windows: int, n_units: int = 3, seed: int = 0) -> NDArray[np.int64]:
    """Units in runs of about four windows."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.integers(n_units, size=n_windows), rng.geometric(0.25, n_windows))[:n_windows]


# ---------------------------------------------------------------- samples of items


@given(st.lists(st.integers(1, 50), min_size=1, max_size=30), st.integers(1, 40), st.integers(0, 1000))
def test_sample_stands_for_all(listed: list[int], n_wanted: int, seed: int) -> None:
    counts = np.array(listed)
    drawn, weights = weighted_sample(counts, n_wanted, np.random.default_rng(seed))
    assert len(set(drawn.tolist())) == drawn.size
    if n_wanted >= counts.size:
        assert drawn.tolist() == list(range(counts.size))
        assert weights.tolist() == listed
    else:
        assert abs(drawn.size - n_wanted) <= 1
        assert (weights >= counts[drawn] - 1e-9).all()
        npt.assert_allclose(weights.sum(), counts.sum(), atol=weights.max() * 1.001)


@pytest.mark.slow
def test_weighted_sums_over_samples_are_right_in_expectation() -> None:
    rng = np.random.default_rng(0)
    counts = np.array([1, 1, 2, 3, 5, 40, 2, 1])
    sums = np.zeros(counts.size)
    for _ in range(4000):
        drawn, weights = weighted_sample(counts, 4, rng)
        sums[drawn] += weights
    npt.assert_allclose(sums / 4000, counts, rtol=0.12)
    assert sums[5] == 40 * 4000  # what occurs most is always there


# ---------------------------------------------------------------- batches


def pool(n_windows: int = 50, spans: tuple[tuple[int, int], ...] = ((0, 20), (20, 50))) -> Pool:
    return Pool.of(timeline(n_windows), spans, (4, 2, 3))


def test_an_epoch_has_every_item_once_with_its_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "_BATCH_SIZE", 8)
    items = pool()
    batches = items.epoch(10**6, np.random.default_rng(0))
    assert max(batch.items.size for batch in batches) <= 8
    drawn = np.concatenate([batch.items for batch in batches])
    weights = np.concatenate([batch.weights for batch in batches])
    assert sorted(drawn.tolist()) == list(range(items.n_items))
    npt.assert_array_equal(weights, items.counts[drawn])
    everything = [tuple(row) for found in items.of_length for row in found.items.tolist()]
    for batch in batches:
        assert [everything[item] for item in batch.items] == [tuple(row) for row in batch.codes.tolist()]


def test_partners_stand_where_the_item_does() -> None:
    items, rng = pool(), np.random.default_rng(0)
    codes, spans = timeline(50), ((0, 20), (20, 50))
    stands_at = {
        (tuple(codes[i : i + a]), tuple(codes[i : i + b]))
        for start, stop in spans
        for i in range(start, stop)
        for a in (2, 3, 4)
        for b in (2, 3, 4)
        if a != b and i + max(a, b) <= stop
    }
    seen = set()
    for batch in [batch for _ in range(15) for batch in items.epoch(10**6, rng)]:
        partners = [tuple(row) for row in batch.partner_codes[batch.partner_of].tolist()]
        own = [tuple(row) for row in batch.codes[batch.paired].tolist()]
        shorter = [min(pair, key=len) for pair in zip(own, partners, strict=True)]
        assert len({tuple(row) for row in batch.partner_codes.tolist()}) == len(batch.partner_codes)
        for kind in set(batch.partner_kinds.tolist()):
            assert len({shorter[row] for row in np.flatnonzero(batch.partner_kinds == kind)}) == 1
        assert len(set(batch.partner_kinds.tolist())) == len(set(shorter))
        seen |= set(zip(own, partners, strict=True))
    assert seen <= stands_at
    assert len(seen) > 0.8 * len(stands_at)
