"""Nothing but `rondo.store` puts files in place: whoever writes another way is found here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import rondo

SRC = Path(rondo.__file__).parents[1]
STORE = Path("rondo/store")

ALLOWED = {
    ("rondo/cli/main.py", "open"): "the null device, for a closed stdout: nothing is put in place",
    ("rondo/many/engine.py", ".write_text"): "a switch of the system under /proc",
    ("rondo/many/pool.py", ".write_text"): "a switch of the system under /proc",
    ("rondo/cli/terminal.py", "open"): "the null device, for a stderr whose reader has gone",
    ("rondo/formats/xlsx.py", "tempfile"): "a file without a name, for the rows of a sheet",
    ("rondo/files/text/table.py", "tempfile"): "a file without a name, to read UTF-16 from",
    ("rondo/run/bucket.py", "tempfile"): "local copies of runs in a bucket",
    ("rondo/run/bucket.py", ".mkdir"): "their folders",
    ("rondo/run/bucket.py", "shutil.rmtree"): "these copies, when the process ends",
    ("rondo/plot/shown.py", ".savefig"): "a picture in memory, for a notebook",
    ("rondo/view/media.py", "os.open"): "a film, to read it",
    ("rondo/continual/checkpoint.py", "shutil.rmtree"): "checkpoints that a newer one has replaced",
    ("rondo/checks/annotation_formats.py", "tempfile"): "what a format writes, and copies that are damaged",
    ("rondo/checks/annotation_formats.py", ".write_bytes"): "these copies",
    ("rondo/checks/formats.py", "tempfile"): "copies of a file, to damage them",
    ("rondo/checks/formats.py", "shutil.copyfile"): "these copies",
    ("rondo/checks/formats.py", ".write_bytes"): "these copies",
    ("rondo/checks/methods.py", "tempfile"): "a run, to load its model",
}

_PATH_WRITERS = {"write_text", "write_bytes", "touch", "symlink_to", "hardlink_to", "open_memmap", "mkdir"}
_MODULE_WRITERS = {
    "os": {"open", "mkdir", "makedirs", "rename", "replace", "renames", "link", "symlink", "truncate", "mkfifo"},
    "shutil": {"copy", "copy2", "copyfile", "copytree", "move", "rmtree", "unpack_archive"},
    "np": {"memmap"},
}
_OF_NUMPY = {"save", "savez", "savez_compressed", "savetxt"}
_TO_A_FILE = {"tofile", "savefig", "write_csv", "write_parquet", "write_ipc", "write_json", "dump"}
_OPEN_FILES = {"file", "buffer"}  # what `whole_file`, `new_file` and io.BytesIO are called


def _mode_writes(call: ast.Call, place: int) -> bool:
    modes = [*call.args[place : place + 1], *(word.value for word in call.keywords if word.arg == "mode")]
    texts = [str(mode.value) for mode in modes if isinstance(mode, ast.Constant)]
    return any(set(text) <= set("rwaxbt+") and bool(set(text) & set("wax+")) for text in texts)


def _is_rename(call: ast.Call, name: str) -> bool:
    """Whether a path is given another name: of a text, `replace` takes two, and tables are renamed by a dict."""
    one = len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], ast.Dict)
    return name in ("replace", "rename") and one


def _method_writes(call: ast.Call, name: str, owner: str) -> bool:
    if name in _PATH_WRITERS or _is_rename(call, name):
        return True
    if name == "open":
        return _mode_writes(call, 0)
    first = call.args[0] if call.args else ast.Name("file")
    is_to_a_path = not (isinstance(first, ast.Name) and first.id in _OPEN_FILES)
    return is_to_a_path and (name in _TO_A_FILE or (owner == "np" and name in _OF_NUMPY))


def _writes(node: ast.AST) -> str | None:
    """How a piece of a program puts something on the disk, or could."""
    if isinstance(node, ast.Import) and any(alias.name == "tempfile" for alias in node.names):
        return "tempfile"
    if isinstance(node, ast.ImportFrom) and node.module in ("tempfile", "os", "shutil"):
        return f"from {node.module}"
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    if isinstance(function, ast.Name):
        return "open" if function.id == "open" and _mode_writes(node, 1) else None
    if not isinstance(function, ast.Attribute):
        return None
    name, owner = function.attr, function.value.id if isinstance(function.value, ast.Name) else ""
    if name in _MODULE_WRITERS.get(owner, ()):
        return f"{owner}.{name}"
    return f".{name}" if _method_writes(node, name, owner) else None


def _found(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        how = _writes(node)
        if how is not None:
            yield getattr(node, "lineno", 0), how


def test_only_the_store_writes() -> None:
    others = []
    used = set()
    for path in sorted(SRC.rglob("*.py")):
        where = path.relative_to(SRC)
        if where.is_relative_to(STORE):
            continue
        for line, how in _found(ast.parse(path.read_text(encoding="utf-8"))):
            key = (where.as_posix(), how)
            used.add(key)
            if key not in ALLOWED:
                others.append(f"{where}:{line} {how}")
    assert others == []
    assert set(ALLOWED) <= used  # an exception that is no longer needed goes


@pytest.mark.parametrize(
    "line",
    [
        "path.write_text('x')",
        "(a / 'b').write_bytes(b'')",
        "path.open('w')",
        "path.open(mode='ab')",
        "path.open('r+b')",
        "open(path, 'x')",
        "draft.replace(path)",
        "(folder / 'x').rename(path)",
        "os.replace(a, b)",
        "os.open(path, flags)",
        "shutil.move(a, b)",
        "import tempfile",
        "from tempfile import mkstemp",
        "np.save(path, x)",
        "np.savez_compressed(folder / 'x.npz', a=1)",
        "table.write_parquet(path)",
        "figure.savefig(path)",
        "np.lib.format.open_memmap(path, mode='w+')",
        "np.memmap(path)",
        "path.touch()",
        "path.mkdir(parents=True)",
        "os.makedirs(path)",
    ],
)
def test_a_writer_of_any_kind_is_found(line: str) -> None:
    assert [how for _, how in _found(ast.parse(line))]


@pytest.mark.parametrize(
    "line",
    [
        "text.replace('a', 'b')",
        "path.open('rb')",
        "path.open(encoding='utf-8')",
        "archive.open(member)",
        "archive.open('info.txt')",
        "table.rename({'a': 'b'})",
        "np.save(file, x)",
        "table.write_csv()",
        "dataclasses.replace(a, b=1)",
        "moment.replace(tzinfo=None)",
        "write_text(path, 'x')",
    ],
)
def test_readers_and_texts_are_left_alone(line: str) -> None:
    assert list(_found(ast.parse(line))) == []
