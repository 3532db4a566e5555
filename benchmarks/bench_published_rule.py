"""Cost of a stream by the published continual rule: CPU time per window beside ours, and memory that stays.

    OMP_NUM_THREADS=1 python benchmarks/bench_published_rule.py [n_frames] [--page docs/results/scale.md]

Planted streams of 6 channels at 50 Hz, windows of 1.5 s every 0.36 s; UnitAlign and MotifFormer with the sizes of the
paper (latents of 32, lengths 2 to 10) and little training, which costs nothing in a stream.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from results_page import Table, parse, write_section

from rondo.data.recording import Recording
from rondo.model.rondo import Rondo
from rondo.registry import RULES
from rondo.synthetic.plan import Novelty, StreamPlan
from rondo.synthetic.streams import plant

SECTIONS = ("published-rule",)
N_FIRST = 16_000  # frames that the model is fitted on
PLAN = StreamPlan(n_units=9, n_motifs=6, novelty=(Novelty(at=0.4, n_motifs=1, n_units=1),))
SHORT = {
    "evidence.surrogates": 0,
    "encoder.name": "summary_stats",
    "units.init_epochs": 5,
    "units.max_rounds": 1,
    "motifs.epochs": 2,
}


def measured(model: Rondo, rule: str, values: NDArray[np.float32], n_parts: int = 4) -> list[str]:
    """CPU time per window and the size of the state, at least and at most over parts of the stream."""
    stream, rows = model.stream(rule=rule), len(values) // n_parts
    each, sizes = [], []
    for part in range(n_parts):
        began = time.process_time()
        n_windows = len(stream.feed(values[part * rows : (part + 1) * rows]).decisions)
        each.append(1e3 * (time.process_time() - began) / max(1, n_windows))
        tensors, plain = stream.state()
        sizes.append((sum(own.nbytes for own in tensors.values()) + len(json.dumps(plain))) / 1e6)
    return [f"{min(each):.1f} to {max(each):.1f} ms", f"{min(sizes):.1f} to {max(sizes):.1f} MB"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("n_frames", type=int, nargs="?", default=160_000)
    given = parse(parser, __file__)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    values = plant(PLAN, n_frames=given.n_frames, seed=0).recording.values
    model = Rondo(preset="paper-variational", window=75, step=18, settings=SHORT, device="cpu")
    model.fit(Recording(values[:N_FIRST], rate=50))
    table = Table("`continual.rule`", "units", "motifs", "CPU of a window", "state")
    sizes = len(model.unit_model_.ids), len(model.motif_model_.ids)
    for rule in RULES:
        table.add(rule, *sizes, *measured(model, rule, values[N_FIRST:]))
    write_section(given, "published-rule", table)


if __name__ == "__main__":
    main()
