"""Every test of the command line works in an empty folder of its own."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from rondo.live import session
from rondo.live.session import Session, SessionPaths
from rondo.model.rondo import Rondo
from tests.cli.running import Command, command, waves, write_csv
from tests.continual.fakes import FakeStream


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RONDO_DATA", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".settings"))
    return tmp_path


@pytest.fixture
def rondo(capfd: pytest.CaptureFixture[str]) -> Command:
    return command(capfd)


@pytest.fixture(scope="module")
def model(small_run: Path) -> Path:
    """A small model that knows the channels a and b at 50 Hz; a test file may have one of its own."""
    return small_run / "model"


@pytest.fixture(scope="module")
def fitted(small_run: Path) -> Path:
    """A run of `rondo discover`, small and quick; a test file may have one of its own."""
    return small_run


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams that decide without a model: quick, and what they say can be foretold."""
    monkeypatch.setattr(session, "stream_of", FakeStream.of)


@pytest.fixture
def halfway(here: Path, run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The --out of a stream, with the model of the test file's own `run`, that was stopped after half of its rows."""
    monkeypatch.setattr(session, "CHUNK_ROWS", 100)
    write_csv(here / "x.csv", waves(1800, seed=6))
    folder = run / "model"
    place = SessionPaths("x.csv", here / "live")
    with closing(Session(Rondo.load(folder), folder, place)) as stopped:
        for _ in range(9):
            stopped.step()
        stopped.save()
    return here / "live"
