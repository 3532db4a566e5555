"""`rondo stream` of an MQTT topic, from senders to labels: none lost, none twice, whoever is killed meanwhile."""

from __future__ import annotations

import json
import random
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
from tests.live.rondo_process import Begin, RondoProcess, rondo_processes, wait_for
from tests.live.servers import MqttServer, mosquitto_server

pytestmark = [
    pytest.mark.broker,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning"),
]
Sent = Sequence[tuple[str, bytes]]
_EVERY = 20  # windows between checkpoints


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


@pytest.fixture
def begin() -> Iterator[Begin]:
    with rondo_processes() as begin:
        yield begin


def connected(process: RondoProcess) -> None:
    wait_for(lambda: "connected as" in process.notes, "a connection", process)


def written(out: Path, expected: Mapping[str, bytes], process: RondoProcess) -> None:
    """Wait until there is as much as is expected; more, or something else, is for the caller to find."""

    def is_all() -> bool:
        found = files_of(out)
        return all(len(found.get(name, b"")) >= len(content) for name, content in expected.items())

    wait_for(is_all, f"as many labels in {out}", process)


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
    tmp_path: Path, model_folder: Path, server: MqttServer, begin: Begin
) -> None:
    messages, chance = three_devices(), random.Random(18)
    expected = undisturbed(model_folder, messages, tmp_path / "undisturbed")
    assert len(expected) == 6
    assert all(content.count(b"\n") > 100 for name, content in expected.items() if name.endswith("labels.csv"))
    rounds = [messages[place : place + 60] for place in range(0, len(messages), 60)]
    what = model_folder, f"{server.address}/sensors/#", tmp_path / "out", _EVERY
    with sender(server.port) as to:
        process = begin(*what)
        connected(process)
        for place, round in enumerate(rounds):
            sending = threading.Thread(target=send, args=(to, round, 0.02))
            sending.start()
            if place % 3 != 2:  # else it is killed while it starts, or has much to catch up with
                connected(process)
            if place % 2:
                with to.between:
                    server.stop()
                    time.sleep(chance.random())
                    server.start()
            time.sleep(chance.random() * 1.5)
            process.kill()
            process = begin(*what)
            sending.join()
        connected(process)
        written(tmp_path / "out", expected, process)
        time.sleep(2.0)  # for labels that would be there twice
        process.stop()
    assert files_of(tmp_path / "out") == expected


def test_one_device_in_disorder_disturbs_no_other(
    tmp_path: Path, model_folder: Path, server: MqttServer, begin: Begin
) -> None:
    """It sends a message twice, one late, two in the wrong order, falls silent and comes back, and sends nonsense."""
    rows = {name: signal(seed, 1600) for seed, name in enumerate(("arm", "leg", "odd"), 1)}
    arm, leg, odd = (sent(name, own, 32) for name, own in rows.items())
    twice, late, swapped = [odd[11]], [odd[3]], [odd[13], odd[12]]
    odd = [*odd[:12], *twice, *late, *swapped, *odd[14:20], ("odd", b'{"x": '), *odd[26:]]
    others = [own for pair in zip(arm, leg, strict=True) for own in pair]
    expected = undisturbed(model_folder, others, tmp_path / "others") | undisturbed(model_folder, odd, tmp_path / "odd")
    what = model_folder, f"{server.address}/sensors/#", tmp_path / "out", _EVERY
    with sender(server.port) as to:
        process = begin(*what)
        connected(process)
        together = [own for place in range(64) for own in (others[place], *odd[place : place + 1])]
        send(to, together[:28])  # it was sent twice and late by then, and not yet in the wrong order
        process.kill()
        process = begin(*what)
        send(to, together[28:])
        written(tmp_path / "out", expected, process)
        process.stop()
    assert files_of(tmp_path / "out") == expected
    events = [json.loads(line) for line in (tmp_path / "out" / "odd" / "events.jsonl").read_text().splitlines()]
    dropped = [event["evidence"] for event in events if event["kind"] == "skip"]
    assert sum(one.get("rows", 0) for one in dropped) == 3 * 50  # twice, late, and the second of those in wrong order
    assert sum(one.get("n_lines", 0) for one in dropped) == 1
    silence = [event["evidence"]["seconds"] for event in events if event["kind"] == "gap"]
    assert max(silence) == pytest.approx(6 * 50 / 32, abs=0.1)
    counted = json.loads((tmp_path / "out" / "odd" / "summary.json").read_text())["stream"]
    assert (counted["n_rows"], counted["n_skipped_lines"]) == (28 * 50, 1)
