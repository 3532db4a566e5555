"""Hypothesis strategies for short pairs of tracks with runs in them."""

from __future__ import annotations

from hypothesis import strategies as st

Pair = tuple[list[int], list[int]]


def track(n_frames: int, lowest_id: int, highest_id: int) -> st.SearchStrategy[list[int]]:
    """Runs of 1 to 6 frames, repeated or cut to `n_frames`."""
    run = st.tuples(st.integers(lowest_id, highest_id), st.integers(1, 6))
    return st.lists(run, min_size=1, max_size=10).map(
        lambda runs: ([label for label, length in runs for _ in range(length)] * n_frames)[:n_frames]
    )


def pairs(max_frames: int = 40) -> st.SearchStrategy[Pair]:
    """Truth with up to 4 classes, labels with up to 5 clusters, OTHER among them."""
    return st.integers(1, max_frames).flatmap(lambda n: st.tuples(track(n, 0, 3), track(n, -1, 3)))
