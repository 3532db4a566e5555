"""What all test files need: the real recordings, one BLAS thread per worker, and no clock in property tests."""

from __future__ import annotations

import os
from pathlib import Path

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # workers that share two cores must not each start a thread per core

import pytest
from hypothesis import settings

from tests.golden_files import Golden, golden_for

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


@pytest.fixture
def golden(request: pytest.FixtureRequest, tmp_path: Path) -> Golden:
    """Compares words with the files in tests/golden, or writes them there with --update-golden."""
    return golden_for(request, tmp_path)


# Runs and models that many tests read, each made once per session: nobody writes to them, who edits takes a copy.


def _discovered(factory: pytest.TempPathFactory, *options: object) -> Path:
    from tests.cli.running import call, waves, write_csv

    folder = factory.mktemp("discovered")
    write_csv(folder / "day.csv", waves(900))
    quick = ("--rate", 50, "--set", "evidence.surrogates=0")
    done = call("discover", folder / "day.csv", "--out", folder / "run", *quick, *options)
    assert done.code == 0, done.err
    return folder / "run"


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `rondo discover` by the default method: channels a and b at 50 Hz, three units, untested."""
    return _discovered(tmp_path_factory, "--window", 40, "--step", 20)


@pytest.fixture(scope="session")
def flat_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without motifs: every unit is its own motif."""
    return _discovered(tmp_path_factory, "--window", 50, "--step", 25, "--set", "motifs.method=none")
