"""Many devices behind a broker: what `rondo stream` costs, and how late it is.

    mosquitto -c FILE &    with `listener 18840 127.0.0.1`, `allow_anonymous true`, `max_queued_messages 0`
    OMP_NUM_THREADS=1 python benchmarks/streams.py fleet SCRATCH [--devices 200 4] [--minutes 2] [--payload json npy]
        [--sink none -] [--source kafka] [--page docs/results/streams.md]
    OMP_NUM_THREADS=1 python benchmarks/streams.py live SCRATCH [--devices 200] [--minutes 2]

Each device sends 9 channels at 50 Hz, one message a second, as JSON columns with a clock or as an .npy array. `fleet`
sends them as fast as the broker takes them: the share of a core that real time needs, rows per CPU second, and memory
in the first and last tenth of the run. Each option takes one value per row of the table; a single one counts for all
rows. `--sink` sends labels on, `--source kafka` uses librdkafka's mock cluster (4 partitions of 5 MB each). `live`
sends in real time; late is how long after the last message all rows are read. SCRATCH is emptied.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pages import Table, program, write_section

from rondo import Rondo
from rondo.synthetic import StreamPlan, plant

SECTIONS = ("many-devices", "devices-live")
RATE, N_FIRST, N_KINDS = 50, 30_000, 8  # frames that the model is fitted on; recordings that devices play
PLAN = StreamPlan(rate=float(RATE), n_channels=9)
ROOT = Path(__file__).resolve().parents[1]

Options = argparse.Namespace
Send = Callable[[str, bytes], None]


def messages(n_devices: int, n_seconds: int, payload: str) -> Iterator[tuple[int, str, bytes]]:
    """Second, device and payload, second after second."""
    kinds = [plant(PLAN, n_frames=N_FIRST, seed=1 + kind).recording for kind in range(N_KINDS)]
    began = round(time.time(), 2)
    for second in range(n_seconds):
        times = began + second + np.arange(RATE) / RATE
        for device in range(n_devices):
            recording, first = kinds[device % N_KINDS], (device * 977 + second * RATE) % (N_FIRST - RATE)
            rows = recording.values[first : first + RATE]
            if payload == "json":
                columns = {"time": times.tolist()} | dict(zip(recording.channels, rows.T.tolist(), strict=True))
                yield second, f"device{device:05d}", json.dumps(columns).encode()
            else:
                file = io.BytesIO()
                np.save(file, np.column_stack([times, rows]))
                yield second, f"device{device:05d}", file.getvalue()


@contextmanager
def broker(source: str, address: str) -> Iterator[tuple[str, Send]]:
    """The address that `rondo stream` reads, and how a device sends to it."""
    topic = f"bench{time.time_ns()}"
    if source == "kafka":
        sys.path.insert(0, str(ROOT))  # the mock cluster lives with the tests
        from tests.live.mock_kafka import mock_kafka

        with mock_kafka() as cluster:
            yield cluster.address(topic), lambda name, text: cluster.send(topic, [(int(name[6:]) % 4, name, text)])
        return
    from paho.mqtt import client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion

    client = mqtt.Client(CallbackAPIVersion.VERSION2)
    client.max_queued_messages_set(0)
    host, _, port = address.removeprefix("mqtt://").partition(":")
    client.connect(host, int(port or 1883))
    client.loop_start()
    yield f"{address}/{topic}/#", lambda name, text: client.publish(f"{topic}/{name}", text, qos=1)
    client.loop_stop()


class Run(NamedTuple):
    """CPU seconds of `rondo stream`, MB over time, rows read, seconds after the last message, delay of the sender."""

    cpu_s: float
    memory_mb: list[float]
    n_rows: int
    late_s: float
    sender_late_s: float


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def n_rows_read(out: Path) -> int:
    try:
        return int(json.loads((out / "health.json").read_text())["n_rows"])
    except (OSError, ValueError, KeyError):
        return 0


def measured(options: Options, n_devices: int, minutes: float, payload: str, sink: str, *, paced: bool) -> Run:
    """`rondo stream` in a process of its own, from the first message to the last row."""
    shutil.rmtree(options.scratch, ignore_errors=True)
    options.scratch.mkdir(parents=True)
    model, out, log = (options.scratch.absolute() / name for name in ("model", "out", "log"))
    fitted = Rondo("2s", settings={"evidence.surrogates": 0}).fit(plant(PLAN, n_frames=N_FIRST, seed=0).recording)
    fitted.save(model)
    sinks = ["--sink", sink] if sink != "none" else []
    with broker(options.source, options.broker) as (address, send), log.open("wb") as file:
        command = [sys.executable, "-m", "rondo", "stream", model, "--source", address, "--out", out, *sinks]
        process = subprocess.Popen(command, stderr=file, stdout=subprocess.DEVNULL)
        limit = time.time() + 20  # a Kafka feed prints nothing before the first message
        while b"connected" not in log.read_bytes() and process.poll() is None and time.time() < limit:
            time.sleep(0.1)
        n_seconds, memory, before = round(60 * minutes), list[float](), cpu_seconds(process.pid)
        began, sender_late = time.time(), 0.0
        for second, device, text in messages(n_devices, n_seconds, payload):
            late = time.time() - began - second
            if paced:
                time.sleep(max(0.0, -late))
                sender_late = max(sender_late, late - 1)
            if device.endswith("00000"):
                memory.append(memory_mb(process.pid))
            send(device, text)
        ended, expected = time.time(), n_seconds * n_devices * RATE
        while n_rows_read(out) < expected and time.time() - ended < 300:
            time.sleep(0.1)
            memory.append(memory_mb(process.pid))
        late = time.time() - ended
        run = Run(cpu_seconds(process.pid) - before, memory, n_rows_read(out), late, sender_late)
        process.send_signal(signal.SIGTERM)
        process.wait()
    shutil.rmtree(options.scratch, ignore_errors=True)
    return run


def fleet(options: argparse.Namespace) -> None:
    each = (options.devices, options.minutes, options.payload, options.sink)
    n_rows = max(map(len, each))
    table = Table("devices", "messages", "CPU in real time", "rows per CPU second", "memory")
    for n_devices, minutes, payload, sink in zip(*(own * (n_rows // len(own)) for own in each), strict=True):
        run = measured(options, n_devices, minutes, payload, sink, paced=False)
        tenth = max(1, len(run.memory_mb) // 10)
        memory = (np.median(part) for part in (run.memory_mb[:tenth], run.memory_mb[-tenth:]))
        parts = [options.source, payload, *([f"sink {sink}"] if sink != "none" else [])]
        table.add(
            f"{n_devices}, {minutes:g} min",
            ", ".join(parts),
            f"{100 * run.cpu_s / (60 * minutes):.0f} % of one core",
            f"{run.n_rows / run.cpu_s:,.0f}",
            "{:.0f} MB, then {:.0f} MB".format(*memory),
        )
    write_section(options, "many-devices", table)


def live(options: argparse.Namespace) -> None:
    table = Table("devices", "rows read", "CPU", "memory", "all read after the last was sent", "sender late by")
    n_devices, minutes = options.devices[0], options.minutes[0]
    run = measured(options, n_devices, minutes, options.payload[0], options.sink[0], paced=True)
    cpu = f"{100 * run.cpu_s / (60 * minutes + run.late_s):.0f} % of one core"
    read, late = f"{run.n_rows:,}", (f"{run.late_s:.0f} s", f"{run.sender_late_s:.1f} s at most")
    table.add(f"{n_devices}, {minutes:g} min", read, cpu, f"{run.memory_mb[-1]:.0f} MB", *late)
    write_section(options, "devices-live", table)


ARGUMENTS = (
    ("scratch", {"type": Path}),
    ("--source", {"choices": ("mqtt", "kafka"), "default": "mqtt"}),
    ("--broker", {"default": "mqtt://127.0.0.1:18840"}),
    ("--devices", {"type": int, "nargs": "+", "default": [200]}),
    ("--minutes", {"type": float, "nargs": "+", "default": [2.0]}),
    ("--payload", {"choices": ("json", "npy"), "nargs": "+", "default": ["json"]}),
    ("--sink", {"nargs": "+", "default": ["none"], "help": "addresses, none, or - for stdout"}),
)
parsed, main = program(__file__, __doc__, {"fleet": fleet, "live": live}, ARGUMENTS)

if __name__ == "__main__":
    main()
