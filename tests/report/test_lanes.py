"""Lanes: looks that differ, classes in the colours of what was found, annotations on their frames."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rondo.editing.edits import Edits
from rondo.errors import AnnotationError
from rondo.report.contents import TruthFile, Wish
from rondo.report.lanes import (
    LOOKS,
    MOTIF_LOOKS,
    OTHER_COLOUR,
    OTHER_LOOK,
    Look,
    ink_on,
    look_of,
    match_looks,
)
from rondo.run.decisions import stored_stream
from rondo.run.overview import Overview, overview_path, signal_overview
from rondo.run.summary import StreamSummary
from rondo.run.tally import Words
from rondo.run.writer import RunWriter
from tests.report.on_folders import summarize
from tests.report.run_folders import write_run_folder
from tests.report.stream_folders import add_decisions, stream_summary, write_stream_folder
from tests.run.stored import write_overview

DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)


PROTANOPIA = np.array(
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
)


TRITANOPIA = np.array(
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
)


TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear_rgb(colour: str) -> np.ndarray:
    share = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lab(linear: np.ndarray) -> np.ndarray:
    x, y, z = np.cbrt(TO_XYZ @ linear.clip(0, 1) / np.array([0.9505, 1.0, 1.089]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


SIGHTS = {"normal": np.eye(3), "deuteranopia": DEUTERANOPIA, "protanopia": PROTANOPIA, "tritanopia": TRITANOPIA}


def nearest(looks: Sequence[Look], sight: str) -> float:
    """The least CIE76 distance between two of them, as someone with that sight sees them."""
    seen = [lab(SIGHTS[sight] @ linear_rgb(look.colour)) for look in looks]
    return float(min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)))


@pytest.mark.parametrize("sight", SIGHTS)
def test_the_first_eight_differ_also_for_the_colour_blind(sight: str) -> None:
    """CIE76 distances above 15 are told apart at a glance."""
    assert nearest(LOOKS[:8], sight) > 15
    assert nearest(MOTIF_LOOKS[:8], sight) > 10  # darker: their names stand inside them
    assert nearest([*LOOKS[:3], *MOTIF_LOOKS[:3]], sight) > 13  # few units and their motifs


@pytest.mark.parametrize("sight", SIGHTS)
def test_all_looks_differ_in_pattern_or_else_in_colour(sight: str) -> None:
    for pattern in ("plain", "stripes", "dots", "bars"):
        for looks, least in ((LOOKS, 11), (MOTIF_LOOKS, 9)):
            alike = [look for look in looks if look.pattern == pattern]
            assert len(alike) == 8
            assert nearest(alike, sight) > least


def test_names_are_readable_on_every_colour() -> None:
    """WCAG 2 asks for a contrast of 4.5 : 1."""
    for colour in (*(look.colour for look in (*LOOKS, *MOTIF_LOOKS)), OTHER_COLOUR):
        dark, light = sorted(float(np.dot([0.2126, 0.7152, 0.0722], linear_rgb(c))) for c in (colour, ink_on(colour)))
        assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_same_id_same_look_and_other_levels_look_different() -> None:
    kinds = ("unit", "motif", "true unit", "true motif")
    assert look_of("unit", 3) == look_of("unit", 3)
    assert all(len({look_of(kind, i) for kind in kinds}) == 4 for i in range(100))
    assert {look_of(kind, -1) for kind in kinds} == {OTHER_LOOK}


def lane(kind: str, names: list[str], length: int = 10) -> dict[str, Any]:
    """Segments of equal length one after the other; ids are the numbers in their names."""
    level = kind if kind != "annotation" else "true unit"
    looks = [OTHER_LOOK if name == "OTHER" else look_of(level, int(name.lstrip("um") or 0)) for name in names]
    starts = [length * i for i in range(len(names))]
    return {
        "kind": kind,
        "names": names,
        "colours": [look.colour for look in looks],
        "patterns": [look.pattern for look in looks],
        "start_frames": starts,
        "end_frames": [start + length for start in starts],
    }


def matched(*lanes: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The looks of the classes of the last lane."""
    n_frames = max(it["end_frames"][-1] for it in lanes)
    match_looks([{"n_frames": n_frames, "lanes": [*lanes]}])
    last = lanes[-1]
    return dict(zip(last["names"], zip(last["colours"], last["patterns"], strict=True), strict=True))


def test_two_classes_in_one_entry_do_not_share_its_look_and_the_second_has_one_that_no_entry_has() -> None:
    found = matched(lane("unit", ["u0", "u0", "u0", "u1"]), lane("true unit", ["0", "0", "1", "2"]))
    assert found["0"] == look_of("unit", 0) and found["2"] == look_of("unit", 1)
    assert found["1"] not in (look_of("unit", 0), look_of("unit", 1), OTHER_LOOK)


def test_other_stays_grey_and_is_no_partner() -> None:
    found = matched(lane("unit", ["OTHER", "OTHER", "u1"]), lane("true unit", ["OTHER", "3", "4"]))
    assert found["OTHER"] == OTHER_LOOK
    assert found["3"] != OTHER_LOOK and found["4"] == look_of("unit", 1)


def test_an_annotation_takes_the_level_that_it_agrees_with() -> None:
    units, motifs = ["u0", "u1", "u0", "u1", "u2", "u3"], ["m4", "m4", "m4", "m4", "m5", "m5"]
    found = matched(lane("unit", units), lane("motif", motifs), lane("annotation", ["0", "0", "0", "0", "1", "1"]))
    assert found == {"0": look_of("motif", 4), "1": look_of("motif", 5)}


@pytest.mark.parametrize("seed", range(5))
def test_the_pairs_share_as_much_time_as_any_pairs_could(seed: int) -> None:
    """Against all permutations."""
    rng = np.random.default_rng(seed)
    units, classes = rng.integers(4, size=60), rng.integers(4, size=60)
    found = matched(lane("unit", [f"u{i}" for i in units]), lane("true unit", [f"{i}" for i in classes]))
    partner = {look_of("unit", i): i for i in range(4)}
    shared = sum(((units == partner[found[f"{i}"]]) & (classes == i)).sum() for i in range(4))
    best = max(
        sum(((units == order[i]) & (classes == i)).sum() for i in range(4))
        for order in itertools.permutations(range(4))
    )
    assert shared == best


def test_one_class_per_frame_is_a_lane_too(tmp_path: Path) -> None:
    folder = run_with_labels(tmp_path / "run", ("day1", "day2"))
    truth = tmp_path / "truth"
    truth.mkdir()
    track = np.repeat([100, -1, 1100, 100], 150)
    np.save(truth / "day1.npy", track)
    np.savez(truth / "day2.npz", y=track)
    for recording in summarize(folder, Wish(truth=TruthFile(truth)))["recordings"]:
        lane = recording["lanes"][-1]
        assert (lane["kind"], lane["names"]) == ("annotation", ["100", "1100", "100"])
        assert list(zip(lane["start_frames"], lane["end_frames"], strict=True)) == [(0, 150), (300, 450), (450, 600)]
        assert lane["colours"][0] == lane["colours"][2] != lane["colours"][1]


def test_what_cannot_be_laid_on_the_run_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = run_with_labels(tmp_path / "run", ("day1",))
    np.save(tmp_path / "short.npy", np.zeros(10, np.int64))
    for path, message in ((tmp_path / "nowhere.eaf", "no such file"), (tmp_path / "short.npy", "10")):
        with pytest.raises(AnnotationError, match=message) as refused:
            summarize(folder, Wish(truth=TruthFile(path)))
        assert "\n" not in str(refused.value)


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
    with pytest.raises(AnnotationError):
        lane_of_stream(folder, tmp_path / "truth.npy")
    outside = spans_in(tmp_path / "far.txt", (100, 200, "sit"))
    with pytest.raises(AnnotationError):
        lane_of_stream(folder, outside)


def finish_stream(folder: Path, id: str, n_frames: int) -> None:
    """As a session does at the end."""
    running = stored_stream(
        folder, stream_summary(id, n_frames), Words(), Edits(), lambda about: no_signal(about.n_frames)
    )
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
