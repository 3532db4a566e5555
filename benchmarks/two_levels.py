"""What the second level adds: contexts beside the units they are made of, one longer window, and a mode filter.

    python benchmarks/two_levels.py DATA                             the first 12 recordings of each set, one seed
    python benchmarks/two_levels.py DATA --held-out                  recordings that were not in view
    python benchmarks/two_levels.py DATA --sets MoCap,PTE --seeds 3
    python benchmarks/two_levels.py DATA --page docs/results/motifs.md

DATA holds a folder per set: .npz recordings (`X`, `y` for scoring) and a meta.json whose `rate_hz` is their rate.
Every recording is fitted by itself. Each row is the mean of ARI, AMI and one-to-one against `y`, averaged over
recordings and seeds:

    flat 1.5 s    one scale, windows of 1.5 s: the default of 0.1.0
    flat, long    one scale, windows as long as the long window
    units         the lower level
    mode filter   the commonest unit in a long window around each frame
    contexts      the upper level

`shared units` is the share of units that make up a tenth or more of two contexts or more; `units per context` how many
make up a tenth of one. A coarser window called motif would have 0 and 1.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))  # before numpy

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section

from rondo.data.recording import Recording
from rondo.metrics.scores import evaluate
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.motifs.composed import ComposedMotifs

SECTIONS = ("what-contexts-add", "held-out")
SETS = ("MoCap", "HuGaDB", "COMPASS_Suturing", "PTE", "Billboard", "OpenPack", "ActRecTut", "USC-HAD", "MoCap6")
N_RECORDINGS = 12  # of each set
HELD_OUT = {"Billboard": 12, "USC-HAD": 6}  # after so many recordings, which were in view
WAYS = ("flat 1.5 s", "flat, long", "units", "mode filter", "contexts")
UNTESTED = {"evidence.surrogates": 0}  # labels of contexts whether or not they pass: the level itself is compared
FLAT = {**UNTESTED, "motifs.method": "none"}
LEAST_SHARE = 0.1

Labels = NDArray[np.int32]


def labels_of(recording: Recording, seed: int) -> tuple[dict[str, Labels], tuple[float, float]]:
    """The labels of every way; the share of units in several contexts, and units per context."""
    model = Rondo(seed=seed, settings=UNTESTED).fit(recording)
    motifs = model.motif_model_
    assert isinstance(motifs, ComposedMotifs)
    units = label_one(model, recording).units
    found = {"units": units, "mode filter": mode_filtered(units, model.motif_window_frames_)}
    told = (np.nan, np.nan)
    if motifs.contexts is not None:
        model.motif_model_ = motifs.showing("context")
        found["contexts"] = label_one(model, recording).motifs
        counts = motifs.contexts.mixes.windows
        has = counts / np.maximum(1, counts.sum(axis=1, keepdims=True)) >= LEAST_SHARE
        told = (float((has.sum(axis=0) > 1).mean()), float(has.sum(axis=1).mean()))
    for name, window in (("flat 1.5 s", "1.5s"), ("flat, long", model.motif_window_frames_)):
        found[name] = label_one(Rondo(window=window, seed=seed, settings=FLAT).fit(recording), recording).units
    return found | {"contexts": found.get("contexts", units)}, told


def mode_filtered(labels: Labels, length: int) -> Labels:
    """The commonest label within `length` frames around each."""
    ids = np.unique(labels)
    frames = np.arange(labels.size)
    low, high = np.maximum(0, frames - length // 2), np.minimum(labels.size, frames + length // 2 + 1)
    summed = [np.append(0, np.cumsum(labels == id)) for id in ids]
    return ids[np.argmax([own[high] - own[low] for own in summed], axis=0)].astype(np.int32)


def score(truth: NDArray[np.integer], labels: Labels) -> float:
    average = evaluate({"recording": (truth, labels)}).average.as_dict()
    return float(np.mean([average[name] for name in ("ari", "ami", "one_to_one")]))


def recordings_of(folder: Path, chosen: slice) -> Iterator[tuple[Recording, NDArray[np.integer]]]:
    rate = json.loads((folder / "meta.json").read_text(encoding="utf-8"))["rate_hz"]
    for path in sorted(folder.glob("*.npz"))[chosen]:
        with np.load(path) as stored:
            yield Recording(stored["X"], rate, id=path.stem), stored["y"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument(
        "--held-out", action="store_true", help="recordings of Billboard and USC-HAD that chose nothing"
    )
    given = parse(parser, __file__)
    warnings.simplefilter("ignore")
    chosen = {name: slice(N_RECORDINGS) for name in given.sets.split(",")}
    if given.held_out:
        chosen = {name: slice(n_in_view, None) for name, n_in_view in HELD_OUT.items()}
    table, means = Table("set", *WAYS, "shared units", "units per context"), []
    for name, part in chosen.items():
        rows, told = [], []
        for recording, truth in recordings_of(given.data / name, part):
            for seed in range(given.seeds):
                found, own = labels_of(recording, seed)
                rows.append([score(truth, found[way]) for way in WAYS])
                told.append(own)
        means.append(np.mean(rows, axis=0))
        shared, n_units = np.nanmean(told, axis=0)
        cells = [f"{value:.1f}" for value in means[-1]]
        table.add(f"{name} ({len(rows) // given.seeds})", *cells, f"{shared:.0%}", f"{n_units:.1f}")
    table.add("**mean**", *(f"{value:.1f}" for value in np.mean(means, axis=0)))
    write_section(given, "held-out" if given.held_out else "what-contexts-add", table)


if __name__ == "__main__":
    main()
