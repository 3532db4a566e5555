"""All checks in one go, with their own set-up: needs Python >= 3.11 and pip, nothing else.

    python3 scripts/check.py              lint, types, import contracts, tests
    python3 scripts/check.py tests -k csv only the tests, with arguments for pytest

The environment lives in .venv; it is made at the first run and renewed when pyproject.toml or constraints.txt changes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
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
    "tests": ["-m", "pytest", "-n", "2"],
}


def main(arguments: list[str]) -> int:
    if sys.version_info < (3, 11):  # noqa: UP036 - this script is what an older Python meets first
        print(f"Rondo needs Python 3.11 or newer, this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    set_up()
    chosen = arguments[0] if arguments and arguments[0] in STEPS else None
    failed = []
    for name, command in STEPS.items():
        if chosen not in (None, name):
            continue
        extra = arguments[1:] if chosen else []
        start = time.monotonic()
        print(f"== {name}", flush=True)
        if run([*command, *extra]):
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


def run(command: list[str]) -> int:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.run([str(PYTHON), *command], cwd=ROOT, env=os.environ | threads, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
