"""Which entries are found again: against a slow twin, and what must not change it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.errors import AnnotationError
from rondo.stability import EntryStability, stability_of
from tests.metrics.naive_stability import naive_jaccard


def track(*labels: int) -> list[np.ndarray]:
    return [np.array(labels, np.int32)]


tracks = st.integers(4, 14).flatmap(lambda n: st.tuples(*[st.lists(st.integers(-1, 2), min_size=n, max_size=n)] * 2))


@given(tracks)
def test_as_the_slow_twin_has_it(pair: tuple[list[int], list[int]]) -> None:
    one, other = pair
    possible = naive_jaccard(one, other)
    found = stability_of(track(*one), [track(*other)]).entries
    assert [entry.id for entry in found] == sorted(possible)
    for entry in found:
        assert any(entry.stability == pytest.approx(value) for value in possible[entry.id])


@given(tracks, st.permutations([5, 6, 7]))
def test_names_do_not_matter(pair: tuple[list[int], list[int]], names: list[int]) -> None:
    one, other = pair
    renamed = [label if label == -1 else names[label] for label in one]
    before, after = (stability_of(track(*own), [track(*other)]) for own in (one, renamed))
    assert before.ari == after.ari
    assert sum(entry.share for entry in before.entries) == pytest.approx(sum(entry.share for entry in after.entries))


def test_the_same_is_stable_and_more_than_chance() -> None:
    labels = track(*np.repeat(np.random.default_rng(0).permutation(np.arange(40) % 4), 5))
    same = stability_of(labels, [labels, labels])
    assert [(entry.stability, entry.least, entry.verdict) for entry in same.entries] == [(1.0, 1.0, "stable")] * 4
    assert all(entry.by_chance < 0.6 for entry in same.entries)
    assert (same.n_stable, same.share_stable, same.ari) == (4, pytest.approx(1.0), (1.0, 1.0, 1.0))


def test_an_entry_that_takes_nearly_all_overlaps_by_chance() -> None:
    rng = np.random.default_rng(0)
    one, other = ((rng.random(4000) < 0.05).astype(int) for _ in range(2))
    large, small = stability_of(track(*one), [track(*other)]).entries
    assert large.stability > 0.85
    assert large.by_chance == pytest.approx(large.stability, abs=0.02)  # which says what it is worth
    assert small.stability < 0.1


def test_the_mean_over_fits_and_the_worst_of_them() -> None:
    one, split = track(0, 0, 0, 0, 1, 1, 1, 1), track(0, 0, 0, 0, 1, 1, 2, 2)
    found = stability_of(one, [one, split])
    assert [(entry.stability, entry.least) for entry in found.entries] == [(1.0, 1.0), (0.75, 0.5)]
    assert found.n_entries_of_others == (2, 3)
    assert len(found.ari) == 3


@pytest.mark.parametrize(
    ("value", "verdict"), [(0.75, "stable"), (0.7, "doubtful"), (0.5, "doubtful"), (0.4, "dissolved")]
)
def test_verdicts(value: float, verdict: str) -> None:
    assert EntryStability(0, 0.1, value, value, 0.1).verdict == verdict


def test_other_frames_are_refused() -> None:
    with pytest.raises(AnnotationError, match="2 and of 3 frames"):
        stability_of(track(0, 0), [track(0, 0, 0)])
