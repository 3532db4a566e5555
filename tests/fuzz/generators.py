"""Bad and odd inputs, drawn at random: text tables, JSON lines, archives of arrays, configurations, damaged files."""

from __future__ import annotations

import io
import json
import os

import numpy as np

Random = np.random.Generator
N_CASES = int(os.environ.get("RONDO_FUZZ", "40"))
"""Per generator; RONDO_FUZZ=2000 looks for longer."""

_NAMES = (
    "time", "Timestamp", "Date", "t", "T", "x", "y", "label", "activity", "anomaly", "unit number", "id", "", "=1+1",
    "nose.x", "nose.y", "nose.likelihood", "sample index", "a,b", 'q"uote', "\u202e", "é", "x" * 300, "Unnamed: 0", "*",
)  # fmt: skip
_CELLS = (
    "", "NaN", "inf", "-inf", "1e400", "-200", "-999", "9999", "0", "1", "-1", "1,5", "1.5", "1e-320", "0x10", "1_000",
    "2018-01-01 00:00:00+0100 [Europe/London]", "01 01 2018 00:00", "03/04/2026", "13/13/2026", "9999-12-31T23:59:59",
    "10000-01-01", "24:00:00", "23:59:60", "133500000000000000", "9e18", "-9e18", "abc", "\0", "\x1b[31m", "ü", "٣",
)  # fmt: skip
_SEPARATORS = (",", ";", "\t", "|", " ", ",,")
_ENDS = ("\n", "\r\n", "\r", "\n\n")


def table(rng: Random) -> bytes:
    """A table in text: mostly numbers, with odd cells, names, separators, line ends and bytes."""
    n_columns, n_rows = int(rng.integers(1, 7)), int(rng.choice([0, 1, 2, 30, 200]))
    separator, end = str(rng.choice(_SEPARATORS)), str(rng.choice(_ENDS))
    oddness = float(rng.choice([0.0, 0.0, 0.02, 0.3]))
    names = [str(rng.choice(_NAMES)) for _ in range(n_columns)]
    lines = [separator.join(names)] if rng.random() < 0.8 else []
    columns = [_column(rng, n_rows) for _ in range(n_columns)]
    for row in range(n_rows):
        cells = [str(rng.choice(_CELLS)) if rng.random() < oddness else column[row] for column in columns]
        lines.append(
            separator.join(cells[: int(rng.integers(1, n_columns + 1))] if rng.random() < oddness / 5 else cells)
        )
    return damaged(end.join(lines).encode("utf-8", "replace"), rng)


def _column(rng: Random, n_rows: int) -> list[str]:
    kind = rng.integers(6)
    if kind == 0:
        return [str(0.02 * row) for row in range(n_rows)]
    if kind == 1:
        return [str(row) for row in range(n_rows)]
    if kind == 2:
        return [f"{1 + row // 24 % 28:02d}/02/2026 {row % 24:02d}:00" for row in range(n_rows)]
    if kind == 3:
        return [str(int(rng.integers(3))) for _ in range(n_rows)]
    if kind == 4:
        return [str(rng.choice(_CELLS))] * n_rows
    return [f"{value:.4g}" for value in rng.normal(size=n_rows) * 10.0 ** rng.integers(-3, 9)]


def json_lines(rng: Random) -> bytes:
    """Objects, and what else JSON allows, one per line."""
    odd = (None, True, [], {}, "x", 10**400, -0.0, [[1]], {"a": {"b": 1}}, "2018-01-01")
    lines = []
    for row in range(int(rng.integers(0, 80))):
        given = {str(rng.choice(_NAMES)): float(rng.normal()) for _ in range(3)} | {"time": row}
        if rng.random() < 0.1:
            given["x"] = odd[int(rng.integers(len(odd)))]  # type: ignore[assignment]
        lines.append(json.dumps(given if rng.random() < 0.97 else odd[int(rng.integers(len(odd)))]))
    return damaged("\n".join(lines).encode(), rng)


def archive(rng: Random) -> bytes:
    """An .npz whose arrays have any type and shape, or are not those that are expected."""
    shapes = ((40, 3), (40,), (0, 3), (3, 0), (2, 2, 2), (), (1, 200))
    types = (np.float64, np.float16, np.int8, np.uint64, np.bool_, np.complex64, "U5", "M8[s]")
    shape, dtype = shapes[int(rng.integers(len(shapes)))], types[int(rng.integers(len(types)))]
    arrays: dict[str, np.ndarray] = {str(rng.choice(["X", "x", "data"])): np.ones(shape).astype(dtype)}  # type: ignore[call-overload]
    if rng.random() < 0.5:
        arrays["rate"] = np.array(rng.choice([0.0, -1.0, np.nan, np.inf, 1e300, 50.0]))
    if rng.random() < 0.5:
        arrays["channels"] = np.array([str(rng.choice(_NAMES)) for _ in range(int(rng.integers(5)))])
    if rng.random() < 0.3:
        arrays["time"] = rng.normal(size=int(rng.integers(50))) * 1e18
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return damaged(buffer.getvalue(), rng)


def damaged(content: bytes, rng: Random) -> bytes:
    """The same bytes, in one case of three cut short, with some changed, or repeated."""
    kind = rng.integers(9)
    if kind == 0:
        return content[: int(rng.integers(len(content) + 1))]
    if kind == 1 and content:
        changed = bytearray(content)
        for place in rng.integers(len(content), size=5):
            changed[place] = int(rng.integers(256))
        return bytes(changed)
    return content * 2 if kind == 2 else content
