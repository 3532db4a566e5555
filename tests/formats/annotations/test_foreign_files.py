"""Files as other programs write them: what is read, what is left out and said, what is refused in one line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rondo.annotations.annotation import read_annotated
from rondo.annotations.formats import read_tracks
from rondo.annotations.tracks import NamedSpan, Track, choose_track, on_frames
from rondo.data.grid import FrameClock
from rondo.errors import AnnotationError, RondoWarning

TEN = FrameClock.from_rate(10)


def saved(folder: Path, name: str, content: str | dict[str, Any] | list[Any]) -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def refused(call: Callable[[], object], path: Path) -> str:
    with pytest.raises(AnnotationError) as caught:
        call()
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    return str(caught.value)


def spans_of(path: Path) -> dict[tuple[str, str], list[tuple[float, float, str]]]:
    return {(t.recording, t.name): [(s.start, s.stop, s.name) for s in t.spans] for t in read_tracks(path)}


EAF = """<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="" DATE="2020-01-01T00:00:00+01:00" FORMAT="3.0" VERSION="3.0">
<HEADER MEDIA_FILE="" TIME_UNITS="milliseconds"><PROPERTY NAME="x">1</PROPERTY></HEADER>
<TIME_ORDER><TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="0"/><TIME_SLOT TIME_SLOT_ID="ts2" TIME_VALUE="500"/>
<TIME_SLOT TIME_SLOT_ID="ts3" TIME_VALUE="500"/><TIME_SLOT TIME_SLOT_ID="ts4"/>
<TIME_SLOT TIME_SLOT_ID="ts5" TIME_VALUE="900"/></TIME_ORDER>
<TIER LINGUISTIC_TYPE_REF="d" TIER_ID="posture">
<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2">
<ANNOTATION_VALUE> sit </ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="ts3" TIME_SLOT_REF2="{last}">
<ANNOTATION_VALUE>stand</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION></TIER>
<TIER LINGUISTIC_TYPE_REF="r" PARENT_REF="posture" TIER_ID="note">
<ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a3" ANNOTATION_REF="a1"><ANNOTATION_VALUE>slouched</ANNOTATION_VALUE>
</REF_ANNOTATION></ANNOTATION></TIER>
<LINGUISTIC_TYPE LINGUISTIC_TYPE_ID="d" TIME_ALIGNABLE="true"/></ANNOTATION_DOCUMENT>"""


def test_elan(tmp_path: Path) -> None:
    path = saved(tmp_path, "a.eaf", EAF.format(last="ts5"))
    assert spans_of(path) == {
        ("", "posture"): [(0.0, 0.5, "sit"), (0.5, 0.9, "stand")],
        ("", "note"): [(0.0, 0.5, "slouched")],  # a tier that refers to another has the times of that one
    }
    assert choose_track(read_tracks(path), None, "a", path).name == "posture"  # and is taken only where it is named
    unaligned = saved(tmp_path, "b.eaf", EAF.format(last="ts4"))
    assert "annotation 'a2'" in refused(lambda: read_tracks(unaligned), unaligned)
    with pytest.warns(RondoWarning, match=r"1 annotations of tier 'posture'"):
        read_tracks(saved(tmp_path, "c.eaf", EAF.format(last="ts2")))
    frames = saved(tmp_path, "d.eaf", EAF.format(last="ts5").replace("milliseconds", "PAL-frames"))
    assert "count PAL-frames" in refused(lambda: read_tracks(frames), frames)
    vast = saved(tmp_path, "v.eaf", EAF.format(last="ts5").replace('"900"', f'"{"9" * 400}"'))
    assert "has too many digits" in refused(lambda: read_tracks(vast), vast)
    for content in ("<a/>", "no xml", "<ANNOTATION_DOCUMENT/>"):
        path = saved(tmp_path, "e.eaf", content)
        refused(lambda path=path: read_tracks(path), path)


def aligned(id: str, first: str, last: str, value: str) -> str:
    slots = f'TIME_SLOT_REF1="{first}" TIME_SLOT_REF2="{last}"'
    inside = f"<ANNOTATION_VALUE>{value}</ANNOTATION_VALUE>"
    return (
        f'<ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="{id}" {slots}>{inside}</ALIGNABLE_ANNOTATION></ANNOTATION>'
    )


def referring(id: str, parent: str, value: str, previous: str = "") -> str:
    before = f' PREVIOUS_ANNOTATION="{previous}"' if previous else ""
    inside = f"<ANNOTATION_VALUE>{value}</ANNOTATION_VALUE>"
    head = f'<REF_ANNOTATION ANNOTATION_ID="{id}" ANNOTATION_REF="{parent}"{before}>'
    return f"<ANNOTATION>{head}{inside}</REF_ANNOTATION></ANNOTATION>"


def test_elan_tiers_below_others_have_the_times_that_elan_draws(tmp_path: Path) -> None:
    """As ELAN writes them: a time subdivision whose inner slots nobody has aligned, a symbolic subdivision in any order
    (PREVIOUS_ANNOTATION is what tells it), and an association with a part of that, before its parent in the file."""
    order = [("ts1", "0"), ("ts2", None), ("ts3", None), ("ts4", "900"), ("ts5", "900"), ("ts6", "1000")]
    slots = "".join(
        f'<TIME_SLOT TIME_SLOT_ID="{id}"/>' if at is None else f'<TIME_SLOT TIME_SLOT_ID="{id}" TIME_VALUE="{at}"/>'
        for id, at in order
    )
    tiers = {
        "gloss": referring("a9", "a8", "of the second word"),
        "words": referring("a8", "a1", "b", "a7") + referring("a7", "a1", "a") + referring("a10", "a2", "alone"),
        "phrase": aligned("a1", "ts1", "ts4", "one") + aligned("a2", "ts5", "ts6", "two"),
        "thirds": aligned("a3", "ts1", "ts2", "x")
        + aligned("a4", "ts2", "ts3", "y")
        + aligned("a5", "ts3", "ts4", "z"),
    }
    body = "".join(f'<TIER LINGUISTIC_TYPE_REF="d" TIER_ID="{name}">{inside}</TIER>' for name, inside in tiers.items())
    document = f"<ANNOTATION_DOCUMENT><TIME_ORDER>{slots}</TIME_ORDER>{body}</ANNOTATION_DOCUMENT>"
    assert spans_of(saved(tmp_path, "a.eaf", document)) == {
        ("", "gloss"): [(0.45, 0.9, "of the second word")],
        ("", "words"): [(0.0, 0.45, "a"), (0.45, 0.9, "b"), (0.9, 1.0, "alone")],
        ("", "phrase"): [(0.0, 0.9, "one"), (0.9, 1.0, "two")],
        ("", "thirds"): [(0.0, 0.3, "x"), (0.3, 0.6, "y"), (0.6, 0.9, "z")],
    }
    lost = saved(tmp_path, "b.eaf", document.replace('ANNOTATION_REF="a1"', 'ANNOTATION_REF="a99"'))
    assert "refers to 'a99'" in refused(lambda: read_tracks(lost), lost)


def test_audacity(tmp_path: Path) -> None:
    text = "\ufeff0.0\t1.5\twalk\n\\\t100.0\t200.0\n\n1.5\t3.000000\tsit down\r\n4\t5\n"
    assert spans_of(saved(tmp_path, "a.txt", text)) == {
        ("", ""): [(0.0, 1.5, "walk"), (1.5, 3.0, "sit down"), (4.0, 5.0, "")]
    }
    one_line = saved(tmp_path, "e.txt", "0\t1\ta\u2028b\x0bc\n")  # only a line end parts labels
    assert spans_of(one_line) == {("", ""): [(0.0, 1.0, "a\u2028b\x0bc")]}
    with pytest.warns(RondoWarning, match="1 point labels left out"):
        read_tracks(saved(tmp_path, "b.txt", "1\t1\tclap\n1\t2\tx\n"))
    bad = saved(tmp_path, "c.txt", "0\t1\twalk\nnotes of the day\n")
    assert "line 2: expected start, end" in refused(lambda: read_tracks(bad), bad)
    empty = saved(tmp_path, "d.txt", "\n")
    assert "no annotation" in refused(lambda: read_tracks(empty), empty)


def region(start: Any, end: Any, label: str, tag: str = "label") -> dict[str, Any]:
    value = {"start": start, "end": end, "instant": start == end, "timeserieslabels": [label]}
    return {"id": f"{start}", "from_name": tag, "to_name": "ts", "type": "timeserieslabels", "value": value}


def test_label_studio_takes_the_newest_annotation_before_a_prediction(tmp_path: Path) -> None:
    task = {
        "id": 7,
        "data": {"csv": "/data/upload/1/day1.csv"},
        "annotations": [
            {"result": [region(0.0, 0.4, "old")]},
            {"result": [region(0.0, 0.4, "new"), {"type": "choices", "value": {}}]},
            {"was_cancelled": True, "result": []},
        ],
        "predictions": [{"result": [region(0.0, 0.9, "guess")]}],
    }
    path = saved(tmp_path, "a.json", [task])
    assert spans_of(path) == {("day1", "label"): [(0.0, 0.4, "new")]}
    (track,) = read_tracks(path)
    # readings of the recording's own clock, and the sample at 0.4 s is still inside
    own = FrameClock.from_rate(10, start_s=-0.2)
    assert on_frames(track, 8, own, path).tolist() == ["(none)", "(none)", *["new"] * 5, "(none)"]
    dates = saved(tmp_path, "b.json", [{"data": {}, "predictions": [{"result": [region("2020-01-01", "x", "a")]}]}])
    assert "'2020-01-01', a date" in refused(lambda: read_tracks(dates), dates)
    for content in ("{", "[1]", '{"data": 1}', '[{"data": {}, "annotations": [{}]}]', "[]"):
        bad = saved(tmp_path, "c.json", content)
        refused(lambda bad=bad: read_tracks(bad), bad)


TABULAR = """Observation id,walk 1,,,,,,,
Media file(s),,,,,,,,
Time,Media file path,Total length,FPS,Subject,Behavior,Behavioral category,Comment,Status
0.500,v.mp4,9,25,cow,graze,posture,,START
1.000,v.mp4,9,25,cow,moo,sound,,POINT
2.000,v.mp4,9,25,No focal subject,rain,,,START
2.500,v.mp4,9,25,cow,graze,posture,,STOP
3.000,v.mp4,9,25,No focal subject,rain,,,STOP
"""
AGGREGATED = """Observation id\tSubject\tBehavior\tBehavioral category\tBehavior type\tStart (s)\tStop (s)
walk 1\tcow\tgraze\t\tSTATE\t0.5\t2.5
walk 2\tcow\tgraze\t\tSTATE\t1.0\t1.5
walk 2\tcow\tmoo\t\tPOINT\t1.0\t1.0
"""


def test_boris_tables(tmp_path: Path) -> None:
    with pytest.warns(RondoWarning, match="1 point events left out"):
        assert spans_of(saved(tmp_path, "a.csv", TABULAR)) == {
            ("walk 1", "cow/posture"): [(0.5, 2.5, "graze")],
            ("walk 1", ""): [(2.0, 3.0, "rain")],
        }
    with pytest.warns(RondoWarning, match="1 point events left out"):
        assert spans_of(saved(tmp_path, "b.tsv", AGGREGATED)) == {
            ("walk 1", "cow"): [(0.5, 2.5, "graze")],
            ("walk 2", "cow"): [(1.0, 1.5, "graze")],
        }
    clock = "Time offset (s),Behavior,Behavior type,Time\n3600,rest,START,3601.5\n3600,rest,STOP,3602\n"
    assert spans_of(saved(tmp_path, "f.csv", clock)) == {("", ""): [(1.5, 2.0, "rest")]}
    preamble = "Observation id,d\nTime offset (s),3600\nTime,Behavior,Status\n3601.5,rest,START\n3602,rest,STOP\n"
    assert spans_of(saved(tmp_path, "g.csv", preamble)) == {("d", ""): [(1.5, 2.0, "rest")]}
    paired = "0.5,,walk,START\n1,,walk,STOP\n"
    unpaired = saved(tmp_path, "c.csv", f"Time,Subject,Behavior,Status\n{paired}1.5,,rest,START\n")
    with pytest.warns(RondoWarning, match=r"1 state .*'rest' at 1.5 s"):
        assert spans_of(unpaired) == {("", ""): [(0.5, 1.0, "walk")]}
    bad = saved(tmp_path, "d.csv", "Time,Subject,Behavior,Status\nsoon,,rest,START\n")
    refused(lambda: read_tracks(bad), bad)
    other = saved(tmp_path, "e.tsv", "a\tb\n1\t2\n")
    assert "table of events" in refused(lambda: read_tracks(other), other)


def test_boris_project(tmp_path: Path) -> None:
    """Modifiers tell two states of one behaviour apart; events may be stored in any order."""
    kinds = {"0": {"code": "walk", "type": "State event", "category": ""}, "1": {"code": "hop", "type": "Point event"}}
    events = [[2.0, "", "walk", "slow", ""], [1.0, "", "walk", "", ""], [1, "", "hop", "", ""]]
    events += [[0.5, "", "walk", "", ""]]
    project = {"behaviors_conf": kinds, "observations": {"day1": {"events": [*events, [3.0, "", "walk", "slow", ""]]}}}
    with pytest.warns(RondoWarning, match="1 point events left out"):
        found = spans_of(saved(tmp_path, "a.boris", project))
    assert found == {("day1", ""): [(0.5, 1.0, "walk"), (2.0, 3.0, "walk")]}
    late = {"time offset": 36000.0, "events": [[36001.0, "", "walk", "", ""], [36002.5, "", "walk", "", ""]]}
    moved = saved(tmp_path, "c.boris", {"behaviors_conf": kinds, "observations": {"day1": late}})
    assert spans_of(moved) == {
        ("day1", ""): [(1.0, 2.5, "walk")]
    }  # BORIS adds the offset of an observation to its times
    for content in (
        "{",
        "[]",
        '{"behaviors_conf": {}}',
        '{"behaviors_conf": {}, "observations": {"a": {"events": [1]}}}',
    ):
        bad = saved(tmp_path, "b.boris", content)
        refused(lambda bad=bad: read_tracks(bad), bad)


def test_segments_of_a_run(tmp_path: Path) -> None:
    """By label, or by id in a table that has none; OTHER is no annotation."""
    rows = "recording,level,id,start_frame,end_frame\nday1,unit,3,0,4\nday1,unit,-1,4,6\nday1,unit,0,6,7\n"
    assert spans_of(saved(tmp_path, "a.csv", rows)) == {("day1", "unit"): [(0, 4, "3"), (6, 7, "0")]}
    named = rows.replace("end_frame\n", "end_frame,label\n").replace("4\n", "4,reach\n")
    named = named.replace("6\n", "6,OTHER\n").replace("7\n", "7,put\n")
    path = saved(tmp_path, "b.csv", named)
    assert spans_of(path) == {("day1", "unit"): [(0, 4, "reach"), (6, 7, "put")]}
    for name, content in (
        ("c.parquet", "PAR1"),
        ("d.csv", rows + "day1,unit,x,7,8\n"),
        ("e.csv", rows + ",unit,1,7,8\n"),
    ):
        bad = saved(tmp_path, name, content)
        refused(lambda bad=bad: read_tracks(bad), bad)


def test_one_track_is_chosen_by_recording_and_name() -> None:
    path = Path("x.boris")
    one, two, other = Track((), "unit", "a"), Track((), "motif", "a"), Track((), "unit", "b")
    assert choose_track([one, two, other], "motif", "a", path) is two
    assert choose_track([one, two, other], None, "b", path) is other
    assert choose_track([other], None, "elsewhere", path) is other  # the only recording, under another name
    assert "It has 'unit', 'motif'" in refused(lambda: choose_track([one, two], None, "a", path), path)
    for tracks in ([other], [Track((), "unit")]):  # where others are looked for too, a name is needed
        said = refused(lambda tracks=tracks: choose_track(tracks, None, "c", path, is_only=False), path)
        assert "about recording 'c'" in said
    assert "no track 'units'" in refused(lambda: choose_track([one, two], "units", "a", path), path)
    assert "about recording 'c'" in refused(lambda: choose_track([one, other], None, "c", path), path)


def laid(*spans: tuple[float, float, str], n_frames: int = 10, clock: FrameClock | None = TEN) -> list[str]:
    return on_frames(Track(tuple(NamedSpan(*span) for span in spans)), n_frames, clock, Path("x.eaf")).tolist()


def test_spans_on_frames() -> None:
    assert laid((0.0, 0.3, "a"), (0.3, 1.0, "b")) == ["a"] * 3 + ["b"] * 7
    assert laid((0.31, 0.69, "b"), (0.0, 0.1, "long name"))[:8] == [
        "long name",
        "(none)",
        "(none)",
        *["b"] * 4,
        "(none)",
    ]
    assert laid((0.0, 0.4, "a"), (0.3, 0.6, "b"))[2:5] == ["a", "b", "b"]  # they meet in one frame: the later holds
    assert laid((0.0, 0.8, "a"), (0.2, 0.4, "a"), n_frames=9) == ["a"] * 8 + ["(none)"]


def test_spans_that_no_frames_can_have() -> None:
    path = Path("x.eaf")
    assert "'b' begins at frame 2" in refused(lambda: laid((0.0, 0.8, "a"), (0.2, 0.4, "b")), path)
    assert "give --rate HZ" in refused(lambda: laid((0.0, 0.3, "a"), clock=None), path)
    assert "check the rate" in refused(lambda: laid((5.0, 6.0, "a")), path)
    assert "before it begins" in refused(lambda: laid((0.5, 0.2, "a")), path)
    assert "not finite" in refused(lambda: laid((0.5, float("nan"), "a")), path)
    with pytest.warns(RondoWarning, match="5 to 20, the recording has 10"):
        assert laid((0.5, 2.0, "a")) == ["(none)"] * 5 + ["a"] * 5


def test_a_folder_of_truths_takes_only_what_the_labels_need(tmp_path: Path) -> None:
    (tmp_path / "truth").mkdir()
    (tmp_path / "labels").mkdir()
    np.save(tmp_path / "labels" / "day1.npy", [0, 0, 1, 1])
    saved(tmp_path / "truth", "day1.txt", "0\t0.2\ta\n0.2\t0.4\tb\n")
    saved(tmp_path / "truth", "meta.json", "{}")
    pairs = read_annotated(tmp_path / "truth", tmp_path / "labels", None, lambda _: TEN)
    assert pairs["day1"][0].classes.tolist() == [0, 0, 1, 1]
    np.save(tmp_path / "labels" / "day2.npy", [0, 0, 1, 1])
    lone = tmp_path / "truth" / "day1.txt"  # it names no recording, so it cannot be the truth of two
    assert "about recording 'day1'" in refused(lambda: read_annotated(lone, tmp_path / "labels"), lone)
    (tmp_path / "labels" / "day2.npy").unlink()
    np.save(tmp_path / "truth" / "day1.npy", [7, 7, 7, 7])  # one label per frame comes first
    assert read_annotated(tmp_path / "truth", tmp_path / "labels")["day1"][0].classes.tolist() == [7] * 4


def test_a_clock_with_a_gap() -> None:
    clock = FrameClock(np.array([100.0, 101.0, 111.0, 112.0]), np.array([0.0, 10.0, 10.0, 20.0]), 10.0, 100.0)
    assert clock.frames_at([99.0, 100.5, 101.0, 105.0, 111.0, 111.5, 113.0]).tolist() == [-10, 5, 10, 10, 10, 15, 30]
