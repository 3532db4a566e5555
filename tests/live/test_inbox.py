"""Inbox: every message exactly once and in order, whatever is killed when; the slow twin is a list."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import closing
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondo.errors import ModelError, OutputError
from rondo.live.devices.messages import Message
from rondo.live.feeds.inbox import Arrival, Inbox

arrivals = st.builds(
    Arrival,
    device=st.sampled_from(["a", "b/ü", ""]),
    payload=st.binary(max_size=40),
    arrived_s=st.floats(0, 2e9),
    is_after_loss=st.booleans(),
    tag=st.integers(0, 2**32 - 1),
)
append_step = st.tuples(st.just("append"), st.lists(arrivals, max_size=6))
read_step = st.tuples(st.just("read"), st.integers(0, 20))
steps = st.one_of(
    append_step,
    append_step,
    append_step,
    read_step,
    read_step,
    st.tuples(st.just("settle"), st.floats(0, 1)),
    st.tuples(st.just("reopen"), st.just(0)),
    st.tuples(st.just("kill"), st.binary(max_size=30)),
    st.tuples(st.just("torn"), st.tuples(arrivals, st.floats(0, 1))),
)


def given_as(offset: int, arrival: Arrival) -> Message:
    return Message(arrival.device, arrival.payload, "inbox", offset, arrival.arrived_s, arrival.is_after_loss)


class Twin:
    """What was appended, in a list; and the mark that a fleet would have in its checkpoints."""

    def __init__(self) -> None:
        self.all: list[Arrival] = []
        self.mark = self.read = 0

    def next(self, at_most: int) -> list[Message]:
        found: list[Message] = []
        while self.read < len(self.all) and len(found) < at_most:
            if self.all[self.read].device:
                found.append(given_as(self.read, self.all[self.read]))
            self.read += 1
        return found


def tear(folder: Path, arrival: Arrival, part: float) -> None:
    """What a crash in the middle of an append leaves: the beginning of a record."""
    with tempfile.TemporaryDirectory() as other:
        inbox = Inbox(Path(other), None)
        before = inbox.n_bytes
        inbox.append([arrival])
        inbox.close()
        record = next(Path(other).glob("*.inbox")).read_bytes()[before:]
    with max(folder.glob("*.inbox")).open("ab") as file:
        file.write(record[: int(part * (len(record) - 1))])


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(steps, min_size=8, max_size=30), st.integers(1, 200))
def test_every_message_once_and_in_order(todo: list[tuple[str, object]], segment_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as name, mock.patch("os.fsync"):  # on a busy disk it takes most of the time
        folder, twin = Path(name) / "inbox", Twin()
        inbox = Inbox(folder, None, segment_bytes=segment_bytes)
        for what, how in todo:
            if what == "append":
                inbox.append(how)  # type: ignore[arg-type]
                twin.all += how  # type: ignore[arg-type]
            elif what == "read":
                assert inbox.read(how) == twin.next(how)  # type: ignore[arg-type]
            elif what == "settle":
                twin.mark += int(how * (twin.read - twin.mark))  # type: ignore[operator]
                inbox.settle(twin.mark)
            else:
                inbox.close()
                if what == "kill":  # noise where the next record would have been
                    with max(folder.glob("*.inbox")).open("ab") as file:
                        file.write(how)  # type: ignore[arg-type]
                elif what == "torn":
                    tear(folder, *how)  # type: ignore[misc]
                inbox = Inbox(folder, twin.mark, segment_bytes=segment_bytes)
                twin.read = twin.mark
            assert inbox.next_offset == len(twin.all)
            assert inbox.backlog == len(twin.all) - twin.read
            assert inbox.n_bytes == sum(path.stat().st_size for path in folder.glob("*.inbox"))
        inbox.close()
        inbox = Inbox(folder, twin.mark)
        twin.read = twin.mark
        assert inbox.read(10**6) == twin.next(10**6)
        inbox.close()


def rows(n: int, n_bytes: int = 100) -> list[Arrival]:
    return [Arrival("d", bytes([i % 256]) * n_bytes, float(i)) for i in range(n)]


def test_settled_segments_are_deleted_and_the_newest_stays(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, None, limit_bytes=3000, segment_bytes=500)
    for arrival in rows(25):
        inbox.append([arrival])
    assert inbox.is_full
    assert len(list(tmp_path.glob("*.inbox"))) > 3
    assert len(inbox.read(25)) == 25
    inbox.settle(25)
    assert not inbox.is_full
    assert len(list(tmp_path.glob("*.inbox"))) == 1
    inbox.close()
    inbox = Inbox(tmp_path, 25)
    assert (inbox.read(9), inbox.next_offset) == ([], 25)
    inbox.close()


def test_the_newest_segment_tells_its_owner_what_was_known_and_what_came_since(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, None, segment_bytes=300)
    for arrival in rows(10):
        inbox.roll(lambda: str(inbox.next_offset).encode())
        inbox.append([arrival])
    inbox.close()
    inbox = Inbox(tmp_path, 0)
    assert int(inbox.head) > 0
    assert int(inbox.head) + len(inbox.tail) == 10
    assert inbox.tail == rows(10)[int(inbox.head) :]
    inbox.close()


def test_offsets_are_never_used_twice(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, 7)
    inbox.append(rows(3))
    assert [message.offset for message in inbox.read(9)] == [7, 8, 9]
    inbox.close()
    inbox = Inbox(tmp_path, 12)  # someone took the newest away
    inbox.append(rows(1))
    assert [message.offset for message in inbox.read(9)] == [12]
    inbox.close()


def test_messages_that_are_gone_are_refused(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path, None, segment_bytes=1)
    for arrival in rows(4):
        inbox.append([arrival])
    inbox.read(4)
    inbox.settle(3)
    inbox.close()
    for mark in (None, 0, 1):
        with pytest.raises(ModelError, match=r"expected the messages from \d on, its first is 3") as caught:
            Inbox(tmp_path, mark)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", [0, 3, 10, 20, 40, -1])
def test_damage_before_the_newest_segment_is_an_error(tmp_path: Path, place: int) -> None:
    inbox = Inbox(tmp_path, None, segment_bytes=200)
    for arrival in rows(6):
        inbox.append([arrival])
    inbox.close()
    first = min(tmp_path.glob("*.inbox"))
    content = bytearray(first.read_bytes())
    content[place] ^= 0x40
    first.write_bytes(content)
    with pytest.raises(ModelError, match="damaged"), closing(Inbox(tmp_path, 0)) as opened:
        opened.read(6)


def test_a_full_disk_is_said_and_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = Inbox(tmp_path, None)
    inbox.append(rows(2))
    write = os.write

    def half(descriptor: int, content: bytes) -> int:
        if len(content) < 80:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, content[: len(content) // 2])

    with monkeypatch.context() as patch, pytest.raises(OutputError, match="No space left on device"):
        patch.setattr(os, "write", half)
        inbox.append(rows(3))
    inbox.close()
    inbox = Inbox(tmp_path, 0)
    assert (inbox.n_torn_bytes, len(inbox.read(9))) == (0, 2)
    inbox.close()


def test_two_processes_cannot_have_the_same_inbox(tmp_path: Path) -> None:
    with closing(Inbox(tmp_path, None)), pytest.raises(OutputError, match="another process reads into this inbox"):
        Inbox(tmp_path, None)
    Inbox(tmp_path, None).close()


def test_an_inbox_whose_messages_are_all_settled_is_not_full(tmp_path: Path) -> None:
    with closing(Inbox(tmp_path, None, limit_bytes=1000)) as inbox:
        inbox.append(rows(50))  # one batch, and more than there may be
        assert inbox.is_full
        inbox.read(50)
        inbox.settle(50)
        assert not inbox.is_full
        inbox.append(rows(1))
        inbox.read(1)
        inbox.settle(51)
        assert inbox.n_bytes < 1000
