"""The tree of motifs: as by its definition, nested, and the same however motifs are called and recordings ordered."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.testing as npt
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.data.windows import Windows
from rondo.model.rondo import Rondo
from rondo.motifs.base import MotifTimeline
from rondo.motifs.merging import motif_tree, suggested, tree_of_confusions
from rondo.synthetic import StreamPlan, plant
from rondo.units.viterbi import Timeline
from tests import naive_merging

QUICK = {"evidence.surrogates": 0}


def scene(seed: int, n: int, n_entries: int, separation: float) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Entries that hold for a while, around centres of their own."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(rng.integers(n_entries, size=n), rng.integers(1, 9, size=n))[:n]
    return separation * rng.normal(size=(n_entries, 4))[labels] + rng.normal(size=(n, 4)), 3 + 2 * labels


scenes = st.builds(
    scene, st.integers(0, 10**6), st.integers(20, 120), st.integers(2, 6), st.sampled_from([0.0, 0.6, 3.0])
)


@given(scenes)
def test_same_tree_as_by_the_definition(made: tuple[NDArray[np.float64], NDArray[np.int64]]) -> None:
    points, labels = made
    tree, expected = tree_of_confusions(points, labels), naive_merging.merges(points, labels)
    found = [(step.kept, step.absorbed, step.confusion, step.before, step.after) for step in tree.steps]
    assert [step[:2] for step in found] == [step[:2] for step in expected]
    npt.assert_allclose(np.array(found).reshape(-1, 5), np.array(expected).reshape(-1, 5), atol=1e-9)
    assert len(tree.steps) == max(0, len(tree.ids) - 2)
    assert all(step.kept < step.absorbed for step in tree.steps)  # as people's merges keep ids
    groups = [tree.kept_at(n) for n in range(len(tree.steps) + 1)]
    for finer, coarser in itertools.pairwise(groups):
        assert all(coarser[finer[id]] == coarser[id] for id in tree.ids)  # nested


@given(scenes)
def test_other_takes_no_part_and_the_unit_of_points_is_their_own(
    made: tuple[NDArray[np.float64], NDArray[np.int64]],
) -> None:
    points, labels = made
    n = len(points)
    with_other = tree_of_confusions(
        np.insert(points, [0, n // 2, n], 99.0, axis=0), np.insert(labels, [0, n // 2, n], OTHER)
    )
    assert [(one.kept, one.absorbed) for one in with_other.steps] == [
        (one.kept, one.absorbed) for one in tree_of_confusions(points + 1e3, labels).steps
    ]


class _Given:
    """A motif model that says of every window what was written down."""

    def __init__(self, ids: list[NDArray[np.int32]]) -> None:
        self.reads = iter(ids)

    def timeline(self, units: Timeline) -> MotifTimeline:
        ids = next(self.reads)
        return MotifTimeline(ids, np.ones(ids.size), np.zeros(ids.size, np.bool_))


def test_entries_that_were_cut_in_two_are_put_together_first() -> None:
    stream = plant(StreamPlan(motifs="contexts"), n_frames=20_000, seed=3)
    model = Rondo(seed=0, settings=QUICK).fit(stream.recording)
    _signal, windows = model._windows_of(stream.recording)
    units = model.unit_model_.timeline(windows)
    middles = windows.grid.starts + windows.grid.length_frames // 2
    truth = stream.motif_truth[middles]
    halves = np.where((truth >= 0) & (middles // 700 % 2 == 1), truth + 10, truth).astype(np.int32)
    tree = motif_tree([windows], [units], _Given([halves]), model.motif_window_frames_)  # type: ignore[arg-type]
    n = np.unique(truth[truth >= 0]).size
    together = {(step.kept, step.absorbed) for step in tree.steps[:n]}
    assert together == {(kind, kind + 10) for kind in range(n)}
    assert suggested(tree) >= n


def test_order_of_recordings_and_channels_changes_no_merge() -> None:
    stream = plant(StreamPlan(motifs="contexts"), n_frames=15_000, seed=2)
    values, rate = stream.recording.values, stream.recording.rate
    parts = [Recording(values[at : at + 5_000], rate=rate, id=f"part{at}") for at in (0, 5_000, 10_000)]
    model, backwards = (Rondo(seed=0, settings=QUICK).fit(own) for own in (parts, parts[::-1]))
    assert model.motif_tree_.steps and model.motif_tree_.steps == backwards.motif_tree_.steps
    _, windows = model._windows_of(parts[0])
    units = model.unit_model_.timeline(windows)
    mixed = Windows(np.ascontiguousarray(windows.values[:, ::-1]), windows.grid)
    trees = [motif_tree([own], [units], model.motif_model_, model.motif_window_frames_) for own in (windows, mixed)]
    assert len({tuple((step.kept, step.absorbed) for step in tree.steps) for tree in trees}) == 1
