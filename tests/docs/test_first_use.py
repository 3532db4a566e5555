"""The walk-through says what is printed: the legs again, written as their authors published them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "first_use.md"


def rondo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rondo", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)


@pytest.mark.data
def test_the_legs_give_what_the_page_shows(tmp_path: Path, data_dir: Path) -> None:
    stored = np.load(data_dir / "HuGaDB" / "various_01_00.npz")
    names = json.loads((data_dir / "HuGaDB" / "meta.json").read_text())["channels"]
    rows = ["\t".join(map(str, row)) for row in stored["X"]]
    remarks = ["#Activity\tsitting standing", "#ActivityID\t5 8", "#Date\t12-05-15-33"]
    name = "HuGaDB_v2_various_01_00"
    (tmp_path / f"{name}.txt").write_text("\n".join([*remarks, "\t".join(names), *rows]) + "\n")
    np.save(tmp_path / "truth.npy", stored["y"])

    page = PAGE.read_text(encoding="utf-8")
    command = f"rondo discover {name}.txt --out legs"
    shown = re.search(rf"\$ {re.escape(command)}\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    done = rondo(tmp_path, *command.split()[1:])
    notes = [line for line in done.stderr.splitlines() if line.startswith("note:")]
    assert [*notes, *done.stdout.splitlines()] == shown[1].splitlines()

    for level, tracks in (("motifs", "labels"), ("units", "units")):
        scores = json.loads(rondo(tmp_path, "evaluate", "truth.npy", f"legs/{tracks}/{name}.npy", "--json").stdout)
        figures = [scores["ari"], scores["ami"], scores["one_to_one"]]
        assert f"| {level} | {' | '.join(f'{figure:.1f}' for figure in figures)} |" in page


def test_the_commands_take_no_settings() -> None:
    page = PAGE.read_text(encoding="utf-8")
    commands = re.findall(r"^\$ (rondo discover .*)$", page, re.MULTILINE)
    assert len(commands) == 3
    assert all(re.fullmatch(r"rondo discover \S+ --out \w+", command) for command in commands)
