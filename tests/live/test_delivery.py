"""A sink follows the files of a run: each line at least once, in order, whatever goes down."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

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


STEPS = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 400)),
    st.tuples(st.just("append"), st.integers(1, 400)),
    st.tuples(st.sampled_from(["half a line", "down", "up", "restart", "kill"]), st.just(0)),
    st.tuples(st.sampled_from(["cut, the same follow", "cut, others follow"]), st.integers(0, 500)),
)


@settings(max_examples=80, deadline=None)
@given(st.lists(STEPS, max_size=12))
@example([("append", 20), ("cut, others follow", 5), ("append", 13), ("kill", 0), ("append", 10)])
@example([("append", 20), ("cut, others follow", 5), ("append", 3)])
def test_every_line_arrives_whatever_goes_down(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    """A run that is killed goes on from a checkpoint, which cuts its file back. A file gives the same lines again, a
    pipe gives others."""
    folder = tmp_path_factory.mktemp("out")
    labels, sinks = folder / "labels.csv", [Heap()]
    units: list[int] = []  # of the lines, the last ones perhaps not written yet
    n_lines, n_half, ever = 0, 0, set[tuple[int, int]]()
    labels.write_text(HEADER)
    delivery = Delivery(folder, "heap://", sinks[0])
    pump(delivery, folder)
    for what, n in [*steps, ("up", 0), ("append", 1)]:
        if what == "append":
            units += [units[-1] if units else 3] * max(0, n_lines + n - len(units))
            ever |= {(i, units[i]) for i in range(n_lines, n_lines + n)}
            append(labels, "".join(label_lines(i, i + 1, units[i]) for i in range(n_lines, n_lines + n))[n_half:])
            n_lines, n_half = n_lines + n, 0
        elif what == "half a line" and n_lines < len(units) and not n_half:
            n_half = 5
            append(labels, label_lines(n_lines, n_lines + 1, units[n_lines])[:n_half])
        elif what in ("up", "down"):
            sinks[-1].is_up = what == "up"
        elif what in ("restart", "kill") or what.startswith("cut"):
            if what == "restart":
                delivery.close(0.0)
            if what.startswith("cut"):
                n_lines, n_half = min(n, n_lines), 0
                labels.write_text(HEADER + "".join(label_lines(i, i + 1, units[i]) for i in range(n_lines)))
            if what == "cut, others follow":
                units[n_lines:] = [max([*units, 3]) + 1] * (len(units) - n_lines)
            sinks.append(Heap())
            delivery = Delivery(folder, "heap://", sinks[-1])
        pump(delivery, folder)
    delivery.look_everywhere()
    delivery.pump(0.0, at_end=True)
    assert delivery.is_done
    for sink in sinks:
        assert numbers(sink) == sorted(set(numbers(sink)))
        assert all(len(batch) <= delivery_module.MOST_MESSAGES for batch in sink.batches)
    got = [(message["n"], message["unit"]) for sink in sinks for message in sink.got]
    assert set(got) <= ever
    assert [dict(got)[n] for n in range(n_lines)] == units[:n_lines]
    if not {what for what, _ in steps} & {"down", "kill", "cut, others follow"}:
        assert len(got) == len(set(got))  # and only once


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
