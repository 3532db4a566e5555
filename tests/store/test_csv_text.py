"""No csv of ours holds a formula, and what Rondo reads back is what was written."""

from __future__ import annotations

import ast
import csv
import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rondo
from rondo.store.csv_text import cell_text, csv_of_rows, csv_of_table, plain_cell, plain_table, text_table

SRC = Path(rondo.__file__).parents[1]
FORMULAS = ("=cmd|' /C calc'!A0", "+1", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1", "'=1", "''@x")
TEXTS = (*FORMULAS, "", "walk", "'tis", "''", "a=b", "007", 'q"uote', "a,b", "x\ny")


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_begins_as_a_formula(text: str) -> None:
    assert plain_cell(text) == "'" + text
    assert csv_of_rows(["name"], [[text]]).partition("\n")[2].lstrip('"')[0] == "'"
    assert csv_of_table(pl.DataFrame({"name": [text]})).partition("\n")[2].lstrip('"')[0] == "'"


def test_what_is_read_back_is_what_was_written() -> None:
    rng = np.random.default_rng(0)
    drawn = ["".join(rng.choice(list("'=+-@\t\r\n＠a1"), size=int(rng.integers(6)))) for _ in range(500)]
    texts = [*TEXTS, *drawn]
    assert [cell_text(plain_cell(text)) for text in texts] == texts
    cells = list(csv.reader(io.StringIO(csv_of_rows(["name", "x"], [(text, -1) for text in texts]), newline="")))
    assert [(cell_text(name), x) for name, x in cells[1:]] == [(text, "-1") for text in texts]
    table = pl.DataFrame({"name": texts, "x": [-1] * len(texts)})
    assert plain_table(table)["name"].to_list() == [plain_cell(text) for text in texts]
    assert text_table(plain_table(table)).equals(table)


def test_only_one_module_writes_csv() -> None:
    found = []
    for file in sorted(SRC.glob("rondo*/**/*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                of_csv = node.func.attr in ("writer", "DictWriter") and ast.unparse(node.func.value) == "csv"
                if node.func.attr in ("write_csv", "sink_csv") or of_csv:
                    found.append((file.relative_to(SRC).as_posix(), ast.unparse(node)))
    elsewhere = [(file, what) for file, what in found if file != "rondo/store/csv_text.py"]
    assert elsewhere == [("rondo/run/writer.py", "plain_table(table).sink_csv(file)")]
