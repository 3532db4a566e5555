"""How large and how tangled Rondo is, against the ceilings in `scripts/rulers.toml`: values only fall.

    python scripts/rulers.py                        all rulers; fails where a value is above its ceiling
    python scripts/rulers.py --lower                lower the ceilings to the present values, and add new rulers
    python scripts/rulers.py --raise NAME REASON    raise one ceiling to the present value, with the reason
    python scripts/rulers.py --json                 one object, with the functions on the path of each command
    python scripts/rulers.py slow REPORT            tests over 0.5 s in a junit file (pytest --junitxml=REPORT) that are
                                                    marked neither `slow` nor `promise`: a report, never a limit

All rulers but the paths read the source only. The paths are compared on Linux only, where the ceilings were measured:
other systems lock and write files by other functions.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import io
import json
import re
import sys
import tokenize
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # started as a file, it finds its neighbours too
if find_spec("rondo") is None:
    sys.exit("the rulers run Rondo: python3 scripts/check.py rulers sets up an environment and measures there")

from scripts import path_length  # noqa: E402

TABLE = ROOT / "scripts" / "rulers.toml"
HEAD = """\
# Ceilings of `python scripts/rulers.py`; --lower and --raise rewrite this file. `target` is the value wanted, and
# `reason` says why a ceiling was raised.
"""

SATELLITES = ("formats", "paper", "live")
LEARNERS = ("data", "encoders", "units", "motifs", "evidence", "continual", "mixture", "paper")
FEATURES = ("edits", "groups", "split_by")
SMALL_FILE = 60  # lines
SENTENCE = 5  # words
SLOW_TEST_S = 0.5
# A command may take a branch more or less on another version of Python or of a library.
SLACK = {f"{command}.functions": 2 for command in ("discover", "label", "stream")}


class Ceiling(NamedTuple):
    ceiling: int
    target: int | None = None
    reason: str | None = None


def python_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


@cache
def text_of(file: Path) -> str:
    return file.read_text("utf-8")


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(text_of(file))


def n_lines(files: Iterable[Path]) -> int:
    return sum(text_of(file).count("\n") for file in files)


def room_of(file: Path, package: Path) -> str:
    """The folder of the package that a file stands in; "." if it stands in none."""
    parts = file.relative_to(package).parts
    return parts[0] if len(parts) > 1 else "."


def measure_lines(root: Path) -> Iterator[tuple[str, int]]:
    package = root / "src" / "rondo"
    everything, library = python_files(root / "src"), python_files(package)
    core = [file for file in library if room_of(file, package) not in SATELLITES]
    yield "lines.all", n_lines(everything)
    yield "lines.core", n_lines(core)
    yield "lines.bench", n_lines(python_files(root / "src" / "rondo_bench"))
    yield "lines.largest_file", max((n_lines([file]) for file in everything), default=0)
    files = [file for file in core if file.name != "__init__.py"]  # the sign of a room is one line
    yield "lines.small_core_files", sum(n_lines([file]) < SMALL_FILE for file in files)
    yield "lines.tests", n_lines(python_files(root / "tests"))
    yield "lines.benchmarks", n_lines(python_files(root / "benchmarks"))
    yield "lines.results_pages", len(list((root / "docs" / "results").glob("*.md")))
    for room in sorted({room_of(file, package) for file in library}):
        yield f"rooms.{room}", n_lines(file for file in library if room_of(file, package) == room)


def imports_of(root: Path, package: str = "rondo") -> dict[str, set[str]]:
    """The modules of the package that each of them imports, also inside functions, but not for types only."""
    folder = root / "src" / package
    modules = {path_length.module_name(file, {package: folder}): file for file in python_files(folder)}
    return {
        name: {found for found in _imported(name, file, modules) if found != name} for name, file in modules.items()
    }


def _imported(name: str, file: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in _run_statements(tree_of(file)):
        if isinstance(node, ast.Import):
            yield from (_nearest(alias.name, modules) for alias in node.names if _nearest(alias.name, modules))
        elif isinstance(node, ast.ImportFrom):
            home = node.module or ""
            if node.level:
                parents = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
                home = ".".join([*parents[: len(parents) - node.level + 1], *([home] if home else [])])
            for alias in node.names:
                if module := _nearest(f"{home}.{alias.name}", modules):
                    yield module


def _nearest(dotted: str, modules: Mapping[str, Path]) -> str:
    """The module of that name, or the one that holds it: the last name may be a function; "" if it is not ours."""
    home = dotted.rpartition(".")[0]
    return next((name for name in (dotted, home) if name in modules), "")


def _run_statements(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below but those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for other in child.orelse:
                yield from (other, *_run_statements(other))
        else:
            yield child
            yield from _run_statements(child)


def cycles(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """Sets of at least two modules each of which reaches all others: Tarjan's components, without recursion."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    waiting: list[str] = []
    components = []
    for root in graph:
        if root in order:
            continue
        calls = [(root, iter(sorted(graph[root])))]
        order[root] = low[root] = len(order)
        waiting.append(root)
        while calls:
            name, rest = calls[-1]
            for neighbour in rest:
                if neighbour not in order:
                    order[neighbour] = low[neighbour] = len(order)
                    waiting.append(neighbour)
                    calls.append((neighbour, iter(sorted(graph[neighbour]))))
                    break
                if neighbour in waiting:
                    low[name] = min(low[name], order[neighbour])
            else:
                calls.pop()
                if calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[name])
                if low[name] == order[name]:
                    start = waiting.index(name)
                    components.append(set(waiting[start:]))
                    del waiting[start:]
    return [component for component in components if len(component) > 1]


def measure_imports(root: Path) -> Iterator[tuple[str, int]]:
    components = cycles(imports_of(root))
    yield "imports.cycles", len(components)
    yield "imports.modules_in_cycles", sum(map(len, components))
    contracts = tomllib.loads(text_of(root / "pyproject.toml")).get("tool", {}).get("importlinter", {})
    layers = [layer for contract in contracts.get("contracts", ()) for layer in contract.get("layers", ())]
    yield "imports.colons_in_contract", sum(layer.count(":") for layer in layers)


def measure_code(root: Path) -> Iterator[tuple[str, int]]:
    package = root / "src" / "rondo"
    everything, library = python_files(root / "src"), python_files(package)
    yield "code.run_summary_calls", sum(_n_calls(tree_of(file), "RunSummary") for file in everything)
    yield "code.str_subclasses", n_str_subclasses(map(tree_of, everything))
    yield (
        "code.unsourced_constants",
        sum(n_unsourced_constants(text_of(file)) for file in library if room_of(file, package) in LEARNERS),
    )
    for word in FEATURES:
        named = re.compile(rf"\b{word}\b")
        yield f"modules_that_name.{word}", sum(bool(named.search(text_of(file))) for file in library)


def _n_calls(tree: ast.AST, name: str) -> int:
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return sum(name in (getattr(called, "id", ""), getattr(called, "attr", "")) for called in calls)


def n_str_subclasses(trees: Iterable[ast.AST]) -> int:
    """Classes that are a `str`, also through another class of the source; enumerations do not count."""
    bases = {
        node.name: {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    strings = {"str"}
    while more := {name for name, above in bases.items() if above & strings and "Enum" not in above} - strings:
        strings |= more
    return len(strings) - 1


def n_unsourced_constants(text: str) -> int:
    """Numbers that a module names in capitals without a comment on the same lines or as the line above."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [token for token in tokens if token.type == tokenize.COMMENT]
    commented = {comment.start[0] for comment in comments}
    alone = {comment.start[0] for comment in comments if comment.line.lstrip().startswith("#")}
    count = 0
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign):
            targets, value = node.targets[0], node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = node.target, node.value
        else:
            continue
        names = [name for name in ast.walk(targets) if isinstance(name, ast.Name) and name.id.strip("_").isupper()]
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        if _is_number(value) and commented.isdisjoint(lines) and node.lineno - 1 not in alone:
            count += len(names)
    return count


def _is_number(value: ast.expr) -> bool:
    """Whether it is a number, a sum of numbers or several of them, written out."""
    allowed = (ast.Constant, ast.UnaryOp, ast.BinOp, ast.Tuple, ast.List, ast.Dict, ast.operator, ast.unaryop)
    nodes = [node for node in ast.walk(value) if not isinstance(node, ast.expr_context)]
    literals = [node.value for node in nodes if isinstance(node, ast.Constant)]
    if isinstance(value, ast.Dict):
        literals = [node.value for node in value.values if isinstance(node, ast.Constant)]
    numbers = [literal for literal in literals if isinstance(literal, int | float) and not isinstance(literal, bool)]
    return bool(numbers) and len(numbers) == len(literals) and all(isinstance(node, allowed) for node in nodes)


def members(kind: type) -> set[str]:
    """Public methods, properties and defaults that Rondo's classes define, not those of a library's base class."""
    homes = [base for base in kind.__mro__ if base.__module__.partition(".")[0] == kind.__module__.partition(".")[0]]
    return {name for base in homes for name in vars(base) if not name.startswith("_")}


def fields(kind: type) -> set[str]:
    return {name for name in inspect.get_annotations(kind) if not name.startswith("_")}


def n_arguments(function: Callable[..., object]) -> int:
    return len(inspect.signature(function).parameters)


def measure_public() -> Iterator[tuple[str, int]]:
    import rondo

    for kind in (rondo.Rondo, rondo.Result):
        yield f"public.{kind.__name__}_members", len(members(kind))
        yield f"public.{kind.__name__}_fields", len(fields(kind))
    public = [getattr(rondo, name) for name in rondo.__all__]
    yield "public.most_arguments", max(n_arguments(function) for function in public if inspect.isfunction(function))


def n_sentences(tree: ast.AST) -> int:
    """Asserts that compare with a text of five words or more, and `raises(match=…)` with one."""
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            count += any(map(_is_sentence, ast.walk(node.test)))
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("raises", "warns")):
            matches = [keyword.value for keyword in node.keywords if keyword.arg == "match"]
            count += any(_is_sentence(part) for match in matches for part in ast.walk(match))
    return count


def _is_sentence(node: ast.AST) -> bool:
    if isinstance(node, ast.JoinedStr):
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    else:
        return False
    return sum(bool(re.match(r"\W*[^\W\d_]", word)) for word in text.split()) >= SENTENCE


def measure_tests(root: Path) -> Iterator[tuple[str, int]]:
    yield "tests.sentences_in_asserts", sum(n_sentences(tree_of(file)) for file in python_files(root / "tests"))


def slow_tests(report: Path, root: Path) -> list[tuple[float, str]]:
    """Seconds and names of the unmarked tests over 0.5 s in a junit file, the slowest first."""
    slow = []
    for case in ElementTree.parse(report).iter("testcase"):
        seconds, name = float(case.get("time", 0)), case.get("name", "")
        if seconds > SLOW_TEST_S and not _is_marked(root, case.get("classname", ""), name.partition("[")[0]):
            slow.append((seconds, f"{case.get('classname')}::{name}"))
    return sorted(slow, reverse=True)


def _is_marked(root: Path, module: str, function: str) -> bool:
    file = root.joinpath(*module.split(".")).with_suffix(".py")
    if not file.is_file():
        return False
    marks = []
    for node in tree_of(file).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark":
            marks.append(ast.unparse(node.value))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function:
            marks += map(ast.unparse, node.decorator_list)
    return any(re.search(r"mark\.(slow|promise)\b", mark) for mark in marks)


def measure_source(root: Path) -> dict[str, int]:
    return dict([*measure_lines(root), *measure_imports(root), *measure_code(root), *measure_tests(root)])


def measure_paths(paths: Mapping[str, path_length.Passed]) -> Iterator[tuple[str, int]]:
    for command, passed in paths.items():
        yield f"{command}.modules", passed.n_modules
        yield f"{command}.functions", len(passed.functions)
        yield f"{command}.depth", passed.depth


def read_table(path: Path) -> dict[str, Ceiling]:
    groups = tomllib.loads(path.read_text("utf-8")) if path.exists() else {}
    return {f"{group}.{name}": Ceiling(**row) for group, rows in groups.items() for name, row in rows.items()}


def write_table(path: Path, table: Mapping[str, Ceiling]) -> None:
    lines, group_before = [HEAD], ""
    for name, row in table.items():
        group, _, short = name.partition(".")
        if group != group_before:
            lines.append(f"\n[{group}]\n")
            group_before = group
        key = short if re.fullmatch(r"[\w-]+", short) else f'"{short}"'
        # A JSON string is a TOML string too.
        pairs = [f"{field} = {json.dumps(value)}" for field, value in row._asdict().items() if value is not None]
        lines.append(f"{key} = {{ {', '.join(pairs)} }}\n")
    path.write_text("".join(lines), "utf-8")


def lowered(values: Mapping[str, int], table: Mapping[str, Ceiling]) -> dict[str, Ceiling]:
    """The table of these values: ceilings fall and never rise; what is no longer measured goes, what is new comes."""
    rows = {name: table.get(name, Ceiling(value)) for name, value in values.items()}
    return {
        name: row._replace(ceiling=values[name], reason=None) if values[name] < row.ceiling else row
        for name, row in rows.items()
    }


def faults(values: Mapping[str, int], table: Mapping[str, Ceiling]) -> list[str]:
    """A line for each value above its ceiling or without one."""
    lines = []
    for name, value in values.items():
        if name not in table:
            lines.append(f"{name} is {value} and has no ceiling: python scripts/rulers.py --lower adds it")
        elif value > table[name].ceiling + SLACK.get(name, 0):
            lines.append(
                f"{name} is {value}, {value - table[name].ceiling} above its ceiling: make it smaller, or give a "
                f"reason: python scripts/rulers.py --raise {name} 'REASON'"
            )
    return lines


def as_text(values: Mapping[str, int], table: Mapping[str, Ceiling]) -> str:
    rows = [("ruler", "value", "ceiling", "wanted")]
    for name, value in values.items():
        row = table.get(name)
        ceiling = f"{row.ceiling:,}" if row else "no ceiling"
        rows.append((name, f"{value:,}", ceiling, f"{row.target:,}" if row and row.target is not None else ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lower", action="store_true", help="lower the ceilings to the present values")
    parser.add_argument("--raise", dest="raised", nargs=2, metavar=("NAME", "REASON"), help="raise one ceiling")
    parser.add_argument("--json", action="store_true", help="values, ceilings and the functions on each path")
    parser.add_argument("slow", nargs="*", metavar="slow REPORT", help="list slow tests instead")
    options = parser.parse_args(arguments)
    if options.slow:
        if len(options.slow) != 2 or options.slow[0] != "slow":
            parser.error("expected: slow REPORT")
        for seconds, name in slow_tests(Path(options.slow[1]), ROOT):
            print(f"{seconds:6.1f} s  {name}")
        return 0

    paths = path_length.measure()
    values = measure_source(ROOT) | dict(measure_public()) | dict(measure_paths(paths))
    table = read_table(TABLE)
    if options.raised:
        name, reason = options.raised
        if name not in values:
            parser.error(f"no ruler '{name}'")
        table[name] = table.get(name, Ceiling(0))._replace(ceiling=values[name], reason=reason)
        write_table(TABLE, {name: table[name] for name in [*values, *table] if name in table})
    if options.lower:
        table = lowered(values, table)
        write_table(TABLE, table)
    if options.json:
        measured: dict[str, Any] = {
            name: {"value": value, **(table[name]._asdict() if name in table else {})} for name, value in values.items()
        }
        functions = {command: path_length.by_module(passed.functions) for command, passed in paths.items()}
        print(json.dumps({"rulers": measured, "paths": functions}, indent=1))
    else:
        print(as_text(values, table))
    compared = values
    if sys.platform != "linux":
        compared = {name: value for name, value in values.items() if name.partition(".")[0] not in paths}
    above = faults(compared, table)
    below = [name for name in compared if name in table and values[name] < table[name].ceiling]
    if below and not options.json:
        print(f"lower than their ceilings (python scripts/rulers.py --lower): {', '.join(below)}")
    for line in above:
        print(line, file=sys.stderr)
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
