"""Cases about files: those of the corpus as they are and damaged, tables at the edge, odd names, hostile content."""

import gzip
import io
import os
import struct
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tests.corpus import devices, misread, programs
from tests.corpus.case import cases
from tests.fuzz.outside_base import NAMES, RATE, Base, write_csv
from tests.fuzz.outside_checks import Case

CORPUS = tuple(case for case in cases() if not case.refused and case.file != "wide.csv")
WRITERS = devices.WRITERS | programs.WRITERS | misread.WRITERS
SAME = (  # hold the numbers, names and rate of walk.csv
    "decimal_commas.csv", "bom.csv", "all_quoted.csv", "trailing.csv", "trailing_in_rows.csv", "units.csv",
    "booleans.csv", "separator_named.csv", "blanks.txt", "packed.csv.gz", "packed_too.tsv.bz2", "run.xlsx",
    "pandas.parquet", "arrow.parquet", "polars.parquet", "log.jsonl", "iso_z.csv", "pandas_index.csv",
    "pandas_timedeltas.csv",
)  # fmt: skip
HOSTILE = (
    "=cmd|' /C calc'!A0", "@SUM(1)", "+1", "\x1b[2J\x1b]0;own\x07", "../../up", "/etc/passwd", "a\nb", "a\tb", " ",
    "<script>alert(1)</script>", "x" * 3000, "نص", "e\u0301", "\u202eabc", "😀", "C:\\x", "NaN", "null", "time", "{}",
    "%s%n", "'; drop",
)  # fmt: skip
STEMS = (
    "-rf", "--out", "a b", "a'b", 'a"b', "ünï", "😀", "a\nb", "a\tb", "x" * 200, "..a", "=1+1", "a;b", "$(touch x)",
    "a%2Fb", "#a", "[1]", "a*b", "con", "\x1b[31m", "a.b.c", "recording", "summary", "-", "a\\b", "e\u0301",
)  # fmt: skip
SUFFIXES = (
    ".csv", ".tsv", ".txt", ".jsonl", ".parquet", ".npy", ".agd", ".gpx", ".npz", ".h5", ".mat", ".xlsx", ".edf",
    ".bdf", ".c3d", ".xdf", ".fit", ".csv.gz", ".CSV", ".zip", ".csv.zst", ".jsonl.bz2",
)  # fmt: skip


def written(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """A file of the corpus; where it holds the numbers of walk.csv, its labels are those of walk.csv."""
    if n % 2:
        file = SAME[n // 2 % len(SAME)]
        WRITERS[file](work / file, len(base.values))
        base.give("run", work)
        return Case(f"same:{file}", ("label", "run", file, "--out", "o"), "o", "run", "ok", len(base.values), True)
    case = CORPUS[n // 2 % len(CORPUS)]
    made = WRITERS[case.file](work / case.file, 600)
    options = [word for name, value in case.options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    rate = () if case.rate else ("--rate", "50")
    n_rows = len(made) if isinstance(made, np.ndarray) else None
    args = ("discover", case.file, "--method", "clock", "--out", "o", *options, *rate)
    return Case(f"corpus:{case.file}", args, "o", "run", "ok", n_rows)


def damage(rng: np.random.Generator, data: bytes) -> tuple[str, bytes]:
    at, held = int(rng.integers(len(data))), bytearray(data)
    for place in rng.integers(len(data), size=int(rng.integers(1, 40))):
        held[place] ^= 1 << int(rng.integers(8))
    kinds = {
        "cut": data[:at], "flip": bytes(held), "swap": data[at:] + data[:at], "twice": data + data,
        "headless": data[int(rng.integers(1, 200)) :], "empty": b"", "garbage": rng.bytes(len(data)),
        "tail": data + rng.bytes(999), "splice": data[:at] + rng.bytes(64) + data[at:],
        "zeros": data[:at] + bytes(len(data) - at),
    }  # fmt: skip
    kind = str(rng.choice(list(kinds)))
    return kind, kinds[kind]


def damaged(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    file = CORPUS[n % len(CORPUS)].file if n % 2 else SAME[n // 2 % len(SAME)]
    WRITERS[file](work / file, 400)
    kind, data = damage(rng, (work / file).read_bytes())
    (work / file).write_bytes(data)
    base.give("run", work)
    args = ("discover", file, "--method", "clock") if n % 2 else ("label", "run", file)
    expect = "refused" if kind == "empty" else "either"
    return Case(f"damaged:{file}:{kind}", (*args, "--out", "o"), "o", "run", expect)


def wrong_suffix(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    file = CORPUS[int(rng.integers(len(CORPUS)))].file
    WRITERS[file](work / file, 400)
    target = (work / file).rename(work / f"w{SUFFIXES[n % len(SUFFIXES)]}").name
    return Case(f"suffix:{file}->{target}", ("discover", target, "--method", "clock", "--out", "o"), "o", "run")


EXTREMES: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "one row": lambda rng, held: held[:1],
    "two rows": lambda rng, held: held[:2],
    "one column": lambda rng, held: held[:, :1],
    "many columns": lambda rng, held: rng.normal(size=(60, 5000)).round(2),
    "all nan": lambda rng, held: held * np.nan,
    "constant": lambda rng, held: np.ones_like(held),
    "half nan": lambda rng, held: np.where(rng.random(held.shape) < 0.5, np.nan, held),
    "inf": lambda rng, held: np.where(rng.random(held.shape) < 0.01, rng.choice([np.inf, -np.inf]), held),
    "huge": lambda rng, held: held * 1e307,
    "one huge": lambda rng, held: np.where(np.arange(held.size).reshape(held.shape) == 751, 1e308, held),
    "denormal": lambda rng, held: held * 1e-310,
    "minus zero": lambda rng, held: held * 0 - 0.0,
    "far": lambda rng, held: held + 1e15,
    "nan column": lambda rng, held: held * [1, np.nan, 1],
    "alternating nan": lambda rng, held: np.where(np.arange(len(held))[:, None] % 2, held, np.nan),
    "steps": lambda rng, held: np.sign(held),
}


def _store(path: Path, values: np.ndarray, names: Sequence[str]) -> None:
    table = pl.DataFrame({"time": np.arange(len(values)) / RATE} | dict(zip(names, values.T, strict=True)))
    if path.suffix == ".csv":
        write_csv(path, values, tuple(names))
    elif path.suffix == ".npy":
        np.save(path, values)
    elif path.suffix == ".npz":
        np.savez(path, X=values, rate=RATE)
    elif path.suffix == ".parquet":
        table.write_parquet(path)
    else:
        table.fill_nan(None).write_ndjson(path)


def extreme(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    kind = list(EXTREMES)[n % len(EXTREMES)]
    with np.errstate(all="ignore"):
        values = EXTREMES[kind](rng, base.values[:500])
    path = work / f"e.{rng.choice(['csv', 'npy', 'npz', 'parquet', 'jsonl'])}"
    _store(path, values, [f"c{i}" for i in range(values.shape[1])])
    ways = (("discover",), ("discover", "--method", "kmeans", "--states", "3"), ("suggest",))
    way = ways[int(rng.integers(len(ways)))]
    if way == ("suggest",):
        return Case(f"extreme:{kind}:{path.suffix}", (*way, path.name, "--json"))
    expect = "refused" if kind in ("one row", "all nan", "constant", "minus zero") else "either"
    return Case(f"extreme:{kind}:{path.suffix}", (*way, path.name, "--out", "o"), "o", "run", expect, len(values))


def names_of_channels(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    name = '"' + HOSTILE[n % len(HOSTILE)].replace('"', '""') + '"'
    write_csv(work / "n.csv", base.values[:500], (name, name if rng.random() < 0.3 else "b", "c"))
    return Case(f"channel:{name[:12]!r}", ("discover", "n.csv", "--out", "o"), "o", "run", "either", 500)


def names_of_files(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    path = work / f"{STEMS[n % len(STEMS)]}{rng.choice(['.csv', '.npz', '.parquet'])}"
    _store(path, base.values[:500], NAMES)
    way = int(rng.integers(3))
    args = ("discover", "--out", "o", "--method", "clock", "--", [path.name, f"./{path.name}", "."][way])
    return Case(f"file:{path.stem[:12]!r}:{way}", args, "o", "run", "ok" if way else "either", 500)


# ------------------------------------------------------------ hostile content


class _Touch:
    """Unpickled, it makes a folder: what reads it has run code."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return (os.mkdir, ("PWNED",))


def _array_header(shape: tuple[int, ...]) -> bytes:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return head.getvalue()


def _zipped(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as held:
        for name, content in members.items():
            held.writestr(name, content)


def _hdf5(path: Path, is_linked: bool) -> None:
    import h5py

    with h5py.File(path, "w") as opened:
        if is_linked:
            opened["X"] = h5py.ExternalLink("secret.bin", "/X")
        else:
            opened.create_dataset("X", (1000, 3), "f8", external=[("secret.bin", 0, h5py.h5f.UNLIMITED)])


def _array(values: np.ndarray) -> bytes:
    held = io.BytesIO()
    np.save(held, values)
    return held.getvalue()


ENTITIES = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">' for i in range(8)
)
PICKLES = np.array([_Touch()] * 3, dtype=object)
MAT = struct.pack("<124sHHII", b"MATLAB 5.0 MAT-file", 0x0100, 0x4D49, 14, 0xFFFFFFF0) + bytes(64)
HARMLESS = ("h.path.npz", "h.huge.parquet", "h.line.csv")  # may be read as well
CONTENTS: dict[str, Callable[[Path, np.ndarray], object]] = {
    "h.npy": lambda path, values: np.save(path, PICKLES, allow_pickle=True),
    "h.npz": lambda path, values: np.savez(path, X=values, channels=PICKLES, allow_pickle=True),
    "h.csv.gz": lambda path, values: path.write_bytes(gzip.compress(b"time,a\n" + b"0" * (400 << 20), 9)),
    "h.bomb.npz": lambda path, values: _zipped(path, {"X.npy": _array_header((6 * 10**9, 2)) + bytes(200 << 20)}),
    "h.vast.npy": lambda path, values: path.write_bytes(_array_header((10**15, 3)) + bytes(900)),
    "h.h5": lambda path, values: _hdf5(path, is_linked=False),
    "h.link.h5": lambda path, values: _hdf5(path, is_linked=True),
    "h.gpx": lambda path, values: path.write_text(
        f'{ENTITIES}]><gpx version="1.1"><trk><trkseg><name>&i;</name></trkseg></trk></gpx>'
    ),
    "h.xlsx": lambda path, values: _zipped(
        path,
        {
            "[Content_Types].xml": f"{ENTITIES}]><Types>&i;</Types>".encode(),
            "xl/workbook.xml": f"{ENTITIES}]><workbook>&i;</workbook>".encode(),
        },
    ),
    "h.path.npz": lambda path, values: _zipped(path, {"../../X.npy": _array(values)}),
    "h.jsonl": lambda path, values: path.write_text(('{"a":' * 50_000 + "1" + "}" * 50_000 + "\n") * 3),
    "h.line.csv": lambda path, values: path.write_text("time,a\n0," + "1" * 30_000_000 + "\n1,2\n"),
    "h.huge.parquet": lambda path, values: pl.DataFrame(
        {f"c{i}": np.full(1_000_000, 1.5) for i in range(12)}
    ).write_parquet(path),
    "h.mat": lambda path, values: path.write_bytes(MAT),
}


def hostile_content(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """Files that try to run code, to read other files, or to fill the memory."""
    name = list(CONTENTS)[n % len(CONTENTS)]
    (work / "secret.bin").write_bytes(np.arange(3000, dtype="<f8").tobytes())
    CONTENTS[name](work / name, base.values)
    expect = "either" if name in HARMLESS else "refused"
    if rng.random() < 0.5:
        return Case(f"hostile:{name}", ("suggest", name), expect=expect)
    return Case(f"hostile:{name}", ("discover", "--out", "o", "--method", "clock", name), "o", "run", expect)


FAMILIES = (written, damaged, extreme, names_of_channels, names_of_files, hostile_content, wrong_suffix)
