"""Many devices in one process: how much faster than real time, at what cost in memory, and for how long.

    OMP_NUM_THREADS=1 python benchmarks/bench_fleet.py SCRATCH --devices 200 4 --minutes 15 1440 --payload json npy
        [--actors 0 0] [--page docs/results/scale.md]

Each device sends 9 channels at 50 Hz, one message a second, as JSON columns with a clock or as an .npy array. The feed
is a list in memory, so what is measured is all of `rondo stream` behind the broker: payloads, rows, windows, labels,
files, checkpoints, marks. Two numbers tell: the share of one core that real time needs (rows come 50 times a second),
and the memory in the first and in the last tenth of the run. With --actors the devices are dealt out to Ray actors,
one process each. Each option takes several values, one for each row of the table; a single one counts for all rows.
SCRATCH is emptied afterwards.
"""

from __future__ import annotations

import argparse
import io
import json
import resource
import shutil
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from results_page import Table, parse, write_section

from rondo.live import fleet as fleet_module
from rondo.live.fleet import Fleet
from rondo.live.source import FeedKind, FeedRequest, Message
from rondo.model.rondo import Rondo
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant

SECTIONS = ("many-devices",)
RATE, N_CHANNELS = 50.0, 9
N_FIRST = 30_000  # frames that the model is fitted on
N_KINDS = 8  # recordings that the devices play, each from another place
AT_ONCE = 1000  # messages of one poll


class PlayedFeed:
    """Second after second, one message of each device."""

    ended = False

    def __init__(self, n_devices: int, n_seconds: int, payload: str) -> None:
        self.n_messages = n_devices * n_seconds
        self._given = 0
        self._messages = self._played(n_devices, n_seconds, payload)

    def _played(self, n_devices: int, n_seconds: int, payload: str) -> Iterator[Message]:
        plan = StreamPlan(rate=RATE, n_channels=N_CHANNELS)
        kinds = [plant(plan, n_frames=N_FIRST, seed=1 + kind).recording for kind in range(N_KINDS)]
        n_rows, offset = int(RATE), 0
        for second in range(n_seconds):
            times = second + np.arange(n_rows) / RATE
            for device in range(n_devices):
                own = kinds[device % N_KINDS]
                first = (device * 977 + second * n_rows) % (N_FIRST - n_rows)
                rows = own.values[first : first + n_rows]
                text = _packed(times, rows) if payload == "npy" else _columns(times, rows, own.channels)
                yield Message(f"device{device:05d}", text, "p", offset, float(second))
                offset += 1

    def poll(self, seconds: float) -> list[Message]:
        messages = list(islice(self._messages, AT_ONCE))
        self._given += len(messages)
        return messages

    def settle(self, marks: Mapping[str, int]) -> None:
        """Nothing is kept."""

    @property
    def backlog(self) -> int:
        return self.n_messages - self._given

    def close(self) -> None:
        """Nothing is open."""


def _columns(times: np.ndarray, rows: np.ndarray, channels: tuple[str, ...]) -> bytes:
    columns = {"time": times.tolist()} | {name: rows[:, i].tolist() for i, name in enumerate(channels)}
    return json.dumps(columns).encode()


def _packed(times: np.ndarray, rows: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, np.column_stack([times, rows]))
    return file.getvalue()


def memory_mb() -> float:
    """Of this process now."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize() / 1e6


class Measured(NamedTuple):
    """Of one process: what it read and gave, its seconds, its memory in each tenth of the run, what it wrote."""

    n_rows: float
    n_labels: int
    took_s: float
    cpu_s: float  # without making messages
    memory_mb: list[float]
    n_bytes: int


def measured(model: Path, out: Path, n_devices: int, n_seconds: int, payload: str) -> Measured:
    """One fleet from the first message to the last."""
    warnings.simplefilter("ignore")

    def opened(where: str, request: FeedRequest) -> PlayedFeed:
        return PlayedFeed(n_devices, n_seconds, payload)

    kind = FeedKind("played", "played:", "", ("played",), opened)
    fleet_module.feed_kind = lambda where: kind  # type: ignore[assignment]
    out.mkdir(parents=True)
    n_labels, memory, making = 0, list[float](), 0.0
    with closing(Fleet(Rondo.load(model), model, "played:", out)) as fleet:
        poll = fleet.feed.poll

        def timed_poll(seconds: float) -> list[Message]:
            nonlocal making
            began = time.process_time()
            messages = poll(seconds)
            making += time.process_time() - began
            return messages

        fleet.feed.poll = timed_poll  # type: ignore[method-assign]
        began, began_cpu = time.perf_counter(), time.process_time()
        while fleet.feed.backlog:
            n_labels += sum(len(step.written.labels) for step in fleet.step(0.0))
            memory.append(memory_mb())
        fleet.stop()
        took, cpu = time.perf_counter() - began, time.process_time() - began_cpu - making
    tenths = [float(np.median(part)) for part in np.array_split(memory, 10) if part.size]
    n_bytes = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    return Measured(n_seconds * n_devices * RATE, n_labels, took, cpu, tenths, n_bytes)


def on_actors(n_actors: int, model: Path, out: Path, n_devices: int, n_seconds: int, payload: str) -> list[Measured]:
    """The devices dealt out to Ray actors, each a process with a fleet of its own."""
    import ray

    class Devices:
        def run(self, number: int, own: int) -> Measured:
            return measured(model, out / str(number), own, n_seconds, payload)

    ray.init(num_cpus=n_actors, include_dashboard=False, log_to_driver=False)
    actor = ray.remote(num_cpus=1)(Devices)
    shares = [len(range(number, n_devices, n_actors)) for number in range(n_actors)]
    actors = [actor.remote() for _ in shares]
    begun = [one.run.remote(i, own) for i, (one, own) in enumerate(zip(actors, shares, strict=True))]
    found: list[Measured] = ray.get(begun)
    ray.shutdown()
    return found


def cells_of(model: Rondo, scratch: Path, n_devices: int, minutes: float, payload: str, n_actors: int) -> list[str]:
    """One row of the table."""
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    model.save(scratch / "model")
    run = (scratch / "model", scratch / "out", n_devices, round(60 * minutes), payload)
    found = on_actors(n_actors, *run) if n_actors else [measured(*run)]
    shutil.rmtree(scratch)
    cpu, n_rows = sum(one.cpu_s for one in found), sum(one.n_rows for one in found)
    tenths = np.sum([one.memory_mb for one in found], axis=0)
    disk = sum(one.n_bytes for one in found) / 1e6 / n_devices / (minutes / 60)
    return [
        f"{n_devices}, {minutes:g} min",
        payload + (f", {n_actors} Ray actors" if n_actors else ""),
        f"{100 * cpu / (60 * minutes):.0f} % of one core",
        f"{n_rows / cpu:,.0f}",
        f"{tenths[0]:.0f} MB, then {tenths[-1]:.0f} MB",
        f"{disk:.2f} MB",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--devices", type=int, nargs="+", default=[200])
    parser.add_argument("--minutes", type=float, nargs="+", default=[10])
    parser.add_argument("--payload", choices=["json", "npy"], nargs="+", default=["json"])
    parser.add_argument("--actors", type=int, nargs="+", default=[0], help="Ray actors; 0: this process")
    parser.add_argument("--window", default="2s")
    given = parse(parser, __file__)
    model = Rondo(given.window, settings={"evidence.surrogates": 0})
    model.fit(plant(StreamPlan(rate=RATE, n_channels=N_CHANNELS), n_frames=N_FIRST, seed=0).recording)
    options = (given.devices, given.minutes, given.payload, given.actors)
    n_rows = max(map(len, options))
    head = ("devices", "messages", "CPU in real time", "rows per CPU second", "memory", "on disk, a device and hour")
    table = Table(*head)
    for row in zip(*(own * n_rows if len(own) == 1 else own for own in options), strict=True):
        table.add(*cells_of(model, given.scratch.absolute(), *row))
    write_section(given, "many-devices", table)


if __name__ == "__main__":
    main()
