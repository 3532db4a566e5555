"""One identity across lengths, against sets of windows and linkage by hand."""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.paper.candidates import LengthMotifs, Matches, Subsequences, subsequences
from rondo.paper.fusion import Rule, _linked, _overlap_distances, link
from tests import naive_fusion
from tests.motifs.former.test_matching import motifs_at

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


def test_none_gives_every_component_an_id_of_its_own() -> None:
    lengths, matches = random_lengths(3)
    ids = np.concatenate(link(lengths, matches, "none"))
    assert np.unique(ids).size == ids.size


def test_motifs_at_the_same_places_are_one_and_others_are_not() -> None:
    long = members_at([[0, 1, 2], [10, 11, 12]], length=4)  # centre windows 2 3 4 and 12 13 14
    short = members_at([[1, 2, 3], [20, 21]], length=2)  # centre windows 2 3 4 and 21 22
    lengths = [motifs_at(np.zeros((2, 2)), length=4), motifs_at(np.zeros((2, 2)), length=2)]
    npt.assert_array_equal(link(lengths, [long, short], "overlap"), [[0, 1], [0, 2]])


def test_a_centre_at_the_origin_is_like_no_other() -> None:
    centres = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.1]])
    (ids,) = link([motifs_at(centres)], [members_at([[0], [1], [2]], 2)], "descriptor")
    npt.assert_array_equal(ids, [0, 1, 1])


@pytest.mark.parametrize("rule", RULES)
def test_no_motifs_and_one_motif(rule: Rule) -> None:
    assert link([], [], rule) == ()
    (ids,) = link([motifs_at(np.zeros((1, 2)))], [members_at([[0, 1]], 2)], rule, next_id=4)
    npt.assert_array_equal(ids, [4])
