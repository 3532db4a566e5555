"""An LSL outlet in a process of its own, so that it can be killed.

    python -m tests.live.lsl_outlet '{"name": "imu", ...}'

Every sample holds its own number in each channel, plus a tenth for each channel after the first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass
class OutletPlan:
    """What it sends."""

    name: str
    labels: Sequence[str] = ("x", "y")  # empty: `n_channels` without names
    n_channels: int = 2
    rate: float = 50.0
    source_id: str = ""
    type: str = "IMU"
    first: int = 0
    format: str = "float32"
    signal: str = ""  # an .npy file whose rows are sent instead of numbers


class Outlet:
    """The process."""

    def __init__(self, plan: OutletPlan) -> None:
        command = [sys.executable, "-m", "tests.live.lsl_outlet", json.dumps(asdict(plan))]
        root = Path(__file__).parents[2]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=root)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(60)
        assert self.process.stdin is not None
        self.process.stdin.close()

    close = kill


def configure(folder: Path) -> Path:
    """A file for LSLAPICFG: loopback only, so that a machine without multicast will do, and nothing leaves it."""
    path = folder / "lsl_api.cfg"
    path.write_text("[multicast]\nResolveScope = machine\n[lab]\nKnownPeers = {127.0.0.1}\n[log]\nlevel = -3\n")
    return path


def main() -> None:
    import numpy as np
    import pylsl

    threading.Thread(target=lambda: os._exit(len(sys.stdin.read())), daemon=True).start()  # with whoever started it
    plan = OutletPlan(**json.loads(sys.argv[1]))
    n_channels = len(plan.labels) or plan.n_channels
    info = pylsl.StreamInfo(plan.name, plan.type, n_channels, plan.rate, plan.format, plan.source_id)
    if plan.labels:
        channels = info.desc().append_child("channels")
        for label in plan.labels:
            channels.append_child("channel").append_child_value("label", label)
    rows = np.load(plan.signal) if plan.signal else None
    outlet, number, start = pylsl.StreamOutlet(info), plan.first, time.monotonic()
    while rows is None or number < len(rows):
        own = [number + 0.1 * i for i in range(n_channels)] if rows is None else rows[number].tolist()
        outlet.push_sample([str(value) for value in own] if plan.format == "string" else own)
        number += 1
        time.sleep(max(0.0, start + (number - plan.first) / (plan.rate or 20.0) - time.monotonic()))
    time.sleep(3600)


if __name__ == "__main__":
    main()
