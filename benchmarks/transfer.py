"""Units of one recording read on another: how far a vocabulary travels, as it is and moved to the target.

    OMP_NUM_THREADS=1 python benchmarks/transfer.py DATA [--sets planted OpenPack …] [--seed 0]
        [--set units.merge=true …] [--page docs/results/adaptation.md]

`rondo bench run transfer` is the paper's experiment, over all participants. This adds two questions: what does a model
say about how well it fits, and do ids keep their *meaning*? For that every unit is called what it mostly is in the
source, by the annotation of the source, and the share of target frames that are then called right is counted; `own` is
the same with units that were fitted, and called, on the target itself.

DATA holds a folder of .npz recordings (`X`, and `y` for scoring) per set. Before those come planted streams of which
the second half is read after its sensor was turned by so many degrees (two triples of channels, each about its third
axis), means over three seeds. Scores are ARI / AMI / one-to-one of the units on the target; the last line of a set is
its mean, and says what one fit of all its recordings together gives.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section

from rondo.config.overrides import parse_override
from rondo.data.recording import Recording
from rondo.metrics.scores import evaluate
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.run.labelling import FitProfile, fit_of
from rondo.synthetic.streams import plant

GROUPS = {  # recordings that are of the same kind: all ordered pairs within one are run
    "OpenPack": ("*",),
    "ActRecTut": ("*_walk", "*_gesture"),
    "USC-HAD": ("*",),
}
SECTIONS = ("by-pair", "usc-had")  # 14 people are 182 pairs, which take an hour
WINDOWS = {"OpenPack": (90, 30), "ActRecTut": (90, 30), "USC-HAD": (200, 100)}  # as in `rondo bench`
PLANTED_SEEDS = (5, 6, 7)
DEGREES = (0, 20, 40, 60, 90, 180)
MOST_PAIRS = 6  # that are printed one by one

Known = tuple[Recording, Any]


def called_right(truth: Any, labels: Any, target_truth: Any, target_labels: Any) -> float:
    """Share of target frames, in per cent, that are what their unit mostly is in the source."""
    called = {unit: np.bincount(truth[labels == unit]).argmax() for unit in np.unique(labels)}
    return 100 * float(
        np.mean([called.get(unit) == true for unit, true in zip(target_labels, target_truth, strict=True)])
    )


def figures(source: Known, target: Known, fitted: Rondo, own: Rondo) -> tuple[dict[str, list[float]], str]:
    """The numbers of one pair by column, and what the model says about the fit."""
    (learned, learned_truth), (other, truth) = source, target
    adapted = copy(fitted).adapt(other)
    as_fitted, moved, itself = label_one(fitted, other), label_one(adapted, other), label_one(own, other)
    known = label_one(fitted, learned).units
    columns = {}
    for name, labelling in (("kept", as_fitted), ("adapted", moved), ("own", itself)):
        scores = evaluate({"target": (truth, labelling.units)}).as_dict()
        columns[name] = [scores[each] for each in ("ari", "ami", "one_to_one")]
        if name == "kept":
            columns["clock"] = [scores["clock"][each] for each in ("ari", "ami", "one_to_one")]
    columns["meaning"] = [
        called_right(learned_truth, known, truth, as_fitted.units),
        called_right(learned_truth, known, truth, moved.units),
        called_right(truth, itself.units, truth, itself.units),
    ]
    profile = FitProfile.from_json(fitted.provenance_["fit_profile"], Path(learned.id))
    return columns, f"{fit_of(as_fitted.fit_profile, profile)}, {100 * as_fitted.share_accepted:.0f} % accepted"


def known_of(folder: Path, pattern: str) -> list[Known]:
    """Recordings with their classes; unlabelled frames are a class of their own."""
    stored = {path.stem: np.load(path) for path in sorted(folder.glob(f"{pattern}.npz"))}
    return [(Recording(own["X"], id=id), own["y"].astype(int).ravel() + 1) for id, own in stored.items()]


def pairs_of(known: list[Known], models: list[Rondo]) -> Iterator[tuple[Known, Known, Rondo, Rondo]]:
    """Source, target, the model of the source, the model of the target."""
    for i, j in permutations(range(len(known)), 2):
        yield known[i], known[j], models[i], models[j]


def together(known: list[Known], model: Rondo) -> str:
    """All recordings fitted as one: scores of each, and units called what they mostly are in the others."""
    labels = [
        labelling.units for labelling in model.fit([recording for recording, _ in known]).predict([r for r, _ in known])
    ]
    scores, meaning = [], []
    for i, (_, truth) in enumerate(known):
        row = evaluate({"own": (truth, labels[i])}).as_dict()
        scores.append([row[each] for each in ("ari", "ami", "one_to_one")])
        others = [j for j in range(len(known)) if j != i]
        classes, units = (np.concatenate([each[j] for j in others]) for each in ([y for _, y in known], labels))
        meaning.append(called_right(classes, units, truth, labels[i]))
    cell = " / ".join(f"{number:.1f}" for number in np.mean(scores, axis=0))
    return f"{len(model.unit_model_.ids)} units, {cell}, meaning {np.mean(meaning):.1f}"


def turned(values: NDArray[np.float32], degrees: float) -> NDArray[np.float32]:
    """Two triples of channels turned about the third axis of each."""
    sine, cosine = np.sin(np.radians(degrees)), np.cos(np.radians(degrees))
    axes = np.kron(np.eye(2), np.array([[cosine, sine, 0], [-sine, cosine, 0], [0, 0, 1]]))
    return np.asarray(values @ axes, np.float32)


def planted_rows(settings: dict[str, Any], seed: int) -> Iterator[list[str]]:
    """A row of the table for each angle."""
    streams = [plant(n_frames=24_000, seed=each) for each in PLANTED_SEEDS]
    halves = [((s.recording.values[:12_000], s.unit_truth[:12_000] + 1), s) for s in streams]
    models = [Rondo(settings=settings, seed=seed).fit(Recording(values, 50)) for (values, _), _ in halves]
    for degrees in DEGREES:
        rows = []
        for ((values, truth), stream), model in zip(halves, models, strict=True):
            other = Recording(turned(stream.recording.values[12_000:], degrees), 50)
            own = Rondo(settings=settings, seed=seed).fit(other)
            known = (Recording(values, 50), truth), (other, stream.unit_truth[12_000:] + 1)
            rows.append(figures(*known, model, own)[0])
        yield cells_of(f"planted, the sensor turned by {degrees}°", mean_of(rows), "")


def mean_of(rows: list[dict[str, list[float]]]) -> dict[str, list[float]]:
    """Column by column."""
    return {each: np.mean([columns[each] for columns in rows], axis=0).tolist() for each in rows[0]}


def cells_of(name: str, columns: dict[str, list[float]], fit: str) -> list[str]:
    """One row of the table."""
    scores = [" / ".join(f"{number:.1f}" for number in columns[each]) for each in ("kept", "adapted", "clock", "own")]
    return [name, *scores, ", ".join(f"{number:.0f}" for number in columns["meaning"]), fit]


def set_rows(data: Path, name: str, make: Callable[[], Rondo]) -> Iterator[list[str]]:
    """The pairs of a set where they are few, and their mean."""
    for pattern in GROUPS[name]:
        known, rows = known_of(data / name, pattern), []
        models = [make().fit(recording) for recording, _ in known]
        for source, target, fitted, own in pairs_of(known, models):
            columns, fit = figures(source, target, fitted, own)
            rows.append((f"{name} {source[0].id} -> {target[0].id}", columns, fit))
        if len(rows) <= MOST_PAIRS:
            yield from (cells_of(*row) for row in rows)
        mean = mean_of([columns for _, columns, _ in rows])
        title = f"{name} {pattern.strip('*_')}".strip()
        yield cells_of(f"{title}, {len(rows)} pairs", mean, f"together: {together(known, make())}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=["planted", "OpenPack", "ActRecTut"], choices=["planted", *GROUPS])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE")
    given = parse(parser, __file__)
    warnings.simplefilter("ignore")
    settings = {"evidence.surrogates": 0} | dict(parse_override(text) for text in given.set)
    table = Table("from -> to", "units kept", "adapted", "clock", "fitted on the target", "meaning", '"does it fit?"')
    for name in given.sets:
        if name == "planted":
            rows = planted_rows(settings, given.seed)
        else:
            rows = set_rows(given.data, name, partial(Rondo, *WINDOWS[name], settings=settings, seed=given.seed))
        for row in rows:
            table.add(*row)
    write_section(given, "usc-had" if given.sets == ["USC-HAD"] else "by-pair", table)


if __name__ == "__main__":
    main()
