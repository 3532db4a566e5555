"""The recipes of CONTRIBUTING: a column rule, a format, an encoder and an edit kind, added to a copy of the source.

A recipe is a set of changed files: pairs of old and new text, or the whole text of a new file. No recipe may change
more than `MOST_FILES`. One process imports the changed copy and uses every part as a user would.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

from tests.cli.test_added_parts import ENCODER, RECORDING_FORMAT

MOST_FILES = 3
SOURCE = Path(__file__).resolve().parents[1] / "src" / "rondo"

RECIPES: dict[str, dict[str, str | list[tuple[str, str]]]] = {
    "column rule": {
        "files/columns.py": [
            (
                "RULES: tuple[Rule, ...] = (",
                "def battery(column: Column, reading: Reading) -> Verdict | None:\n"
                "    is_battery = column.name == 'battery' and not reading.keeps(column.name)\n"
                "    return Verdict('left out', 'column battery left out') if is_battery else None\n\n\n"
                "RULES: tuple[Rule, ...] = (battery, ",
            )
        ]
    },
    "format": {"formats/raw.py": RECORDING_FORMAT},
    "encoder": {"encoders/spectrum.py": ENCODER},
    "edit kind": {
        "editing/kinds.py": [
            ('"relabel", "undo"]', '"relabel", "clear", "undo"]'),
            (
                '            case "undo":',
                '            case "clear":\n                return "frames cleared"\n            case "undo":',
            ),
            ('(self.kind == "relabel") != bool(self.spans)', '(self.kind in ("relabel", "clear")) != bool(self.spans)'),
            ('"undo": n == 0}', '"clear": n == 0, "undo": n == 0}'),
        ],
        "editing/edits.py": [
            ('if edit.kind == "relabel")', 'if edit.kind in ("relabel", "clear"))'),
        ],
        "run/shown.py": [
            ("for id in edit.ids_of(level):", 'for id in (-1,) if edit.kind == "clear" else edit.ids_of(level):'),
        ],
    },
}

USE = """
import rondo
from rondo.edit import apply_edits

table = rondo.read("day.csv")
assert table.channels == ("x", "y"), table.channels
assert "column battery left out" in table.notes
assert rondo.read("day.csv", rondo.Reading(keep=("battery",))).n_channels == 3

raw = rondo.read("day.raw")
assert raw.channels == ("a", "b") and raw.n_frames == 600

quick = {"evidence.surrogates": 0, "encoder.name": "spectrum"}
result = rondo.discover(raw, window=50, settings=quick)
assert result.units.size == 600 and result.model.config_.encoder.name == "spectrum"

result.save("run")
apply_edits("run", [{"kind": "clear", "spans": [["day", 100, 200]]}])
shown = rondo.Result.load("run")
assert (shown.units[100:200] == -1).all() and (shown.motifs[100:200] == -1).all()
assert (shown.units[200:] == result.units[200:]).all()
print("all parts used")
"""


def test_each_recipe_changes_few_files_and_its_part_is_used(tmp_path: Path) -> None:
    assert {name for name, files in RECIPES.items() if len(files) > MOST_FILES} == set()
    copy = tmp_path / "src" / "rondo"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for files in RECIPES.values():
        for name, change in files.items():
            file = copy / name
            if isinstance(change, str):
                assert not file.exists()
                file.write_text(change, encoding="utf-8")
                continue
            text = file.read_text(encoding="utf-8")
            for old, new in change:
                assert text.count(old) == 1, (name, old)
                text = text.replace(old, new)
            file.write_text(text, encoding="utf-8")
    values = np.random.default_rng(0).normal(size=(600, 3)).astype(np.float32)
    np.savetxt(tmp_path / "day.csv", values, "%.4f", ",", header="x,y,battery", comments="")
    values[:, :2].tofile(tmp_path / "day.raw")
    environment = os.environ | {"PYTHONPATH": str(copy.parent)}
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert "all parts used" in done.stdout, done.stderr
