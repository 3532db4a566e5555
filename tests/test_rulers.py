"""The rulers, on small invented trees: what counts, what does not, and when a ceiling fails."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from scripts.path_length import functions_passed
from scripts.rulers import (
    Ceiling,
    cycles,
    faults,
    lowered,
    measure_source,
    n_sentences,
    n_unsourced_constants,
    read_table,
    slow_tests,
    write_table,
)

TOY = {
    "__init__.py": "",
    "used.py": """
from threading import Thread

from toy import imported_only

class Thing:
    def method(self):
        return [self.inner() for _ in range(2)]

    def inner(self):
        return sorted([2, 1], key=lambda number: -number)

    def never(self):
        pass

def way():
    from toy import late

    class Local:
        pass

    thread = Thread(target=in_a_thread)
    thread.start()
    thread.join()
    return Thing().method()

def in_a_thread():
    pass

def fall(n):
    yield from (fall(n - 1) if n else ())
    raise ValueError

def caught():
    for _ in range(3):
        try:
            list(fall(2))
        except ValueError:
            pass
""",
    "imported_only.py": "def at_import():\n    pass\n\nat_import()\n",
    "late.py": "def at_late_import():\n    pass\n\nat_late_import()\n",
}

HOUSE = {
    "pyproject.toml": '[tool.importlinter]\n[[tool.importlinter.contracts]]\nlayers = ["cli | live", "a : b : c"]\n',
    "src/rondo/__init__.py": "",
    "src/rondo/top.py": "from rondo.data.rows import rows\n\nrows(edits=1)\n",
    "src/rondo/data/__init__.py": "",
    "src/rondo/data/rows.py": "def rows():\n    from rondo.data import grid\n",
    "src/rondo/data/grid.py": "LEAST = 3\nfrom .rows import rows\n",
    "src/rondo/data/types.py": "if TYPE_CHECKING:\n    import rondo.data.reads_types\n",
    "src/rondo/data/reads_types.py": "import rondo.data.types\n",
    "src/rondo/live/long.py": "x = 1\n" * 100 + "RunSummary(x)\n",
    "src/rondo_bench/__init__.py": "class RunSummary:\n    pass\n",
    "tests/test_it.py": "def test_it():\n    assert text == 'a sentence of five words'\n",
    "docs/results/page.md": "words\n",
}


def write(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


# ---------------------------------------------------------------- paths


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "toy", TOY)
    monkeypatch.syspath_prepend(tmp_path)
    for module in [name for name in sys.modules if name.partition(".")[0] == "toy"]:
        monkeypatch.delitem(sys.modules, module)
    return tmp_path / "toy"


def test_functions_that_run_are_counted_and_imports_are_not(toy: Path) -> None:
    passed = functions_passed(lambda: importlib.import_module("toy.used").way(), [toy])
    assert {function.name for function in passed.functions} == {
        "way",
        "in_a_thread",
        "Thing.method",
        "Thing.inner",
        "Thing.inner.<locals>.<lambda>",
    }
    assert (passed.n_modules, passed.depth) == (1, 4)


def test_calls_that_end_with_an_error_add_no_depth(toy: Path) -> None:
    used = importlib.import_module("toy.used")
    assert functions_passed(used.caught, [toy]).depth == 4


# ---------------------------------------------------------------- source


def test_values_of_a_small_house(tmp_path: Path) -> None:
    values = measure_source(write(tmp_path, HOUSE))
    assert values == {
        "lines.all": 113,
        "lines.core": 10,
        "lines.bench": 2,
        "lines.largest_file": 101,
        "lines.small_core_files": 5,
        "lines.tests": 2,
        "lines.benchmarks": 0,
        "lines.results_pages": 1,
        "rooms..": 3,
        "rooms.data": 7,
        "rooms.live": 101,
        "imports.cycles": 1,
        "imports.modules_in_cycles": 2,
        "imports.colons_in_contract": 2,
        "code.run_summary_calls": 1,
        "code.str_subclasses": 0,
        "code.unsourced_constants": 1,
        "modules_that_name.edits": 1,
        "modules_that_name.groups": 0,
        "modules_that_name.split_by": 0,
        "tests.sentences_in_asserts": 1,
    }


def test_cycles_are_sets_of_modules_that_reach_each_other() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}, "g": set[str]()}
    assert sorted(map(sorted, cycles(graph))) == [["a", "b", "c"], ["d", "e"]]


def test_constants_need_a_comment_of_their_own() -> None:
    text = """
_A = 1  # why
_B = 2
# why
C: float = -3.0
D, E = 4, (5 * 60, 6)
F = "words"
G = constant(7, "measured")
h = 8
I = {"s": 9}
"""
    assert n_unsourced_constants(text) == 4  # _B, D, E, I


def test_sentences_in_asserts_are_counted_and_messages_of_asserts_are_not() -> None:
    text = """
assert text == f"the file {name} has no rows"
assert not problems, "here are all of the problems"
assert "four words are fine" in text
with pytest.raises(ValueError, match=r"one two three four five"):
    pass
"""
    assert n_sentences(ast.parse(text)) == 2


# ---------------------------------------------------------------- ceilings


def test_a_value_above_its_ceiling_or_without_one_is_a_fault() -> None:
    table = {"rooms.data": Ceiling(10), "rooms.gone": Ceiling(5), "label.functions": Ceiling(100)}
    assert faults({"rooms.data": 10, "label.functions": 102}, table) == []  # two functions of slack on a path
    values = {"rooms.data": 11, "rooms.new": 1, "label.functions": 103}
    assert [line.split()[0] for line in faults(values, table)] == list(values)


def test_ceilings_fall_and_never_rise() -> None:
    table = {"rooms.data": Ceiling(10, 5, "moved"), "rooms.run": Ceiling(10, reason="moved"), "rooms.gone": Ceiling(5)}
    values = {"rooms.data": 8, "rooms.run": 12, "rooms.new": 1}
    assert lowered(values, table) == {
        "rooms.data": Ceiling(8, 5),
        "rooms.run": Ceiling(10, reason="moved"),
        "rooms.new": Ceiling(1),
    }


def test_the_table_comes_back_as_it_was_written(tmp_path: Path) -> None:
    table = {"lines.all": Ceiling(3, 0), "rooms..": Ceiling(1, reason='takes "rows"'), "rooms.data": Ceiling(2)}
    write_table(tmp_path / "rulers.toml", table)
    assert read_table(tmp_path / "rulers.toml") == table


def test_slow_tests_without_a_mark_are_listed(tmp_path: Path) -> None:
    marked = "@pytest.mark.slow\ndef test_marked(): ...\ndef test_plain(): ...\n"
    cases = [("test_marked[1]", 2.0), ("test_plain[1]", 1.0), ("test_plain[2]", 0.1)]
    rows = "".join(f'<testcase classname="tests.test_it" name="{name}" time="{time}"/>' for name, time in cases)
    write(tmp_path, {"tests/test_it.py": marked, "report.xml": f"<testsuite>{rows}</testsuite>"})
    assert slow_tests(tmp_path / "report.xml", tmp_path) == [(1.0, "tests.test_it::test_plain[1]")]
