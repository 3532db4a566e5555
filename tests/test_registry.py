"""Declarations are found in packages and entry points; what is broken there is named and left out."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rondo.errors import RondoWarning
from rondo.registry import Registry


@dataclass(frozen=True)
class Tool:
    name: str
    order: int = 100


_NUMBERS = itertools.count()
Made = Callable[[dict[str, str], dict[str, str]], Registry[Tool]]


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Of a new package with these modules, and a distribution with these entry points to them."""

    def make(modules: dict[str, str], points: dict[str, str]) -> Registry[Tool]:
        package = f"tools_{next(_NUMBERS)}"
        (tmp_path / package / "inner").mkdir(parents=True)
        for name, code in {"__init__": "", "inner/__init__": "1 / 0", **modules}.items():
            (tmp_path / package / f"{name}.py").write_text(f"from {__name__} import Tool\n{code}", encoding="utf-8")
        about = tmp_path / f"{package}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Name: {package}\nVersion: 1.0\n", encoding="utf-8")
        lines = [f"{name} = {package}.{value}" for name, value in points.items()]
        (about / "entry_points.txt").write_text("\n".join([f"[test.{package}]", *lines]), encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        return Registry(Tool, (package,), f"test.{package}")

    return make


def test_modules_of_a_package_are_looked_into_and_listed_in_order(registry: Made) -> None:
    found = registry({"b": "TOOL = Tool('saw')", "a": "ONE, TWO = Tool('hammer'), Tool('zip', 1)", "c": ""}, {})
    assert list(found) == ["zip", "hammer", "saw"]
    assert (found["saw"], len(found), "nail" in found) == (Tool("saw"), 3, False)


def test_other_distributions_add_theirs(registry: Made) -> None:
    found = registry({"a": "TOOL = Tool('saw')", "inner/far": "TOOL = Tool('drill')"}, {"file": "a:TOOL"})
    assert list(found) == ["saw"]
    found = registry({"a": "class Box: TOOL = Tool('drill')"}, {"any name": "a:Box.TOOL"})
    assert list(found) == ["drill"]


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ({"x": "missing:TOOL"}, "cannot be loaded (ModuleNotFoundError"),
        ({"x": "a:NONE"}, "cannot be loaded (AttributeError"),
        ({"x": "inner:TOOL"}, "cannot be loaded (ZeroDivisionError: division by zero); update or remove that package"),
        ({"x": "a:NAME"}, "expected a Tool, found str; it is not used"),
        ({"x": "a:Hidden.OTHER"}, "there is a 'saw' of test.tools"),
    ],
)
def test_what_is_broken_is_named_and_takes_nothing_along(registry: Made, points: dict[str, str], says: str) -> None:
    found = registry({"a": "TOOL, NAME = Tool('saw'), 'saw'\nclass Hidden: OTHER = Tool('saw', 3)\n"}, points)
    with pytest.warns(RondoWarning) as noted:
        assert list(found.values()) == [Tool("saw")]
    (note,) = noted
    assert "entry point test.tools" in str(note.message)
    assert says in str(note.message)
    assert "\n" not in str(note.message)


def test_nothing_is_imported_before_the_first_question() -> None:
    code = (
        "import sys, rondo.config.settings as schema; print('rondo.encoders' in sys.modules);"
        "schema.resolve('paper'); print('rondo.paper.settings' in sys.modules, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True", "False"]
