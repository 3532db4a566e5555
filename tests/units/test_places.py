"""Places of groups: the way home, its limits, what is stored, and the moving of units against a slow twin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.arrays import Floats
from rondo.data.windows import Span
from rondo.errors import ModelError
from rondo.units.places import Place, Places, Standing, moved
from rondo.units.vocabulary import Vocabulary
from tests.naive_units import moved_centres

seeds = st.integers(0, 10_000)


def rows_of(seed: int, n_windows: int = 40, n_dims: int = 3) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_windows, n_dims)) * rng.uniform(0.1, 5, n_dims) + rng.normal(size=n_dims)


def standing(seed: int, n_dims: int = 3) -> Standing:
    return Standing.of(rows_of(seed, n_dims=n_dims))


def assert_same(some: Standing, other: Standing, rtol: float = 1e-9) -> None:
    npt.assert_allclose(some.mean, other.mean, rtol=rtol, atol=rtol)
    npt.assert_allclose(some.spread, other.spread, rtol=rtol, atol=rtol)


# ---------------------------------------------------------------- mean and spread


@given(seeds, st.integers(1, 4))
def test_the_common_standing_is_that_of_all_rows_where_groups_are_equally_long(seed: int, n_groups: int) -> None:
    each = [rows_of(seed + g) for g in range(n_groups)]
    assert_same(Standing.common(each), Standing.of(np.concatenate(each)))


# ---------------------------------------------------------------- the way home


@given(
    seeds, st.lists(st.floats(0.01, 100), min_size=3, max_size=3), st.lists(st.floats(-50, 50), min_size=3, max_size=3)
)
def test_scaled_and_shifted_rows_come_home_to_the_same_rows(seed: int, gains: list[float], shifts: list[float]) -> None:
    rows, common = rows_of(seed), standing(seed + 1)
    there = rows * np.array(gains) + np.array(shifts)
    home = Standing.of(rows).home(rows, common)
    npt.assert_allclose(Standing.of(there).home(there, common), home, rtol=1e-8, atol=1e-8)
    assert_same(Standing.of(home), common)


@pytest.mark.parametrize("constant", [0.0, -7.3, 1e6])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_dimension_that_does_not_vary_comes_home_to_the_common_mean(constant: float, kind: type) -> None:
    """What rounding leaves of its spread is no spread: its mean over 7, 40 or 1,000 windows is seldom exact."""
    for n_windows in (7, 40, 1_000):
        rows = rows_of(0, n_windows).astype(kind)
        rows[:, 1] = constant
        home = Standing.of(rows).home(rows, common := standing(1))
        npt.assert_allclose(home[:, 1], common.mean[1], rtol=1e-6)
        assert_same(Standing.of(home[:, [0, 2]]), Standing(common.mean[[0, 2]], common.spread[[0, 2]]), rtol=1e-5)


# ---------------------------------------------------------------- towards the common place, and within bounds


@given(seeds)
def test_nothing_seen_is_the_common_place_and_much_seen_is_ones_own(seed: int) -> None:
    own, common = standing(seed), standing(seed + 1)
    assert_same(own.towards(common, 0.0), common)
    assert_same(own.towards(common, 1e12), own, rtol=1e-6)


def test_five_window_lengths_lie_half_way() -> None:
    own, common = Standing(np.array([3.0]), np.array([7.0])), Standing(np.array([1.0]), np.array([1.0]))
    assert_same(own.towards(common, 5.0), Standing(np.array([2.0]), np.array([5.0])))  # (49 + 1) / 2 = 25


@given(seeds, st.integers(1, 5))
def test_groups_that_are_known_lie_within(seed: int, n_groups: int) -> None:
    each = [rows_of(seed + g) for g in range(n_groups)]
    common, known = Standing.common(each), [Standing.of(rows) for rows in each]
    for own in known:
        assert_same(own.within(common, known), own)


@given(seeds, st.integers(1, 5))
def test_who_stands_far_away_is_brought_within_one_and_a_half_times_the_farthest(seed: int, n_groups: int) -> None:
    each = [rows_of(seed + g) for g in range(n_groups)]
    common, known = Standing.common(each), [Standing.of(rows) for rows in each]
    far = Standing(common.mean + np.array([1e4, -1e4, 0.0]), common.spread * np.array([1e4, 1e-4, 1.0]))
    near = far.within(common, known)
    for d in range(3):
        means = [(own.mean[d] - common.mean[d]) * 1.5 for own in known]
        npt.assert_allclose(near.mean[d] - common.mean[d], (max(0, *means), min(0, *means), 0.0)[d], atol=1e-9)
        logs = [np.log(own.spread[d] / common.spread[d]) * 1.5 for own in known]
        npt.assert_allclose(
            np.log(near.spread[d] / common.spread[d]), (max(0, *logs), min(0, *logs), 0.0)[d], atol=1e-9
        )


def test_where_no_group_is_known_there_are_no_bounds() -> None:
    far = Standing(np.array([1e9]), np.array([1e9]))
    assert far.within(Standing(np.zeros(1), np.ones(1)), []) is far


def test_what_does_not_vary_stays_so_within() -> None:
    still = Standing(np.array([1.0, 1.0]), np.array([0.0, 2.0]))
    common = Standing(np.zeros(2), np.array([1.0, 0.0]))
    near = still.within(common, [still, common])
    assert near.spread[0] == 0
    assert np.isfinite(near.spread).all()


# ---------------------------------------------------------------- units that move


def vocabulary_of(centres: Floats) -> Vocabulary:
    n = len(centres)
    return Vocabulary(tuple(range(n)), n, centres, 2 * centres, np.ones(n), np.full(n, 0.1), np.full(n, 3.0))


def wandering(seed: int, n_windows: int, centres: Floats) -> Floats:
    """Windows that stay with a unit for a while, each unit shifted by its own bit."""
    rng = np.random.default_rng(seed)
    units = np.repeat(rng.integers(len(centres), size=n_windows // 5 + 1), 5)[:n_windows]
    shifts = 0.4 * rng.normal(size=centres.shape)
    return np.asarray((centres + shifts)[units] + 0.3 * rng.normal(size=(n_windows, centres.shape[1])))


@given(seeds, st.integers(1, 4), st.integers(1, 40), st.floats(0.05, 1), st.floats(0, 2))
def test_units_move_as_the_loop_over_windows_says(
    seed: int, n_units: int, n_windows: int, weight: float, penalty: float
) -> None:
    centres = 2 * np.random.default_rng(seed).normal(size=(n_units, 2))
    latents = wandering(seed, n_windows, centres)
    cut = n_windows // 2
    spans: Sequence[Span] = ((0, cut), (cut, n_windows)) if cut else ((0, n_windows),)
    there = moved(vocabulary_of(centres), latents, 2 * latents, spans, penalty, weight)
    npt.assert_allclose(there.centres, moved_centres(centres, latents, spans, penalty, weight), atol=1e-9)
    npt.assert_allclose(there.prototypes, 2 * there.centres, atol=1e-9)
    assert there.ids == tuple(range(n_units))
    npt.assert_array_equal(there.radii, np.ones(n_units))


# ---------------------------------------------------------------- the places of groups


def project(representations: np.ndarray) -> Floats:
    return np.asarray(representations[:, :2], np.float64)


CENTRES = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])


def group(seed: int, n_windows: int = 200) -> np.ndarray:
    rng = np.random.default_rng(seed)
    latents = wandering(seed, n_windows, CENTRES)
    rows = np.column_stack([latents, rng.normal(size=n_windows)])
    return (rows * rng.uniform(0.5, 2, 3) + rng.normal(size=3)).astype(np.float32)


def find(places: Places, rows: np.ndarray, weight: float = 0.25) -> Place:
    return places.find(rows, ((0, len(rows)),), vocabulary_of(CENTRES), 0.5, weight, project)


def fitted_places(names: Sequence[str], n_windows: int = 200) -> Places:
    each = [group(seed, n_windows) for seed in range(len(names))]
    common = Standing.common(each)
    home = [project(Standing.of(rows).home(rows, common)) for rows in each]
    places = Places(common, Standing.common(home))
    return places.with_groups({name: find(places, rows) for name, rows in zip(names, each, strict=True)})


def test_a_group_that_is_scaled_and_shifted_reads_where_it_read_before() -> None:
    """Where much has been seen, and without bounds: of little, mean and spread lie partly in the common place."""
    places, rows = replace(fitted_places("abc"), of_group={}), group(1)
    there = rows * np.array([1.3, 0.2, 7], np.float32) + np.array([0.2, -3, 1], np.float32)
    homes = [places.at_home(find(places, one, weight=1e6), one, project) for one in (rows, there)]
    npt.assert_allclose(homes[0][0], homes[1][0], atol=1e-4)
    npt.assert_allclose(homes[0][1], homes[1][1], atol=1e-4)


def test_a_far_away_group_is_clipped_and_a_group_known_by_name_is_replaced() -> None:
    places = fitted_places("abc")
    far = find(places, group(1) + np.float32(1e6))
    bounds = [np.abs(own.representations.mean - places.representations.mean) for own in places.of_group.values()]
    assert (np.abs(far.representations.mean - places.representations.mean) <= 1.5 * np.max(bounds, axis=0) + 1e-6).all()
    again = places.with_groups({"b": far, "d": far})
    assert list(again.of_group) == ["a", "b", "c", "d"]
    assert again.of_group["b"] is far
    assert again.of_group["a"] is places.of_group["a"]
    assert list(places.of_group) == ["a", "b", "c"]


# ---------------------------------------------------------------- what is stored

ODD_NAMES = ["subject 1", "größe=Ä", "人-3", "a\nb", "a", "b", "", "line\r\n", "back\\nslash", "\udcff", "\u2028", "\0"]


def test_restored_places_are_the_same_whatever_groups_are_called() -> None:
    places = fitted_places(ODD_NAMES, n_windows=20)
    again = Places.restore({name: np.array(own) for name, own in places.tensors().items()})
    assert list(again.of_group) == ODD_NAMES
    assert_same(again.representations, places.representations, rtol=0)
    assert_same(again.latents, places.latents, rtol=0)
    for name in ODD_NAMES:
        assert_same(again.of_group[name].representations, places.of_group[name].representations, rtol=0)
        assert_same(again.of_group[name].latents, places.of_group[name].latents, rtol=0)
        npt.assert_array_equal(again.of_group[name].centres, places.of_group[name].centres)


def test_places_of_a_dimension_that_does_not_vary_are_restored() -> None:
    places = fitted_places("abc", n_windows=20)
    tensors = places.tensors()
    tensors["latents"] = np.array(tensors["latents"])
    tensors["latents"][:, 1] = [0.0, 0.5]  # the spread
    again = Places.restore(tensors)
    npt.assert_array_equal(again.of_group["b"].latents.spread, [0.0, 0.5])


DAMAGED = {
    "no names": {"groups": None},
    "no centres": {"centres": None},
    "a group too few": {"groups": np.frombuffer(b"a\nb", np.uint8)},
    "a name twice": {"groups": np.frombuffer(b"a\nb\nb", np.uint8)},
    "names that are no text": {"groups": np.frombuffer(b"a\n\\xzz\nc", np.uint8)},
    "names that are no bytes": {"groups": np.array([[0.5]])},
    "too few latents": {"latents": np.zeros((3, 2, 2))},
    "too many latents": {"latents": np.zeros((5, 2, 2))},
    "no common place": {"representations": np.zeros((0, 2, 3))},
    "three of two": {"representations": np.zeros((4, 3, 3))},
    "numbers only": {"representations": np.zeros(4)},
    "centres elsewhere": {"centres": np.zeros((3, 3, 5))},
    "centres in a heap": {"centres": np.zeros((3, 6))},
    "not a number": {"latents": np.full((4, 2, 2), np.nan)},
    "a negative spread": {"latents": np.full((4, 2, 2), -1.0)},
}


@pytest.mark.parametrize("change", DAMAGED.values(), ids=DAMAGED)
def test_damaged_places_are_refused_in_one_line(change: dict[str, np.ndarray | None]) -> None:
    tensors = {**fitted_places("abc", 20).tensors(), **change}
    with pytest.raises(ModelError, match="places of its groups") as caught:
        Places.restore({name: own for name, own in tensors.items() if own is not None})
    assert "\n" not in str(caught.value)
