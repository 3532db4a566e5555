"""How long the way of one recording is: modules and functions that `rondo discover` and `rondo stream` pass.

    python scripts/path_length.py            a table
    python scripts/path_length.py --json     the same with the functions of each module

The script writes a small planted csv with a clock, runs `rondo discover` on it and then `rondo stream` with the model
found, each in a process of its own. It counts the functions of Rondo that are called while the command runs, the
modules that define them, and the source lines of those modules. Modules that are only imported do not count, nor do
functions that are called only while a module is imported, comprehensions, or methods that a library generates.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import io
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing import get_context
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from rondo.synthetic.streams import plant

PACKAGES = ("rondo", "rondo_bench")
N_FRAMES = 12_000  # four minutes: enough for motifs that are composed of units
NOT_FUNCTIONS = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class Function(NamedTuple):
    """A function by its file, qualified name and first line."""

    file: Path
    name: str
    line: int


class Length(NamedTuple):
    """How much there is to read on a way."""

    modules: int
    functions: int
    lines: int


# ---------------------------------------------------------------- what a call passes


def functions_passed(call: Callable[[], object], folders: Sequence[Path]) -> frozenset[Function]:
    """The functions defined under these folders that run during the call, in this thread or in one that it starts."""
    roots = tuple(f"{folder}{os.sep}" for folder in folders)
    seen: dict[int, CodeType] = {}  # kept, so that no id is given twice
    start = sys._getframe()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event == "call" and id(code) not in seen and not (is_ours(code) and is_importing(frame, start)):
            seen[id(code)] = code

    def is_ours(code: CodeType) -> bool:
        return code.co_filename.startswith(roots)

    before = sys.getprofile(), threading.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before[0])
        threading.setprofile(before[1])
    return frozenset(
        Function(Path(code.co_filename), code.co_qualname, code.co_firstlineno)
        for code in seen.values()
        if is_ours(code) and is_function(code)
    )


def is_importing(frame: FrameType, start: FrameType) -> bool:
    """Whether a module is being executed between the frame and the start."""
    above: FrameType | None = frame
    while above is not None and above is not start:
        if above.f_code.co_name == "<module>":
            return True
        above = above.f_back
    return False


def is_function(code: CodeType) -> bool:
    """Whether it is the code of a function; the body of a class is code too, without fast locals."""
    return code.co_name not in NOT_FUNCTIONS and bool(code.co_flags & inspect.CO_OPTIMIZED)


def length_of(functions: Iterable[Function]) -> Length:
    passed = frozenset(functions)
    files = {function.file for function in passed}
    return Length(len(files), len(passed), sum(len(file.read_text("utf-8").splitlines()) for file in files))


# ---------------------------------------------------------------- the two commands


def package_folders() -> dict[str, Path]:
    """The folders of those packages that are there."""
    found = {name: importlib.util.find_spec(name) for name in PACKAGES}
    return {name: Path(spec.origin).parent for name, spec in found.items() if spec is not None and spec.origin}


def run_command(arguments: Sequence[str]) -> None:
    """`rondo ARGUMENTS` in this process, without its output."""
    from rondo.cli.main import run

    told = io.StringIO()
    code: object = 0
    with redirect_stdout(io.StringIO()), redirect_stderr(told):
        try:
            run(list(arguments))
        except SystemExit as stopped:
            code = stopped.code
    if code:
        raise RuntimeError(f"`rondo {' '.join(arguments)}` ended with {code}: {told.getvalue().strip()}")


def path_of_command(arguments: Sequence[str]) -> frozenset[Function]:
    return functions_passed(lambda: run_command(arguments), list(package_folders().values()))


def write_csv(path: Path) -> None:
    """A planted stream with a clock in its first column."""
    recording = plant(n_frames=N_FRAMES, seed=0).recording
    table = np.column_stack([np.arange(recording.n_frames) / (recording.rate or 1.0), recording.values])
    np.savetxt(path, table, "%.6g", ",", header=",".join(("time_s", *recording.channels)), comments="")


def measure() -> dict[str, frozenset[Function]]:
    """The functions that each command passes."""
    with tempfile.TemporaryDirectory() as folder:
        csv, run, live = (str(Path(folder) / name) for name in ("walk.csv", "run", "live"))
        write_csv(Path(csv))
        commands = {
            "discover": ("discover", csv, "--out", run, "--seed", "0"),
            "stream": ("stream", run, "--source", csv, "--out", live),
        }
        with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
            return {name: pool.submit(path_of_command, arguments).result() for name, arguments in commands.items()}


# ---------------------------------------------------------------- telling it


def lengths(paths: Mapping[str, frozenset[Function]]) -> dict[str, Length]:
    """Of each command, of what both pass, and of what either does."""
    every = list(paths.values())
    together = {"both": frozenset.intersection(*every), "either": frozenset.union(*every)}
    return {name: length_of(functions) for name, functions in {**paths, **together}.items()}


def module_name(file: Path, folders: Mapping[str, Path]) -> str:
    package, folder = next((name, folder) for name, folder in folders.items() if file.is_relative_to(folder))
    parts = file.relative_to(folder).with_suffix("").parts
    return ".".join((package, *(part for part in parts if part != "__init__")))


def by_module(functions: Iterable[Function]) -> dict[str, list[str]]:
    """The names of the functions of each module, in the order of the source."""
    folders, named = package_folders(), dict[str, list[str]]()
    for function in sorted(functions, key=lambda function: (str(function.file), function.line)):
        named.setdefault(module_name(function.file, folders), []).append(function.name)
    return named


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one object, with the functions of each module")
    given = parser.parse_args(arguments)
    paths = measure()
    rows = lengths(paths)
    if given.json:
        told: dict[str, Any] = {name: row._asdict() for name, row in rows.items()}
        for name, functions in paths.items():
            told[name]["functions_by_module"] = by_module(functions)
        print(json.dumps(told, indent=1))
        return
    print("| path | modules | functions | lines of those modules |\n|---|---|---|---|")
    for name, row in rows.items():
        print(f"| {name} | {row.modules} | {row.functions} | {row.lines:,} |")


if __name__ == "__main__":
    main()
