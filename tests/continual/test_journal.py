"""The journal: appended to, cut back to what a checkpoint counts, read back exactly; damage is named."""

from __future__ import annotations

import errno
import os
import warnings
from pathlib import Path

import pytest

from rondo.continual.events import Event
from rondo.continual.journal import AppendOnly, append_events, read_journal
from rondo.errors import ModelError, OutputError, RondoWarning


def some_events(n: int) -> list[Event]:
    return [Event("refine", "unit", i, i / 3, (i,), {"distance": 0.1 * i, "of": "ü"}) for i in range(n)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def test_events_come_back_as_they_were(path: Path) -> None:
    with AppendOnly(path) as journal:
        append_events(journal, some_events(2))
        append_events(journal, [])
        append_events(journal, some_events(5)[2:])
        journal.sync()
        assert journal.n_bytes == path.stat().st_size
    assert read_journal(path) == some_events(5)
    assert len(path.read_text("utf-8").splitlines()) == 5


@pytest.mark.parametrize("n_kept", range(6))
def test_on_resume_the_journal_is_cut_back_and_grows_the_same(path: Path, n_kept: int) -> None:
    with AppendOnly(path) as journal:
        append_events(journal, some_events(n_kept))
        n_bytes = journal.n_bytes
        append_events(journal, some_events(5)[n_kept:])
    whole = path.read_bytes()
    path.write_bytes(whole[:-3] if n_kept < 5 else whole)  # the last line was torn as well
    with AppendOnly(path, n_bytes) as journal:
        assert path.stat().st_size == n_bytes
        append_events(journal, some_events(5)[n_kept:])
    assert path.read_bytes() == whole


def test_a_torn_last_line_is_left_out_with_a_note(path: Path) -> None:
    path.write_text("".join(event.to_json() + "\n" for event in some_events(3))[:-1], encoding="utf-8")
    with pytest.warns(RondoWarning, match="last line is torn"):
        assert read_journal(path) == some_events(2)


def test_a_journal_that_ends_well_gives_no_note(path: Path) -> None:
    path.write_text(some_events(1)[0].to_json() + "\n", encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_journal(path) == some_events(1)


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff", b'{"kind": "promote"}'])
def test_any_other_damage_is_refused_with_its_line(path: Path, damage: bytes) -> None:
    good = some_events(1)[0].to_json().encode()
    path.write_bytes(b"\n".join([good, damage, good, b""]))
    with pytest.raises(ModelError, match=r"events\.jsonl: line 2 is") as refused:
        read_journal(path)
    assert "\n" not in str(refused.value)


def test_a_journal_that_is_not_there(path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        read_journal(path)


def test_a_file_shorter_than_the_checkpoint_counts_is_refused(path: Path) -> None:
    path.write_bytes(b"abc\n")
    with pytest.raises(ModelError, match="expected the 5 bytes"):
        AppendOnly(path, 5)
    assert path.read_bytes() == b"abc\n"


def test_a_length_that_does_not_end_a_line_is_refused(path: Path) -> None:
    path.write_bytes(b"abc\ndef\n")
    with pytest.raises(ModelError, match="or others"):
        AppendOnly(path, 6)
    assert path.read_bytes() == b"abc\ndef\n"


def test_a_full_disk_leaves_what_the_checkpoint_counts(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with AppendOnly(path) as journal:
        append_events(journal, some_events(2))
        n_bytes, before = journal.n_bytes, path.read_bytes()
        write = os.write

        def half(descriptor: int, text: bytes) -> int:
            if journal.n_bytes > n_bytes:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write(descriptor, text[:7])

        monkeypatch.setattr(os, "write", half)
        with pytest.raises(OutputError, match="No space left on device"):
            append_events(journal, some_events(1))
        monkeypatch.undo()
    assert path.read_bytes()[:n_bytes] == before
    AppendOnly(path, n_bytes).close()
    assert read_journal(path) == some_events(2)


def test_short_writes_are_completed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, text: write(descriptor, text[:5]))
    with AppendOnly(path) as journal:
        append_events(journal, some_events(3))
    assert read_journal(path) == some_events(3)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        AppendOnly(tmp_path / "no such folder" / "events.jsonl")
