"""Inbox: every message exactly once and in order, whatever is killed when; the slow twin is a list."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from rondo.errors import ModelError, OutputError
from rondo.live import inbox as inbox_module
from rondo.live.inbox import Arrival, FeedStore, Inbox
from rondo.live.source import Message

PACKETS = st.builds(
    Arrival,
    device=st.sampled_from(["a", "b/ü", "c"]),
    payload=st.binary(max_size=2),
    arrived_s=st.floats(0, 2e9),
    is_after_loss=st.just(False),
    packet_id=st.integers(0, 3),
    is_repeat=st.booleans(),
    connection=st.just(0),
)
ARRIVALS = st.one_of(PACKETS, PACKETS, PACKETS, st.just(Arrival("", b"", 0.0)))
STEPS = st.one_of(
    st.tuples(st.just("append"), st.lists(ARRIVALS, max_size=6)),
    st.tuples(st.just("append"), st.lists(ARRIVALS, max_size=6)),
    st.tuples(st.just("read"), st.integers(1, 20)),
    st.tuples(st.just("settle"), st.floats(0, 1)),
    st.tuples(st.just("reopen"), st.just(0)),
)


class Twin:
    """What was appended, in a list; which packets are known, and where messages were lost last."""

    def __init__(self) -> None:
        self.all: list[Message] = []
        self.mark = self.read = 0
        self._packets: dict[int, tuple[str, bytes]] = {}
        self._lost_until = -1

    def append(self, arrivals: list[Arrival]) -> None:
        for arrival in arrivals:
            if not arrival.device:
                self._packets, self._lost_until = {}, len(self.all) + 1
                continue
            content = arrival.device, arrival.payload
            if arrival.packet_id and arrival.is_repeat and self._packets.get(arrival.packet_id) == content:
                continue
            if arrival.packet_id:
                self._packets[arrival.packet_id] = content
            offset = len(self.all) + 1
            self.all.append(Message(*content, "inbox", offset, arrival.arrived_s, self._lost_until))

    def next(self, at_most: int) -> list[Message]:
        found = self.all[self.read : self.read + at_most]
        self.read += len(found)
        return found


@contextmanager
def opened(folder: Path, limit_bytes: int = 1 << 30) -> Iterator[tuple[FeedStore, Inbox]]:
    with closing(FeedStore(folder)) as store, closing(Inbox(store, limit_bytes)) as inbox:
        yield store, inbox


@settings(
    max_examples=25,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
@given(st.lists(STEPS, min_size=8, max_size=30))
def test_every_message_once_and_in_order(todo: list[tuple[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        twin, left = Twin(), [("reopen", 0), *todo, ("reopen", 0)]
        while left:
            left.pop(0)
            with opened(Path(name) / "feed") as (store, inbox):
                twin.read = twin.mark
                while left and left[0][0] != "reopen":
                    what, how = left.pop(0)
                    if what == "append":
                        inbox.append(how)  # type: ignore[arg-type]
                        twin.append(how)  # type: ignore[arg-type]
                    elif what == "read":
                        assert inbox.read(how) == twin.next(how)  # type: ignore[arg-type]
                    else:
                        twin.mark += int(how * (twin.read - twin.mark))  # type: ignore[operator]
                        store.put_marks({"inbox": twin.mark + 1})
                        inbox.settle(twin.mark + 1)
                    assert inbox.backlog == len(twin.all) - twin.read
                if not left:
                    assert inbox.read(10**6) == twin.next(10**6)


def rows(n: int, n_bytes: int = 100) -> list[Arrival]:
    return [Arrival("d", bytes([i % 256]) * n_bytes, float(i)) for i in range(n)]


def test_an_inbox_is_full_until_its_messages_are_settled(tmp_path: Path) -> None:
    with opened(tmp_path, limit_bytes=1000) as (_, inbox):
        inbox.append(rows(50))  # one batch, and more than there may be
        assert inbox.is_full
        inbox.settle(inbox.read(50)[-1].offset + 1)
        assert not inbox.is_full
    with opened(tmp_path, limit_bytes=1000) as (_, inbox):
        inbox.append(rows(7))
        assert not inbox.is_full
    with opened(tmp_path, limit_bytes=900) as (_, inbox):  # what is there already counts
        assert inbox.is_full


def test_two_processes_cannot_have_the_same_inbox(tmp_path: Path) -> None:
    with opened(tmp_path) as (store, _), pytest.raises(OutputError, match="another process"):
        Inbox(store)
    with opened(tmp_path):
        pass


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as (store, inbox):
        inbox.append(rows(2))
        ((limit,),) = store.rows("PRAGMA max_page_count")
        store.rows("PRAGMA max_page_count = 1")  # as on a disk with no more room
        with pytest.raises(OutputError, match=r"cannot be written \(.*full\); make room") as caught:
            inbox.append([Arrival("", b"", 0.0), *rows(3, 100_000)])
        assert "\n" not in str(caught.value)
        store.rows(f"PRAGMA max_page_count = {limit}")
        inbox.append(rows(1))
        assert [(one.offset, one.lost_until) for one in inbox.read(9)] == [(1, -1), (2, -1), (3, -1)]
        assert inbox.backlog == 0


_APPENDS = """
import sys
from pathlib import Path
from rondo.live.inbox import Arrival, FeedStore, Inbox
inbox, n = Inbox(FeedStore(Path(sys.argv[1]))), 0
while True:
    inbox.append([Arrival("d", b"%d" % n, 0.0), Arrival("d", b"%d" % (n + 1), 0.0)])
    n += 2
    print(n, flush=True)
"""


def test_a_process_killed_while_it_appends_loses_nothing_that_was_confirmed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _APPENDS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        confirmed = [int(process.stdout.readline()) for _ in range(30)]
        process.kill()
        confirmed += [int(line) for line in process.stdout.read().split()]
    with opened(tmp_path) as (_, inbox):
        found = [int(message.payload) for message in inbox.read(10**6)]
    assert found == list(range(len(found)))
    assert confirmed[-1] <= len(found) <= confirmed[-1] + 2


def test_values_are_made_once_and_kept(tmp_path: Path) -> None:
    with closing(FeedStore(tmp_path)) as one, closing(FeedStore(tmp_path)) as other:
        assert one.setdefault("group", lambda: "first") == "first"
        assert other.setdefault("group", lambda: "second") == "first"
        assert other.mark_of("rows/0") is None
        one.put_marks({"rows/0": 7})
        assert other.mark_of("rows/0") == 7


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "feed.sqlite").write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(ModelError, match="damaged"):
        FeedStore(tmp_path)


def test_the_feed_of_an_older_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "inbox").mkdir()
    with pytest.raises(ModelError, match="older version"):
        FeedStore(tmp_path)


def test_a_network_drive_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mounts").write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/data {tmp_path} nfs4 rw 0 0\n")
    monkeypatch.setattr(inbox_module, "_MOUNTS", tmp_path / "mounts")
    with pytest.raises(OutputError, match="nfs4"):
        FeedStore(tmp_path / "live" / "feed")
