"""Which single changes of a module no test notices.

    python scripts/mutants.py                                 every module of scripts/mutants.toml, 40 changes of each
    python scripts/mutants.py src/rondo/units/viterbi.py      one of them
    python scripts/mutants.py MODULE --changes 0 --seed 1     0: all changes; another seed draws others
    python scripts/mutants.py MODULE --line 86                all changes of one line

A change flips a comparison, `and` or `or`, an operator or True, moves a number by one, drops a `not` or a statement, or
ends a function early. The examples of a module and the tests that the table names run against it, to the first that
fails, then those under `then`, which take longer. A run that takes four times the CPU time of an unchanged one counts
as noticed. Changes that alter nothing anybody could see stand in the table under `equivalent`, each with its line and a
reason. Exit code 1: less than 95 % of the changes were noticed.
"""

from __future__ import annotations

import argparse
import ast
import importlib.machinery
import importlib.util
import os
import random
import resource
import signal
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "scripts" / "mutants.toml"
WANTED = 0.95
N_CHANGES = 40
ALLOWED = 4.0  # times the CPU time of an unchanged run
NO_TESTS = 5  # exit code of pytest

COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.MatMult: ast.Sub,
}  # fmt: skip


class Change(NamedTuple):
    """One change of a module: the statement or expression before and after."""

    line: int
    before: str
    after: str
    node: int  # of the nodes that have a line
    kind: int  # of the changes of that node

    def tree(self, source: str) -> ast.Module:
        """The changed module."""
        tree = ast.parse(source)
        target = _nodes(tree)[self.node]
        _put(tree, target, list(_instead(target))[self.kind])
        return tree

    def __str__(self) -> str:
        return f"{self.line}: {self.before} -> {self.after}"


def changes_of(source: str) -> list[Change]:
    """Every single change of a module, in the order of its lines."""
    tree = ast.parse(source)
    skipped = {id(inner) for node in ast.walk(tree) for outer in _words(node) for inner in ast.walk(outer)}
    found = []
    for number, node in enumerate(_nodes(tree)):
        if id(node) not in skipped:
            for kind, after in enumerate(_instead(node)):
                lines = (ast.unparse(ast.fix_missing_locations(one)).splitlines()[0] for one in (node, after))
                found.append(Change(node.lineno, *lines, number, kind))
    return sorted(found, key=lambda change: change.line)


def _nodes(tree: ast.AST) -> list[Any]:
    return [node for node in ast.walk(tree) if hasattr(node, "lineno")]


def _words(node: ast.AST) -> Iterator[ast.AST]:
    """What people read and types: not changed."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
        yield from ast.iter_child_nodes(node)
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: an assertion too
        yield node.value
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        yield node
    if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation is not None:
        yield node.annotation
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield from node.decorator_list  # frozen classes: mypy sees to that
    if isinstance(node, ast.FunctionDef) and node.returns is not None:
        yield node.returns
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node


def _instead(node: ast.AST) -> Iterator[ast.AST]:
    """What a node is replaced by, one after the other."""
    match node:
        case ast.Compare(left, [op], comparators) if type(op) in COMPARED:
            yield ast.Compare(left, [COMPARED[type(op)]()], comparators)
        case ast.BinOp(left, op, right) if type(op) in COMPUTED:
            yield ast.BinOp(left, COMPUTED[type(op)](), right)
        case ast.AugAssign(target, op, value) if type(op) in COMPUTED:
            yield ast.AugAssign(target, COMPUTED[type(op)](), value)
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield operand
        case ast.Constant(bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as value):
            yield ast.Constant(value + 1)
            yield ast.Constant(value - 1)
        case ast.Raise() | ast.Continue() | ast.Break() | ast.Expr() | ast.Assign() | ast.AugAssign():
            yield ast.Pass()
        case ast.If(test, body, orelse):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.FunctionDef(name, args, body) if len(body) > 2 and not _is_generator(node):
            first = [ast.Return(ast.Constant(None))]
            yield ast.FunctionDef(name, args, first, node.decorator_list, node.returns)


def _is_generator(node: ast.AST) -> bool:
    return any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in ast.walk(node))


def _put(tree: ast.AST, target: ast.AST, after: ast.AST) -> None:
    """Replace a node of the tree."""
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, name, after)
            elif isinstance(value, list) and any(one is target for one in value):
                value[next(i for i, one in enumerate(value) if one is target)] = after
    ast.copy_location(after, target)
    ast.fix_missing_locations(tree)


# ---------------------------------------------------------------- running


class _Loader(importlib.machinery.SourceFileLoader):
    tree: ast.Module

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec")


class _Finder:
    """Gives one module in its changed form."""

    def __init__(self, module: Path, tree: ast.Module) -> None:
        self.name = ".".join(module.relative_to(ROOT / "src").with_suffix("").parts)
        self.loader = _Loader(self.name, str(module))
        self.loader.tree = tree

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.loader.path, loader=self.loader)


def run_tests(module: Path, tree: ast.Module, tests: Sequence[str], most_cpu_s: float) -> tuple[int, float]:
    """Exit code of pytest (negative: the signal that ended it) and CPU seconds, in a fork that imports Rondo itself."""
    begun = resource.getrusage(resource.RUSAGE_CHILDREN)
    pid = os.fork()
    if pid == 0:
        os.setpgrp()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)
        resource.setrlimit(resource.RLIMIT_CPU, (int(most_cpu_s) + 1, int(most_cpu_s) + 1))
        signal.alarm(int(20 * most_cpu_s) + 60)  # a change may wait for ever
        sys.meta_path.insert(0, _Finder(module, tree))  # type: ignore[arg-type]
        import pytest

        # plain: pytest would read what is named here from the disk, to rewrite it
        options = ["-x", "-q", "-p", "no:cacheprovider", "--assert=plain", "-m", "not slow"]
        os._exit(int(pytest.main([*options, *tests])))
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return code, ended.ru_utime + ended.ru_stime - begun.ru_utime - begun.ru_stime


def survivors_of(module: Path, entry: dict[str, Any], given: argparse.Namespace) -> tuple[int, list[Change]]:
    """How many changes were tried, and those that no test noticed."""
    source = module.read_text(encoding="utf-8")
    equivalent = [(known["line"], known["before"], known["after"]) for known in entry.get("equivalent", [])]
    lines = [line.strip() for line in source.splitlines()]
    every = [
        change
        for change in changes_of(source)
        if (lines[change.line - 1], change.before, change.after) not in equivalent
    ]
    if given.line:
        every = [change for change in every if change.line in given.line]
    elif given.changes and len(every) > given.changes:
        every = sorted(random.Random(given.seed).sample(every, given.changes), key=lambda change: change.line)
    left, examples = every, [str(module.relative_to(ROOT))] if ">>>" in source else []
    for tests in ([*examples, *entry["tests"]], entry.get("then", [])):
        if tests and left:
            left = _unnoticed(module, source, left, tests)
    for change in left:
        print(f"  {module.relative_to(ROOT)}:{change}", flush=True)
    return len(every), left


def _unnoticed(module: Path, source: str, changes: list[Change], tests: Sequence[str]) -> list[Change]:
    code, cpu_s = run_tests(module, ast.parse(source), tests, 600.0)
    if code != 0:
        raise SystemExit(f"{module}: its tests fail (exit code {code}) before anything is changed")
    most_cpu_s = ALLOWED * cpu_s + 2
    return [
        change for change in changes if run_tests(module, change.tree(source), tests, most_cpu_s)[0] in (0, NO_TESTS)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="*", type=Path, help="those of the table by default")
    parser.add_argument("--changes", type=int, default=N_CHANGES, help="of each module; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--line", type=int, action="append", help="only changes of this line")
    given = parser.parse_args()
    os.chdir(ROOT)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # none is needed, and each fork would load all
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    names = [str(path.resolve().relative_to(ROOT)) for path in given.modules] or list(table)
    if unknown := [name for name in names if name not in table]:
        parser.error(f"{unknown[0]}: {TABLE.name} names no tests for it; add an entry")
    _import_libraries()
    n_all = n_left = 0
    for name in names:
        begun = time.monotonic()
        n_tried, left = survivors_of(ROOT / name, table[name], given)
        n_all, n_left = n_all + n_tried, n_left + len(left)
        print(f"{name}: {n_tried - len(left)} of {n_tried} noticed, {time.monotonic() - begun:.0f} s", flush=True)
    share = (n_all - n_left) / max(n_all, 1)
    print(f"{n_all - n_left} of {n_all} changes noticed ({share:.1%})")
    return 0 if share >= WANTED else 1


def _import_libraries() -> None:
    """What takes long to import and is not changed: each fork has it then."""
    for name in (
        "hypothesis.extra.numpy",
        "numpy.testing",
        "polars",
        "pydantic",
        "pytest",
        "scipy.signal",
        "scipy.stats",
        "typer",
    ):
        importlib.import_module(name)
    for name in ("sklearn.metrics", "sklearn.mixture"):
        importlib.import_module(name)


if __name__ == "__main__":
    sys.exit(main())
