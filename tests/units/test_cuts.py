from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.data.labels import OTHER
from rondo.data.windows import WindowGrid, Windows
from rondo.units.boundaries import Boundaries, Cuts, fit_boundaries

LENGTH, STEP = 64, 16


def signal(edge: int, n_frames: int = 400) -> np.ndarray:
    """Unit 3 up to the edge, unit 5 from there on."""
    rng = np.random.default_rng(0)
    level = np.where(np.arange(n_frames) < edge, -1.0, 1.0)
    return np.float32(level[:, None] * [1, 2] + rng.normal(scale=0.3, size=(n_frames, 2)))


@pytest.fixture(scope="module")
def boundaries() -> Boundaries:
    windows = Windows(signal(200), WindowGrid(LENGTH, STEP, 400, ((0, 400),)))
    units = np.where(windows.grid.starts + LENGTH / 2 < 200, 3, 5).astype(np.int32)
    return fit_boundaries([windows], [units], [3, 5])


@given(st.integers(10, 54))
def test_the_cut_lies_where_the_signal_changes(boundaries: Boundaries, edge: int) -> None:
    cuts = Cuts(boundaries, LENGTH, STEP)
    window = signal(edge, LENGTH)
    cut = cuts.between(3, 5, 1_000, cuts.blocks(window.T))
    assert abs(cut - (1_000 + edge)) <= boundaries.block_frames
    assert cuts.last == cut


def slow_twin(boundaries: Boundaries, blocks: np.ndarray, before: int, after: int) -> float:
    """The best log-density there is, block by block."""
    density = boundaries.gaussians.log_joint(blocks)
    b, a = boundaries.unit_ids.index(before), boundaries.unit_ids.index(after)
    return max(sum(density[j, b if j < e else a] for j in range(len(blocks))) for e in range(len(blocks) + 1))


@given(st.integers(0, 10_000))
def test_no_other_cut_is_likelier(boundaries: Boundaries, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(LENGTH, 2)).astype(np.float32)
    cuts = Cuts(boundaries, LENGTH, STEP)
    blocks = cuts.blocks(values.T)
    edge = cuts.between(3, 5, 0, blocks) // boundaries.block_frames
    density = boundaries.gaussians.log_joint(blocks)
    found = density[:edge, 0].sum() + density[edge:, 1].sum()
    assert found == pytest.approx(slow_twin(boundaries, blocks, 3, 5))


@pytest.mark.parametrize("units", [(3, 9), (9, 5), (OTHER, 3), (5, OTHER)])
def test_units_without_a_description_meet_half_way(boundaries: Boundaries, units: tuple[int, int]) -> None:
    cuts = Cuts(boundaries, LENGTH, STEP)
    assert cuts.between(*units, 100, cuts.blocks(signal(20, LENGTH).T)) == 100 + (LENGTH - STEP) // 2
    assert Cuts(None, LENGTH, STEP).between(3, 5, 100, np.zeros((0, 0))) == 100 + (LENGTH - STEP) // 2


def test_a_cut_never_lies_before_the_last_one(boundaries: Boundaries) -> None:
    cuts = Cuts(boundaries, LENGTH, STEP)
    late = cuts.between(3, 5, 100, cuts.blocks(signal(50, LENGTH).T))
    assert cuts.between(5, 3, 104, cuts.blocks(-signal(10, LENGTH).T)) == late
    assert cuts.middle(60) == late


@pytest.mark.parametrize("n_windows", [1, 2, 7])
def test_blocks_of_several_windows_are_exactly_those_of_each(boundaries: Boundaries, n_windows: int) -> None:
    windows = np.random.default_rng(1).normal(size=(n_windows, 2, LENGTH)).astype(np.float32)
    for cuts in (Cuts(boundaries, LENGTH, STEP), Cuts(None, LENGTH, STEP)):
        assert np.array_equal(cuts.blocks(windows), np.stack([cuts.blocks(window) for window in windows]))
