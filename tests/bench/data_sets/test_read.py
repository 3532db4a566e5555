"""Data sets by name or by path: what is found where, recordings and annotations apart."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import AnnotationError, RecordingError, SettingError
from rondo_bench.data_sets.catalogue import find_data_set, folders_of
from rondo_bench.data_sets.read import data_directory, find_copy, read_data_set
from tests.bench.data_sets.published import csv_file, written


@pytest.fixture(autouse=True)
def no_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RONDO_DATA", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))


def stored(path: Path, n_frames: int = 5, n_channels: int = 4, **more: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    values = np.arange(n_frames * n_channels, dtype=np.float32).reshape(n_frames, n_channels)
    np.savez(path, X=values, **{name: np.asarray(array) for name, array in more.items()})
    return path


def test_recordings_and_annotations_come_apart(tmp_path: Path) -> None:
    stored(tmp_path / "MoCap" / "b.npz", y=[0, 0, 1, 1, 1])
    stored(tmp_path / "MoCap" / "a.npz", y=[2, 2, 2, 2, 2])
    stored(tmp_path / "MoCap" / "c.npz")
    data_set = read_data_set("mocap", tmp_path)
    assert data_set.name == "mocap"
    assert [recording.id for recording in data_set.recordings] == ["a", "b", "c"]
    assert {id: one.classes.tolist() for id, one in data_set.annotations.items()} == {
        "a": [2, 2, 2, 2, 2],
        "b": [0, 0, 1, 1, 1],
    }
    assert [recording.id for recording in read_data_set("MoCap", tmp_path, limit=2).recordings] == ["a", "b"]
    only = read_data_set("mocap", tmp_path, only=("c", "a"))
    assert [recording.id for recording in only.recordings] == ["c", "a"]
    assert find_copy("mocap", tmp_path).ids == ("a", "b", "c")


def test_a_file_beside_them_names_channels_and_classes(tmp_path: Path) -> None:
    folder = tmp_path / "openpack"
    stored(folder / "a.npz", n_channels=2, y=[0, 300, 100, 100, 0])
    meta = {"channels": ["left", "right"], "classes": {"300": "Assemble", "100": "Pick"}}
    written(folder / "meta.json", json.dumps(meta))
    data_set = read_data_set("openpack", tmp_path)
    assert data_set.recordings[0].channels == ("left", "right")
    assert data_set.recordings[0].rate == 30  # of the catalogue
    assert data_set.annotations["a"].classes.tolist() == [0, 2, 1, 1, 0]
    assert data_set.annotations["a"].names == ("none", "Pick", "Assemble")
    written(folder / "meta.json", json.dumps({"classes": ["null", "one"]}))
    track = read_data_set("openpack", tmp_path).annotations["a"]
    assert (track.classes.tolist(), track.names) == ([0, 300, 100, 100, 0], ())  # a number without a name: as it is
    written(folder / "meta.json", json.dumps({"classes": "numbers of the authors"}))
    assert read_data_set("openpack", tmp_path).annotations["a"].names == ()  # a remark names none
    written(folder / "meta.json", json.dumps({"classes": 5}))
    with pytest.raises(AnnotationError, match="list of names"):
        read_data_set("openpack", tmp_path)
    for text, message in (("{", "cannot be read as JSON"), ('{"channels": ["left"]}', "names 1; get the file again")):
        written(folder / "meta.json", text)
        with pytest.raises(RecordingError, match=message):
            read_data_set("openpack", tmp_path)


def test_a_plain_folder_by_its_path(tmp_path: Path) -> None:
    csv_file(tmp_path / "mine" / "day1.csv", ("x", "y", "z", "activity"), [[1, 2, 3, "sit"], [4, 5, 6, "walk"]])
    csv_file(tmp_path / "mine" / "day2.csv", ("x", "y", "z"), [[1, 2, 3]])
    stored(tmp_path / "mine" / "day3.npz", y=[1, 1, 1, 1, 2])
    data_set = read_data_set(str(tmp_path / "mine"))
    assert data_set.name == "mine"
    assert [(one.id, one.n_channels) for one in data_set.recordings] == [("day1", 3), ("day2", 3), ("day3", 4)]
    assert data_set.annotations.keys() == {"day1", "day3"}
    assert data_set.annotations["day1"].names == ("sit", "walk")
    npt.assert_array_equal(data_set.annotations["day3"].classes, [1, 1, 1, 1, 2])


def test_a_name_is_a_name_even_where_a_folder_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stored(tmp_path / "USC-HAD" / "mine.npz")
    stored(tmp_path / "data" / "usc_had" / "theirs.npz")
    assert find_copy("USC-HAD", tmp_path / "data").ids == ("theirs",)
    assert find_copy("./USC-HAD", tmp_path / "data").ids == ("mine",)
    stored(tmp_path / "walks" / "mine.npz")
    assert find_copy("walks").ids == ("mine",)


def test_the_directory_is_given_or_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert data_directory() is None
    written(tmp_path / "settings" / "rondo" / "rondo.toml", 'data = "/from/settings"\n')
    assert data_directory() == Path("/from/settings")
    monkeypatch.setenv("RONDO_DATA", "/from/variable")
    assert data_directory() == Path("/from/variable")
    assert data_directory(Path("given")) == Path("given")
    monkeypatch.delenv("RONDO_DATA")
    written(tmp_path / "settings" / "rondo" / "rondo.toml", "data = ")
    with pytest.raises(SettingError, match=r"rondo.toml: .*cannot be read"):
        data_directory()
    written(tmp_path / "settings" / "rondo" / "rondo.toml", "data = 5")
    with pytest.raises(SettingError, match=r"rondo.toml: data is 5; expected"):
        data_directory()


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="did you mean 'mocap'"):
        read_data_set("mocop", tmp_path)
    with pytest.raises(SettingError, match=r"pamap2.* --data"):
        read_data_set("pamap2")
    with pytest.raises(RecordingError, match="`rondo datasets download pamap2"):
        read_data_set("pamap2", tmp_path)
    with pytest.raises(SettingError, match="no such folder"):
        read_data_set("pamap2", tmp_path / "nowhere")
    with pytest.raises(RecordingError, match="no such file"):
        read_data_set(str(tmp_path / "nowhere"))
    stored(tmp_path / "mocap" / "a.npz", y=[0, 1])
    with pytest.raises(AnnotationError, match="5 frames, but its annotation 2"):
        read_data_set("mocap", tmp_path)
    with pytest.raises(SettingError, match="no recording 'b'"):
        read_data_set("mocap", tmp_path, only=("b",))
    with pytest.raises(SettingError, match="0 recordings leaves none"):
        read_data_set("mocap", tmp_path, limit=0)
    written(tmp_path / "mocap" / "a.npz", "cut off")
    with pytest.raises(RecordingError, match=r"a.npz: it is damaged"):
        read_data_set("mocap", tmp_path)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("mocap", set()),
        ("actrectut", {"NULL", "Smash", "walk up"}),
        ("openpack", {"none", "Picking"}),
        ("usc_had", {"sleep"}),
        ("hugadb", {"sitting"}),
    ],
)
def test_stored_sets_are_as_they_are_kept(data_dir: Path, name: str, names: set[str]) -> None:
    data_set = read_data_set(name, data_dir, limit=1)
    recording = data_set.recordings[0]
    (path,) = find_copy(name, data_dir).paths[:1]
    kept = np.load(path)
    npt.assert_array_equal(recording.values, kept["X"].astype(np.float32))
    annotation = data_set.annotations[recording.id]
    npt.assert_array_equal(
        np.unique(annotation.classes, return_inverse=True)[1], np.unique(kept["y"], return_inverse=True)[1]
    )
    assert names <= set(annotation.names)
    assert not recording.is_unnamed


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".npz"])
def test_classes_may_lie_in_files_of_their_own(tmp_path: Path, suffix: str) -> None:
    for i in range(2):
        np.savez(tmp_path / f"day{i}.npz", X=np.ones((4, 2)))
        labels, classes = tmp_path / f"day{i}_labels{suffix}", np.array([0, 0, 1, i])
        if suffix == ".csv":
            labels.write_text("label\n" + "\n".join(map(str, classes)) + "\n")
        elif suffix == ".npy":
            np.save(labels, classes)
        else:
            np.savez(labels, y=classes)
    found = read_data_set(str(tmp_path))
    assert [recording.id for recording in found.recordings] == ["day0", "day1"]
    assert {id: own.classes.tolist() for id, own in found.annotations.items()} == {
        "day0": [0, 0, 1, 0],
        "day1": [0, 0, 1, 1],
    }
    assert {own.id for own in found.annotations.values()} == {"day0", "day1"}


def test_names_and_folders_are_found_in_any_spelling(tmp_path: Path) -> None:
    assert {find_data_set(name).name for name in ("usc_had", "USC-HAD", "usc had", "UscHad")} == {"usc_had"}
    for name in ("MoCap", "mo-cap", "MoCap_old"):
        (tmp_path / name).mkdir()
    (tmp_path / "mocap").touch()  # a file
    assert folders_of(find_data_set("mocap"), tmp_path) == [tmp_path / "MoCap", tmp_path / "mo-cap"]
