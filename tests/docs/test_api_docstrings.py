"""Docstrings of the public API: a plain sentence for each name, numpydoc sections for what people call.

Each test lists all offenders at once. Public is what the page of the Python reference has, with `rondo.metrics`,
`rondo.synthetic` and `rondo.edit`, every error, and what other packages extend Rondo with. Sections are wanted of the
names of `rondo`, of the methods of Result, Rondo and Recording that take arguments, and of `rondo.edit` and
`rondo.synthetic`. Where others have sections, these are right too.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import rondo
from scripts.reference.api import MODULES as REFERENCE
from tests.docs.test_prose import phrases_in

MODULES = {module: names for module, (names, _) in REFERENCE.items()} | {
    "rondo.metrics": "evaluate Scores ScoreRow shared_scores meaning clock_labels compare Comparison",
    "rondo.synthetic": "plant plant_subjects structureless StreamPlan Novelty Gaps PlantedStream",
    "rondo.edit": "editing open_vocabulary apply_edits apply_file undo_edit edits_in show_edits",
    "rondo.encoders.base": "DeclaredEncoder Encoder FittedEncoder build_encoder declared_encoder",
    "rondo.live.source": "Request Rows Skip Source SourceKind open_source source_kinds",
    "rondo.errors": " ".join(name for name, thing in vars(rondo.errors).items() if inspect.isclass(thing)),
}
CALLED = re.compile(r"rondo\.(\w+|(Result|Rondo|Recording)\.\w+|edit\.[a-z]\w+|synthetic\.\w+)")
EXAMPLES = {  # methods that people call first
    "rondo.Rondo": ("fit", "predict", "fit_predict", "partial_fit", "stream", "adapt", "save", "load", "name", "merge"),
    "rondo.Result": ("plot", "report", "export", "usage", "transitions", "save", "load"),
}


def _things() -> Iterator[tuple[str, Any]]:
    """Every public callable, method and property with its dotted name."""
    for module, names in MODULES.items():
        for name in names.split():
            thing = getattr(import_module(module), name)
            yield f"{module}.{name}", thing
            for own, member in (vars(thing) if inspect.isclass(thing) else {}).items():
                inner = getattr(member, "__func__", member)
                if not own.startswith("_") and (
                    inspect.isfunction(inner) or isinstance(member, property | cached_property)
                ):
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
    if getattr(thing, "_is_protocol", False):
        return []  # nobody makes one
    given = inspect.signature(thing).parameters
    return [name for name in given if name not in ("self", "cls") and not name.startswith("_")]


def test_everything_public_begins_with_a_plain_sentence() -> None:
    first = {name: _sections(thing)[""].strip().partition("\n\n")[0].rstrip() for name, thing in THINGS.items()}
    assert [name for name, text in first.items() if not text.endswith((".", ":"))] == []
    assert [name for name, thing in THINGS.items() if phrases_in(inspect.getdoc(thing) or "")] == []


def test_parameters_are_those_of_the_signature() -> None:
    named = {name: _documented(_sections(thing).get("Parameters", "")) for name, thing in CALLABLES.items()}
    checked = [name for name in CALLABLES if named[name] or CALLED.fullmatch(name)]
    assert [name for name in checked if named[name] != _parameters(CALLABLES[name])] == []


def test_what_is_returned_is_documented() -> None:
    called = [name for name, thing in CALLABLES.items() if CALLED.fullmatch(name) and not inspect.isclass(thing)]
    gives = {name: inspect.signature(CALLABLES[name]).return_annotation not in (None, "None") for name in called}
    wanted = {name: gives[name] and bool(_parameters(CALLABLES[name])) for name in called}
    has = {name: "Returns" in _sections(CALLABLES[name]) for name in called}
    assert [name for name in called if wanted[name] > has[name] or has[name] > gives[name]] == []


def test_raised_errors_exist() -> None:
    raised = {name: re.findall(r"^(\S+)$", _sections(own).get("Raises", ""), re.M) for name, own in CALLABLES.items()}
    assert [name for name, errors in raised.items() if any(not hasattr(rondo.errors, own) for own in errors)] == []


def test_what_people_call_first_has_an_example() -> None:
    names = [f"rondo.{name}" for name in REFERENCE["rondo"][0].split()]
    names += [f"{owner}.{method}" for owner, methods in EXAMPLES.items() for method in methods]
    assert [name for name in names if ">>> " not in _sections(THINGS[name]).get("Examples", "")] == []


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [
        ("rondo.edit.apply_edits", (Path("nowhere"), []), {}),
        ("rondo.edit.open_vocabulary", (Path("nowhere"),), {}),
        ("rondo.synthetic.StreamPlan", (), {"n_units": 2}),
        ("rondo.synthetic.plant", (), {"n_frames": 0}),
        ("rondo.continual.journal.Event", ("none", "unit", 0, None, (), {}), {}),
    ],
)
def test_what_a_bad_call_raises_is_documented(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    with pytest.raises(rondo.errors.RondoError) as raised:
        THINGS[name](*arguments, **options)
    assert type(raised.value).__name__ in re.findall(r"^(\S+)$", _sections(THINGS[name])["Raises"], re.M)
