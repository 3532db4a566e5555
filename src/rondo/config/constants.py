"""Constants of the learners that are no settings: each number at the top of a module, with its source.

A learner room writes `NAME = number  # source`. A comment line right above a number, or above several in a row, counts
for each of them; "chosen by hand, not measured" is a source too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from importlib.resources import files
from typing import NamedTuple

LEARNERS = ("data", "encoders", "units", "motifs", "evidence", "continual", "paper")


class Constant(NamedTuple):
    """A number at the top of a module."""

    module: str
    line: int
    name: str  # or several, where one line assigns them
    value: str
    source: str  # "" where none is written


def learner_constants(rooms: tuple[str, ...] = LEARNERS) -> list[Constant]:
    """Every constant of these rooms, in the order of modules and lines.

    >>> {constant.module for constant in learner_constants(("evidence",))} >= {"rondo.evidence.verdicts"}
    True
    """
    return [
        constant
        for room in rooms
        for path in sorted(files("rondo").joinpath(room).iterdir(), key=lambda path: path.name)
        if path.name.endswith(".py")
        for constant in constants_in(path.read_text(encoding="utf-8"), f"rondo.{room}.{path.name.removesuffix('.py')}")
    ]


def constants_in(code: str, module: str) -> Iterator[Constant]:
    """The constants of a module's source.

    >>> [(own.name, own.value, own.source) for own in constants_in("A = 3  # measured\\nB = 1e-3\\nC = str(2)", "m")]
    [('A', '3', 'measured'), ('B', '1e-3', '')]
    """
    lines, above = code.splitlines(), ""
    previous_end = 0
    for node in ast.parse(code).body:
        if node.lineno > previous_end + 1:
            before = lines[node.lineno - 2] if node.lineno > 1 else ""
            above = before.removeprefix("# ") if before.startswith("#") else ""
        previous_end = node.end_lineno or node.lineno
        if isinstance(node, ast.Assign) and _is_number(node.value):
            rest = lines[previous_end - 1][node.end_col_offset :].strip()
            source = rest.removeprefix("#").strip() if rest.startswith("#") else above
            value = ast.get_source_segment(code, node.value) or ""
            yield Constant(module, node.lineno, ast.unparse(node.targets[0]).strip("()"), value, source)


def _is_number(node: ast.expr) -> bool:
    """A number, or several; computed from numbers only."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(map(_is_number, node.elts))
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, ast.UnaryOp) and _is_number(node.operand)
