"""All checks in one go, with their own set-up: needs Python >= 3.11 and pip, nothing else.

    python3 scripts/check.py              lint, types, import contracts, rulers, tests
    python3 scripts/check.py tests -k csv only the tests, with arguments for pytest
    python3 scripts/check.py tests -m ""  all tests, the slow ones too: kills at every step, clusters, tutorials
    python3 scripts/check.py lint format  two of the steps (lint, format, types, imports, rulers, tests)
    python3 scripts/check.py tests --anywhere
                                          with the plainest kernels of numpy and torch, as an older CPU would take them

The environment lives in .venv; it is made at the first run and renewed when pyproject.toml or constraints.txt changes.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import time
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / ".rondo-check"
CONSTRAINTS = ROOT / "constraints.txt"
NEEDED_GIB = 4  # measured: 2.4 in .venv with torch's CPU build, and what pip unpacks on the way; 7 with its CUDA build

STEPS: dict[str, list[str]] = {
    "lint": ["-m", "ruff", "check", "."],
    "format": ["-m", "ruff", "format", "--check", "."],
    "types": ["-m", "mypy"],
    "imports": ["-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"],
    "rulers": ["-m", "scripts.rulers"],
    "tests": ["-m", "pytest", "-n", "2", "-m", "not slow"],
}

# What makes a CPU with AVX-512 add as one without: tests that ask for equal bits where the order of a sum is free fail.
PLAINEST = {
    "ATEN_CPU_CAPABILITY": "default",  # torch's own loops
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",  # its matrix products
    "ONEDNN_MAX_CPU_ISA": "SSE41",  # its convolutions
}
PLAINEST_ON_X86 = {
    "OPENBLAS_CORETYPE": "Haswell"
}  # numpy's and scipy's products; what is older, polars does not run on
LOOPS_OF_NUMPY = (
    "from numpy._core._multiarray_umath import __cpu_dispatch__ as built, __cpu_features__ as here;"
    "print(*(name for name in built if here[name]))"
)


def main(arguments: list[str]) -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - this script is what an older Python meets first
        print(f"Rondo needs Python 3.11 or newer, this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    set_up()
    chosen = list(takewhile(STEPS.__contains__, arguments))
    extra = [argument for argument in arguments[len(chosen) :] if argument != "--anywhere"]
    if extra and len(chosen) != 1:
        print(f"arguments such as '{extra[0]}' go to one step; name it first: {', '.join(STEPS)}", file=sys.stderr)
        return 2
    variables = plainest() if "--anywhere" in arguments else {}
    failed = []
    for name in chosen or STEPS:
        start = time.monotonic()
        print(f"== {name}", flush=True)
        if run([*STEPS[name], *extra], variables):
            failed.append(name)
        print(f"== {name}: {'FAILED' if name in failed else 'ok'} ({time.monotonic() - start:.0f} s)", flush=True)
    return 1 if failed else 0


def set_up() -> None:
    """Make .venv with Rondo and its test tools, unless it is there and as pyproject.toml wants it."""
    wanted = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + CONSTRAINTS.read_bytes()).hexdigest()
    if STAMP.is_file() and STAMP.read_text() == wanted:
        return
    print("== setting up .venv (a few minutes the first time: the tests need torch, which is large)", flush=True)
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(VENV)], check=True)
    install = ["-m", "pip", "install", "--quiet", "--constraint", str(CONSTRAINTS), "--editable", f"{ROOT}[test]"]
    if subprocess.run([str(PYTHON), *install], check=False).returncode:
        free = shutil.disk_usage(ROOT).free / 2**30
        hint = f"; the disk has {free:.1f} GiB left and {NEEDED_GIB} are needed" if free < NEEDED_GIB else ""
        sys.exit(f"the test tools could not be installed (pip says why above){hint}")
    STAMP.write_text(wanted)


def plainest() -> dict[str, str]:
    """Variables that force the dispatch of kernels down to what every CPU of this kind has."""
    asked = subprocess.run([str(PYTHON), "-c", LOOPS_OF_NUMPY], capture_output=True, text=True, check=True)
    on_x86 = platform.machine().lower() in ("x86_64", "amd64")
    return PLAINEST | (PLAINEST_ON_X86 if on_x86 else {}) | {"NPY_DISABLE_CPU_FEATURES": asked.stdout.strip()}


def run(command: list[str], variables: dict[str, str]) -> int:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    environment = os.environ | threads | variables
    return subprocess.run([str(PYTHON), *command], cwd=ROOT, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
