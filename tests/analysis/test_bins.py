"""Use in bins of time, held against counting frame by frame; bins by date, by hour of the day, over gaps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.analysis.bins import Bins, parse_bins
from rondo.data.labels import OTHER, Labels, runs_of
from rondo.data.recording import Recording
from rondo.errors import InputError, MissingExtraError, RecordingError, SettingError
from rondo.result import Result, make_result
from tests.cli.conftest import here as here
from tests.cli.conftest import rondo as rondo
from tests.cli.running import Command
from tests.report.by_hand import labelling_of

NOVEMBER = 1794774600.0  # 2026-11-15 20:30:00
RATE = 2.0


def found(labels: Labels, times: np.ndarray | None, id: str = "day1") -> Result:
    values = np.zeros((labels.size, 1), np.float32)
    recording = Recording(values, RATE if times is None else None, ("x",), id, times)
    return make_result("by hand", [recording], [labelling_of(recording, labels, labels)])


def by_frame(labels: Labels, times: np.ndarray, length_s: float, origin: float) -> dict[tuple[float, int], list[float]]:
    """Bin and entry -> share of the frames of the bin, and occurrences that begin in it."""
    bins = np.floor((times - origin) / length_s)
    runs, counts = runs_of(labels), dict[tuple[float, int], list[float]]()
    starts = runs.starts[labels[runs.starts] != OTHER]
    for one in np.unique(bins):
        for id in np.unique(labels[labels != OTHER]).tolist():
            begun = sum(bins[start] == one and labels[start] == id for start in starts)
            counts[one * length_s + origin, id] = [float((labels[bins == one] == id).mean()), float(begun)]
    return counts


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-1, 2), st.integers(3, 40)), min_size=2, max_size=12),
    st.sampled_from([4.0, 7.0, 30.0, 600.0]),
    st.sampled_from([0.0, NOVEMBER]),
    st.booleans(),
)
def test_bins_say_what_frames_do(blocks: list[tuple[int, int]], length_s: float, start: float, gap: bool) -> None:
    labels = np.repeat([id for id, _ in blocks], [n for _, n in blocks]).astype(np.int32)
    if (labels == OTHER).all():
        labels[:] = 0
    times = start + np.arange(labels.size) / RATE
    if gap and labels.size > 12:  # of fewer frames the gap would be the usual step
        times[runs_of(labels).starts[-1] :] += 3 * length_s
    table = found(labels, times).usage(bins=f"{length_s:g}s").query("level == 'unit'")
    shown = {(row.start_s, row.id): [row.share, row.n_occurrences] for row in table.itertuples()}
    expected = by_frame(labels, times, length_s, start if start == 0 else 0.0)
    assert shown.keys() == expected.keys()
    for key, (share, begun) in expected.items():
        assert shown[key][0] == pytest.approx(share) and shown[key][1] == begun
    assert (table.groupby("start_s")["recorded_frames"].first().sum()) == labels.size


def test_days_begin_at_midnight_and_hours_of_the_day_are_one_over_days() -> None:
    n = int(30 * 3600 * RATE)  # from 20:30 until 02:30 two days later
    labels = (np.arange(n) // 600 % 2).astype(np.int32)
    result = found(labels, NOVEMBER + np.arange(n) / RATE)
    days, hours = (result.usage(bins=bins).query("level == 'unit' and id == 0") for bins in ("day", "hour"))
    assert days["bin"].tolist() == ["2026-11-15", "2026-11-16", "2026-11-17"]
    assert days["recorded_s"].tolist() == [3.5 * 3600, 24 * 3600, 2.5 * 3600]
    assert hours["recorded_s"].sum() == n / RATE and hours["bin"].iloc[0] == "00 h" and len(hours) == 24
    assert hours.set_index("bin")["recorded_s"][["20 h", "21 h", "03 h"]].tolist() == [5400, 7200, 3600]
    assert hours["start_s"].isna().all()
    pd.testing.assert_frame_equal(days, result.usage(bins="1d").query("level == 'unit' and id == 0"))


@pytest.mark.parametrize("text", ["", "10", "0s", "10 parsecs", "-5s", "week", "1e3s"])
def test_what_is_no_length_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="bins: expected"):
        parse_bins(text)


def test_a_length_is_a_number_with_a_unit() -> None:
    assert [parse_bins(it).length_s for it in ("500ms", "1.5min", "2h", "1d")] == [0.5, 90, 7200, 86_400]
    assert parse_bins("day") == Bins(86_400.0, needs_dates=True)


def test_what_cannot_be_counted_is_refused() -> None:
    labels = np.arange(400, dtype=np.int32) // 100 % 2
    for bins, times in (("day", None), ("hour", np.arange(400) / RATE)):
        with pytest.raises(RecordingError, match="clock without dates"):
            found(labels, times).usage(bins=bins)
    with pytest.raises(SettingError, match="longer ones"):
        found(labels, np.append(np.arange(399.0), 1e8)).usage(bins="1s")
    with pytest.raises(SettingError, match="leave group_by"):
        found(labels, None).usage("subject", bins="1s")
    unclocked = Recording(np.zeros((400, 1), np.float32), None, ("x",), "x")
    with pytest.raises(InputError, match="no clock"):
        make_result("by hand", [unclocked], [labelling_of(unclocked, labels, labels)]).usage(bins="1min")


def test_the_command_gives_them_in_every_form(rondo: Command, here: Path) -> None:
    result = found(np.arange(4_000, dtype=np.int32) // 100 % 3, NOVEMBER + np.arange(4_000) / RATE)
    result.save("run")
    printed = rondo("usage", "run", "--bins", "10min").out
    assert printed.count("2026-11-15 20:") == 3 and "25 %" in printed
    rows = json.loads(rondo("usage", "run", "--bins", "10min", "--json").out)["bins"]
    pd.testing.assert_frame_equal(pd.DataFrame(rows), result.usage(bins="10min"), check_dtype=False)
    assert len(rondo("usage", "run", "--bins", "10min", "--csv").out.splitlines()) == 1 + len(rows)
    refused = rondo("usage", "run", "--bins", "10min", "--transitions")
    assert (refused.code, len(refused.err.splitlines())) == (2, 1)


def test_a_workbook_holds_the_same_numbers(rondo: Command, here: Path) -> None:
    calamine, _ = pytest.importorskip("python_calamine"), pytest.importorskip("xlsxwriter")
    result = found(np.arange(4_000, dtype=np.int32) // 100 % 3, NOVEMBER + np.arange(4_000) / RATE)
    result.save("run")
    for arguments, sheet, table in (
        (("--bins", "hour"), "bins", result.usage(bins="hour")),
        ((), "recordings", result.usage()),
    ):
        assert rondo("usage", "run", *arguments, "--xlsx", f"{sheet}.xlsx").code == 0
        header, *rows = calamine.load_workbook(f"{sheet}.xlsx").get_sheet_by_name(sheet).to_python()
        assert header == table.columns.tolist() and len(rows) == len(table)
        shares = [row[header.index("share")] for row in rows]
        assert shares == pytest.approx(table["share"].tolist())
    before = Path("bins.xlsx").read_bytes()
    assert rondo("usage", "run", "--bins", "hour", "--xlsx", "bins.xlsx").code == 2  # nothing is written over
    assert Path("bins.xlsx").read_bytes() == before


def test_without_xlsxwriter_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    from rondo.store.workbook import workbook

    monkeypatch.setitem(__import__("sys").modules, "xlsxwriter", None)
    with pytest.raises(MissingExtraError, match=r"rondo-ts\[xlsx\]"):
        workbook({})
