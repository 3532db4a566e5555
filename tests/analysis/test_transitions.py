"""What follows what: the twin, breaks and OTHER, means over recordings, differences between groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.analysis.sequence import Transition, group_transitions, transition_differences, transitions_of
from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.errors import SettingError
from rondo.result import Result, make_result
from rondo.run.labelling import Labelling
from tests import naive_transitions as naive
from tests.metrics.tracks import track


def labelling(id: str, labels: list[int], breaks: list[int]) -> Labelling:
    found = np.array(labels, dtype=np.int32)
    scores = np.where(found == OTHER, 0.0, 1.0).astype(np.float32)
    return Labelling(id, found, found, scores, scores, None, 10.0, np.array(breaks, np.int64), 1.0, ())


def result_of(tracks: dict[str, tuple[list[int], list[int]]], **about: Any) -> Result:
    recordings = [Recording(np.zeros((len(labels), 1)), 10, id=id) for id, (labels, _) in tracks.items()]
    return make_result("some", recordings, [labelling(id, *own) for id, own in tracks.items()], **about)


Tracks = dict[str, tuple[list[int], list[int]]]


@st.composite
def several(draw: st.DrawFn) -> Tracks:
    found: Tracks = {}
    for i in range(draw(st.integers(1, 3))):
        n_frames = draw(st.integers(2, 40))
        breaks = draw(st.lists(st.integers(1, n_frames - 1), max_size=3, unique=True))
        found[f"r{i}"] = (draw(track(n_frames, OTHER, 3)), sorted(breaks))
    return found


@given(several())
def test_counts_equal_the_slow_twin(tracks: Tracks) -> None:
    rows = [row for row in transitions_of(result_of(tracks)) if row.level == "unit"]
    for id, (labels, breaks) in tracks.items():
        expected = naive.counts(labels, breaks)
        own = [row for row in rows if row.recording == id]
        assert {(row.id, row.next_id): row.n for row in own if row.n} == dict(expected)
        for row in own:
            followed = sum(n for (first, _), n in expected.items() if first == row.id)
            assert row.n_followed == followed and row.probability == row.n / followed
        firsts = {row.id for row in own}
        assert all(sum(row.probability for row in own if row.id == first) == pytest.approx(1) for first in firsts)


def test_neither_breaks_nor_other_nor_the_next_recording_are_crossed() -> None:
    tracks = {"a": ([0, 0, 1, 1, OTHER, 0, 2, 2], [6]), "b": ([1, 1], [])}
    found = [(row.recording, row.id, row.next_id, row.n) for row in transitions_of(result_of(tracks))]
    assert found == [("a", 0, 1, 1)] * 2  # of units and of motifs


def test_a_phrase_that_is_repeated_at_once_follows_itself() -> None:
    from dataclasses import replace

    plain = labelling("a", [0, 0, 0, 0, 1, 1], [])
    cut = replace(plain, motif_begins=np.array([2], np.int64))
    result = make_result("some", [Recording(np.zeros((6, 1)), 10, id="a")], [cut])
    found = {(row.level, row.id, row.next_id): row.n for row in transitions_of(result)}
    assert found == {("unit", 0, 1): 1, ("motif", 0, 0): 1, ("motif", 0, 1): 1}


def row(recording: str, group: str, probability: float, next_id: int = 1, first: int = 0) -> Transition:
    return Transition(recording, group, "unit", first, next_id, "", "", round(10 * probability), 10, probability)


def test_a_group_is_the_mean_over_recordings_in_which_the_first_is_followed() -> None:
    rows = [row("a", "x", 0.2), row("b", "x", 0.4), row("c", "y", 1.0), row("a", "x", 0.0, 2)]
    found = {(one.group, one.next_id): one for one in group_transitions(rows)}
    assert found.keys() == {("x", 1), ("y", 1)}  # what never occurs in a group is no row of it
    assert (found["x", 1].n, found["x", 1].n_recordings, found["x", 1].probability) == (6, 2, pytest.approx(0.3))
    assert found["x", 1].low == 0.0 and found["x", 1].high == 1.0  # t of two recordings, cut to what can be
    assert found["y", 1].low is None and found["y", 1].high is None


def test_differences_are_those_of_shares_with_rare_transitions_left_out() -> None:
    def rows(n: int) -> list[Transition]:
        return [
            one
            for group, base in (("x", 0.1), ("y", 0.6))
            for i in range(n)
            for one in (
                row(f"{group}{i}", group, base + i / 1000),
                row(f"{group}{i}", group, 0.9 - base - i / 1000, 2),
                row(f"{group}{i}", group, 0.01, 3),
            )
        ]

    assert all(one.p > 0.3 for one in transition_differences(rows(2)))
    found = transition_differences(rows(6))
    assert {one.next_id for one in found} == {1, 2}
    assert [round(one.difference, 3) for one in found] == [-0.5, 0.5]
    assert all(one.p == pytest.approx(2 * 2 / 924) for one in found)  # 12 over 6 deals, two comparisons


def test_a_group_that_never_has_the_first_entry_is_not_compared() -> None:
    rows = [row(f"a{i}", "x", 0.5) for i in range(3)] + [row("b", "y", 1.0, 0, first=1)]
    assert transition_differences(rows) == []


def test_noise_is_rarely_called_a_difference() -> None:
    rng = np.random.default_rng(0)
    n_called = 0
    for _ in range(200):
        values = rng.random(8)
        rows = [
            row(f"r{i}", "xy"[i % 2], float(p), next_id)
            for i, p in enumerate(values)
            for next_id, p in ((1, p), (2, 1 - p))
        ]
        n_called += any(one.p <= 0.05 for one in transition_differences(rows))
    assert n_called <= 18  # 5 % of 200, and three standard deviations


def test_as_a_table_by_recording_and_by_group() -> None:
    tracks = {"s1_a": ([0, 1, 0, 2], []), "s1_b": ([0, 1, 0, 1], []), "s2_a": ([0, 2, 0, 2], [])}
    result = result_of(tracks)
    each = result.transitions("s")
    assert set(each["group"]) == {"s1", "s2"} and len(each[each["level"] == "unit"]) == 9
    table = result.transitions({"s1_a": "x", "s1_b": "x", "s2_a": "y"}, per="group")
    own = table[(table["level"] == "unit") & (table["id"] == 0)].set_index(["group", "next_id"])
    assert own.loc[("x", 1), "probability"] == 0.75 and own.loc[("y", 2), "probability"] == 1.0
    assert set(result.transitions(per="group")["group"]) == {"all"}
    nothing = result_of({"a": ([0, 0, OTHER, 1], [])}).transitions()
    assert nothing.empty and list(nothing.columns) == list(each.columns)
    with pytest.raises(SettingError, match="recording or group"):
        result.transitions(per="person")  # type: ignore[arg-type]
