"""Which columns are channels: never labels, ids, text, row counters or a second clock; and each is said."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from rondo.errors import RecordingError
from rondo.files.column_values import Kind, kind_of_numbers
from rondo.files.columns import Column, Columns
from rondo.files.columns import choose_columns as chosen_of
from rondo.files.reading import Reading


def choose_columns(
    names: list[str], reading: Reading, kinds: dict[int, Kind] | None = None, wanted: Sequence[str] = ()
) -> Columns:
    return chosen_of([Column(name, (kinds or {}).get(i)) for i, name in enumerate(names)], reading, wanted)


def test_what_is_no_channel_is_left_out_and_said() -> None:
    names = ["", "time", "seconds_elapsed", "subject_id", "x", "note", "Activity ID"]
    found = choose_columns(names, Reading(), kinds={0: "counter", 5: "text"})
    assert (found.channels, found.clock) == (("x",), 1)
    assert [note.split(" left out")[0] for note in found.notes] == [
        "column 'subject_id'",
        "column 'Activity ID'",
        "column 'seconds_elapsed'",
        "column 'note'",
        "column 1, which has no name,",
    ]


def test_a_clock_by_what_it_holds() -> None:
    for kind, why in {"dates": "it holds dates", "epoch": "its numbers count from 1970"}.items():
        found = choose_columns(["when", "x"], Reading(), kinds={0: kind})  # type: ignore[dict-item]
        assert (found.clock, found.notes) == (0, (f"column 'when' is the clock, because {why}",))
    named = choose_columns(["when", "time", "x"], Reading(), kinds={0: "epoch"})
    assert (named.clock, named.channels) == (1, ("when", "x"))
    rated = choose_columns(["time", "x"], Reading(rate=50.0))
    assert (rated.clock, rated.channels) == (None, ("x",))


def test_date_and_time_in_two_columns_are_one_clock() -> None:
    found = choose_columns(["Date", "Time", "x"], Reading(), kinds={0: "day", 1: "time of day"})
    assert (found.day, found.clock, found.channels) == (0, 1, ("x",))
    alone = choose_columns(["Date", "timestamp", "x"], Reading(), kinds={0: "day"})
    assert (alone.day, alone.clock) == (None, 1)


def test_a_counter_that_is_all_there_is_stays() -> None:
    assert choose_columns(["n"], Reading(), kinds={0: "counter"}).channels == ("n",)
    with pytest.raises(RecordingError, match=r"numbers among the columns"):
        choose_columns(["n"], Reading(), kinds={0: "text"})


@pytest.mark.parametrize(
    ("numbers", "unnamed", "named"),
    [
        (np.arange(40.0), "counter", "counter"),
        (np.arange(5.0), "counter", None),
        (np.arange(40.0) / 50, "rising", None),
        (1.7e12 + 20 * np.arange(40.0), "epoch", "epoch"),
        (np.sin(np.arange(40.0)), None, None),
        (np.full(40, 1.7e9), None, None),
        (np.full(40, np.nan), None, None),
    ],
)
def test_what_numbers_show(numbers: np.ndarray, unnamed: str | None, named: str | None) -> None:
    assert kind_of_numbers(numbers, is_unnamed=True) == unnamed
    assert kind_of_numbers(numbers, is_unnamed=False) == named


def test_channels_that_a_model_knows_are_channels_whatever_they_look_like() -> None:
    kinds: dict[int, Kind] = {0: "counter", 3: "text"}
    chosen = choose_columns(
        ["n", "time", "label", "state", "", "id"], Reading(), kinds=kinds, wanted=["state", "n", "id"]
    )
    assert (chosen.channels, chosen.positions, chosen.clock) == (("n", "state", "id"), (0, 3, 5), 1)
    assert "not know: 'column 5'" in chosen.notes[-1]
    twice = choose_columns(["x", "x", "y"], Reading(), kinds=kinds, wanted=["y", "x"])  # the first only counts rows
    assert twice.positions == (1, 2)
    assert choose_columns(["n", "x"], Reading(), kinds=kinds, wanted=["z"]).channels == ("x",)
