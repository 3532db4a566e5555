"""The journal: appended to, cut back to what a checkpoint counts, read back exactly; damage is named.

Event: frozen, plain, and the same to the last bit after a way through JSON.
"""

from __future__ import annotations

import errno
import os
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.continual.journal import AppendOnly, Event, EventLevel, Kind, append_events, read_journal
from rondo.errors import ModelError, OutputError, RondoWarning

PLAIN: dict[str, Any] = {
    "kind": "merge", "level": "motif", "frame": 3, "time_s": 0.1, "ids": (1, 2), "evidence": {"distance": 0.3}
}  # fmt: skip
WHOLE = '{"kind":"merge","level":"unit","frame":0,"time_s":null,"ids":[],"evidence":{}}'


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


@pytest.mark.parametrize("n_kept", [0, 3, 5])
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


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff", b'{"kind": "promote"}'])
def test_any_other_damage_is_refused_with_its_line(path: Path, damage: bytes) -> None:
    good = some_events(1)[0].to_json().encode()
    path.write_bytes(b"\n".join([good, damage, good, b""]))
    with pytest.raises(ModelError, match=r"events\.jsonl: line 2 is") as refused:
        read_journal(path)
    assert "\n" not in str(refused.value)


def test_a_file_shorter_than_the_checkpoint_counts_is_refused(path: Path) -> None:
    path.write_bytes(b"abc\n")
    with pytest.raises(ModelError, match="expected the 5 bytes"):
        AppendOnly(path, 5)
    assert path.read_bytes() == b"abc\n"


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
        with pytest.raises(OutputError, match="No space left"):
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


def test_lines_that_cannot_be_brought_to_the_disk_are_no_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with AppendOnly(path) as journal:
        append_events(journal, some_events(1))
        monkeypatch.setattr(os, "fsync", fails)
        with pytest.raises(OutputError, match="Input/output error"):
            journal.sync()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        AppendOnly(tmp_path / "no such folder" / "events.jsonl")


finite = st.floats(allow_nan=False, allow_infinity=False)
events = st.builds(
    Event,
    kind=st.sampled_from(get_args(Kind)),
    level=st.sampled_from(get_args(EventLevel)),
    frame=st.integers(0, 2**62),
    time_s=st.none() | finite,
    ids=st.lists(st.integers(-1, 2**40), max_size=4).map(tuple),
    evidence=st.dictionaries(st.text(max_size=8), finite | st.integers() | st.text(max_size=8), max_size=4),
)


@given(event=events)
def test_the_way_through_json_is_exact(event: Event) -> None:
    again = Event.from_json(event.to_json())
    assert again == event and len(event.to_json().splitlines()) == 1
    assert again.to_json() == event.to_json()  # keeps -0.0, the order of evidence, and 1 apart from 1.0


def test_an_event_is_frozen_and_its_evidence_its_own() -> None:
    evidence = {"distance": 0.3}
    event = Event(**(PLAIN | {"evidence": evidence}))
    evidence["distance"] = 9.0
    assert event.evidence == {"distance": 0.3}
    with pytest.raises(FrozenInstanceError):
        event.frame = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "update"),
        ("level", "component"),
        ("frame", -1),
        ("frame", True),
        ("time_s", float("nan")),
        ("ids", [1]),
        ("ids", (np.int64(1),)),
        ("evidence", {"distance": float("inf")}),
        ("evidence", {"distance": np.float32(1)}),
        ("evidence", {1: 1.0}),
    ],
)
def test_what_json_cannot_give_back_is_refused(field: str, value: object) -> None:
    with pytest.raises(ModelError, match="not an event: expected"):
        Event(**(PLAIN | {field: value}))


@pytest.mark.parametrize(
    "line", ["", "[]", WHOLE.replace("[]", "3"), WHOLE.replace("null", "NaN"), WHOLE[:-1] + ',"more":1}', "[" * 100_000]
)
def test_a_line_that_is_no_event_is_refused_in_one_line(line: str) -> None:
    with pytest.raises(ModelError) as refused:
        Event.from_json(line)
    assert len(str(refused.value).splitlines()) == 1
