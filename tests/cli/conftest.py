"""Every test of the command line works in an empty folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import Command, command


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RONDO_DATA", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".settings"))
    return tmp_path


@pytest.fixture
def rondo(capfd: pytest.CaptureFixture[str]) -> Command:
    return command(capfd)
