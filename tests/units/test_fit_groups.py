"""Units fitted to groups: which groups take part, what a group is, in which order ids come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.testing as npt
import pytest
from sklearn.metrics import adjusted_rand_score

from rondo.checks.encoders import planted, windows_of
from rondo.config.settings import SlowUnitsConfig
from rondo.data.windows import Windows
from rondo.encoders.base import build_encoder
from rondo.encoders.summary_stats import SummaryStatsConfig
from rondo.errors import ModelError
from rondo.model.transfer import distances_moved, moved_to
from rondo.units.fit import fit_units
from rondo.units.model import UnitModel
from tests.planted_groups import PlantedGroup, Remembered, planted_group, windows_of_rows

PLANTED = [planted_group(seed, n_windows) for seed, n_windows in ((0, 400), (1, 480), (2, 360))]


def fitted(each: Sequence[np.ndarray], groups: Sequence[str] = (), *, places: bool = True) -> UnitModel:
    windows = [windows_of_rows(rows) for rows in each]
    config = SlowUnitsConfig(places=places)
    return fit_units(windows, Remembered(), config, np.random.default_rng(0), "cpu", groups=groups)


def assert_same_bits(some: UnitModel, other: UnitModel) -> None:
    tensors, others = some.tensors(), other.tensors()
    assert set(tensors) == set(others)
    for name, tensor in tensors.items():
        npt.assert_array_equal(tensor, others[name], err_msg=name)


def read(model: UnitModel, each: Sequence[np.ndarray], groups: Sequence[str]) -> list[np.ndarray]:
    return [model.timeline(windows_of_rows(rows), group).ids for rows, group in zip(each, groups, strict=True)]


def rows_of(planted: Sequence[PlantedGroup]) -> list[np.ndarray]:
    return [group.rows for group in planted]


# ---------------------------------------------------------------- who takes part


def test_one_group_is_no_group_to_the_bit() -> None:
    rows = rows_of(PLANTED)
    plain = fitted(rows)
    assert plain.places is None
    assert_same_bits(fitted(rows, ["a"] * 3), plain)
    assert_same_bits(fitted(rows[:1], ["a"]), fitted(rows[:1]))


def test_places_that_are_not_asked_for_are_not_there() -> None:
    rows = rows_of(PLANTED)
    assert fitted(rows, "abc").places is not None
    assert_same_bits(fitted(rows, "abc", places=False), fitted(rows))


def test_rows_are_at_home_where_they_have_no_place() -> None:
    rows = rows_of(PLANTED)
    model, plain = fitted(rows, "abc"), fitted(rows, places=False)
    assert model.places is not None
    place = model.places.of_group["a"]
    assert model.at_home(rows[0], None) is rows[0] and plain.at_home(rows[0], place) is rows[0]
    assert not np.array_equal(model.at_home(rows[0], place), rows[0])
    npt.assert_array_equal(model.latents(rows[0], None), model.projection.apply(rows[0]))
    npt.assert_array_equal(plain.latents(rows[0], place), plain.projection.apply(rows[0]))


def test_groups_too_short_for_units_of_their_own_are_fitted_as_one() -> None:
    """A window adds a quarter of its length, and 20 lengths make a group: 79 windows are too few, 80 enough."""
    short, enough = ([planted_group(seed, n).rows for seed in range(4)] for n in (79, 80))
    assert fitted(short, "abcd").places is None
    assert_same_bits(fitted(short, "abcd"), fitted(short, "abcd", places=False))
    assert fitted(enough, "abcd").places is not None


def test_where_short_groups_hold_most_windows_all_are_fitted_as_one() -> None:
    rows = [planted_group(seed, n).rows for seed, n in enumerate([100, 100, 70, 70, 70])]
    assert_same_bits(fitted(rows, "abcde"), fitted(rows, places=False))
    assert fitted(rows[:4], "abcd").places is not None  # 200 of 340


def test_a_short_group_among_long_ones_is_read_and_has_a_place() -> None:
    short = planted_group(5, 40)
    rows, names = [*rows_of(PLANTED), short.rows], ["a", "b", "c", "short"]
    model = fitted(rows, names)
    assert model.places is not None
    assert list(model.places.of_group) == names
    truth = np.concatenate([*(group.truth for group in PLANTED), short.truth])
    assert adjusted_rand_score(truth, np.concatenate(read(model, rows, names))) > 0.9
    npt.assert_array_equal(model.vocabulary.centres, fitted(rows[:3], names[:3]).vocabulary.centres)


# ---------------------------------------------------------------- what a group is


def test_several_recordings_of_one_group_count_as_one_group() -> None:
    """Cut in two, a group is the same group, but for the one step from window to window at the cut."""
    parts = [half for group in PLANTED for half in np.split(group.rows, 2)]
    whole, cut = fitted(rows_of(PLANTED), "abc"), fitted(parts, "aabbcc")
    assert whole.places is not None
    assert cut.places is not None
    assert list(cut.places.of_group) == ["a", "b", "c"]
    for part in ("representations", "latents"):
        npt.assert_allclose(getattr(cut.places, part).mean, getattr(whole.places, part).mean, atol=0.05)
    npt.assert_allclose(cut.places.representations.spread, whole.places.representations.spread, rtol=1e-6)
    some, other = read(whole, rows_of(PLANTED), "abc"), read(cut, parts, "aabbcc")
    assert adjusted_rand_score(np.concatenate(some), np.concatenate(other)) > 0.97


def test_ids_come_by_first_appearance_in_the_order_of_signals() -> None:
    """Where signals of the groups come mixed: unit 2 in the second signal, unit 3 in another of the first group."""
    (a, of_a), (b, of_b) = PLANTED[:2]
    signals = [b[of_b < 2], a[of_a != 3], np.concatenate([b[of_b == 3], b]), a]
    truth = [of_b[of_b < 2], of_a[of_a != 3], np.concatenate([of_b[of_b == 3], of_b]), of_a]
    model = fitted(signals, "baba")
    assert model.places is not None
    ids = np.concatenate(read(model, signals, "baba"))
    first = {int(id): int(at) for id, at in zip(*np.unique(ids, return_index=True), strict=True)}
    assert sorted(first, key=lambda id: first[id]) == sorted(first) == list(model.vocabulary.ids)
    shown = [int(np.bincount(ids[np.concatenate(truth) == unit]).argmax()) for unit in range(4)]
    assert max(shown[:2]) < shown[2] < shown[3]


def test_the_order_of_signals_changes_names_only() -> None:
    parts, names = [half for group in PLANTED for half in np.split(group.rows, 2)], "aabbcc"
    order = [3, 0, 5, 1, 2, 4]
    first = read(fitted(parts, names), parts, names)
    mixed = fitted([parts[i] for i in order], [names[i] for i in order])
    assert adjusted_rand_score(np.concatenate(first), np.concatenate(read(mixed, parts, names))) > 0.999


@pytest.mark.parametrize("shifted", [2])
def test_a_group_shifted_and_scaled_has_the_same_labels(shifted: int) -> None:
    """By another factor and offset in every dimension; the common place moves a little with it."""
    rng = np.random.default_rng(shifted)
    rows = rows_of(PLANTED)
    there = rows.copy()
    there[shifted] = (rows[shifted] * rng.uniform(0.2, 5, 6) + 20 * rng.normal(size=6)).astype(np.float32)
    labels = [np.concatenate(read(fitted(each, "abc"), each, "abc")) for each in (rows, there)]
    plain = [np.concatenate(read(fitted(each), each, "abc")) for each in (rows, there)]
    assert adjusted_rand_score(*labels) > 0.97
    assert adjusted_rand_score(*plain) < 0.9  # what makes the difference


def test_planted_units_are_found_where_people_differ() -> None:
    planted = [planted_group(seed, style=0.8) for seed in range(6)]
    rows = rows_of(planted)
    truth = np.concatenate([group.truth for group in planted])
    ids = np.concatenate(read(fitted(rows, "abcdef"), rows, "abcdef"))
    assert adjusted_rand_score(truth, ids) > 0.9


# ---------------------------------------------------------------- reading, moving, keeping


def test_a_group_that_is_known_is_read_in_its_stored_place_and_found_anew_in_the_same() -> None:
    rows = rows_of(PLANTED)
    model = fitted(rows, "abc")
    for name, own in zip("abc", rows, strict=True):
        known, again = (model.timeline(windows_of_rows(own), group) for group in (name, None))
        npt.assert_array_equal(known.ids, again.ids)
        npt.assert_allclose(known.distances, again.distances, rtol=1e-4)


def test_a_new_group_gets_a_place_and_the_others_keep_theirs() -> None:
    model = fitted(rows_of(PLANTED), "abc")
    new = planted_group(7, 300)
    windows = windows_of_rows(new.rows)
    moved = moved_to(model, [windows], ["d"])
    assert model.places is not None
    assert moved.places is not None
    assert list(moved.places.of_group) == ["a", "b", "c", "d"]
    assert all(moved.places.of_group[name] is model.places.of_group[name] for name in "abc")
    assert (moved.vocabulary, moved.projection) == (model.vocabulary, model.projection)
    npt.assert_array_equal(moved.timeline(windows, "d").ids, model.timeline(windows).ids)
    assert adjusted_rand_score(new.truth, moved.timeline(windows, "d").ids) > 0.9
    steps = distances_moved(model, moved, ["d"])
    assert list(steps) == list(model.vocabulary.ids)
    place = moved.places.of_group["d"].centres
    expected = np.linalg.norm(place - model.vocabulary.centres, axis=1) / model.vocabulary.radii
    assert list(steps.values()) == pytest.approx(expected.tolist())


@pytest.fixture(scope="module")
def described() -> tuple[UnitModel, list[Windows]]:
    """With an encoder that can be stored."""
    windows = [windows_of(planted(900, seed=seed)) for seed in range(3)]
    encoder = build_encoder(SummaryStatsConfig()).fit(windows)
    config = SlowUnitsConfig()
    return fit_units(windows, encoder, config, np.random.default_rng(0), "cpu", groups="abc"), windows


def test_restored_reads_the_same_bits(described: tuple[UnitModel, list[Windows]]) -> None:
    model, signals = described
    assert model.places is not None
    again = UnitModel.restore(model.tensors(), SummaryStatsConfig(), SlowUnitsConfig())
    for windows in signals:
        for group in ("a", "c", "new", None):
            npt.assert_array_equal(again.timeline(windows, group).ids, model.timeline(windows, group).ids)
            npt.assert_array_equal(again.timeline(windows, group).distances, model.timeline(windows, group).distances)


def test_places_of_other_units_are_refused(described: tuple[UnitModel, list[Windows]]) -> None:
    tensors = described[0].tensors()
    tensors["places.centres"] = np.asarray(tensors["places.centres"])[:, :-1]
    with pytest.raises(ModelError, match="about other units"):
        UnitModel.restore(tensors, SummaryStatsConfig(), SlowUnitsConfig())


def test_a_model_without_places_restores_without(described: tuple[UnitModel, list[Windows]]) -> None:
    tensors = {name: own for name, own in described[0].tensors().items() if not name.startswith("places.")}
    assert UnitModel.restore(tensors, SummaryStatsConfig(), SlowUnitsConfig()).places is None
