from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.config.schema import AcceptanceConfig
from rondo.mixture import acceptance_of

_members = st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1)), min_size=1, max_size=30)


def columns(members: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    distances, posteriors = np.array(members).T
    return distances, posteriors


def quantile(values: list[float], share: float) -> float:
    """Linear between the order statistics, by hand."""
    ordered = sorted(values)
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


@settings(max_examples=100, deadline=None)
@given(_members)
def test_radius_and_floor_are_the_papers_quantiles(members: list[tuple[float, float]]) -> None:
    radius, floor = acceptance_of(*columns(members), AcceptanceConfig())
    assert radius == pytest.approx(max(quantile([d for d, _ in members], 0.95), 1e-9))
    assert floor == pytest.approx(min(quantile([p for _, p in members], 0.05), 0.99))


@settings(max_examples=50, deadline=None)
@given(_members, st.randoms(use_true_random=False))
def test_order_of_members_does_not_matter(members: list[tuple[float, float]], random: object) -> None:
    shuffled = members.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert acceptance_of(*columns(shuffled), AcceptanceConfig()) == acceptance_of(*columns(members), AcceptanceConfig())


def test_a_wider_quantile_accepts_no_less() -> None:
    rng = np.random.default_rng(0)
    distances, posteriors = rng.random(50), rng.random(50)
    radii = [
        acceptance_of(distances, posteriors, AcceptanceConfig(radius_quantile=q)).radius for q in (0.1, 0.5, 0.95, 1.0)
    ]
    floors = [
        acceptance_of(distances, posteriors, AcceptanceConfig(posterior_quantile=q)).posterior_floor
        for q in (0.0, 0.05, 0.5, 0.9)
    ]
    assert radii == sorted(radii)
    assert floors == sorted(floors)
    assert radii[-1] == distances.max()
    assert floors[0] == posteriors.min()


def test_most_members_are_accepted_by_their_own_entry() -> None:
    rng = np.random.default_rng(1)
    distances, posteriors = rng.gamma(3, size=400), rng.beta(5, 1, size=400)
    radius, floor = acceptance_of(distances, posteriors, AcceptanceConfig())
    assert (distances <= radius).mean() == pytest.approx(0.95, abs=0.01)
    assert (posteriors >= floor).mean() == pytest.approx(0.95, abs=0.01)


def test_coincident_and_certain_members_leave_room_for_rounding() -> None:
    radius, floor = acceptance_of(np.zeros(5), np.ones(5), AcceptanceConfig())
    assert radius > 0
    assert floor < 1
