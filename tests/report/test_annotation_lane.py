"""Annotations of every format lie on the frames they were drawn on, in a lane of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

from rondo.data.labels import OTHER, runs_of
from rondo.errors import AnnotationError, SettingError
from rondo.report.contents import TruthFile, Wish
from rondo.report.lanes import annotation_lanes
from rondo.result import Result
from rondo.run.decisions import stored_stream
from rondo.run.overview import Overview, overview_path, signal_overview, write_overview
from rondo.run.summary import StreamSummary
from rondo.run.tally import Words
from rondo.run.writer import RunWriter
from tests.report.export.made_runs import Made, write_made_run
from tests.report.on_folders import clock_in_run, compare, export_run, summarize
from tests.report.run_folders import write_run_folder
from tests.report.stream_folders import add_decisions, stream_summary, write_stream_folder

TRACK = [0] * 10 + [2] * 15 + [OTHER] * 5 + [0] * 20


def on_frames(lane: dict[str, Any], n_frames: int) -> list[str]:
    names = ["(none)"] * n_frames
    for start, end, name in zip(lane["start_frames"], lane["end_frames"], lane["names"], strict=True):
        names[start:end] = [name] * (end - start)
    return names


@pytest.mark.parametrize("format", ["csv", "parquet", "eaf", "audacity", "label-studio"])
def test_every_format_lies_on_its_frames(tmp_path: Path, format: str) -> None:
    made = Made(TRACK, TRACK)
    run = write_made_run(tmp_path / "run", {"day1": made})
    suffix = {"eaf": ".eaf", "audacity": ".txt", "label-studio": ".json"}.get(format, f".{format}")
    path = tmp_path / f"day1{suffix}"
    export_run(run, format, path, level="motif")
    (lane,) = annotation_lanes(Result.load(run), TruthFile(path)).values()
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


# ---------------------------------------------------------------- of a stream


def spans_in(path: Path, *spans: tuple[float, float, str]) -> Path:
    path.write_text("".join(f"{start}\t{stop}\t{name}\n" for start, stop, name in spans), encoding="utf-8")
    return path


def lane_of_stream(folder: Path, path: Path, key: str | None = None, rate: float | None = None) -> dict[str, Any]:
    lanes = summarize(folder, Wish(truth=TruthFile(path, key, rate)))["recordings"][0]["lanes"]
    assert [lane["kind"] for lane in lanes] == ["unit", "motif", "annotation"]
    return dict(lanes[-1])


def test_a_stream_that_goes_on_shows_what_was_annotated_so_far(tmp_path: Path) -> None:
    """20 decisions of 50 frames at 50 Hz: 20 s have come, and people have annotated a whole minute."""
    folder = write_stream_folder(tmp_path / "live")
    path = spans_in(tmp_path / "minute.txt", (1, 2, "sit"), (15, 25, "walk"), (40, 60, "sit"))
    np.save(tmp_path / "frames.npy", np.repeat([7, -1, 8], 500))
    lane = lane_of_stream(folder, path)
    assert lane["names"] == ["sit", "walk"]
    assert list(zip(lane["start_frames"], lane["end_frames"], strict=True)) == [(50, 100), (750, 1000)]
    assert lane_of_stream(folder, tmp_path / "frames.npy")["names"] == ["7"]
    (tmp_path / "truth").mkdir()
    assert lane_of_stream(folder, path.rename(tmp_path / "truth" / "live.txt").parent) == lane
    later = spans_in(tmp_path / "later.txt", (40, 60, "sit"))
    assert lane_of_stream(folder, later)["names"] == []  # not yet
    add_decisions(folder, 25)
    assert lane_of_stream(folder, later)["end_frames"] == [2250]


def test_seconds_are_those_since_the_first_frame_of_a_stream_whatever_its_clock_says(tmp_path: Path) -> None:
    folder = write_stream_folder(tmp_path / "live", n_decisions=0)
    with (folder / "labels.csv").open("a", encoding="utf-8") as file:
        for start in (0, 100, 200):  # the clock jumps by ten seconds before the last
            at = 5000 + start / 50 + (10 if start == 200 else 0)
            file.write(f"{start},{start + 100},{at},{at + 2},0,0,0.5,0.5\n")
    lane = lane_of_stream(folder, spans_in(tmp_path / "a.txt", (1, 3, "sit"), (14, 16, "walk")))
    assert list(zip(lane["start_frames"], lane["end_frames"], strict=True)) == [(50, 150), (200, 300)]
    assert lane_of_stream(folder, tmp_path / "a.txt", rate=10.0)["start_frames"] == [10, 140]


@pytest.mark.parametrize("n_frames", [900, 1100])
def test_a_stream_that_has_ended_has_one_class_per_frame(tmp_path: Path, n_frames: int) -> None:
    folder = write_stream_folder(tmp_path / "live")
    finish_stream(folder, "day", 1020)
    np.save(tmp_path / "truth.npy", np.zeros(1020, np.int64))
    assert lane_of_stream(folder, tmp_path / "truth.npy")["end_frames"] == [1020]
    np.save(tmp_path / "truth.npy", np.zeros(n_frames, np.int64))
    with pytest.raises(AnnotationError, match=f"has {n_frames} frames, but the recording 'day' has 1020"):
        lane_of_stream(folder, tmp_path / "truth.npy")
    outside = spans_in(tmp_path / "far.txt", (100, 200, "sit"))
    with pytest.raises(AnnotationError, match="no annotation lies within the 1020 frames"):
        lane_of_stream(folder, outside)


def test_what_cannot_be_laid_on_a_stream_is_refused(tmp_path: Path) -> None:
    folder = write_stream_folder(tmp_path / "live")
    with pytest.raises(AnnotationError, match="no such file or folder"):
        lane_of_stream(folder, tmp_path / "nowhere.txt")
    (tmp_path / "truth").mkdir()
    with pytest.raises(AnnotationError, match="no label tracks in this folder"):
        lane_of_stream(folder, tmp_path / "truth")
    (tmp_path / "truth" / "other.npy").write_bytes(b"")
    with pytest.raises(AnnotationError, match="no file there is called 'live', as the recording is"):
        lane_of_stream(folder, tmp_path / "truth")
    with pytest.raises(SettingError, match="--channels: the run has no 'x'"):
        summarize(folder, Wish(channels=("x",)))


def test_the_clock_of_a_stream_is_found_by_its_folder(tmp_path: Path) -> None:
    folder = write_stream_folder(tmp_path / "live")
    finish_stream(folder, "day", 1000)
    clock = clock_in_run(folder, "day")
    assert clock is not None
    assert clock.frames_at([0.0, 3.5]).tolist() == [0, 175]


def finish_stream(folder: Path, id: str, n_frames: int) -> None:
    """As a session does at the end."""
    running = stored_stream(folder, stream_summary(id, n_frames), Words(), lambda about: no_signal(about.n_frames))
    write_overview(overview_path(folder, id), np.zeros((n_frames, 0)), ())
    ended = running.summary.model_copy(update={"stream": StreamSummary(finished=True)})
    RunWriter(folder).close(ended, {"segments": running.tables["segments"]})


def no_signal(n_frames: int) -> Overview:
    return signal_overview(np.zeros((n_frames, 0)), ())


def run_with_labels(folder: Path, ids: tuple[str, ...]) -> Path:
    write_run_folder(folder, recording_ids=ids, n_frames=600, channels=("x",), with_truth=False)
    (folder / "labels").mkdir()
    for id in ids:
        np.save(folder / "labels" / f"{id}.npy", np.zeros(600, np.int32))
        write_overview(overview_path(folder, id), np.zeros((600, 1)), ("x",))
    return folder
