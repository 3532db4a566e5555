"""Files are opened by `rondo.store.reading` only: whoever opens one another way could wait for a pipe without end."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import rondo

SRC = Path(rondo.__file__).parent
ALLOWED = {
    ("config/constants.py", ".read_text"): "the source of Rondo itself",
    ("many/engine.py", ".read_text"): "what the system tells under /proc",
    ("forks.py", ".read_text"): "what the system tells under /proc",
    ("memory.py", ".read_text"): "what the system tells under /proc",
    ("live/inbox.py", ".read_text"): "what the system tells under /proc",
    ("report/render.py", ".read_text"): "a part of the page, from the package",
    ("live/files.py", ".open"): "a file that grows; pipes have a source of their own",
    ("store/folder.py", ".read_bytes"): "a regular file, by what lstat says of it",
    ("many/driver.py", ".read_parquet"): "a table of the folder that it writes",
    ("many/driver.py", ".scan_parquet"): "a table of the folder that it writes",
    ("files/tables.py", ".scan_parquet"): "after `regular`, by its path",
}
_READERS = {"read_text", "read_bytes", "read_parquet", "scan_parquet"}
_WITH_PATHS = {"ZipFile", "np.load", "ElementTree.parse", "np.fromfile"}


def _opens(node: ast.AST) -> str | None:
    """How a piece of a program opens a file to read, if its argument is not checked in the same call."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    first = node.args[0] if node.args else None
    is_checked = isinstance(first, ast.Call) and getattr(first.func, "id", "") in ("regular", "open_regular")
    is_path = isinstance(first, ast.Name | ast.Attribute) and "path" in ast.unparse(first)
    called = ast.unparse(node.func)
    if is_path and any(called == each or called.endswith(f".{each}") for each in _WITH_PATHS):
        return f".{name}"
    if name in _READERS and isinstance(node.func, ast.Attribute) and not is_checked:
        return f".{name}"
    mode = next((word.value for word in node.keywords if word.arg == "mode"), first)
    reads = not mode or (isinstance(mode, ast.Constant) and set(str(mode.value)) <= set("rbt"))
    return ".open" if name == "open" and isinstance(node.func, ast.Attribute) and reads else None


def _found(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if (how := _opens(node)) is not None:
            yield getattr(node, "lineno", 0), how


def test_only_the_store_opens_files() -> None:
    others, used = [], set()
    for path in sorted(SRC.rglob("*.py")):
        where = path.relative_to(SRC).as_posix()
        if where == "store/reading.py":
            continue
        for line, how in _found(ast.parse(path.read_text(encoding="utf-8"))):
            used.add((where, how))
            if (where, how) not in ALLOWED:
                others.append(f"{where}:{line} {how}")
    assert "\n".join(others) == ""
    assert set(ALLOWED) <= used  # an exception that is no longer needed goes


@pytest.mark.parametrize(
    "line",
    ["path.open('rb')", "path.open()", "path.open(encoding='utf-8')", "path.read_text()", "(a / 'b').read_bytes()",
     "zipfile.ZipFile(path)", "pl.scan_parquet(path)", "ElementTree.parse(path)", "np.load(path)"],
)  # fmt: skip
def test_a_reader_of_any_kind_is_found(line: str) -> None:
    assert [how for _, how in _found(ast.parse(line))]


@pytest.mark.parametrize(
    "line", ["open_regular(path)", "archive.open('info.txt')", "pl.scan_parquet(regular(path))", "path.open('wb')",
             "zipfile.ZipFile(file)", "np.load(regular(path))", "json.loads(text)"]
)  # fmt: skip
def test_checked_readers_are_left_alone(line: str) -> None:
    assert list(_found(ast.parse(line))) == []
