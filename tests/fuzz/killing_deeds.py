"""The commands that write, each with what has to be there before it, and how often each is killed."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Deed:
    """A command that writes, and what has to be there before it."""

    name: str
    args: tuple[str, ...]
    needs: tuple[str, ...] = ("walk.csv",)
    before: tuple[tuple[str, ...], ...] = ()  # commands to run first
    prepare: Callable[[Path], None] | None = None
    may_refuse: bool = False  # given again after it was done, it may say that it was done
    goes_on: bool = False  # given again after it was done, it does the next thing
    share: int = 1
    patches: Mapping[str, object] = field(default_factory=dict)  # constants, as `Warm.run` takes them
    varies: tuple[str, ...] = ()  # files that differ between two undisturbed runs


def _edits(work: Path) -> None:
    """The file that `Save edits` of a report writes."""
    page = (work / "run" / "report.html").read_text()
    found = re.search(r'id="edit-data">(.*?)</script>', page, re.S)
    assert found, "the page holds no edit-data"
    edits = [
        {"key": "0011223344556677", "kind": "name", "level": "unit", "ids": [0], "name": "limp"},
        {"key": "0011223344556688", "kind": "relabel", "ids": ["new"], "spans": [["walk", 10, 20]]},
        {"key": "0011223344556699", "kind": "merge", "ids": [0, 1]},
    ]
    content = {"format": "rondo-edits", "schema": 2, "run": json.loads(found.group(1))["run"], "edits": edits}
    (work / "edits.json").write_text(json.dumps(content))


def _truth(work: Path) -> None:
    lines = ["abc"[(i // 120) % 3] for i in range(1200)]
    (work / "truth.csv").write_text("label\n" + "\n".join(lines) + "\n")


def _walks(work: Path) -> None:
    """A data set of two recordings."""
    (work / "walks").mkdir()
    for seed in range(2):
        values = np.random.default_rng(seed).normal(size=(600, 3))
        np.savez(work / "walks" / f"subject_{seed}.npz", X=values, y=np.arange(600) // 150 % 3, rate=50.0)


FORMATS = (
    ("csv", "x.csv"),
    ("parquet", "x.parquet"),
    ("eaf", "x"),
    ("audacity", "x"),
    ("label-studio", "x.json"),
)
BOTH = ("walk.csv", "day2.csv")
QUICK = ("--window", "40", "--step", "20", "--set", "evidence.surrogates=0")
OFTEN = {"rondo.live.session:CHUNK_ROWS": 300, "rondo.live.session:WINDOWS_BETWEEN": 5}  # checkpoints
STREAM = ("stream", "run", "--source", "walk.csv", "--out", "o")
HEALTH = ("o/health.json",)
MERGE = ("merge", "run", "unit:0", "unit:1")
BENCH = ("bench", "run", "static", "--datasets", "./walks", "--methods", "kmeans", "--engine", "serial")
DEEDS = (
    Deed("discover one", ("discover", "walk.csv", "--out", "o", *QUICK), may_refuse=True),
    Deed("discover two", ("discover", *BOTH, "--out", "o", *QUICK), BOTH, may_refuse=True),
    Deed(
        "discover file by file", ("discover", *BOTH, "--engine", "serial", "--out", "o", *QUICK), BOTH, may_refuse=True
    ),
    Deed("discover clock", ("discover", *BOTH, "--method", "clock", "--out", "o"), BOTH, may_refuse=True, share=3),
    Deed("label", ("label", "run", "day2.csv", "--out", "o"), ("run", "day2.csv"), may_refuse=True, share=3),
    Deed(
        "label file by file",
        ("label", "run", *BOTH, "--engine", "serial", "--out", "o"),
        ("run", *BOTH),
        may_refuse=True,
        share=3,
    ),
    Deed("label adapted", ("label", "run", "day2.csv", "--adapt", "--out", "o"), ("run", "day2.csv"), may_refuse=True),
    Deed(
        "stream", ("stream", "run", "--source", "walk.csv", "--out", "o"), ("run", "walk.csv"), share=3, varies=HEALTH
    ),
    Deed("stream, often", STREAM, ("run", "walk.csv"), share=3, patches=OFTEN, varies=HEALTH),
    Deed("report", ("report", "run"), ("run",), share=3),
    Deed("report compared", ("report", "run", "--compare", "again"), ("run", "again"), share=3),
    *(
        Deed(f"export {form}", ("export", "pair", "--format", form, "--out", out), ("pair",), may_refuse=True, share=2)
        for form, out in FORMATS
    ),
    Deed("name", ("name", "run", "unit:0", "limp"), ("run",), share=3),
    Deed("name in a stream", ("name", "run", "unit:0", "limp", "--stream", "live"), ("run", "live"), share=3),
    Deed("merge", MERGE, ("run",), may_refuse=True, share=3),
    Deed("split", ("split", "run", "unit:1"), ("run",), (MERGE,), may_refuse=True, share=3),
    Deed("apply", ("apply", "run", "edits.json"), ("run",), prepare=_edits, share=3),
    Deed("undo", ("undo", "run", "1"), ("run",), (MERGE,), may_refuse=True, share=3),
    Deed("undo the last", ("undo", "run"), ("run",), (MERGE, ("name", "run", "unit:0", "limp")), share=3),
    Deed(
        "undo the last",
        ("undo", "run"),
        ("run",),
        (("name", "run", "unit:0", "limp"), ("merge", "run", "unit:0", "unit:1")),
        goes_on=True,
        share=3,
    ),
    Deed(
        "compare, names given",
        ("compare", "run", "truth.csv", "--level", "unit", "--suggest-names", "--apply"),
        ("run",),
        prepare=_truth,
        share=3,
    ),
    Deed("config init", ("config", "init", "c.toml"), (), may_refuse=True, share=3),
    Deed("demo", ("demo", "--out", "o"), (), may_refuse=True, patches={"rondo.cli.demo:N_FRAMES": 3_000}),
    Deed("bench run", (*BENCH, "--out", "o"), (), prepare=_walks, varies=("o/rows.jsonl",)),
)


def plan(kills: int) -> list[Deed]:
    """Which command is killed how often: by turns, those with more that can go wrong more often."""
    turns = [deed for deed in DEEDS for _ in range(deed.share)]
    return [turns[i % len(turns)] for i in np.random.default_rng(7).permutation(max(kills, 1))]
