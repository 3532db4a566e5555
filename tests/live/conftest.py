"""What the tests of live sources share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.feeding import STORES
from tests.live.servers import MqttServer, mosquitto_server


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
