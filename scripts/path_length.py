"""How long the way of one recording is: what `rondo discover`, `rondo label` and `rondo stream` pass.

A ruler of `scripts/rulers.py`. A small planted csv with a clock goes through `rondo discover`; `rondo label` and
`rondo stream` use the model of that run. Each command has its own process. Counted are the functions of Rondo that
are called while the command runs, the modules that define them, and the deepest stack of such functions. Modules that
are only imported do not count, nor do functions that are called only while a module is imported, comprehensions
(Python 3.12 has no calls for them), or methods that a library generates.
"""

from __future__ import annotations

import importlib.util
import inspect
import io
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
from typing import NamedTuple

PACKAGES = ("rondo", "rondo_bench")
N_FRAMES = 12_000  # four minutes: enough for motifs that are composed of units
NOT_FUNCTIONS = ("<module>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")


class Function(NamedTuple):
    """A function by its file, qualified name and first line."""

    file: Path
    name: str
    line: int


class Passed(NamedTuple):
    """What runs during a call."""

    functions: frozenset[Function]
    depth: int

    @property
    def n_modules(self) -> int:
        return len({function.file for function in self.functions})


class _Open(threading.local):
    """Our calls of this thread that have not returned, each with its depth; 0 if an import called it."""

    def __init__(self) -> None:
        self.depths: dict[FrameType, int] = {}


def functions_passed(call: Callable[[], object], folders: Sequence[Path]) -> Passed:
    """The functions defined under these folders that run during the call, in this thread or in one that it starts."""
    roots = tuple(f"{folder}{os.sep}" for folder in folders)
    opened = _Open()
    ours: dict[CodeType, bool] = {}
    seen: set[CodeType] = set()
    deepest, start = 0, sys._getframe()

    def note(frame: FrameType, event: str, argument: object) -> None:
        nonlocal deepest
        code = frame.f_code
        if code not in ours:
            ours[code] = code.co_filename.startswith(roots) and is_function(code)
        if not ours[code]:
            return
        if event == "call":
            depth = opened.depths[frame] = depth_of(frame, start, opened.depths)
            deepest = max(deepest, depth)
            if depth:
                seen.add(code)
        elif event == "return":
            opened.depths.pop(frame, None)

    before = sys.getprofile(), threading.getprofile()
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before[0])
        threading.setprofile(before[1])
    return Passed(
        frozenset(Function(Path(code.co_filename), code.co_qualname, code.co_firstlineno) for code in seen), deepest
    )


def depth_of(frame: FrameType, start: FrameType, depths: Mapping[FrameType, int]) -> int:
    """One more than the nearest of our calls below it; 0 if a module is executed in between, or below that one."""
    below = frame.f_back
    while below is not None and below is not start:
        if below in depths:
            return depths[below] and depths[below] + 1
        if below.f_code.co_name == "<module>":
            return 0
        below = below.f_back
    return 1


def is_function(code: CodeType) -> bool:
    """Whether it is the code of a function; the body of a class is code too, without fast locals."""
    return code.co_name not in NOT_FUNCTIONS and bool(code.co_flags & inspect.CO_OPTIMIZED)


def package_folders() -> dict[str, Path]:
    """The folders of the packages that are installed."""
    specs = {name: importlib.util.find_spec(name) for name in PACKAGES}
    return {name: Path(spec.origin).parent for name, spec in specs.items() if spec is not None and spec.origin}


def run_command(arguments: Sequence[str]) -> None:
    """`rondo ARGUMENTS` in this process, without its output."""
    from rondo.cli.main import run

    errors = io.StringIO()
    code: object = 0
    with redirect_stdout(io.StringIO()), redirect_stderr(errors):
        try:
            run(list(arguments))
        except SystemExit as stopped:
            code = stopped.code
    if code:
        raise RuntimeError(f"`rondo {' '.join(arguments)}` ended with {code}: {errors.getvalue().strip()}")


def path_of_command(arguments: Sequence[str]) -> Passed:
    return functions_passed(lambda: run_command(arguments), list(package_folders().values()))


def write_csv(path: Path) -> None:
    """A planted stream with a clock in its first column."""
    import numpy as np

    from rondo.synthetic.streams import plant

    recording = plant(n_frames=N_FRAMES, seed=0).recording
    table = np.column_stack([np.arange(recording.n_frames) / (recording.rate or 1.0), recording.values])
    np.savetxt(path, table, "%.6g", ",", header=",".join(("time_s", *recording.channels)), comments="")


def measure() -> dict[str, Passed]:
    """What each command passes."""
    with tempfile.TemporaryDirectory() as folder:
        csv, run, labelled, live = (str(Path(folder) / name) for name in ("walk.csv", "run", "labelled", "live"))
        commands = {
            "discover": ("discover", csv, "--out", run, "--seed", "0"),
            "label": ("label", run, csv, "--out", labelled),
            "stream": ("stream", run, "--source", csv, "--out", live),
        }
        with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
            pool.submit(write_csv, Path(csv)).result()
            return {name: pool.submit(path_of_command, arguments).result() for name, arguments in commands.items()}


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
