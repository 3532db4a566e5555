"""Where the frames of two units meet in a stream that learns, and what was issued stays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.arrays import Floats
from rondo.continual.phrases import Change, Motif
from rondo.continual.reading import Issue, Opened
from rondo.data.labels import OTHER
from rondo.data.windows import WindowGrid, Windows
from rondo.units.boundaries import Boundaries, fit_boundaries

LENGTH, STEP = 64, 16
HALF_WAY = (LENGTH - STEP) // 2


class Late:
    """Motifs that are known at the end of a stretch only."""

    def __init__(self) -> None:
        self.n = 0

    def push(self, unit: int, learns: bool = True) -> list[Motif]:
        self.n += 1
        return []

    def boundary(self) -> list[Motif]:
        n, self.n = self.n, 0
        return [(7, 1.0)] * n

    def take_changes(self) -> list[Change]:
        return []


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


def cut_between(issue: Issue, units: tuple[int, int], start_frame: int, blocks: Floats) -> int:
    """The first frame of the second unit, whose first window begins at `start_frame`."""
    issue.add(Opened(0, start_frame - STEP, blocks, True), units[0], 1.0)
    issue.add(Opened(1, start_frame, blocks, False), units[1], 1.0)
    before, after = issue.end(start_frame + LENGTH, [])
    assert before.stop_frame == after.start_frame
    return after.start_frame


@given(st.integers(10, 54))
def test_the_cut_lies_where_the_signal_changes(boundaries: Boundaries, edge: int) -> None:
    issue = Issue(Late(), boundaries, LENGTH, STEP)
    cut = cut_between(issue, (3, 5), 1_000, issue.blocks(signal(edge, LENGTH).T))
    assert abs(cut - (1_000 + edge)) <= boundaries.block_frames


@given(st.integers(0, 10_000))
def test_no_other_cut_is_likelier(boundaries: Boundaries, seed: int) -> None:
    """Against a slow twin, block by block."""
    issue = Issue(Late(), boundaries, LENGTH, STEP)
    blocks = issue.blocks(np.random.default_rng(seed).normal(size=(LENGTH, 2)).astype(np.float32).T)
    edge = (cut_between(issue, (3, 5), 1_000, blocks) - 1_000) // boundaries.block_frames
    density = boundaries.gaussians.log_joint(blocks)
    each = [sum(density[j, int(j >= e)] for j in range(len(blocks))) for e in range(len(blocks) + 1)]
    assert each[edge] == pytest.approx(max(each))


@pytest.mark.parametrize("units", [(3, 9), (9, 5), (OTHER, 3), (5, OTHER)])
def test_units_without_a_description_meet_half_way(boundaries: Boundaries, units: tuple[int, int]) -> None:
    issue = Issue(Late(), boundaries, LENGTH, STEP)
    assert cut_between(issue, units, 100, issue.blocks(signal(20, LENGTH).T)) == 100 + HALF_WAY
    assert cut_between(Issue(Late(), None, LENGTH, STEP), (3, 5), 100, np.zeros((0, 0))) == 100 + HALF_WAY


def test_a_cut_never_lies_before_the_last_one(boundaries: Boundaries) -> None:
    issue = Issue(Late(), boundaries, LENGTH, STEP)
    late, early = issue.blocks(signal(50, LENGTH).T), issue.blocks(-signal(10, LENGTH).T)
    for number, (start, unit, blocks) in enumerate([(84, 3, late), (100, 5, late), (104, 3, early)]):
        issue.add(Opened(number, start, blocks, number == 0), unit, 1.0)
    first, second, third = issue.end(200, [])
    cut = cut_between(Issue(Late(), boundaries, LENGTH, STEP), (3, 5), 100, late)
    assert first.stop_frame == second.start_frame == second.stop_frame == third.start_frame == cut
    assert (third.stop_frame, third.motif) == (200, 7)


@pytest.mark.parametrize("n_windows", [1, 7])
def test_blocks_of_several_windows_are_exactly_those_of_each(boundaries: Boundaries, n_windows: int) -> None:
    windows = np.random.default_rng(1).normal(size=(n_windows, 2, LENGTH)).astype(np.float32)
    for issue in (Issue(Late(), boundaries, LENGTH, STEP), Issue(Late(), None, LENGTH, STEP)):
        assert np.array_equal(issue.blocks(windows), np.stack([issue.blocks(window) for window in windows]))
