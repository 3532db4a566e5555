"""Docstrings of the public API are numpydoc, and name exactly the parameters that the signatures have."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import pytest

import rondo
import rondo_bench
from rondo.live.base import Request
from scripts.reference.api import MODULES as REFERENCE
from tests.docs.test_prose import phrases_in

EXTENSIONS = ("rondo.encoders", "rondo.live")  # what other packages add parts with: not on the page of the reference
INTERNAL = {  # packages whose `__all__` is for other modules of Rondo alone: the reference says that they may change
    "rondo.annotations.formats": "how an annotation format is declared; people call rondo.evaluate and Result.export",
    "rondo.mixture": "stages of a fit",
    "rondo.report": "what Result.report calls",
    "rondo.report.export": "what Result.export calls",
    "rondo.synthetic.streams": "rondo.synthetic exports what people call",
    "rondo.vocabulary": "parts of a model; people call Rondo.name, Rondo.merge and rondo.edit",
}
SHOWN_ELSEWHERE = {  # functions and classes without an example of their own, and where one is
    "rondo.edit.open_vocabulary": "rondo.edit.editing",
    "rondo.edit.EditedVocabulary": "rondo.edit.editing",
    "rondo.edit.apply_file": "rondo.edit.apply_edits",
    "rondo.edit.undo_edit": "rondo.edit.apply_edits",
    "rondo.edit.edits_in": "rondo.edit.apply_edits",
    "rondo.edit.show_edits": "rondo.edit.editing",
    "rondo.synthetic.PlantedStream": "rondo.synthetic.plant",
}
EXAMPLES = [  # methods with an example
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
]


def _public(module: str) -> list[str]:
    """Names on the page of the Python reference, every error, and what others extend Rondo with."""
    if module == "rondo.errors":
        return [name for name, thing in vars(rondo.errors).items() if inspect.isclass(thing)]
    if module in EXTENSIONS:
        named = {name: getattr(import_module(module), name) for name in import_module(module).__all__}
        return [name for name, thing in named.items() if inspect.isclass(thing) or inspect.isfunction(thing)]
    return REFERENCE[module][0].split()


def _exports() -> dict[str, list[str]]:
    """The names in `__all__` of every package of rondo and rondo_bench that has one."""
    found = {}
    for package in (rondo, rondo_bench):
        for part in (package.__name__, *(one.name for one in walk_packages(package.__path__, f"{package.__name__}."))):
            path = find_spec(part)
            if path is not None and path.origin and "\n__all__ = " in Path(path.origin).read_text(encoding="utf-8"):
                found[part] = list(import_module(part).__all__)
    return found


def _things() -> Iterator[tuple[str, Any]]:
    """Every public callable, method and property with its dotted name."""
    for module in (*REFERENCE, *EXTENSIONS, "rondo.errors"):
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


def _is_of_a_module(name: str) -> bool:
    """Whether a function or a class, and no method; errors are raised, not called."""
    return name.rpartition(".")[0] in (*REFERENCE, *EXTENSIONS)


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
    if getattr(thing, "_is_protocol", False):
        return []  # nobody makes one
    given = inspect.signature(thing).parameters
    return [name for name in given if name not in ("self", "cls") and not name.startswith("_")]


@pytest.mark.parametrize("name", THINGS)
def test_everything_public_begins_with_a_sentence(name: str) -> None:
    first = _sections(THINGS[name])[""].strip().partition("\n\n")[0]
    assert first.split(), f"{name} has no docstring"
    assert first.rstrip().endswith((".", ":")), f"{name}: {first!r} is no sentence"
    assert phrases_in(inspect.getdoc(THINGS[name]) or "") == []


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_parameters_are_those_of_the_signature(name: str) -> None:
    sections = _sections(CALLABLES[name])
    assert _documented(sections.get("Parameters", "")) == _parameters(CALLABLES[name])


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_what_is_returned_is_documented(name: str) -> None:
    thing = CALLABLES[name]
    gives = None if inspect.isclass(thing) else inspect.signature(thing).return_annotation
    assert ("Returns" in _sections(thing)) == (gives not in (None, "None"))


@pytest.mark.parametrize("name", sorted(CALLABLES))
def test_raised_errors_exist(name: str) -> None:
    raised = re.findall(r"^(\S+)$", _sections(CALLABLES[name]).get("Raises", ""), re.M)
    assert [error for error in raised if not hasattr(rondo.errors, error)] == []


NOWHERE = Path("nowhere")
BAD_CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("rondo.edit.apply_edits", (NOWHERE, []), {}),
    ("rondo.edit.edits_in", (NOWHERE,), {}),
    ("rondo.edit.open_vocabulary", (NOWHERE,), {}),
    ("rondo.edit.show_edits", (NOWHERE,), {}),
    ("rondo.edit.undo_edit", (NOWHERE,), {}),
    ("rondo.synthetic.StreamPlan", (), {"n_units": 2}),
    ("rondo.synthetic.StreamPlan", (), {"motifs": "none"}),
    ("rondo.synthetic.plant", (), {"n_frames": 0}),
    ("rondo.continual.journal.Event", ("none", "unit", 0, None, (), {}), {}),
    ("rondo.metrics.evaluate", ({"a": ([0, 1], [0])},), {}),
    ("rondo.metrics.evaluate_continual", ({},), {}),
    ("rondo.metrics.compare", ({},), {}),
    ("rondo.metrics.meaning", ({"a": [0]}, {"a": [0]}), {}),
    ("rondo.metrics.shared_scores", ({}, {}), {}),
    ("rondo.metrics.clock_labels", (5, 9), {}),
    ("rondo.annotations.annotation.Annotation", ([1.5],), {}),
    ("rondo.encoders.declared_encoder", ("none",), {}),
    ("rondo.live.open_source", ("nowhere.csv", Request(("x",))), {}),
    ("rondo_bench.baselines.build_baseline", ("none",), {}),
    ("rondo_bench.baselines.build_baseline", ("kmeans", {"windows.length": -1}), {}),
    ("rondo_bench.data_sets.read.read_data_set", ("no such set",), {}),
    ("rondo_bench.data_sets.read.read_data_set", ("mocap", NOWHERE), {}),
    ("rondo_bench.data_sets.read.read_data_set", ("./nowhere",), {}),
]


@pytest.mark.parametrize(("name", "given", "more"), BAD_CALLS)
def test_what_a_bad_call_raises_is_documented(name: str, given: tuple[Any, ...], more: dict[str, Any]) -> None:
    with pytest.raises(rondo.errors.RondoError) as raised:
        THINGS[name](*given, **more)
    assert type(raised.value).__name__ in re.findall(r"^(\S+)$", _sections(THINGS[name])["Raises"], re.M)


@pytest.mark.parametrize("name", EXAMPLES)
def test_methods_that_people_call_first_have_an_example(name: str) -> None:
    assert ">>> " in _sections(THINGS[name]).get("Examples", "")


@pytest.mark.parametrize("name", sorted(name for name in CALLABLES if _is_of_a_module(name)))
def test_every_function_and_class_has_an_example_or_is_in_that_of_another(name: str) -> None:
    shown = THINGS[SHOWN_ELSEWHERE.get(name, name)]
    examples = _sections(shown).get("Examples", "")
    assert ">>> " in examples
    if name in SHOWN_ELSEWHERE:
        assert ">>> " not in _sections(THINGS[name]).get("Examples", ""), f"{name} has one now: take it off the list"


def test_every_name_that_a_public_package_exports_is_looked_at() -> None:
    known = {id(thing) for thing in THINGS.values()}
    exports = _exports()
    assert set(INTERNAL) <= set(exports)
    assert {"rondo", "rondo.continual", "rondo.metrics", "rondo_bench.baselines"} <= set(exports)
    for package in set(exports) - set(INTERNAL):
        unseen = [name for name in exports[package] if id(getattr(import_module(package), name)) not in known]
        others = {"__version__", "errors", "Curves", "Representations", "Tensors"}  # a text, a module, types
        assert set(unseen) <= others, package
