"""Export, read again with our own reader, compare frame by frame: every format, level and kind of clock."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.annotations.annotation import read_annotated
from rondo.annotations.formats import read_tracks
from rondo.annotations.tracks import choose_track, on_frames
from rondo.errors import OutputError, SettingError
from rondo.report.export import export_formats
from tests.report.export.made_runs import Made, write_made_run
from tests.report.on_folders import clock_in_run, export_run

SUFFIX = {name: one.suffixes[0] for name, one in export_formats().items()}
NEEDS = {"nwb": "ndx_ethogram", "xlsx": "xlsxwriter"}
FORMATS = [
    pytest.param(
        name, marks=pytest.mark.skipif(find_spec(NEEDS.get(name, "polars")) is None, reason=f"no {NEEDS.get(name)}")
    )
    for name in export_formats()
]
PLAIN = Made([-1, 0, 0, 1, 1, 1, -1, 2, 2, 0], [-1, 3, 3, 3, 3, 3, -1, -1, 5, 5])


def with_gap(made: Made, at: int, gap_s: float, start_s: float) -> Made:
    """The same on a clock that begins at `start_s` and stands still for `gap_s` before frame `at`."""
    rate = made.rate or 1.0
    times = start_s + np.arange(len(made.units)) / rate + np.where(np.arange(len(made.units)) >= at, gap_s, 0.0)
    return Made(made.units, made.motifs, rate, times, (at,))


def folder_or_file(out: Path, format: str) -> Path:
    """Where a format puts several recordings."""
    return out if export_formats()[format].one_per_recording else out.with_suffix(SUFFIX[format])


def file_of(paths: list[Path], id: str, level: str) -> Path:
    """The one that holds a level of a recording, whether it holds others too or not."""
    by_stem = {path.stem: path for path in paths}
    return by_stem.get(f"{id}.{level}") or by_stem.get(id) or paths[0]


def read_back(run: Path, path: Path, level: str, recording: str, n_frames: int) -> list[str]:
    tracks = read_tracks(path)
    track = choose_track(tracks, level if len(tracks) > 1 else None, recording, path)
    return [str(name) for name in on_frames(track, n_frames, clock_in_run(run, recording), path)]


def assert_round_trip(folder: Path, format: str, made: Made) -> None:
    run = write_made_run(folder / "run", {"day1": made})
    for level in ("unit", "motif"):
        if not any(name != "(none)" for name in made.names(level)):
            continue
        (path, *_) = export_run(run, format, folder / f"{level}{SUFFIX[format]}", level)
        assert read_back(run, path, level, "day1", len(made.units)) == made.names(level)


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    "made",
    [PLAIN, with_gap(PLAIN, 5, 30.0, 1.7e9), with_gap(PLAIN, 1, 2.0, -8.0), with_gap(PLAIN, 8, 0.1, 0.0)],
    ids=["rate", "epoch clock with a gap", "gap after OTHER at the beginning", "short gap"],
)
def test_frame_by_frame(tmp_path: Path, format: str, made: Made) -> None:
    assert_round_trip(tmp_path, format, made)


def test_seconds_count_from_the_first_frame(tmp_path: Path) -> None:
    """Also where it is OTHER and a gap follows it, so that no segment tells when it was."""
    run = write_made_run(tmp_path / "run", {"day1": with_gap(PLAIN, 1, 2.0, 1.7e9)})
    (path,) = export_run(run, "audacity", tmp_path / "x.txt", "unit")
    assert path.read_text(encoding="utf-8").startswith("2.020000\t2.060000\tu0\n")


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_labels_at_any_rate_below_a_kilohertz(format: str, data: st.DataObject) -> None:
    n_frames = data.draw(st.integers(2, 60))
    track = st.lists(st.integers(-1, 3), min_size=n_frames, max_size=n_frames)
    rate = data.draw(st.sampled_from([0.5, 7.3, 29.97, 100.0, 128.0, 333.3, 990.0]))
    made = Made(data.draw(track), data.draw(track), rate)
    if data.draw(st.booleans()):
        at, gap_s = data.draw(st.integers(1, n_frames - 1)), data.draw(st.floats(0.01, 1000))
        made = with_gap(made, at, gap_s, data.draw(st.sampled_from([0.0, 12.5, 1.7e9])))
    with tempfile.TemporaryDirectory() as folder:
        assert_round_trip(Path(folder), format, made)


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_several_recordings_and_both_levels(tmp_path: Path, format: str) -> None:
    other = Made([0, 1, 2, 3, 4, 4], [7, 7, 7, -1, -1, -1], 10.0)
    run = write_made_run(tmp_path / "run", {"day1": PLAIN, "day2": other})
    whole = export_run(run, format, folder_or_file(tmp_path / "out", format))
    for id, made in (("day1", PLAIN), ("day2", other)):
        for level in ("unit", "motif"):
            assert read_back(run, file_of(whole, id, level), level, id, len(made.units)) == made.names(level)
    (one,) = export_run(run, format, tmp_path / f"one{SUFFIX[format]}", "unit", "day2")[:1]
    assert read_back(run, one, "unit", "day2", 6) == other.names("unit")


@pytest.mark.parametrize("format", FORMATS)
def test_without_a_rate(tmp_path: Path, format: str) -> None:
    made = Made(PLAIN.units, PLAIN.motifs, None)
    if not export_formats()[format].needs_seconds:
        assert_round_trip(tmp_path, format, made)
        return
    run = write_made_run(tmp_path / "run", {"day1": made})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OutputError, match=r"'day1' .*--rate HZ"):
        export_run(run, format, tmp_path / "out", "unit")
    assert sorted(tmp_path.rglob("*")) == before


def test_what_cannot_be_written_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    run = write_made_run(tmp_path / "run", {"day1": PLAIN, "day2": PLAIN})
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SettingError, match="--format is one"):
        export_run(run, "xml", tmp_path / "x")
    with pytest.raises(SettingError, match=r"--level is .unit."):
        export_run(run, "csv", tmp_path / "x", "units")
    with pytest.raises(SettingError, match=r"no recording 'day3'.*'day1', 'day2'"):
        export_run(run, "csv", tmp_path / "x", recording="day3")
    with pytest.raises(OutputError, match="eaf needs 2 files"):
        export_run(run, "eaf", tmp_path / "x.eaf")
    with pytest.raises(OutputError, match="neither a run nor"):
        export_run(tmp_path, "csv", tmp_path / "x")
    with pytest.raises(OutputError, match="a file"):
        export_run(run, "csv", run / "summary.json" / "x.csv")
    with pytest.raises(OutputError, match="exists already"):
        export_run(run, "csv", run / "summary.json")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("format", FORMATS)
def test_names_that_people_gave(tmp_path: Path, format: str) -> None:
    """Two entries may have one name, and a name may hold what parts cells or tags: no two labels are the same."""
    given = {("unit", 0): 'reach\t<&> "é"', ("unit", 1): "put", ("unit", 2): "put", ("motif", 3): "put"}
    run = write_made_run(tmp_path / "run", {"day1": replace(PLAIN, given=given)})
    unit = {"u0": 'reach <&> "é"', "u1": "put (u1)", "u2": "put (u2)"}
    motif = {"m3": "put (m3)"}
    paths = export_run(run, format, folder_or_file(tmp_path / "out", format))
    for level, names in (("unit", unit), ("motif", motif)):
        back = read_back(run, file_of(paths, "day1", level), level, "day1", 10)
        assert back == [names.get(name, name) for name in PLAIN.names(level)]


@pytest.mark.parametrize("format", FORMATS)
def test_truth_of_a_whole_folder_of_labels(tmp_path: Path, format: str) -> None:
    run = write_made_run(tmp_path / "run", {"day1": PLAIN, "day2": with_gap(PLAIN, 4, 3.0, 100.0)})
    truth = folder_or_file(tmp_path / "truth", format)
    export_run(run, format, truth, "motif")
    pairs = read_annotated(truth, run / "labels", None, lambda file: clock_in_run(run, file.stem))
    assert sorted(pairs) == ["day1", "day2"]
    for annotation, labels in pairs.values():
        truth_classes = annotation.classes
        same = truth_classes[:, None] == truth_classes[None, :]
        np.testing.assert_array_equal(same, labels[:, None] == labels[None, :])
