"""What supervision costs per label: alarms, reading the files again, JSON, and a sink that confirms at once.

    python benchmarks/stream_supervision.py [--devices 200] [--seconds 20] [--page docs/results/scale.md]

Every device gives ten labels or one each second, in steps of one second; the files are written as a session writes
them, which is not counted.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from results_page import Table, parse, write_section

from rondo.editing.edits import Edits
from rondo.live.delivery import Delivery
from rondo.live.health import Health
from rondo.live.session import Counters, Written
from rondo.live.source import SinkMessage
from rondo.run.decisions import COLUMNS

SECTIONS = ("sinks",)
CASES = {"ten a second": (10, 1), "one a second": (1, 1), "ten a second, no sink": (10, 0)}  # labels a step, sinks


class Nowhere:
    """A sink that takes everything."""

    problem: str | None = None
    n_refused = 0
    waits_at_end = False

    def __init__(self) -> None:
        self.n_batches = self.n_messages = 0

    def is_ready(self) -> bool:
        return True

    def send(self, batch: Sequence[SinkMessage]) -> None:
        self.n_batches += 1
        self.n_messages += len(batch)

    def n_confirmed(self) -> int:
        return self.n_batches

    def close(self) -> None:
        """Nothing is open."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=20)
    given = parse(parser, __file__)
    table = Table("labels", "CPU per label", "share of a core")
    for name, (n_labels, n_sinks) in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            spent = measured(Path(folder), given.devices, n_labels, given.seconds, n_sinks)
        each = spent / (given.devices * n_labels * given.seconds)
        table.add(name, f"{1e6 * each:.1f} µs", f"{100 * spent / given.seconds:.1f} %")
    write_section(given, "sinks", table)


def measured(out: Path, n_devices: int, per_s: int, seconds: int, n_sinks: int) -> float:
    """CPU seconds of supervision."""
    around = Health(out, silent_s=60.0)
    sinks = [Nowhere() for _ in range(n_sinks)]
    around._deliveries = [Delivery(out, f"nowhere://{i}", sink) for i, sink in enumerate(sinks)]
    names = [f"device{i:04d}" for i in range(n_devices)]
    session: Any = SimpleNamespace(counters=Counters(), edits=Edits())
    for name in names:
        (out / name).mkdir()
        (out / name / "labels.csv").write_text(",".join(COLUMNS) + "\n")
        around.begin(name, out / name, session)
    spent = 0.0
    for second in range(seconds):
        first = second * per_s
        rows = [
            dict(
                zip(COLUMNS, (50 * n, 50 * n + 50, n / per_s, (n + 1) / per_s, n % 7, n % 3, 0.5123, 0.25), strict=True)
            )
            for n in range(first, first + per_s)
        ]
        text = "".join(",".join(map(str, row.values())) + "\n" for row in rows)
        session.counters = Counters(n_rows=50 * (first + per_s), n_windows=first + per_s)
        for name in names:
            with (out / name / "labels.csv").open("a") as file:
                file.write(text)
        began = time.process_time()
        for name in names:
            around.after(name, out / name, Written(rows, []), session)
        for tenth in range(10):
            around.tick(second + tenth / 10)
        spent += time.process_time() - began
    delivered, wanted = sum(sink.n_messages for sink in sinks), n_sinks * n_devices * per_s * seconds
    if delivered < wanted:
        raise SystemExit(f"{delivered} of {wanted} labels were delivered")
    return spent


if __name__ == "__main__":
    main()
