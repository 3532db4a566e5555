"""GPX, written as its schema has it: track points with time, height and extensions; bombs refused."""

from __future__ import annotations

from pathlib import Path

import numpy.testing as npt
import pytest

from tests.formats.reading import read_one, refusal, write

HEAD = (
    '<?xml version="1.0"?>\n<gpx version="1.1" creator="t" xmlns="http://www.topografix.com/GPX/1/1" '
    'xmlns:x="http://www.garmin.com/xmlschemas/TrackPointExtension/v1"><metadata><time>2020-01-01T00:00:00Z</time>'
    '</metadata><wpt lat="1" lon="2"/><trk><name>run</name><trkseg>'
)
TAIL = "</trkseg></trk></gpx>"


def point(second: int, ele: str, heart: int, time: bool = True) -> str:
    clock = f"<time>2026-11-14T08:00:{second:02d}Z</time>" if time else ""
    beats = f"<extensions><x:TrackPointExtension><x:hr>{heart}</x:hr></x:TrackPointExtension></extensions>"
    return f'<trkpt lat="47.5" lon="{8 + second / 1000}">{ele}{clock}{beats}</trkpt>'


def test_points_are_frames(tmp_path: Path) -> None:
    points = [
        point(0, "<ele>400</ele>", 60),
        point(1, "", 61),
        point(2, "<ele>402.5</ele>", 62),
        point(3, "", 9, False),
    ]
    recording = read_one(write(tmp_path, "run.gpx", HEAD + "".join(points) + TAIL))
    assert (recording.id, recording.channels, recording.rate) == ("run", ("lat", "lon", "ele", "hr"), 1.0)
    npt.assert_allclose(recording.values[:, 2], [400, float("nan"), 402.5])
    npt.assert_allclose(recording.values[:, 3], [60, 61, 62])
    assert ["1 point without a time" in note for note in recording.notes] == [True]
    assert recording.times_s is not None and recording.times_s[0] == 1794643200.0


def test_segments_and_tracks_are_one_recording_in_the_order_of_time(tmp_path: Path) -> None:
    between = "</trkseg><trkseg>", "</trkseg></trk><trk><name>2</name><trkseg>"
    late, later, early = (
        "".join(point(second, "", second) for second in part) for part in ((20, 21), (30, 31), (0, 1))
    )
    text = HEAD + late + between[0] + later + between[1] + early + TAIL
    recording = read_one(write(tmp_path, "a.gpx", text))
    npt.assert_array_equal(recording.values[:, 2], [0, 1, 20, 21, 30, 31])
    assert ["order of time" in note for note in recording.notes] == [True]
    assert recording.times_s is not None
    npt.assert_array_equal(recording.times_s - recording.times_s[0], [0, 1, 20, 21, 30, 31])


def test_numbers_of_extensions_are_channels_and_words_are_not(tmp_path: Path) -> None:
    """Garmin's TrackPointExtension v2, a power without a namespace, and a name of digits."""
    points = "".join(
        f'<trkpt lat="47.5" lon="8"><ele>400</ele><time>2026-11-14T09:00:0{i}.5+01:00</time><name>00{i}</name>'
        f"<sat>7</sat><extensions><power>{200 + i}</power><x:TrackPointExtension><x:atemp>21.5</x:atemp>"
        f"<x:cad>8{i}</x:cad></x:TrackPointExtension></extensions></trkpt>"
        for i in range(3)
    )
    recording = read_one(write(tmp_path, "a.gpx", HEAD + points + TAIL))
    assert recording.channels == ("lat", "lon", "ele", "sat", "power", "atemp", "cad")
    npt.assert_allclose(recording.values[1], [47.5, 8, 400, 7, 201, 21.5, 81])
    assert recording.times_s is not None and recording.times_s[0] == 1794643200.5


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<!DOCTYPE gpx [<!ENTITY a "aaaa">]><gpx><trk/></gpx>', "it has a DOCTYPE"),
        ("<kml/>", "its root is <kml>"),
        (HEAD + TAIL, "it holds no track points"),
        (HEAD, "it is damaged, or no GPX file"),
        (HEAD + '<trkpt lat="x" lon="1"/>' + TAIL, "damaged"),
    ],
)
def test_what_is_no_track_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    path = write(tmp_path, "a.gpx", text)
    assert expected in refusal(lambda: read_one(path), naming=path)
