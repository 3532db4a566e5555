"""What several test files need: where the real recordings are, and one BLAS thread per worker."""

from __future__ import annotations

import os
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # workers that share two cores must not each start a thread per core

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real recordings; tests that need it skip, saying why, where it is absent."""
    named = os.environ.get("RONDO_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real recordings: set RONDO_DATA to their folder (looked in {folder})")
    return folder
