"""Which phrases are one motif."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rondo.motifs.phrases import grouped, phrase_distances, without_repeats

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
    assert abs(phrase_distances([a, b])[0, 1] - expected) < 1e-12


def test_order_matters_and_repeats_do_not() -> None:
    assert grouped([(1, 2, 3), (3, 2, 1), (1, 2, 3, 2, 3), (1, 3)], cut=0.25) == [0, 1, 0, 0]
    assert grouped([(1, 2)], cut=0.25) == [0]
    assert grouped([], cut=0.25) == []
