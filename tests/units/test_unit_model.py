"""UnitModel: several signals share one vocabulary, and what is stored reads the same."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.arrays import Tensors
from rondo.checks.encoders import planted, windows_of
from rondo.config.settings import SlowUnitsConfig, UnitsConfig
from rondo.data.windows import Windows
from rondo.encoders.base import Curves, FittedEncoder, build_encoder
from rondo.encoders.summary_stats import SummaryStatsConfig
from rondo.errors import ModelError, RecordingError
from rondo.paper.settings import DirectUnitsConfig, PublishedMixtureConfig, UnitAlignConfig
from rondo.units import fit as unit_fit
from rondo.units import model as exemplars
from rondo.units.discover import UnitRules
from rondo.units.fit import fit_units
from rondo.units.model import Exemplars, UnitModel, fit_exemplars, joined_spans
from rondo.units.vocabulary import MergeTree, merge_tree

SMALL = PublishedMixtureConfig(latent_dim=3, component_cap=6, autoencoder_epochs=2)
WAYS: tuple[UnitsConfig, ...] = (
    SlowUnitsConfig(),
    SlowUnitsConfig(dimension=3, merge=True),
    UnitAlignConfig(init_epochs=2, max_rounds=1, patience=1, mixture=SMALL),
    DirectUnitsConfig(mixture=SMALL),
    DirectUnitsConfig(mixture=SMALL.model_copy(update={"latent_dim": 0}), merge=True),
)


@pytest.fixture(scope="module")
def signals() -> list[Windows]:
    return [windows_of(planted(600)), windows_of(planted(900, seed=1), spans=((0, 400), (430, 900)))]


def fitted(signals: list[Windows], config: UnitsConfig) -> UnitModel:
    encoder = build_encoder(SummaryStatsConfig()).fit(signals)
    return fit_units(signals, encoder, config, np.random.default_rng(0), "cpu")


@pytest.fixture(scope="module")
def model(signals: list[Windows]) -> UnitModel:
    return fitted(signals, SlowUnitsConfig())


def test_support_counts_every_window_of_every_signal(model: UnitModel, signals: list[Windows]) -> None:
    ids = np.concatenate([model.timeline(windows).ids for windows in signals])
    npt.assert_array_equal(model.vocabulary.supports, np.bincount(ids, minlength=len(model.vocabulary)))


@pytest.mark.promise
@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.parametrize("config", WAYS, ids=lambda config: f"{config.method}{'+merge' * config.merge}")
def test_restored_reads_the_same_bits(config: UnitsConfig, signals: list[Windows]) -> None:
    model = fitted(signals, config)
    tensors = {name: np.array(tensor) for name, tensor in model.tensors().items()}
    again = UnitModel.restore(tensors, SummaryStatsConfig(), config)
    for windows in signals:
        npt.assert_array_equal(again.timeline(windows).ids, model.timeline(windows).ids)
        npt.assert_array_equal(again.timeline(windows).distances, model.timeline(windows).distances)
    assert again.penalty == model.penalty
    assert again.vocabulary.ids == model.vocabulary.ids
    assert again.tree.steps == model.tree.steps
    assert again.ids == model.ids


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.parametrize("config", [WAYS[0], *WAYS[2:4]], ids=lambda config: config.method)
def test_prototypes_are_means_of_embeddings(config: UnitsConfig, signals: list[Windows]) -> None:
    model = fitted(signals, config)
    embeddings = np.concatenate([model.projection.embed(model.encoder.encode(windows)) for windows in signals])
    ids = np.concatenate([model.timeline(windows).ids for windows in signals])
    for id, prototype in zip(model.vocabulary.ids, model.vocabulary.prototypes, strict=True):
        npt.assert_allclose(prototype, embeddings[ids == id].mean(axis=0), atol=1e-9)


def test_merging_shows_a_coarser_layer_of_the_same_units(signals: list[Windows]) -> None:
    over_split = {"dimension": 8, "persistence": 0.0}
    fine, merged = (fitted(signals, SlowUnitsConfig(**over_split, merge=merge)) for merge in (False, True))
    assert merged.n_merges == fine.tree.best > 0
    assert fine.n_merges == 0
    assert set(merged.ids) < set(fine.ids) == set(fine.vocabulary.ids)
    kept = fine.tree.kept_at(fine.tree.best)
    for windows in signals:
        npt.assert_array_equal(merged.timeline(windows).ids, [kept[int(id)] for id in fine.timeline(windows).ids])
        npt.assert_array_equal(merged.timeline(windows).distances, fine.timeline(windows).distances)


def test_a_window_counts_for_the_frames_it_adds_in_the_slow_way_only() -> None:
    slow = UnitRules.of(SlowUnitsConfig(persistence=1.5), 0.25, few_channels=False)
    assert slow == UnitRules(2.0, shortest_run=6.0, window_weight=0.25, most_units=60)
    assert UnitRules.of(SlowUnitsConfig(), 0.25, few_channels=True).price == 4.0
    for config in (UnitAlignConfig(), DirectUnitsConfig()):
        assert UnitRules.of(config, 0.25, few_channels=False)[1:] == (0.0, 1.0, config.mixture.component_cap)


def test_windows_that_share_frames_do_not_tell_each_other_who_they_are(
    signals: list[Windows], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def spied(*given: object, exclude: int) -> MergeTree:
        asked.append(exclude)
        return merge_tree(*given, exclude=exclude)  # type: ignore[arg-type]

    monkeypatch.setattr(unit_fit, "merge_tree", spied)
    fitted(signals, SlowUnitsConfig())
    grid = signals[0].grid
    assert asked == [(grid.length_frames - 1) // grid.step_frames]
    assert asked[0] * grid.step_frames < grid.length_frames <= (asked[0] + 1) * grid.step_frames


def test_a_merge_tree_of_other_units_is_refused(model: UnitModel) -> None:
    tensors = dict(model.tensors())
    tensors["merges.ids"] = np.append(np.asarray(tensors["merges.ids"]), 99)
    with pytest.raises(ModelError, match="merge tree"):
        UnitModel.restore(tensors, SummaryStatsConfig(), SlowUnitsConfig())


class Broken:
    """An encoder whose output overflowed at one place."""

    def __init__(self, encoder: FittedEncoder) -> None:
        self.encoder = encoder

    curves: Curves = {}  # noqa: RUF012 - as the protocol has it

    def encode(self, windows: Windows) -> NDArray[np.float32]:
        y = self.encoder.encode(windows).copy()
        y[7, 2] = np.inf
        return y

    def tensors(self) -> Tensors:
        return {}


@pytest.mark.parametrize("config", WAYS[:1] + WAYS[2:4], ids=lambda config: config.method)
def test_a_non_finite_representation_is_refused_in_one_line(config: UnitsConfig, signals: list[Windows]) -> None:
    encoder = Broken(build_encoder(SummaryStatsConfig()).fit(signals))
    with pytest.raises(RecordingError, match="window 7, dimension 2") as caught:
        fit_units(signals, encoder, config, np.random.default_rng(0), "cpu")
    assert "\n" not in str(caught.value)


def test_a_signal_without_windows_has_an_empty_timeline(model: UnitModel) -> None:
    timeline = model.timeline(windows_of(planted(5)))
    assert timeline.ids.size == timeline.scores.size == 0
    assert timeline.spans == ()
    assert timeline.share_accepted == 0.0


@given(st.lists(st.lists(st.integers(1, 9), max_size=3), max_size=4))
def test_joined_spans_cover_the_joined_axis(lengths_of_each: list[list[int]]) -> None:
    edges = [np.cumsum([0, *lengths]).tolist() for lengths in lengths_of_each]
    joined = joined_spans([list(itertools.pairwise(e)) for e in edges])
    flat = [length for lengths in lengths_of_each for length in lengths]
    assert [stop - start for start, stop in joined] == flat
    assert [start for start, _ in joined] == np.cumsum([0, *flat]).tolist()[: len(flat)]


def windows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 3)).astype(np.float32), rng.integers(0, 3, n).astype(np.int32) * 2


@given(st.integers(8, 40), st.integers(0, 3), st.integers(0, 99))
def test_the_radius_is_the_quantile_of_nearest_windows_that_share_no_frame(n: int, exclude: int, seed: int) -> None:
    points, units = windows(n, seed)
    cut = n // 2
    spans = ((0, cut), (cut, n))
    nearest = []
    for i in range(n):
        same = [j for j in range(n) if (i < cut) == (j < cut)]
        others = [j for j in range(n) if j not in same or abs(i - j) > exclude]
        if others:
            nearest.append(min(float(np.linalg.norm(points[i] - points[j])) for j in others))
    fitted = fit_exemplars(points, units, spans, exclude)
    assert fitted.radius == pytest.approx(np.quantile(nearest, 0.95), rel=1e-5)


def test_units_have_evenly_spread_windows_of_their_own() -> None:
    points, units = windows(1_000)
    fitted = fit_exemplars(points, units, ((0, 1_000),), 3)
    assert np.unique(fitted.units).tolist() == [0, 2, 4]
    assert fitted.supports.tolist() == [int((units == id).sum()) for id in (0, 2, 4)]
    assert np.bincount(fitted.units).max() == exemplars._PER_UNIT
    for unit in (0, 2, 4):
        own = points[units == unit]
        chosen = fitted.points[fitted.units == unit]
        npt.assert_array_equal(chosen[0], own[0])
        npt.assert_array_equal(chosen[-1], own[-1])


def test_windows_that_all_share_frames_have_a_radius_too() -> None:
    points, units = windows(3)
    assert fit_exemplars(points, units, ((0, 3),), exclude=5).radius > 0
    assert fit_exemplars(points[:1], units[:1], ((0, 1),), exclude=5).radius == 0


def test_restored_exemplars_are_the_same_and_damaged_ones_are_refused() -> None:
    points, units = windows(50)
    fitted = fit_exemplars(points, units, ((0, 50),), 2)
    again = Exemplars.restore(fitted.tensors())
    npt.assert_array_equal(again.points, fitted.points)
    assert (again.radius, again.step) == (fitted.radius, fitted.step)
    with pytest.raises(ModelError, match="points"):
        Exemplars.restore({name: own for name, own in fitted.tensors().items() if name != "points"})
    with pytest.raises(ModelError, match="exemplars"):
        Exemplars.restore(fitted.tensors() | {"units": np.zeros(3, np.int64)})


@pytest.mark.parametrize("damaged", [{"supports": [0, 9]}, {"scales": [-1.0, 1.0]}, {"scales": [1.0, -1.0]}])
def test_exemplars_that_no_fit_gives_are_refused(damaged: dict[str, list[float]]) -> None:
    units = np.repeat([0, 1], 9).astype(np.int32)
    tensors = fit_exemplars(np.zeros((18, 2), np.float32), units, ((0, 18),), 2).tensors()  # both distances are 0
    assert Exemplars.restore(tensors).radius == 0
    with pytest.raises(ModelError, match="exemplars with a support"):
        Exemplars.restore(tensors | {name: np.array(own) for name, own in damaged.items()})


def test_strangeness_is_the_distance_to_the_nearest_exemplar_in_radii(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exemplars, "_ROWS", 16)
    points = np.random.default_rng(0).normal(size=(120, 3)).astype(np.float32)
    fitted = fit_exemplars(points, np.repeat([0, 1], 60).astype(np.int32), ((0, 120),), 2)
    rows = 2 * points[:50] + 1
    nearest = [min(float(np.linalg.norm(row - own)) for own in fitted.points) for row in rows]
    npt.assert_allclose(fitted.strangeness(rows), np.array(nearest) / fitted.radius, rtol=1e-5)


def test_a_dimension_that_varies_by_no_more_than_rounding_is_constant() -> None:
    rows = np.array([[1.0, 5.0, 1e6, -1e6], [4.0, 5.0, 1e6 + 0.5, -1e6 - 8]])
    centre, spread = exemplars.standardisation(rows)
    npt.assert_allclose(centre, rows.mean(axis=0))
    npt.assert_allclose(spread, [1.5, 1.0, 1.0, 4.0])
