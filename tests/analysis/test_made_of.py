"""Units along the parts of a motif: against all ways to lay them, and shares that add up."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.analysis.composition import Piece, Run, laid_along, mix_shares, part_shares, parts_of
from rondo.motifs.phrases import composition

PARTS = st.lists(
    st.builds(Piece, st.lists(st.integers(0, 2), min_size=1, max_size=2, unique=True).map(tuple)),
    min_size=1,
    max_size=3,
)
RUNS = st.lists(st.tuples(st.integers(-1, 2), st.integers(1, 9).map(float)), max_size=5)


def best_of_all_ways(runs: list[Run], parts: list[Piece]) -> float:
    """Every run on some part or on none, never going back, on a part of one unit once."""
    best = 0.0
    for way in product([None, *range(len(parts))], repeat=len(runs)):
        used = [place for place in way if place is not None]
        once = all(parts[place].can_repeat or used.count(place) == 1 for place in used)
        fits = all(place is None or unit in parts[place].units for place, (unit, _) in zip(way, runs, strict=True))
        if once and fits and used == sorted(used):
            best = max(best, sum(n for place, (_, n) in zip(way, runs, strict=True) if place is not None))
    return best


@given(RUNS, PARTS)
def test_as_much_time_as_possible_falls_on_parts(runs: list[Run], parts: list[Piece]) -> None:
    amounts = laid_along(runs, parts)
    assert sum(sum(it.values()) for it in amounts) == best_of_all_ways(runs, parts)
    assert all(unit in part.units for part, it in zip(parts, amounts, strict=True) for unit in it)


def test_shares_of_parts_and_rest_are_the_whole() -> None:
    runs: list[list[Run]] = [[(6, 2.0), (5, 1.0), (4, 1.0), (5, 1.0), (4, 1.0), (9, 2.0)]]
    shares = part_shares(runs, parts_of("u6 (u5 u4)×2-4 [u3]"))
    assert shares == [[0.25], [0.25, 0.25], [0.0]]  # and a quarter in u9, which is the rest
    assert sum(mix_shares(runs).values()) == pytest.approx(1.0)


def test_every_line_that_phrases_write_is_read_back() -> None:
    for counts in ({(6, 4, 3, 1): 5, (6, 4, 1): 3}, {(6, 5, 4, 5, 4): 2, (6, 5, 4, 5, 4, 5, 4, 5, 4): 1}, {(7,): 3}):
        line = composition(counts)
        parts = parts_of(line)
        units = [unit for part in parts for unit in part.units]
        assert [f"u{unit}" for unit in units] == [it.strip("[]()").split("×")[0].strip(")") for it in line.split()]
