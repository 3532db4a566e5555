"""Units that groups share: matching and directions against slow twins, and what must not matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from rondo.arrays import Floats, Ints
from rondo.config.settings import SlowUnitsConfig
from rondo.data.recording import Recording
from rondo.data.windows import Span
from rondo.model.rondo import Rondo
from rondo.synthetic.plan import STANDARD
from rondo.synthetic.streams import plant_subjects
from rondo.units import discover
from rondo.units.discover import GroupWindows, fit_agreeing, fit_shared, latents_at_home, matched
from tests.naive_units import agreeing_directions, joined_by_trying, matched_units
from tests.planted_groups import planted_group

seeds = st.integers(0, 10_000)
STEP_SHARE = 0.25


def renamed_alike(some: Sequence[Ints], other: Sequence[Ints]) -> bool:
    """Whether labels are the same up to the names of units."""
    pairs = {(int(a), int(b)) for x, y in zip(some, other, strict=True) for a, b in zip(x, y, strict=True)}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


# ---------------------------------------------------------------- matching


def drawn_units(seed: int, n_units: Sequence[int]) -> list[Floats]:
    """Means of the units of groups: the same in all, and some that are not."""
    rng = np.random.default_rng(seed)
    common = 3 * rng.normal(size=(6, 2))
    return [
        common[rng.permutation(6)[:n]] + 0.5 * rng.normal(size=(n, 2)) + 9 * (rng.random((n, 1)) < 0.15)
        for n in n_units
    ]


@given(seeds, st.integers(1, 4), st.integers(1, 5), st.floats(0.1, 8))
def test_one_matching_is_the_cheapest_of_all(seed: int, n_units: int, n_prototypes: int, reach: float) -> None:
    units, prototypes = drawn_units(seed, [n_units, n_prototypes])
    numbers, grown = discover._joined(units, prototypes, reach)
    cost, expected = joined_by_trying(units, prototypes, reach)
    alone = numbers >= n_prototypes
    npt.assert_array_equal(np.where(alone, -1, numbers), expected)
    npt.assert_array_equal(grown, np.vstack([prototypes, units[alone]]))
    npt.assert_allclose(np.where(alone, reach, np.linalg.norm(units - grown[numbers], axis=1)).sum(), cost)


@given(seeds, st.lists(st.integers(1, 4), min_size=2, max_size=4))
def test_matched_is_what_trying_everything_gives(seed: int, n_units: list[int]) -> None:
    units, rng = drawn_units(seed, n_units), np.random.default_rng(seed)
    own = [np.repeat(np.arange(n), rng.integers(1, 5, n)) for n in n_units]
    each = [means[labels] for means, labels in zip(units, own, strict=True)]
    gaps = [
        min(np.linalg.norm(means[i] - means[j]) for j in range(len(means)) if j != i)
        for means in units
        for i in range(len(means))
        if len(means) > 1
    ]
    shares = [[float((labels == k).mean()) for k in range(n)] for labels, n in zip(own, n_units, strict=True)]
    expected = matched_units(units, shares, 3 * float(np.median(gaps)) if gaps else 1e9)
    found = matched(each, own, most=99)
    assert renamed_alike(found, [np.array(numbers)[labels] for numbers, labels in zip(expected, own, strict=True)])


@given(seeds, st.lists(st.integers(1, 5), min_size=2, max_size=4), st.integers(1, 6))
def test_units_of_one_group_stay_apart_unless_there_are_too_many(seed: int, n_units: list[int], most: int) -> None:
    units = drawn_units(seed, n_units)
    own = [np.arange(n) for n in n_units]
    for labels, n in zip(matched(units, own, most=99), n_units, strict=True):
        assert len(set(labels.tolist())) == n
    kept = {int(k) for labels in matched(units, own, most) for k in labels}
    assert kept <= set(range(most))


@given(seeds, st.lists(st.integers(1, 5), min_size=2, max_size=4))
def test_how_units_are_numbered_and_how_groups_are_ordered_does_not_matter_to_matching(
    seed: int, n_units: list[int]
) -> None:
    units, rng = drawn_units(seed, n_units), np.random.default_rng(seed)
    own = [rng.permutation(np.r_[np.arange(n), rng.integers(n, size=6)]) for n in n_units]
    each = [means[labels] for means, labels in zip(units, own, strict=True)]
    first = matched(each, own, most=99)
    renumbered = [rng.permutation(n)[labels] for n, labels in zip(n_units, own, strict=True)]
    assert renamed_alike(first, matched(each, renumbered, most=99))
    assert renamed_alike(first, matched(each[::-1], own[::-1], most=99)[::-1])


def test_one_unit_each_is_one_unit() -> None:
    one, other = np.zeros((5, 2)), np.full((4, 2), 1e6)
    assert [set(labels.tolist()) for labels in matched([one, other], [np.zeros(5, int), np.zeros(4, int)], 9)] == [
        {0},
        {0},
    ]


# ---------------------------------------------------------------- directions


def drawn_groups(seed: int, n_groups: int, n_dims: int) -> tuple[list[GroupWindows], list[Ints]]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(12, 40, n_groups)
    spans: list[tuple[Span, ...]] = [((0, n // 3), (n // 3, n // 3 + 1), (n // 3 + 1, n)) for n in sizes.tolist()]
    labels = [rng.integers(4, size=n) for n in sizes]
    centres = rng.normal(size=(4, n_dims))
    rows = [centres[own] + rng.normal(size=(own.size, n_dims)) for own in labels]
    return [GroupWindows(*one) for one in zip(rows, spans, strict=True)], labels


@given(seeds, st.integers(1, 3), st.integers(1, 12), st.integers(1, 14), st.floats(0.01, 1))
def test_directions_are_those_of_the_definition(
    seed: int, n_groups: int, n_dims: int, pca_dim: int, ridge: float
) -> None:
    groups, labels = drawn_groups(seed, n_groups, n_dims)
    found = fit_agreeing(groups, labels, SlowUnitsConfig(pca_dim=pca_dim, ridge=ridge))
    rows, spans = [group.rows for group in groups], [group.spans for group in groups]
    agreement, matrix = agreeing_directions(rows, spans, [own.tolist() for own in labels], pca_dim, ridge)
    npt.assert_allclose(found.slowness, agreement, atol=1e-8)
    npt.assert_allclose(found.matrix @ found.matrix.T, matrix @ matrix.T, atol=1e-6)
    npt.assert_allclose(found.mean, np.mean([group.rows.mean(axis=0) for group in groups], axis=0))


def test_what_tells_groups_apart_tells_units_apart_no_more() -> None:
    """The first dimension is the unit in both groups; the second in one, its opposite in the other, and larger."""
    labels = [np.tile(np.repeat([0, 1], 20), 10)] * 2
    rng = np.random.default_rng(0)
    rows = [
        np.column_stack([own - 0.5, sign * 3 * (own - 0.5)]) + 0.1 * rng.normal(size=(400, 2))
        for own, sign in zip(labels, (1, -1), strict=True)
    ]
    found = fit_agreeing(
        [GroupWindows(own, ((0, 400),)) for own in rows], labels, SlowUnitsConfig(pca_dim=2, ridge=0.1)
    )
    assert abs(found.matrix[0, 0]) > 10 * abs(found.matrix[1, 0])


def test_latents_at_home_have_one_mean_and_spread_in_every_group() -> None:
    groups = [GroupWindows(planted_group(seed).rows * scale, ((0, 400),)) for seed, scale in ((0, 1.0), (1, 2.5))]
    labels = [planted_group(seed).truth for seed in (0, 1)]
    latents = latents_at_home(groups, fit_agreeing(groups, labels, SlowUnitsConfig(pca_dim=6, ridge=0.1)))
    npt.assert_allclose(latents[:400].mean(axis=0), latents[400:].mean(axis=0), atol=1e-8)
    npt.assert_allclose(latents[:400].std(axis=0), latents[400:].std(axis=0), atol=1e-8)


# ---------------------------------------------------------------- what must not matter

PLANTED = [planted_group(seed, n_windows) for seed, n_windows in ((0, 400), (1, 480), (2, 360))]


def fitted(each: Sequence[np.ndarray]) -> list[Ints]:
    groups = [GroupWindows(rows, ((0, len(rows) // 2), (len(rows) // 2, len(rows)))) for rows in each]
    return fit_shared(groups, SlowUnitsConfig(), STEP_SHARE, seed=0)[1]


@pytest.fixture(scope="module")
def labels() -> list[Ints]:
    return fitted([group.rows for group in PLANTED])


def test_planted_units_are_found_in_all_groups_at_once(labels: list[Ints]) -> None:
    truth = np.concatenate([group.truth for group in PLANTED])
    assert adjusted_rand_score(truth, np.concatenate(labels)) > 0.95


def test_the_order_of_groups_does_not_matter_to_labels(labels: list[Ints]) -> None:
    for order in ([2, 1, 0], [1, 2, 0]):
        turned = fitted([PLANTED[g].rows for g in order])
        assert renamed_alike([turned[order.index(g)] for g in range(3)], labels)


def test_copies_of_one_group_under_two_names_have_the_same_labels() -> None:
    first, again, _ = fitted([PLANTED[0].rows, PLANTED[0].rows.copy(), PLANTED[1].rows])
    npt.assert_array_equal(first, again)


def test_a_common_shift_and_scale_of_all_rows_does_not_matter(labels: list[Ints]) -> None:
    assert renamed_alike(fitted([group.rows * 4 + 32 for group in PLANTED]), labels)


def test_a_dimension_that_is_set_holds_for_groups_too() -> None:
    groups = [GroupWindows(group.rows, ((0, len(group.rows)),)) for group in PLANTED]
    projection, _ = fit_shared(groups, SlowUnitsConfig(dimension=4), STEP_SHARE, seed=0)
    assert projection.slowness.size == 4


# ---------------------------------------------------------------- what only one group does


@pytest.mark.parametrize("seed", [0])
def test_a_unit_that_only_one_group_has_keeps_an_id_of_its_own(seed: int) -> None:
    """One unit is cut out of all subjects but the first."""
    streams = plant_subjects(replace(STANDARD, style=0.5), 4, n_frames=8_000, seed=seed)
    times = np.bincount(streams[0].unit_truth[streams[0].unit_truth >= 0])
    alone = int(times.argmax())
    kept = [np.ones(8_000, bool), *(stream.unit_truth != alone for stream in streams[1:])]
    recordings = [
        Recording(stream.recording.values[own], 50, stream.recording.channels, stream.recording.id)
        for stream, own in zip(streams, kept, strict=True)
    ]
    quick = {"evidence.surrogates": 0, "motifs.method": "none"}
    result = Rondo(window="1.5s", settings=quick).fit_predict(recordings)
    shown = result[0].units[streams[0].unit_truth == alone]
    id = int(np.bincount(shown[shown >= 0]).argmax())
    assert (shown == id).mean() > 0.8
    assert (result[0].units == id).sum() < 1.5 * shown.size
    for other in list(result)[1:]:
        assert (other.units == id).mean() < 0.02
