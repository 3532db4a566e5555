"""What the panel is given of each entry, and how much that takes of the page."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

from rondo.data.recording import Recording
from rondo.report.summarize import summarize
from rondo.result import make_result
from rondo.run.labelling import Labelling
from rondo.run.overview import overview_path, write_overview
from tests.report.on_folders import summarize as summarize_folder
from tests.report.run_folders import edit_summary, write_run_folder

N_BYTES = 2_500_000


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
    assert reasons["u0"] == "" and reasons["u1"].startswith("not shown")


def test_a_run_without_a_signal_still_has_facts_durations_and_place(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path / "run")
    about = json.loads((folder / "summary.json").read_text(encoding="utf-8"))["recordings"]
    edit_summary(folder, recordings=[one | {"channels": []} for one in about])
    write_overview(overview_path(folder, "day1"), np.zeros((6000, 0)), ())  # as of a stream that keeps none
    found = summarize_folder(folder)["details"]
    assert found["unit|u0"]["rows"] == found["unit|u0"]["aligned"] == found["unit|u0"]["occurrences"] == []
    assert sum(found["unit|u0"]["durations"]["counts"]) == found["unit|u0"]["n"]
    assert found["unit|u0"]["lasts"].endswith(" s") and found["unit|u0"]["when"]["by"] == "place"


def test_sixteen_units_and_sixteen_motifs_take_little_of_the_page() -> None:
    rng = np.random.default_rng(0)
    n_frames = 120_000
    units, motifs = (np.repeat(rng.integers(0, 16, n_frames // n), n).astype(np.int32) for n in (60, 240))
    scores = np.ones(n_frames, np.float32)
    one = Labelling("r", units, motifs, scores, scores, None, 50.0, np.zeros(0, np.int64), 1.0, ())
    values = rng.normal(size=(n_frames, 6)) + units[:, None]
    found = summarize(make_result("some", [Recording(values, 50, id="r")], [one]))
    n_bytes = len(json.dumps(found["details"])) + len(json.dumps(found["composition"]))
    assert len(found["details"]) == 32
    assert n_bytes < N_BYTES / 2


def test_the_order_of_recordings_does_not_matter(tmp_path: Path) -> None:
    folders = [write_run_folder(tmp_path / name, recording_ids=("a", "b"), n_frames=3000) for name in ("one", "other")]
    about = json.loads((folders[1] / "summary.json").read_text(encoding="utf-8"))["recordings"]
    edit_summary(folders[1], recordings=about[::-1])
    one, other = (summarize_folder(folder)["details"] for folder in folders)
    for key, entry in one.items():
        assert entry["apart"] == other[key]["apart"] and entry["durations"] == other[key]["durations"]
        assert entry["when"]["shares"] == pytest.approx(other[key]["when"]["shares"], abs=2e-4)
        for mine, theirs in zip(entry["aligned"], other[key]["aligned"], strict=True):
            codes = [np.frombuffer(base64.b64decode(it["data"]), np.uint8).astype(int) for it in (mine, theirs)]
            assert np.abs(codes[0] - codes[1]).max() <= 1
