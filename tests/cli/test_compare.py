"""`rondo compare`: annotations beside what was found; names come from them only when asked for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.running import Command, call, tree, waves, write_csv

N_FRAMES = 900
CLASSES = np.array(["walk", "sit", "run"])[np.arange(N_FRAMES) // 150 % 3]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over two recordings, and the truth."""
    folder = tmp_path_factory.mktemp("compared")
    for name in ("in", "truth"):
        (folder / name).mkdir()
    for seed, name in enumerate(("a", "b")):
        write_csv(folder / "in" / f"{name}.csv", waves(N_FRAMES, seed=seed))
        pl.DataFrame({"y": CLASSES}).write_csv(folder / "truth" / f"{name}.csv")
    flat = ("--set", "evidence.surrogates=0", "--set", "motifs.method=none")
    given = ("--rate", 50, "--window", 50, "--step", 25, *flat)
    done = call("discover", folder / "in", "--out", folder / "run", *given)
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def runs(made: Path, here: Path) -> Path:
    shutil.copytree(made, here, dirs_exist_ok=True)
    return here


def test_the_tables_and_the_json_say_the_same(rondo: Command, runs: Path) -> None:
    before = tree(runs)
    found = json.loads(rondo("compare", "run", "truth", "--level", "unit", "--json").out)
    units = np.concatenate([np.load(runs / "run" / "units" / f"{name}.npy") for name in ("a", "b")])
    truth = np.concatenate([CLASSES, CLASSES])
    table = [[int(((units == id) & (truth == c)).sum()) for c in ("walk", "sit", "run")] for id in np.unique(units)]
    assert found["confusion"] == {"ids": np.unique(units).tolist(), "classes": ["walk", "sit", "run"], "frames": table}
    assert (found["level"], found["n_frames"], "suggested_names" in found) == ("unit", 2 * N_FRAMES, False)
    assert found["purity"] > 0.9 > 0.5 > found["largest_class_share"]
    text = rondo("compare", "run", "truth", "--level", "unit").out.splitlines()
    assert text[0] == "3 units, 3 classes; 0 % of frames OTHER"
    assert text[3].split() == ["unit", "frames", "occurrences", "mostly", "purity"]
    assert [line.split()[0] for line in text[4:7]] == ["u0", "u1", "u2"]
    assert [[int(cell) for cell in line.split()[1:]] for line in text[-3:]] == table
    assert tree(runs) == before


def test_motifs_that_are_units_are_said_to_be(rondo: Command, runs: Path) -> None:
    last = rondo("compare", "run", "truth").out.splitlines()[-1]
    assert last == "no motif is longer than a unit: --level unit says the same about the units"
    assert rondo("merge", "run", "motif:0", "motif:2").code == 0
    assert "no motif is longer" not in rondo("compare", "run", "truth").out


def test_names_are_suggested_and_written_only_when_asked(rondo: Command, runs: Path) -> None:
    assert rondo("name", "run", "unit:1", "my own").code == 0
    before = tree(runs)
    arguments = ("compare", "run", "truth", "--level", "unit", "--suggest-names")
    text = rondo(*arguments).out
    suggested = json.loads(rondo(*arguments, "--json").out)
    assert tree(runs) == before
    names = suggested["suggested_names"]
    assert set(names) == {"unit:0", "unit:2"} and suggested["applied"] == []
    main = {f"unit:{row['id']}": row["main_class"] for row in suggested["entries"]}
    assert all(main[entry] == name for entry, name in names.items())
    assert all(f'rondo name run {entry} "{name}"' in text for entry, name in names.items())
    applied = json.loads(rondo(*arguments, "--apply", "--json").out)
    assert applied["applied"] == list(names)
    listed = {row["entry"]: row["name"] for row in json.loads(rondo("name", "run", "--json").out)["entries"]}
    assert {entry: name for entry, name in listed.items() if name} == names | {"unit:1": "my own"}
    assert "no names to suggest" in rondo(*arguments).out
