"""The progressive experiment: the first 20 % of each stream initialise, the rest is revealed, labels freeze at arrival.

    OMP_NUM_THREADS=1 python benchmarks/progressive.py DATA [--sets planted ActRecTut …] [--methods rondo denstream …]
                                                           [--encoder ts2vec] [--weights FOLDER]

DATA holds a folder of .npz recordings (`X`, and `y` for scoring) per set; PAMAP2 and OPPORTUNITY may also lie there as
they are published. No encoder has seen more than the first 20 %: for Rondo the one of --encoder, which is fitted on
them (MantisV2 is frozen and has seen nothing), window statistics for DenStream and DBSTREAM, its own network for
Time2State@20. Values are scaled, and projected on 54 axes for OPPORTUNITY, by the first 20 % for Rondo, by the whole
recording for the others. H, the recall of the classes known at 20 % (old) then and at the end, and how much it falls
(forgetting, M_f) are those of class recall; H is a mean over the recordings in which a class appears after the first
20 %. `planted` are 8 streams of 33 minutes in which two units appear at 40 % and 60 %, each in a motif that is new too
(`planted-motifs`): `found` counts the new ones that a promoted one stands for, `false` the promoted ones that stand for
nothing new, `delay` is how often a new one had come when it was promoted.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from unit_tables import WINDOWS

from rondo import Recording, Rondo
from rondo.baselines.base import build_baseline, label_recording
from rondo.continual.events import Event
from rondo.data.planted_plan import Novelty
from rondo.data.sources import opportunity, pamap2
from rondo.data.sources.catalogue import find_data_set
from rondo.data.synthetic import StreamPlan, plant
from rondo.metrics import evaluate, evaluate_continual

SHARE = 0.2
SEEDS = range(20, 28)
PLAN = StreamPlan(n_units=10, n_motifs=7, novelty=(Novelty(at=0.4), Novelty(at=0.6)))
NEW = {"unit": (8, 9), "motif": (5, 6)}  # those that appear later
COLUMNS = ("ari", "ami", "one_to_one", "mof", "recall", "f1_50", "edit", "seg_ratio", "n_clusters")


PLANTED = {"planted": "unit", "planted-motifs": "motif"}


class Case(NamedTuple):
    """One stream, its classes, its windows, and how it is prepared."""

    recording: Recording
    classes: NDArray[Any]
    window: int
    step: int
    settings: Mapping[str, Any] = MappingProxyType({})
    level: str = "unit"


def cases_of(name: str, data: Path, limit: int) -> list[Case]:
    if name in PLANTED:
        streams = [plant(PLAN, n_frames=100_000, seed=seed) for seed in SEEDS]
        level = PLANTED[name]
        truths = [stream.unit_truth if level == "unit" else stream.motif_truth for stream in streams]
        return [
            Case(stream.recording.renamed(f"planted{i}"), truth, 75, 18, level=level)
            for i, (stream, truth) in enumerate(zip(streams, truths, strict=True))
        ]
    files = sorted((data / name).glob("*.npz"))[: limit or None]
    if not files and name in PUBLISHED:
        return published_cases(name, data / name, limit)
    if not files:
        raise SystemExit(f"error: {data / name}: no recordings; expected one .npz each, with X and y")
    stored = [(path.stem, np.load(path)) for path in files]
    settings = PUBLISHED[name].settings if name in PUBLISHED else {}
    return [Case(Recording(own["X"], id=stem), own["y"], *windows_of(name), settings) for stem, own in stored]


class Published(NamedTuple):
    """A data set in its published files: the channels and the preparation of the paper."""

    source: ModuleType
    channels: tuple[str, ...]
    settings: Mapping[str, Any]


PUBLISHED = {
    "PAMAP2": Published(pamap2, pamap2.ACCELERATION, {}),
    "OPPORTUNITY": Published(opportunity, opportunity.CHANNELS, {"preprocess.pca_components": 54}),
}


def published_cases(name: str, folder: Path, limit: int) -> list[Case]:
    """Every row is a frame, as in the paper; what a gap in time leaves out does not count."""
    source, channels, settings = PUBLISHED[name]
    files = source.find_files(folder)[: limit or None]
    if not files:
        raise SystemExit(f"error: {folder}: no recordings; expected one .npz each, or the files of {name} as published")
    cases = []
    for path in files:
        read = source.read_recording(path, channels)
        recording = Recording(read.values, read.rate, channels, read.id)
        cases.append(Case(recording, source.read_annotation(path).classes, *windows_of(name), settings))
    return cases


def windows_of(name: str) -> tuple[int, int]:
    if name in WINDOWS:
        return WINDOWS[name]
    known = find_data_set(name)
    return known.window, known.step


def rondo(case: Case, encoder: Mapping[str, Any]) -> tuple[NDArray[np.int32], list[Event]]:
    """Labels of the level that is asked for, and what happened to the vocabularies."""
    recording = case.recording
    n_first = int(SHARE * recording.n_frames)
    first = Recording(recording.values[:n_first], recording.rate, recording.channels, recording.id)
    settings = {"evidence.surrogates": 0, **case.settings, **encoder}
    model = Rondo(case.window, case.step, settings=settings, device="cpu").fit(first)
    labels = np.full(recording.n_frames, -1, dtype=np.int32)
    known = model.predict(first)
    labels[:n_first] = known.units if case.level == "unit" else known.motifs
    stream = model.stream()
    offset = n_first - case.window  # so that the first window to be labelled ends where the first part does
    reports = [stream.feed(recording.values[offset:]), stream.finish()]
    for decision in (decision for report in reports for decision in report.decisions):
        start, stop = max(n_first, decision.start_frame + offset), decision.stop_frame + offset
        own = decision.unit if case.level == "unit" else decision.motif
        labels[start:stop] = own
        last = stop, own
    labels[last[0] :] = last[1]
    return labels, [event for report in reports for event in report.events]


def baseline(name: str, **settings: Any) -> Callable[[Case], tuple[NDArray[np.int32], list[Event]]]:
    def run(case: Case) -> tuple[NDArray[np.int32], list[Event]]:
        own = {"windows.length": case.window, "windows.step": case.step, **case.settings, **settings}
        return label_recording(case.recording, build_baseline(name, own), np.random.default_rng(0)), []

    return run


BASELINES: dict[str, Callable[[Case], tuple[NDArray[np.int32], list[Event]]]] = {
    "denstream": baseline("denstream"),
    "dbstream": baseline("dbstream"),
    "time2state@20": baseline("time2state", fit_share=SHARE),
}
ENCODERS = {  # what each has seen
    "summary_stats": "window statistics, 20 %",
    "ts2vec": "TS2Vec, 20 %",
    "time_mae": "Time-MAE, 20 %",
    "mantis": "MantisV2, none of it",
}
OF_BASELINES = {
    "denstream": ENCODERS["summary_stats"],
    "dbstream": ENCODERS["summary_stats"],
    "time2state@20": "its own, 20 %",
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
        own = case.classes[labels == event.ids[0]] if (event.kind, event.level) == ("promote", case.level) else None
        if own is None or not own.size:
            continue
        stands_for = int(np.bincount(own + 1).argmax()) - 1
        if stands_for in NEW[case.level]:
            new.add(stands_for)
            before = case.classes[: event.frame + offset] == stands_for
            delays.append(int((before[1:] & ~before[:-1]).sum()))
        else:
            n_false += 1
    return Found(new, n_false, delays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=[*PLANTED, "ActRecTut", "OpenPack", "USC-HAD"])
    parser.add_argument("--methods", nargs="+", default=["rondo", *BASELINES], choices=["rondo", *BASELINES])
    parser.add_argument("--encoder", default="summary_stats", choices=ENCODERS, help="of rondo")
    parser.add_argument("--weights", default="", help="folder of the published MantisV2, for --encoder mantis")
    parser.add_argument("--limit", type=int, default=0, help="recordings of each set; 0 for all")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    stages = ("h_40", "h_60", "h_80", "h_100", "old_20", "old_100", "forgetting")
    names = (*COLUMNS, *stages, "promoted", "found", "false", "delay", "CPU-s")
    print(
        "| set | method | encoder, seen | " + " | ".join(names) + " |\n" + "|---" * (len(names) + 3) + "|", flush=True
    )
    encoder = {"encoder.name": given.encoder} | ({"encoder.weights": given.weights} if given.weights else {})
    methods = {"rondo": partial(rondo, encoder=encoder), **BASELINES}
    seen = {"rondo": ENCODERS[given.encoder], **OF_BASELINES}
    for name in given.sets:
        cases = cases_of(name, given.data, given.limit)
        for method in given.methods:
            start = time.process_time()
            results = [methods[method](case) for case in cases]
            seconds = (time.process_time() - start) / len(cases)
            pairs = {
                case.recording.id: (case.classes, labels) for case, (labels, _) in zip(cases, results, strict=True)
            }
            scores, continual = evaluate(pairs).as_dict(), evaluate_continual(pairs).as_dict()["recall"]
            found = [novelty(case, *result) for case, result in zip(cases, results, strict=True)]
            promoted = sum(
                (event.kind, event.level) == ("promote", cases[0].level) for _, events in results for event in events
            )
            cells = [f"{scores[key]:.2f}" if key == "seg_ratio" else f"{scores[key]:.1f}" for key in COLUMNS]
            cells += ["-" if continual[key] is None else f"{continual[key]:.1f}" for key in stages]
            of_planted = [""] * 3
            if name in PLANTED:
                delays = [delay for own in found for delay in own.delays]
                n_new = sum(len(own.new) for own in found)
                of_planted = [f"{n_new} of {2 * len(cases)}", str(sum(own.n_false for own in found))]
                of_planted.append(f"{np.mean(delays):.1f}" if delays else "")
            print(
                f"| {name} | {method} | {seen[method]} | "
                + " | ".join([*cells, str(promoted), *of_planted, f"{seconds:.1f}"])
                + " |",
                flush=True,
            )


if __name__ == "__main__":
    main()
