"""Annotations of every format lie on the frames they were drawn on, in a lane of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

from rondo.data.labels import OTHER, runs_of
from rondo.errors import AnnotationError, OutputError
from rondo.report import overview_path, summarize, write_overview
from rondo.report.annotation_lane import annotation_lanes
from rondo.report.compare import compare
from rondo.report.contents import TruthFile, Wish
from rondo.report.export import export_run
from rondo.report.run_folder import read_run_summary
from tests.report.export.made_runs import Made, write_made_run
from tests.report.run_folders import write_run_folder

TRACK = [0] * 10 + [2] * 15 + [OTHER] * 5 + [0] * 20


def on_frames(lane: dict[str, Any], n_frames: int) -> list[str]:
    names = ["(none)"] * n_frames
    for start, end, name in zip(lane["start_frames"], lane["end_frames"], lane["names"], strict=True):
        names[start:end] = [name] * (end - start)
    return names


@pytest.mark.parametrize("format", ["csv", "parquet", "eaf", "audacity", "label-studio", "boris"])
def test_every_format_lies_on_its_frames(tmp_path: Path, format: str) -> None:
    made = Made(TRACK, TRACK)
    run = write_made_run(tmp_path / "run", {"day1": made})
    suffix = {"eaf": ".eaf", "audacity": ".txt", "label-studio": ".json", "boris": ".boris"}.get(format, f".{format}")
    path = tmp_path / f"day1{suffix}"
    export_run(run, format, path, level="motif")
    (lane,) = annotation_lanes(run, read_run_summary(run).recordings, TruthFile(path)).values()
    assert on_frames(lane, len(TRACK)) == made.names("motif")


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv"])
def test_one_class_per_frame_is_a_lane_too(tmp_path: Path, suffix: str) -> None:
    folder = run_with_labels(tmp_path / "run", ("day1", "day2"))
    truth = tmp_path / "truth"
    truth.mkdir()
    tracks = {id: np.repeat([100, -1, 1100, 100], 150) + shift for id, shift in (("day1", 0), ("day2", 0))}
    for id, track in tracks.items():
        if suffix == ".npy":
            np.save(truth / f"{id}.npy", track)
        elif suffix == ".npz":
            np.savez(truth / f"{id}.npz", y=track)
        else:
            (truth / f"{id}.csv").write_text("label\n" + "\n".join(map(str, track)), encoding="utf-8")
    for recording in summarize(folder, Wish(truth=TruthFile(truth)))["recordings"]:
        lane = recording["lanes"][-1]
        assert (lane["kind"], lane["names"]) == ("annotation", ["100", "1100", "100"])
        assert list(zip(lane["start_frames"], lane["end_frames"], strict=True)) == [(0, 150), (300, 450), (450, 600)]
        assert lane["colours"][0] == lane["colours"][2] != lane["colours"][1]


def test_classes_of_any_numbers_look_different(tmp_path: Path) -> None:
    """By their rank, not by their number: 100, 132, 164 … are alike modulo 32."""
    folder = run_with_labels(tmp_path / "run", ("day1",))
    track = np.repeat(100 + 32 * np.arange(20), 30)
    np.save(tmp_path / "day1.npy", track)
    lane = summarize(folder, Wish(truth=TruthFile(tmp_path / "day1.npy")))["recordings"][0]["lanes"][-1]
    assert len(set(zip(lane["colours"], lane["patterns"], strict=True))) == 20
    npt.assert_array_equal(lane["start_frames"], runs_of(track).starts)


def test_two_runs_are_held_against_one_annotation(tmp_path: Path) -> None:
    first, second = (run_with_labels(tmp_path / name, ("day1",)) for name in ("first", "second"))
    np.save(tmp_path / "day1.npy", np.zeros(600, np.int64))
    lanes = compare(first, second, Wish(truth=TruthFile(tmp_path / "day1.npy")))["recordings"][0]["lanes"]
    assert [lane["kind"] for lane in lanes] == ["unit", "unit", "motif", "motif", "annotation"]


def test_what_cannot_be_laid_on_the_run_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = run_with_labels(tmp_path / "run", ("day1",))
    np.save(tmp_path / "short.npy", np.zeros(10, np.int64))
    for path, message in ((tmp_path / "nowhere.eaf", "no such file"), (tmp_path / "short.npy", "10")):
        with pytest.raises(AnnotationError, match=message) as refused:
            summarize(folder, Wish(truth=TruthFile(path)))
        assert "\n" not in str(refused.value)
    bare = write_run_folder(tmp_path / "bare", n_frames=600)
    with pytest.raises(OutputError, match="no folder labels/"):
        summarize(bare, Wish(truth=TruthFile(tmp_path / "short.npy")))


def run_with_labels(folder: Path, ids: tuple[str, ...]) -> Path:
    write_run_folder(folder, recording_ids=ids, n_frames=600, channels=("x",), with_truth=False)
    (folder / "labels").mkdir()
    for id in ids:
        np.save(folder / "labels" / f"{id}.npy", np.zeros(600, np.int32))
        write_overview(overview_path(folder, id), np.zeros((600, 1)), ("x",))
    return folder
