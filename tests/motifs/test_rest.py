"""Rest, and what lies between two rests: cycles and gestures that a person sees at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rondo
from rondo.config.settings import ComposedMotifsConfig
from rondo.data.agreement import agreement
from rondo.data.windows import WindowGrid, Windows
from rondo.motifs.base import UnitRuns
from rondo.motifs.discover import fit_strophes
from rondo.motifs.model import MotifModel
from rondo.motifs.rest import between_rests, rest_of
from rondo.units.viterbi import Timeline
from tests.benchmark_scripts import imported

RATE = 50.0


def timeline(ids: np.ndarray) -> Timeline:
    ones = np.ones(ids.size)
    return Timeline(ids, ones, ones, ((0, ids.size),))


def moving(deviations: list[float]) -> tuple[Windows, Timeline]:
    """A window of every unit, twenty times, with so much movement in it."""
    rng = np.random.default_rng(0)
    order = np.tile(np.arange(len(deviations)), 20)
    noise = rng.normal(size=(order.size, 30, 2))
    noise = (noise - noise.mean(axis=1, keepdims=True)) / noise.std(axis=1, keepdims=True)
    values = (noise * np.array(deviations)[order][:, None, None]).reshape(-1, 2).astype(np.float32)
    return Windows(values, WindowGrid(30, 30, len(values), ((0, len(values)),))), timeline(order)


@pytest.mark.parametrize(
    ("deviations", "rest"), [([1.0, 0.55, 1.2], 1), ([1.0, 0.65, 1.2], None), ([0.1, 1.0], None), ([0.0, 1.0, 1.0], 0)]
)
def test_rest_is_the_unit_in_which_hardly_anything_moves(deviations: list[float], rest: int | None) -> None:
    windows, units = moving(deviations)
    assert rest_of([windows], [units], range(len(deviations))) == rest
    halves = [(Windows(windows.values[a:b], WindowGrid(30, 30, b - a, ((0, b - a),))), timeline(units.ids[c:d]))
              for a, b, c, d in ((0, 900, 0, 30), (900, len(windows.values), 30, len(units.ids)))]  # fmt: skip
    scale_of_each = rest_of([w for w, _ in halves], [t for _, t in halves], range(len(deviations)))
    assert scale_of_each == rest, "two recordings, either order of them"


def test_a_short_rest_is_a_pause_in_something() -> None:
    #        1  rest 2  pause 3  rest  1
    ids, n = np.array([1, 0, 2, 0, 3, 0, 1]), np.array([5, 8, 5, 2, 5, 9, 5])
    runs = UnitRuns.of_labels([(np.repeat(ids, n), ((0, int(n.sum())),))])
    opened, stretches = between_rests(runs, 0)
    assert stretches == [(1,), (2, 0, 3), (1,)]
    assert opened.tolist() == [True, True, True, False, False, True, True]


def test_what_comes_in_any_order_between_rests_is_no_phrase() -> None:
    """Three things in any order, twice at most, then rest: every sequence of them comes often, and none is an order."""
    rng = np.random.default_rng(0)
    ids = np.concatenate([np.append(rng.permutation([1, 2, 3])[: rng.integers(2, 4)], 0) for _ in range(200)])
    runs = UnitRuns.of_labels([(np.repeat(ids, 5), ((0, 5 * ids.size),))])
    ordered = UnitRuns.of_labels([(np.repeat(np.tile([1, 2, 3, 0], 200), 5), ((0, 4_000),))])
    config = ComposedMotifsConfig()
    assert fit_strophes(runs, range(4), 0, config, np.random.default_rng(0)) is None
    found = fit_strophes(ordered, range(4), 0, config, np.random.default_rng(0))
    assert found is not None and found.rest == 0 and set(found.p_values.values()) == {0.01}


def test_a_rest_that_is_no_unit_is_refused() -> None:
    ordered = UnitRuns.of_labels([(np.repeat(np.tile([1, 2, 3, 0], 20), 5), ((0, 400),))])
    found = fit_strophes(ordered, range(4), 0, ComposedMotifsConfig(), np.random.default_rng(0))
    assert found is not None and MotifModel.restore(found.tensors()).rest == 0
    with pytest.raises(ValueError, match="rest is unit 9"):
        MotifModel.restore(found.tensors() | {"rest": np.array([9])})


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("n_gestures", "n_movements"), [(1, 5), (3, 4)])
def test_cycles_and_gestures_between_rests_are_motifs_whole(
    tmp_path: Path, seed: int, n_gestures: int, n_movements: int
) -> None:
    with imported("sources") as sources:
        values, truth = sources.gestures(seed, n_gestures, n_movements)
    model = rondo.Rondo(settings={"evidence.surrogates": 0})
    found = model.fit_predict(rondo.Recording(values, RATE))
    assert agreement(truth, found.motifs) >= 0.85
    assert len(np.unique(found.motifs)) == n_gestures + 1
    model.save(tmp_path / "model")
    again = rondo.Rondo.load(tmp_path / "model").predict(rondo.Recording(values, RATE))
    assert np.array_equal(again.motifs, found.motifs)
