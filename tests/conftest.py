"""What all test files need: the real recordings, one BLAS thread per worker, and no clock in property tests."""

from __future__ import annotations

import os
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # workers that share two cores must not each start a thread per core

import pytest
from hypothesis import settings

# An example takes as long as the machine lets it: on a busy one a deadline fails tests of correct code. The examples
# are the same in every run, so that a change is judged by its own faults; RONDO_RANDOM_EXAMPLES=1 draws new
# ones, and RONDO_EXAMPLES=500 more of them.
settings.register_profile(
    "rondo",
    deadline=None,
    derandomize="RONDO_RANDOM_EXAMPLES" not in os.environ,
    max_examples=int(os.environ.get("RONDO_EXAMPLES", "30")),
)
settings.load_profile("rondo")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder with the real recordings; tests that need it skip, saying why, where it is absent."""
    named = os.environ.get("RONDO_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no real recordings: set RONDO_DATA to their folder (looked in {folder})")
    return folder
