"""The fleet of compose.yaml: `fleet.py model` fits run/ here, `fleet.py presses HOST[:PORT]` sends its rows."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import rondo
from rondo.synthetic import StreamPlan, plant

RATE, N_FITTED = 50, 15_000
PRESSES = ("press1", "press2")


def model() -> None:
    """Five minutes of a machine; nothing if an earlier start has fitted it."""
    if not Path("run/summary.json").exists():
        recording = machine()
        values = recording.values[:N_FITTED]
        rondo.discover(rondo.Recording(values, rate=RATE, channels=recording.channels, id="first")).save("run")


def machine() -> rondo.Recording:
    return plant(StreamPlan(rate=RATE, n_channels=6), n_frames=2 * N_FITTED, seed=3).recording


def presses(where: str, seconds_between: float = 1.0) -> None:
    """A message a second of each press, with a second of rows."""
    import paho.mqtt.client as mqtt

    host, _, port = where.partition(":")
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
    client.connect(host, int(port or 1883))
    client.loop_start()
    recording = machine()
    for row in range(N_FITTED, recording.n_frames, RATE):
        columns = {name: recording.values[row : row + RATE, i].tolist() for i, name in enumerate(recording.channels)}
        payload = json.dumps({"time": [(row + i) / RATE for i in range(RATE)]} | columns)
        sent = [client.publish(f"plant/{press}", payload, qos=1) for press in PRESSES]
        for message in sent:
            message.wait_for_publish(60)
        time.sleep(seconds_between)
    client.disconnect()
    client.loop_stop()


if __name__ == "__main__":
    if sys.argv[1:] == ["model"]:
        model()
    elif sys.argv[1:2] == ["presses"] and len(sys.argv) in (3, 4):
        presses(sys.argv[2], *map(float, sys.argv[3:]))
    else:
        sys.exit(__doc__)
