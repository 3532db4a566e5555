"""Reading a long recording: time and peak memory against pandas.read_csv and numpy.load, ratios in one run.

    python benchmarks/bench_files.py [--frames 5000000] [--channels 30] [--formats csv npz] [--folder DIR]

Each reading runs in a process of its own. Peak memory is what the process took beyond its imports, as a
multiple of the float32 size of the recording; the alternatives are given their usual one line.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

MEASURE = """
import sys, time
from pathlib import Path
import h5py, numpy as np, pandas as pd
from rondo.files.read import read_recording

def resident(field):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(field))

readers = {
    "rondo": lambda path: read_recording(path).values,
    "csv": lambda path: pd.read_csv(path).to_numpy(dtype=np.float32),
    "npz": lambda path: np.load(path)["X"].astype(np.float32),
    "npy": lambda path: np.load(path).astype(np.float32),
    "parquet": lambda path: pd.read_parquet(path).to_numpy(dtype=np.float32),
    "h5": lambda path: h5py.File(path)["X"][:].astype(np.float32),
}
read, small, large = readers[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3])
read(small)
before, started = resident("VmRSS"), time.perf_counter()
values = read(large)
print(time.perf_counter() - started, (resident("VmHWM") - before) / (4 * values.size))
"""


def write(path: Path, n_frames: int, n_channels: int) -> None:
    """A recording in float64 (text: 4 decimals), written in pieces where the format allows it."""
    import h5py
    import polars as pl

    rng = np.random.default_rng(0)
    if path.suffix == ".csv":
        names = [f"c{i}" for i in range(n_channels)]
        with path.open("wb") as file:
            for start in range(0, n_frames, 250_000):
                values = rng.normal(size=(min(250_000, n_frames - start), n_channels))
                pl.DataFrame(values, schema=names).write_csv(file, include_header=start == 0, float_precision=4)
        return
    values = rng.normal(size=(n_frames, n_channels))
    if path.suffix == ".npz":
        np.savez(path, X=values)
    elif path.suffix == ".npy":
        np.save(path, values)
    elif path.suffix == ".parquet":
        pl.DataFrame(values, schema=[f"c{i}" for i in range(n_channels)]).write_parquet(path)
    else:
        with h5py.File(path, "w") as stored:
            stored["X"] = values


def measure(reader: str, small: Path, large: Path) -> tuple[float, float]:
    command = [sys.executable, "-c", MEASURE, reader, str(small), str(large)]
    seconds, multiple = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(seconds), float(multiple)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--frames", type=int, default=5_000_000)
    parser.add_argument("--channels", type=int, default=30)
    parser.add_argument("--formats", nargs="+", default=["csv", "npz"], choices=["csv", "npz", "npy", "parquet", "h5"])
    parser.add_argument("--folder", type=Path, default=None, help="where the files are written (a temporary folder)")
    options = parser.parse_args()
    megabytes = options.frames * options.channels * 4e-6
    print(f"{options.frames} frames x {options.channels} channels, {megabytes:.0f} MB in float32")
    print(f"{'format':8} {'rondo s':>8} {'other s':>8} {'ratio':>6} {'rondo mem':>10} {'other mem':>10}")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for suffix in options.formats:
            small, large = Path(folder) / f"small.{suffix}", Path(folder) / f"large.{suffix}"
            write(small, 100, options.channels)
            write(large, options.frames, options.channels)
            seconds, multiple = measure("rondo", small, large)
            other_seconds, other_multiple = measure(suffix, small, large)
            times = f"{seconds:8.2f} {other_seconds:8.2f} {seconds / other_seconds:6.2f}"
            print(f"{suffix:8} {times} {multiple:9.2f}x {other_multiple:9.2f}x", flush=True)
            large.unlink()


if __name__ == "__main__":
    main()
