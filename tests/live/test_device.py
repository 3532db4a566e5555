"""Messages of one device as rows: the same rows as from a file, each once, whatever is killed in between."""

from __future__ import annotations

import io
import json
import warnings
from typing import Any

import numpy as np
import pytest

from rondo.live.device import DeviceRows, MessageRules
from rondo.live.source import Message, Request, Rows

pytestmark = pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
CHANNELS = ("x", "y")
N_ROWS = 150


def message(payload: bytes | str, offset: int, **more: Any) -> Message:
    text = payload.encode() if isinstance(payload, str) else payload
    return Message("d", text, "p", offset, more.pop("arrived_s", float(offset)), **more)


def table(n_rows: int = N_ROWS) -> np.ndarray[Any, Any]:
    """Time, x and y; times as binary fractions, so that text holds them exactly."""
    places = np.arange(n_rows)
    return np.column_stack([places / 64, np.sin(places / 5).astype(np.float32), np.cos(places / 5).astype(np.float32)])


def as_objects(rows: np.ndarray[Any, Any]) -> str:
    return json.dumps([dict(zip(("time", *CHANNELS), row, strict=True)) for row in rows.tolist()])


def as_npy(rows: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, rows)
    return file.getvalue()


def drained(source: DeviceRows) -> list[Rows]:
    given = []
    while (rows := source.read(1000)) is not None:
        given.append(rows)
    return given


def opened(bookmark: Any = None, rules: MessageRules | None = None) -> DeviceRows:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = None if bookmark is None else json.loads(json.dumps(bookmark))
        return DeviceRows("d", rules or MessageRules(), Request(CHANNELS, 64.0, True, kept))


def joined(given: list[Rows]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rows = [own for own in given if len(own.values)]
    assert all(own.times_s is not None for own in rows)
    return np.concatenate([own.values for own in rows]), np.concatenate([own.times_s for own in rows])  # type: ignore[misc]


def skips(given: list[Rows]) -> list[tuple[int, str]]:
    return [(skip.n_lines, skip.reason) for own in given for skip in own.skipped]


def test_messages_that_cannot_be_read_are_skipped_each_with_its_reason() -> None:
    source = opened()
    for place, payload in enumerate([as_objects(table(100)), "{broken", "", as_objects(table(120)[100:])]):
        source.take(message(payload, place))
    given = drained(source)
    assert len(joined(given)[0]) == 120
    assert [n for n, _ in skips(given)] == [1, 1]
    assert "JSON" in skips(given)[0][1] and "empty" in skips(given)[1][1]


def npy_with_header(text: str) -> bytes:
    return b"\x93NUMPY\x01\0" + len(text).to_bytes(2, "little") + text.encode("latin-1")


HOSTILE = [
    npy_with_header("{'descr': {×'descr': "), npy_with_header("(" * 60_000), npy_with_header("[" * 90 + "]" * 90),
    npy_with_header("__import__('os').abort()"), npy_with_header("{'descr': '<f4', 'shape': (1, 3)"),
    npy_with_header("{'descr': '|O', 'fortran_order': False, 'shape': (1, 3)}"), npy_with_header("-" * 60_000 + "1"),
    npy_with_header("{'descr': '<f4', 'fortran_order': False, 'shape': (10000000000000, 3)}"), b"\x93NUMPY\x09\0",
    b"\x93NUMPY\x01\0\xff\xff{", b'{"x":' * 900 + b"1" + b"}" * 900, b"[" * 100_000, b'{"a":' * 100_000,
    b'{"x":' * 40 + b"1" + b"}" * 40, b'{"x":' + b"[" * 900 + b"]" * 900 + b"}", b"\0" * 1000, b"\xff\xfe\xfd", b"null",
]  # fmt: skip


@pytest.mark.parametrize("payload", HOSTILE, ids=range(len(HOSTILE)))
def test_no_payload_is_more_than_a_message_that_is_skipped(payload: bytes) -> None:
    source = opened()
    source.take(message(as_objects(table(100)), 0))
    source.take(message(payload, 1))
    source.take(message(as_objects(table(120)[100:]), 2))
    given = drained(source)
    assert len(joined(given)[0]) == 120
    assert skips(given) or any(own.n_unreadable for own in given)


def test_what_is_no_table_of_these_channels_is_passed_over_until_it_is_one() -> None:
    source = opened()
    source.take(message(json.dumps([{"time": i, "z": 1.5} for i in range(70)]), 0))
    source.take(message(as_objects(table(100)), 1))
    given = drained(source)
    ((n_lines, reason),) = skips(given)
    assert n_lines == 70 and "'x'" in reason
    assert len(joined(given)[0]) == 100


def test_rows_that_repeat_the_first_one_are_rows() -> None:
    source = opened()
    for place in range(100):
        source.take(message("0.5,0.25", place, arrived_s=None))
    assert sum(len(own.values) for own in drained(source)) == 100


def boundaries(given: list[Rows]) -> list[str]:
    return [reason for n_lines, reason in skips(given) if not n_lines]


def test_a_loss_is_a_boundary_before_the_rows_that_follow_it() -> None:
    source = opened()
    source.take(message(as_objects(table(100)), 0))
    source.take(message(as_objects(table(150)[100:]), 1, lost_until=1))
    given = drained(source)
    assert [len(own.values) for own in given] == [100, 0, 50]
    assert boundaries(given) == ["messages were lost before this one"]


@pytest.mark.parametrize("is_timed", [False, True])
def test_silence_is_a_boundary_where_rows_have_no_times(is_timed: bool) -> None:
    rows = table()[:, 0 if is_timed else 1 :]
    source = opened()
    for place, (part, arrived_s) in enumerate(zip(np.split(rows, 3), (0.0, 9.0, 20.0), strict=True)):
        source.take(message(as_npy(part), place, arrived_s=arrived_s))
    expected = [] if is_timed else ["silent for 11 s, and the rows have no times"]
    assert boundaries(drained(source)) == expected


@pytest.mark.parametrize("is_timed", [False, True])
@pytest.mark.parametrize("n_before", [1, 10, 50])
def test_silence_before_the_first_rows_are_given(is_timed: bool, n_before: int) -> None:
    """Rows of text are held back until there are 64: what they hold tells by then whether they have times."""
    names = ("time", *CHANNELS) if is_timed else CHANNELS
    rows = table()[:, 0 if is_timed else 1 :]
    source = opened()
    for place, (part, arrived_s) in enumerate(zip(np.split(rows, [n_before]), (0.0, 20.0), strict=True)):
        payload = json.dumps([dict(zip(names, row, strict=True)) for row in part.tolist()])
        source.take(message(payload, place, arrived_s=arrived_s))
    given = drained(source)
    assert boundaries(given) == ([] if is_timed else ["silent for 20 s, and the rows have no times"])
    assert sum(len(own.values) for own in given) == N_ROWS


def test_numbered_messages_that_come_twice_are_skipped_and_missing_ones_are_a_boundary() -> None:
    def numbered(number: int, part: np.ndarray[Any, Any]) -> str:
        return json.dumps({"seq": number, "x": part[:, 1].tolist(), "y": part[:, 2].tolist()})

    parts = np.split(table(300), 3)
    source = opened(rules=MessageRules(sequence="seq"))
    for place, (number, part) in enumerate([(1, parts[0]), (1, parts[0]), (2, parts[1]), (4, parts[2])]):
        source.take(message(numbered(number, part), place, arrived_s=0.0))
    given = drained(source)
    assert sum(len(own.values) for own in given) == 300
    assert [reason for _, reason in skips(given)] == [
        "number 1 came after 1: sent twice, or late",
        "1 messages are missing before number 4",
    ]


@pytest.mark.parametrize("kind", ["float32", "time+float64"])
def test_plain_numbers_in_the_type_that_the_address_names(kind: str) -> None:
    rows = table(20)
    timed = kind.startswith("time+")
    dtype = np.dtype(kind.removeprefix("time+"))
    packed = np.zeros(20, np.dtype([("time", "<f8"), ("values", dtype, (2,))]))
    packed["time"], packed["values"] = rows[:, 0], rows[:, 1:]
    source = opened(rules=MessageRules(payload=kind))
    source.take(message(packed.tobytes() if timed else rows[:, 1:].astype(dtype).tobytes(), 0))
    source.take(message(b"\1\2\3", 1))
    given = drained(source)
    assert np.array_equal(given[0].values, rows[:, 1:].astype(np.float32)) and (given[0].times_s is not None) == timed
    assert len(skips(given)) == 1 and "3 bytes" in skips(given)[0][1]
