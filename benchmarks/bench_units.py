"""The whole unit stage on long recordings: does it grow linearly, and how long does each preset take?

    OMP_NUM_THREADS=1 python benchmarks/bench_units.py [default|paper …] [--device cpu] [--times 1 2 4] [--frames 90000]

Planted streams of 9 channels, windows of 200 frames every 100, as a long wearable recording has them. Each size runs
in a process of its own, so that peak memory is its own; the time is the encoder's and the units', in wall seconds, the
second fit of the process (the first one pays for imports and, on a GPU, for its start).
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
import warnings

import numpy as np

from rondo.arrays import generators
from rondo.config.settings import resolve
from rondo.data.scaling import Preprocessor
from rondo.data.windows import WindowGrid, Windows
from rondo.encoders.base import build_encoder
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant
from rondo.units.fit import fit_units

LENGTH, STEP, N_CHANNELS = 200, 100, 9


def fitted_seconds(preset: str, device: str, windows: Windows) -> tuple[float, float, int]:
    """Seconds of the encoder and of the units, and how many units there are."""
    config = resolve(preset)
    rngs = generators(0, ("encoder", "units", "motifs"))
    start = time.perf_counter()
    encoder = build_encoder(config.encoder, int(rngs["encoder"].integers(2**31)), device).fit([windows])
    encoded = time.perf_counter()
    units = fit_units([windows], encoder, config.units, rngs["units"], device)
    units.timeline(windows)
    return encoded - start, time.perf_counter() - encoded, len(units.ids)


def windows_of(n_frames: int) -> Windows:
    recording = plant(StreamPlan(n_channels=N_CHANNELS), n_frames=n_frames, seed=0).recording
    signal = Preprocessor.fit([recording], resolve().preprocess).apply(recording)
    return Windows(np.asarray(signal.values), WindowGrid(LENGTH, STEP, signal.n_frames, signal.spans))


def measure(preset: str, device: str, n_frames: int) -> str:
    warnings.simplefilter("ignore")
    fitted_seconds(preset, device, windows_of(3_000))
    windows = windows_of(n_frames)
    encoder_s, units_s, n_units = fitted_seconds(preset, device, windows)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{preset:>8} {device:>5} {n_frames:>9,} {len(windows):>7,} {encoder_s:>8.2f} s {units_s:>8.2f} s "
        f"{encoder_s + units_s:>8.2f} s {peak_mb:>6.0f} MB {n_units:>6}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("presets", nargs="*", default=["default", "paper"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--times", nargs="+", type=int, default=[1, 2, 4])
    parser.add_argument("--frames", type=int, default=90_000)
    given = parser.parse_args()
    print("  preset device   frames windows    encoder      units        all    peak  found", flush=True)
    for preset in given.presets:
        for times in given.times:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                print(pool.apply(measure, (preset, given.device, times * given.frames)), flush=True)


if __name__ == "__main__":
    main()
