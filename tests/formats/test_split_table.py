"""One table with several recordings, told apart by a column: from Python and from the command line."""

from __future__ import annotations

import gzip
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest
from typer.testing import CliRunner

import rondo
from rondo.cli.main import app
from rondo.data.recording import Recording
from rondo.errors import RecordingError, SettingError
from rondo.files.reading import Reading
from rondo.result import Result
from tests.formats.reading import refusal, write

HEAD = "# made by hand\nsubject;time;x;y\n;s;g;g\n"


def rows(n: int, subjects: tuple[str, ...] = ("anna", "b/2")) -> str:
    """Rows of all subjects taking turns, each with a clock of its own."""
    return "".join(
        f"{subject};{i / 10};{place * 100 + i * i};{i % 7}\n"
        for i in range(n)
        for place, subject in enumerate(subjects)
    )


def test_rows_of_one_value_are_one_recording(tmp_path: Path) -> None:
    text = HEAD + rows(40)
    for path in (write(tmp_path, "day.csv", text), write(tmp_path, "day.csv.gz", gzip.compress(text[:-1].encode()))):
        found = rondo.read(path, Reading(split_by="subject"))
        assert isinstance(found, list)
        assert [one.id for one in found] == ["day_anna", "day_b_2"]
        for place, one in enumerate(found):
            assert (one.channels, one.rate) == (("x", "y"), 10.0)
            npt.assert_array_equal(one.values[:, 0], place * 100 + np.arange(40) ** 2)
            assert "apart by column 'subject'" in one.notes[-1]


def test_json_lines_are_split_too(tmp_path: Path) -> None:
    lines = "".join(f'{{"unit": {1 + i % 3}, "t": {i // 3}, "x": {i * i}}}\n' for i in range(60))
    found = rondo.read(write(tmp_path, "fleet.jsonl", lines), Reading(split_by="unit"))
    assert isinstance(found, list)
    assert [(one.id, one.n_frames) for one in found] == [("fleet_1", 20), ("fleet_2", 20), ("fleet_3", 20)]


@pytest.mark.parametrize("clock", ["{:.1f}", "2026-11-14 08:00:{:04.1f}", "14.11.2026 08:00:{:04.1f}"])
def test_the_clock_cuts_where_it_goes_back(tmp_path: Path, clock: str) -> None:
    times = [*np.arange(0, 30) / 10, *np.arange(0, 50) / 10, *np.arange(0.5, 2, 0.1)]
    text = "time,x\n" + "".join(f"{clock.format(time)},{i % 7}.5\n" for i, time in enumerate(times))
    found = rondo.read(write(tmp_path, "day.csv", text), Reading(split_by="time"))
    assert isinstance(found, list)
    assert [(one.id, one.n_frames, one.channels) for one in found] == [
        ("day_1", 30, ("x",)),
        ("day_2", 50, ("x",)),
        ("day_3", 15, ("x",)),
    ]
    assert [round(one.rate or 0, 3) for one in found] == [10, 10, 10]  # seconds since 1970 have 7 decimals
    assert "clock 'time' goes back" in found[0].notes[-1]


def test_what_cannot_be_split_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "day.csv", HEAD + rows(4))
    said = refusal(lambda: rondo.read(path, Reading(split_by="person")), naming=path)
    assert "no column 'person'" in said
    clash = write(tmp_path, "clash.csv", HEAD + rows(4, ("a b", "a_b")))
    assert "same id 'clash_a_b'" in refusal(lambda: rondo.read(clash, Reading(split_by="subject")), naming=clash)
    wrong = write(tmp_path, "wrong.csv", HEAD + rows(4) + "anna;oops;1;2\n")
    assert "(in recording 'wrong_anna')" in refusal(
        lambda: rondo.read(wrong, Reading(split_by="subject")), naming=wrong
    )
    np.save(tmp_path / "a.npy", np.zeros((4, 2)))
    said = refusal(lambda: rondo.read(tmp_path / "a.npy", Reading(split_by="x")), naming=tmp_path / "a.npy")
    assert "only tables (.csv" in said


def stored(folder: Path, frame: pl.DataFrame) -> list[Path]:
    """One table, as three formats store it."""
    frame.write_csv(folder / "day.csv")
    frame.write_parquet(folder / "day.parquet")
    paths = [folder / "day.csv", folder / "day.parquet"]
    if find_spec("python_calamine") and find_spec("xlsxwriter"):
        from tests.formats.test_xlsx import book

        paths.append(book(folder / "day.xlsx", {"data": [frame.columns, *map(list, frame.rows())]}))
    return paths


def contents(recordings: Recording | list[Recording]) -> list[tuple[object, ...]]:
    assert isinstance(recordings, list)
    told = [next(note for note in one.notes if note.startswith("one of ")) for one in recordings]
    return [
        (one.id, one.channels, round(one.rate or 0, 6), one.values.tolist(), note)
        for one, note in zip(recordings, told, strict=True)
    ]


@pytest.mark.parametrize("who", [["anna", "b/2"], [2, 1], [2.0, 1.0], [True, False], ["anna", None]])
def test_all_tables_are_split_alike(tmp_path: Path, who: list[object]) -> None:
    n = 40
    columns = {"subject": who * n, "time": np.repeat(np.arange(n), 2) / 10, "x": (np.arange(2 * n) ** 2) % 50 + 0.5}
    frame = pl.DataFrame({**columns, "y": np.arange(2 * n) % 7})
    if isinstance(who[0], bool):  # text has no truth values of its own
        frame = frame.with_columns(pl.col("subject").cast(pl.Int64))
    expected, *others = (contents(rondo.read(path, Reading(split_by="subject"))) for path in stored(tmp_path, frame))
    assert len(expected) == 2
    assert all(found == expected for found in others)
    for table in (frame, frame.to_pandas() if find_spec("pyarrow") else frame):
        parts = rondo.discover(
            table, reading=Reading(split_by="subject"), window=8, settings={"evidence.surrogates": 0}
        ).recordings
        assert [f"day_{one.id.removeprefix('recording_')}" for one in parts] == [str(row[0]) for row in expected]


def test_tables_that_cannot_be_split_are_refused_alike(tmp_path: Path) -> None:
    frame = pl.DataFrame({"time": np.arange(20) / 10, "x": np.arange(20) % 7 + 0.5})
    for path in stored(tmp_path, frame):
        said = refusal(lambda path=path: rondo.read(path, Reading(split_by="who")), naming=path)
        assert "no column 'who'" in said
    with pytest.raises(RecordingError, match="no column 'who'"):
        rondo.discover(frame, reading=Reading(split_by="who"))
    with pytest.raises(RecordingError, match="no column 'who'"):
        rondo.discover(np.zeros((20, 2)), reading=Reading(split_by="who"))


@pytest.mark.slow
def test_every_command_splits(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [(who, i / 10, rng.normal() + 5 * (i // 50 % 2), rng.normal()) for who in ("s1", "s2") for i in range(600)]
    path = tmp_path / "day.parquet"
    pl.DataFrame(rows, schema=["who", "time", "x", "y"], orient="row").write_parquet(path)

    def run(*asked: object) -> str:
        outcome = CliRunner().invoke(app, [str(one) for one in (*asked, "--split-by", "who")])
        assert outcome.exit_code == 0, outcome.output
        return outcome.output

    quick = ("--set", "evidence.surrogates=0")
    run("discover", path, "--out", tmp_path / "run", "--group-by", "(s[0-9])", *quick)
    run("label", tmp_path / "run", path, "--out", tmp_path / "labelled")
    for folder in ("run", "labelled"):
        assert [one.id for one in Result.load(tmp_path / folder).recordings] == ["day_s1", "day_s2"]
    assert '"n_recordings": 2' in run("suggest", path, "--json")
    assert "over 2 seeds" in run("stability", path, "--seeds", 2, *quick)
    labelled = rondo.label(tmp_path / "run", path, reading=Reading(split_by="who"))
    assert [one.id for one in labelled.recordings] == ["day_s1", "day_s2"]
    outcome = CliRunner().invoke(app, ["label", str(tmp_path / "run"), str(path), "--out", str(tmp_path / "no"),
                                       "--split-by", "who", "--engine", "serial"])  # fmt: skip
    assert isinstance(outcome.exception, SettingError)
    assert "--split-by cuts files" in str(outcome.exception)
