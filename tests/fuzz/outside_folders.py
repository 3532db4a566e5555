"""Cases about folders and files of edits and annotations: with pieces spoiled, swapped, unreadable or never ending."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.fuzz.folders import spoil
from tests.fuzz.outside_base import Base
from tests.fuzz.outside_checks import Case
from tests.fuzz.outside_files import HOSTILE, damage

COMMANDS = tuple(
    tuple(line.split())
    for line in """\
usage run --json
report run
export run --format eaf --out x.eaf
export run --format csv --out x.csv
export run --format label-studio --out x.json
name run unit:0 x
name run --json
merge run unit:0 unit:1
undo run
label run walk.csv --out o
compare run truth.csv
evaluate truth.csv run --json
stream run --source walk.csv --out o
report run --compare other""".splitlines()
)
OF_STREAM = tuple(
    tuple(line.split())
    for line in """\
stream model --source walk.csv --out run
health run --json
usage run --json
report run
export run --format csv --out x.csv
label run walk.csv --out o
name model unit:0 x --stream run""".splitlines()
)
IN_PLACE = ("report", "name", "merge", "undo", "apply")


def harm(rng: np.random.Generator, run: Path, other: Path) -> str:
    """One thing wrong with a folder: a value inside, or a file that is another, closed, or without end."""
    if rng.random() < 0.6:
        return spoil(run, rng)
    files = sorted(path for path in run.rglob("*") if path.is_file())
    path = files[int(rng.integers(len(files)))]
    kind = str(rng.choice(["other", "folder", "fifo", "link", "unreadable"]))
    data, twin = path.read_bytes(), other / path.relative_to(run)
    path.unlink()
    if kind == "other" and twin.is_file():
        shutil.copyfile(twin, path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/dev/zero")
    elif kind == "unreadable":
        path.write_bytes(data)
        path.chmod(0)
    return f"{path.relative_to(run)}: {kind}"


def _truth(work: Path) -> None:
    (work / "truth.csv").write_text("label\n" + "\n".join("ab"[(i // 120) % 2] for i in range(1200)) + "\n")


def harmed(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    base.give("run", work)
    base.give("pair", work, "other")
    base.give("walk.csv", work)
    _truth(work)
    done, args = harm(rng, work / "run", work / "other"), COMMANDS[n % len(COMMANDS)]
    out = args[args.index("--out") + 1] if "--out" in args else None
    writes = {"label": "run", "stream": "stream"}.get(args[0], "")
    return Case(f"{done}:{args[0]}", args, out, writes, may_change=("run",) if args[0] in IN_PLACE else ())


def harmed_stream(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    for name, to in (("live", "run"), ("live", "other"), ("walk.csv", "walk.csv"), ("run", "model")):
        base.give(name, work, to)
    done, args = harm(rng, work / "run", work / "other"), OF_STREAM[n % len(OF_STREAM)]
    return Case(
        f"stream, {done}:{args[0]}",
        args,
        {"export": "x.csv", "label": "o"}.get(args[0]),
        "run" if args[0] == "label" else "",
        codes=(0, 1, 2) if args[0] == "health" else (0, 2),
        may_change=("run", "model") if args[0] in ("stream", "report", "name") else (),
    )


def applied(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    """Files of edits as nobody's report writes them."""
    base.give("run", work)
    texts = (
        "", "[]", "{}", "null", "[" * 100_000, '{"edits": []}', '{"format": "rondo-page-edits", "edits": [{}]}',
        '[{"kind": "name", "level": "unit", "ids": [0], "name": "x"}]', '{"run": "x", "edits": [{"kind": "cut"}]}',
        "\xff", "NaN", '{"edits": ' + "9" * 5000 + "}",
        '{"schema": 1, "run": "../x", "edits": [{"kind": "relabel", "level": "unit", "ids": [0], '
        '"spans": [["walk", -5, 1e300]]}]}',
    )  # fmt: skip
    (work / "e.json").write_text(texts[n % len(texts)], encoding="latin-1")
    return Case(f"apply:{texts[n % len(texts)][:12]!r}", ("apply", "run", "e.json"))


# ------------------------------------------------------------ annotations

Span = tuple[float, float, str]
PLAIN: list[Span] = [(i * 2.4, i * 2.4 + 2.4, "abc"[i % 3]) for i in range(10)]
SPANS: dict[str, Callable[[np.random.Generator], list[Span]]] = {
    "plain": lambda rng: PLAIN,
    "overlap": lambda rng: [*PLAIN, (5.0, 15.0, "b")],
    "beyond": lambda rng: [*PLAIN, (20.0, 1e9, "z")],
    "negative": lambda rng: [(-5.0, -1.0, "n"), *PLAIN],
    "reversed": lambda rng: [*PLAIN[:2], (7.2, 4.8, "r"), *PLAIN[3:]],
    "empty": lambda rng: [],
    "points": lambda rng: [(start, start, name) for start, _, name in PLAIN],
    "hostile": lambda rng: [(start, end, str(rng.choice(HOSTILE))) for start, end, _ in PLAIN],
    "nan": lambda rng: [(float("nan"), float("inf"), "x"), *PLAIN],
}


def _label_studio(spans: list[Span]) -> str:
    result = [
        {"type": "timeserieslabels", "from_name": "l", "to_name": "ts",
         "value": {"start": start * 50, "end": end * 50, "timeserieslabels": [name]}}
        for start, end, name in spans
    ]  # fmt: skip
    marks = [{"result": result, "created_at": "2026-01-01T00:00:00Z"}]
    return json.dumps([{"id": 1, "data": {"csv": "walk.csv"}, "annotations": marks, "predictions": []}])


FORMS: dict[str, Callable[[list[Span]], str]] = {
    "txt": lambda spans: "".join(f"{start:.6f}\t{end:.6f}\t{name}\n" for start, end, name in spans),
    "json": _label_studio,
    "csv": lambda spans: (
        "recording,level,id,name,start_frame,end_frame\n"
        + "".join(f'walk,motif,{i},"{name}",{s * 50:.0f},{e * 50:.0f}\n' for i, (s, e, name) in enumerate(spans))
    ),
    "tsv": lambda spans: (
        "Observation id\tSubject\tBehavior\tBehavior type\tStart (s)\tStop (s)\n"
        + "".join(f"walk\tNo focal subject\t{name}\tSTATE\t{start}\t{end}\n" for start, end, name in spans)
    ),
}
EXPORTED = ("eaf",)  # by Rondo, and then damaged


def annotated(rng: np.random.Generator, work: Path, base: Base, n: int) -> Case:
    base.give("run", work)
    kind, form = list(SPANS)[n // 2 % len(SPANS)], str(rng.choice([*FORMS, *EXPORTED]))
    path = work / f"walk.{form}"
    if form in EXPORTED:
        base.give(path.name, work)
    else:
        path.write_text(FORMS[form](SPANS[kind](rng)), encoding="utf-8", errors="surrogatepass")
    if n % 2 or (form in EXPORTED and kind != "plain"):
        kind, data = damage(rng, path.read_bytes() or b" ")
        if form == "eaf" and kind == "tail":
            data = data.replace(b"?>", b'?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>', 1)
        path.write_bytes(data)
    commands = (
        ("evaluate", path.name, "run", "--json"), ("compare", "run", path.name, "--suggest-names", "--apply"),
        ("compare", "run", path.name, "--json"), ("report", "run", "--truth", path.name),
    )  # fmt: skip
    args = commands[int(rng.integers(len(commands)))]
    change = ("run",) if args[0] == "report" or "--apply" in args else ()
    expect = "ok" if kind == "plain" else "either"
    return Case(f"annotations:{form}:{kind}:{args[0]}", args, may_change=change, expect=expect)


FAMILIES = (harmed, harmed_stream, applied, annotated)
