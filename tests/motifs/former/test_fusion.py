"""One motif per window: components of several lengths linked, and their scores fused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.data.labels import OTHER
from rondo.paper.candidates import LengthMotifs, Matches, Subsequences, subsequences
from rondo.paper.fusion import Fused, Rule, _linked, _overlap_distances, fuse, highest_score, link, occurrences
from tests import naive_fusion
from tests.motifs.former.test_candidates import motifs_at

Spans = list[tuple[int, int]]


def random_matches(
    codes: np.ndarray, spans: Spans, length: int, n_components: int, rng: np.random.Generator
) -> Matches:
    """A few distances, so that ties are common, and many rejections."""
    candidates = subsequences(codes, spans, length)
    r = rng.choice([0.0, 0.25, 0.5, 1.0, np.inf, np.inf, np.inf], size=(len(candidates.items), n_components))
    return Matches(candidates, np.zeros(len(candidates.items), np.int64), r)


def matches_at(starts: list[int], length: int, r: list[float]) -> Matches:
    """One component, one candidate per start."""
    items = np.arange(len(starts))[:, None] * np.ones(length, dtype=np.int64)
    own = Subsequences(length, np.array(starts), items, np.arange(len(starts)))
    return Matches(own, np.zeros(len(starts), np.int64), np.array(r)[:, None])


@given(
    st.integers(1, 14),
    st.integers(0, 14),
    st.sets(st.integers(2, 5), min_size=1),
    st.integers(0, 10_000),
    st.floats(0, 1),
)
def test_fusion_is_the_triple_loop(n_windows: int, cut: int, lengths: set[int], seed: int, bonus: float) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, n_windows)
    spans = [(0, min(cut, n_windows)), (min(cut, n_windows), n_windows)]
    found = [random_matches(codes, spans, length, 3, rng) for length in sorted(lengths, reverse=True)]
    motif_ids = [rng.integers(0, 4, 3) for _ in found]
    fused = fuse(found, motif_ids, n_windows, bonus)
    expected = naive_fusion.fuse(found, [ids.tolist() for ids in motif_ids], n_windows, bonus)
    npt.assert_array_equal(fused.ids, [motif for motif, _ in expected])
    npt.assert_allclose(fused.scores, [score for _, score in expected], atol=1e-12)


@pytest.mark.parametrize("bonus", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("n_lengths", [1, 2, 6, 9])
def test_the_bonus_grows_with_the_lengths_and_is_bounded(n_lengths: int, bonus: float) -> None:
    found = [matches_at([0], length, [0.0]) for length in range(2, 2 + n_lengths)]
    fused = fuse(found, [np.array([0])] * n_lengths, 12, bonus)
    assert fused.scores[0] == pytest.approx(1 + bonus * min(n_lengths - 1, 5))
    assert fused.scores.max() <= highest_score(bonus)


def test_ties_go_to_the_longer_then_to_the_smaller_id() -> None:
    long, short = matches_at([0], 3, [1e-13]), matches_at([0], 2, [0.0])  # equal but for rounding
    npt.assert_array_equal(fuse([long, short], [np.array([5]), np.array([1])], 3, 0.02).ids, [5, 5, 5])
    npt.assert_array_equal(fuse([short, short], [np.array([5]), np.array([1])], 2, 0.02).ids, [1, 1])


def test_nothing_accepted_is_other_everywhere() -> None:
    for found, ids in [([], []), ([matches_at([0, 1], 2, [np.inf, np.inf])], [np.array([0])])]:
        fused = fuse(found, ids, 5, 0.02)
        npt.assert_array_equal(fused.ids, [OTHER] * 5)
        npt.assert_array_equal(fused.scores, np.zeros(5))
        assert occurrences(fused, np.zeros(5, np.int64), [(0, 5)]) == []


def test_occurrences_end_where_the_motif_or_the_span_ends() -> None:
    fused = Fused(np.array([4, 4, OTHER, 4, 4, 4, 2], np.int32), np.array([0.5, 1.0, 0, 0.5, 0.5, 1.0, 0.25]))
    found = occurrences(fused, np.array([0, 1, 1, 3, 3, 3, 0]), [(0, 5), (5, 7)])
    assert [(o.motif, o.start, o.stop) for o in found] == [(4, 0, 2), (4, 3, 5), (4, 5, 6), (2, 6, 7)]
    assert [o.phrase for o in found] == [(0, 1), (3,), (3,), (0,)]
    assert [o.score for o in found] == [0.75, 0.5, 1.0, 0.25]


@given(st.lists(st.integers(-1, 2), min_size=1, max_size=20), st.integers(0, 20), st.integers(0, 100))
def test_occurrences_tell_the_labels(ids: list[int], cut: int, seed: int) -> None:
    cut = min(cut, len(ids))
    codes = np.random.default_rng(seed).integers(0, 3, len(ids))
    found = occurrences(Fused(np.array(ids, np.int32), np.ones(len(ids))), codes, [(0, cut), (cut, len(ids))])
    written = [OTHER] * len(ids)
    for motif, start, stop, phrase, _ in found:
        written[start:stop] = [motif] * (stop - start)
        assert not start < cut < stop
        assert all(a != b for a, b in pairwise(phrase))
        assert set(phrase) == set(codes[start:stop].tolist())
    assert written == ids


RULES: list[Rule] = ["none", "overlap", "descriptor"]


def members_at(starts: list[list[int]], length: int) -> Matches:
    """Component k has its members at starts[k]; every candidate is an item of its own."""
    flat = np.array([start for own in starts for start in own], dtype=np.int64)
    owner = np.repeat(np.arange(len(starts)), [len(own) for own in starts])
    order = np.argsort(flat)
    items = np.arange(flat.size)[:, None] * np.ones(length, dtype=np.int64)
    return Matches(
        Subsequences(length, flat[order], items, np.arange(flat.size)), owner[order], np.zeros((flat.size, len(starts)))
    )


def random_lengths(seed: int, n_windows: int = 30) -> tuple[list[LengthMotifs], list[Matches]]:
    """Components of lengths 4, 3, 2 with every candidate a member of one of them, and centres anywhere."""
    rng = np.random.default_rng(seed)
    codes, spans = rng.integers(0, 2, n_windows), [(0, 12), (12, n_windows)]
    lengths, matches = [], []
    for length in (4, 3, 2):
        candidates = subsequences(codes, spans, length)
        nearest = np.unique(rng.integers(0, 3, len(candidates.items)), return_inverse=True)[1]
        lengths.append(motifs_at(rng.normal(size=(int(nearest.max()) + 1, 3)), length=length))
        matches.append(Matches(candidates, nearest, np.zeros((nearest.size, lengths[-1].n_components))))
    return lengths, matches


def partition(ids: tuple[np.ndarray, ...]) -> set[frozenset[int]]:
    joined = np.concatenate(ids)
    return {frozenset(np.flatnonzero(joined == id).tolist()) for id in joined}


@given(st.integers(0, 10_000))
def test_overlap_links_by_the_sets_of_centre_windows(seed: int) -> None:
    """Sets of few windows are often equally far apart; which of equals is joined first is for the library to say."""
    lengths, matches = random_lengths(seed)
    centres: list[set[int]] = []
    for own, motifs in zip(matches, lengths, strict=True):
        component = own.nearest[own.candidates.item_of]
        middle = own.candidates.starts + own.candidates.length // 2
        centres += [set(middle[component == k].tolist()) for k in range(motifs.n_components)]
    distances = [[naive_fusion.jaccard_distance(a, b) for b in centres] for a in centres]
    npt.assert_allclose(_overlap_distances(matches, [motifs.n_components for motifs in lengths]), distances)
    assert partition(link(lengths, matches, "overlap")) == partition((_linked(np.array(distances)),))
    nudge = np.triu(np.random.default_rng(seed).uniform(0, 1e-6, np.shape(distances)), 1)
    apart = np.array(distances) + nudge + nudge.T  # no two alike any more
    assert partition((_linked(apart),)) == naive_fusion.average_linkage(apart.tolist(), 0.5)


@given(st.integers(0, 10_000))
def test_descriptor_is_average_linkage_of_the_angles_between_centres(seed: int) -> None:
    lengths, matches = random_lengths(seed)
    centres = np.concatenate([motifs.centres for motifs in lengths])
    distances = [[1 - a @ b / np.sqrt((a @ a) * (b @ b)) for b in centres] for a in centres]
    assert partition(link(lengths, matches, "descriptor")) == naive_fusion.average_linkage(distances, 0.5)


@pytest.mark.parametrize("rule", RULES)
@given(seed=st.integers(0, 10_000), next_id=st.integers(0, 5))
def test_ids_follow_first_appearance_and_leave_no_gap(rule: Rule, seed: int, next_id: int) -> None:
    lengths, matches = random_lengths(seed)
    ids = link(lengths, matches, rule, next_id)
    first: dict[int, int] = {}
    for own, here in zip(matches, ids, strict=True):
        for start, item in zip(own.candidates.starts, own.candidates.item_of, strict=True):
            id = int(here[own.nearest[item]])
            first[id] = min(first.get(id, int(start)), int(start))
    assert sorted(first) == list(range(next_id, next_id + len(first)))
    assert [first[id] for id in sorted(first)] == sorted(first.values())


def test_a_centre_at_the_origin_is_like_no_other() -> None:
    centres = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.1]])
    (ids,) = link([motifs_at(centres)], [members_at([[0], [1], [2]], 2)], "descriptor")
    npt.assert_array_equal(ids, [0, 1, 1])


@pytest.mark.parametrize("rule", RULES)
def test_no_motifs_and_one_motif(rule: Rule) -> None:
    assert link([], [], rule) == ()
    (ids,) = link([motifs_at(np.zeros((1, 2)))], [members_at([[0, 1]], 2)], rule, next_id=4)
    npt.assert_array_equal(ids, [4])
