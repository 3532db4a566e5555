"""Points in the frame of the body: wherever the body is, however it is turned and large; in chunks as at once."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.data.body import MOTION, BodyFrame, BodyRows, as_body, chosen_body
from rondo.data.recording import Recording
from rondo.errors import RecordingError, SettingError
from tests.poses import NAMES, RATE, mouse, tracked, turned

Points = NDArray[np.float64]
MOUSE = mouse(600)


def body(points: Points, names: tuple[str, ...] = ()) -> Recording:
    recording = tracked(points)
    return as_body(recording, chosen_body(recording, "centred", names))


def in_3d(points: Points, up: int = 2) -> Points:
    """The mouse on a floor; its nose goes up and down."""
    height = np.zeros(points.shape[:2])
    height[:, 0] = 20 + 15 * np.sin(np.arange(len(points)) / 9)
    return np.insert(points, up, height, axis=2)


def test_the_axis_is_the_longest_that_is_firm_and_points_to_the_front() -> None:
    frame = chosen_body(tracked(MOUSE), "centred")
    assert (frame.origin, frame.tip) == ("tail_base", "nose")
    named = chosen_body(tracked(MOUSE), "centred", ("ear", "paw"))
    assert (named.origin, named.tip) == ("ear", "paw")
    with pytest.raises(SettingError, match="did you mean 'nose'"):
        chosen_body(tracked(MOUSE), "centred", ("noes", "paw"))


def test_without_telling_names_the_front_is_where_the_body_goes() -> None:
    recording = tracked(MOUSE[:, [3, 2, 1, 0]])  # nose, ear, paw, tail_base are their names, and the wrong way round
    plain = {name: f"p{place}" for place, name in enumerate(NAMES)}
    points = tuple(point._replace(name=plain[point.name]) for point in recording.points)
    frame = chosen_body(Recording(recording.values, RATE, recording.channels, points=points), "centred")
    assert (frame.origin, frame.tip) == ("p0", "p3")


def test_channels_are_posture_speed_and_turning() -> None:
    found = body(MOUSE)
    assert found.channels[:3] == ("nose.along", "ear.along", "ear.across")
    assert found.channels[-3:] == MOTION
    assert found.body is not None and found.points == ()
    value = dict(zip(found.channels, found.values[20:80].mean(axis=0).tolist(), strict=True))
    assert value["body.forward"] == pytest.approx(90 / 60, rel=0.05)  # body lengths per second
    assert value["ear.across"] == pytest.approx(0.2, abs=0.02)
    turning = found.values[200:260, found.channels.index("body.turning")]
    assert turning.mean() == pytest.approx(2.5, rel=0.05)
    assert any("origin tail_base, axis to nose" in note and "--pose arena" in note for note in found.notes)


@pytest.mark.parametrize(
    "change",
    [
        lambda points: turned(points, 2.0),
        lambda points: points + np.array([1_000.0, -300.0]),
        lambda points: 2.5 * points,
        lambda points: 0.01 * turned(points, -1.0) + 7,
    ],
    ids=["rotated", "shifted", "scaled", "all"],
)
def test_rotated_shifted_and_scaled_arenas_give_the_same_body(change: Callable[[Points], Points]) -> None:
    npt.assert_allclose(body(change(MOUSE)).values, body(MOUSE).values, atol=2e-3)


def test_in_3d_the_body_turns_about_the_vertical_and_height_stays() -> None:
    found = body(in_3d(MOUSE))
    assert found.body is not None and found.body.vertical == 2
    assert found.channels[:2] == ("nose.along", "nose.up")
    up = found.values[:, 1]
    assert 0.2 < float(np.ptp(up)) < 1.0
    elsewhere = body(turned(in_3d(MOUSE), 1.2) * 3 + np.array([5.0, 6.0, 7.0]))
    npt.assert_allclose(elsewhere.values, found.values, atol=2e-3)
    lying = body(in_3d(MOUSE, up=1))  # y is up in this program
    assert lying.body is not None and lying.body.vertical == 1
    npt.assert_allclose(lying.values[:, 1], up, atol=1e-4)


@given(cuts=st.lists(st.integers(0, 600), max_size=8), seed=st.integers(0, 9), has_clock=st.booleans())
def test_chunks_give_the_same_rows(cuts: list[int], seed: int, has_clock: bool) -> None:
    rng = np.random.default_rng(seed)
    recording = tracked(MOUSE)
    rows = recording.values.copy()
    rows[rng.random(rows.shape) < 0.05] = np.nan
    times = np.arange(len(rows)) / RATE + np.where(np.arange(len(rows)) > 333, 40.0, 0.0) if has_clock else None
    frame = chosen_body(recording, "both")
    whole = BodyRows(frame, RATE).push(rows, times)
    reader, parts = BodyRows(frame, RATE), []
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), len(rows)], strict=True):
        again = BodyRows(frame, RATE)
        again.load(reader.state()[0])  # as from a checkpoint
        reader = again
        parts.append(reader.push(rows[start:stop], None if times is None else times[start:stop]))
    npt.assert_array_equal(np.concatenate(parts), whole)


def test_nothing_moves_across_a_break_of_the_clock() -> None:
    points = mouse(200)
    points[100:] += 300
    recording = tracked(points)
    frame = chosen_body(recording, "centred")
    times = np.arange(200) / RATE
    place = frame.channels.index("body.forward")
    jumped = BodyRows(frame, RATE).push(recording.values, times)[:, place]
    cut = BodyRows(frame, RATE).push(recording.values, times + np.where(np.arange(200) >= 100, 60, 0))[:, place]
    assert np.abs(jumped[100:103]).max() > 10 > 4 > np.abs(cut[100:103]).max()


def test_a_lost_end_of_the_axis_is_laid_over_the_points_that_are_seen() -> None:
    recording = tracked(MOUSE)
    frame = chosen_body(recording, "centred")
    whole = BodyRows(frame, RATE).push(recording.values, None)
    rows = recording.values.copy()
    rows[50:60, :2] = np.nan  # the nose
    found = BodyRows(frame, RATE).push(rows, None)
    names = list(frame.channels)
    assert np.isnan(found[50:60, names.index("nose.along")]).all()
    npt.assert_allclose(found[50:60, names.index("ear.across")], whole[50:60, names.index("ear.across")], atol=0.1)
    assert np.isnan(found[50:60, names.index("body.forward")]).all()  # no speed of a point that was not seen
    rows[50:60, :8] = np.nan  # all but one
    assert np.isnan(BodyRows(frame, RATE).push(rows, None)[50:60]).all()


def test_a_lacking_point_is_missing_and_one_of_the_axis_is_refused() -> None:
    recording = tracked(MOUSE)
    frame = chosen_body(recording, "centred")
    found = as_body(recording.without([2, 3]), frame)  # the ear
    assert np.isnan(found.values[:, found.channels.index("ear.along")]).all()
    assert any("point 'ear' is not in this recording" in note for note in found.notes)
    with pytest.raises(RecordingError, match="lacks the point 'nose'"):
        as_body(recording.without([0, 1]), frame)


def test_points_that_are_never_apart_carry_no_frame() -> None:
    one = np.repeat(MOUSE[:, :1], 3, axis=1)
    with pytest.raises(RecordingError, match="never seen apart"):
        body(one)


def test_stored_as_json_and_read_again() -> None:
    recording = tracked(MOUSE)
    frame = chosen_body(recording, "both")
    stored = json.loads(json.dumps(frame.as_json()))
    assert BodyFrame.from_json(stored) == frame
    for damage in ({"tip": "wing"}, {"length": 0.0}, {"vertical": 1}, {"posture": [[0.0, 1.0]]}, {"tip": "tail_base"}):
        with pytest.raises(ValueError, match="does not fit"):
            BodyFrame.from_json(stored | damage)
