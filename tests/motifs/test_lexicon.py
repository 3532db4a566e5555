"""The cheapest reading is the cheapest of all, and an occurrence holds what the rule allows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.motifs.phrases import STANDING, Lexicon, Readable, near_places
from tests.motifs.sequences import first_of
from tests.naive_motifs import least_cost, naive_places

PHRASES = st.lists(st.integers(0, 3), min_size=2, max_size=6).map(tuple)


@given(phrase=PHRASES, units=st.lists(st.integers(0, 3), min_size=1, max_size=8), cut=st.integers(1, 7))
def test_places_equal_their_definition(phrase: tuple[int, ...], units: list[int], cut: int) -> None:
    first = np.isin(np.arange(len(units)), [0, cut])
    found = near_places(phrase, np.array(units), first)
    assert {place[:2]: place.edits for place in found} == naive_places(phrase, units, first.tolist())


@given(
    st.lists(PHRASES, max_size=2, unique=True), st.lists(st.integers(0, 3), min_size=1, max_size=7), st.integers(0, 99)
)
def test_the_reading_is_the_cheapest_of_all(phrases: list[tuple[int, ...]], units: list[int], seed: int) -> None:
    first = np.isin(np.arange(len(units)), [0, 4])
    costs = np.random.default_rng(seed).uniform(0.5, 6.0, (2, 4 + len(phrases)))
    lexicon = Lexicon(tuple(phrases), costs)
    places = {phrase: near_places(phrase, np.array(units), first) for phrase in phrases}
    tokens = Readable.of(np.array(units), first, lexicon.phrases, places).cheapest(costs)
    assert tokens.costs[-1] == pytest.approx(least_cost(units, first.tolist(), lexicon))
    assert tokens.start.tolist() == [0, *tokens.stop[:-1].tolist()]
    assert tokens.stop[-1] == len(units)


@pytest.mark.parametrize(
    ("runs", "edits"),
    [
        ([1, 2, 3, 4], 0),
        ([1, 2, 4], 1),  # a unit is missing
        ([2, 3, 4], 1),
        ([1, 2, 1, 3, 4], 1),  # a unit is repeated
        ([1, 7, 3, 4], 1),  # a unit is another
        ([1, 4], None),  # two are missing: one edit for every three units
        ([4, 3, 2, 1], None),
    ],
)
def test_an_occurrence_may_lack_repeat_or_replace_a_unit(runs: list[int], edits: int | None) -> None:
    """The phrase u1 u2 u3 u4 between two rests, where standing units are dear."""
    units = np.array([0, *runs, 0])
    lexicon = Lexicon(((1, 2, 3, 4),), np.tile([*[8.0] * 8, 1.0], (2, 1)))
    tokens = lexicon.read(units, first_of(units.size))
    whole = [token for token in tokens if token.phrase != STANDING and token.stop - token.start == len(runs)]
    assert [token.edits for token in whole] == ([] if edits is None else [edits])


def test_no_occurrence_crosses_the_end_of_a_span() -> None:
    lexicon = Lexicon(((1, 2, 3),), np.full((2, 5), 3.0))
    units = np.array([1, 2, 3])
    assert len(lexicon.read(units, first_of(3))) == 1
    assert all(token.phrase == STANDING for token in lexicon.read(np.array([1, 2, 3, 0]), first_of(4, 1, 2)))
