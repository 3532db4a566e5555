"""Runs over many objects of a bucket: file by file, into a bucket, in worker processes and on Ray."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.result import Result
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant_subjects
from tests.cli.running import Command
from tests.cloud.conftest import put

pytestmark = pytest.mark.cloud
_OPTIONS = ("--rate", "50", "--group-by", "device", "--window", "1.5s", "--set", "evidence.surrogates=0")


@pytest.fixture
def days(bucket: str, tmp_path: Path) -> str:
    """A bucket with three devices, two files each, in folders as Hive names them, and one file that is damaged."""
    for device, stream in enumerate(plant_subjects(StreamPlan(), 3, n_frames=4_000, seed=5)):
        for half, values in enumerate(np.split(np.asarray(stream.recording.values), 2)):
            file = tmp_path / f"d{device}h{half}.npy"
            np.save(file, values)
            put(f"{bucket}/device=0{device}/{file.name}", file)
    broken = tmp_path / "x.npy"
    broken.write_bytes(b"no array")
    put(f"{bucket}/device=09/x.npy", broken)
    return bucket


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=pytest.mark.ray)])
def test_a_run_from_a_bucket_into_a_bucket(engine: str, days: str, rondo: Command, tmp_path: Path) -> None:
    if engine == "ray":
        pytest.importorskip("ray")
    ran = rondo("discover", f"{days}/*/*.npy", *_OPTIONS, "--engine", engine, "--workers", "2", "--out", f"{days}/run")
    assert ran.code == 2 and "x.npy" in ran.err  # one file failed, the others are done
    result = Result.load(f"{days}/run")
    assert [one.id for one in result.recordings] == [f"d{device}h{half}" for device in range(3) for half in range(2)]
    assert {one.group for one in result.recordings} == {"device=00", "device=01", "device=02"}
    assert [Path(one.file).name for one in result.summary.failed] == ["x.npy"]
    here = rondo("discover", tmp_path / "d*.npy", *_here(tmp_path), "--engine", "serial", "--out", tmp_path / "same")
    assert here.code == 0, here.err
    for labelling in Result.load(tmp_path / "same"):
        npt.assert_array_equal(labelling.units, result[labelling.recording_id].units)


def _here(folder: Path) -> list[str]:
    """The same options; files of this machine lie in one folder, so a table says whose they are."""
    table = folder / "devices.csv"
    rows = [f"d{device}h{half},device=0{device}" for device in range(3) for half in range(2)]
    table.write_text("\n".join(["recording,group", *rows]))
    return [str(table) if word == "device" else word for word in _OPTIONS]


def test_a_run_folder_in_a_bucket_that_is_occupied(days: str, rondo: Command) -> None:
    ran = rondo("discover", f"{days}/*/d*.npy", *_OPTIONS, "--engine", "serial", "--out", days)
    assert ran.code == 2 and "is not empty" in ran.err
    cluster = rondo("discover", f"{days}/*/d*.npy", "--engine", "ray", "--ray-address", "auto", "--out", f"{days}/run")
    assert cluster.code == 2 and "a path that they share" in cluster.err
