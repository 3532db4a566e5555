"""Killed with its workers, the same command goes on; another command is refused, and says why."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rondo.cli.main import app
from rondo.many import driver
from tests.cli.killing import Killer
from tests.cli.running import call, tree
from tests.many.sets import QUICK, RATE, Labeller, Pulled, assert_same_run, write_set
from tests.systems import needs_posix

pytestmark = needs_posix


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_set(tmp_path_factory.mktemp("set") / "files", n_files=4)


@pytest.fixture(scope="module")
def whole(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    assert call(*command(files, out)).code == 0
    return out


@pytest.fixture
def killer(tmp_path: Path) -> Iterator[Killer]:
    with Killer(tmp_path, "real") as killer:
        yield killer


@pytest.mark.slow
def test_killed_with_its_workers_the_same_command_goes_on(
    killer: Killer, files: Path, whole: Path, tmp_path: Path
) -> None:
    """Workers end with the process that started them; what they still write is the same that is written again."""
    for number, seen in enumerate(("parts/survey", "model/manifest.json", "labels/day0.npy", "segments.parquet")):
        out = tmp_path / f"run{number}"
        asked = ("discover", files, "--out", out, *RATE, *QUICK, "--engine", "local", "--workers", 2)
        assert killer.rondo(*asked, once=(out / seen, 1)) == -9, killer.err.read_text()
        assert killer.rondo(*asked) == 0, killer.err.read_text()
        assert_same_run(whole, out)


def command(files: Path, out: Path, *more: object) -> tuple[object, ...]:
    return ("discover", files, "--out", out, *RATE, *QUICK, "--engine", "serial", *more)


@pytest.fixture
def unfinished(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    out = tmp_path / "unfinished"
    with monkeypatch.context() as patch:
        Labeller(patch, stop_after=2)
        with pytest.raises(Pulled):
            app([str(word) for word in command(files, out)], standalone_mode=False)
    return out


@pytest.mark.slow
def test_an_unfinished_run_is_no_run(unfinished: Path) -> None:
    for asked in (("report", unfinished), ("usage", unfinished), ("name", unfinished, "unit:1", "x")):
        done = call(*asked)
        assert done.code == 2
        assert f"error: {unfinished}: an unfinished run" in done.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "says"), [(("--seed", 7), "other settings (config)"), (("--group-by", "day"), "other settings (group_by)")]
)
def test_other_settings_are_refused(files: Path, unfinished: Path, more: tuple[object, ...], says: str) -> None:
    before = {name: content for name, content in tree(unfinished).items() if not name.endswith(".lock")}
    done = call(*command(files, unfinished, *more))
    assert done.code == 2 and says in done.err and len(done.err.splitlines()) == 1
    assert tree(unfinished) == before


@pytest.mark.slow
def test_other_files_and_another_command_are_refused(
    files: Path, unfinished: Path, whole: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(files, tmp_path / "others"))
    done = call(*command(other, unfinished))
    assert done.code == 2 and "over other files" in done.err
    done = call("label", whole, files, "--out", unfinished, *RATE, "--engine", "serial")
    assert done.code == 2 and "unfinished run" in done.err


@pytest.mark.parametrize("is_written", [False, True])
def test_killed_when_a_channel_is_left_out(is_written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before and after the folder says which channels are used: no survey of others is taken for one of these."""
    holed = write_set(tmp_path / "holed", n_files=3)
    for path in holed.iterdir():
        values = np.load(path)
        values[:600, 3] = np.nan
        np.save(path, values)
    assert call(*command(holed, tmp_path / "whole")).code == 0
    real = driver._Run._kept

    def kept(run: driver._Run, data_set: driver.DataSet) -> driver.DataSet:
        if not data_set.channels.left_out:
            return real(run, data_set)
        if is_written:
            real(run, data_set)
        raise Pulled

    with monkeypatch.context() as patch:
        patch.setattr(driver._Run, "_kept", kept)
        with pytest.raises(Pulled):
            app([str(word) for word in command(holed, tmp_path / "run")], standalone_mode=False)
    assert call(*command(holed, tmp_path / "run")).code == 0
    assert_same_run(tmp_path / "whole", tmp_path / "run")
