"""Speed and memory of the way from rows of a stream to windows, row by row and in chunks.

    python benchmarks/bench_stream_frames.py

Speed is by CPU time, the best of three. Memory is the peak that Python traces: it must not grow with the stream.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc

import numpy as np
from numpy.typing import NDArray

from rondo.config.settings import PreprocessConfig
from rondo.data.preparation import Preparation
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.windows import Windower

RATE = 100.0


def feed(
    model: Preprocessor,
    values: NDArray[np.float32],
    times: NDArray[np.float64] | None,
    rows_per_chunk: int,
    n_rows: int,
) -> int:
    """Feed rows in chunks, the same ones over and over; gives the number of windows."""
    preparation, windower = Preparation(model.row_plan(RATE)), Windower(256, 50, values.shape[1])
    n_windows = 0
    for start in range(0, n_rows, rows_per_chunk):
        place = start % (len(values) - rows_per_chunk)
        chunk = values[place : place + rows_per_chunk]
        own = None if times is None else times[place : place + rows_per_chunk] + (start - place) / RATE
        for prepared in preparation.push(chunk, own):
            seen = model.seen_by_model(prepared.values)
            n_windows += sum(1 for _ in windower.push(seen, prepared.first_frame, begins=prepared.begins))
        preparation.take_events()
    return n_windows


def traced_peak_kb(*arguments: object) -> float:
    tracemalloc.start()
    feed(*arguments)  # type: ignore[arg-type]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--channels", type=int, default=9)
    parser.add_argument("--rows", type=int, default=400_000, help="in chunks; a tenth of them row by row")
    size = parser.parse_args()
    rng = np.random.default_rng(0)
    clean = rng.normal(size=(20_000, size.channels)).astype(np.float32)
    holed = clean.copy()
    for start in rng.integers(0, len(clean), 100):
        holed[start : start + 10, rng.integers(size.channels)] = np.nan
    slow = clean.copy()
    slow[np.arange(len(clean)) % 100 > 0, 0] = np.nan  # a heart rate each second
    regular = np.arange(len(clean)) / RATE
    irregular = regular + rng.uniform(-0.008, 0.008, len(clean))
    model = Preprocessor.fit([Recording(slow, rate=RATE)], PreprocessConfig(statistics="dataset"))
    kinds = {
        "no timestamps": (clean, None),
        "timestamps": (clean, regular),
        "bursts of NaN": (holed, regular),
        "a slow sensor": (slow, regular),
        "interpolated": (clean, np.sort(irregular)),
    }
    for name, (values, times) in kinds.items():
        for rows_per_chunk, n_rows in ((100, size.rows), (1, size.rows // 10)):
            seconds = []
            for _ in range(3):
                start = time.process_time()
                n_windows = feed(model, values, times, rows_per_chunk, n_rows)
                seconds.append(time.process_time() - start)
            speed = n_rows / min(seconds)
            peaks = [traced_peak_kb(model, values, times, rows_per_chunk, n) for n in (n_rows // 20, n_rows // 5)]
            print(
                f"{name:<14} {rows_per_chunk:>4} rows at a time: {speed:>12,.0f} rows/s, {n_windows} windows, "
                f"peak {peaks[0]:.0f} kB, {peaks[1]:.0f} kB of a stream four times as long"
            )


if __name__ == "__main__":
    main()
