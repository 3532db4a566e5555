"""Cost of a stream by the published continual rule: CPU time per window beside ours, and memory that stays.

    OMP_NUM_THREADS=1 python benchmarks/bench_published_rule.py [n_frames]

Planted streams of 6 channels at 50 Hz, windows of 1.5 s every 0.36 s; UnitAlign and MotifFormer with the sizes of the
paper (latents of 32, lengths 2 to 10) and little training, which costs nothing in a stream.
"""

from __future__ import annotations

import json
import sys
import time
import warnings

import numpy as np
import torch
from numpy.typing import NDArray

from rondo import Rondo
from rondo.config.schema import ContinualRule
from rondo.data.recording import Recording
from rondo.synthetic import StreamPlan, plant
from rondo.synthetic.plan import Novelty

N_FIRST = 16_000  # frames that the model is fitted on
PLAN = StreamPlan(n_units=9, n_motifs=6, novelty=(Novelty(at=0.4, n_motifs=1, n_units=1),))
SHORT = {
    "evidence.surrogates": 0,
    "encoder.name": "summary_stats",
    "units.init_epochs": 5,
    "units.max_rounds": 1,
    "motifs.epochs": 2,
}


def measured(model: Rondo, rule: ContinualRule, values: NDArray[np.float32], n_parts: int = 4) -> None:
    """Parts of one stream, each with its CPU time per window and the size of the state after it."""
    stream, rows = model.stream(rule=rule), len(values) // n_parts
    each, sizes = [], []
    for part in range(n_parts):
        began = time.process_time()
        n_windows = len(stream.feed(values[part * rows : (part + 1) * rows]).decisions)
        each.append(f"{1e3 * (time.process_time() - began) / max(1, n_windows):.1f}")
        tensors, plain = stream.state()
        sizes.append(f"{(sum(own.nbytes for own in tensors.values()) + len(json.dumps(plain))) / 1e6:.1f}")
    print(f"{rule}: {' / '.join(each)} ms per window, state {' / '.join(sizes)} MB", flush=True)


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    n_frames = int(sys.argv[1]) if len(sys.argv) > 1 else 160_000
    values = plant(PLAN, n_frames=n_frames, seed=0).recording.values
    model = Rondo(preset="paper-variational", window=75, step=18, settings=SHORT, device="cpu")
    model.fit(Recording(values[:N_FIRST], rate=50))
    print(model)
    measured(model, "exemplars", values[N_FIRST:])
    measured(model, "published", values[N_FIRST:])


if __name__ == "__main__":
    main()
