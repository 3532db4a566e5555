"""Contexts that grow in a stream against contexts that stay as fitted: motif-level ARI and AMI, and what was promoted.

    RONDO_DATA=FOLDER OMP_NUM_THREADS=1 python benchmarks/growing_contexts.py [--seeds 6] [--sets OpenPack PTE]

Planted: 33 minutes; a fit on the first 35 %; at 40 % a new context comes, with two units of its own (`new`), with none
(`known units`), or not at all (`none`). Real: a fit on the first half of a recording, the second half as a stream.
`right` says whether the promoted context stands for the new one.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from rondo import Recording, Rondo
from rondo.continual import updater
from rondo.continual.context_reader import reader_of
from rondo.continual.journal import Event
from rondo.data.labels import OTHER
from rondo.motifs.composed import ComposedMotifs
from rondo.synthetic import StreamPlan, plant
from rondo.synthetic.plan import Novelty

N_FRAMES, N_FITTED = 100_000, 35_000
PLANTED = {"new": (Novelty(at=0.4, n_units=2),), "known units": (Novelty(at=0.4, n_units=0),), "none": ()}
MOST = {"OpenPack": 2, "PTE": 8, "Billboard": 12}


def read(model: Rondo, values: NDArray[np.float32], grows: bool) -> tuple[NDArray[np.int64], list[Event]]:
    """The motif of each row, and what happened to the motifs."""
    updater.reader_of = reader_of if grows else lambda *given: reader_of(*given, learns=False)  # type: ignore[assignment]
    stream = model.stream()
    reports = [stream.feed(values), stream.finish()]
    motifs = np.full(len(values), OTHER)
    for decision in (decision for report in reports for decision in report.decisions):
        motifs[decision.start_frame : decision.stop_frame] = decision.motif
    return motifs, [event for report in reports for event in report.events if event.level == "motif"]


def compared(recording: Recording, truth: NDArray[np.integer], n_fitted: int) -> tuple[list[float], str] | None:
    """ARI and AMI as fitted, then growing; what was promoted or merged. None where the fit finds no contexts."""
    first = Recording(recording.values[:n_fitted], recording.rate, recording.channels, recording.id)
    model = Rondo(settings={"evidence.surrogates": 0}).fit(first)
    motifs, rest = model.motif_model_, truth[n_fitted:]
    if not isinstance(motifs, ComposedMotifs) or motifs.contexts is None:
        return None
    model.motif_model_ = motifs.showing("context")
    scores: list[float] = []
    for grows in (False, True):
        labels, events = read(model, recording.values[n_fitted:], grows)
        scores += [100 * adjusted_rand_score(rest, labels), 100 * adjusted_mutual_info_score(rest, labels)]
    known = set(truth[:n_fitted].tolist())
    told = []
    for event in (event for event in events if event.kind in ("promote", "merge")):
        own = Counter(rest[labels == event.ids[0]].tolist()).most_common(1)
        right = " right" if event.kind == "promote" and own and own[0][0] not in known else ""
        told.append(event.kind + right)
    return scores, ", ".join(told)


def show(name: str, found: tuple[list[float], str] | None) -> None:
    if found is not None:
        print(f"{name:<28}" + " ".join(f"{score:6.1f}" for score in found[0]) + f"  {found[1]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--sets", nargs="*", default=list(MOST), choices=list(MOST))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':<28}{'as fitted':^13} {'growing':^13}\n{'':<28}{'ARI':>6} {'AMI':>6} {'ARI':>6} {'AMI':>6}")
    for kind, novelty in PLANTED.items():
        for seed in range(given.seeds):
            planted = plant(StreamPlan(motifs="contexts", novelty=novelty), n_frames=N_FRAMES, seed=seed)
            show(f"planted {seed}, {kind}", compared(planted.recording, planted.motif_truth, N_FITTED))
    for name in given.sets:
        folder, scores = Path(os.environ.get("RONDO_DATA", "shared/data")) / name, []
        for path in sorted(folder.glob("*.npz"))[: MOST[name]]:
            recording = Recording.from_file(path)
            found = compared(recording, np.load(path)["y"].astype(np.int64), recording.n_frames // 2)
            show(f"{name} {path.stem}", found)
            scores += [found[0]] if found else []
        show(f"{name}, mean of {len(scores)}", (np.mean(scores, axis=0).tolist(), ""))


if __name__ == "__main__":
    main()
