"""A name means one thing: no two modules of `rondo` define a class or a type under the same public name.

`rondo_bench` is not asked: a baseline is a world of its own, with the words of its paper.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "rondo"

NOT_YET = {
    "Change": 2,
    "Counters": 2,
    "Decision": 2,
    "Evidence": 2,
    "Kind": 2,
    "Occurrence": 2,
    "Scores": 3,
    "Stream": 2,
}
"""Names that are still defined in so many modules; no name may be added, and no place."""


def types_of(module: ast.Module) -> list[str]:
    """Public classes and aliases of types at the top of a module; what it imports is defined elsewhere."""
    found = [node.name for node in module.body if isinstance(node, ast.ClassDef)]
    for node in module.body:
        is_alias = isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript | ast.Attribute | ast.BinOp)
        if is_alias:
            found += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return [name for name in found if name[0].isupper() and not name.isupper()]


def defined() -> dict[str, list[str]]:
    """The modules that define each name."""
    places: dict[str, list[str]] = defaultdict(list)
    for file in sorted(SOURCE.rglob("*.py")):
        module = ".".join(file.relative_to(SOURCE).with_suffix("").parts)
        for name in types_of(ast.parse(file.read_text(encoding="utf-8"))):
            places[name].append(module)
    return places


def test_aliases_and_classes_are_seen_and_constants_are_not() -> None:
    code = (
        "A1 = 3\nCONSTANT = x[0]\nT = TypeVar('T')\nAlias = NDArray[int]\nclass Thing: pass\nclass _Own: pass\nE = x.y"
    )
    assert types_of(ast.parse(code)) == ["Thing", "Alias"]


def test_no_name_means_two_things() -> None:
    several = {name: modules for name, modules in defined().items() if len(modules) > NOT_YET.get(name, 1)}
    assert several == {}


def test_names_are_taken_off_the_list_when_they_are_mended() -> None:
    places = defined()
    assert {name: len(places[name]) for name, n in NOT_YET.items() if len(places[name]) < n} == {}
