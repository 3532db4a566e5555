"""Files that fail are rows, and the others are labelled; what does not fit into memory is refused before it is read."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

import rondo
from rondo import memory as memory
from rondo.errors import RondoWarning
from rondo.files.inputs import RecordingFile
from rondo.result import Result
from tests.cli.running import call, waves
from tests.many.sets import QUICK, RATE, write_set

SERIAL = ("--engine", "serial")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    return write_set(tmp_path / "files", n_files=4)


def failed_in(run: Path) -> dict[str, str]:
    with (run / "failed.csv").open(newline="") as file:
        return {Path(row["file"]).name: row["why"] for row in csv.DictReader(file)}


def test_files_that_fail_are_rows_and_the_run_goes_on(files: Path, tmp_path: Path) -> None:
    (files / "a_broken.npy").write_bytes(b"no array")  # the first of all
    np.save(files / "day2b.npy", waves(900, 3))
    np.savez(files / "day5.npz", X=waves(900, 4), rate=25.0)
    np.save(files / "day6.npy", np.ones((500, 4)))
    (files / "day7.npy").write_bytes((files / "day0.npy").read_bytes()[:-40])
    done = call("discover", files, "--out", tmp_path / "run", *QUICK, *SERIAL)
    assert done.code == 2, done.err
    why = failed_in(tmp_path / "run")
    assert sorted(why) == ["a_broken.npy", "day2b.npy", "day5.npz", "day6.npy", "day7.npy"]
    assert "numpy header" in why["a_broken.npy"]
    assert "lacks the channel" in why["day2b.npy"]
    assert "25 Hz, expected no sampling" in why["day5.npz"]
    assert "every channel is constant" in why["day6.npy"]
    assert "damaged" in why["day7.npy"]
    assert f"note: 5 of 9 files failed: {files / 'a_broken.npy'}: " in done.err
    result = Result.load(tmp_path / "run")
    assert [one.id for one in result.recordings] == ["day0", "day1", "day2", "day3"]
    assert len(result.summary.failed) == 5
    printed = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert [row["why"] for row in printed["failed"]] == [*why.values()]


@pytest.mark.slow
def test_files_that_a_model_cannot_read_are_rows(files: Path, tmp_path: Path) -> None:
    assert call("discover", files, "--out", tmp_path / "run", *QUICK, *RATE).code == 0
    np.save(files / "day2b.npy", waves(900, 3))
    done = call("label", tmp_path / "run", files, "--out", tmp_path / "labelled", *RATE, *SERIAL)
    assert done.code == 2 and "note: 1 of 5 files failed" in done.err
    assert [*failed_in(tmp_path / "labelled")] == ["day2b.npy"]
    with pytest.warns(RondoWarning, match=r"1 of 5 files failed: .*day2b.npy"):
        result = rondo.label(tmp_path / "run", files, rate=50.0, out=tmp_path / "again", engine="serial")
    assert [Path(one.file).name for one in result.summary.failed] == ["day2b.npy"]


def test_where_all_fail_it_is_one_line(tmp_path: Path) -> None:
    for i in range(3):
        (tmp_path / f"{i}.npy").write_bytes(b"no array")
    done = call("discover", tmp_path, "--out", tmp_path / "run", *SERIAL)
    assert done.code == 2
    assert f"failed; the first, {tmp_path / '0.npy'}" in done.err.splitlines()[-1]
    assert not (tmp_path / "run").exists()  # so that it can be begun again with other files


def test_a_setting_that_no_file_suits_leaves_nothing(files: Path, tmp_path: Path) -> None:
    for more in (("--window", 5000), ("--set", "preprocess.pca_components=9")):
        done = call("discover", files, "--out", tmp_path / "run", *RATE, *SERIAL, *more)
        assert done.code == 2 and len(done.err.splitlines()[-1]) > 40
        assert not (tmp_path / "run").exists()


def test_one_file_that_does_not_fit_is_a_row(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(files / "long.npy", waves(90_000, 4))
    monkeypatch.setattr(memory, "free_bytes", lambda: memory.PROCESS_BYTES + 10_000_000)
    done = call("discover", files, "--out", tmp_path / "run", *QUICK, *RATE, *SERIAL)
    assert done.code == 2, done.err
    why = failed_in(tmp_path / "run")
    assert "18 MB of memory, 10 MB" in why["long.npy"]


def test_a_packed_gigabyte_of_zeros_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(tmp_path / "bomb.npz", X=np.zeros((1 << 22, 8), np.int8))  # as much in header, less in test
    size = RecordingFile(str(tmp_path / "bomb.npz"), "bomb").expected()
    assert size == (1 << 22, 8, 4 << 25)
    monkeypatch.setattr(memory, "free_bytes", lambda: 1_000_000_000)
    monkeypatch.setattr(RecordingFile, "read", lambda self: pytest.fail("it was read"))
    for more in (SERIAL, ()):
        done = call("discover", tmp_path / "bomb.npz", "--out", tmp_path / "run", *more)
        assert done.code == 2 and "GB of memory" in done.err
    done = call("discover", tmp_path / "bomb.npz", "--out", tmp_path / "run", "--method", "clock")
    assert done.code == 2
    assert "recordings need about 1.2 GB" in done.err
    done = call("suggest", tmp_path / "bomb.npz")
    assert done.code == 2 and "1.2 GB of memory" in done.err


def test_many_files_go_file_by_file_and_few_do_not(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, n_files in (("few", 5), ("many", 3)):
        monkeypatch.setattr(memory, "MANY_FILES", n_files)
        done = call("discover", files, "--out", tmp_path / name, *QUICK, *RATE)
        assert done.code == 0 and ("survey" in done.err) == (name == "many"), done.err
    done = call("discover", files, "--out", tmp_path / "run", "--method", "clock", "--engine", "serial")
    assert done.code == 2 and "--method clock takes" in done.err
