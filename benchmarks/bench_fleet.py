"""Many devices in one process: how much faster than real time, at what cost in memory, and for how long.

    OMP_NUM_THREADS=1 python benchmarks/bench_fleet.py SCRATCH [--devices 200] [--minutes 10] [--payload json|npy]

Each device sends 9 channels at 50 Hz, one message a second, as JSON columns with a clock or as an .npy array. The feed
is a list in memory, so what is measured is all of `rondo stream` behind the broker: payloads, rows, windows, labels,
files, checkpoints, marks. Two numbers tell: the share of one core that real time needs (rows come 50 times a second),
and the memory in each tenth of the run. SCRATCH is emptied afterwards.
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

import numpy as np

from rondo import Rondo
from rondo.live.devices import fleet as fleet_module
from rondo.live.devices.fleet import Fleet
from rondo.live.devices.messages import FeedKind, FeedRequest, Message
from rondo.synthetic import StreamPlan, plant

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--devices", type=int, default=200)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--payload", choices=["json", "npy"], default="json")
    parser.add_argument("--window", default="2s")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    model = Rondo(asked.window, settings={"evidence.surrogates": 0})
    model.fit(plant(StreamPlan(rate=RATE, n_channels=N_CHANNELS), n_frames=N_FIRST, seed=0).recording)
    folder, out = asked.scratch / "model", asked.scratch / "out"
    shutil.rmtree(asked.scratch, ignore_errors=True)
    asked.scratch.mkdir(parents=True)
    model.save(folder)
    n_seconds = round(60 * asked.minutes)

    def opened(where: str, request: FeedRequest) -> PlayedFeed:
        return PlayedFeed(asked.devices, n_seconds, asked.payload)

    kind = FeedKind("played", "played:", "", ("played",), opened)
    fleet_module.feed_kind = lambda where: kind  # type: ignore[assignment]
    n_labels, memory, making = 0, [], 0.0
    with closing(Fleet(Rondo.load(folder), folder, "played:", out)) as fleet:
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
            memory.append((fleet.feed.backlog, memory_mb()))
        fleet.stop()
        took, cpu = time.perf_counter() - began, time.process_time() - began_cpu - making
    n_rows, n_bytes = n_seconds * asked.devices * RATE, sum(p.stat().st_size for p in out.rglob("*") if p.is_file())
    tenth = max(1, len(memory) // 10)
    tenths = " ".join(
        f"{np.median([mb for _, mb in memory[at : at + tenth]]):.0f}" for at in range(0, 10 * tenth, tenth)
    )
    print(
        f"{asked.devices} devices x {asked.minutes:g} min ({n_rows:,.0f} rows, {n_labels:,} labels), {asked.payload}: "
        f"{took:.0f} s, {cpu:.0f} CPU-s without making messages = {100 * cpu / n_seconds:.0f} % of one core in real "
        f"time, {n_rows / cpu:,.0f} rows/s; memory {tenths} MB, {n_bytes / 1e6:.0f} MB on the disk"
    )
    shutil.rmtree(asked.scratch)


if __name__ == "__main__":
    main()
