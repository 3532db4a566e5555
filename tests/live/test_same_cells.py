"""One file, one result: `label` and `stream` read the same values and the same clock from odd files, or say why not."""

from __future__ import annotations

import json
import warnings
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest

from rondo.data.known_channels import KnownChannel
from rondo.errors import RecordingError, RondoWarning
from rondo.files.missing import MissingCells
from rondo.files.read import read_recording
from rondo.files.reading import Reading
from rondo.live.device import DeviceRows, MessageRules
from rondo.live.source import Message, Request, Source, open_source

N = 200
V = np.round(np.random.default_rng(0).normal(size=(N, 2)), 3)
KNOWN = (KnownChannel("a", (-999.0, -200.0, 9999.0)), KnownChannel("b", (-999.0, -200.0, 9999.0)))
POSE = tuple(KnownChannel(name, (-200.0,)) for name in ("nose.x", "nose.y"))
EVENING, MORNING = datetime(2024, 3, 4, 22, 10), datetime(2024, 3, 4, 10, 10)


class Read(NamedTuple):
    """What was read, and all that was said about it."""

    values: np.ndarray
    times_s: np.ndarray | None
    said: list[str]


def lines(header: str, row: str, **cells: object) -> str:
    """A file of one line per row; in it {t}, {a} and {b}, or what `cells` give for row i, stand in each line."""
    rows = [
        row.format(t=i / 50, i=i, **({"a": V[i, 0], "b": V[i, 1]} | {name: own(i) for name, own in cells.items()}))  # type: ignore[operator]
        for i in range(N)
    ]
    return "\n".join([header, *rows]) + "\n"


def stamped(begin: datetime, form: str, seconds: int = 60) -> str:
    when = lambda i: (begin + timedelta(seconds=seconds * i)).strftime(form)  # noqa: E731
    return lines("when,a,b", "{when},{a},{b}", when=when)


CLEAN = lines("time,a,b", "{t},{a},{b}")
ALIKE = {
    "clean": CLEAN,
    "-200 often": lines("time,a,b", "{t},{a},{b}", a=lambda i: -200 if i % 20 == 7 else V[i, 0]),
    "-999 once, late": lines("time,a,b", "{t},{a},{b}", b=lambda i: -999 if i == 150 else V[i, 1]),
    "9999 in the first row": lines("time,a,b", "{t},{a},{b}", a=lambda i: 9999 if i == 0 else V[i, 0]),
    "mostly a code": lines("time,a,b", "{t},{a},{b}", a=lambda i: -200 if i % 10 else V[i, 0]),
    "a number that is no code here": lines("time,a,b", "{t},{a},{b}", a=lambda i: -99 if i % 20 == 3 else V[i, 0]),
    "codes with decimal commas": lines("time;a;b", "{t};{a};{b}", a=lambda i: "-200,0" if i % 20 == 7 else f"{i % 7},5",
                                       b=lambda i: f"{i % 5},25").replace(".", ","),
    "codes without a header": "".join(f"{-200 if i % 20 == 7 else V[i, 0]},{V[i, 1]}\n" for i in range(N)),
    "codes in JSON lines": "".join(
        json.dumps({"time": i / 50, "a": -200 if i % 20 == 7 else V[i, 0], "b": V[i, 1]}) + "\n" for i in range(N)
    ),
    "NA cells": lines("time,a,b", "{t},{a},{b}", a=lambda i: "NA" if i % 9 == 0 else V[i, 0]),
    "empty for a hundred rows": lines("time,a,b", "{t},{a},{b}", a=lambda i: "" if i < 100 else V[i, 0]),
    "labels and ids": lines("time,a,b,activity,anomaly,subject", "{t},{a},{b},{c},{d},3", c=lambda i: i // 50,
                            d=lambda i: int(i > 150)),
    "labels in words": lines("time,a,b,activity", "{t},{a},{b},walk"),
    "a counter": lines("n,a,b", "{i},{a},{b}"),
    "a counter that wraps": lines("frame,a,b", "{w},{a},{b}", w=lambda i: i % 100),
    "units": lines("time,a,b\nms,g,g", "{ms},{a},{b}", ms=lambda i: i * 20),
    "milliseconds by their steps": lines("time,a,b", "{ms},{a},{b}", ms=lambda i: i * 20),
    "milliseconds since 1970": lines("stamp,a,b", "{ms},{a},{b}", ms=lambda i: 1714550400000 + i * 20),
    "a slow sensor": lines("time,a,b", "{t},{a},{b}", b=lambda i: V[i, 1] if i % 10 == 0 else ""),
    "the header again": CLEAN.replace("\n2.4,", "\ntime,a,b\n2.4,"),
    "day first, one day": stamped(MORNING, "%d/%m/%Y %H:%M:%S"),
    "month first, one day": stamped(MORNING, "%m/%d/%Y %H:%M:%S"),
    "month first, midnight late": stamped(EVENING, "%m/%d/%Y %H:%M:%S"),
    "day first, plain in the head": stamped(datetime(2024, 3, 28, 10, 10), "%d/%m/%Y %H:%M:%S"),
    "times of day": stamped(EVENING, "%H:%M:%S"),
    "date and time apart": stamped(EVENING, "%d.%m.%Y,%H:%M:%S").replace("when", "Date,Time"),
    "a zone": stamped(EVENING, "%Y-%m-%dT%H:%M:%S+02:00"),
    "a temperature T": lines("Time,T,a,b", "{i},{c},{a},{b}", c=lambda i: 20 + V[i, 0]),
    "rows without values": lines("time,a,b", "{t},{both}", both=lambda i: "," if i == 120 else f"{V[i, 0]},{V[i, 1]}"),
    "quotes": lines('"time","a","b"', '"{t}","{a}","{b}"'),
    "blanks": lines("time a b", "{t}  {a}   {b}"),
    "other line ends": CLEAN.replace("\n", "\r\n"),
    "a torn end": CLEAN + "4.0,1",
    "blank rows at the end": CLEAN + ",,\n,,\n",
    "?": lines("time,a,b", "{t},{a},{b}", a=lambda i: "?" if i == 100 else V[i, 0]),
    "a table below statistics": "Statistics\n" + "".join(f"mean {i},{i}\n" for i in range(90)) + "\nData\n" + CLEAN,
}  # fmt: skip
LABEL_REFUSES = {
    "text late": lines("time,a,b", "{t},{a},{b}", a=lambda i: "ERR" if i == 170 else V[i, 0]),
    "infinite": lines("time,a,b", "{t},{a},{b}", a=lambda i: "inf" if i == 120 else V[i, 0]),
    "decimal commas late": lines("time;a;b", "{i};{a};{b}", a=lambda i: i % 7, b=lambda i: "1,5" if i > 99 else i % 5),
    "a long line": CLEAN.replace("\n2.4,", "\n2.4,1,"),
    "a line without a time": CLEAN.replace("\n2.4,", "\n,"),
    "a remark late": CLEAN.replace("\n2.4,", "\n# paused\n2.4,"),
}
"""A stored file can be corrected, so `label` names the line; a stream goes on, and counts or names what it skips."""
STREAM_REFUSES = {
    "labels without a name": "".join(f"{V[i, 0]},{V[i, 1]},{[0, 3, 1, 7][i // 50]}\n" for i in range(N)),
}


def read_by_label(path: Path, known: tuple[KnownChannel, ...]) -> Read:
    found = read_recording(path, Reading(known=known))
    names = [channel.name for channel in known]
    if found.is_unnamed:
        names = list(found.channels)
    return Read(found.values[:, [found.channels.index(name) for name in names]], found.timestamps_s, list(found.notes))


def read_by_stream(source: Source, known: tuple[KnownChannel, ...], at_most: int = 37) -> Read:
    cells = MissingCells.of(known)
    values, times, said = [np.empty((0, len(known)), np.float32)], [], []
    with closing(source), warnings.catch_warnings():
        warnings.simplefilter("ignore", RondoWarning)
        while not source.ended and (rows := source.read(at_most)) is not None:
            values.append(cells.read(rows.values, rows.beside)[0])
            times += [] if rows.times_s is None else [rows.times_s]
            said += [skip.reason for skip in rows.skipped] + ["unreadable"] * rows.n_unreadable
    return Read(np.concatenate(values), np.concatenate(times) if times else None, said)


def opened(path: Path, known: tuple[KnownChannel, ...]) -> Source:
    cells = MissingCells.of(known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RondoWarning)
        return open_source(str(path), Request(cells.channels, beside=cells.beside))


def stored(folder: Path, text: str) -> Path:
    path = folder / ("day.jsonl" if text.startswith("{") else "day.csv")
    path.write_text(text, encoding="utf-8", newline="")
    return path


def assert_alike(some: Read, other: Read) -> None:
    npt.assert_array_equal(some.values, other.values)
    assert (some.times_s is None) == (other.times_s is None)
    if some.times_s is not None and other.times_s is not None:
        npt.assert_allclose(some.times_s, other.times_s, rtol=0, atol=1e-6)


@pytest.mark.parametrize("what", ALIKE)
def test_label_and_stream_read_the_same(tmp_path: Path, what: str) -> None:
    path = stored(tmp_path, ALIKE[what])
    by_label = read_by_label(path, KNOWN)
    assert_alike(read_by_stream(opened(path, KNOWN), KNOWN), by_label)
    if "code" in what or what.startswith(("-", "9")):
        assert np.isnan(by_label.values).any() == ("no code" not in what)


@pytest.mark.parametrize("what", LABEL_REFUSES)
def test_what_label_refuses_a_stream_skips_and_says(tmp_path: Path, what: str) -> None:
    path = stored(tmp_path, LABEL_REFUSES[what])
    with pytest.raises(RecordingError, match=r"day\.csv: "):
        read_by_label(path, KNOWN)
    found = read_by_stream(opened(path, KNOWN), KNOWN)
    assert found.said
    assert len(found.values) >= N - 1


@pytest.mark.parametrize("what", STREAM_REFUSES)
def test_what_only_the_whole_file_tells_a_stream_refuses(tmp_path: Path, what: str) -> None:
    path = stored(tmp_path, STREAM_REFUSES[what])
    assert read_by_label(path, KNOWN).values.shape == (N, 2)
    with pytest.raises(RecordingError, match=r"day\.csv: .*lacks"):
        opened(path, KNOWN)


def test_a_guess_about_dates_that_only_later_rows_settle_is_said(tmp_path: Path) -> None:
    path = stored(tmp_path, stamped(EVENING, "%d/%m/%Y %H:%M:%S").replace("when", "time"))
    cells = MissingCells.of(KNOWN)
    with pytest.warns(RondoWarning, match="month, day, year; write 2026-11-15"):
        open_source(str(path), Request(cells.channels, beside=cells.beside)).close()


def pose(word: str = "likelihood") -> dict[str, list[float]]:
    """A nose that is doubtful in rows 50 to 59, with a code in row 80, and a point that the model does not know."""
    path = np.round(np.cumsum(np.random.default_rng(1).normal(size=(N, 2)), axis=0), 3)
    path[80, 0] = -200
    sure = np.where((np.arange(N) >= 50) & (np.arange(N) < 60), 0.05, 0.9)
    corner = np.round(np.random.default_rng(2).normal(size=N), 3)
    columns = {"time": np.arange(N) / 50, "nose.x": path[:, 0], "nose.y": path[:, 1], f"nose.{word}": sure}
    return {name: column.tolist() for name, column in (columns | {"ear.x": corner, "activity": corner}).items()}


@pytest.mark.parametrize("word", ["likelihood", "score"])
def test_poses_in_text_parquet_and_messages(tmp_path: Path, word: str) -> None:
    table = pl.DataFrame(pose(word))
    table.write_csv(tmp_path / "mouse.csv")
    table.write_parquet(tmp_path / "mouse.parquet")
    by_label = read_by_label(tmp_path / "mouse.csv", POSE)
    expected = np.zeros((N, 2), np.bool_)
    expected[50:60] = expected[80, 0] = True
    npt.assert_array_equal(np.isnan(by_label.values), expected)
    for name in ("mouse.csv", "mouse.parquet"):
        assert_alike(read_by_stream(opened(tmp_path / name, POSE), POSE), by_label)
    assert_alike(read_by_stream(device(table, word), POSE), by_label)


def device(table: pl.DataFrame, word: str) -> DeviceRows:
    """A device that sends each row as a JSON object with a point inside."""
    cells = MissingCells.of(POSE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RondoWarning)
        rows = DeviceRows("d", MessageRules(), Request(cells.channels, follow=True, beside=cells.beside))
        for number, row in enumerate(table.iter_rows(named=True)):
            point = {axis: row[f"nose.{axis}"] for axis in ("x", "y", word)}
            payload = json.dumps({"time": row["time"], "nose": point, "activity": row["activity"]}).encode()
            rows.take(Message("d", payload, "p", number))
    return rows


def test_a_file_of_deeplabcut(tmp_path: Path) -> None:
    columns = pose()
    names = ("nose.x", "nose.y", "nose.likelihood")
    head = ["scorer" + ",net" * 3, "bodyparts" + ",nose" * 3, "coords,x,y,likelihood"]
    rows = [f"{i}," + ",".join(str(columns[name][i]) for name in names) for i in range(N)]
    path = stored(tmp_path, "\n".join([*head, *rows]) + "\n")
    by_label = read_by_label(path, POSE)
    assert np.isnan(by_label.values).sum() == 21
    assert_alike(read_by_stream(opened(path, POSE), POSE), by_label)
