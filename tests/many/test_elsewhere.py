"""A run folder that is elsewhere: the same files as here, summary.json last, and it can be gone on with."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.errors import OutputError
from rondo.files.inputs import recording_files
from rondo.files.reading import Reading
from rondo.many import tasks, unfinished
from rondo.many.driver import ManyFiles, Where, discover_files, label_many
from rondo.model.rondo import Rondo
from rondo.store.folder import LocalFolder
from tests.many.sets import Bucket, assert_same_run, write_set


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Bucket:
    found = Bucket()
    for module in (unfinished, tasks):
        monkeypatch.setattr(
            module, "part_folder", lambda where: found if "://" in str(where) else LocalFolder(Path(where))
        )
    return found


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> ManyFiles:
    folder = write_set(tmp_path_factory.mktemp("set"), n_files=3)
    return ManyFiles.of(recording_files([folder], Reading(rate=50.0)), Where("serial"))


def model() -> Rondo:
    return Rondo(window=40, step=20, settings={"evidence.surrogates": 0})


def brought_here(bucket: Bucket, folder: Path) -> Path:
    LocalFolder(folder).write_together(bucket.files)
    return folder


@pytest.mark.slow
def test_the_run_is_the_same_as_here(many: ManyFiles, bucket: Bucket, tmp_path: Path) -> None:
    here = discover_files(many, model(), tmp_path / "here")
    assert discover_files(many, model(), bucket.url) == here
    assert_same_run(tmp_path / "here", brought_here(bucket, tmp_path / "there"))
    with pytest.raises(OutputError, match="it is not empty"):
        discover_files(many, model(), bucket.url)


def test_it_is_gone_on_with(many: ManyFiles, bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    discover_files(many, model(), tmp_path / "here")
    written: list[str] = []
    write, is_gone = Bucket.write, True

    def failing(self: Bucket, name: str, content: bytes) -> None:
        if is_gone and len(written) == 12:
            raise ConnectionError("gone")
        written.append(name)
        write(self, name, content)

    monkeypatch.setattr(Bucket, "write", failing)
    with pytest.raises((ConnectionError, OutputError)):
        discover_files(many, model(), bucket.url)
    assert "unfinished.json" in bucket.files and "summary.json" not in bucket.files
    is_gone = False
    discover_files(many, model(), bucket.url)
    assert_same_run(tmp_path / "here", brought_here(bucket, tmp_path / "there"))
    assert max(i for i, name in enumerate(written) if "/" in name) < written.index("summary.json")


@pytest.mark.slow
def test_label_too(many: ManyFiles, bucket: Bucket, tmp_path: Path) -> None:
    discover_files(many, model(), tmp_path / "run")
    fitted = Rondo.load(tmp_path / "run" / "model")
    assert label_many(many, fitted, bucket.url) == label_many(many, fitted, tmp_path / "here")
    assert_same_run(tmp_path / "here", brought_here(bucket, tmp_path / "there"))
