"""Cases about streams: rows on stdin in odd pieces, torn, binary, out of order, and pipes that are closed."""

import gzip
import json
from pathlib import Path

import numpy as np

from tests.fuzz.outside_base import NAMES, RATE, Base
from tests.fuzz.outside_checks import Case


def _rows(base: Base, count: int = 400) -> list[str]:
    return [f"{i / RATE:g}," + ",".join(f"{v:g}" for v in row) for i, row in enumerate(base.values[:count])]


def _chunks(rng: np.random.Generator, data: bytes, size: int) -> list[bytes]:
    chunks = []
    while data:
        step = int(rng.integers(1, size))
        chunks.append(data[:step])
        data = data[step:]
    return chunks


def piped(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    base.give("run", work)
    rows, header = _rows(base), "time," + ",".join(NAMES)
    kind = (
        "odd chunks",
        "mid-row end",
        "binary",
        "empty",
        "header only",
        "closed",
        "repeated times",
        "back in time",
        "bad cells",
        "wrong channels",
        "json",
        "no header",
        "nul",
        "one row",
        "far time",
        "crlf",
        "gz",
        "long line",
        "late header",
        "mixed json",
        "nan",
        "escape",
        "huge numbers",
        "bom",
        "semicolons",
    )[n % 25]
    rows_expected: int | None = None
    text = header + "\n" + "\n".join(rows) + "\n"
    data: list[bytes] | None
    if kind == "odd chunks":
        data, rows_expected = _chunks(rng, text.encode(), 900), 400
    elif kind == "mid-row end":
        data = [text.encode()[: -int(rng.integers(1, 15))]]
    elif kind == "binary":
        data = [rng.bytes(5000), rng.bytes(5000)]
    elif kind == "empty":
        data = [b""]
    elif kind == "header only":
        data = [header.encode() + b"\n"]
    elif kind == "closed":
        data = None
    elif kind == "repeated times":
        data = [(header + "\n" + "\n".join(rows[i // 2] for i in range(800)) + "\n").encode()]
    elif kind == "back in time":
        data = [(header + "\n" + "\n".join(rows[200:] + rows[:200]) + "\n").encode()]
    elif kind == "bad cells":
        data = [(header + "\n" + "\n".join(row + ("x" if rng.random() < 0.2 else "") for row in rows) + "\n").encode()]
    elif kind == "wrong channels":
        data = [("time,q,r\n" + "\n".join(rows) + "\n").encode()]
    elif kind == "json":
        lines = [
            json.dumps({"time": i / RATE, **dict(zip(NAMES, map(float, row), strict=True))})
            for i, row in enumerate(base.values[:400])
        ]
        data, rows_expected = _chunks(rng, ("\n".join(lines) + "\n").encode(), 2000), 400
    elif kind == "no header":
        data = [("\n".join(rows) + "\n").encode()]
    elif kind == "nul":
        data = [text.encode() + b"\0" * 4000]
    elif kind == "one row":
        data = [(header + "\n" + rows[0] + "\n").encode()]
    elif kind == "far time":
        data = [
            (
                header
                + "\n"
                + "\n".join([*rows[:100], "9e18,1,2,3", *rows[100:], "1e308,1,2,3", "-1e308,1,2,3"])
                + "\n"
            ).encode()
        ]
    elif kind == "crlf":
        data, rows_expected = [text.replace("\n", "\r\n").encode()], 400
    elif kind == "gz":
        data = [gzip.compress(text.encode())]
    elif kind == "long line":
        data = [header.encode() + b"\n" + b"1" * 3_000_000]
    elif kind == "late header":
        data = [("\n" * 70 + text).encode()]
    elif kind == "mixed json":
        data = [(text + '{"time": 9, "ax": 1}\n[1, 2, 3]\n' + text).encode()]
    elif kind == "nan":
        data = [(header + "\n" + "\n".join(f"{i / RATE:g},nan,inf,-inf" for i in range(400)) + "\n").encode()]
    elif kind == "escape":
        data = [(header + ",\x1b[2J\n" + "\n".join(row + ",\x1b]0;x\x07" for row in rows) + "\n").encode()]
    elif kind == "huge numbers":
        data = [(header + "\n" + "\n".join(f"{i / RATE:g},1e308,-1e308,1e-320" for i in range(400)) + "\n").encode()]
    elif kind == "bom":
        data, rows_expected = [b"\xef\xbb\xbf" + text.encode()], 400
    else:
        data, rows_expected = [text.replace(",", ";").encode()], 400
    extra = [(), ("--sink", "-"), ("--frozen",), ("--silent", "1s")][int(rng.integers(4))]
    extra = () if kind == "empty" else extra
    return Case(
        f"piped:{kind}",
        ("stream", "run", "--source", "-", "--out", "o", *extra),
        "o",
        "stream",
        "ok" if rows_expected else "either",
        rows_expected,
        stdin=data,
    )


def sources(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """Sources that are files of every kind, folders, or nothing."""
    from tests.fuzz.outside_binaries import WITH_NAMES
    from tests.fuzz.outside_texts import WRITERS

    base.give("run", work)
    (work / "in").mkdir()
    writers = (*WITH_NAMES, *WRITERS)
    writer = writers[n % len(writers)]
    path = writer(rng, work / "in", base.values[:500])
    name = writer.__name__
    whole = rng.random() < 0.7
    if not whole:
        data = path.read_bytes()
        path.write_bytes(data[: int(rng.integers(len(data)))])
    source = f"in/{path.name}" if rng.random() < 0.7 or name not in ("semicolons", "remarks") else "in"
    ok = whole and name not in ("tails", "header_again", "all_quoted", "encodings", "mat")
    return Case(
        f"source:{name}:{'whole' if whole else 'torn'}",
        ("stream", "run", "--source", source, "--out", "o"),
        "o",
        "stream",
        "ok" if ok else "either",
        500 if ok else None,
    )


def resumed(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """A stream that has ended, started again: the source grew, shrank, changed, or another model or option is given."""
    base.give("live", work, "o")
    base.give("run", work)
    base.give("pair", work)
    text = (base.folder / "walk.csv").read_text()
    kind = (
        "same",
        "grown",
        "shrunk",
        "changed",
        "gone",
        "other model",
        "frozen",
        "other set",
        "other source",
        "stdin",
    )[n % 10]
    model, source, extra, stdin = "run", "walk.csv", (), [b""]
    if kind == "grown":
        text += "".join(f"{24 + i / RATE:g},1,2,3\n" for i in range(200))
    elif kind == "shrunk":
        text = text[: len(text) // 2]
    elif kind == "changed":
        text = text.replace("1", "2", 400)
    elif kind == "other model":
        model = "pair"
    elif kind == "frozen":
        extra = ("--frozen",)
    elif kind == "other set":
        extra = ("--set", "continual.min_support=9")
    elif kind == "other source":
        source = "day2.csv"
        base.give("day2.csv", work)
    elif kind == "stdin":
        source, stdin = "-", [text.encode()]
    if kind != "gone":
        (work / "walk.csv").write_text(text)
    return Case(
        f"resumed:{kind}",
        ("stream", model, "--source", source, "--out", "o", *extra),
        "o",
        "stream",
        "either",
        stdin=stdin,
    )


FAMILIES = (piped, sources, resumed)
