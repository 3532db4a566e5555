"""Contexts that grow in a stream against contexts that stay as fitted: motif-level ARI and AMI, and what was promoted.

    OMP_NUM_THREADS=1 python benchmarks/growing_contexts.py DATA [--seeds 6] [--sets OpenPack PTE]
        [--page docs/results/streams.md]

Planted: 33 minutes; a fit on the first 35 %; at 40 % a new context comes, with two units of its own (`new`), with none
(`known units`), or not at all (`none`). Real: a fit on the first half of a recording, the second half as a stream.
Cells are means over the streams in which the fit finds contexts; `right` are promoted contexts that stand for the new
one, `false` the others.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from rondo.continual import updater
from rondo.continual.contexts import reader_of
from rondo.continual.journal import Event
from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.files.read import read_recording
from rondo.model.rondo import Rondo
from rondo.motifs.composed import ComposedMotifs
from rondo.synthetic.plan import Novelty, StreamPlan
from rondo.synthetic.streams import plant

SECTIONS = ("growing-contexts",)
N_FRAMES, N_FITTED = 100_000, 35_000
PLANTED = {
    "a new context with two new units": (Novelty(at=0.4, n_units=2),),
    "a new context of known units": (Novelty(at=0.4, n_units=0),),
    "no new context": (),
}
MOST = {"PTE": 8, "Billboard": 12, "OpenPack": 2}


class Compared(NamedTuple):
    """ARI and AMI as fitted, then growing; contexts that were promoted, rightly and not."""

    scores: list[float]
    n_right: int
    n_false: int


Stream = tuple[Recording, NDArray[np.integer], int]  # with its classes, and the frames that are fitted


def read(model: Rondo, values: NDArray[np.float32], grows: bool) -> tuple[NDArray[np.int64], list[Event]]:
    """The motif of each row, and what happened to the motifs."""
    updater.reader_of = reader_of if grows else lambda *given: reader_of(*given, learns=False)  # type: ignore[assignment]
    stream = model.stream()
    reports = [stream.feed(values), stream.finish()]
    motifs = np.full(len(values), OTHER)
    for decision in (decision for report in reports for decision in report.decisions):
        motifs[decision.start_frame : decision.stop_frame] = decision.motif
    return motifs, [event for report in reports for event in report.events if event.level == "motif"]


def compared(recording: Recording, truth: NDArray[np.integer], n_fitted: int) -> Compared | None:
    """None where the fit finds no contexts."""
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
    right = []
    for event in (event for event in events if event.kind == "promote"):
        own = Counter(rest[labels == event.ids[0]].tolist()).most_common(1)
        right.append(bool(own) and own[0][0] not in known)
    return Compared(scores, sum(right), len(right) - sum(right))


def planted(novelty: tuple[Novelty, ...], n_seeds: int) -> Iterator[Stream]:
    for seed in range(n_seeds):
        stream = plant(StreamPlan(motifs="contexts", novelty=novelty), n_frames=N_FRAMES, seed=seed)
        yield stream.recording, stream.motif_truth, N_FITTED


def recorded(folder: Path, most: int) -> Iterator[Stream]:
    for path in sorted(folder.glob("*.npz"))[:most]:
        recording = read_recording(path)
        yield recording, np.load(path)["y"].astype(np.int64), recording.n_frames // 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--sets", nargs="*", default=list(MOST), choices=list(MOST))
    given = parse(parser, __file__)
    warnings.simplefilter("ignore")
    streams = {f"planted, {kind}": planted(novelty, given.seeds) for kind, novelty in PLANTED.items()}
    streams |= {f"{name}, second half": recorded(given.data / name, MOST[name]) for name in given.sets}
    table = Table("streams", "contexts as fitted: ARI / AMI", "growing: ARI / AMI", "promoted: right", "false")
    for name, own in streams.items():
        found = [one for one in (compared(*stream) for stream in own) if one is not None]
        scores = np.mean([one.scores for one in found], axis=0)
        cells = [f"{ari:.1f} / {ami:.1f}" for ari, ami in (scores[:2], scores[2:])]
        table.add(f"{name} ({len(found)})", *cells, *(sum(one[i] for one in found) for i in (1, 2)))
    write_section(given, "growing-contexts", table)


if __name__ == "__main__":
    main()
