"""Unit discovery: what persists is kept, what passes is dropped, and reading equals fitting."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.config.settings import MixtureConfig
from rondo.data.labels import runs_of
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_rand
from rondo.units.discover import UnitRules, _persisting, discover_units
from rondo.units.viterbi import centre_distances, decode, typical_step
from rondo.units.vocabulary import Vocabulary

Floats = NDArray[np.float64]
PENALTY = 0.4


def visits(places: list[tuple[float, float, int]], seed: int, spread: float = 0.1) -> Floats:
    """Latents that stay n windows around each place (x, y, n) in turn."""
    rng = np.random.default_rng(seed)
    clean = np.concatenate([np.tile([x, y], (n, 1)) for x, y, n in places])
    return np.asarray(clean + rng.normal(scale=spread, size=clean.shape))


def discovered(
    latents: Floats, shortest_run: float, spans: tuple[tuple[int, int], ...] = (), seed: int = 0
) -> Vocabulary:
    spans = spans or ((0, latents.shape[0]),)
    rules = UnitRules(PENALTY / (typical_step(latents, spans) or 1.0), shortest_run, 1.0)
    return discover_units(latents, latents, spans, rules, MixtureConfig(), np.random.default_rng(seed))[0]


BACK_AND_FORTH = [(0.0, 0.0, 40), (2.0, 1.0, 2), (4.0, 0.0, 40), (2.0, 1.0, 2)] * 8


def test_a_passage_between_two_units_is_no_unit() -> None:
    latents = visits(BACK_AND_FORTH, seed=0)
    assert len(discovered(latents, shortest_run=0)) == 3
    kept = discovered(latents, shortest_run=4)
    assert len(kept) == 2
    npt.assert_allclose(kept.centres, [[0, 0], [4, 0]], atol=0.1)


def test_units_are_numbered_by_first_appearance() -> None:
    latents = visits([(8.0, 0.0, 30), (0.0, 0.0, 30), (4.0, 4.0, 30)] * 5, seed=1)
    vocabulary = discovered(latents, shortest_run=4)
    assert vocabulary.ids == (0, 1, 2)
    npt.assert_allclose(vocabulary.centres, [[8, 0], [0, 0], [4, 4]], atol=0.2)
    timeline = decode(latents, ((0, latents.shape[0]),), vocabulary, PENALTY)
    npt.assert_array_equal(runs_of(timeline.ids).ids, [0, 1, 2] * 5)


@pytest.mark.parametrize("shortest_run", [0, 4])
@pytest.mark.parametrize("seed", range(2))
def test_reading_the_fitted_latents_gives_the_support_that_was_fitted(shortest_run: float, seed: int) -> None:
    """predict equals fit: members, radius and numbering come from the very path that decoding finds."""
    rng = np.random.default_rng(seed)
    places = [(*rng.integers(0, 6, 2).astype(float).tolist(), int(rng.integers(1, 12))) for _ in range(40)]
    latents = visits(places, seed, spread=0.5)
    spans = ((0, latents.shape[0] // 3), (latents.shape[0] // 3, latents.shape[0]))
    vocabulary = discovered(latents, shortest_run, spans)
    timeline = decode(latents, spans, vocabulary, PENALTY)
    npt.assert_array_equal(vocabulary.supports, np.bincount(timeline.ids, minlength=len(vocabulary)))
    appeared = timeline.ids[np.sort(np.unique(timeline.ids, return_index=True)[1])]
    npt.assert_array_equal(appeared, np.arange(len(vocabulary)))
    for id, centre, radius in zip(vocabulary.ids, vocabulary.centres, vocabulary.radii, strict=True):
        own = np.linalg.norm(latents[timeline.ids == id] - centre, axis=1)
        assert radius == pytest.approx(np.quantile(own, 0.95))


def test_the_order_of_recordings_changes_names_only() -> None:
    a, b = visits(BACK_AND_FORTH, seed=2), visits([(4.0, 0.0, 25), (1.0, 3.0, 25)] * 6, seed=3)
    labels = []
    for parts in ((a, b), (b, a)):
        sizes = [part.shape[0] for part in parts]
        vocabulary = discovered(np.concatenate(parts), 4, ((0, sizes[0]), (sizes[0], sum(sizes))))
        labels.append(np.concatenate([decode(x, ((0, x.shape[0]),), vocabulary, PENALTY).ids for x in (a, b)]))
    assert adjusted_rand(Overlap.of(*labels)) == 1.0


@given(st.integers(1, 30), st.integers(1, 5), st.floats(0, 100), st.floats(0, 3), st.integers(0, 1000))
def test_what_is_left_lasts_or_is_alone(
    n_windows: int, n_components: int, shortest: float, penalty: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    distances = centre_distances(rng.normal(size=(n_windows, 2)), rng.normal(size=(n_components, 2)))
    cut = n_windows // 2
    spans = tuple(span for span in ((0, cut), (cut, n_windows)) if span[1] > span[0])
    kept = _persisting(distances, spans, penalty, shortest)
    assert kept.size >= 1
    assert sorted(set(kept.tolist())) == kept.tolist()
    again = _persisting(distances[:, kept], spans, penalty, shortest)
    npt.assert_array_equal(again, np.arange(kept.size))


@pytest.mark.parametrize("latents", [np.zeros((1, 2)), np.zeros((5, 1)), np.array([[0.0], [1.0]])])
def test_a_few_windows_give_a_vocabulary(latents: Floats) -> None:
    vocabulary = discovered(latents, shortest_run=4)
    assert len(vocabulary) == 1
    assert np.isfinite(vocabulary.centres).all()
    assert vocabulary.radii.min() > 0
