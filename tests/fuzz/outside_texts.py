"""Tables in text, valid but odd: each writer puts the same numbers into a file as loggers and spreadsheets do."""

import bz2
import csv
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.fuzz.outside_base import NAMES, RATE

Rows = list[list[str]]
Writer = Callable[[np.random.Generator, Path, np.ndarray], Path]


def _cells(values: np.ndarray, form: str = "g") -> Rows:
    return [[f"{n / RATE:g}", *(format(v, form) for v in row)] for n, row in enumerate(values)]


def _text(rows: Rows, separator: str = ",", header: list[str] | None = None, end: str = "\n") -> str:
    lines = [separator.join(header or ["time", *NAMES])] + [separator.join(row) for row in rows]
    return end.join(lines) + end


def semicolons(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.csv"
    path.write_text(_text(_cells(values), str(rng.choice([";", "|", "\t"]))))
    return path


def decimal_commas(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.csv"
    rows = [[cell.replace(".", ",") for cell in row] for row in _cells(values, ".3f")]
    path.write_text(_text(rows, ";"))
    return path


def encodings(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.csv"
    path.write_bytes(_text(_cells(values)).encode(str(rng.choice(["utf-8-sig", "utf-16", "utf-16-le", "cp1252"]))))
    return path


def line_ends(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.csv"
    path.write_bytes(_text(_cells(values), end=str(rng.choice(["\r\n", "\n\n", " \n"]))).encode())
    return path


def all_quoted(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.csv"
    held = io.StringIO()
    writer = csv.writer(held, quoting=csv.QUOTE_ALL)
    writer.writerow(["time", *NAMES, "remark"])
    for n, row in enumerate(_cells(values)):
        writer.writerow([*row, 'said "no",\nthen left' if n % 97 == 5 else "quiet"])
    path.write_text(held.getvalue(), newline="")
    return path


def number_forms(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.csv"
    forms: list[Callable[[float], str]] = [
        lambda v: f"{v:+.6e}",
        lambda v: f"{v:.40f}",
        lambda v: f"  {v:g} ",
        lambda v: f"{v:.3E}",
        lambda v: f"{v:+08.3f}",
    ]
    form = forms[int(rng.integers(len(forms)))]
    path.write_text(_text([[f"{n / RATE:g}", *(form(v) for v in row)] for n, row in enumerate(values)]))
    return path


def remarks(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.csv"
    sign = str(rng.choice(["#", "%", "//"]))
    path.write_text(f"{sign} made by a logger\n{sign} battery: 3,92 V\n" + _text(_cells(values)))
    return path


def extra_columns(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.csv"
    rows = [
        [str(n), *row, "walk" if n % 200 < 99 else "rest", "ü" * int(n % 3)] for n, row in enumerate(_cells(values))
    ]
    path.write_text(_text(rows, header=["", "time", *NAMES, "activity", "bemerkung"]), encoding="utf-8")
    return path


def columns_shuffled(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.tsv"
    order = rng.permutation(4)
    rows = [[row[i] for i in order] for row in _cells(values)]
    path.write_text(_text(rows, "\t", [["time", *NAMES][i] for i in order]))
    return path


def tails(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.csv"
    tail = [b"", b"\n\n\n", b"\0" * 512, b",,,\n" * 40, b"24.0,0.1"][int(rng.integers(5))]
    data = _text(_cells(values)).encode()
    path.write_bytes((data if tail else data.rstrip(b"\n")) + tail)
    return path


def clocks(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.csv"
    start = 1_700_000_000
    micros = [start * 1_000_000 + n * 20_000 for n in range(len(values))]
    iso = [str(np.datetime64(m, "us")) for m in micros]
    kinds: list[tuple[str, list[str]]] = [
        ("time [ms]", [str(n * 20) for n in range(len(values))]),
        ("timestamp", iso),
        ("timestamp", [text + "Z" for text in iso]),
        ("timestamp", [text.replace("T", " ") + "+0100" for text in iso]),
        ("unixtime", [f"{m / 1e6:.6f}" for m in micros]),
        ("Timestamp [us]", [str(m) for m in micros]),
    ]
    name, cells = kinds[int(rng.integers(len(kinds)))]
    rows = [[cell, *row[1:]] for cell, row in zip(cells, _cells(values), strict=True)]
    path.write_text(_text(rows, header=[name, *NAMES]))
    return path


def json_lines(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / str(rng.choice(["t.jsonl", "t.ndjson"]))
    kind = int(rng.integers(4))
    lines = []
    for n, row in enumerate(values):
        one: dict[str, object] = {"time": n / RATE, **dict(zip(NAMES, map(float, row), strict=True))}
        if kind == 1:
            one = dict(sorted(one.items(), key=lambda _: rng.random())) | {"who": "é\u2028x"}
        lines.append(
            json.dumps(one, ensure_ascii=kind == 2, indent=None, separators=(",", ":") if kind else (", ", ": "))
        )
    end = "\r\n" if kind == 3 else "\n"
    path.write_text(end.join(lines) + end * (1 + kind), encoding="utf-8", newline="")
    return path


def packed(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    data = _text(_cells(values)).encode()
    kind = int(rng.integers(4))
    if kind == 0:
        (path := folder / "t.csv.gz").write_bytes(gzip.compress(data[:9999]) + gzip.compress(data[9999:]))
    elif kind == 1:
        (path := folder / "t.csv.bz2").write_bytes(bz2.compress(data))
    elif kind == 2:
        import zstandard

        (path := folder / "t.csv.zst").write_bytes(zstandard.ZstdCompressor().compress(data))
    else:
        (path := folder / "T.CSV.GZ").write_bytes(gzip.compress(data))
    return path


def header_again(rng: np.random.Generator, folder: Path, values: np.ndarray) -> Path:
    path = folder / "t.csv"
    rows = _cells(values)
    rows.insert(int(rng.integers(2, len(rows))), ["time", *NAMES])
    path.write_text(_text(rows))
    return path


WRITERS: tuple[Writer, ...] = (
    semicolons,
    decimal_commas,
    encodings,
    line_ends,
    all_quoted,
    number_forms,
    remarks,
    extra_columns,
    columns_shuffled,
    tails,
    clocks,
    json_lines,
    packed,
    header_again,
)
