"""What the killed have left is cleared by whoever writes next, and nothing else is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rondo.store.folder import clear_drafts, whole_folder, write_text
from tests.store.left_drafts import dead_pid, draft_name, names_in


def test_drafts_of_the_dead_are_cleared_by_the_next_writer(tmp_path: Path) -> None:
    dead = dead_pid()
    (tmp_path / draft_name("a", dead)).write_text("half")
    (tmp_path / draft_name("b", dead)).mkdir()
    (tmp_path / draft_name("b", dead) / "b").mkdir()
    write_text(tmp_path / "c", "x")  # whatever the dead were writing in this folder
    assert names_in(tmp_path) == ["c"]


def test_a_folder_that_the_dead_were_replacing_is_put_back_whoever_comes_next(tmp_path: Path) -> None:
    draft = tmp_path / draft_name("b", dead_pid())
    (draft / "b.before").mkdir(parents=True)
    (draft / "b.before" / "model").write_text("the only copy")
    (draft / "other.before").mkdir()  # not what such a draft holds
    write_text(tmp_path / "c", "x")
    assert names_in(tmp_path) == ["b", "c"]
    assert (tmp_path / "b" / "model").read_text() == "the only copy"


def test_drafts_of_the_living_and_of_other_places_stay(tmp_path: Path) -> None:
    dead = dead_pid()
    kept = [
        draft_name("a", os.getpid()),
        draft_name("a", 1),
        draft_name("a", dead, here="0" * 8),  # of another machine, on a disk that both use
        ".a.draft",
        f"{draft_name('a', dead)}.txt",
        draft_name("a", dead).removeprefix("."),
    ]
    for name in kept:
        (tmp_path / name).write_text("")
    write_text(tmp_path / "a", "x")
    assert names_in(tmp_path) == sorted([*kept, "a"])


def test_drafts_that_nobody_has_touched_for_a_day_are_cleared(tmp_path: Path) -> None:
    old = tmp_path / draft_name("a", os.getpid(), here="0" * 8)
    old.write_text("")
    os.utime(old, (time.time() - 90_000,) * 2)
    clear_drafts(tmp_path / "a")
    assert names_in(tmp_path) == []


def test_a_link_called_like_a_draft_is_removed_and_not_what_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "precious").write_text("mine")
    (tmp_path / draft_name("a", dead_pid())).symlink_to("mine")
    clear_drafts(tmp_path / "a")
    assert names_in(tmp_path) == ["mine"]
    inside = tmp_path / draft_name("a", dead_pid())
    inside.mkdir()
    (inside / "link").symlink_to(tmp_path / "mine")
    clear_drafts(tmp_path / "a")
    assert (tmp_path / "mine" / "precious").read_text() == "mine"


def test_killed_while_replacing_the_folder_before_comes_back(tmp_path: Path) -> None:
    """Between the two renames nothing has the name; the next writer finds the old one, should it fail itself."""
    script = f"""
import os, signal
from pathlib import Path
from rondo.store.folder import whole_folder
rename, calls = Path.rename, iter(range(9))
def killed(self, target):
    if next(calls) == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(self, target)
Path.rename = killed
with whole_folder(Path({str(tmp_path / "out")!r}), replaces=True) as draft:
    (draft / "a").write_text("2")
"""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_text("1")
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == -9
    assert not (tmp_path / "out").exists()
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "out", replaces=True):
        raise KeyboardInterrupt
    assert (tmp_path / "out" / "a").read_text() == "1"
    assert names_in(tmp_path) == ["out"]
