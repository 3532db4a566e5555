"""The steps of a release that need no index: .github/workflows/release.yml runs them, and so can you.

    python scripts/release.py version v0.3.0        the tag is the version of the code and the newest in CHANGELOG.md
    python scripts/release.py try dist              the wheel as people install it: pip, pipx and uvx, each from nothing
    python scripts/release.py sbom dist FILE.json   what pip installs with the wheel, as CycloneDX

Needs what packaging/tools.txt lists.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEMO = ("rondo", "demo")


def main(step: str, *arguments: str) -> int:
    steps = {"version": version, "try": try_wheel, "sbom": sbom}
    if step not in steps:
        sys.exit(f"expected a step, one of {', '.join(steps)}, found '{step}'")
    steps[step](*arguments)
    return 0


def version(tag: str) -> None:
    code = re.findall(r'^__version__ = "(.*)"$', (ROOT / "src/rondo/version.py").read_text("utf-8"), re.MULTILINE)
    newest = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)[0]
    if [tag.removeprefix("v")] != code or newest != code[0]:
        sys.exit(f"expected one version, found tag {tag}, version.py {code[0]} and CHANGELOG.md {newest}")


def wheel_in(folder: str) -> Path:
    found = sorted(Path(folder).resolve().glob("*.whl"))
    if len(found) != 1:
        sys.exit(f"{folder}: expected one wheel, found {len(found)}; build it: python -m build --outdir {folder}")
    return found[0]


def fresh_python(folder: Path, wheel: Path) -> Path:
    """The Python of a new environment that holds the wheel, what it needs, and nothing else."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run(folder, str(python), "-m", "pip", "install", "--quiet", str(wheel))
    return python


def try_wheel(folder: str) -> None:
    wheel = wheel_in(folder)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        python = str(fresh_python(place / "venv", wheel))
        run(place, python, "-m", "pip", "check")
        run(place, python, "-P", "-m", *DEMO, "--out", "pip")
        run(place, sys.executable, "-m", "pipx", "run", "--spec", str(wheel), *DEMO, "--out", "pipx")
        run(place, sys.executable, "-m", "uv", "tool", "run", "--from", str(wheel), *DEMO, "--out", "uvx")
        for out in ("pip", "pipx", "uvx"):
            if not (place / out / "report.html").is_file():
                sys.exit(f"{out}: the demo wrote no report.html")


def sbom(folder: str, path: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        python = str(fresh_python(Path(name, "venv"), wheel_in(folder)))
        run(ROOT, python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools")
        kind = ("--sv", "1.6", "--of", "JSON", "--output-reproducible", "--pyproject", "pyproject.toml")
        run(ROOT, sys.executable, "-m", "cyclonedx_py", "environment", *kind, "-o", path, python)


def run(place: Path, *command: str) -> None:
    print("$", *command, flush=True)
    start = time.monotonic()
    subprocess.run(command, cwd=place, check=True, stdin=subprocess.DEVNULL)
    print(f"({time.monotonic() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
