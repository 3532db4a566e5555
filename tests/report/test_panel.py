"""What the panel is given of each entry: channels that set it apart, occurrences, curves, durations."""

from __future__ import annotations

import base64
import json
import statistics
from pathlib import Path

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest

from rondo.analysis.shape import MAX_COLUMNS, Sums
from rondo.data.labels import runs_of
from rondo.report.panel import entry_details
from rondo.run.overview import overview_path, signal_overview
from tests.report.on_folders import summarize as summarize_folder
from tests.report.run_folders import edit_summary, write_run_folder
from tests.run.stored import write_overview


def segments_of(track: np.ndarray, recording: str = "r") -> pl.DataFrame:
    runs = runs_of(track)
    return pl.DataFrame(
        {
            "recording": [recording] * len(runs), "level": ["unit"] * len(runs), "id": runs.ids,
            "start_frame": runs.starts, "end_frame": runs.stops, "score": np.linspace(0, 1, len(runs)),
        }
    )  # fmt: skip


def naive_difference(inside: list[float], rest: list[float]) -> float:
    spread = ((statistics.pvariance(inside) + statistics.pvariance(rest)) / 2) ** 0.5
    return (statistics.fmean(inside) - statistics.fmean(rest)) / spread


def test_differences_equal_their_naive_twin() -> None:
    rng = np.random.default_rng(1)
    track = rng.integers(-1, 3, size=120).astype(np.int32)
    values = rng.normal(size=(120, 2)) + track[:, None] * np.array([2.0, 0.1])
    values[40:50, 1] = np.nan
    sums = Sums.empty(3, 2)
    overview = signal_overview(values, "ab")
    sums.add(overview, track)
    kept = overview.values()[..., 0].astype(float)
    change = np.abs(np.diff(kept, axis=0, prepend=kept[:1]))
    for kind, feature in enumerate((kept, change)):
        for channel in range(2):
            for id in range(3):
                known = ~np.isnan(feature[:, channel])
                inside = feature[known & (track == id), channel].tolist()
                rest = feature[known & (track != id), channel].tolist()
                expected = naive_difference(inside, rest)
                assert sums.differences()[id, kind, channel] == pytest.approx(expected, abs=1e-5)


def test_the_channel_that_sets_an_entry_apart_comes_first() -> None:
    rng = np.random.default_rng(0)
    track = np.repeat([0, 1, 0, 1, -1], 200).astype(np.int32)
    values = rng.normal(size=(1000, 3))
    values[:, 2] += 5 * (track == 1)
    values[:, 1] *= np.where(track == 0, 6.0, 1.0)
    overviews = {"r": signal_overview(values, ["quiet", "busy", "tall"])}
    found = entry_details("unit", segments_of(track), overviews, [0, 1])
    assert found[1]["rows"][0] == "tall"
    assert found[1]["apart"][0]["words"] == "higher" and found[1]["apart"][0]["d"] > 2
    two = [(it["channel"], it["words"]) for it in found[0]["apart"][:2]]
    assert two == [("tall", "lower"), ("busy", "moves more")]


def test_occurrences_are_those_of_the_segments_and_their_signal() -> None:
    track = np.tile(np.repeat([0, 1], [300, 20]), 40).astype(np.int32)
    values = np.arange(track.size, dtype=float)[:, None]
    overview = signal_overview(values, ["ramp"])
    found = entry_details("unit", segments_of(track), {"r": overview}, [0, 1])
    for id, length in ((0, 300), (1, 20)):
        detail = found[id]
        assert detail["width"] == length
        assert len(detail["occurrences"]) == 24  # of 40
        starts = [one["start_frame"] for one in detail["occurrences"]]
        assert starts == sorted(starts)
        assert starts[-1] - starts[0] > 0.9 * (track.size - 320)
        codes = np.frombuffer(base64.b64decode(detail["data"]), np.uint8)
        for one in detail["occurrences"]:
            assert (track[one["start_frame"] : one["end_frame"]] == id).all()
            assert one["columns"] == min(MAX_COLUMNS, length)
            low, high = codes[one["offset"] : one["offset"] + 2 * one["columns"]].reshape(2, -1)
            lowest, highest = starts[0], starts[-1] + length - 1  # of a ramp: what all of them together span
            ends = np.array([one["start_frame"], one["end_frame"] - 1])
            expected = 254 * (ends - lowest) / (highest - lowest)
            npt.assert_allclose([low[0], high[-1]], expected, atol=0.6)
            npt.assert_array_equal(low, np.sort(low))


def test_recordings_of_other_gain_and_offset_are_compared_and_drawn_by_their_own_deviations() -> None:
    """The same wave from a sensor that sits differently must look the same, and set nothing apart by its offset."""
    wave = np.tile(np.sin(np.linspace(0, 2 * np.pi, 50, endpoint=False)), 4)[:, None]
    track = np.repeat([0, 1, 0, 1], 50).astype(np.int32)
    overviews = {"here": signal_overview(wave, ["x"]), "there": signal_overview(100 + 5 * wave, ["x"])}
    table = pl.concat([segments_of(track, id) for id in overviews])
    detail = entry_details("unit", table, overviews, [0])[0]
    codes = np.frombuffer(base64.b64decode(detail["data"]), np.uint8)
    cells = [codes[one["offset"] : one["offset"] + 2 * one["columns"]].astype(int) for one in detail["occurrences"]]
    assert {one["recording"] for one in detail["occurrences"]} == {"here", "there"}
    assert detail["apart"] == []
    for cell in cells[1:]:
        npt.assert_allclose(cell, cells[0], atol=1)


def test_every_entry_has_its_line_curves_durations_and_place(tmp_path: Path) -> None:
    found = summarize_folder(write_run_folder(tmp_path / "run"))["details"]
    assert {entry["level"] for entry in found.values()} == {"unit", "motif"}
    for entry in found.values():
        assert entry["facts"].startswith(f"{entry['n']} occurrences, {entry['share']} of the time, lasts ")
        assert len(entry["rows"]) == len(entry["extents"]) == 4
        for one, width in zip(entry["aligned"], (entry["reach"], entry["median"]), strict=True):
            codes = np.frombuffer(base64.b64decode(one["data"]), np.uint8).reshape(4, 3, one["columns"])
            assert one["columns"] == min(64, width)
            low, mean, high = (codes[:, i].astype(int) for i in range(3))
            known = mean != 255
            assert known.any() and (low[known] <= mean[known] + 1).all() and (mean[known] <= high[known] + 1).all()
        assert sum(entry["durations"]["counts"]) == entry["n"]
        assert entry["when"]["by"] == "place" and 0 < max(entry["when"]["shares"]) <= 1
    reasons = {entry["name"]: entry["unproven"] for entry in found.values()}
    assert reasons["u0"] == "" and reasons["u1"] and reasons["u2"] and not reasons["u4"]


def test_a_run_without_a_signal_still_has_facts_durations_and_place(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path / "run")
    about = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["recordings"]
    edit_summary(folder, recordings=[one | {"channels": []} for one in about])
    write_overview(overview_path(folder, "day1"), np.zeros((6000, 0)), ())  # as of a stream that keeps none
    found = summarize_folder(folder)["details"]
    assert found["unit|u0"]["rows"] == found["unit|u0"]["aligned"] == found["unit|u0"]["occurrences"] == []
    assert sum(found["unit|u0"]["durations"]["counts"]) == found["unit|u0"]["n"]
    assert found["unit|u0"]["lasts"].endswith(" s") and found["unit|u0"]["when"]["by"] == "place"
