"""Cycle times: planted ones are found, shuffled ones are not."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rondo.analysis.sequence import LEAST_INTERVALS, cycles_in
from tests.analysis.test_distributions import recording

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


def test_the_segments_of_a_planted_cycle_in_any_order_are_not_regular() -> None:
    for seed in range(40):
        rng = np.random.default_rng(seed)
        ids, lengths = planted(rng, 25)
        order = rng.permutation(ids.size)
        assert cycles_in(table_of("a", ids[order], lengths[order]), [recording(10_000, "a", RATE)]) == []


def test_two_entries_that_take_turns_are_regular_if_they_last_equally_long() -> None:
    rng, ids = np.random.default_rng(6), np.tile([0, 1], 20)
    for lengths, expected in ((rng.integers(18, 23, 40), [0, 1]), (rng.geometric(0.05, 40), [])):
        found = cycles_in(table_of("a", ids, lengths), [recording(10_000, "a", RATE)])
        assert [one.id for one in found] == expected


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
