"""Poses in the files of SLEAP, DeepLabCut, movement and NWB: the same points, whichever program stored them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import pytest
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.inputs import as_recordings
from rondo.files.read import read_recording, signals_only
from rondo.files.reading import PoseReading, Reading
from rondo.formats.pandas_names import tuples_in
from rondo.live.source import Request, open_source
from tests.poses import NAMES, RATE, mouse

h5py = pytest.importorskip("h5py")

N = 120
ONE = mouse(N)
TWO = np.stack([ONE, mouse(N, seed=1)], axis=1)  # (n_frames, n_animals, n_points, 2)
SURE = np.full(TWO.shape[:3], 0.9)
SURE[50:60, 0, 0] = 0.05  # the nose of the first
DLC = pd.MultiIndex.from_product([["net"], NAMES, ["x", "y", "likelihood"]], names=["scorer", "bodyparts", "coords"])


def slp(path: Path, *, tracks: tuple[str, ...] = ("a", "b"), videos: int = 1) -> None:
    """SLEAP's labels: every animal in every frame, predicted; the first frame is corrected by a person."""
    instance = np.dtype([("instance_id", "i8"), ("instance_type", "u1"), ("frame_id", "u8"), ("skeleton", "u4"),
                         ("track", "i4"), ("from_predicted", "i8"), ("score", "f4"), ("point_id_start", "u8"),
                         ("point_id_end", "u8"), ("tracking_score", "f4")])  # fmt: skip
    frame = np.dtype([("frame_id", "u8"), ("video", "u4"), ("frame_idx", "u8"), ("instance_id_start", "u8"),
                      ("instance_id_end", "u8")])  # fmt: skip
    point = [("x", "f8"), ("y", "f8"), ("visible", "?"), ("complete", "?")]
    n_points = len(NAMES)
    predicted = np.zeros(2 * N * n_points, [*point, ("score", "f8")])
    predicted["x"], predicted["y"] = TWO[..., 0].ravel(), TWO[..., 1].ravel()
    predicted["visible"], predicted["score"] = True, SURE.ravel()
    person = np.zeros(n_points, point)
    person["x"], person["y"], person["visible"] = 7.0, 8.0, True
    found = np.zeros(2 * N + 1, instance)
    found["instance_type"], found["frame_id"] = 1, np.append(np.repeat(np.arange(N), 2), 0)
    found["track"] = np.append(np.tile([0, 1] if tracks else [-1, -1], N), 0 if tracks else -1)
    found["point_id_start"] = np.append(np.arange(2 * N) * n_points, 0)
    found["point_id_end"] = found["point_id_start"] + n_points
    found["instance_type"][-1] = 0
    frames = np.zeros(N, frame)
    frames["frame_id"] = frames["frame_idx"] = np.arange(N)
    frames["video"] = np.arange(N) % videos
    about = {"nodes": [{"name": name} for name in reversed(NAMES)],
             "skeletons": [{"nodes": [{"id": i} for i in reversed(range(n_points))]}]}  # fmt: skip
    with h5py.File(path, "w") as file:
        file.create_group("metadata").attrs["json"] = json.dumps(about)
        file["frames"], file["instances"], file["points"], file["pred_points"] = frames, found, person, predicted
        file["tracks_json"] = np.array([json.dumps([0, name]).encode() for name in tracks] or [], "S30")


def analysis(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["tracks"] = np.where(SURE[..., None] < 0.2, np.nan, TWO).transpose(1, 3, 2, 0)
        file["node_names"] = np.array([name.encode() for name in NAMES])


def movement(path: Path) -> None:
    with h5py.File(path, "w") as file:
        file["position"], file["confidence"] = TWO.transpose(0, 3, 2, 1), SURE.transpose(0, 2, 1)
        for name, texts in {"keypoints": NAMES, "individuals": ("a", "b"), "space": ("x", "y")}.items():
            file[name] = np.array([text.encode() for text in texts])
        file["time"] = np.arange(N) / RATE
        file.attrs["source_software"], file.attrs["fps"] = "DeepLabCut", RATE


def nwb(path: Path) -> None:
    with h5py.File(path, "w") as file:
        for place, animal in enumerate(("a", "b")):
            for k, name in enumerate(NAMES):
                series = file.create_group(f"processing/behavior/{animal}/PoseEstimationSeries{name}")
                series.attrs["neurodata_type"] = "PoseEstimationSeries"
                series["data"], series["confidence"] = TWO[:, place, k], SURE[:, place, k]
                series["starting_time"] = 0.0
                series["starting_time"].attrs["rate"] = RATE


@pytest.mark.parametrize(
    ("write", "name", "rate"),
    [(slp, "cage.slp", None), (analysis, "cage.h5", None), (movement, "cage.nc", RATE), (nwb, "cage.nwb", RATE)],
)
def test_two_animals_are_two_recordings(
    write: Callable[[Path], None], name: str, rate: float | None, tmp_path: Path
) -> None:
    write(tmp_path / name)
    found = as_recordings(tmp_path / name, Reading(poses=PoseReading()))
    assert len(found) == 2 and {one.rate for one in found} == {rate}
    assert {one.channels for one in found} == {found[0].channels}
    whole = read_recording(tmp_path / name)
    assert whole.n_channels == 2 * 2 * len(NAMES)  # of certainties, none
    corrected = 1 if write is slp else 0
    for animal in range(2):
        prefix = whole.channels[0].split(".")[0] if animal == 0 else whole.channels[-1].split(".")[0]
        places = [whole.channels.index(f"{prefix}.{name}.{axis}") for name in NAMES for axis in "xy"]
        own = whole.values[corrected:, places].reshape(N - corrected, len(NAMES), 2)
        expected = np.where(SURE[corrected:, animal, :, None] < 0.2, np.nan, TWO[corrected:, animal])
        npt.assert_allclose(own, expected, rtol=1e-6)


def test_what_a_person_corrected_in_sleap_is_taken(tmp_path: Path) -> None:
    slp(tmp_path / "cage.slp")
    npt.assert_allclose(read_recording(tmp_path / "cage.slp").values[0, :2], (7, 8))


@pytest.mark.parametrize(("how", "words"), [({"tracks": ()}, "no tracks"), ({"videos": 2}, "2 videos")])
def test_labels_of_sleap_that_are_no_recording_are_refused(how: dict, words: str, tmp_path: Path) -> None:
    slp(tmp_path / "cage.slp", **how)
    with pytest.raises(RecordingError, match=words):
        read_recording(tmp_path / "cage.slp")


def dlc_table(columns: pd.MultiIndex, path: Path, stored: bytes | None = None) -> None:
    values = np.concatenate([ONE, SURE[:, 0, :, None]], axis=2).reshape(N, -1)
    kind = np.dtype([("index", "i8"), ("values_block_0", "f8", (values.shape[1],))])
    table = np.zeros(N, kind)
    table["index"], table["values_block_0"] = np.arange(N), values
    with h5py.File(path, "w") as file:
        group = file.create_group("df_with_missing")
        group.attrs["pandas_type"] = "frame_table"
        group["table"] = table
        group["table"].attrs["values_block_0_kind"] = np.bytes_(stored or pickle.dumps(list(columns), protocol=0))


def test_a_table_of_deeplabcut_is_its_csv(tmp_path: Path) -> None:
    dlc_table(DLC, tmp_path / "mouse.h5")
    values = np.concatenate([ONE, SURE[:, 0, :, None]], axis=2).reshape(N, -1)
    pd.DataFrame(values, columns=DLC).to_csv(tmp_path / "mouse.csv")
    stored, text = (read_recording(tmp_path / f"mouse.{suffix}") for suffix in ("h5", "csv"))
    assert stored.channels == text.channels and stored.points == text.points
    npt.assert_allclose(stored.values, text.values, rtol=1e-6)


def test_nothing_that_is_pickled_is_carried_out(tmp_path: Path) -> None:
    harmful = b"cposix\nsystem\n(S'touch " + str(tmp_path / "harm").encode() + b"'\ntR."
    dlc_table(DLC, tmp_path / "mouse.h5", harmful)
    with pytest.raises(RecordingError, match="pickled and never loaded"):
        read_recording(tmp_path / "mouse.h5")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("protocol", range(5))
def test_names_are_read_from_every_protocol(protocol: int) -> None:
    names = [("net", "mouse1", "nose", "x"), ("net", "mouse1", "nose", "y")]
    assert tuples_in(pickle.dumps(names, protocol=protocol)) == names
    for other in ([1, 2], {"a": ("b",)}, [("a", 1)], "text", []):
        assert tuples_in(pickle.dumps(other, protocol=protocol)) in (None, [])
    assert tuples_in(b"junk") is None


def sleap_csv(path: Path, tracks: NDArray[np.int64], frames: NDArray[np.int64]) -> None:
    table = pd.DataFrame({"track": [f"track_{i}" for i in tracks], "frame_idx": frames, "instance.score": 0.9})
    for k, name in enumerate(NAMES):
        table[f"{name}.x"], table[f"{name}.y"] = TWO[frames, tracks, k].T
        table[f"{name}.score"] = SURE[frames, tracks, k]
    table.to_csv(path, index=False)


def test_rows_of_sleap_are_laid_on_the_frames_of_the_film(tmp_path: Path) -> None:
    tracks, frames = np.tile([0, 1], N), np.repeat(np.arange(N), 2)
    kept = (tracks == 0) | (frames % 3 > 0)  # the second is lost in every third frame
    sleap_csv(tmp_path / "cage.csv", tracks[kept], frames[kept])
    whole = read_recording(tmp_path / "cage.csv")
    assert (whole.n_frames, whole.n_channels) == (N, 20)
    assert np.flatnonzero(np.isnan(whole.values[:, 10])).tolist() == list(range(0, N, 3))
    npt.assert_allclose(whole.values[60:, :10], ONE[60:].reshape(-1, 10), rtol=1e-5)
    found = as_recordings(tmp_path / "cage.csv", Reading(poses=PoseReading()))
    assert [one.id for one in found] == ["cage.track_0", "cage.track_1"]


@pytest.mark.filterwarnings("ignore:.*left out that the model:rondo.errors.RondoWarning")
def test_a_stream_of_several_tracks_is_refused(tmp_path: Path) -> None:
    channels = tuple(f"{name}.{axis}" for name in NAMES for axis in "xy")
    sleap_csv(tmp_path / "cage.csv", np.tile([0, 1], N), np.repeat(np.arange(N), 2))
    sleap_csv(tmp_path / "alone.csv", np.zeros(N, np.int64), np.arange(N))
    with (
        pytest.raises(RecordingError, match="2 tracks"),
        closing(open_source(str(tmp_path / "cage.csv"), Request(channels))) as source,
    ):
        source.read(10)
    with closing(open_source(str(tmp_path / "alone.csv"), Request(channels))) as source:
        rows = source.read(10)
    assert rows is not None and rows.values.shape == (10, 10)


def test_two_rows_of_a_track_in_a_frame_are_refused(tmp_path: Path) -> None:
    sleap_csv(tmp_path / "cage.csv", np.zeros(2 * N, np.int64), np.repeat(np.arange(N), 2))
    with pytest.raises(RecordingError, match="several rows in one frame"):
        read_recording(tmp_path / "cage.csv")


def simba(names: list[str], certainty: NDArray[np.float64]) -> Recording:
    columns = [f"{name}_{word}" for name in names for word in ("x", "y", "p")]
    values = np.concatenate([ONE[:, : len(names)], np.tile(certainty[:, None, None], (1, len(names), 1))], axis=2)
    return signals_only(Recording(values.reshape(N, -1), RATE, columns), Reading())


def test_certainties_of_simba_are_no_channels() -> None:
    smoothed = np.clip(np.linspace(-0.02, 1.1, N), None, 1.1)
    found = simba(["Nose", "Tail_base"], np.where(np.arange(N) < 100, 0.99, smoothed))
    assert found.channels == ("Nose_x", "Nose_y", "Tail_base_x", "Tail_base_y")
    other = simba(["Nose", "Tail_base"], np.linspace(0, 40, N))  # these are no certainties
    assert other.n_channels == 6 and other.points == ()


@pytest.mark.parametrize(
    ("names", "animals"),
    [
        (["Nose_1", "Tail_1", "Nose_2", "Tail_2"], ["1", "2"]),
        (["JJ_Nose_2", "JJ_Tail_2", "Al_Nose_1", "Al_Tail_1"], ["JJ_2", "Al_1"]),
        (["Ear_left", "Ear_right", "Hip_left", "Hip_right"], []),
    ],
)
def test_animals_by_the_names_of_simba(names: list[str], animals: list[str]) -> None:
    found = as_recordings(simba(names, np.full(N, 0.9)), Reading(poses=PoseReading()))
    assert [one.id.partition(".")[2] for one in found] == (animals or [""])


def test_three_points_of_ethovision_are_a_body() -> None:
    names = [f"{axis} {name}" for name in ("center", "nose", "tail") for axis in "XY"]
    values = np.column_stack([ONE[:, [2, 0, 3]].reshape(N, -1), np.linspace(-180, 180, N), np.arange(N) % 7])
    tracked = Recording(values, RATE, [*names, "Direction", "Area"])
    (found,) = as_recordings(tracked, Reading(poses=PoseReading()))
    assert found.body is not None and (found.body.origin, found.body.tip) == ("tail", "nose")
    assert "Direction" not in found.channels and found.channels[-1] == "Area"
    (kept,) = as_recordings(tracked, Reading(poses=PoseReading(), keep=("Direction",)))
    assert "Direction" in kept.channels
    alone = Recording(values[:, :2], RATE, names[:2])  # one point is no body
    assert as_recordings(alone, Reading(poses=PoseReading())) == [alone]
