"""Units of the model are told apart by the model too; what no exemplar is near enough to may become a unit."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest

from rondo.continual.updater import ModelExcess, Updater
from rondo.data.labels import OTHER
from rondo.data.windows import StreamWindow
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import plant

NO_BLOCKS = np.zeros((0, 0))


@pytest.fixture(scope="module")
def model() -> Rondo:
    return Rondo(window=75, step=18, settings={"evidence.surrogates": 0}).fit(plant(n_frames=12_000, seed=1).recording)


def test_the_cheapest_unit_costs_nothing_more_and_others_as_in_the_model(model: Rondo) -> None:
    units = model.unit_model_
    points = units.exemplars.points[::7]
    excess = ModelExcess(units, list(units.ids), price=0.5).of(points)
    costs = units.costs(points)
    expected = 0.3 * 0.5 / units.penalty * (costs - costs.min(axis=1, keepdims=True))
    npt.assert_allclose(excess, expected, rtol=1e-9)
    assert (excess.min(axis=1) == 0).all() and excess.max() > 0.5


def test_each_row_costs_exactly_what_it_costs_alone(model: Rondo) -> None:
    """Streams must not depend on how many windows come at a time."""
    excess, points = ModelExcess(model.unit_model_, list(model.unit_model_.ids), price=0.5), np.arange(200)
    rows = model.unit_model_.exemplars.points[points % len(model.unit_model_.exemplars.points)]
    alone = np.concatenate([excess.of(row[None]) for row in rows])
    npt.assert_array_equal(excess.of(rows, each=True), alone)


def test_other_and_promoted_units_cost_what_the_exemplars_say(model: Rondo) -> None:
    updater = model.stream().reader
    point = updater.units.kept(0)[0]
    updater.units.add(77, [point + 1.0])
    q = updater.units.distances(point) / updater.reaches()[0]
    costs = updater.path_costs(point[None], q[None])[0]
    assert costs[0] == 1.0 and costs[-1] == q[-1]
    npt.assert_allclose(costs[1:-1] - q[:-1], updater.excess.of(point[None])[0], atol=1e-12)


def strange_point(updater: Updater, q: float) -> np.ndarray:
    """A point whose nearest exemplar lies at about q."""
    rng, reach = np.random.default_rng(0), updater.buffer.scales.reach
    while True:
        start, step = updater.units.kept(0)[0], rng.normal(size=updater.units.points.shape[2])
        step *= reach * q / np.linalg.norm(step)
        for stretch in np.linspace(1, 4, 31):
            found = float(updater.units.distances(start + stretch * step).min()) / reach
            if abs(found - q) < 0.02:
                return np.asarray(start + stretch * step)


@pytest.mark.parametrize(("q", "is_novel"), [(1.2, True), (0.9, True), (0.7, False)])
def test_beyond_one_radius_windows_are_novel_and_have_a_unit_up_to_the_reach(
    model: Rondo, q: float, is_novel: bool
) -> None:
    updater = model.stream().reader
    strange, known = strange_point(updater, q), updater.units.kept(0)[0]
    units = []
    for number in range(36):
        decisions, _ = updater.push_point(strange if 12 <= number < 24 else known, 18 * number, NO_BLOCKS)
        units += [decision.unit for decision in decisions]
    units += [decision.unit for decision in updater.boundary(18 * 36 + 57)[0]]
    assert (OTHER in units) == (q > 1) and (updater.n_buffered > 0) == is_novel


def test_several_windows_have_exactly_the_excess_of_each(model: Rondo) -> None:
    units = model.unit_model_
    excess = ModelExcess(units, list(units.ids), price=0.5)
    points = units.exemplars.points[::7].astype(np.float64)
    assert np.array_equal(excess.of(points, each=True), np.concatenate([excess.of(point[None]) for point in points]))


def test_windows_pushed_together_are_decided_exactly_as_one_by_one(model: Rondo) -> None:
    together, alone = (model.stream().reader for _ in range(2))
    values = np.random.default_rng(0).normal(size=(40, together.encoder.axes.shape[1], 75)).astype(np.float32)  # type: ignore[attr-defined]
    windows = [StreamWindow(window, 18 * number) for number, window in enumerate(values)]
    assert list(together.push_all(windows)) == [alone.push(*window) for window in windows]
    (tensors, plain), (expected, plain_expected) = together.state(), alone.state()
    assert plain == plain_expected and tensors.keys() == expected.keys()
    assert all(np.array_equal(tensors[name], expected[name]) for name in expected)
