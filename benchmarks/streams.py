"""Streams of many devices: cost of a fleet, of a broker in real time, of feeds and of sinks.

    OMP_NUM_THREADS=1 python benchmarks/streams.py fleet SCRATCH --devices 200 4 --minutes 15 1440 --payload json npy
        [--actors 0 0] [--page docs/results/streams.md]
    OMP_NUM_THREADS=1 python benchmarks/streams.py live SCRATCH --broker mqtt://127.0.0.1:18840 [--devices 200]
    python benchmarks/streams.py kafka SCRATCH [--messages 8000]
    OMP_NUM_THREADS=1 python benchmarks/streams.py sinks SCRATCH [--devices 200] [--seconds 20]

Devices send 9 channels at 50 Hz, one message a second, as JSON columns with a clock or as an .npy array.

`fleet`: all of `rondo stream` behind the broker; messages come from memory. The share of one core that real time needs,
and memory in the first and last tenth of the run. --actors deals the devices out to Ray actors. Each option has one
value per row of the table; a single one counts for all rows. `live`: `rondo stream` behind a broker (mosquitto with
`max_queued_messages 0`), in real time; late is how long after the last message all rows are read. `kafka`:
messages per second of the feed, from librdkafka's mock cluster to where the fleet takes over.
`sinks`: CPU per label of alarms, reading the files again, JSON, and a sink that confirms at once. SCRATCH is emptied.
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
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from pages import Table, parse, write_section

from rondo import Rondo
from rondo.editing.edits import Edits
from rondo.live.address import parse_address
from rondo.live.devices import fleet as fleet_module
from rondo.live.devices.fleet import Fleet
from rondo.live.devices.messages import FeedKind, FeedRequest, Message
from rondo.live.session import Counters, Written
from rondo.live.sinks.base import SinkMessage
from rondo.live.sinks.delivery import Delivery
from rondo.live.supervising.supervision import Supervision
from rondo.run.decisions import COLUMNS
from rondo.synthetic import StreamPlan, plant

SECTIONS = ("many-devices", "devices-live", "sinks")
RATE, N_FIRST, N_KINDS = 50, 30_000, 8  # frames that the model is fitted on; recordings that devices play
ROOT = Path(__file__).resolve().parents[1]
PLAN = StreamPlan(rate=float(RATE), n_channels=9)


def fitted(scratch: Path, window: str = "2s") -> Path:
    """A model in an empty scratch folder."""
    warnings.simplefilter("ignore")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    model = Rondo(window, settings={"evidence.surrogates": 0}).fit(plant(PLAN, n_frames=N_FIRST, seed=0).recording)
    model.save(scratch / "model")
    return scratch / "model"


def messages_of(n_devices: int, n_seconds: int, payload: str, began: float = 0.0) -> Iterator[tuple[int, int, bytes]]:
    """Second, device and payload, second after second."""
    kinds = [plant(PLAN, n_frames=N_FIRST, seed=1 + kind).recording for kind in range(N_KINDS)]
    for second in range(n_seconds):
        times = began + second + np.arange(RATE) / RATE
        for device in range(n_devices):
            recording, first = kinds[device % N_KINDS], (device * 977 + second * RATE) % (N_FIRST - RATE)
            yield second, device, packed(times, recording.values[first : first + RATE], recording.channels, payload)


def packed(times: np.ndarray, rows: np.ndarray, channels: Sequence[str], payload: str) -> bytes:
    if payload == "json":
        columns = {"time": times.tolist()} | {name: rows[:, i].tolist() for i, name in enumerate(channels)}
        return json.dumps(columns).encode()
    file = io.BytesIO()
    np.save(file, np.column_stack([times, rows]))
    return file.getvalue()


def memory_mb(pid: int | str = "self") -> float:
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


# ---------------------------------------------------------------- a fleet without a broker


class PlayedFeed:
    """Messages from memory; the time to make them is counted apart."""

    ended = False

    def __init__(self, n_devices: int, n_seconds: int, payload: str) -> None:
        self.backlog, self.making_s = n_devices * n_seconds, 0.0
        played = enumerate(messages_of(n_devices, n_seconds, payload))
        self._messages = (Message(f"device{d:05d}", text, "p", i, float(s)) for i, (s, d, text) in played)

    def poll(self, seconds: float) -> list[Message]:
        began = time.process_time()
        messages = list(islice(self._messages, 1000))
        self.backlog -= len(messages)
        self.making_s += time.process_time() - began
        return messages

    def settle(self, marks: Mapping[str, int]) -> None:
        """Nothing is kept."""

    def close(self) -> None:
        """Nothing is open."""


class Measured(NamedTuple):
    """Of one process: CPU seconds without making messages, memory in each tenth of the run, bytes written."""

    cpu_s: float
    memory_mb: list[float]
    n_bytes: int


def measured(model: Path, out: Path, n_devices: int, n_seconds: int, payload: str) -> Measured:
    """One fleet from the first message to the last."""
    warnings.simplefilter("ignore")
    feed = PlayedFeed(n_devices, n_seconds, payload)
    kind = FeedKind("played", "played:", "", ("played",), lambda where, request: feed)
    fleet_module.feed_kind = lambda where: kind  # type: ignore[assignment]
    out.mkdir(parents=True)
    memory = list[float]()
    with closing(Fleet(Rondo.load(model), model, "played:", out)) as fleet:
        began = time.process_time()
        while feed.backlog:
            fleet.step(0.0)
            memory.append(memory_mb())
        fleet.stop()
        cpu = time.process_time() - began - feed.making_s
    tenths = [float(np.median(part)) for part in np.array_split(memory, 10) if part.size]
    return Measured(cpu, tenths, sum(path.stat().st_size for path in out.rglob("*") if path.is_file()))


def on_actors(n_actors: int, model: Path, out: Path, n_devices: int, n_seconds: int, payload: str) -> list[Measured]:
    """The devices dealt out to Ray actors."""
    import ray

    ray.init(num_cpus=n_actors, include_dashboard=False, log_to_driver=False)
    shares = [len(range(number, n_devices, n_actors)) for number in range(n_actors)]
    work = ray.remote(num_cpus=1)(measured)
    found: list[Measured] = ray.get(
        [work.remote(model, out / str(i), own, n_seconds, payload) for i, own in enumerate(shares)]
    )
    ray.shutdown()
    return found


def fleet(options: argparse.Namespace) -> None:
    each = (options.devices, options.minutes, options.payload, options.actors)
    n_rows = max(map(len, each))
    head = ("devices", "messages", "CPU in real time", "rows per CPU second", "memory", "on disk, a device and hour")
    table = Table(*head)
    for n_devices, minutes, payload, n_actors in zip(*(own * (n_rows // len(own)) for own in each), strict=True):
        run = (
            fitted(options.scratch, options.window),
            options.scratch / "out",
            n_devices,
            round(60 * minutes),
            payload,
        )
        found = on_actors(n_actors, *run) if n_actors else [measured(*run)]
        cpu, memory = sum(own.cpu_s for own in found), np.sum([own.memory_mb for own in found], axis=0)
        disk = sum(own.n_bytes for own in found) / 1e6 / n_devices / (minutes / 60)
        table.add(
            f"{n_devices}, {minutes:g} min",
            payload + (f", {n_actors} Ray actors" if n_actors else ""),
            f"{100 * cpu / (60 * minutes):.0f} % of one core",
            f"{60 * minutes * n_devices * RATE / cpu:,.0f}",
            f"{memory[0]:.0f} MB, then {memory[-1]:.0f} MB",
            f"{disk:.2f} MB",
        )
    write_section(options, "many-devices", table)


# ---------------------------------------------------------------- brokers


def connected(broker: str) -> Any:
    """A client that publishes."""
    from paho.mqtt import client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion

    address, client = parse_address(broker, ["mqtt"]), mqtt.Client(CallbackAPIVersion.VERSION2)
    client.max_queued_messages_set(0)
    client.max_inflight_messages_set(1000)
    client.connect(address.host, address.port or 1883)
    client.loop_start()
    return client


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def n_rows_read(out: Path) -> int:
    try:
        return int(json.loads((out / "health.json").read_text())["n_rows"])
    except (OSError, ValueError, KeyError):
        return 0


def live(options: argparse.Namespace) -> None:
    model, out, n_seconds = fitted(options.scratch), options.scratch / "out", round(60 * options.minutes[0])
    n_devices, log_path = options.devices[0], options.scratch / "log"
    arguments = [model, "--source", f"{options.broker}/bench/#", "--out", out]
    client = connected(options.broker)
    with log_path.open("wb") as log:
        rondo = subprocess.Popen([sys.executable, "-m", "rondo", "stream", *arguments], stderr=log, stdout=log)
    while b"connected" not in log_path.read_bytes():
        time.sleep(0.2)
    before, began, latest = cpu_seconds(rondo.pid), time.time(), 0.0
    for second, device, text in messages_of(n_devices, n_seconds, "json", round(began, 2)):
        late = time.time() - began - second
        if device == 0:
            time.sleep(max(0.0, -late))
        latest = max(latest, late - 1)
        client.publish(f"bench/device{device:05d}", text, qos=1)
    expected, ended = n_seconds * n_devices * RATE, time.time()
    while n_rows_read(out) < expected and time.time() - ended < 300:
        time.sleep(0.2)
    late, cpu = time.time() - ended, cpu_seconds(rondo.pid) - before
    table = Table("devices", "rows read", "CPU", "memory", "all read after the last was sent", "sender late by")
    costs = f"{100 * cpu / (time.time() - began):.0f} % of one core", f"{memory_mb(rondo.pid):.0f} MB"
    read = f"{n_rows_read(out):,} of {expected:,}"
    table.add(f"{n_devices}, {n_seconds / 60:g} min", read, *costs, f"{late:.0f} s", f"{latest:.1f} s at most")
    rondo.send_signal(signal.SIGTERM)
    rondo.wait()
    client.loop_stop()
    write_section(options, "devices-live", table)


def kafka(options: argparse.Namespace) -> None:
    os.chdir(ROOT)  # the mock cluster is a process of the tests
    sys.path.insert(0, str(ROOT))
    from rondo.live.feeds.kafka import FEED
    from tests.live.mock_kafka import mock_kafka

    table = Table("messages", "messages/s", "µs of CPU for a message")
    rows = np.random.default_rng(0).standard_normal((50, 9)).round(4)
    with mock_kafka() as cluster:
        for payload in ("npy", "json"):
            text = packed(np.arange(50) / RATE, rows, [f"c{i}" for i in range(9)], payload)
            n_messages = min(options.messages, 4 * (5_000_000 // (len(text) + 100)))  # a partition keeps 5 MB
            cluster.send(payload, [(i % 4, f"device-{i % 200}", text) for i in range(n_messages)])
            request = FeedRequest(options.scratch / payload, (), None, *[lambda _: None] * 3)
            n_read, began, cpu = 0, 0.0, time.process_time()
            with closing(FEED.open(cluster.address(payload), request)) as feed:
                while n_read < n_messages:
                    messages = feed.poll(0.1)
                    began = began or (time.perf_counter() if messages else 0.0)
                    n_read += len(messages)
                speed, cpu = n_messages / (time.perf_counter() - began), time.process_time() - cpu
            costs = f"{speed:,.0f}", f"{1e6 * cpu / n_messages:.0f}"
            table.add(f"{n_messages:,} of {len(text):,} bytes, {payload}", *costs)


# ---------------------------------------------------------------- sinks


class Nowhere:
    """A sink that takes everything."""

    problem: str | None = None
    n_refused = n_batches = 0
    waits_at_end = False

    def is_ready(self) -> bool:
        return True

    def send(self, batch: Sequence[SinkMessage]) -> None:
        self.n_batches += 1

    def n_confirmed(self) -> int:
        return self.n_batches

    def close(self) -> None:
        """Nothing is open."""


def supervised(out: Path, n_devices: int, per_s: int, seconds: int, n_sinks: int) -> float:
    """CPU seconds of supervision; writing the label files is not counted."""
    around, session = Supervision(out, following=True), SimpleNamespace(counters=Counters(), edits=Edits())
    around._deliveries = [Delivery(out, f"nowhere://{i}", Nowhere()) for i in range(n_sinks)]
    folders = [out / f"device{i:04d}" for i in range(n_devices)]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "labels.csv").write_text(",".join(COLUMNS) + "\n")
        around.begin(folder.name, folder, session)  # type: ignore[arg-type]
    spent = 0.0
    for second in range(seconds):
        numbers = range(second * per_s, (second + 1) * per_s)
        values = [(50 * n, 50 * n + 50, n / per_s, (n + 1) / per_s, n % 7, n % 3, 0.5123, 0.25) for n in numbers]
        rows = [dict(zip(COLUMNS, own, strict=True)) for own in values]
        session.counters = Counters(n_rows=50 * numbers.stop, n_windows=numbers.stop)
        for folder in folders:
            with (folder / "labels.csv").open("a") as file:
                file.writelines(",".join(map(str, own)) + "\n" for own in values)
        began = time.process_time()
        for folder in folders:
            around.after(folder.name, folder, Written(rows, []), session)  # type: ignore[arg-type]
        for tenth in range(10):
            around.tick(second + tenth / 10)
        spent += time.process_time() - began
    return spent


def sinks(options: argparse.Namespace) -> None:
    table, n_devices = Table("labels", "CPU per label", "share of a core"), options.devices[0]
    for name, per_s, n_sinks in (("ten a second", 10, 1), ("one a second", 1, 1), ("ten a second, no sink", 10, 0)):
        shutil.rmtree(options.scratch, ignore_errors=True)
        spent = supervised(options.scratch, n_devices, per_s, options.seconds, n_sinks)
        each = spent / (n_devices * per_s * options.seconds)
        table.add(name, f"{1e6 * each:.1f} µs", f"{100 * spent / options.seconds:.1f} %")
    write_section(options, "sinks", table)


WHAT = {"fleet": fleet, "live": live, "kafka": kafka, "sinks": sinks}


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--broker", default="mqtt://127.0.0.1:18840")
    parser.add_argument("--devices", type=int, nargs="+", default=[200])
    parser.add_argument("--minutes", type=float, nargs="+", default=[2])
    parser.add_argument("--payload", choices=("json", "npy"), nargs="+", default=["json"])
    parser.add_argument("--actors", type=int, nargs="+", default=[0], help="Ray actors; 0: this process")
    parser.add_argument("--window", default="2s")
    parser.add_argument("--messages", type=int, default=8_000)
    parser.add_argument("--seconds", type=int, default=20)
    return parse(parser, __file__, arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    options.scratch = options.scratch.absolute()
    try:
        WHAT[options.what](options)
    finally:
        shutil.rmtree(options.scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
