from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo.errors import ModelError, RecordingError, SettingError
from rondo.units import vocabulary
from rondo.units.vocabulary import MergeTree, merge_tree
from tests import naive_confusion

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Spans = list[tuple[int, int]]


def scene(seed: int, n: int, n_entries: int, separation: float, other: float = 0.0) -> tuple[Floats, Ints, Spans]:
    """Entries that hold for a while, around centres of their own, in up to three spans."""
    rng = np.random.default_rng(seed)
    runs = rng.integers(n_entries, size=n)
    labels = np.repeat(runs, rng.integers(1, 6, size=n))[:n]
    x = separation * rng.normal(size=(n_entries, 3))[labels] + rng.normal(size=(n, 3))
    labels = np.where(rng.random(n) < other, OTHER, 10 + 3 * labels)
    edges = np.unique([0, *rng.integers(0, n + 1, size=2), n])
    return x, labels, [(int(a), int(b)) for a, b in pairwise(edges)]


scenes = st.builds(
    scene,
    seed=st.integers(0, 10**6),
    n=st.integers(1, 50),
    n_entries=st.integers(1, 6),
    separation=st.sampled_from([0.0, 0.7, 3.0]),
    other=st.sampled_from([0.0, 0.2]),
)


def blobs(seed: int, sizes: list[int], separation: float, n_dims: int = 8) -> tuple[Floats, Ints]:
    """Entries of these sizes in random order in time, at least `separation` deviations apart."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return separation * np.eye(n_dims)[labels % n_dims] + 0.3 * rng.normal(size=(labels.size, n_dims)), labels


@given(scenes, st.integers(0, 4))
def test_same_tree_as_by_the_definition(made: tuple[Floats, Ints, Spans], exclude: int) -> None:
    x, labels, spans = made
    tree = merge_tree(x, labels, spans, exclude)
    expected = naive_confusion.merges(x, labels.tolist(), spans, exclude)
    found = [(step.kept, step.absorbed, step.confusion, step.before, step.after) for step in tree.steps]
    assert [step[:2] for step in found] == [step[:2] for step in expected]
    npt.assert_allclose(np.array(found).reshape(-1, 5), np.array(expected).reshape(-1, 5), atol=1e-12)


def test_beyond_the_most_windows_a_sample_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    x, labels = blobs(0, [400, 300, 200], 3.0)
    split = np.where((labels == 0) & (np.random.default_rng(1).random(900) < 0.5), 9, labels)
    monkeypatch.setattr(vocabulary, "_MOST_WINDOWS", 100)
    tree = merge_tree(x, split, [(0, 900)], 20)
    every_ninth = merge_tree(x[::9], split[::9], [(0, 100)], 2)
    assert (tree.ids, tree.steps) == (every_ninth.ids, every_ninth.steps)
    npt.assert_array_equal(tree.coarsened(split, tree.best) == tree.steps[0].kept, labels == 0)


def test_memory_does_not_grow_with_the_square() -> None:
    x, labels = blobs(0, [2000, 2000], 0.0)
    tracemalloc.start()
    merge_tree(x, labels, [(0, 4000)], 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4000**2 * 8 / 3


@given(scenes)
def test_each_layer_coarsens_the_one_before(made: tuple[Floats, Ints, Spans]) -> None:
    x, labels, spans = made
    tree = merge_tree(x, labels, spans, exclude=1)
    npt.assert_array_equal(tree.coarsened(labels, 0), labels)
    for n, step in enumerate(tree.steps):
        fine, coarse = tree.coarsened(labels, n), tree.coarsened(labels, n + 1)
        npt.assert_array_equal(coarse, np.where(fine == step.absorbed, step.kept, fine))
        assert len(set(coarse)) == len(set(fine)) - 1
        npt.assert_array_equal(coarse == OTHER, labels == OTHER)


@pytest.mark.parametrize("seed", [0, 1])
def test_what_was_split_by_chance_is_merged_first(seed: int) -> None:
    x, labels = blobs(seed, [80, 60, 60, 40], separation=3.0)
    rng = np.random.default_rng(seed)
    split = np.where((labels == 0) & (rng.random(labels.size) < 0.5), 9, labels)
    tree = merge_tree(x, split, [(0, labels.size)], 2)
    assert {tree.steps[0].kept, tree.steps[0].absorbed} == {0, 9}
    assert tree.best == 1
    npt.assert_array_equal(tree.coarsened(split, 1) == tree.steps[0].kept, labels == 0)


@given(st.integers(0, 10**6), st.lists(st.integers(8, 40), min_size=1, max_size=8))
def test_well_separated_entries_are_never_merged(seed: int, sizes: list[int]) -> None:
    x, labels = blobs(seed, sizes, separation=20.0)
    tree = merge_tree(x, labels, [(0, labels.size)], 1)
    assert tree.best == 0
    assert tree.steps == ()


def test_edges() -> None:
    x, labels, _ = scene(0, 30, 4, 0.0)
    assert merge_tree(x, labels, [(0, 30)], 30).steps == ()  # all windows share frames
    assert 1 <= len(merge_tree(np.ones((40, 3)), np.arange(40) % 4, [(0, 40)], 1).steps) <= 3
    for n in range(4):
        tree = merge_tree(np.zeros((n, 2)), np.full(n, OTHER), [(0, n)] if n else [], 0)
        assert (tree.steps, tree.best, tree.ids) == ((), 0, ())


def test_inputs_are_not_changed() -> None:
    x, labels, spans = scene(1, 60, 4, 0.5)
    kept, labels_32 = x.copy(), labels.astype(np.int32)
    tree = merge_tree(x, labels_32, spans, 1)
    npt.assert_array_equal(x, kept)
    npt.assert_array_equal(labels_32, labels)
    assert tree.ids == tuple(sorted(set(labels.tolist()) - {OTHER}))


def test_tensors_round_trip_and_a_foreign_tree_is_refused() -> None:
    tree = merge_tree(*scene(1, 60, 4, 0.5), 1)
    assert tree.steps
    again = MergeTree.restore(tree.tensors())
    assert (again.ids, again.steps) == (tree.ids, tree.steps)
    none = merge_tree(np.ones((5, 2)), np.full(5, OTHER), [(0, 5)], 1)
    assert MergeTree.restore(none.tensors()).steps == ()
    twice = {**tree.tensors(), "steps": np.repeat(tree.tensors()["steps"], 2, axis=0)}
    with pytest.raises(ModelError, match="the merge tree merges"):
        MergeTree.restore(twice)


def test_bad_input_is_refused_in_one_line() -> None:
    x, labels, spans = scene(0, 20, 3, 1.0)
    broken = x.copy()
    broken[7, 1] = np.nan
    with pytest.raises(RecordingError, match="non-finite embedding in window 7"):
        merge_tree(broken, labels, spans, 1)
    with pytest.raises(SettingError, match=r"window, got \(20, 3\) and \(19,\)"):
        merge_tree(x, labels[:-1], spans, 1)
    with pytest.raises(SettingError, match="exclude must be"):
        merge_tree(x, labels, spans, -1)
    for gap in ([], [(0, 19)], [(1, 20)], [(0, 5), (6, 20)], [(0, 12), (9, 20)]):
        with pytest.raises(SettingError, match="cover 0 to 20 without gaps"):
            merge_tree(x, labels, gap, 1)
    with pytest.raises(SettingError, match="has 0 merges, got n_merges = 1"):
        MergeTree((0, 1), ()).kept_at(1)
