"""Closeness of windows: its definition by loops, and what it must not depend on."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.data.windows import WindowGrid, Windows
from rondo.evidence import signal as module
from rondo.evidence.signal import WindowAxis
from tests.naive_evidence import naive_closeness


def axis_of(spans: tuple[tuple[int, int], ...], length: int = 20, step: int = 5) -> WindowAxis:
    n_frames = spans[-1][1]
    return WindowAxis.of(Windows(np.zeros((n_frames, 1), np.float32), WindowGrid(length, step, n_frames, spans)))


@given(seed=st.integers(0, 2**16), n_labels=st.integers(1, 4), cut=st.integers(60, 140))
def test_closeness_equals_its_definition(seed: int, n_labels: int, cut: int) -> None:
    rng = np.random.default_rng(seed)
    axis = axis_of(((0, cut), (cut, 200)))
    n_windows = len(axis.places)
    statistics = np.round(rng.standard_normal((n_windows, 2)), 1).astype(np.float32)  # with windows that are equal
    labels = np.repeat(rng.integers(-1, n_labels, n_windows), rng.integers(1, 4, n_windows))[:n_windows]
    naive_whole, naive_entries = naive_closeness(statistics, labels.tolist(), axis.spans, 4, module._SAME)
    assert axis.closeness(statistics) == pytest.approx(naive_whole, abs=1e-5)
    assert axis.entry_closeness(statistics, labels.astype(np.int32)) == pytest.approx(naive_entries, abs=1e-5)


def test_what_comes_again_is_close_and_equal_windows_are_as_close_as_can_be() -> None:
    axis, rng = axis_of(((0, 400),)), np.random.default_rng(0)
    once = rng.standard_normal((len(axis.places), 5)).astype(np.float32)
    again = once.copy()
    half = len(once) // 2
    again[half : 2 * half] = again[:half]
    assert axis.closeness(again) > axis.closeness(once) + 1
    assert axis.closeness(np.tile(once[:11], (7, 1))) == pytest.approx(-np.log(module._SAME))


def test_windows_that_all_overlap_and_windows_that_are_all_equal_are_not_close() -> None:
    few = axis_of(((0, 30),))
    assert few.closeness(np.random.default_rng(0).standard_normal((3, 2)).astype(np.float32)) == 0.0
    many = axis_of(((0, 200),))
    equal = np.ones((len(many.places), 2), np.float32)
    assert many.closeness(equal) == 0.0
    assert many.entry_closeness(equal, np.arange(len(equal), dtype=np.int32) % 2) == {}
