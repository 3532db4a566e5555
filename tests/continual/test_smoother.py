from __future__ import annotations

import json

import numpy as np
import numpy.testing as npt
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from rondo.continual.smoother import Smoother
from rondo.units.viterbi import smooth

COSTS = arrays(np.float64, st.tuples(st.integers(1, 25), st.integers(1, 4)), elements=st.integers(0, 8).map(float))


def smoothed(costs: NDArray[np.float64], penalty: float, lag: int) -> list[int]:
    smoother = Smoother(costs.shape[1], penalty, lag)
    due = [state for row in costs if (state := smoother.push(row)) is not None]
    return due + smoother.flush()


def cost_of(path: list[int], costs: NDArray[np.float64], penalty: float) -> float:
    changes = sum(a != b for a, b in zip(path[1:], path[:-1], strict=True))
    return float(sum(costs[t, state] for t, state in enumerate(path)) + penalty * changes)


@settings(max_examples=150, deadline=None)
@given(COSTS, st.integers(0, 5).map(float))
def test_with_a_delay_as_long_as_the_stream_it_is_viterbi(costs: NDArray[np.float64], penalty: float) -> None:
    path = smoothed(costs, penalty, lag=len(costs))
    assert cost_of(path, costs, penalty) == cost_of(smooth(costs, penalty).tolist(), costs, penalty)


@settings(max_examples=100, deadline=None)
@given(COSTS, st.integers(0, 5).map(float), st.integers(0, 6))
def test_every_decision_is_the_viterbi_of_what_came_so_far(
    costs: NDArray[np.float64], penalty: float, lag: int
) -> None:
    for t, state in enumerate(smoothed(costs, penalty, lag)):
        known = costs[: t + lag + 1]
        best = cost_of(smooth(known, penalty).tolist(), known, penalty)
        through = known.copy()
        through[t, np.arange(known.shape[1]) != state] = 1e6
        assert cost_of(smooth(through, penalty).tolist(), known, penalty) == best


@settings(max_examples=60, deadline=None)
@given(COSTS, st.integers(0, 4), st.data())
def test_stopping_anywhere_and_adding_states_changes_nothing(
    costs: NDArray[np.float64], lag: int, data: st.DataObject
) -> None:
    stop, grow = (data.draw(st.integers(0, len(costs))) for _ in range(2))
    plain, kept = Smoother(costs.shape[1], 2.0, lag), Smoother(costs.shape[1], 2.0, lag)
    for t, row in enumerate(costs):
        if t == grow:
            plain.add_state()
            kept.add_state()
        if t == stop:
            tensors, values = kept.state()
            kept = Smoother.restore(tensors, json.loads(json.dumps(values)))
        wider = np.append(row, 0.5) if t >= grow else row
        assert plain.push(wider) == kept.push(wider)
    npt.assert_array_equal(plain.totals, kept.totals)
    assert plain.flush() == kept.flush()


def test_a_state_added_late_is_reached_only_from_then_on() -> None:
    smoother = Smoother(1, 1.0, lag=2)
    for _ in range(3):
        smoother.push(np.array([5.0]))
    smoother.add_state()
    states = [smoother.push(np.array([5.0, 0.0])) for _ in range(4)]
    assert states + smoother.flush() == [0, 0, 1, 1, 1, 1]
