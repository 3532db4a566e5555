"""Shares, rates and durations, by recording and by group; differences that chance could hardly have made."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.analysis import usage as module
from rondo.analysis.usage import (
    N_DEALS,
    Usage,
    differences,
    gaps_between,
    group_usage,
    groups_of_run,
    holm,
    mean_interval,
    smallest_p,
    unit_of_comparison,
)
from rondo.data.labels import OTHER
from rondo.errors import InputError
from rondo.result import Result
from tests.report.on_folders import groups_of, usage_of_run
from tests.report.run_folders import edit_summary, write_run_folder

IDS = ("s1_a", "s1_b", "s2_a", "s2_b")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run_folder(tmp_path / "run", recording_ids=IDS, with_truth=False)


def test_every_entry_in_every_recording(run: Path) -> None:
    rows = {(row.recording, row.level, row.id): row for row in usage_of_run(run)}
    segments = pl.read_parquet(run / "segments.parquet").filter(pl.col("id") != OTHER)
    assert len(rows) == len(IDS) * segments.select("level", "id").n_unique()
    for (recording, level, id), row in rows.items():
        own = segments.filter((pl.col("recording") == recording) & (pl.col("level") == level) & (pl.col("id") == id))
        frames = (own["end_frame"] - own["start_frame"]).to_numpy()
        assert row.n_occurrences == own.height
        assert row.share == pytest.approx(frames.sum() / 6000)
        assert row.per_hour == pytest.approx(own.height * 3600 * 50 / 6000)
        assert row.mean_duration_s == (pytest.approx(frames.mean() / 50) if own.height else None)


def test_an_entry_keeps_the_name_that_people_gave_it(run: Path) -> None:
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    summary["units"][2]["name"] = "reach"
    edit_summary(run, units=summary["units"])
    assert {row.name for row in usage_of_run(run) if (row.level, row.id) == ("unit", summary["units"][2]["id"])} == {
        "reach"
    }


def test_groups_by_a_table(run: Path, tmp_path: Path) -> None:
    table = tmp_path / "groups.csv"
    table.write_text("recording, group\n" + "".join(f"{id},{'old' if '1' in id else 'young'}\n" for id in IDS))
    assert groups_of(run, str(table))["s2_a"] == "young"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("recording,group\ns1_a,x\n", "'s1_b' (3 of 4)"),
        ("id,group\n", "columns recording and group"),
        ("", "found none"),
    ],
)
def test_tables_that_cannot_be(run: Path, tmp_path: Path, content: str, says: str) -> None:
    (tmp_path / "groups.csv").write_text(content)
    with pytest.raises(InputError) as error:
        groups_of(run, str(tmp_path / "groups.csv"))
    assert says in str(error.value)


def usage(recording: str, group: str, share: float, id: int = 0) -> Usage:
    return Usage(recording, group, "unit", id, "", 1, share, 10.0, 50.0, 1.0)


def test_a_group_is_the_mean_of_its_recordings() -> None:
    (found,) = group_usage([usage("a", "x", 0.1), usage("b", "x", 0.3)])
    assert (found.n_recordings, found.mean_share, found.sd_share) == (
        2,
        pytest.approx(0.2),
        pytest.approx(np.sqrt(0.02)),
    )
    assert group_usage([usage("a", "x", 0.1)])[0].sd_share is None


def test_intervals_are_over_recordings_and_stay_in_what_can_be() -> None:
    (found,) = group_usage([usage(f"r{i}", "x", share) for i, share in enumerate((0.2, 0.3, 0.4, 0.3))])
    sd, t = np.std([0.2, 0.3, 0.4, 0.3], ddof=1), 3.182446305284263  # of the table, for 3 degrees of freedom
    assert found.share_low == pytest.approx(0.3 - t * sd / 2) and found.share_high == pytest.approx(0.3 + t * sd / 2)
    assert (found.per_hour_low, found.per_hour_high) == (None, None)  # ten an hour in all of them: no spread
    (wide,) = group_usage([usage("a", "x", 0.0), usage("b", "x", 0.9)])
    assert (wide.share_low, wide.share_high) == (0.0, 1.0)
    (alone,) = group_usage([usage("a", "x", 0.1)])
    assert (alone.share_low, alone.share_high, alone.per_hour_low) == (None, None, None)
    (never,) = group_usage([usage("a", "x", 0.0), usage("b", "x", 0.0)])
    assert (never.mean_share, never.share_low) == (0.0, None)


def _shares(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return rng.beta(2, 8, shape)


def _rates(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return rng.poisson(rng.gamma(4, 2, shape)).astype(float)


def _half_absent(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return rng.beta(2, 8, shape) * (rng.random(shape) < 0.5)


def _skewed(rng: np.random.Generator, shape: tuple[int, int]) -> Any:
    return rng.beta(0.5, 5, shape)


@pytest.mark.parametrize("n", [3, 5, 10, 30])
@pytest.mark.parametrize(
    ("draw", "mean", "least"),
    [(_shares, 0.2, 0.91), (_rates, 8.0, 0.905), (_half_absent, 0.1, 0.84), (_skewed, 1 / 11, 0.80)],
)
def test_intervals_cover_the_true_mean_as_often_as_documented(draw: Any, mean: float, least: float, n: int) -> None:
    """The figures in the docstring of `mean_interval`, less three standard deviations of 2,000 samples."""
    samples = draw(np.random.default_rng(n), (2000, n))
    found = [(sample, mean_interval(sample.tolist())) for sample in samples]
    told = [(sample, one.low, one.high) for sample, one in found if one.low is not None and one.high is not None]
    covered = np.mean([low <= mean <= high for _, low, high in told])
    assert least <= covered <= 0.97
    if n <= 5:  # why it is no bootstrap
        drawn = np.random.default_rng(0).integers(0, n, (400, n))
        means = np.array([sample for sample, _, _ in told])[:, drawn].mean(axis=2)
        ends = np.quantile(means, [0.025, 0.975], axis=1)
        assert np.mean((ends[0] <= mean) & (mean <= ends[1])) < covered - 0.05


def test_the_groups_of_a_run_count_unless_others_are_given(run: Path) -> None:
    assert groups_of_run(Result.load(run)) is None
    about = json.loads((run / "summary.json").read_text(encoding="utf-8"))["recordings"]
    edit_summary(run, recordings=[one | {"group": one["id"][:2]} for one in about])
    result = Result.load(run)
    assert groups_of_run(result) == {id: id[:2] for id in IDS}
    assert groups_of_run(result, "_(.)") == {id: id[-1] for id in IDS}
    assert groups_of_run(result, dict.fromkeys(IDS, "one")) == dict.fromkeys(IDS, "one")
    assert set(result.usage()["group"]) == {"s1", "s2"}
    table = result.usage(per="group")
    assert set(table["group"]) == {"s1", "s2"} and (table["share_low"] <= table["mean_share"]).any()


def test_the_unit_of_comparison_is_said_and_who_is_in_twice(run: Path) -> None:
    result = Result.load(run)
    (said,) = unit_of_comparison(result, {id: id[:2] for id in IDS})
    assert "comparison is the recording" in said
    alone = unit_of_comparison(result, dict(zip(IDS, "xxxy", strict=True)))[1]
    assert "No interval for 'y'" in alone
    about = json.loads((run / "summary.json").read_text(encoding="utf-8"))["recordings"]
    edit_summary(run, recordings=[one | {"group": "ann" if i < 2 else "bob"} for i, one in enumerate(about)])
    people = Result.load(run)
    assert len(unit_of_comparison(people, {one.id: one.group for one in people.recordings})) == 1
    days = unit_of_comparison(people, dict(zip(IDS, ("day1", "day1", "day2", "day1"), strict=True)))
    assert "several recordings of 'ann'" in days[-1] and "not independent" in days[-1]
    assert len(unit_of_comparison(people, {id: id[-1] for id in IDS})) == 1  # one of each person in each


def naive_p(first: list[float], second: list[float]) -> float:
    """Every order of the recordings is a deal."""
    every = first + second
    gap = abs(np.mean(first) - np.mean(second))
    gaps = [
        abs(np.mean([every[i] for i in order[: len(first)]]) - np.mean([every[i] for i in order[len(first) :]]))
        for order in permutations(range(len(every)))
    ]
    return float(np.mean([own >= gap - 1e-12 for own in gaps]))


shares = st.lists(st.floats(0, 1).map(lambda value: round(value, 3)), min_size=1, max_size=3)


@settings(max_examples=25)
@given(shares, shares)
def test_p_as_the_slow_twin_has_it(first: list[float], second: list[float]) -> None:
    rows = [usage(f"a{i}", "x", share) for i, share in enumerate(first)]
    rows += [usage(f"b{i}", "y", share) for i, share in enumerate(second)]
    (found,) = differences(rows)
    assert found.p == pytest.approx(naive_p(first, second))
    assert found.difference == pytest.approx(np.mean(first) - np.mean(second))
    assert found.p >= smallest_p(len(first), len(second)) - 1e-12


def test_few_recordings_cannot_tell_and_many_can() -> None:
    def rows(n: int) -> list[Usage]:
        return [
            usage(f"{group}{i}", group, base + i / 1000) for group, base in (("x", 0.1), ("y", 0.6)) for i in range(n)
        ]

    assert differences(rows(2))[0].p > 0.3
    assert differences(rows(5))[0].p < 0.01
    assert differences(rows(12))[0].p == pytest.approx(1 / 10_000, abs=1e-4)  # too many deals to try them all


def test_p_is_corrected_for_the_number_of_entries() -> None:
    def rows(n_entries: int) -> list[Usage]:
        of: Callable[[int, int], float] = lambda group, i: 0.5 * group + i / 1000  # noqa: E731
        return [
            usage(f"{group}{i}", "xy"[group], of(group, i), id)
            for group in (0, 1)
            for i in range(4)
            for id in range(n_entries)
        ]

    one, many = differences(rows(1))[0].p, differences(rows(6))[0].p
    assert many == pytest.approx(6 * one)


def test_noise_is_rarely_called_a_difference() -> None:
    rng = np.random.default_rng(0)
    n_called = 0
    for _ in range(200):
        values = rng.random((8, 3))
        rows = [usage(f"r{i}", "xy"[i % 2], float(values[i, id]), id) for i in range(8) for id in range(3)]
        n_called += any(one.p <= 0.05 for one in differences(rows))
    assert n_called <= 18  # 5 % of 200, and three standard deviations


FIRST = np.arange(14) < 7  # 3,432 deals: all are tried


def test_random_deals_agree_with_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    values = rng.random((14, 6)) + np.linspace(0, 0.8, 6) * FIRST[:, None]
    gap, every = gaps_between(values, FIRST)
    np.testing.assert_allclose(gap, values[FIRST].mean(axis=0) - values[~FIRST].mean(axis=0))
    monkeypatch.setattr(module, "_ALL_TRIED", 0)
    again, dealt = gaps_between(values, FIRST)
    np.testing.assert_allclose(again, gap)
    # columns that chance explains stop after 999 deals: four standard deviations of so many
    assert (np.abs(dealt - every) <= 4 * np.sqrt(every * (1 - every) / np.where(every > 0.05, 1000, N_DEALS))).all()


@pytest.mark.slow
def test_large_groups_follow_the_normal_distribution() -> None:
    rng = np.random.default_rng(0)
    is_first = np.arange(400) < 150
    values = rng.beta(1, 6, (400, 5)) + np.linspace(0, 0.04, 5) * is_first[:, None]
    _, normal = gaps_between(values, is_first)
    dealt = module._dealt_p(values, is_first, gaps_between(values, is_first)[0])
    assert 0 < normal.min() < 0.05 < normal.max()
    np.testing.assert_allclose(normal, dealt, atol=0.05, rtol=0.3)
    rare = np.zeros((400, 1))
    rare[:5] = 1.0  # in five recordings alone, all of them of the first group
    exact = np.prod([(150 - i) / (400 - i) for i in range(5)])  # all in the first; none can be as far on the other side
    assert gaps_between(rare, is_first)[1][0] == pytest.approx(exact, rel=0.5)


def test_thousands_of_recordings_take_little_memory() -> None:
    import tracemalloc

    is_first = np.arange(6000) < 3000
    values = np.zeros((6000, 4))
    values[:3] = 1.0
    tracemalloc.start()
    gaps_between(values, is_first)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6


def test_holm_keeps_order_and_stays_below_one() -> None:
    assert holm([]) == [] and holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.02, 0.01]) == [0.02, 0.02]
