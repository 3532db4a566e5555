"""The progressive experiment: the first 20 % of each stream initialise, the rest is revealed, labels freeze at arrival.

    OMP_NUM_THREADS=1 python benchmarks/progressive.py DATA [--sets planted ActRecTut …] [--methods rondo denstream …]

DATA holds a folder of .npz recordings (`X`, and `y` for scoring) per set. Every encoder has seen the first 20 % only:
window statistics for Rondo, DenStream and DBSTREAM, its own network for Time2State@20. H and forgetting (M_f) are those
of class recall; H is a mean over the recordings in which a class appears after the first 20 %. `planted` are 8 streams
of 33 minutes in which two units appear at 40 % and 60 %: `found` counts the new units that a promoted one stands for,
`false` the promoted ones that stand for nothing new, `delay` is how often a new unit had come when it was promoted.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from unit_tables import WINDOWS

from rondo import Recording, Rondo
from rondo.baselines.base import build_baseline, label_recording
from rondo.continual.events import Event
from rondo.data.planted_plan import Novelty
from rondo.data.synthetic import StreamPlan, plant
from rondo.metrics import evaluate, evaluate_continual

SHARE = 0.2
SEEDS = range(20, 28)
PLAN = StreamPlan(n_units=10, n_motifs=7, novelty=(Novelty(at=0.4), Novelty(at=0.6)))
NEW_UNITS = (8, 9)
COLUMNS = ("ari", "ami", "one_to_one", "mof", "recall", "f1_50", "edit", "seg_ratio", "n_clusters")


class Case(NamedTuple):
    """One stream, its classes, and its windows."""

    recording: Recording
    classes: NDArray[Any]
    window: int
    step: int


def cases_of(name: str, data: Path, limit: int) -> list[Case]:
    if name == "planted":
        streams = [plant(PLAN, n_frames=100_000, seed=seed) for seed in SEEDS]
        return [
            Case(stream.recording.renamed(f"planted{i}"), stream.unit_truth, 75, 18) for i, stream in enumerate(streams)
        ]
    files = sorted((data / name).glob("*.npz"))[: limit or None]
    stored = [(path.stem, np.load(path)) for path in files]
    return [Case(Recording(own["X"], id=stem), own["y"], *WINDOWS[name]) for stem, own in stored]


def rondo(case: Case) -> tuple[NDArray[np.int32], list[Event]]:
    """Labels of the units, and what happened to the vocabulary."""
    recording = case.recording
    n_first = int(SHARE * recording.n_frames)
    first = Recording(recording.values[:n_first], rate=recording.rate, id=recording.id)
    model = Rondo(case.window, case.step, settings={"evidence.surrogates": 0}).fit(first)
    labels = np.full(recording.n_frames, -1, dtype=np.int32)
    labels[:n_first] = model.predict(first).units
    stream = model.stream()
    offset = n_first - case.window  # so that the first window to be labelled ends where the first part does
    reports = [stream.feed(recording.values[offset:]), stream.finish()]
    for decision in (decision for report in reports for decision in report.decisions):
        start, stop = max(n_first, decision.start_frame + offset), decision.stop_frame + offset
        labels[start:stop] = decision.unit
        last = stop, decision.unit
    labels[last[0] :] = last[1]
    return labels, [event for report in reports for event in report.events]


def baseline(name: str, **settings: Any) -> Callable[[Case], tuple[NDArray[np.int32], list[Event]]]:
    def run(case: Case) -> tuple[NDArray[np.int32], list[Event]]:
        own = {"windows.length": case.window, "windows.step": case.step, **settings}
        return label_recording(case.recording, build_baseline(name, own), np.random.default_rng(0)), []

    return run


METHODS: dict[str, Callable[[Case], tuple[NDArray[np.int32], list[Event]]]] = {
    "rondo": rondo,
    "denstream": baseline("denstream"),
    "dbstream": baseline("dbstream"),
    "time2state@20": baseline("time2state", fit_share=SHARE),
}


class Found(NamedTuple):
    """New units that a promoted one stands for, promoted ones that stand for nothing new, visits before promotion."""

    new: set[int]
    n_false: int
    delays: list[int]


def novelty(case: Case, labels: NDArray[np.int32], events: list[Event]) -> Found:
    offset = int(SHARE * case.recording.n_frames) - case.window
    new: set[int] = set()
    n_false, delays = 0, []
    for event in events:
        own = case.classes[labels == event.ids[0]] if (event.kind, event.level) == ("promote", "unit") else None
        if own is None or not own.size:
            continue
        stands_for = int(np.bincount(own + 1).argmax()) - 1
        if stands_for in NEW_UNITS:
            new.add(stands_for)
            before = case.classes[: event.frame + offset] == stands_for
            delays.append(int((before[1:] & ~before[:-1]).sum()))
        else:
            n_false += 1
    return Found(new, n_false, delays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=["planted", "ActRecTut", "OpenPack", "USC-HAD"])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--limit", type=int, default=0, help="recordings of each set; 0 for all")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    stages = ("h_40", "h_60", "h_80", "h_100", "forgetting")
    names = (*COLUMNS, *stages, "promoted", "found", "false", "delay", "CPU-s")
    print("| set | method | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 2) + "|", flush=True)
    for name in given.sets:
        cases = cases_of(name, given.data, given.limit)
        for method in given.methods:
            start = time.process_time()
            results = [METHODS[method](case) for case in cases]
            seconds = (time.process_time() - start) / len(cases)
            pairs = {
                case.recording.id: (case.classes, labels) for case, (labels, _) in zip(cases, results, strict=True)
            }
            scores, continual = evaluate(pairs).as_dict(), evaluate_continual(pairs).as_dict()["recall"]
            found = [novelty(case, *result) for case, result in zip(cases, results, strict=True)]
            promoted = sum(
                (event.kind, event.level) == ("promote", "unit") for _, events in results for event in events
            )
            cells = [f"{scores[key]:.2f}" if key == "seg_ratio" else f"{scores[key]:.1f}" for key in COLUMNS]
            cells += ["-" if continual[key] is None else f"{continual[key]:.1f}" for key in stages]
            of_planted = [""] * 3
            if name == "planted":
                delays = [delay for own in found for delay in own.delays]
                n_new = sum(len(own.new) for own in found)
                of_planted = [f"{n_new} of {2 * len(cases)}", str(sum(own.n_false for own in found))]
                of_planted.append(f"{np.mean(delays):.1f}" if delays else "")
            print(
                f"| {name} | {method} | " + " | ".join([*cells, str(promoted), *of_planted, f"{seconds:.1f}"]) + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
