"""scripts/path_length.py counts what a call runs, not what it imports."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from scripts.path_length import Length, functions_passed, length_of, lengths

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
""",
    "imported_only.py": "def at_import():\n    pass\n\nat_import()\n",
    "late.py": "def at_late_import():\n    pass\n\nat_late_import()\n",
}


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "toy"
    folder.mkdir()
    for name, text in TOY.items():
        (folder / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for module in [name for name in sys.modules if name.partition(".")[0] == "toy"]:
        monkeypatch.delitem(sys.modules, module)
    return folder


def test_functions_that_run_are_counted_and_imports_are_not(toy: Path) -> None:
    passed = functions_passed(lambda: importlib.import_module("toy.used").way(), [toy])
    assert {function.name for function in passed} == {
        "way",
        "in_a_thread",
        "Thing.method",
        "Thing.inner",
        "Thing.inner.<locals>.<lambda>",
    }
    assert length_of(passed) == Length(modules=1, functions=5, lines=len(TOY["used.py"].splitlines()))


def test_both_and_either_are_counted_beside_the_commands(toy: Path) -> None:
    used = importlib.import_module("toy.used")
    paths = {
        "discover": functions_passed(lambda: used.Thing().method(), [toy]),
        "stream": functions_passed(lambda: (used.Thing().inner(), used.in_a_thread()), [toy]),
    }
    assert {name: length.functions for name, length in lengths(paths).items()} == {
        "discover": 3,
        "stream": 3,
        "both": 2,
        "either": 4,
    }


def test_the_profiler_before_is_put_back(toy: Path) -> None:
    before = sys.getprofile()
    with pytest.raises(ZeroDivisionError):
        functions_passed(lambda: 1 / 0, [toy])
    assert sys.getprofile() is before
