"""The commands, with recordings and runs in a bucket: they give what they give on this machine."""

from __future__ import annotations

from pathlib import Path

import numpy.testing as npt
import pytest

import rondo as library
from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.run.bucket import put_run
from tests.cli.running import Command, call, tree, waves, write_csv
from tests.cloud.conftest import names, put, remove

pytestmark = pytest.mark.cloud
_QUICK = ("--window", "60", "--set", "evidence.surrogates=0")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two recordings on this machine, with the recordings beside it."""
    folder = tmp_path_factory.mktemp("local")
    for number in (1, 2):
        write_csv(folder / f"day{number}.csv", waves(900, seed=number))
    done = call("--quiet", "discover", folder / "day1.csv", folder / "day2.csv", "--out", folder / "run", *_QUICK)
    assert done.code == 0, done.err
    return folder / "run"


@pytest.fixture
def days(bucket: str, run: Path) -> str:
    for number in (1, 2):
        put(f"{bucket}/days/day{number}.csv", run.parent / f"day{number}.csv")
    return f"{bucket}/days"


@pytest.fixture
def cloud_run(bucket: str, run: Path) -> str:
    put_run(run, f"{bucket}/run")
    return f"{bucket}/run"


@pytest.mark.slow
def test_discover_from_a_bucket_into_a_bucket(bucket: str, days: str, run: Path, here: Path, rondo: Command) -> None:
    done = rondo("--quiet", "discover", f"{days}/day*.csv", "--out", f"{bucket}/out", *_QUICK)
    assert done.code == 0 and done.out.endswith(f"report: {bucket}/out/report.html\n"), done.err
    found, local = Result.load(f"{bucket}/out"), Result.load(run)
    assert names(f"{bucket}/out") == {name for name, held in tree(run).items() if held is not None}
    for id in ("day1", "day2"):
        npt.assert_array_equal(found[id].units, local[id].units)
    assert [one.source for one in found.recordings] == [f"{days}/day1.csv", f"{days}/day2.csv"]
    assert list(here.iterdir()) == []  # above all no folder "s3:"

    again = rondo("--quiet", "discover", days, "--out", f"{bucket}/out", *_QUICK)
    assert again.code == 2 and f"error: {bucket}/out: already holds" in again.err
    beside = rondo("--quiet", "discover", days, "--out", bucket, *_QUICK)
    assert beside.code == 2 and "it is not empty" in beside.err


def test_from_python(bucket: str, days: str, run: Path) -> None:
    result = library.discover([f"{days}/day1.csv", f"{days}/day2.csv"], window=60, settings={"evidence.surrogates": 0})
    npt.assert_array_equal(result["day1"].units, Result.load(run)["day1"].units)
    assert result.save(f"{bucket}/saved") == f"{bucket}/saved"
    npt.assert_array_equal(Result.load(f"{bucket}/saved")["day2"].units, result["day2"].units)
    model = Rondo.load(f"{bucket}/saved/model")
    npt.assert_array_equal(model.predict(f"{days}/day1.csv").units, result["day1"].units)


@pytest.mark.slow
def test_commands_that_read_a_run(cloud_run: str, days: str, run: Path, here: Path, rondo: Command) -> None:
    assert rondo("usage", cloud_run, "--json").out == rondo("usage", run, "--json").out
    done = rondo("export", cloud_run, "--format", "csv", "--out", "cloud.csv")
    assert done.code == 0, done.err
    rondo("export", run, "--format", "csv", "--out", "local.csv")
    assert (here / "cloud.csv").read_bytes() == (here / "local.csv").read_bytes()
    truth = [run / "labels", "--level", "unit", "--json"]
    scores = [rondo("evaluate", truth[0], place, *truth[1:]) for place in (run, cloud_run)]
    assert scores[0].code == 0 and scores[0].out == scores[1].out
    done = rondo("--quiet", "label", cloud_run, f"{days}/day1.csv", "--out", "again")
    assert done.code == 0, done.err
    npt.assert_array_equal(Result.load("again")["day1"].units, Result.load(run)["day1"].units)


def test_a_report_is_put_back(cloud_run: str, rondo: Command) -> None:
    remove(f"{cloud_run}/report.html")
    before = names(cloud_run)
    assert rondo("report", cloud_run, "--recordings", "day1").out == f"report: {cloud_run}/report.html\n"
    assert names(cloud_run) == before | {"report.html"}
    assert rondo("report", cloud_run, "--compare", cloud_run).out == f"report: {cloud_run}/compare.html\n"


@pytest.mark.parametrize(
    "arguments", [("name", "unit:0", "reach"), ("name",), ("merge", "unit:0", "unit:1"), ("split", "unit:0")]
)
def test_commands_that_change_a_run_refuse_a_url(arguments: tuple[str, ...], cloud_run: str, rondo: Command) -> None:
    done = rondo(arguments[0], cloud_run, *arguments[1:])
    assert done.code == 2 and done.err.startswith(f"error: {cloud_run}: ") and done.err.count("\n") == 1


def test_what_writes_elsewhere_refuses_a_url(cloud_run: str, run: Path, here: Path, rondo: Command) -> None:
    (here / "x.csv").write_bytes((run.parent / "day1.csv").read_bytes())
    for arguments in (
        ("stream", run, "--source", "x.csv", "--out", f"{cloud_run}2"),
        ("export", run, "--format", "csv", "--out", f"{cloud_run}2/a.csv"),
        ("export", run, "--format", "parquet", "--out", f"{cloud_run}2/a.parquet"),
    ):
        done = rondo(*arguments)
        assert done.code == 2 and done.err.count("\n") == 1 and f"{cloud_run}2" in done.err, (arguments, done)
        assert [path.name for path in here.iterdir()] == ["x.csv"]
    with pytest.raises(Exception, match="path of this machine"):
        Rondo.load(run / "model").save(f"{cloud_run}2")
