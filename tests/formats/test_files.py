"""What holds for every format: refusals, folders, memory, and the real recordings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest

import rondo
from rondo.errors import InputError, RondoWarning
from rondo.files.read import find_recordings, label_files_in, suffixes
from tests.formats.reading import read_one, refusal, save_array, write
from tests.systems import needs_posix


def save_any(path: Path) -> None:
    if path.suffix in (".npy", ".npz", ".h5"):
        save_array(path, np.arange(3000.0).reshape(1000, 3))
    else:
        table = pl.DataFrame(np.arange(3000.0).reshape(1000, 3), schema=["x", "y", "z"])
        table.write_parquet(path) if path.suffix == ".parquet" else table.write_csv(path)


def test_unknown_label_columns_and_keys_are_refused(tmp_path: Path) -> None:
    for suffix, known in {".csv": "x, y, z", ".parquet": "x, y, z", ".npz": "ch0, ch1, ch2"}.items():
        save_any(tmp_path / f"a{suffix}")
        said = refusal(
            lambda path=tmp_path / f"a{suffix}": read_one(path, leave_out=["lable"]),
            naming=tmp_path,
        )
        assert "no column 'lable'" in said and known in said
    said = refusal(lambda: read_one(tmp_path / "a.csv", key="X"), naming=tmp_path)
    assert "a key ('X') names" in said


@pytest.mark.parametrize("suffix", suffixes())
def test_missing_folder_empty_and_unreadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    assert "no such file" in refusal(lambda: read_one(path), naming=path)
    path.touch()
    assert "the file is empty" in refusal(lambda: read_one(path), naming=path)
    for rate in (0, -1.0, float("nan")):
        path.write_bytes(b"x,y\n1,2\n")
        assert "positive number of Hz" in refusal(lambda rate=rate: read_one(path, rate=rate), naming=path)

    def forbidden(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr("rondo.store.reading.os.open", forbidden)
        assert "(Permission denied)" in refusal(lambda: read_one(path), naming=path)
    (tmp_path / f"folder{suffix}").mkdir()
    folder = tmp_path / f"folder{suffix}"
    assert "it is a folder" in refusal(lambda: read_one(folder), naming=folder)


def test_odd_paths(tmp_path: Path) -> None:
    path = write(tmp_path, "a.doc", b"x")
    said = refusal(lambda: read_one(path), naming=path)
    assert ".tsv .txt .jsonl .ndjson" in said and ".npz" in said and ".xdf" in said
    refusal(lambda: read_one(tmp_path / ("x" * 5000 + ".csv")), naming=tmp_path)
    with pytest.raises(InputError, match="expected a path"):
        read_one(tmp_path / "nul\0.csv")


@needs_posix
def test_a_pipe_is_no_recording(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    assert "not a regular file" in refusal(lambda: read_one(tmp_path / "pipe.csv"), naming=tmp_path)


def test_labels_that_lie_beside_a_recording_are_no_recording(tmp_path: Path) -> None:
    for name in ("day1.csv", "day1_labels.csv", "day2.npz", "day2_labels.npy", "alone_labels.csv"):
        (tmp_path / name).touch()
    assert [path.name for path in find_recordings([tmp_path])] == ["alone_labels.csv", "day1.csv", "day2.npz"]
    assert [path.name for path in label_files_in(tmp_path)] == ["day1_labels.csv", "day2_labels.npy"]
    assert find_recordings([tmp_path / "day1_labels.csv"]) == [tmp_path / "day1_labels.csv"]  # named, it is meant


def test_a_pattern_is_a_folder_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("day1.csv", "day2.csv", "night.csv", "day1_labels.csv", "day3.pdf", "README.txt", "day[4].csv"):
        write(tmp_path, name, "x\n1\n2\n")
    (tmp_path / "day5.csv").mkdir()
    write(tmp_path / "day5.csv", "deep.csv", "x\n1\n2\n")
    monkeypatch.chdir(tmp_path)
    assert find_recordings(["day?.csv"]) == [Path("day1.csv"), Path("day2.csv")]
    assert find_recordings([tmp_path / "day*"]) == [tmp_path / f"day{n}.csv" for n in ("1", "2", "[4]")]
    assert label_files_in("day*") == [Path("day1_labels.csv")]
    assert find_recordings(["day[4].csv"]) == [Path("day[4].csv")]  # there is one of that name
    assert find_recordings(["day[12].csv"]) == [Path("day1.csv"), Path("day2.csv")]
    assert find_recordings(["**/deep.*"]) == [Path("day5.csv/deep.csv")]
    assert "pattern matches no file" in refusal(lambda: find_recordings(["x*.csv"]), naming="x*.csv")
    assert "pattern matches no recordings" in refusal(lambda: find_recordings(["*.pdf"]), naming="*.pdf")
    with pytest.warns(RondoWarning, match="day1_labels.csv: labels"):
        assert [one.id for one in rondo.read("day*.csv")] == ["day1", "day2", "day[4]"]


def test_find_recordings(tmp_path: Path) -> None:
    inside = tmp_path / "in"
    inside.mkdir()
    for name in ("b.csv", "a.NPZ", "c.parquet", "notes.md", ".hidden.csv", "~$b.csv", "README.txt"):
        write(inside, name, b"1")
    (inside / "sub.csv").mkdir()
    lone = write(tmp_path, "z.npy", b"1")
    assert find_recordings([lone, inside]) == [inside / "a.NPZ", inside / "b.csv", inside / "c.parquet", lone]
    assert "no such file" in refusal(lambda: find_recordings([tmp_path / "no"]), naming=tmp_path / "no")
    assert "holds no recordings" in refusal(lambda: find_recordings([inside / "sub.csv"]), naming=inside)
    assert "no recordings were named" in refusal(lambda: find_recordings([]), naming="no recordings")
    write(tmp_path, "b.npz", b"1")
    said = refusal(lambda: find_recordings([inside, tmp_path / "b.npz"]), naming=inside / "b.csv")
    assert "both be recording 'b'" in said


# VmHWM and not ru_maxrss: a child inherits the latter from its parent, and pytest outgrows what is measured.
PEAK = """
import sys
from pathlib import Path
from rondo.files.read import read_recording

def resident(field):
    line = next(line for line in open("/proc/self/status") if line.startswith(field))
    return int(line.split()[1]) * 1024

read_recording(Path(sys.argv[1]))                      # small: loads every library that the format needs
before = resident("VmRSS")
recording = read_recording(Path(sys.argv[2]))
print(resident("VmHWM") - before, recording.values.nbytes)
"""


def _write_large(path: Path, n_frames: int) -> None:
    values = np.random.default_rng(0).integers(-999, 999, (n_frames, 30)).astype(np.float32) / 8
    if path.stem.endswith("64"):
        values = values.astype(np.float64)
    if path.suffix in (".npy", ".h5"):
        save_array(path, values)
    elif path.suffix == ".npz":
        np.savez_compressed(path, X=values) if "packed" in path.stem else np.savez(path, X=values)
    else:
        table = pl.DataFrame(values, schema=[f"c{i}" for i in range(30)])
        table.write_parquet(path) if path.suffix == ".parquet" else table.write_csv(path)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.parametrize(
    "name",
    ["a.csv", "f64.npz", "f32.npz", "packed64.npz", "f64.npy", "f32.npy", "a.parquet", "f64.h5", "f32.h5"],
)
def test_reading_takes_at_most_twice_the_float32_size(tmp_path: Path, name: str) -> None:
    """The constant covers a block and its parsed form, which do not grow with the file."""
    n_frames = 100_000 if "packed" in name else 600_000  # packing takes long
    small, large = tmp_path / f"small_{name}", tmp_path / name
    _write_large(small, 100)
    _write_large(large, n_frames)
    done = subprocess.run([sys.executable, "-c", PEAK, small, large], capture_output=True, text=True, check=True)
    large.unlink()
    taken, size = (int(number) for number in done.stdout.split())
    assert size == n_frames * 30 * 4
    assert taken >= size, "the result alone takes this much, or nothing was measured"
    assert taken <= 2 * size + (8 << 20), f"{taken / size:.2f} times the float32 size"


@pytest.mark.data
def test_every_real_recording_has_the_shape_that_its_set_declares(data_dir: Path) -> None:
    n_read = 0
    for meta_file in sorted(data_dir.glob("*/meta.json")):
        declared = json.loads(meta_file.read_text())["recordings"]
        for path in find_recordings(sorted(meta_file.parent.glob("*.npz"))):
            expected = declared[path.stem]
            if expected["d"] == 0:
                assert "0 channels" in refusal(lambda path=path: read_one(path), naming=path)
                continue
            recording = read_one(path)
            assert (recording.n_frames, recording.n_channels) == (expected["T"], expected["d"])
            with np.load(path) as archive:
                npt.assert_array_equal(recording.values, archive["X"].astype(np.float32))
            n_read += 1
    assert n_read >= 30
