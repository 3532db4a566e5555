"""A sink follows the files of a run: each line at least once, in order, whatever goes down."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rondo.editing.edits import Edits
from rondo.errors import OutputError
from rondo.live import delivery as delivery_module
from rondo.live.delivery import Delivery, file_name_of
from rondo.live.source import SinkMessage, shown_sink, sink_kinds
from rondo.run.decisions import COLUMNS

HEADER = ",".join(COLUMNS) + "\n"


class Heap:
    """A sink that keeps what it gets, and confirms when told to."""

    problem: str | None = None
    n_refused = 0
    waits_at_end = False

    def __init__(self) -> None:
        self.batches: list[list[dict[str, Any]]] = []
        self.n_arrived = 0
        self.is_up = True

    def is_ready(self) -> bool:
        return self.is_up and len(self.batches) - self.n_arrived < 2

    def send(self, batch: Sequence[SinkMessage]) -> None:
        self.batches.append([json.loads(message.text) for message in batch])

    def n_confirmed(self) -> int:
        if self.is_up:
            self.n_arrived = len(self.batches)
        return self.n_arrived

    def close(self) -> None:
        pass

    @property
    def got(self) -> list[dict[str, Any]]:
        return [message for batch in self.batches for message in batch]


def label_lines(start: int, stop: int, unit: int = 3) -> str:
    return "".join(f"{4 * n},{4 * n + 4},{n / 10},{n / 10 + 0.1},{unit},1,0.5,0.25\n" for n in range(start, stop))


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def numbers(sink: Heap, type: str = "label", device: str = "d") -> list[int]:
    return [message["n"] for message in sink.got if message["type"] == type and message["device"] == device]


def pump(delivery: Delivery, folder: Path) -> None:
    """The files in the folder have grown."""
    delivery.news("d", folder, Edits())
    delivery.pump(0.0)


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    (tmp_path / "labels.csv").write_text(HEADER)
    return tmp_path / "labels.csv"


def test_labels_and_events_with_the_numbers_of_their_lines(tmp_path: Path, labels: Path) -> None:
    append(labels, label_lines(0, 2) + "8,12,,,-1,-1,nan,0\n")
    (tmp_path / "events.jsonl").write_text('{"kind":"promote","ids":[4]}\n')
    sink = Heap()
    delivery = Delivery(tmp_path, "heap://", sink)
    delivery.news("d", tmp_path, Edits().named("unit:3", "rest"))
    delivery.pump(0.0)
    first = dict(zip(COLUMNS, (0, 4, 0.0, 0.1, 3, 1, 0.5, 0.25), strict=True))
    nothing = dict(zip(COLUMNS, (8, 12, None, None, -1, -1, None, 0), strict=True))
    assert sink.got[0] == {"type": "label", "device": "d", "n": 0, **first, "unit_name": "rest"}
    assert sink.got[2] == {"type": "label", "device": "d", "n": 2, **nothing}
    assert sink.got[3] == {"type": "event", "device": "d", "n": 0, "kind": "promote", "ids": [4]}
    assert delivery.is_done


def test_a_line_that_is_half_written_waits(tmp_path: Path, labels: Path) -> None:
    sink = Heap()
    delivery = Delivery(tmp_path, "heap://", sink)
    text = label_lines(0, 2)
    append(labels, text[:-5])
    pump(delivery, tmp_path)
    assert numbers(sink) == [0]
    append(labels, text[-5:])
    pump(delivery, tmp_path)
    assert numbers(sink) == [0, 1]


def test_a_sink_that_is_down_lags_and_catches_up_without_memory(tmp_path: Path, labels: Path) -> None:
    sink = Heap()
    delivery = Delivery(tmp_path, "heap://", sink)
    sink.is_up = False
    for n in range(0, 3000, 100):
        append(labels, label_lines(n, n + 100))
        pump(delivery, tmp_path)
    assert (sink.got, delivery.n_behind) == ([], labels.stat().st_size)
    sink.is_up = True
    delivery.pump(0.0)
    assert numbers(sink) == list(range(3000))
    assert max(len(batch) for batch in sink.batches) <= delivery_module.MOST_MESSAGES
    assert delivery.is_done


def test_what_was_not_confirmed_is_sent_again_by_the_next_process(tmp_path: Path, labels: Path) -> None:
    append(labels, label_lines(0, 10))
    first = Heap()
    delivery = Delivery(tmp_path, "heap://", first)
    pump(delivery, tmp_path)
    append(labels, label_lines(10, 20))
    first.n_confirmed = lambda: first.n_arrived  # type: ignore[method-assign]  # from here on nothing is confirmed
    pump(delivery, tmp_path)
    delivery.close(0.0)
    assert numbers(first) == list(range(20))
    second = Heap()
    delivery = Delivery(tmp_path, "heap://", second)
    pump(delivery, tmp_path)
    assert numbers(second) == list(range(10, 20))


def killed_and_cut_back(tmp_path: Path, labels: Path, kept: int) -> Heap:
    """A run that sent 20 labels, was killed, and goes on from a checkpoint after `kept` of them."""
    append(labels, label_lines(0, 20))
    sink = Heap()
    delivery = Delivery(tmp_path, "heap://", sink)
    pump(delivery, tmp_path)
    delivery.store(0.0)
    assert numbers(sink) == list(range(20))
    labels.write_text(HEADER + label_lines(0, kept))
    return sink


def test_the_same_lines_once_more_after_a_cut_are_not_sent_again(tmp_path: Path, labels: Path) -> None:
    killed_and_cut_back(tmp_path, labels, kept=5)
    sink = Heap()
    delivery = Delivery(tmp_path, "heap://", sink)
    for n in range(5, 30, 3):
        pump(delivery, tmp_path)
        append(labels, label_lines(n, n + 3))
    pump(delivery, tmp_path)
    assert numbers(sink) == list(range(20, 32))


@pytest.mark.parametrize("n_restarts", [0, 1, 2])
def test_other_lines_after_a_cut_are_sent(tmp_path: Path, labels: Path, n_restarts: int) -> None:
    """A pipe cannot be read again: what follows the checkpoint is new, and none of it may be taken for sent."""
    killed_and_cut_back(tmp_path, labels, kept=5)
    sink = Heap()
    delivery = Delivery(tmp_path, "heap://", sink)
    for n in range(5, 30):
        if n - 7 in range(n_restarts):  # stopped and started again before the file has its old length
            delivery.close(0.0)
            delivery = Delivery(tmp_path, "heap://", sink)
        pump(delivery, tmp_path)
        append(labels, label_lines(n, n + 1, unit=6))
    pump(delivery, tmp_path)
    assert numbers(sink) == list(range(5, 30))
    assert {message["unit"] for message in sink.got} == {6}


def test_other_lines_that_stay_fewer_are_sent_at_the_end(tmp_path: Path, labels: Path) -> None:
    killed_and_cut_back(tmp_path, labels, kept=5)
    sink = Heap()
    delivery = Delivery(tmp_path, "heap://", sink)
    delivery.news("d", tmp_path, Edits())
    append(labels, label_lines(5, 8, unit=6))
    delivery.pump(0.0)
    assert sink.got == []
    delivery.look_everywhere()
    delivery.pump(0.0, at_end=True)
    assert numbers(sink) == [5, 6, 7]
    assert delivery.is_done


def test_every_device_gets_its_turn(tmp_path: Path) -> None:
    sink = Heap()
    delivery = Delivery(tmp_path, "heap://", sink)
    for name, n in (("loud", 5000), ("quiet", 3)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "labels.csv").write_text(HEADER + label_lines(0, n))
        delivery.news(name, tmp_path / name, Edits())
    delivery.pump(0.0)
    assert [message["device"] for message in sink.got].index("quiet") <= 2 * delivery_module.MOST_MESSAGES
    for _ in range(5):
        delivery.pump(0.0)
    assert [numbers(sink, device=name) for name in ("loud", "quiet")] == [list(range(5000)), [0, 1, 2]]


def test_places_of_devices_that_stay_away_are_kept(tmp_path: Path, labels: Path) -> None:
    append(labels, label_lines(0, 4))
    for name in ("d", "other"):
        delivery = Delivery(tmp_path, "heap://", Heap())
        delivery.news(name, tmp_path, Edits())
        delivery.pump(0.0)
        delivery.close(0.0)
    again = Heap()
    delivery = Delivery(tmp_path, "heap://", again)
    pump(delivery, tmp_path)
    assert again.got == []


@pytest.mark.parametrize("content", ["", "[]", '{"devices": {"d": {"labels.csv": {"place": [1]}}}}', '{"devices": 3}'])
def test_places_that_cannot_be_read_send_everything_again(tmp_path: Path, labels: Path, content: str) -> None:
    append(labels, label_lines(0, 2))
    (tmp_path / "sinks").mkdir()
    (tmp_path / "sinks" / f"{file_name_of('heap://')}.json").write_text(content)
    sink = Heap()
    delivery = Delivery(tmp_path, "heap://", sink)
    pump(delivery, tmp_path)
    assert numbers(sink) == [0, 1]


def test_a_line_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery_module, "_BLOCK_BYTES", 16)
    (tmp_path / "events.jsonl").write_text(json.dumps({"text": "x" * 100}) + "\n" + '{"b": 1}\n')
    sink = Heap()
    delivery = Delivery(tmp_path, "heap://", sink)
    pump(delivery, tmp_path)
    assert numbers(sink, "event") == [0, 1]


def test_a_journal_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("oops\n")
    delivery = Delivery(tmp_path, "heap://", Heap())
    delivery.news("d", tmp_path, Edits())
    with pytest.raises(OutputError, match=r"events\.jsonl: .*line 1"):
        delivery.pump(0.0)


# ------------------------------------------------------------ which sinks there are


def test_the_kinds_of_sinks() -> None:
    assert [kind.name for kind in sink_kinds()] == ["standard output", "mqtt", "kafka", "webhook"]


def test_the_path_of_a_web_page_is_not_shown() -> None:
    assert shown_sink("https://hooks.example.com/T0/secret?x=y") == "https://hooks.example.com/..."
    assert "secret" not in file_name_of("https://hooks.example.com/T0/secret")
    assert file_name_of("https://h/a") != file_name_of("https://h/b")
