"""Cases about files: odd ones that must read as the reference does, damaged ones, and tables at the edge."""

import json
from pathlib import Path

import numpy as np

from tests.fuzz.outside_base import NAMES, RATE, Base, write_csv
from tests.fuzz.outside_binaries import OTHERS, WITH_NAMES
from tests.fuzz.outside_checks import Case
from tests.fuzz.outside_hostile import hostile_content
from tests.fuzz.outside_texts import WRITERS
from tests.fuzz.outside_words import HOSTILE, STEMS


def odd_text(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    writer = WRITERS[n % len(WRITERS)]
    path = writer(rng, work, base.values)
    base.give("run", work)
    rows = None if writer.__name__ == "tails" else len(base.values)
    same = writer.__name__ != "tails"
    # refused in one line, as their messages say: UTF-16 without its mark, and line breaks inside quotes
    expect = "either" if writer.__name__ in ("encodings", "all_quoted") else "ok"
    return Case(f"text:{writer.__name__}", ("label", "run", path.name, "--out", "o"), "o", "run", expect, rows, same)


def odd_binary(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    writer = WITH_NAMES[n % len(WITH_NAMES)]
    path = writer(rng, work, base.values)
    base.give("run", work)
    exact = writer.__name__ not in ("edf",)
    return Case(
        f"binary:{writer.__name__}",
        ("label", "run", path.name, "--out", "o"),
        "o",
        "run",
        "ok" if writer.__name__ != "mat" else "either",
        len(base.values),
        exact,
    )


def other_binary(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    writer = OTHERS[n % len(OTHERS)]
    path = writer(rng, work, base.values[:600])
    extra = ("--rate", "50") if writer.__name__ == "npy" else ()
    return Case(f"binary:{writer.__name__}", ("discover", path.name, "--out", "o", *extra), "o", "run", "ok", 600)


def _damage(rng: np.random.Generator, data: bytes) -> tuple[str, bytes]:
    kind = str(
        rng.choice(["cut", "flip", "zeros", "swap", "twice", "headless", "empty", "garbage", "tail", "ones", "splice"])
    )
    at = int(rng.integers(len(data)))
    if kind == "cut":
        return kind, data[:at]
    if kind in ("flip", "ones", "zeros"):
        held = bytearray(data)
        for place in rng.integers(len(data), size=int(rng.integers(1, 40))):
            held[place] = {"flip": held[place] ^ (1 << int(rng.integers(8))), "ones": 255, "zeros": 0}[kind]
        return kind, bytes(held)
    if kind == "swap":
        return kind, data[at:] + data[:at]
    if kind == "twice":
        return kind, data + data
    if kind == "headless":
        return kind, data[int(rng.integers(1, 200)) :]
    if kind == "garbage":
        return kind, rng.bytes(len(data))
    if kind == "tail":
        return kind, data + rng.bytes(999)
    return (kind, b"") if kind == "empty" else (kind, data[:at] + rng.bytes(64) + data[at:])


def damaged(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    writers = (*WRITERS[-4:], *WITH_NAMES, *OTHERS)
    writer = writers[n % len(writers)]
    path = writer(rng, work, base.values[:400])
    kind, data = _damage(rng, path.read_bytes())
    path.write_bytes(data)
    base.give("run", work)
    args = (
        ("label", "run", path.name, "--out", "o")
        if writer in WITH_NAMES
        else ("discover", path.name, "--method", "clock", "--out", "o")
    )
    return Case(f"damaged:{writer.__name__}:{kind}", args, "o", "run", "refused" if kind == "empty" else "either")


def wrong_suffix(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    writers = (*WRITERS, *WITH_NAMES, *OTHERS)
    path = writers[int(rng.integers(len(writers)))](rng, work, base.values[:400])
    suffixes = (
        ".csv",
        ".tsv",
        ".txt",
        ".jsonl",
        ".parquet",
        ".npy",
        ".agd",
        ".gpx",
        ".npz",
        ".h5",
        ".mat",
        ".xlsx",
        ".edf",
        ".bdf",
        ".c3d",
        ".xdf",
        ".fit",
        ".csv.gz",
        ".CSV",
        ".zip",
        "",
        ".csv.zst",
        ".jsonl.bz2",
    )
    suffix = suffixes[n % len(suffixes)]
    target = work / f"w{suffix}"
    path.rename(target)
    return Case(
        f"suffix:{path.suffix}->{suffix}", ("discover", target.name, "--method", "clock", "--out", "o"), "o", "run"
    )


def _extreme(rng: np.random.Generator, kind: str, values: np.ndarray) -> np.ndarray:
    held = values.astype(float).copy()
    if kind == "one row":
        return held[:1]
    if kind == "two rows":
        return held[:2]
    if kind == "one column":
        return held[:, :1]
    if kind == "many columns":
        return rng.normal(size=(60, 5000)).round(2)
    if kind == "all nan":
        return np.full_like(held, np.nan)
    if kind == "constant":
        return np.ones_like(held)
    if kind == "half nan":
        held[rng.random(held.shape) < 0.5] = np.nan
    elif kind == "inf":
        held[rng.integers(len(held), size=5), 0] = rng.choice([np.inf, -np.inf])
    elif kind == "huge":
        held *= 1e307
    elif kind == "one huge":
        held[len(held) // 2, 1] = 1e308
    elif kind == "denormal":
        held *= 1e-310
    elif kind == "minus zero":
        held[:] = -0.0
    elif kind == "far":
        held += 1e15
    elif kind == "nan column":
        held[:, 1] = np.nan
    elif kind == "alternating nan":
        held[::2] = np.nan
    elif kind == "steps":
        held = np.sign(held)
    return held


EXTREMES = (
    "one row", "two rows", "one column", "many columns", "all nan", "constant", "half nan", "inf", "huge", "one huge",
    "denormal", "minus zero", "far", "nan column", "alternating nan", "steps",
)  # fmt: skip


def extreme(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    kind = EXTREMES[n % len(EXTREMES)]
    values = _extreme(rng, kind, base.values[:500])
    names = tuple(f"c{i}" for i in range(values.shape[1]))
    form = str(rng.choice(["csv", "npy", "npz", "parquet", "jsonl"]))
    path = work / f"e.{form}"
    if form == "csv":
        write_csv(path, values, names)
    elif form == "npy":
        np.save(path, values)
    elif form == "npz":
        np.savez(path, X=values, rate=RATE)
    elif form == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({name: values[:, i] for i, name in enumerate(names)}), path)
    else:
        rows = [
            {"time": i / RATE} | {n: (None if np.isnan(v) else float(v)) for n, v in zip(names, row, strict=True)}
            for i, row in enumerate(values)
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = [
        ("discover",),
        ("discover", "--method", "kmeans", "--states", "3"),
        ("suggest",),
    ][int(rng.integers(4))]
    if command[0] == "suggest":
        return Case(f"extreme:{kind}:{form}", (*command, path.name, "--json"))
    refused = kind in ("one row", "all nan", "constant", "minus zero")
    return Case(
        f"extreme:{kind}:{form}",
        (*command, path.name, "--out", "o"),
        "o",
        "run",
        "refused" if refused else "either",
        len(values),
    )


def names_of_channels(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    name = HOSTILE[n % len(HOSTILE)]
    path = work / "n.csv"
    same = rng.random() < 0.3
    header = '"' + name.replace('"', '""') + '"'
    header = f"time,{header},{header if same else 'b'},c"
    body = "\n".join(",".join(f"{v:g}" for v in (i / RATE, *row)) for i, row in enumerate(base.values[:500]))
    path.write_text(header + "\n" + body + "\n", encoding="utf-8")
    return Case(f"channel:{name[:12]!r}", ("discover", path.name, "--out", "o"), "o", "run", "either", 500)


def names_of_files(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    stem = STEMS[n % len(STEMS)]
    suffix = str(rng.choice([".csv", ".npz", ".parquet"]))
    path = work / (stem + suffix)
    if suffix == ".csv":
        write_csv(path, base.values[:500])
    elif suffix == ".npz":
        np.savez(path, X=base.values[:500], rate=RATE)
    else:
        import polars as pl

        pl.DataFrame(
            {"time": np.arange(500) / RATE} | dict(zip(NAMES, base.values[:500].T, strict=True))
        ).write_parquet(path)
    way = int(rng.integers(3))
    named = [path.name, "./" + path.name, "."][way]
    return Case(
        f"file:{stem[:12]!r}:{way}",
        ("discover", "--out", "o", "--method", "clock", "--", named),
        "o",
        "run",
        "ok" if way else "either",
        500,
    )


FAMILIES = (
    odd_text,
    odd_binary,
    damaged,
    extreme,
    names_of_channels,
    names_of_files,
    damaged,
    hostile_content,
    wrong_suffix,
    other_binary,
)
