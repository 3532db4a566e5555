"""CloudFolder: the same promises as a folder of this machine, from any process."""

from __future__ import annotations

import pickle
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rondo.errors import OutputError
from rondo.store import cloud_folder
from rondo.store.cloud_folder import CloudFolder, checked_name, put_run, run_here, whole_cloud_folder
from rondo.store.folder import PartFolder
from tests.cli.running import tree
from tests.cloud.conftest import put

pytestmark = pytest.mark.cloud


def test_what_is_written_is_read(bucket: str) -> None:
    folder: PartFolder = CloudFolder(f"{bucket}/run/")
    assert folder.url == f"{bucket}/run" and folder.names() == set()
    folder.write("labels/a.npy", b"1")
    folder.write("labels/b c.npy", b"")
    folder.write("labels_of/x", b"x")
    folder.write("summary.json", b"{}")
    assert folder.names() == {"labels/a.npy", "labels/b c.npy", "labels_of/x", "summary.json"}
    assert folder.names("labels") == {"labels/a.npy", "labels/b c.npy"}
    assert folder.read("labels/a.npy") == b"1" and folder.read("labels/b c.npy") == b""
    folder.write("labels/a.npy", b"22")
    assert folder.read("labels/a.npy") == b"22"
    folder.remove("labels/a.npy")
    folder.remove("labels/a.npy")
    assert folder.names("labels") == {"labels/b c.npy"}
    with pytest.raises(FileNotFoundError):
        folder.read("labels/a.npy")


def test_a_folder_beside_it_is_another(bucket: str) -> None:
    CloudFolder(f"{bucket}/run2").write("a", b"1")
    assert CloudFolder(f"{bucket}/run").names() == set()
    assert CloudFolder(bucket).names() == {"run2/a"}


def test_it_goes_to_other_processes_with_its_url_alone(bucket: str) -> None:
    folder = CloudFolder(f"{bucket}/run")
    folder.write("here", b"1")
    sent = pickle.dumps(folder)
    assert b"nobody" not in sent and b"nothing" not in sent and len(sent) < 300
    code = "import pickle, sys; pickle.loads(sys.stdin.buffer.read()).write('there', b'2')"
    subprocess.run([sys.executable, "-c", code], input=sent, check=True)
    assert folder.names() == {"here", "there"} and folder.read("there") == b"2"


def test_another_process_is_seen_at_once(bucket: str) -> None:
    folder = CloudFolder(f"{bucket}/run")
    folder.write("a", b"1")
    assert folder.names() == {"a"}
    subprocess.run([sys.executable, "-c", _WRITE, folder.url], check=True)
    assert folder.names() == {"a", "b"}


_WRITE = "import sys; from rondo.store.cloud_folder import CloudFolder; CloudFolder(sys.argv[1]).write('b', b'2')"


def made_run(folder: Path) -> Path:
    for name in ("labels/a.npy", "model/manifest.json", "summary.json", "report.html"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


def test_a_run_goes_there_and_comes_back(bucket: str, here: Path) -> None:
    run, folder = made_run(here / "run"), CloudFolder(f"{bucket}/runs/one")
    put_run(run, folder)
    assert tree(run_here(folder.url)) == tree(run)
    without = run_here(Path(folder.url), without=("labels",))
    assert sorted(path.name for path in without.iterdir()) == ["model", "report.html", "summary.json"]
    assert run_here(run) == run
    assert sorted(path.name for path in run_here(f"{folder.url}/model").iterdir()) == ["manifest.json"]


def test_summary_is_put_there_last(bucket: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, folder, seen = made_run(here / "run"), CloudFolder(f"{bucket}/run"), []
    connected = cloud_folder.connected

    def watched(url: str) -> object:
        system, path = connected(url)

        class Watched:
            def put(self, *arguments: object, **options: object) -> None:
                seen.append(folder.names())
                system.put(*arguments, **options)

            def __getattr__(self, name: str) -> object:
                return getattr(system, name)

        return Watched(), path

    monkeypatch.setattr(cloud_folder, "connected", watched)
    put_run(run, folder)
    assert seen == [set(), {"labels/a.npy", "model/manifest.json", "report.html"}]
    assert "summary.json" in folder.names()


def test_a_copy_goes_with_the_process(bucket: str, here: Path) -> None:
    put_run(made_run(here / "run"), CloudFolder(f"{bucket}/run"))
    code = "import sys; from rondo.store.cloud_folder import run_here; print(run_here(sys.argv[1]))"
    done = subprocess.run([sys.executable, "-c", code, f"{bucket}/run"], check=True, capture_output=True, text=True)
    copy = Path(done.stdout.strip())
    assert copy.name == "run" and not copy.parent.exists()


def test_no_object_is_copied_out_of_the_folder(bucket: str, here: Path) -> None:
    put_run(made_run(here / "run"), CloudFolder(f"{bucket}/run"))
    put(f"{bucket}/run/labels/../../../evil", here / "run" / "summary.json")
    with pytest.raises(OutputError, match=r"object 'labels/\.\./\.\./\.\./evil'"):
        run_here(f"{bucket}/run")
    for name in ("", "/etc/x", "a//b", "./a", "a/..", "a\0"):
        with pytest.raises(OutputError):
            checked_name(name, bucket)


def test_what_is_no_run_is_refused(bucket: str) -> None:
    CloudFolder(f"{bucket}/part").write("labels/a.npy", b"1")
    for url in (f"{bucket}/part", f"{bucket}/nothing", bucket):
        with pytest.raises(OutputError, match=r"holds no summary\.json"):
            run_here(url)


def test_a_run_that_cannot_be_put_there_stays_here(bucket: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from s3fs import S3FileSystem

    monkeypatch.setattr(tempfile, "tempdir", str(here))
    with pytest.raises(OutputError, match="there is no bucket") as caught, whole_cloud_folder(f"{bucket}/run") as draft:
        made_run(draft)
        S3FileSystem().rmdir(bucket.removeprefix("s3://"))  # while the run is made
    kept = Path(str(caught.value).partition("the whole run is in ")[2].partition(",")[0])
    assert kept == draft and (kept / "summary.json").is_file()


def test_a_run_that_fails_leaves_nothing(bucket: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(here))
    with pytest.raises(ZeroDivisionError), whole_cloud_folder(f"{bucket}/run") as draft:
        made_run(draft)
        raise ZeroDivisionError
    assert list(here.iterdir()) == [] and CloudFolder(f"{bucket}/run").names() == set()
