"""Docstrings of the public API are numpydoc, and name exactly the parameters that the signatures have."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

import pytest

import rondo
from scripts.reference.api import MODULES as REFERENCE
from tests.docs.test_prose import phrases_in

MODULES = ("rondo", "rondo.editing", "rondo.errors", "rondo.scale_curve", "rondo.synthetic")
NOT_YET: frozenset[str] = frozenset()  # callables whose docstrings still lack a section; take out what is done
EXAMPLES = [
    "rondo.discover",
    "rondo.label",
    "rondo.read",
    "rondo.evaluate",
    "rondo.Rondo",
    "rondo.Recording",
    "rondo.Result",
    "rondo.Labelling",
    "rondo.Rondo.fit",
    "rondo.Rondo.predict",
    "rondo.Rondo.fit_predict",
    "rondo.Rondo.partial_fit",
    "rondo.Rondo.stream",
    "rondo.Rondo.adapt",
    "rondo.Rondo.save",
    "rondo.Rondo.load",
    "rondo.Rondo.name",
    "rondo.Rondo.merge",
    "rondo.Result.plot",
    "rondo.Result.plot_entry",
    "rondo.Result.report",
    "rondo.Result.export",
    "rondo.Result.usage",
    "rondo.Result.transitions",
    "rondo.Result.save",
    "rondo.Result.load",
    "rondo.editing.editing",
    "rondo.scale_curve.scale_curve",
    "rondo.synthetic.plant",
]


def _public(module: str) -> list[str]:
    """Names on the page of the Python reference, and every error."""
    if module == "rondo.errors":
        return [name for name, thing in vars(rondo.errors).items() if inspect.isclass(thing)]
    return REFERENCE[module][0].split()


def _things() -> Iterator[tuple[str, Any]]:
    """Every public callable, method and property with its dotted name."""
    for module in MODULES:
        for name in _public(module):
            thing = getattr(import_module(module), name)
            yield f"{module}.{name}", thing
            members = vars(thing) if inspect.isclass(thing) else {}
            for own, member in members.items():
                if own.startswith("_"):
                    continue
                inner = getattr(member, "__func__", member)
                if inspect.isfunction(inner) or isinstance(member, property | cached_property):
                    yield f"{module}.{name}.{own}", member


THINGS = dict(_things())
CALLABLES = {
    name: getattr(thing, "__func__", thing)
    for name, thing in THINGS.items()
    if not isinstance(thing, property | cached_property)
}


def _sections(thing: Any) -> dict[str, str]:
    """The numpydoc sections of a docstring by title; "" holds what stands before them."""
    parts = re.split(r"^(\w+)\n-{3,}\n", inspect.getdoc(thing) or "", flags=re.M)
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def _documented(section: str) -> list[str]:
    """
    >>> _documented("a, b : int\\n    Two numbers.\\n*rest : str\\n    The others.\\n")
    ['a', 'b', 'rest']
    """
    heads = re.findall(r"^(\S.*?) : \S.*\n[ ]+\S", section, re.M)
    return [name.strip(" *") for head in heads for name in head.split(",")]


def _parameters(thing: Callable[..., Any]) -> list[str]:
    if inspect.isclass(thing) and issubclass(thing, Exception) and "__init__" not in vars(thing):
        return []  # a message, as every exception takes it
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


@pytest.mark.parametrize("name", THINGS)
def test_everything_public_begins_with_a_sentence(name: str) -> None:
    first = _sections(THINGS[name])[""].strip().partition("\n\n")[0]
    assert first.split(), f"{name} has no docstring"
    assert first.rstrip().endswith((".", ":")), f"{name}: {first!r} is no sentence"
    assert phrases_in(inspect.getdoc(THINGS[name]) or "") == []


@pytest.mark.parametrize("name", sorted(set(CALLABLES) - NOT_YET))
def test_parameters_are_those_of_the_signature(name: str) -> None:
    sections = _sections(CALLABLES[name])
    assert _documented(sections.get("Parameters", "")) == _parameters(CALLABLES[name])


@pytest.mark.parametrize("name", sorted(set(CALLABLES) - NOT_YET))
def test_what_is_returned_is_documented(name: str) -> None:
    thing = CALLABLES[name]
    gives = None if inspect.isclass(thing) else inspect.signature(thing).return_annotation
    assert ("Returns" in _sections(thing)) == (gives not in (None, "None"))


@pytest.mark.parametrize("name", sorted(set(CALLABLES) - NOT_YET))
def test_raised_errors_exist(name: str) -> None:
    raised = re.findall(r"^(\S+)$", _sections(CALLABLES[name]).get("Raises", ""), re.M)
    assert [error for error in raised if not hasattr(rondo.errors, error)] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_people_call_first_has_an_example(name: str) -> None:
    assert ">>> " in _sections(THINGS[name]).get("Examples", "")


def test_every_public_name_is_looked_at() -> None:
    named = {f"rondo.{name}" for name in rondo.__all__} - {"rondo.__version__", "rondo.errors"}
    assert named <= set(THINGS)


def test_nothing_is_listed_as_unfinished_that_is_gone() -> None:
    assert set(CALLABLES) >= NOT_YET
