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
    "rondo.scale_curve.ScaleCurve": "rondo.scale_curve.scale_curve",
    "rondo.scale_curve.Scale": "rondo.scale_curve.scale_curve",
    "rondo.synthetic.PlantedStream": "rondo.synthetic.plant",
}
EXAMPLES = [  # methods with an example
    *(f"rondo.Rondo.{name}" for name in ("fit", "predict", "fit_predict", "partial_fit", "stream", "adapt", "save")),
    *(f"rondo.Rondo.{name}" for name in ("load", "name", "merge")),
    *(f"rondo.Result.{name}" for name in ("plot", "plot_entry", "report", "export", "usage", "transitions", "save")),
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
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


def _is_a_sentence(name: str) -> bool:
    first = _sections(THINGS[name])[""].strip().partition("\n\n")[0].rstrip()
    return first.endswith((".", ":")) and not phrases_in(inspect.getdoc(THINGS[name]) or "")


def _tells_what_it_returns(name: str) -> bool:
    thing = CALLABLES[name]
    gives = None if inspect.isclass(thing) else inspect.signature(thing).return_annotation
    return ("Returns" in _sections(thing)) == (gives not in (None, "None"))


def _raises_known_errors(name: str) -> bool:
    return all(hasattr(rondo.errors, error) for error in _raised(CALLABLES[name]))


def _raised(thing: Any) -> list[str]:
    return re.findall(r"^(\S+)$", _sections(thing).get("Raises", ""), re.M)


def _names_its_parameters(name: str) -> bool:
    return _documented(_sections(CALLABLES[name]).get("Parameters", "")) == _parameters(CALLABLES[name])


def _has_an_example(name: str) -> bool:
    """Of its own, or in the docstring of another, and not in both."""
    own = ">>> " in _sections(THINGS[name]).get("Examples", "")
    elsewhere = SHOWN_ELSEWHERE.get(name)
    return own if elsewhere is None else not own and ">>> " in _sections(THINGS[elsewhere]).get("Examples", "")


def test_docstrings_begin_with_a_sentence() -> None:
    assert [name for name in THINGS if not _is_a_sentence(name)] == []


def test_docstrings_name_the_parameters_the_results_and_the_errors_of_the_signature() -> None:
    for check in (_names_its_parameters, _tells_what_it_returns, _raises_known_errors):
        assert [name for name in CALLABLES if not check(name)] == [], check.__name__


def test_functions_classes_and_the_methods_that_people_call_first_have_an_example() -> None:
    named = [*EXAMPLES, *(name for name in CALLABLES if _is_of_a_module(name))]
    assert [name for name in named if not _has_an_example(name)] == []


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


def test_what_a_bad_call_raises_is_documented() -> None:
    for name, given, more in BAD_CALLS:
        with pytest.raises(rondo.errors.RondoError) as raised:
            THINGS[name](*given, **more)
        assert type(raised.value).__name__ in _raised(THINGS[name]), name


def test_every_name_that_a_public_package_exports_is_looked_at() -> None:
    known = {id(thing) for thing in THINGS.values()}
    exports = _exports()
    assert set(INTERNAL) <= set(exports)
    assert {"rondo", "rondo.continual", "rondo.metrics", "rondo_bench.baselines"} <= set(exports)
    for package in set(exports) - set(INTERNAL):
        unseen = [name for name in exports[package] if id(getattr(import_module(package), name)) not in known]
        others = {"__version__", "errors", "Curves", "Representations", "Tensors"}  # a text, a module, types
        assert set(unseen) <= others, package
