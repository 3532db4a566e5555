"""Files and folders on the disk: whole or not there, and through no link."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rondo.errors import OutputError
from rondo.store import folder as drafts
from rondo.store.folder import (
    check_free,
    is_draft,
    link_file,
    make_folder,
    new_file,
    open_appending,
    whole_file,
    whole_files,
    whole_folder,
    write_bytes,
    write_json,
    write_text,
)
from tests.store.left_drafts import draft_name, names_in


@pytest.fixture
def known_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of every draft can be foretold."""
    monkeypatch.setattr(drafts.secrets, "token_hex", lambda n: "0" * 2 * n)


# ---------------------------------------------------------------- one file


def test_a_file_is_written_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"name": "größe"})
    assert path.read_text() == '{\n "name": "gr\\u00f6\\u00dfe"\n}'
    write_json(path, {"name": "größe"}, ensure_ascii=False)
    assert path.read_bytes() == '{\n "name": "größe"\n}'.encode()
    write_text(path, "a\nb")
    assert path.read_bytes() == b"a\nb"
    write_bytes(path, b"\x00")
    assert path.read_bytes() == b"\x00"
    assert names_in(tmp_path) == ["a.json"]


def test_nothing_is_seen_before_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("before")
    with whole_file(path) as file:
        file.write(b"after")
        file.flush()
        assert path.read_text() == "before"
        assert [is_draft(name) for name in names_in(tmp_path)] == [True, False]
    assert path.read_text() == "after"


@pytest.mark.parametrize("kind", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError()])
def test_what_fails_leaves_the_file_before_and_no_draft(tmp_path: Path, kind: BaseException) -> None:
    path = tmp_path / "a"
    path.write_text("before")
    with pytest.raises(OutputError if isinstance(kind, OSError) else type(kind)) as failed, whole_file(path) as file:
        file.write(b"half")
        raise kind
    if isinstance(kind, OSError):
        assert f"{path}: cannot be written (" in str(failed.value)
    assert (path.read_text(), names_in(tmp_path)) == ("before", ["a"])


def test_rights_are_those_of_a_new_file(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a", "x")
        with whole_folder(tmp_path / "b") as draft:
            new_file(draft / "c").close()
    finally:
        os.umask(before)
    found = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "b", "b/c")]
    assert found == [0o640, 0o750, 0o640]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "a").symlink_to("precious")
    write_text(tmp_path / "a", "new")
    assert not (tmp_path / "a").is_symlink()
    assert [(tmp_path / name).read_text() for name in ("a", "precious")] == ["new", "mine"]


@pytest.mark.usefixtures("known_draft")
def test_no_draft_is_written_through_a_link_even_if_its_name_is_known(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    for name in ("a", "b"):
        (tmp_path / draft_name(name, os.getpid()).replace("0123456789abcdef", "0" * 16)).symlink_to("precious")
    with pytest.raises(OutputError, match="File exists"):
        write_text(tmp_path / "a", "new")
    with pytest.raises(OutputError, match="File exists"), whole_folder(tmp_path / "b"):
        pass
    assert (tmp_path / "precious").read_text() == "mine"


def test_all_is_on_the_disk_before_and_after_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def noted_fsync(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        steps.append("draft" if is_draft(name) else name)
        fsync(descriptor)

    def noted_replace(path: Path, target: Path) -> Path:
        steps.append(f"-> {target.name}")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    write_text(tmp_path / "a", "x")
    assert steps == ["draft", "-> a", tmp_path.name]


def test_long_names_have_drafts_too(tmp_path: Path) -> None:
    name = "ü" * 127  # 254 bytes of 255
    write_text(tmp_path / name, "x")
    assert names_in(tmp_path) == [name]


# ---------------------------------------------------------------- several files


def files_in(folder: Path) -> dict[Path, bytes]:
    return {folder / "x" / "a": b"1", folder / "x" / "b": b"2", folder / "y" / "c": b"3"}


def test_nothing_that_exists_is_written_over(tmp_path: Path) -> None:
    files = files_in(tmp_path)
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "c").symlink_to("nowhere")
    with pytest.raises(OutputError, match="c: it exists already"):
        whole_files(files)
    (tmp_path / "y" / "c").unlink()
    (tmp_path / "y" / "c").write_text("4")
    with pytest.raises(OutputError, match="c: it exists already"):
        whole_files(files)
    assert names_in(tmp_path) == ["y"]
    (tmp_path / "y" / "c").unlink()
    whole_files(files)
    with pytest.raises(OutputError, match="a: it exists already"):
        whole_files(files)


def test_several_are_on_the_disk_before_the_first_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    fsync, rename = os.fsync, Path.rename
    monkeypatch.setattr(os, "fsync", lambda descriptor: (steps.append("fsync"), fsync(descriptor)))
    monkeypatch.setattr(Path, "rename", lambda path, to: (steps.append("rename"), rename(path, to)))
    whole_files(files_in(tmp_path))
    assert steps == 3 * ["fsync"] + 3 * ["rename"] + 2 * ["fsync"]  # the two folders last


def test_a_second_name_is_given_where_the_disk_can_do_that(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    assert link_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a").samefile(tmp_path / "b")
    assert not link_file(tmp_path / "a", tmp_path / "b")
    assert not link_file(tmp_path / "none", tmp_path / "c")


def test_files_in_the_working_folder_need_no_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    whole_files({Path("a"): b"1", Path("x/b"): b"2"})
    assert names_in(tmp_path) == ["a", "x"]


@pytest.mark.parametrize("n_good", range(3))
def test_one_that_fails_leaves_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_good: int) -> None:
    rename, calls = Path.rename, iter(range(9))

    def failing(self: Path, target: Path) -> Path:
        if next(calls) == n_good:
            raise OSError(errno.ENOSPC, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OutputError, match=r"No space left.*; choose another folder$") as caught:
        whole_files(files_in(tmp_path))
    assert caught.value.said("--out").endswith("; choose another --out")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("n_good", range(3))
def test_killed_between_two_renames_the_same_is_written_by_the_next(tmp_path: Path, n_good: int) -> None:
    script = f"""
import os, signal
from pathlib import Path
from rondo.store.folder import whole_files
rename, calls = Path.rename, iter(range(9))
def killed(self, target):
    if next(calls) == {n_good}:
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(self, target)
Path.rename = killed
folder = Path({str(tmp_path)!r})
whole_files({{folder / "x" / "a": b"1", folder / "x" / "b": b"2", folder / "y" / "c": b"3"}})
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    files = files_in(tmp_path)
    assert sum(path.exists() for path in files) == n_good
    assert whole_files(files) == list(files)
    assert {path: path.read_bytes() for path in files} == files
    assert [names_in(tmp_path / name) for name in ("x", "y")] == [["a", "b"], ["c"]]


# ---------------------------------------------------------------- a folder


def test_places_that_cannot_be_written_are_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "summary.json").touch()
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "lost").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path / "empty")
    refused = {
        "run": "already holds a run",
        "full": "exists and is not an empty folder",
        "file": "exists and is not an empty folder",
        "lost": "a link to nowhere",
        "loop": "a link to nowhere|cannot be written",
        "empty": "in use as it stands",
        "file/out": "not a writable folder|cannot be written",
        "n" * 300: "cannot be written",
    }
    for name, why in refused.items():
        with pytest.raises(OutputError, match=why):
            check_free(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    for name in ("empty", "new", "new/below/it"):
        check_free(tmp_path / name)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK | os.X_OK)  # root may write everywhere
    with pytest.raises(OutputError, match="not a writable folder"):
        check_free(tmp_path / "new")


def test_a_draft_is_closed_to_others_and_one_that_cannot_be_removed_is_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EBUSY, "busy")

    with whole_folder(tmp_path / "out") as draft:
        assert stat.S_IMODE(draft.parent.stat().st_mode) == 0o700
        monkeypatch.setattr(os, "rmdir", refused)
    assert (tmp_path / "out").is_dir()


def fill(folder: Path, text: str) -> None:
    (folder / "inner").mkdir()
    (folder / "inner" / "a").write_text(text)


def test_a_folder_is_replaced_only_where_that_is_wanted(tmp_path: Path) -> None:
    out = tmp_path / "out"
    for text in ("1", "2"):
        with whole_folder(out, replaces=True) as draft:
            fill(draft, text)
    assert (out / "inner" / "a").read_text() == "2"
    with pytest.raises(OutputError, match="Directory not empty"), whole_folder(out) as draft:
        fill(draft, "3")
    assert (out / "inner" / "a").read_text() == "2"
    assert names_in(tmp_path) == ["out"]


def test_what_comes_into_an_empty_folder_meanwhile_stays(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(OutputError, match="Directory not empty"), whole_folder(out):
        (out / "theirs").write_text("the only copy")
    assert (out / "theirs").read_text() == "the only copy"


@pytest.mark.parametrize("kind", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_folder_that_fails_leaves_nothing(tmp_path: Path, kind: BaseException) -> None:
    with (
        pytest.raises(OutputError if isinstance(kind, OSError) else KeyboardInterrupt),
        whole_folder(tmp_path / "new" / "out") as draft,
    ):
        fill(draft, "1")
        raise kind
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("n_entries", [3, 2_000])
def test_a_folder_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_entries: int
) -> None:
    synced: list[str] = []

    def noted_fsync(descriptor: int) -> None:
        synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "sync", lambda: synced.append("all"))
    with whole_folder(tmp_path / "out") as draft:
        for number in range(n_entries):
            (draft / f"f{number}").touch()
    everything = [*(f"f{number}" for number in range(n_entries)), "out"]
    assert sorted(synced[:-1]) == sorted(everything if n_entries < 1000 else ["all"])
    assert synced[-1] == tmp_path.name


def test_a_folder_behind_a_link_is_no_folder_of_its_own(tmp_path: Path) -> None:
    """What someone has named may be a link; what lies inside may be someone else's."""
    (tmp_path / "named").symlink_to("real")
    (tmp_path / "real").mkdir()
    for _ in range(2):
        assert make_folder(tmp_path / "named", "a", "b").is_dir()
    (tmp_path / "real" / "c").symlink_to("a")
    (tmp_path / "real" / "nowhere").symlink_to(tmp_path / "outside")
    for inside in (("c",), ("c", "d"), ("nowhere",), ("a", "..", "c")):
        with pytest.raises(OutputError, match="a link"):
            make_folder(tmp_path / "named", *inside)
    assert not (tmp_path / "outside").exists() and not (tmp_path / "real" / "a" / "d").exists()
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="file: a file"):
        make_folder(tmp_path / "file", "a")


# ---------------------------------------------------------------- a file that grows


def test_links_pipes_and_devices_do_not_grow(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "link").symlink_to("precious")
    (tmp_path / "device").symlink_to("/dev/null")
    os.mkfifo(tmp_path / "pipe")
    for name, says in (("link", "a link"), ("device", "a link"), ("pipe", "not a regular file")):
        with pytest.raises(OSError, match=says):
            open_appending(tmp_path / name)
    with pytest.raises(OSError, match="not a regular file"):
        open_appending(Path("/dev/null"))
    assert (tmp_path / "precious").read_text() == "mine"
