"""A folder of small recordings with classes, which quick methods get through in no time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import here as here
from tests.cli.conftest import rondo as rondo
from tests.cli.running import waves

N_FRAMES = 900


@pytest.fixture(scope="session")
def walks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three recordings of two people, three kinds of waves in turn."""
    folder = tmp_path_factory.mktemp("data") / "walks"
    folder.mkdir()
    for seed, name in enumerate(("ann_1", "ann_2", "bob_1")):
        kind = np.arange(N_FRAMES) // 150 % 3
        np.savez(folder / f"{name}.npz", X=waves(N_FRAMES, seed=seed), y=kind, rate=50.0)
    return folder
