"""Frames that are kept of a stream: bounded, evenly spread, the same in any chunks."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.continual import frame_sample
from rondo.continual.frame_sample import FrameSample

LENGTH, STEP, RECENT = 8, 2, 20
VALUES = np.random.default_rng(0).normal(size=(3_000, 2)).astype(np.float32)


def sampled(cuts: list[int], n_frames: int = 1_000, breaks: tuple[int, ...] = ()) -> FrameSample:
    sample = FrameSample(LENGTH, STEP, 2, RECENT)
    for start, stop in pairwise(sorted({0, *cuts, *breaks, n_frames})):
        if start in breaks:
            sample.begin()
        sample.push(VALUES[start:stop])
    return sample


def kept(sample: FrameSample) -> tuple[list[object], ...]:
    values, spans = sample.frames()
    return values.tolist(), [*spans], sample.moments.mean.tolist(), sample.recent().tolist()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 999), max_size=12))
def test_nothing_depends_on_chunks(cuts: list[int]) -> None:
    one, other = sampled(cuts, breaks=(500,)), sampled([], breaks=(500,))
    assert kept(one) == kept(other) and (one.n_frames, one.n_windows) == (other.n_frames, other.n_windows)


def test_a_short_stream_is_kept_whole() -> None:
    values, spans = sampled([]).frames()
    npt.assert_array_equal(values, VALUES[:1_000])
    assert spans == ((0, 1_000),)
    values, spans = sampled([], breaks=(500, 700)).frames()
    npt.assert_array_equal(values, VALUES[:1_000])
    assert spans == ((0, 500), (500, 700), (700, 1_000))


def test_a_long_stream_is_kept_in_pieces_from_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_sample, "_MOST_VALUES", 1)
    sample = sampled([], n_frames=3_000)
    values, spans = sample.frames()
    assert len(values) <= 17 * 4 * LENGTH < 3_000 and len(spans) > 4
    first = [int(np.flatnonzero((row == VALUES).all(axis=1))[0]) for row in values[[start for start, _ in spans]]]
    assert first[0] == 0 and first[-1] > 2_500 and len(set(np.diff(first).tolist())) == 1
    assert sample.n_frames == 3_000 and sample.n_windows == (3_000 - LENGTH) // STEP + 1


def test_moments_are_of_every_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_sample, "_MOST_VALUES", 1)
    moments = sampled([7, 1_500], n_frames=2_999).moments
    npt.assert_allclose(moments.mean, VALUES[:2_999].mean(axis=0, dtype=np.float64))
    npt.assert_allclose(moments.squares / moments.count, VALUES[:2_999].var(axis=0, dtype=np.float64))


def test_the_last_frames_of_the_stretch_are_kept() -> None:
    npt.assert_array_equal(sampled([10, 11, 12, 400]).recent(), VALUES[1_000 - RECENT : 1_000])
    npt.assert_array_equal(sampled([], breaks=(990,)).recent(), VALUES[990:1_000])


def test_it_is_restored_exactly() -> None:
    sample, again = sampled([], n_frames=777, breaks=(300,)), FrameSample(LENGTH, STEP, 2, RECENT)
    tensors, plain = sample.state()
    again.load(tensors, json.loads(json.dumps(plain)))
    for one in (sample, again):
        one.push(VALUES[777:2_000])
    assert kept(again) == kept(sample) and again.n_windows == sample.n_windows
    with pytest.raises(ValueError, match="sample of"):
        FrameSample(LENGTH, STEP, 2, RECENT).load(tensors, plain | {"pieces": []})
