"""A folder that is one session is one recording: known programs by themselves, others where the user says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from typer.testing import CliRunner

import rondo
from rondo.cli.main import app
from rondo.data.recording import Recording
from rondo.errors import SettingError
from rondo.files.inputs import RecordingFile
from rondo.files.read import find_recordings
from rondo.files.reading import Reading
from rondo.result import Result
from rondo.store.locations import states_of
from tests.formats.reading import refusal, write
from tests.formats.sessions import E4_START, wave, write_e4, write_phyphox, write_sensor_logger


def read(folder: Path, **options: Any) -> Recording:
    found = rondo.read(folder, Reading(**options))
    assert isinstance(found, Recording)
    return found


def test_empatica_e4(tmp_path: Path) -> None:
    found = read(write_e4(tmp_path / "1680686620_A00204"))
    assert found.id == "1680686620_A00204"
    assert found.channels == ("ACC.x", "ACC.y", "ACC.z", "BVP", "EDA", "TEMP")
    assert (found.rate, found.n_frames) == (64.0, 64 * 60)
    times = found.timestamps_s
    assert times is not None
    npt.assert_allclose(times, E4_START + np.arange(64 * 60) / 64)
    since = times - E4_START
    npt.assert_allclose(found.values[:, 3], np.round(30 * np.sin(7 * since), 2), atol=1e-5)  # its own values
    npt.assert_allclose(found.values[::2, 0], np.round([40 * wave(t) for t in since[::2]]), atol=1e-4)
    npt.assert_allclose(found.values[1:-1:2, 0], (found.values[:-2:2, 0] + found.values[2::2, 0]) / 2, atol=1e-4)
    npt.assert_allclose(found.values[: 64 * 59, 4], 0.3 + since[: 64 * 59] / 1000, atol=1e-5)
    first, second = found.notes[:2]
    assert "Empatica E4: 4 tables" in first
    assert "clock of BVP" in first
    assert "--keep-column 'HR'" in second
    assert "tags (" in second
    assert "IBI (" in second


def test_a_slow_sensor_comes_in_when_it_is_asked_for_or_the_clock_is_slow(tmp_path: Path) -> None:
    folder = write_e4(tmp_path / "e4")
    asked = read(folder, keep=["HR"])
    place = asked.channels.index("HR")
    assert asked.rate == 64.0
    assert np.isnan(asked.values[: 64 * 9, place]).all()  # it begins 10 s later
    npt.assert_allclose(asked.values[64 * 12 : 64 * 13 : 32, place], [85.0, 85.5])
    even = read(folder, rate=16)
    assert even.channels == ("ACC.x", "ACC.y", "ACC.z", "BVP", "EDA", "HR", "TEMP")
    assert (even.rate, even.n_frames) == (16.0, 16 * 60)
    assert "even clock, 16 Hz" in even.notes[0]
    assert "faster ones averaged: ACC" in even.notes[0]
    two = read(folder).values[32:480, 3].reshape(-1, 4)  # a row and its neighbours, half a step away on each side
    assert np.abs(even.values[8:120, 3] - two[:, 0]).max() < 3


def test_tables_and_columns_are_left_out_by_name(tmp_path: Path) -> None:
    folder = write_e4(tmp_path / "e4")
    found = read(folder, leave_out=["BVP", "ACC.y"])
    assert (found.channels, found.rate) == (("ACC.x", "ACC.z", "EDA", "TEMP"), 32.0)
    said = refusal(lambda: read(folder, leave_out=["GSR"]), naming=folder)
    assert "column 'GSR'" in said
    assert "'Hr' to keep" in refusal(lambda: read(folder, keep=["Hr"]), naming=folder)
    assert "leave it out" in refusal(lambda: read(folder, key="ACC"), naming=folder)


@pytest.mark.parametrize(("separator", "decimal"), [(",", "."), (";", ","), ("\t", ".")])
def test_phyphox(tmp_path: Path, separator: str, decimal: str) -> None:
    found = read(write_phyphox(tmp_path / "walk 2025-02-12 19.25.34", 20, separator, decimal))
    assert found.id == "walk 2025-02-12 19.25.34"
    assert found.channels[:4] == (
        "Accelerometer.X (m/s^2)",
        "Accelerometer.Y (m/s^2)",
        "Accelerometer.Z (m/s^2)",
        "Gyroscope.X (rad/s)",
    )
    assert found.rate == pytest.approx(100, rel=1e-6)
    times = found.timestamps_s
    assert times is not None
    assert times[0] == pytest.approx(1739381134.008)
    assert np.diff(times).max() == pytest.approx(100.01)  # the pause is a jump in time
    own = times - 1739381134 - np.where(np.arange(2000) < 1000, 0, 100)
    inside = (np.abs(own - 10) > 0.1) & (own < 19.9)  # where the movement does not change, nor the gyroscope end
    npt.assert_allclose(found.values[inside, 3], [wave(t) for t in own[inside]], atol=0.01)
    assert "session: FFT (no sensor" in "\n".join(found.notes)


def test_one_table_keeps_its_names(tmp_path: Path) -> None:
    folder = write_phyphox(tmp_path / "walk")
    (folder / "Gyroscope.csv").unlink()
    assert read(folder).channels == ("X (m/s^2)", "Y (m/s^2)", "Z (m/s^2)")


def test_sensor_logger(tmp_path: Path) -> None:
    found = read(write_sensor_logger(tmp_path / "2024-02-11_15-02-01"))
    assert found.id == "2024-02-11_15-02-01"
    assert found.channels[:6] == tuple(f"{s}.{a}" for s in ("Accelerometer", "Gyroscope") for a in "zyx")
    assert (found.n_channels, found.n_frames) == (13, 2000)
    assert found.rate == pytest.approx(100, rel=1e-4)
    seconds = 0.05 + np.arange(2000) / 100
    inside = np.abs(seconds - 10) > 0.1
    npt.assert_allclose(found.values[inside, 4], [wave(t) for t in seconds[inside]], atol=0.02)
    left_out = next(note for note in found.notes if note.startswith("left out of the session: "))
    assert "Annotation (annotations are labels)" in left_out
    assert "Location (1 Hz, 100 times slower" in left_out


def test_only_what_is_surely_a_session_is_one(tmp_path: Path) -> None:
    rows = "".join(f"{i / 10},{i % 7}\n" for i in range(50))
    for name in ("ACC", "BVP", "Metadata"):
        write(tmp_path, f"{name}.csv", "time,x\n" + rows)
    (tmp_path / "meta").mkdir()
    write(tmp_path / "meta", "time.csv", "a,b\n1,2\n")
    found = rondo.read(tmp_path)
    assert isinstance(found, list)
    assert [one.id for one in found] == ["ACC", "BVP", "Metadata"]


def test_a_folder_of_sessions_is_many_recordings(tmp_path: Path) -> None:
    for name in ("s1", "s2.b"):
        write_e4(tmp_path / "study" / name)
    (tmp_path / "study" / "papers").mkdir()
    write(tmp_path / "study" / "papers", "a.csv", "time,x\n0,1\n1,2\n")
    study = tmp_path / "study"
    assert find_recordings([study]) == find_recordings([study / "*"]) == [study / "s1", study / "s2.b"]
    assert find_recordings([study / "s1" / "ACC.csv"]) == [study / "s1" / "ACC.csv"]  # named, it is meant
    found = rondo.read(study)
    assert isinstance(found, list)
    assert [one.id for one in found] == ["s1", "s2.b"]


def test_any_folder_is_a_session_where_the_user_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "rig.7"
    folder.mkdir()
    write(folder, "force.csv", "time,x\n" + "".join(f"{i / 100:.2f},{i % 13}\n" for i in range(500)))
    write(folder, "motor.tsv", "t\tcurrent\trpm\n" + "".join(f"{i / 20:.2f}\t{i * i % 7}\t{i}.5\n" for i in range(100)))
    assert len(rondo.read(folder)) == 2  # type: ignore[arg-type]
    found = read(folder, session=True)
    assert (found.id, found.channels, found.rate) == ("rig.7", ("force.x", "motor.current", "motor.rpm"), 100.0)
    assert "(100 Hz) as force.x; motor (20" in found.notes[0]
    assert find_recordings([tmp_path], session=True) == [folder]
    write(folder, "later.csv", "time,x\n900.00,1\n900.05,2\n900.10,1\n")
    said = refusal(lambda: read(folder, session=True), naming=folder)
    assert "ends (4.950 s) before" in said
    assert "--label-column 'later'" in said
    assert read(folder, session=True, leave_out=["later"]).channels == found.channels
    write(folder, "later.csv", "a,b\n9,1\n9,2\n9,1\n")
    said = refusal(lambda: read(folder, session=True), naming=folder)
    assert "later.csv: it has no" in said
    file = folder / "force.csv"
    assert "it is a file" in refusal(lambda: read(file, session=True), naming=file)
    with pytest.raises(SettingError, match=r"--session .*--split-by"):
        rondo.discover(folder, reading=Reading(session=True, split_by="x"))
    e4 = write_e4(tmp_path / "e4")
    assert "it is one session" in refusal(lambda: rondo.read(e4, reading=Reading(split_by="x")), naming=e4)


def test_what_it_needs_and_whether_it_changed_are_known_before_it_is_read(tmp_path: Path) -> None:
    folder = write_e4(tmp_path / "e4", seconds=600)
    expected = RecordingFile(str(folder), "e4").expected().n_bytes
    assert read(folder).values.nbytes <= expected <= 20 * read(folder).values.nbytes
    before = states_of([folder])
    assert before == states_of([folder])
    with (folder / "EDA.csv").open("a") as file:
        file.write("0.4\n")
    assert states_of([folder]) != before


SMALL = ["--set", "evidence.surrogates=0"]


def run(*asked: object) -> str:
    outcome = CliRunner().invoke(app, [str(one) for one in asked])
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


@pytest.mark.slow
def test_every_command_reads_it_as_one_recording(tmp_path: Path) -> None:
    study = tmp_path / "study"
    one, _ = write_e4(study / "s1", 120), write_e4(study / "s2", 90, E4_START + 9000)
    said = run("discover", one, "--out", tmp_path / "run", *SMALL)
    assert "s1: Empatica E4: 4 tables" in said
    assert [own.id for own in Result.load(tmp_path / "run").recordings] == ["s1"]
    assert (tmp_path / "run" / "labels" / "s1.npy").exists()
    run("label", tmp_path / "run", study, "--out", tmp_path / "labelled")
    assert [own.id for own in Result.load(tmp_path / "labelled").recordings] == ["s1", "s2"]
    run("discover", study, "--out", tmp_path / "many", "--engine", "serial", *SMALL)  # file by file
    many = Result.load(tmp_path / "many")
    assert [(own.id, own.n_frames) for own in many.recordings] == [("s1", 64 * 120), ("s2", 64 * 90)]
    assert "windows" in run("suggest", one)


def test_from_python(tmp_path: Path) -> None:
    folder = write_e4(tmp_path / "s1", 120)
    found = rondo.discover(folder, settings={"evidence.surrogates": 0})
    assert [own.id for own in found.recordings] == ["s1"]
    npt.assert_array_equal(rondo.label(found.model, folder)[0].units, found[0].units)
