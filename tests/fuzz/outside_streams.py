"""Cases about streams: rows on stdin in odd pieces, torn, binary, out of order, and streams that are started again."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.fuzz.outside_base import NAMES, RATE, Base
from tests.fuzz.outside_checks import Case
from tests.fuzz.outside_files import SAME, WRITERS

N_ROWS = 400
HEADER = "time," + ",".join(NAMES)
Piped = Callable[[np.random.Generator, list[str]], list[bytes] | None]


def _text(rows: list[str], header: str = HEADER) -> bytes:
    return ("\n".join([header, *rows]) + "\n").encode()


def _chunks(rng: np.random.Generator, data: bytes) -> list[bytes]:
    ends = np.cumsum(rng.integers(1, 900, size=len(data)))
    return [data[begin:end] for begin, end in zip([0, *ends], ends, strict=False) if begin < len(data)]


def _constant(cells: str) -> list[bytes]:
    return [_text([f"{i / RATE:g},{cells}" for i in range(N_ROWS)])]


def _objects(rows: list[str]) -> bytes:
    named = (dict(zip(HEADER.split(","), map(float, row.split(",")), strict=True)) for row in rows)
    return "".join(json.dumps(row) + "\n" for row in named).encode()


WHOLE: dict[str, Piped] = {  # every row is labelled
    "odd chunks": lambda rng, rows: _chunks(rng, _text(rows)),
    "json": lambda rng, rows: _chunks(rng, _objects(rows)),
    "crlf": lambda rng, rows: [_text(rows).replace(b"\n", b"\r\n")],
    "bom": lambda rng, rows: [b"\xef\xbb\xbf" + _text(rows)],
    "semicolons": lambda rng, rows: [_text(rows).replace(b",", b";")],
}
ODD: dict[str, Piped] = {
    "mid-row end": lambda rng, rows: [_text(rows)[: -int(rng.integers(1, 15))]],
    "binary": lambda rng, rows: [rng.bytes(5000), rng.bytes(5000)],
    "empty": lambda rng, rows: [b""],
    "header only": lambda rng, rows: [_text([])],
    "closed": lambda rng, rows: None,
    "repeated times": lambda rng, rows: [_text([rows[i // 2] for i in range(2 * N_ROWS)])],
    "back in time": lambda rng, rows: [_text(rows[200:] + rows[:200])],
    "bad cells": lambda rng, rows: [_text([row + ("x" if rng.random() < 0.2 else "") for row in rows])],
    "wrong channels": lambda rng, rows: [_text(rows, "time,q,r")],
    "no header": lambda rng, rows: [_text(rows[1:], rows[0])],
    "nul": lambda rng, rows: [_text(rows) + b"\0" * 4000],
    "one row": lambda rng, rows: [_text(rows[:1])],
    "far time": lambda rng, rows: [_text([*rows[:100], "9e18,1,2,3", *rows[100:], "1e308,1,2,3", "-1e308,1,2,3"])],
    "gz": lambda rng, rows: [gzip.compress(_text(rows))],
    "long line": lambda rng, rows: [_text([]) + b"1" * 3_000_000],
    "late header": lambda rng, rows: [b"\n" * 70 + _text(rows)],
    "mixed json": lambda rng, rows: [_text(rows) + b'{"time": 9, "x": 1}\n[1, 2, 3]\n' + _text(rows)],
    "nan": lambda rng, rows: _constant("nan,inf,-inf"),
    "huge numbers": lambda rng, rows: _constant("1e308,-1e308,1e-320"),
    "escape": lambda rng, rows: [_text([row + ",\x1b]0;x\x07" for row in rows], HEADER + ",\x1b[2J")],
}


def piped(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    base.give("run", work)
    kind = [*WHOLE, *ODD][n % (len(WHOLE) + len(ODD))]
    rows = [f"{i / RATE:g}," + ",".join(f"{v:g}" for v in row) for i, row in enumerate(base.values[:N_ROWS])]
    extra = [(), ("--sink", "-"), ("--frozen",), ("--silent", "1s")][int(rng.integers(4)) if kind != "empty" else 0]
    args = ("stream", "run", "--source", "-", "--out", "o", *extra)
    expect, n_rows = ("ok", N_ROWS) if kind in WHOLE else ("either", None)
    return Case(f"piped:{kind}", args, "o", "stream", expect, n_rows, stdin=(WHOLE | ODD)[kind](rng, rows))


def sources(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """Sources that are files of every kind, whole or torn."""
    base.give("run", work)
    (work / "in").mkdir()
    file = SAME[n % len(SAME)]
    path, is_whole = work / "in" / file, rng.random() < 0.7
    WRITERS[file](path, 500)
    if not is_whole:
        data = path.read_bytes()
        path.write_bytes(data[: int(rng.integers(len(data)))])
    args = ("stream", "run", "--source", f"in/{file}", "--out", "o")
    expect, n_rows = ("ok", 500) if is_whole else ("either", None)
    return Case(f"source:{file}:{'whole' if is_whole else 'torn'}", args, "o", "stream", expect, n_rows)


AGAIN: dict[str, dict[str, str]] = {  # what is otherwise when the stream is started again
    "same": {}, "grown": {"text": "grown"}, "shrunk": {"text": "shrunk"}, "changed": {"text": "changed"},
    "gone": {"text": "gone"}, "other model": {"model": "pair"}, "frozen": {"extra": "--frozen"},
    "other set": {"extra": "--set continual.min_support=9"}, "other source": {"source": "day2.csv"},
    "stdin": {"source": "-"},
}  # fmt: skip


def resumed(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """A stream that has ended, started again: the source grew, shrank, changed, or another model or option is given."""
    base.give("live", work, "o")
    for name in ("run", "pair", "day2.csv"):
        base.give(name, work)
    kind = list(AGAIN)[n % len(AGAIN)]
    other = AGAIN[kind]
    text = (base.folder / "walk.csv").read_text()
    texts = {
        "grown": text + "".join(f"{24 + i / RATE:g},1,2,3\n" for i in range(200)),
        "shrunk": text[: len(text) // 2],
        "changed": text.replace("1", "2", 400),
    }
    if kind != "gone":
        (work / "walk.csv").write_text(texts.get(other.get("text", ""), text))
    args = ("stream", other.get("model", "run"), "--source", other.get("source", "walk.csv"), "--out", "o")
    extra = other.get("extra", "").split()
    return Case(f"resumed:{kind}", (*args, *extra), "o", "stream", stdin=[text.encode() if kind == "stdin" else b""])


FAMILIES = (piped, sources, resumed)
