"""Cases about folders: runs, models and streams with pieces removed, truncated, swapped, edited or replaced."""

import json
import os
import shutil
from pathlib import Path

import numpy as np

from tests.fuzz.outside_base import Base
from tests.fuzz.outside_checks import Case

PIECES = (
    "summary.json", "segments.csv", "segments.parquet", "labels/walk.npy", "units/walk.npy", "scores/walk.npz",
    "overview/walk.npz", "report.html", "model/manifest.json", "model/tensors.safetensors", "model", "labels",
    "units", "scores", "overview", "unshown_segments.csv", "unshown_segments.parquet",
)  # fmt: skip
OF_STREAM = (
    "labels.csv",
    "events.jsonl",
    "rows.csv",
    "health.json",
    "checkpoint",
    "model/manifest.json",
    "summary.json",
    "labels/walk.npy",
    "segments.parquet",
)
HARMS = ("remove", "truncate", "empty", "garbage", "other", "folder", "fifo", "link", "flip", "unreadable")
COMMANDS = (
    ("usage", "run", "--json"), ("report", "run"), ("export", "run", "--format", "eaf", "--out", "x.eaf"),
    ("export", "run", "--format", "csv", "--out", "x.csv"), ("name", "run", "unit:0", "x"),
    ("merge", "run", "unit:0", "unit:1"), ("label", "run", "walk.csv", "--out", "o"), ("compare", "run", "truth.csv"),
    ("evaluate", "truth.csv", "run", "--json"), ("stream", "run", "--source", "walk.csv", "--out", "o"),
    ("report", "run", "--compare", "other"), ("undo", "run"),
    ("export", "run", "--format", "label-studio", "--out", "x.json"), ("name", "run", "--json"),
)  # fmt: skip


def harm(rng: np.random.Generator, path: Path, other: Path, kind: str) -> None:
    """Do one kind of harm to a file or folder."""
    data = path.read_bytes() if path.is_file() else b""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
    if kind == "truncate":
        path.write_bytes(data[: int(rng.integers(len(data) + 1))])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "garbage":
        path.write_bytes(rng.bytes(500))
    elif kind == "other" and other.exists():
        shutil.copytree(other, path) if other.is_dir() else shutil.copyfile(other, path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    elif kind == "flip":
        held = bytearray(data or b"x")
        for place in rng.integers(len(held), size=3):
            held[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(held))
    elif kind == "unreadable":
        path.write_bytes(data)
        path.chmod(0)


def _truth(work: Path) -> None:
    (work / "truth.csv").write_text("label\n" + "\n".join("ab"[(i // 120) % 2] for i in range(1200)) + "\n")


def harmed(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    base.give("run", work)
    base.give("pair", work, "other")
    base.give("walk.csv", work)
    _truth(work)
    piece, kind = PIECES[n % len(PIECES)], str(rng.choice(HARMS))
    harm(rng, work / "run" / piece, work / "other" / piece, kind)
    args = COMMANDS[int(rng.integers(len(COMMANDS)))]
    return _case(f"harmed:{piece}:{kind}:{args[0]}", args)


def _case(name: str, args: tuple[str, ...]) -> Case:
    out = args[args.index("--out") + 1] if "--out" in args else None
    writes = {"label": "run", "stream": "stream"}.get(args[0], "")
    return Case(
        name, args, out, writes, may_change=("run",) if args[0] in ("report", "name", "merge", "undo", "apply") else ()
    )


IDS = (
    "../../up",
    "/abs",
    "walk/x",
    "",
    ".",
    "..",
    "a\0b",
    "=1+1",
    "\x1b[2J",
    "x" * 400,
    "con",
    "nope",
    "walk ",
    5,
    None,
    ["walk"],
    "\ud800",
    "WALK",
)
EDITS: tuple[tuple[str, object], ...] = (
    ("schema", 99), ("schema", "2"), ("kind", "nope"), ("recordings", []), ("recordings", None), ("recordings", {}),
    ("units", []), ("units", [{"id": 0}]), ("motifs", None), ("step_frames", 0), ("step_frames", -5),
    ("window_length_frames", 1e308), ("window_length_frames", 0), ("findings", "x" * 100_000),
    ("findings", ["\x1b[2J<script>alert(1)</script>"]), ("method", "\x1b[2J"), ("failed", [["../x", "y"]]),
    ("config", {}), ("config", None), ("evidence", None), ("motifs_are_units", "no"), ("own_vocabularies", True),
    ("stream", {}), ("scores", 5), ("rondo_version", None), ("rondo_version", "99.0.0"), ("seed", "x"),
)  # fmt: skip


def edited_summary(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """summary.json in which one value is another, or a recording has another id, rate or length."""
    base.give("run", work)
    base.give("walk.csv", work)
    base.give("pair", work, "other")
    _truth(work)
    path = work / "run" / "summary.json"
    summary = json.loads(path.read_text())
    kind = n % 3
    if kind == 0:
        key, value = EDITS[n // 3 % len(EDITS)]
        summary[key] = value
    elif kind == 1:
        key, value = "id", IDS[n // 3 % len(IDS)]
        summary["recordings"][0]["id"] = value
    else:
        pairs = (
            ("n_frames", 5),
            ("n_frames", 10**12),
            ("n_frames", -1),
            ("rate", 0),
            ("rate", -50),
            ("rate", 1e308),
            ("channels", []),
            ("channels", ["a"] * 9),
            ("source", "/etc/passwd"),
            ("source", "\x1b[2J"),
            ("rate_hz", 0),
            ("n_frames", "1200"),
        )
        key, value = pairs[n // 3 % len(pairs)]
        summary["recordings"][0][key] = value
    path.write_text(json.dumps(summary))
    args = COMMANDS[int(rng.integers(len(COMMANDS)))]
    return _case(f"edited:{key}={str(value)[:12]!r}:{args[0]}", args)


def edited_tables(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """Segments, labels, names and edits that do not fit the rest of the run."""
    base.give("run", work)
    base.give("walk.csv", work)
    base.give("pair", work, "other")
    _truth(work)
    run = work / "run"
    kind = n % 10
    import polars as pl

    table = pl.read_parquet(run / "segments.parquet")
    if kind == 0:
        table.with_columns(pl.lit("../../up").alias("recording")).write_parquet(run / "segments.parquet")
    elif kind == 1:
        table.with_columns((pl.col("end_frame") + 10_000).alias("end_frame")).write_parquet(run / "segments.parquet")
    elif kind == 2:
        table.with_columns((-pl.col("start_frame")).alias("start_frame")).write_parquet(run / "segments.parquet")
    elif kind == 3:
        table.head(0).write_parquet(run / "segments.parquet")
    elif kind == 4:
        table.drop("id").write_parquet(run / "segments.parquet")
    elif kind == 5:
        np.save(run / "labels" / "walk.npy", np.zeros(7))
    elif kind == 6:
        np.save(run / "labels" / "walk.npy", np.full(1200, 10**9))
    elif kind == 7:
        (run / "model" / "edits.json").write_text(
            '{"format": "rondo-edits", "schema": 1, "edits": [{"kind": "name", "level": "unit", "ids": [0], '
            '"name": "\\u001b[2J", "at": "x"}]}'
        )
    elif kind == 8:
        (run / "model" / "edits.json").write_text(
            '{"format": "rondo-edits", "schema": 1, "edits": [{"kind": "merge", "level": "unit", "ids": [0, 99999]}]}'
        )
    else:
        (run / "edits.json").write_text('{"edits": 5}')
    args = COMMANDS[int(rng.integers(len(COMMANDS)))]
    return _case(f"tables:{kind}:{args[0]}", args)


def harmed_stream(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    base.give("live", work, "run")
    base.give("live", work, "other")
    base.give("walk.csv", work)
    base.give("run", work, "model")
    _truth(work)
    piece, kind = OF_STREAM[n % len(OF_STREAM)], str(rng.choice(HARMS))
    harm(rng, work / "run" / piece, work / "other" / piece, kind)
    commands: tuple[tuple[str, ...], ...] = (
        ("stream", "model", "--source", "walk.csv", "--out", "run"), ("health", "run", "--json"),
        ("usage", "run", "--json"), ("report", "run"), ("export", "run", "--format", "csv", "--out", "x.csv"),
        ("label", "run", "walk.csv", "--out", "o"),
        ("name", "model", "unit:0", "x", "--stream", "run"),
    )  # fmt: skip
    args = commands[int(rng.integers(len(commands)))]
    change = ("run", "model") if args[0] in ("stream", "report", "name") else ()
    out = {"export": "x.csv", "label": "o"}.get(args[0])
    return Case(
        f"stream folder:{piece}:{kind}:{args[0]}",
        args,
        out,
        "run" if args[0] == "label" else "",
        codes=(0, 1, 2) if args[0] == "health" else (0, 2),
        may_change=change,
    )


def applied(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """Files of edits as nobody's report writes them."""
    base.give("run", work)
    texts = (
        "", "[]", "{}", "null", "[" * 100_000, '{"edits": []}', '{"format": "rondo-page-edits", "edits": [{}]}',
        '[{"kind": "name", "level": "unit", "ids": [0], "name": "x"}]', '{"run": "x", "edits": [{"kind": "cut"}]}',
        "\xff", "NaN",
        '{"schema": 1, "run": "../x", "edits": [{"kind": "relabel", "level": "unit", '
        '"ids": [0], "spans": [["walk", -5, 1e300]]}]}',
        '{"edits": ' + "9" * 5000 + "}",
    )  # fmt: skip
    (work / "e.json").write_text(texts[n % len(texts)], encoding="latin-1")
    return Case(f"apply:{texts[n % len(texts)][:12]!r}", ("apply", "run", "e.json"), may_change=(), expect="either")


FAMILIES = (harmed, edited_summary, harmed_stream, harmed, edited_tables, applied)
