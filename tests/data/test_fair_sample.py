"""A fair sample: everything where that is little, else whole stretches within the budget, every frame alike."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.data.signal import Signal
from rondo.data.survey import fair_sample, most_frames, n_taken, stretch_frames, taken
from rondo.data.windows import Span


@st.composite
def spans_of_several(draw: st.DrawFn) -> list[list[Span]]:
    """Recordings of a few spans each, with gaps between some of them; one may have none at all."""
    found = []
    for _ in range(draw(st.integers(1, 6))):
        at, own = 0, []
        for _ in range(draw(st.integers(0, 4))):
            at += draw(st.integers(0, 5))
            length = draw(st.integers(1, 60))
            own.append((at, at + length))
            at += length
        found.append(own)
    return found


def frames_in(stretches: list[tuple[Span, ...]]) -> list[tuple[int, int]]:
    """Recording and frame of everything that was taken."""
    return [(i, f) for i, own in enumerate(stretches) for start, stop in own for f in range(start, stop)]


@given(spans_of_several(), st.integers(1, 40), st.integers(1, 200), st.integers(0, 2**32))
def test_the_budget_is_kept_and_only_usable_frames_are_taken_once(
    spans: list[list[Span]], stretch: int, most: int, seed: int
) -> None:
    stretch = min(stretch, most)
    found = fair_sample(spans, stretch, most, np.random.default_rng(seed))
    chosen, usable = frames_in(found), frames_in([tuple(own) for own in spans])
    assert len(chosen) == len(set(chosen)) <= max(most, 0)
    assert set(chosen) <= set(usable)
    if len(usable) <= most:
        assert found == [tuple(own) for own in spans]
    for own, whole in zip(found, spans, strict=True):  # a stretch never reaches over the end of a span
        assert all(any(a <= start and stop <= b for a, b in whole) for start, stop in own)


@settings(max_examples=15)
@given(spans_of_several(), st.integers(1, 20))
def test_every_frame_has_the_same_chance(spans: list[list[Span]], stretch: int) -> None:
    usable = frames_in([tuple(own) for own in spans])
    most = max(stretch, len(usable) // 3)
    if len(usable) <= most:
        return
    n_draws, rng = 600, np.random.default_rng(0)
    counts = dict.fromkeys(usable, 0)
    for _ in range(n_draws):
        for frame in frames_in(fair_sample(spans, stretch, most, rng)):
            counts[frame] += 1
    n_pieces = -(-len(usable) // stretch)
    chance = 1 / -(-n_pieces // (most // stretch))
    deviation = np.sqrt(chance * (1 - chance) / n_draws)
    npt.assert_allclose(np.array([*counts.values()]) / n_draws, chance, atol=6 * deviation + 1e-9)


def test_recordings_of_one_length_are_met_at_different_places() -> None:
    """Every k-th piece from one start would meet each of them at its beginning, or never."""
    found = fair_sample([[(0, 1000)]] * 40, 100, 4_000, np.random.default_rng(0))
    places = {start for own in found for start, _ in own}
    assert len(places) > 5
    assert sum(map(bool, found)) > 25


def test_pieces_that_follow_each_other_are_one_stretch_and_spans_stay_apart() -> None:
    both = fair_sample([[(0, 30)], [(0, 15), (15, 30)]], 10, 59, np.random.default_rng(1))
    assert frames_in(both)
    for own in both:
        assert all(first[1] < second[0] or first[1] in (0, 15) for first, second in pairwise(own))


def test_what_is_taken_is_the_very_signal_where_all_of_it_is() -> None:
    values = np.arange(20, dtype=np.float32)[:, None]
    signal = Signal("a", values, None, ("x",), ((0, 5), (8, 20)), 20)
    assert taken(signal, signal.spans) is signal
    part = taken(signal, [(1, 3), (10, 14)])
    assert part.values[:, 0].tolist() == [1, 2, 10, 11, 12, 13]
    assert part.spans == ((0, 2), (2, 6))
    assert n_taken(20, signal.spans, signal.spans) == 20
    assert n_taken(20, signal.spans, [(1, 3), (10, 14)]) == part.n_frames
    assert taken(signal, []).n_frames == 0


@pytest.mark.parametrize(("n_dims", "step", "most"), [(9, 18, 2_359_296), (9, 100, 3_728_270), (3, 1, 131_072)])
def test_values_and_windows_are_both_bounded(n_dims: int, step: int, most: int) -> None:
    assert most_frames(n_dims, step) == most
    assert 1 <= stretch_frames(300, most) <= most
