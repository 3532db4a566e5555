"""Every test of the command line works in an empty folder of its own."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from rondo.data.recording import Recording
from rondo.live import session
from rondo.live.session import Session, SessionPaths
from rondo.model.rondo import Rondo
from tests.cli.running import Command, call, command, waves, write_csv
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
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model that knows the channels a and b at 50 Hz; a test file may have one of its own."""
    folder = tmp_path_factory.mktemp("fitted") / "model"
    fitted = Rondo(window=40, step=20, settings={"evidence": {"surrogates": 0}}, device="cpu")
    fitted.fit(Recording(waves(900), rate=50, channels=("a", "b"))).save(folder)
    return folder


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of `rondo discover`, small and quick; a test file may have one of its own."""
    folder = tmp_path_factory.mktemp("discovered")
    write_csv(folder / "day.csv", waves(900))
    quick = ("--set", "evidence.surrogates=0")
    done = call(
        "discover", folder / "day.csv", "--rate", 50, "--window", 40, "--step", 20, "--out", folder / "run", *quick
    )
    assert done.code == 0, done.err
    return folder / "run"


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
