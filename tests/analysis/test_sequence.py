"""What follows what, and what comes back at regular intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.analysis.sequence import (
    LEAST_INTERVALS,
    Transition,
    cycles_in,
    group_transitions,
    transition_differences,
    transitions_of,
)
from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.errors import SettingError
from rondo.result import Result, make_result
from rondo.run.labelling import Labelling
from tests import naive_transitions as naive
from tests.analysis.test_shape import recording
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


RATE = 10.0


def table_of(recording: str, ids: np.ndarray, lengths: np.ndarray, level: str = "unit") -> pl.DataFrame:
    ends = np.cumsum(lengths)
    rows = {"start_frame": ends - lengths, "end_frame": ends, "id": ids}
    return pl.DataFrame(rows).with_columns(pl.lit(recording).alias("recording"), pl.lit(level).alias("level"))


def planted(rng: np.random.Generator, n: int, every: int = 40, jitter: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Entry 0 every `every` frames; between its occurrences some of three other entries, of any lengths."""
    ids: list[int] = []
    lengths: list[int] = []
    for _ in range(n):
        own = int(rng.integers(5, 10))
        rest = every + int(rng.integers(-jitter, jitter + 1)) - own
        cut = int(rng.integers(5, rest - 5))
        ids += [0, *rng.permutation([1, 2, 3])[:2].tolist()]
        lengths += [own, cut, rest - cut]
    return np.array(ids), np.array(lengths)


def in_any_order(rng: np.random.Generator, n: int, n_entries: int) -> tuple[np.ndarray, np.ndarray]:
    """Entries in any order, never twice in a row, of about equal lengths."""
    ids = [0]
    while len(ids) < n:
        ids.append(int(rng.choice([it for it in range(n_entries) if it != ids[-1]])))
    return np.array(ids), rng.integers(18, 23, size=n)


def test_a_planted_cycle_is_found_with_its_length() -> None:
    rng = np.random.default_rng(1)
    tables = [table_of(id, *planted(rng, 20)) for id in ("a", "b")]
    about = [recording(int(t["end_frame"].max()), id, RATE) for id, t in zip(("a", "b"), tables, strict=True)]
    found = {one.id: one for one in cycles_in(pl.concat(tables), about)}
    assert found[0].n_intervals == 38  # none from one recording to the next
    assert found[0].median == pytest.approx(4.0, abs=0.1) and found[0].in_seconds
    assert 3.7 < found[0].low <= found[0].median <= found[0].high < 4.3
    assert set(found) == {0}
    assert cycles_in(pl.concat(tables[::-1]), about[::-1]) == [*found.values()]


def test_missed_occurrences_do_not_hide_a_cycle() -> None:
    rng = np.random.default_rng(2)
    ids, lengths = planted(rng, 40)
    ids[[30, 90]] = 4  # two of forty
    table = table_of("a", ids, lengths)
    assert 0 in [one.id for one in cycles_in(table, [recording(10_000, "a", RATE)])]


def test_what_comes_in_any_order_is_not_regular() -> None:
    """Of three entries of equal lengths each comes back after two or three: its variation alone is often small."""
    n_called = n_tested = 0
    for seed in range(40):
        for n, n_entries in ((30, 3), (60, 3), (60, 4)):
            table = table_of("a", *in_any_order(np.random.default_rng(seed), n, n_entries))
            n_called += len(cycles_in(table, [recording(10_000, "a", RATE)]))
            n_tested += n_entries
    assert n_called <= 0.02 * n_tested


def test_few_intervals_and_breaks_do_not_count() -> None:
    rng = np.random.default_rng(3)
    few = table_of("a", *planted(rng, LEAST_INTERVALS))
    assert cycles_in(few, [recording(10_000, "a", RATE)]) == []
    ids, lengths = planted(rng, LEAST_INTERVALS + 1)
    enough = table_of("a", ids, lengths)
    assert [one.id for one in cycles_in(enough, [recording(10_000, "a", RATE)])] == [0]
    start = int(enough["start_frame"][12])
    broken = recording(10_000, "a", RATE).model_copy(update={"breaks": (start,)})
    assert cycles_in(enough, [broken]) == []


def test_other_ids_give_the_same_cycles_under_other_names_and_no_rate_gives_frames() -> None:
    ids, lengths = planted(np.random.default_rng(4), 20)
    about = [recording(10_000, "a", None)]
    (one,) = cycles_in(table_of("a", ids, lengths), about)
    (other,) = cycles_in(table_of("a", 3 - ids, lengths), about)
    assert (one.id, other.id) == (0, 3) and one._replace(id=3) == other
    assert not one.in_seconds and one.median == pytest.approx(40, abs=1)


def test_a_phrase_that_is_repeated_at_once_has_the_cycle_of_its_length() -> None:
    rng = np.random.default_rng(5)
    for spread, expected in ((2, [("motif", 0)]), (15, [])):
        lengths = 20 + rng.integers(-spread, spread + 1, 31)
        ids = np.array([0] * 15 + [1] + [0] * 15)
        found = cycles_in(table_of("a", ids, lengths, "motif"), [recording(10_000, "a", RATE)])
        assert [(one.level, one.id) for one in found] == expected
        assert all(one.median == pytest.approx(2.0, abs=0.2) for one in found)
