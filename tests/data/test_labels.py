"""Label tracks that are the same under other ids, told as one would by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rondo.data.labels import OTHER, are_one_to_one

TRACKS = st.lists(st.tuples(st.integers(-1, 2), st.integers(-1, 2)), max_size=12)


def by_hand(frames: list[tuple[int, int]]) -> bool:
    """Each id of the one track has one id of the other, and OTHER has OTHER."""
    for a, b in frames:
        if (a == OTHER) != (b == OTHER):
            return False
        if any((a == other_a) != (b == other_b) for other_a, other_b in frames):
            return False
    return True


@given(TRACKS)
def test_one_to_one_is_as_by_hand(frames: list[tuple[int, int]]) -> None:
    first, second = np.array(frames, dtype=np.int32).reshape(-1, 2).T
    assert are_one_to_one(first, second) == by_hand(frames) == are_one_to_one(second, first)


@given(TRACKS, st.permutations(range(3)))
def test_other_ids_change_nothing(frames: list[tuple[int, int]], ids: list[int]) -> None:
    track = np.array(frames, dtype=np.int32).reshape(-1, 2)[:, 0]
    renamed = np.where(track == OTHER, OTHER, np.array(ids)[track])
    assert are_one_to_one(track, renamed)
