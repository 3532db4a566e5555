"""What the tests of live sources share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rondo.live import session
from tests.cli.conftest import fake, here, model, rondo
from tests.live.feeding import STORES
from tests.live.servers import MqttServer, mosquitto_server

__all__ = ["fake", "here", "model", "rondo"]  # fixtures: an empty folder of its own, and the command


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints after few windows."""
    monkeypatch.setattr(session, "WINDOWS_BETWEEN", 10)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MqttServer]:
    """A broker of MQTT 5, which amqtt does not speak."""
    with mosquitto_server(tmp_path, needs_mosquitto=True) as found:
        yield found


@pytest.fixture(autouse=True)
def _close_stores() -> Iterator[None]:
    yield
    while STORES:
        STORES.pop().close()
