"""Result: what discover, label and stream give back, in memory and from its folder."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import polars as pl
import pytest
from pandas.testing import assert_frame_equal

import rondo
from rondo.data.recording import Recording
from rondo.errors import NoteWarning, OutputError, RecordingError, RondoWarning, SettingError
from rondo.model.rondo import Rondo
from rondo.result import Result, make_result
from rondo.run.segments import COLUMNS
from rondo.run.summary import read_summary
from tests.cli.running import tree, waves, write_csv

QUICK = {"evidence.surrogates": 0, "encoder.shape_channels": 0}  # shapes split these short windows
NOVEMBER = 1794774665.25


@pytest.fixture(scope="module")
def two() -> Result:
    recordings = [Recording(waves(900, seed=i), 50, ("a", "b"), id) for i, id in enumerate(("day1", "day2"))]
    return rondo.discover(recordings, window=40, settings=QUICK | {"windows.step": 20})


@pytest.fixture(scope="module")
def one(two: Result) -> Result:
    return two.model.predict(Recording(waves(700, seed=4), 50, ("a", "b"), "day3"))


def test_labellings_by_place_by_id_and_in_turn(two: Result) -> None:
    assert [labelling.recording_id for labelling in two] == ["day1", "day2"] == [r.id for r in two.recordings]
    assert (len(two), two[1], two["day2"]) == (2, two["day2"], two[1])
    with pytest.raises(RecordingError, match=r"this result has 2 recordings; take one, as result\['day1'\]\.units"):
        _ = two.units
    with pytest.raises(RecordingError, match="no recording 'day9' in this result; it has 'day1', 'day2'"):
        two["day9"]


def test_segments_are_pandas_and_say_what_the_labels_say(two: Result) -> None:
    segments = two.segments
    assert isinstance(segments, pd.DataFrame) and tuple(segments.columns) == COLUMNS
    npt.assert_array_equal(two.labels.query("recording == 'day2'")["unit"], two["day2"].units)
    assert segments["start_time"].dtype.kind == "M" and segments["start_time"].isna().all()
    for labelling in two:
        for level, track in (("unit", labelling.units), ("motif", labelling.motifs)):
            painted = np.full(track.size, -1)
            own = segments[(segments["recording"] == labelling.recording_id) & (segments["level"] == level)]
            for row in own.itertuples():
                painted[row.start_frame : row.end_frame] = row.id
                assert row.start_s == row.start_frame / 50
            npt.assert_array_equal(painted, track)


def test_a_clock_with_dates_gives_dates() -> None:
    times = NOVEMBER + np.arange(900) / 50
    result = rondo.discover(Recording(waves(900), timestamps_s=times), window=40, settings=QUICK)
    first = result.segments.iloc[0]
    assert first["start_time"] == pd.Timestamp("2026-11-15 20:31:05.250")
    assert first["start_s"] == NOVEMBER
    assert first["end_time"] > first["start_time"]

    labels = result.labels
    npt.assert_array_equal(labels["time"], pd.to_datetime(1e6 * times, unit="us"))


def test_labels_without_dates_have_no_time(one: Result) -> None:
    assert one.labels["time"].isna().all() and str(one.labels["time"].dtype).startswith("datetime64")


def noted(n: int) -> pd.DataFrame:
    return pd.DataFrame({"x": waves(n)[:, 0], "y": waves(n)[:, 1], "subject": "S1", "trial": 2})


def test_notes_are_warned_of_once_and_are_a_table() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = rondo.discover({"a": noted(900), "b": noted(600)}, rate=50, window=40, settings=QUICK)
    (warning,) = [one for one in caught if issubclass(one.category, NoteWarning)]
    assert warning.filename == __file__ and "\n" not in str(warning.message)
    assert "Reading(keep=['" in str(warning.message) and "--" not in str(warning.message)
    table = result.notes
    assert table["columns"].tolist() == [["subject", "trial"]] and table["recordings"].tolist() == [["a", "b"]]
    assert repr(result).splitlines()[0].endswith("; 1 note") and repr(result).endswith(">")


def test_nothing_noted_is_an_empty_table(two: Result) -> None:
    assert two.notes.columns.tolist() == ["note", "columns", "recordings"] and two.notes.empty


def test_tab_completion_shows_what_people_call(two: Result) -> None:
    assert set(dir(rondo)) == set(rondo.__all__)
    shown = {name for name in dir(two) if not name.startswith("_")}
    assert shown.isdisjoint({"run", "at_hand", "noted"})
    assert shown >= {
        "units",
        "motifs",
        "segments",
        "labels",
        "notes",
        "plot",
        "report",
        "export",
        "save",
        "usage",
        "model",
    }


def test_what_was_found_is_printed(two: Result, one: Result) -> None:
    first, *entries = repr(two).removesuffix(">").splitlines()
    assert first == f"<Result of rondo: {two.summary.headline}"
    told = {f"  {level[0]}{one.id}: {one.description}" for level, one in two.entries}
    assert set(entries) <= told and len(entries) == min(6, len(told))
    assert repr(one).endswith("; the model fits; 1 note>")
    made = (
        "Rondo(settings={'windows': {'length': 40, 'step': 20}, 'encoder': {'shape_channels': 0}, "
        "'evidence': {'surrogates': 0}})"
    )
    assert repr(two.model) == f"{made} <fitted: 3 units and 3 motifs in 2 recordings>"
    flat = Rondo(window=40, step=20, settings=QUICK | {"motifs.method": "none"}).fit(list(two.at_hand.values()))
    assert repr(flat).endswith(" <fitted: 3 units in 2 recordings>")
    assert (two.model.units_, len(two.model.motifs_)) == ((0, 1, 2), 3)


def test_whether_the_model_fits_is_told_of_other_recordings_only(two: Result, one: Result) -> None:
    assert two.fit == {} and two.kind == "discover"
    assert one.fit["day3"].verdict == "fits" and one.kind == "label"
    noise = np.random.default_rng(0).normal(size=(600, 2)) * 50
    assert two.model.predict(noise).fit["recording"].verdict == "does not fit"


@pytest.mark.slow
def test_paths_folders_arrays_and_tables(tmp_path: Path) -> None:
    values = waves(600)
    write_csv(tmp_path / "a.csv", values)
    write_csv(tmp_path / "b.csv", waves(600, seed=1))
    options = {"window": 40, "rate": 50.0, "settings": QUICK}
    expected = rondo.discover(values, **options).units
    table = {"a": values[:, 0], "b": values[:, 1]}
    for given in (
        tmp_path / "a.csv",
        str(tmp_path / "a.csv"),
        pd.DataFrame(table),
        pl.DataFrame(table),
        Recording(values),
    ):
        npt.assert_array_equal(rondo.discover(given, **options).units, expected)
    for given in (
        tmp_path,
        [tmp_path / "a.csv", tmp_path / "b.csv"],
        [Recording(values, id="a", channels="ab"), tmp_path / "b.csv"],
    ):
        assert [one.id for one in rondo.discover(given, **options).recordings] == ["a", "b"]
    assert rondo.discover(tmp_path / "a.csv", **options).recordings[0].source == str(tmp_path / "a.csv")


def test_read_gives_one_recording_or_a_list(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", waves(60))
    np.save(tmp_path / "a_labels.npy", np.zeros(60, int))
    one = rondo.read(tmp_path / "a.csv", rate=25)
    assert isinstance(one, Recording) and (one.rate, one.source) == (25, str(tmp_path / "a.csv"))
    with pytest.warns(RondoWarning, match="labels of the recording beside it; not read"):
        (again,) = rondo.read(tmp_path)  # type: ignore[misc]
    assert again.id == "a"
    (tmp_path / "b.txt").write_text("no table at all")
    with pytest.raises(RecordingError, match="name the files to read and not the folder"), pytest.warns(RondoWarning):
        rondo.read(tmp_path)
    with pytest.raises(RecordingError, match=r"did you mean .*a\.csv"):
        rondo.read(tmp_path / "aa.csv")


def test_settings_by_argument_by_dotted_name_and_by_file(tmp_path: Path) -> None:
    values, others = waves(600), {"evidence.surrogates": 0, "units.dimension": 3}
    some = rondo.discover(values, window=40, settings=others)
    other = rondo.discover(values, settings={"windows.length": 40} | others)
    assert some.summary.config == other.summary.config and some.summary.config["units"]["dimension"] == 3
    (tmp_path / "rondo.toml").write_text("[windows]\nlength = 30\n[units]\ndimension = 3\n")
    third = rondo.discover(values, settings=(tmp_path / "rondo.toml", {"windows.length": 40, "evidence.surrogates": 0}))
    assert third.summary.config == some.summary.config
    for moved, setting in (("step", "windows.step"), ("states", "n_states"), ("config", "settings=PATH")):
        with pytest.raises(SettingError, match=setting):
            rondo.discover(values, **{moved: 3})
    with pytest.raises(SettingError, match=r"did you mean 'units\.dimension'"):
        rondo.discover(values, settings={"units.dimention": 3})
    with pytest.raises(RecordingError, match="has 50 Hz, but the rate was given as 25 Hz"):
        rondo.discover(Recording(values, 50), rate=25)
    with pytest.raises(SettingError, match="--states has no effect with --method rondo"):
        rondo.discover(values, settings={"n_states": 3})
    with pytest.raises(
        SettingError, match=r"--method must be one of rondo, .*clock, got 'rando'; did you mean 'rondo'\?"
    ):
        rondo.discover(values, method="rando")


@pytest.mark.parametrize("which", ["two", "one"])
def test_saved_and_loaded_says_the_same(which: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    result: Result = request.getfixturevalue(which)
    result.save(tmp_path / "run")
    loaded = Result.load(tmp_path / "run")
    assert loaded.summary == result.summary == read_summary(tmp_path / "run")
    assert_frame_equal(loaded.segments, result.segments)
    assert_frame_equal(loaded.labels, result.labels)
    for some, other in zip(result, loaded, strict=True):
        npt.assert_array_equal(some.breaks, other.breaks)
        assert_frame_equal(some.segments, other.segments)
        assert repr(some) == repr(other)
    assert loaded.findings == result.findings and repr(loaded) == repr(result)
    npt.assert_array_equal(loaded.model.predict(waves(500)).units, result.model.predict(waves(500)).units)
    loaded.save(tmp_path / "again")
    assert tree(tmp_path / "again") == tree(tmp_path / "run")


def test_a_report_an_export_and_usage_without_a_folder(two: Result, tmp_path: Path) -> None:
    page = two.report(tmp_path / "page.html")
    two.save(tmp_path / "run")
    assert page.read_bytes() == (tmp_path / "run" / "report.html").read_bytes()
    compared = two.report(tmp_path / "both.html", compare=rondo.discover(list(two.at_hand.values()), "clock"))
    assert "rondo, seed 0" in compared.read_text() and "clock, seed 0" in compared.read_text()
    (table,) = two.export("csv", tmp_path / "segments.csv", level="all")
    assert len(pl.read_csv(table)) == len(two.segments)
    usage = two.usage("day(.)")
    assert set(usage["group"]) == {"1", "2"}
    assert usage[(usage["recording"] == "day1") & (usage["level"] == "unit")]["share"].sum() == pytest.approx(1.0)


def test_the_groups_of_a_run_are_stored_and_kept(two: Result, tmp_path: Path) -> None:
    assert [one.group for one in two.recordings] == ["", ""]
    recordings = list(two.at_hand.values())
    grouped = make_result("some", recordings, list(two), groups={"day1": "ann", "day2": "bob"})
    grouped.save(tmp_path / "run")
    assert "Groups compared" in (tmp_path / "run" / "report.html").read_text()
    loaded = Result.load(tmp_path / "run")
    assert [one.group for one in loaded.recordings] == ["ann", "bob"]
    assert [one.group for one in loaded.edited().recordings] == ["ann", "bob"]
    assert set(loaded.usage()["group"]) == {"ann", "bob"} and set(two.usage()["group"]) == {""}
    assert set(loaded.usage(per="group")["group"]) == {"ann", "bob"} and set(two.usage(per="group")["group"]) == {"all"}


def test_a_folder_in_the_way_is_not_written(two: Result, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(OutputError, match="not an empty folder"):
        two.save(tmp_path)
    assert tree(tmp_path) == {"mine.txt": b"mine"}


def test_what_is_merged_in_the_model_is_merged_in_the_result(two: Result, tmp_path: Path) -> None:
    two.save(tmp_path / "run")
    result = Result.load(tmp_path / "run")
    result.model.merge("u0", "u2").name("u0", "reach")
    merged = result.edited()
    for before, after in zip(two, merged, strict=True):
        npt.assert_array_equal(after.units, np.where(before.units == 2, 0, before.units))
    assert [(unit.id, unit.name, unit.absorbed) for unit in merged.summary.units] == [(0, "reach", (2,)), (1, "", ())]
    assert "Merged by hand, and not tested as one: u2 as u0." in merged.findings
    assert set(result.summary.units) == set(two.summary.units)  # a result is a value
    merged.save(tmp_path / "merged")
    stored = Result.load(tmp_path / "merged")
    assert stored.summary == merged.summary
    stored.model.split("u2")
    apart = stored.edited()
    assert_frame_equal(apart.segments.drop(columns="name"), two.segments.drop(columns="name"))
    assert apart.findings == two.findings
