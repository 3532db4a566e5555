"""How fast planted streams are made, and how much memory it takes beside the values themselves.

    python benchmarks/bench_synthetic.py

Wanted: 1 million frames x 6 channels in under 3 s.
"""

from __future__ import annotations

import time
import tracemalloc

from rondo.synthetic.plan import Gaps, Novelty, StreamPlan
from rondo.synthetic.streams import plant

PLANS = {
    "standard": StreamPlan(),
    "eventful": StreamPlan(drift=0.3, novelty=(Novelty(0.5),), n_one_offs=5, gaps=Gaps(20, 20)),
    "30 channels": StreamPlan(n_channels=30),
}


def main(n_frames: int = 1_000_000, n_runs: int = 3) -> None:
    plant(n_frames=1_000)  # the first call pays for imports
    for name, plan in PLANS.items():
        seconds = []
        for _ in range(n_runs):
            started = time.perf_counter()
            stream = plant(plan, n_frames=n_frames)
            seconds.append(time.perf_counter() - started)
        tracemalloc.start()
        stream = plant(plan, n_frames=n_frames)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        n_bytes = stream.recording.values.nbytes
        print(
            f"{name}: {n_frames:,} frames x {plan.n_channels} channels in {min(seconds):.2f} s "
            f"(best of {n_runs}), peak memory {peak / n_bytes:.1f} x the values' {n_bytes / 1e6:.0f} MB"
        )


if __name__ == "__main__":
    main()
