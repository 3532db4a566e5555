"""Poses are behaviour: labels do not depend on where the arena is; a model and its stream read the same body."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

import rondo
from rondo.data.body import MOTION
from rondo.data.recording import Recording
from rondo.errors import RecordingError, SettingError
from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.synthetic import plant
from tests.poses import NAMES, RATE, mouse, tracked, turned

QUICK = {"evidence.surrogates": 0, "windows.scales": 1}
POINTS = mouse()
OTHER = mouse(1_800, seed=1)


def found_in(recording: Recording, **settings: object) -> Result:
    return rondo.discover(recording, window="1s", settings=QUICK | {f"preprocess.{k}": v for k, v in settings.items()})


@pytest.fixture(scope="module")
def found() -> Result:
    return found_in(tracked(POINTS))


@pytest.fixture(scope="module")
def model(found: Result) -> Rondo:
    return found.model


def same_share(one: np.ndarray, other: np.ndarray) -> float:
    return float((one == other).mean())


def test_units_are_deeds_and_not_places(found: Result) -> None:
    deed = np.arange(len(POINTS)) // 90 % 3
    assert found.summary.recordings[0].channels[-3:] == MOTION
    assert rondo.evaluate(deed, found).average.ari > 60
    assert rondo.evaluate(deed, found_in(tracked(POINTS), pose="arena")).average.ari < 40


@pytest.mark.parametrize(
    "change",
    [lambda p: turned(p, 2.0), lambda p: p + np.array([800.0, -200.0]), lambda p: 3 * p],
    ids=["rotated", "shifted", "scaled"],
)
def test_labels_stay_where_the_arena_is_rotated_shifted_or_scaled(
    found: Result, model: Rondo, change: Callable[[np.ndarray], np.ndarray]
) -> None:
    again = found_in(tracked(change(POINTS)))
    assert same_share(again.units, found.units) > 0.99
    labelled, changed = (model.predict(tracked(points)) for points in (OTHER, change(OTHER)))
    assert same_share(changed.units, labelled.units) > 0.99


def test_saved_and_loaded_a_model_reads_the_same_body(model: Rondo, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = Rondo.load(tmp_path / "model")
    assert loaded.preprocessor_.body == model.preprocessor_.body
    npt.assert_array_equal(loaded.predict(tracked(OTHER)).units, model.predict(tracked(OTHER)).units)


def test_a_frozen_stream_labels_as_label_does(model: Rondo) -> None:
    recording = tracked(POINTS)
    expected = model.predict(recording).units
    for chunk in (len(POINTS), 700):
        rows = (recording.values[start : start + chunk] for start in range(0, len(POINTS), chunk))
        parts = model.stream(rows, frozen=True)
        for _ in parts:
            pass
        assert parts.result.summary.recordings[0].channels == model.preprocessor_.channels
        assert same_share(parts.result.units, expected) > 0.95


def test_rows_of_other_columns_are_refused_by_a_stream(model: Rondo) -> None:
    with pytest.raises(RecordingError, match="expected rows of 10 columns"):
        model.stream().feed(np.zeros((5, 13)))


def test_what_is_no_point_stays_a_channel(model: Rondo) -> None:
    recording = tracked(POINTS)
    values = np.column_stack([recording.values, np.sin(np.arange(len(POINTS)) / 11)])
    with_light = Recording(values, RATE, (*recording.channels, "light"), points=recording.points)
    fitted = found_in(with_light).model
    assert fitted.preprocessor_.channels[-1] == "light"
    assert fitted.preprocessor_.row_channels == (*recording.channels, "light")
    assert len(fitted.stream(values, frozen=True).__next__().decisions) > 0


def test_places_come_back_on_request() -> None:
    both, arena = (found_in(tracked(OTHER), pose=pose) for pose in ("both", "arena"))
    assert both.summary.recordings[0].channels[-2:] == ("place.x", "place.y")
    assert arena.summary.recordings[0].channels == tracked(OTHER).channels


def test_body_names_points_where_no_file_does() -> None:
    own = tracked(OTHER)
    plain = Recording(own.values, RATE, own.channels)
    assert found_in(plain).summary.recordings[0].channels == own.channels  # x and y of a sensor are no pose
    named = found_in(plain, body=("tail_base", "nose"))
    assert named.summary.recordings[0].channels[-3:] == MOTION


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"body": ("tail_base", "wing")}, "'wing', which is no point"),
        ({"body": ("nose",)}, "takes two points"),
        ({"body": ("tail_base", "nose"), "pose": "arena"}, "give one of them"),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        found_in(tracked(OTHER), **settings)


@pytest.mark.parametrize("settings", [{"pose": "both"}, {"body": ("a", "b")}])
def test_a_recording_without_points_takes_no_pose(settings: dict[str, object]) -> None:
    with pytest.raises(SettingError, match="no recording has them"):
        found_in(plant(n_frames=600).recording, **settings)


def test_a_recording_without_the_axis_is_refused_by_the_model(model: Rondo) -> None:
    with pytest.raises(RecordingError, match="lacks the point 'nose'"):
        model.predict(tracked(OTHER).without([0, 1]))
    labelled = model.predict(tracked(OTHER).without([2, 3]))
    assert any("point 'ear' is not in this recording" in note for note in labelled.recordings[0].notes)


def two_mice() -> Recording:
    one, other = tracked(POINTS), tracked(mouse(seed=2))
    names = [f"{animal}.{column}" for animal in ("mus1", "mus2") for column in one.channels]
    points = [
        point._replace(name=f"{animal}.{point.name}", columns=tuple(f"{animal}.{column}" for column in point.columns))
        for animal in ("mus1", "mus2")
        for point in one.points
    ]
    return Recording(np.concatenate([one.values, other.values], axis=1), RATE, names, "cage", points=points)


def test_of_several_animals_each_is_a_recording(found: Result) -> None:
    both = found_in(two_mice())
    assert [one.id for one in both.summary.recordings] == ["cage.mus1", "cage.mus2"]
    assert {own.n_frames for own in both.summary.recordings} == {len(POINTS)}
    assert all(own.channels == found.summary.recordings[0].channels for own in both.summary.recordings)
    assert [one.id for one in both.model.predict(two_mice()).summary.recordings] == ["cage.mus1", "cage.mus2"]


def test_left_and_right_are_no_animals() -> None:
    own = tracked(OTHER[:, :4])
    names = dict(zip(NAMES, ("left_ear", "left_hip", "right_ear", "right_hip"), strict=False))
    points = [point._replace(name=names[point.name]) for point in own.points]
    found = found_in(Recording(own.values, RATE, own.channels, points=points))
    assert len(found.summary.recordings) == 1


def test_many_files_are_read_in_the_body_frame_of_the_first(tmp_path: Path) -> None:
    for name, points in {"a": OTHER, "b": mouse(1_800, seed=3)}.items():
        columns = [f"{point}.{word}" for point in NAMES for word in ("x", "y", "likelihood")]
        table = np.insert(points, 2, 0.99, axis=2).reshape(len(points), -1)
        np.savetxt(tmp_path / f"{name}.csv", table, delimiter=",", header=",".join(columns), comments="", fmt="%.4f")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    how = {"window": "1s", "settings": QUICK, "rate": RATE}
    one_by_one = rondo.discover(files, out=tmp_path / "many", engine="serial", **how)
    at_once = rondo.discover(files, **how)
    assert one_by_one.model.preprocessor_.body == at_once.model.preprocessor_.body
    assert one_by_one.summary.recordings[1].channels == at_once.summary.recordings[1].channels
    for id in ("a", "b"):
        assert same_share(one_by_one[id].units, at_once[id].units) > 0.99
