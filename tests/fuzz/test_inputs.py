"""Whatever is given: a good result or one line of a RondoError, never another exception, and no file beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rondo.data.recording import Recording
from rondo.errors import RondoError
from rondo.files.read import read_recording
from tests.fuzz import generators
from tests.fuzz.generators import N_CASES, Random

READ = {
    ".csv": generators.table,
    ".jsonl": generators.json_lines,
    ".npz": generators.archive,
}


def one_line(error: RondoError) -> bool:
    return bool(str(error).strip()) and "\n" not in str(error) and len(str(error)) < 2000


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", READ)
def test_files(tmp_path: Path, suffix: str) -> None:
    generate: Callable[[Random], bytes] = READ[suffix]
    n_read = 0
    for seed in range(N_CASES):
        path = tmp_path / f"x{suffix}"
        path.write_bytes(generate(np.random.default_rng(seed)))
        try:
            found = read_recording(path)
        except RondoError as error:
            assert one_line(error), (seed, error)
        except Exception as error:
            raise AssertionError(f"seed {seed} of {suffix}: {type(error).__name__}: {error}") from error
        else:
            n_read += 1
            assert isinstance(found, Recording), seed
            assert np.isfinite(found.values).any(), seed
            assert not np.isinf(found.values).any(), seed
            assert all(len(note.splitlines()) <= 1 for note in found.notes), (seed, found.notes)
        assert [each.name for each in tmp_path.iterdir()] == [path.name], seed
    assert n_read, "the generator makes nothing that can be read: it tests nothing but refusals"
