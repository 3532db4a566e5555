"""Studies of teaching (rondo.motifs.taught), run by studies.py."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import numpy as np
from guard import PLANTED, Fit, read, recording_ids
from numpy.typing import NDArray

from rondo import Recording, Rondo
from rondo.data.labels import OTHER, runs_of
from rondo.metrics import evaluate
from rondo.synthetic import plant

Labels = NDArray[np.integer]
Options = argparse.Namespace
Rows = Iterator[tuple[object, ...]]
N_RECORDINGS = {"ActRecTut": 4, "OpenPack": 2, "COMPASS_Suturing": 6, "USC-HAD": 3, "Billboard": 6, "HuGaDB": 1}
N_RECORDINGS |= {"MoCap": 9, "MoCap6": 6, "PTE": 8} | dict.fromkeys(PLANTED, 2)
AIMED_AT = ("ActRecTut", "OpenPack", "COMPASS_Suturing", "USC-HAD", "Billboard")
DRAWS = 5
SCORES = ("ari", "ami", "one_to_one")
CASES = ((2, 1.0), (1, 1.0), (2, 0.5))  # spans a class, and the share of the classes that are marked


def teaching(options: Options) -> Rows:
    """A few whole true segments of each class are marked, at random; scores of all frames that are not marked.

    `2 spans`: two of each class, one where there are two; `half`: two of each of half the classes. Cells: ARI / AMI /
    one-to-one of the frames without a mark, before and after teaching; draws in which the mean falls by more than a
    point. Five draws; recordings are fitted one by one; draws that leave one class unmarked have no score.
    """
    yield ("set", *(f"{title}: {when}" for title in ("2 spans", "1 span", "half") for when in ("untaught", "taught")),
           "worse")  # fmt: skip
    totals = []
    for name in options.sets or N_RECORDINGS:
        rows, n_worse = [[] for _ in CASES], 0
        for recording, truth in _cases(options, name):
            model = Rondo(seed=0, settings={"evidence.surrogates": 0})
            result = model.fit_predict(recording)
            for place, (n_spans, share) in enumerate(CASES):
                drawn = (_scored(result, truth, n_spans, share, draw) for draw in range(options.seeds or DRAWS))
                scores = np.array([pair for pair in drawn if pair is not None])
                if len(scores):
                    n_worse += int((np.diff(scores.mean(axis=2), axis=1) < -1).sum())
                    rows[place].append(scores.mean(axis=0))
        means = [np.mean(own, axis=0) if own else np.full((2, 3), np.nan) for own in rows]
        if name in AIMED_AT:
            totals.append(means)
        yield (name, *_cells(means), n_worse)
    if totals:
        yield (f"mean of {len(totals)} sets", *_cells(np.mean(totals, axis=0)), "")


def _cells(means: Any) -> list[str]:
    return [
        "/".join(f"{value:.0f}" for value in own) if np.isfinite(own).all() else "" for pair in means for own in pair
    ]


def _cases(options: Options, name: str) -> Iterator[tuple[Recording, Labels]]:
    if name in PLANTED:
        for seed in range(20, 20 + N_RECORDINGS[name]):
            stream = plant(PLANTED[name], n_frames=30_000, seed=seed)
            yield stream.recording, stream.motif_truth
        return
    for id in recording_ids(options.data, name)[: N_RECORDINGS.get(name)]:
        recording, tracks = read(options.data, Fit(name, id, 0))
        yield recording, tracks["y"]


def _scored(result: Any, truth: Labels, n_spans: int, share: float, draw: int) -> list[list[float]] | None:
    """The scores before and after one draw of marks."""
    rng = np.random.default_rng([draw, n_spans])
    spans = drawn_spans(truth, n_spans, share, rng)
    kept = np.ones(truth.size, np.bool_)
    for span in spans:
        kept[span["start_frame"] : span["end_frame"]] = False
    if not spans or np.unique(truth[kept]).size < 2:
        return None
    taught = result.teach(spans)
    each = [evaluate({"0": (truth[kept], np.asarray(one.motifs)[kept])}).average for one in (result, taught)]
    return [[getattr(row, score) for score in SCORES] for row in each]


def drawn_spans(truth: Labels, n_spans: int, share: float, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Whole true segments; of each class at least one stays without a mark, where it has two."""
    runs = runs_of(truth)
    classes = np.unique(runs.ids[runs.ids != OTHER])
    spans = []
    for kind in classes:
        own = np.flatnonzero(runs.ids == kind)
        n = min(n_spans, max(1, own.size - 1))
        spans += [
            {"name": f"class {kind}", "start_frame": int(runs.starts[at]), "end_frame": int(runs.stops[at])}
            for at in rng.permutation(own)[:n]
        ]
    if share < 1:
        names = {f"class {kind}" for kind in rng.permutation(classes)[: max(1, round(share * classes.size))]}
        spans = [span for span in spans if span["name"] in names]
    return spans


STUDIES = (teaching,)
