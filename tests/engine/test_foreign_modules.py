"""Python files in the folder of a stranger's recordings are never run, whichever processes do the work."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.systems import needs_posix

NAMES = (
    "joblib", "numpy", "scipy", "sklearn", "polars", "pydantic", "safetensors", "filelock", "threadpoolctl", "typer",
    "json", "random", "logging", "tempfile", "uuid", "ray", "rondo", "rondo_bench", "cloudpickle", "psutil",
    "setproctitle", "sitecustomize", "usercustomize", "works",
)  # fmt: skip
QUICK = ("--set", "evidence.surrogates=0", "--set", "motifs.method=none", "--set", "encoder.shape_channels=0")
DISCOVER = ("discover", "p0.npz", "p1.npz", "--key", "X", "--window", "1s", "--out", "run", *QUICK)
BENCH = ("bench", "run", "static", "--datasets", ".", "--methods", "clock", "--seeds", "1", "--out", "rows")

pytestmark = [needs_posix, pytest.mark.slow]
on_ray = [
    pytest.mark.ray,
    pytest.mark.timeout(600),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two recordings among modules that note their names when they are imported."""
    for seed in range(2):
        kinds = np.arange(600) // 100 % 2
        values = np.random.default_rng(seed).standard_normal((600, 2)) + 4 * kinds[:, None]
        np.savez(tmp_path / f"p{seed}.npz", X=values, y=kinds, rate=50.0)
    for name in NAMES:
        text = f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__ + ' ')\nraise ImportError(__name__)\n"
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def rondo(folder: Path, *arguments: str) -> None:
    command = [sys.executable, "-P", "-m", "rondo", *arguments]  # -P: as the command `rondo` starts
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("engine", ["serial", "local", pytest.param("ray", marks=on_ray)])
@pytest.mark.parametrize("command", [DISCOVER, BENCH], ids=["discover", "bench"])
def test_no_module_of_the_working_folder_is_imported(folder: Path, command: tuple[str, ...], engine: str) -> None:
    if command is DISCOVER:
        rondo(folder, *command, "--engine", engine, "--workers", "2")
        assert json.loads((folder / "run" / "summary.json").read_text())["failed"] == []
    else:
        rondo(folder, *command, "--engine", engine)
    assert not (folder / "ran").exists(), (folder / "ran").read_text()
