"""What supervision costs per label: alarms, reading the files again, JSON, and a sink that confirms at once.

    python benchmarks/stream_supervision.py --devices 200 --labels 10 --seconds 20

As many devices as asked for give so many labels each second, in steps of one second; the files are written as a session
writes them, which is not counted.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rondo.live.session import Counters, Written
from rondo.live.sinks.base import SinkMessage
from rondo.live.sinks.delivery import Delivery
from rondo.live.supervising.supervision import Supervision
from rondo.run.stream_folder import COLUMNS
from rondo.vocabulary.edits import Edits


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
    parser.add_argument("--labels", type=int, default=10, help="per device and second")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--sinks", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measured(Path(folder), options.devices, options.labels, options.seconds, options.sinks)))


def measured(out: Path, n_devices: int, per_s: int, seconds: int, n_sinks: int) -> dict[str, float]:
    around = Supervision(out, following=True)
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
    n_labels = n_devices * per_s * seconds
    return {
        "labels": n_labels,
        "delivered": sum(sink.n_messages for sink in sinks),
        "us_per_label": round(spent / n_labels * 1e6, 2),
        "share_of_a_core": round(spent / seconds, 4),
    }


if __name__ == "__main__":
    main()
