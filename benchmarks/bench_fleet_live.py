"""Many devices in real time through a real broker: the share of a core that `rondo stream` needs, and how late it is.

    mosquitto -p 18840 &        with `max_queued_messages 0` in its configuration, if Rondo is to be away for long
    OMP_NUM_THREADS=1 python benchmarks/bench_fleet_live.py mqtt://127.0.0.1:18840 SCRATCH [--devices 200] [--minutes 2]
        [--page docs/results/scale.md]

Each device sends 9 channels at 50 Hz, one JSON message a second, with the time of day as its clock. Late is how long
after the last message the labels stop growing: the windows that the model needs are not in it. SCRATCH is emptied.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from paho.mqtt import client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from results_page import Table, parse, write_section

from rondo.live.address import parse_address
from rondo.model.rondo import Rondo
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant

SECTIONS = ("devices-live",)
RATE, N_CHANNELS, N_FIRST, N_KINDS = 50.0, 9, 30_000, 8


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def n_rows(out: Path) -> int:
    """That have been read, as health.json has it."""
    try:
        return int(json.loads((out / "health.json").read_text())["n_rows"])
    except (OSError, ValueError, KeyError):
        return 0


def send(client: mqtt.Client, n_devices: int, n_seconds: int) -> float:
    """One message of each device a second; the largest delay of the sender itself."""
    plan = StreamPlan(rate=RATE, n_channels=N_CHANNELS)
    kinds = [plant(plan, n_frames=N_FIRST, seed=1 + kind).recording for kind in range(N_KINDS)]
    rows, began, latest = int(RATE), time.time(), 0.0
    for second in range(n_seconds):
        times = (round(began, 2) + second + np.arange(rows) / RATE).tolist()
        for device in range(n_devices):
            own, first = kinds[device % N_KINDS], (device * 977 + second * rows) % (N_FIRST - rows)
            part = own.values[first : first + rows]
            columns = {"time": times} | {name: part[:, i].tolist() for i, name in enumerate(own.channels)}
            client.publish(f"bench/device{device:05d}", json.dumps(columns), qos=1)
        latest = max(latest, time.time() - began - second - 1)
        time.sleep(max(0.0, began + second + 1 - time.time()))
    return latest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("broker")
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--devices", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=2)
    asked = parse(parser, __file__)
    warnings.simplefilter("ignore")
    model = Rondo("2s", settings={"evidence.surrogates": 0})
    model.fit(plant(StreamPlan(rate=RATE, n_channels=N_CHANNELS), n_frames=N_FIRST, seed=0).recording)
    shutil.rmtree(asked.scratch, ignore_errors=True)
    out, n_seconds = asked.scratch / "out", round(60 * asked.minutes)
    asked.scratch.mkdir(parents=True)
    model.save(asked.scratch / "model")
    source = f"{asked.broker}/bench/#"
    command = [sys.executable, "-m", "rondo", "stream", asked.scratch / "model", "--source", source, "--out", out]
    address = parse_address(source, ("mqtt",), ())
    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.max_queued_messages_set(0)
    client.connect(address.host, address.port or 1883)
    client.loop_start()
    with (asked.scratch / "log").open("wb") as log, subprocess.Popen(command, stderr=log, stdout=log) as rondo:
        while b"connected" not in (asked.scratch / "log").read_bytes():
            time.sleep(0.2)
        before, began = cpu_seconds(rondo.pid), time.monotonic()
        latest = send(client, asked.devices, n_seconds)
        expected, ended = n_seconds * asked.devices * int(RATE), time.monotonic()
        while n_rows(out) < expected and time.monotonic() - ended < 300:
            time.sleep(0.2)
        late, took = time.monotonic() - ended, time.monotonic() - began
        cpu, memory = cpu_seconds(rondo.pid) - before, memory_mb(rondo.pid)
        table = Table("devices", "rows read", "CPU", "memory", "all read after the last was sent", "sender late by")
        read = f"{n_rows(out):,} of {expected:,}"
        costs = f"{100 * cpu / took:.0f} % of one core", f"{memory:.0f} MB", f"{late:.0f} s", f"{latest:.1f} s at most"
        table.add(f"{asked.devices}, {asked.minutes:g} min", read, *costs)
        rondo.send_signal(signal.SIGTERM)
    client.loop_stop()
    write_section(asked, "devices-live", table)
    shutil.rmtree(asked.scratch)


if __name__ == "__main__":
    main()
