"""The golden occurrence of an entry, what deviates from it, and the list of stretches unlike the rest."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.analysis.golden import FEWEST, Golden, profiled, profiles_of
from rondo.analysis.rare import MOST_LISTED, RARE_COLUMNS, rare_in, steps_in
from rondo.data.recording import Recording
from rondo.result import Result, make_result
from rondo.run.labelling import Labelling
from tests import naive_golden as naive

OFF = np.zeros(0, np.int64)
MIDNIGHT = 1_794_700_800.0  # 2026-11-15
LENGTHS = {0: 40, 1: 24, 2: 30}


def cycles(n: int, seed: int = 0, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    """A machine of three channels that runs u0 u1 u2, n times: each unit a ramp of its own."""
    rng = np.random.default_rng(seed)
    values, track = [], []
    for _ in range(n):
        for unit, length in LENGTHS.items():
            length += int(rng.integers(-2, 3))
            ramp = np.zeros((length, 3))
            ramp[:, unit] = np.linspace(0, 2, length)
            values.append(ramp)
            track.append(np.full(length, unit))
    own = np.concatenate(values)
    return own + rng.normal(0, noise, own.shape), np.concatenate(track)


def result_of(values: np.ndarray, track: np.ndarray, start_s: float = MIDNIGHT) -> Result:
    recording = Recording(values, 1.0, ("a", "b", "c"), "day", start_s + np.arange(len(values)))
    ones, own = np.ones(len(values), np.float32), track.astype(np.int32)
    return make_result("clock", [recording], [Labelling("day", own, own, ones, ones, recording.times_s, 1.0, OFF, 1.0)])


def spans(track: np.ndarray, unit: int) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(track, prepend=-1, append=-1))
    return [(int(a), int(b)) for a, b in pairwise(edges) if track[a] == unit]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(0, 99))
def test_profiles_equal_the_slow_twin(lengths: list[int], seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(sum(lengths) + 3, 2)) * [1, 1e3] + [1e4, 0]
    stops = np.cumsum(lengths) + 3
    starts = stops - lengths
    found = profiles_of(values, starts, stops)
    for i, (start, stop) in enumerate(zip(starts, stops, strict=True)):
        for channel in range(2):
            expected = naive.profile(values[start:stop, channel].tolist())
            for kind, name in enumerate(("level", "movement")):
                npt.assert_allclose(found[i, :, kind, channel], expected[name], rtol=1e-4, atol=1e-3)


def test_scores_equal_the_slow_twin() -> None:
    rng = np.random.default_rng(3)
    profiles = rng.normal(size=(11, 8, 2, 3)).astype(np.float32)
    least = np.full((2, 3), 0.05)
    golden = Golden.of(("a", "b", "c"), profiles, np.full(11, 10.0), least)
    assert golden is not None
    names, kinds = ("a", "b", "c"), ("level", "movement")
    occurrences = [
        {c: {k: one[:, kinds.index(k), names.index(c)].tolist() for k in kinds} for c in names} for one in profiles
    ]
    expected = naive.scores(occurrences, {c: dict.fromkeys(kinds, 0.05) for c in names})
    npt.assert_allclose(golden.scores(profiles), expected, rtol=1e-4)
    assert [golden.deviation(profiles[[i]]).score for i in range(11)] == pytest.approx(expected, rel=1e-4)


def test_an_occurrence_with_one_phase_changed_deviates_in_its_channel_and_no_other_does() -> None:
    values, track = cycles(40)
    start, stop = spans(track, 1)[17]
    values[start + 6 : start + 12, 2] += 1.5  # c does not take part in u1
    (one,) = rare_in(result_of(values, track).run)
    assert (one.id, one.start_frame, one.end_frame, one.why) == (1, start, stop, "deviates")
    assert one.score > 2 and one.channels[0] in ("c high", "c moves more")


def test_what_lasts_far_longer_and_what_occurs_once_are_found_with_their_dates() -> None:
    values, track = cycles(40)
    at = spans(track, 1)[20][1]
    values = np.insert(values, [at] * 90, values[at - 1], axis=0)
    track = np.insert(track, [at] * 90, 1)
    end = spans(track, 2)[30][1]
    values = np.insert(values, [end] * 25, [0.0, 9.0, 0.0], axis=0)
    track = np.insert(track, [end] * 25, 7)
    result = result_of(values, track)
    found = {(one.why, one.id): one for one in rare_in(result.run)}
    assert ("too long", 1) in found or ("deviates", 1) in found
    once = found["occurs once", 7]
    assert (once.start_frame, once.end_frame, once.channels[0]) == (end, end + 25, "b high")
    table = result.rare
    assert table.columns.tolist() == RARE_COLUMNS
    row = table[table["why"] == "occurs once"].iloc[0]
    assert (row["start_time"] - np.datetime64("2026-11-15")) / np.timedelta64(1, "s") == pytest.approx(end)


def test_a_step_that_is_left_out_is_found_and_steps_are_those_of_the_cycle() -> None:
    values, track = cycles(40)
    start, stop = spans(track, 1)[12]
    values, track = np.delete(values, np.s_[start:stop], axis=0), np.delete(track, np.s_[start:stop])
    result = result_of(values, track)
    found = [one for one in rare_in(result.run) if one.why.startswith("missing step")]
    assert [one.why for one in found] == ["missing step u1"] and found[0].start_frame < start < found[0].end_frame
    units = result.run.tables["segments"].filter(pl.col("level") == "unit")
    assert steps_in(units, result.recordings) == [(0, 1, 2), (1, 2, 0), (2, 0, 1)]


def test_a_machine_that_runs_as_ever_has_an_empty_list_mostly() -> None:
    """At 1.3 times the 95 % quantile of its own occurrences, 3,600 that are alike give few rows."""
    n_rows = [len(rare_in(result_of(*cycles(40, seed)).run)) for seed in range(30)]
    assert np.mean(n_rows) < 1.0


def test_units_of_channels_their_order_and_what_was_before_change_no_score() -> None:
    values, track = cycles(30, seed=4)
    start, _ = spans(track, 2)[9]
    values[start : start + 8, 0] += 2

    def scores(own: np.ndarray) -> list[tuple[int, str, float]]:
        return [(one.start_frame, one.why, one.score) for one in rare_in(result_of(own, track).run)]

    expected = scores(values)
    assert expected
    for other in (values[:, ::-1], 1000 * values + 5):
        assert [one[:2] for one in scores(other)] == [one[:2] for one in expected]
        npt.assert_allclose([one[2] for one in scores(other)], [one[2] for one in expected], rtol=0.02)


def test_few_occurrences_have_no_golden_one_and_a_constant_channel_is_no_trouble() -> None:
    values, track = cycles(FEWEST - 1)
    values[:, 2] = 5.0
    run = result_of(values, track).run
    read = profiled(run, ["day"])
    assert read is not None and read.goldens() == {} and rare_in(run) == ()
    values, track = cycles(FEWEST)
    values[:, 2] = 5.0
    read = profiled(result_of(values, track).run, ["day"])
    assert read is not None and len(read.goldens()) == len(LENGTHS)


def test_the_list_is_short_and_survives_the_folder(tmp_path: Path) -> None:
    values, track = cycles(60, seed=8)
    for place, (start, stop) in enumerate(spans(track, 1)[:30]):
        track[start:stop] = 10 + place
    result = result_of(values, track)
    assert len(result.summary.rare) == MOST_LISTED
    stored = Result.load(result.save(tmp_path / "run"))
    assert stored.summary.rare == result.summary.rare
    assert "Unlike the rest" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")


def test_where_everything_occurs_once_nothing_is_rare() -> None:
    values, _ = cycles(20, seed=2)
    pieces = np.repeat(np.arange(40), -(-len(values) // 40))[: len(values)]
    assert not [one for one in rare_in(result_of(values, pieces).run) if one.why.startswith("occurs")]


def test_a_sensor_that_sits_differently_in_a_recording_makes_nothing_rare() -> None:
    recordings, labellings = [], []
    for seed in range(3):
        values, track = cycles(15, seed=seed)
        gained = (1 + seed) * values + 50 * seed
        recordings.append(Recording(gained, 1.0, ("a", "b", "c"), f"day{seed}"))
        ones, own = np.ones(len(values), np.float32), track.astype(np.int32)
        times = recordings[-1].times_s
        labellings.append(Labelling(f"day{seed}", own, own, ones, ones, times, 1.0, OFF, 1.0))
    assert len(rare_in(make_result("clock", recordings, labellings).run)) <= 2
