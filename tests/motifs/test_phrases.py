"""The line that says what a motif is made of: repeats, optional parts, and that it can be read back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.motifs.phrases import composition, grouped, without_repeats

Phrase = tuple[int, ...]


def phrases(max_size: int = 12) -> st.SearchStrategy[Phrase]:
    """Unit sequences without a unit that follows itself, as unit runs are."""
    steps = st.lists(st.integers(1, 3), max_size=max_size - 1)
    return st.tuples(st.integers(0, 3), steps).map(_walked)


def _walked(drawn: tuple[int, list[int]]) -> Phrase:
    units = [drawn[0]]
    for step in drawn[1]:
        units.append((units[-1] + step) % 4)
    return tuple(units)


def as_pattern(line: str) -> str:
    """The line as a regular expression over 'u1,u2,': repeats become {2,4}, what is in brackets may be missing."""
    pattern = re.sub(r"u\d+", r"(?:\g<0>,)", line.replace(" ", ""))
    pattern = re.sub(r"×(\d+)-(\d+)", r"{\1,\2}", pattern)
    return re.sub(r"×(\d+)", r"{\1}", pattern).replace("[", "(?:").replace("]", ")?")


def spelled(phrase: Phrase) -> str:
    return "".join(f"u{unit}," for unit in phrase)


@given(phrases())
def test_a_single_phrase_is_written_whole(phrase: Phrase) -> None:
    line = composition({phrase: 3})
    assert "[" not in line
    assert "-" not in line
    assert re.fullmatch(as_pattern(line), spelled(phrase))


@given(st.dictionaries(phrases(8), st.integers(1, 9), min_size=1, max_size=5))
def test_every_common_phrase_can_be_read_from_the_line(counts: dict[Phrase, int]) -> None:
    pattern = re.compile(as_pattern(composition(counts)))
    total = sum(counts.values())
    for phrase, n in counts.items():
        if n >= 0.25 * total:  # rarer ones may hold parts that are not shown
            assert pattern.fullmatch(spelled(phrase)), (pattern, phrase)


@given(st.dictionaries(phrases(8), st.integers(1, 9), min_size=1, max_size=5), st.integers(2, 5))
def test_only_shares_matter_and_the_order_of_phrases_does_not(counts: dict[Phrase, int], factor: int) -> None:
    line = composition(counts)
    assert composition({phrase: factor * n for phrase, n in counts.items()}) == line
    assert composition(dict(reversed(counts.items()))) == line


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ({(1, 2, 3): 9, (1, 3): 1}, "u1 u2 u3"),
        ({(1, 2, 3): 6, (1, 3): 4}, "u1 [u2] u3"),
        ({(6, 4, 1): 5, (6, 4, 3, 1): 4, (9, 8): 1}, "u6 u4 [u3] u1"),  # the commonest phrase lacks a part
        ({(1, 3): 8, (1, 2, 3): 2}, "u1 u3"),  # a part in fewer than a quarter is left out
        ({(1, 2, 3): 5, (1, 4, 3): 4}, "u1 [u4] [u2] u3"),
        ({(6, 5, 6, 5, 6): 3, (6, 5, 6): 2, (6, 5) * 4 + (6,): 1}, "(u6 u5)×1-4 u6"),
        ({(6, 5, 6, 5): 3, (5, 6, 5, 6): 2, (6, 5): 9}, "(u6 u5)×1-2"),  # one cycle, not two rotations
        ({(7, 1, 2, 1, 2): 5, (7,): 5}, "u7 [(u1 u2)×2]"),
        ({(1, 2, 1, 2, 3) * 2: 1}, "(u1 u2 u1 u2 u3)×2"),
        ({(1, 2): 3} | {(i, i + 1): 2 for i in range(3, 20, 2)}, "[u1] [u2]"),  # nothing in common
        ({(3,): 0}, "u3"),  # a unit that never occurred where motifs were learned again
    ],
)
def test_lines(counts: dict[Phrase, int], line: str) -> None:
    assert composition(counts) == line


# ---------------------------------------------------------------- phrases of one motif

PHRASE = st.lists(st.integers(0, 3), min_size=1, max_size=6).map(tuple)


def longest_common(a: tuple[int, ...], b: tuple[int, ...]) -> int:
    """By its recursive definition."""
    if not a or not b:
        return 0
    if a[0] == b[0]:
        return 1 + longest_common(a[1:], b[1:])
    return max(longest_common(a[1:], b), longest_common(a, b[1:]))


@given(PHRASE, PHRASE)
def test_the_distance_is_what_its_definition_says(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    a, b = without_repeats(a), without_repeats(b)
    expected = 1 - 2 * longest_common(a, b) / (len(a) + len(b))
    for cut, groups in ((expected + 1e-9, [0, 0]), (expected - 1e-9, [0, 1])):
        assert cut < 0 or grouped([a, b], cut) == groups


def test_order_matters_and_repeats_do_not() -> None:
    assert grouped([(1, 2, 3), (3, 2, 1), (1, 2, 3, 2, 3), (1, 3)], cut=0.25) == [0, 1, 0, 0]
    assert grouped([(1, 2)], cut=0.25) == [0]
    assert grouped([], cut=0.25) == []
