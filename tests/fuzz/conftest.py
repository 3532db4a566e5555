"""A process that forks commands, and the folders that cases start from."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.outside_base import Base, make
from tests.fuzz.warm_process import Warm


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    warm = Warm()
    yield warm
    warm.close()


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory, warm: Warm) -> Base:
    return make(tmp_path_factory.mktemp("outside") / "base", warm)
