"""`rondo stream` of an MQTT topic, from senders to labels: none lost, none twice, whoever is killed meanwhile."""

from __future__ import annotations

import json
import os
import random
import signal as signals
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from rondo.live import fleet as fleet_module
from rondo.live import session
from rondo.live.fleet import Fleet
from tests.live.memory_feed import files_of, memory_kind, numbered, run_to_end, sent, signal, small_model
from tests.live.mqtt_devices import Sender, sender
from tests.live.rondo_process import rondo_command
from tests.live.servers import MqttServer, mosquitto_server, wait_until

pytestmark = [
    pytest.mark.broker,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning"),
]
Sent = Sequence[tuple[str, bytes]]
_EVERY = 20  # windows between checkpoints
_CONNECTED = "connected as"


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_model(tmp_path_factory.mktemp("model") / "m")[1]


def undisturbed(model_folder: Path, messages: Sent, out: Path) -> dict[str, bytes]:
    """What a fleet writes that gets every message once, in order, in one go and without a broker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fleet_module, "feed_kind", lambda where: memory_kind(numbered(messages)))
        patch.setattr(session, "WINDOWS_BETWEEN", _EVERY)
        with closing(Fleet(*small_model(model_folder), "memory:", out)) as fleet:
            run_to_end(fleet)
            fleet.stop()
    return files_of(out)


class Streaming:
    """`rondo stream` as a process of its own, that can be killed and started again."""

    def __init__(self, model: Path, server: MqttServer, out: Path) -> None:
        source = f"{server.address}/sensors/#"
        self._command = rondo_command(_EVERY, "stream", model, "--source", source, "--out", out)
        self.out, self._said = out, out.parent / f"{out.name}.stderr"
        self.start()

    def start(self) -> None:
        self._said.touch()
        self._n_before = self.said().count(_CONNECTED)
        with self._said.open("ab") as file:
            self.process = subprocess.Popen(self._command, stderr=file, stdout=file, env=dict(os.environ))

    def said(self) -> str:
        return self._said.read_text()

    def wait_connected(self) -> None:
        wait_until(self._is_connected, "a connection", patience_s=120)

    def _is_connected(self) -> bool:
        assert self.process.poll() is None, self.said()
        return self.said().count(_CONNECTED) > self._n_before

    def wait_written(self, expected: Mapping[str, bytes]) -> None:
        """Until there is as much as is expected; more, or something else, is for the caller to find."""
        wait_until(lambda: self._has_written(expected), f"as many labels in {self.out}", patience_s=120)

    def _has_written(self, expected: Mapping[str, bytes]) -> bool:
        assert self.process.poll() is None, self.said()
        sizes = self.sizes()
        return all(sizes.get(name, 0) >= len(content) for name, content in expected.items())

    def sizes(self) -> dict[str, int]:
        return {name: len(content) for name, content in files_of(self.out).items()}

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.send_signal(signals.SIGINT)
        assert self.process.wait(120) == 0, self.said()

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[MqttServer]:
    with mosquitto_server(tmp_path, persistence=True) as found:
        yield found


def three_devices(n_rows: int = 1600, n_messages: int = 160) -> list[tuple[str, bytes]]:
    devices = [sent(name, signal(seed, n_rows), n_messages) for seed, name in enumerate(("arm", "hall/7", "leg"), 1)]
    return [own for together in zip(*devices, strict=True) for own in together]


def send(to: Sender, messages: Sent, pause_s: float = 0.0) -> None:
    for device, payload in messages:
        to.send(f"sensors/{device}", payload)
        time.sleep(pause_s)


def test_every_label_once_through_kills_of_us_and_restarts_of_the_broker(
    tmp_path: Path, model_folder: Path, server: MqttServer
) -> None:
    messages, chance = three_devices(), random.Random(18)
    expected = undisturbed(model_folder, messages, tmp_path / "undisturbed")
    assert len(expected) == 6
    assert all(content.count(b"\n") > 100 for name, content in expected.items() if name.endswith("labels.csv"))
    rounds = [messages[place : place + 60] for place in range(0, len(messages), 60)]
    with closing(Streaming(model_folder, server, tmp_path / "out")) as streaming, sender(server.port) as to:
        streaming.wait_connected()
        for place, round in enumerate(rounds):
            sending = threading.Thread(target=send, args=(to, round, 0.02))
            sending.start()
            if place % 3 != 2:  # else it is killed while it starts, or has much to catch up with
                streaming.wait_connected()
            if place % 2:
                with to.between:
                    server.stop()
                    time.sleep(chance.random())
                    server.start()
            time.sleep(chance.random() * 1.5)
            streaming.kill()
            streaming.start()
            sending.join()
        streaming.wait_connected()
        streaming.wait_written(expected)
        time.sleep(2.0)  # for labels that would be there twice
        streaming.stop()
    assert files_of(tmp_path / "out") == expected


def test_stopped_and_started_again_while_others_send(tmp_path: Path, model_folder: Path, server: MqttServer) -> None:
    """What is sent while nobody reads waits at the broker."""
    messages = three_devices(800, 40)
    expected = undisturbed(model_folder, messages, tmp_path / "undisturbed")
    with closing(Streaming(model_folder, server, tmp_path / "out")) as streaming, sender(server.port) as to:
        streaming.wait_connected()
        send(to, messages[:40])
        streaming.stop()
        send(to, messages[40:90])
        server.stop()
        server.start()
        streaming.start()
        send(to, messages[90:])
        streaming.wait_connected()
        streaming.wait_written(expected)
        streaming.stop()
        assert streaming.said().count("run the same command to resume") == 2
    assert files_of(tmp_path / "out") == expected


def test_one_device_in_disorder_disturbs_no_other(tmp_path: Path, model_folder: Path, server: MqttServer) -> None:
    """It sends a message twice, one late, two in the wrong order, falls silent and comes back, and sends nonsense."""
    rows = {name: signal(seed, 1600) for seed, name in enumerate(("arm", "leg", "odd"), 1)}
    arm, leg, odd = (sent(name, own, 32) for name, own in rows.items())
    twice, late, swapped = [odd[11]], [odd[3]], [odd[13], odd[12]]
    odd = [*odd[:12], *twice, *late, *swapped, *odd[14:20], ("odd", b'{"x": '), *odd[26:]]
    others = [own for pair in zip(arm, leg, strict=True) for own in pair]
    expected = undisturbed(model_folder, others, tmp_path / "others") | undisturbed(model_folder, odd, tmp_path / "odd")
    with closing(Streaming(model_folder, server, tmp_path / "out")) as streaming, sender(server.port) as to:
        streaming.wait_connected()
        together = [own for place in range(64) for own in (others[place], *odd[place : place + 1])]
        send(to, together[:28])  # it was sent twice and late by then, and not yet in the wrong order
        streaming.kill()
        streaming.start()
        send(to, together[28:])
        streaming.wait_written(expected)
        streaming.stop()
    assert files_of(tmp_path / "out") == expected
    events = [json.loads(line) for line in (tmp_path / "out" / "odd" / "events.jsonl").read_text().splitlines()]
    dropped = [event["evidence"] for event in events if event["kind"] == "skip"]
    assert sum(one.get("rows", 0) for one in dropped) == 3 * 50  # twice, late, and the second of those in wrong order
    assert sum(one.get("n_lines", 0) for one in dropped) == 1
    silence = [event["evidence"]["seconds"] for event in events if event["kind"] == "gap"]
    assert max(silence) == pytest.approx(6 * 50 / 32, abs=0.1)
    counted = json.loads((tmp_path / "out" / "odd" / "summary.json").read_text())["stream"]
    assert (counted["n_rows"], counted["n_skipped_lines"]) == (28 * 50, 1)


def test_a_login_that_is_refused_ends_it_with_one_line(tmp_path: Path, model_folder: Path) -> None:
    empty = tmp_path / "passwords"
    empty.write_text("")
    empty.chmod(0o600)
    lines = ("allow_anonymous false", f"password_file {empty}")
    with (
        mosquitto_server(tmp_path, needs_mosquitto=True, lines=lines) as server,
        closing(Streaming(model_folder, server, tmp_path / "out")) as streaming,
    ):
        assert streaming.process.wait(120) == 2
        error = streaming.said().strip().splitlines()[-1]
        assert error.startswith("error: ")
        assert "Not authorized" in error
        assert "RONDO_MQTT_USERNAME" in error
        assert "Traceback" not in streaming.said()
