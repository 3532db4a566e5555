"""The commands that write, each with what has to be there before it, and how often each is killed."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
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
    share: int = 1


def _edits(work: Path) -> None:
    """The file that `Save edits` of a report writes."""
    page = (work / "run" / "report.html").read_text()
    found = re.search(r'id="edit-data">(.*?)</script>', page, re.S)
    assert found, "the page holds no edit-data"
    edits = [
        {"key": "0011223344556677", "kind": "name", "level": "unit", "ids": [0], "name": "limp"},
        {"key": "0011223344556688", "kind": "relabel", "ids": ["new"], "spans": [["walk", 10, 20]]},
    ]
    content = {"format": "rondo-edits", "schema": 2, "run": json.loads(found.group(1))["run"], "edits": edits}
    (work / "edits.json").write_text(json.dumps(content))


def _truth(work: Path) -> None:
    lines = ["abc"[(i // 120) % 3] for i in range(1200)]
    (work / "truth.csv").write_text("label\n" + "\n".join(lines) + "\n")


FORMATS = (
    ("csv", "x.csv"),
    ("parquet", "x.parquet"),
    ("eaf", "x"),
    ("audacity", "x"),
    ("label-studio", "x.json"),
)
BOTH = ("walk.csv", "day2.csv")
BENCH = ("bench", "run", "static", "--datasets", "mocap", "--methods", "kmeans")
DEEDS = (
    Deed("discover one", ("discover", "walk.csv", "--out", "o"), may_refuse=True),
    Deed("discover two", ("discover", *BOTH, "--set", "evidence.surrogates=0", "--out", "o"), BOTH, may_refuse=True),
    Deed("discover file by file", ("discover", *BOTH, "--engine", "serial", "--out", "o"), BOTH, may_refuse=True),
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
    Deed("stream", ("stream", "run", "--source", "walk.csv", "--out", "o"), ("run", "walk.csv"), share=3),
    Deed(
        "stream, often",
        ("stream", "run", "--source", "walk.csv", "--out", "o"),
        ("run", "walk.csv"),
        share=3,
    ),
    Deed("report", ("report", "run"), ("run",), share=3),
    Deed("report compared", ("report", "run", "--compare", "again"), ("run", "again"), share=3),
    *(
        Deed(f"export {form}", ("export", "pair", "--format", form, "--out", out), ("pair",), may_refuse=True, share=2)
        for form, out in FORMATS
    ),
    Deed("name", ("name", "run", "unit:0", "limp"), ("run",), share=3),
    Deed("name in a stream", ("name", "run", "unit:0", "limp", "--stream", "live"), ("run", "live"), share=3),
    Deed("merge", ("merge", "run", "unit:0", "unit:1"), ("run",), may_refuse=True, share=3),
    Deed(
        "split", ("split", "run", "unit:1"), ("run",), (("merge", "run", "unit:0", "unit:1"),), may_refuse=True, share=3
    ),
    Deed("apply", ("apply", "run", "edits.json"), ("run",), prepare=_edits, share=3),
    Deed("undo", ("undo", "run", "1"), ("run",), (("name", "run", "unit:0", "limp"),), may_refuse=True, share=3),
    Deed(
        "compare, names given",
        ("compare", "run", "truth.csv", "--level", "unit", "--suggest-names", "--apply"),
        ("run",),
        prepare=_truth,
        share=3,
    ),
    Deed("config init", ("config", "init", "c.toml"), (), may_refuse=True, share=3),
    Deed("demo", ("demo", "--out", "o"), (), may_refuse=True),
    Deed("bench run", (*BENCH, "--limit", "2", "--seeds", "1", "--engine", "serial", "--out", "o"), ()),
)


def plan(kills: int) -> list[Deed]:
    """Which command is killed how often: by turns, those with more that can go wrong more often."""
    turns = [deed for deed in DEEDS for _ in range(deed.share)]
    return [turns[i % len(turns)] for i in np.random.default_rng(7).permutation(max(kills, 1))]
