"""Runs in a bucket: whole or absent there, copies that go with the process, and no object outside the copy."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rondo.errors import OutputError
from rondo.run import bucket as module
from rondo.run.bucket import checked_name, put_run, run_here, whole_run
from tests.cli.running import tree
from tests.cloud.conftest import names, put

pytestmark = pytest.mark.cloud


def made_run(folder: Path) -> Path:
    for name in ("labels/a.npy", "model/manifest.json", "summary.json", "report.html"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def test_a_run_goes_there_and_comes_back(bucket: str, here: Path) -> None:
    run, url = made_run(here / "run"), f"{bucket}/runs/one"
    put_run(run, url)
    assert tree(run_here(url)) == tree(run)
    without = run_here(Path(url), without=("labels",))
    assert sorted(path.name for path in without.iterdir()) == ["model", "report.html", "summary.json"]
    assert run_here(run) == run
    assert sorted(path.name for path in run_here(f"{url}/model").iterdir()) == ["manifest.json"]


def test_summary_is_put_there_last(bucket: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, url, seen = made_run(here / "run"), f"{bucket}/run", []
    connected = module.connected

    def watched(url: str) -> object:
        system, path = connected(url)

        class Watched:
            def put(self, *arguments: object, **options: object) -> None:
                seen.append(names(url))
                system.put(*arguments, **options)

            def __getattr__(self, name: str) -> object:
                return getattr(system, name)

        return Watched(), path

    monkeypatch.setattr(module, "connected", watched)
    put_run(run, url)
    assert seen == [set(), {"labels/a.npy", "model/manifest.json", "report.html"}]
    assert "summary.json" in names(url)


def test_a_copy_goes_with_the_process(bucket: str, here: Path) -> None:
    put_run(made_run(here / "run"), f"{bucket}/run")
    code = "import sys; from rondo.run.bucket import run_here; print(run_here(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, f"{bucket}/run"], check=True, capture_output=True, text=True)
    copy = Path(done.stdout.strip())
    assert copy.name == "run" and not copy.parent.exists()


def test_no_object_is_copied_out_of_the_folder(bucket: str, here: Path) -> None:
    put_run(made_run(here / "run"), f"{bucket}/run")
    put(f"{bucket}/run/labels/../../../evil", here / "run" / "summary.json")
    with pytest.raises(OutputError, match=r"object 'labels/\.\./\.\./\.\./evil'"):
        run_here(f"{bucket}/run")
    for name in ("", "/etc/x", "a//b", "./a", "a/..", "a\0"):
        with pytest.raises(OutputError):
            checked_name(name, bucket)


def test_a_run_that_cannot_be_put_there_stays_here(bucket: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from s3fs import S3FileSystem

    monkeypatch.setattr(tempfile, "tempdir", str(here))
    with pytest.raises(OutputError, match="there is no bucket") as caught, whole_run(f"{bucket}/run") as draft:
        made_run(draft)
        S3FileSystem().rmdir(bucket.removeprefix("s3://"))  # while the run is made
    kept = Path(str(caught.value).partition("the whole run is in ")[2].partition(",")[0])
    assert kept == draft and (kept / "summary.json").is_file()


def test_a_run_that_fails_leaves_nothing(bucket: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(here))
    with pytest.raises(ZeroDivisionError), whole_run(f"{bucket}/run") as draft:
        made_run(draft)
        raise ZeroDivisionError
    assert list(here.iterdir()) == [] and names(f"{bucket}/run") == set()
