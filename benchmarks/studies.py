"""Studies of the default chain and of streams: variants on annotated recordings, one table each.

    OMP_NUM_THREADS=1 python benchmarks/studies.py NAME DATA [--sets …] [--seeds N] [--page docs/results/PAGE.md]
    python benchmarks/studies.py --list

DATA holds a folder per set: .npz recordings (`X`, and `y`, `y2` for scoring) and a meta.json (`rate_hz`); planted sets
are generated. Every recording is fitted by itself unless a study says otherwise. Cells are ARI / AMI / one-to-one in
percent where nothing else is said. What a study does is in the docstring of its function; `--held-out` takes recordings
that had no part in choosing settings.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from itertools import permutations, product
from pathlib import Path
from typing import Any, get_args

os.environ.setdefault("OMP_NUM_THREADS", "1")  # set before numpy and torch are loaded

import choice_studies
import finding_studies
import numpy as np
import scale_studies
import stream_studies
import teaching_studies
from guard import Fit, read, recording_ids
from numpy.typing import NDArray
from pages import Table, parse, write_section

from rondo import Recording, Rondo
from rondo.arrays import generators
from rondo.config.overrides import parse_override
from rondo.config.settings import resolve
from rondo.data.scaling import Preprocessor
from rondo.data.window_lengths import window_and_step
from rondo.data.windows import Projection, WindowGrid, Windows
from rondo.encoders.base import build_encoder
from rondo.errors import RecordingError
from rondo.metrics import clock_labels, evaluate
from rondo.metrics.meaning import shared_scores
from rondo.metrics.overlap import Overlap
from rondo.motifs.composed import ComposedMotifs
from rondo.synthetic import StreamPlan, plant, plant_subjects
from rondo.units.fit import fit_units
from rondo.units.fit_profile import FitProfile, fit_of
from rondo_bench.metrics.published import change_point_f1, covering

Labels = NDArray[np.integer]
Case = tuple[Recording, Labels]
Settings = dict[str, Any]
Options = argparse.Namespace
Rows = Iterator[tuple[object, ...]]
TRIPLE = ("ari", "ami", "one_to_one")
COLUMNS = {
    **dict(zip(TRIPLE, ("ARI", "AMI", "one-to-one"), strict=True)),
    "mof": "MoF",
    "recall": "Recall",
    "f1_50": "F1@50",
    "edit": "Edit",
    "seg_ratio": "SegRatio",
    "n_clusters": "clusters",
}
PAPER = {"MoCap": (256, 50), "ActRecTut": (90, 30), "OpenPack": (90, 30), "HuGaDB": (90, 30), "USC-HAD": (150, 37)}
STAGES = ("encoder", "units", "motifs")
UNTESTED: Settings = {"evidence.surrogates": 0}  # labels whether or not motifs pass the test
FLAT: Settings = {**UNTESTED, "motifs.method": "none"}


def cases(data: Path, name: str, chosen: slice = slice(None), track: str = "y") -> list[Case]:
    """Recordings of a set, each with one annotation."""
    found = (read(data, Fit(name, id, 0)) for id in recording_ids(data, name)[chosen])
    return [(recording, tracks[track]) for recording, tracks in found]


def without_rate(cases: Sequence[Case]) -> list[Case]:
    """Lengths are then in frames, and automatic windows follow the period of the signal."""
    return [(Recording(recording.values, id=recording.id), truth) for recording, truth in cases]


def first_channels(cases: Sequence[Case], n: int) -> list[Case]:
    return [(Recording(recording.values[:, :n], recording.rate, id=recording.id), truth) for recording, truth in cases]


def labels_of(model: Rondo, recording: Recording, level: str = "units") -> Labels:
    return np.asarray(getattr(model.fit(recording).predict(recording), level))


def scores_of(pairs: Sequence[tuple[Labels, Labels]]) -> Mapping[str, Any]:
    return evaluate({str(i): pair for i, pair in enumerate(pairs)}).as_dict()


def triple(scores: Mapping[str, float], digits: int = 1, between: str = " / ") -> str:
    return between.join(f"{scores[name]:.{digits}f}" for name in TRIPLE)


def stage_labels(
    recording: Recording, settings: Settings, rng: np.random.Generator, window: tuple[int, int] | None = None
) -> Labels:
    """The unit stage alone: no motifs, no rule for short runs, no OTHER."""
    config = resolve(overrides=settings)
    signal = Preprocessor.fit([recording], config.preprocess).apply(recording)
    grid = WindowGrid(*(window or window_and_step([signal], config.windows)), signal.n_frames, signal.spans)
    windows = Windows(signal.values, grid)
    units = fit_units([windows], build_encoder(config.encoder).fit([windows]), config.units, rng, "cpu")
    ids, rule = units.timeline(windows).ids, config.windows.projection
    return ids[units.boundaries.windows_of_frames(windows, ids)] if rule == "aligned" else grid.project(ids, rule)


UNIT_SETTINGS: dict[str, Settings] = {
    "**default**": {},
    "labels by vote of the windows": {"windows.projection": "vote"},
    "labels of the nearest window": {"windows.projection": "centre"},
    **{f"{k} dimensions": {"units.dimension": k} for k in (3, 4, 5, 6, 8)},
    "merged": {"units.merge": True},
    "no rule of persistence": {"units.persistence": 0.0},
    "half the price of a change": {"units.transition_scale": 1.0},
    "twice the price of a change": {"units.transition_scale": 4.0},
    "30 components at most": {"units.mixture.component_cap": 30},
}
CUTS = (("USC-HAD", 3, 3), ("USC-HAD", 1, 3), ("HuGaDB", 3, 9), ("ActRecTut", 3, 4), ("MoCap", 3, 9), ("MoCap", 1, 9))


def unit_settings(options: Options) -> Rows:
    """Settings of the unit stage against their alternatives, at the windows of the paper: scores, clusters.

    Development: MoCap, ActRecTut, OpenPack, HuGaDB, planted seeds 0 to 5. Held out: USC-HAD, planted seeds 20 to 29.
    AVG is the mean of the three scores over the real sets.
    """
    names = options.sets or (["USC-HAD"] if options.held_out else ["MoCap", "ActRecTut", "OpenPack", "HuGaDB"])
    sets = {name: (PAPER[name], without_rate(cases(options.data, name))) for name in names}
    streams = [plant(n_frames=60_000, seed=seed) for seed in (range(20, 30) if options.held_out else range(6))]
    sets["planted"] = (75, 18), [(Recording(own.recording.values), own.unit_truth) for own in streams]
    yield ("units", *sets, "AVG")
    for title, settings in UNIT_SETTINGS.items():
        rows = []
        for window, own in sets.values():
            each = []
            for seed in range(options.seeds or 3):
                rngs = (generators(seed, STAGES)["units"] for _ in own)
                labels = [stage_labels(recording, settings, next(rngs), window) for recording, _ in own]
                each.append(scores_of([(truth, found) for (_, truth), found in zip(own, labels, strict=True)]))
            rows.append({name: np.mean([row[name] for row in each]) for name in (*TRIPLE, "n_clusters")})
        average = np.mean([row[name] for row in rows[:-1] for name in TRIPLE])
        yield (title, *(f"{triple(row, 0, '/')}, {row['n_clusters']:.0f}" for row in rows), f"{average:.1f}")


def few_channels(options: Options) -> Rows:
    """Units of one to three channels with and without shapes, automatic windows; `many` must not change.

    TSSB: 75 series of one channel and unknown rate; odd ranks by name are the development half. Cells: ARI / AMI /
    one-to-one / covering / F1 of change points, then the number of clusters.
    """
    data, wanted, sets = options.data, options.sets or ["TSSB", "cuts"], dict[str, list[Case]]()
    if "TSSB" in wanted:
        series = cases(data, "TSSB")
        halves = {"TSSB, development half": series[::2], "TSSB, confirmation half": series[1::2], "TSSB, all": series}
        sets |= {f"{name} ({len(own)} series)": own for name, own in halves.items()}
    if "cuts" in wanted:
        sets |= {f"{name}, {n} of its channels": first_channels(cases(data, name, slice(m)), n) for name, n, m in CUTS}
    if "many" in wanted:
        sets |= {name: cases(data, name) for name in ("MoCap", "HuGaDB", "ActRecTut")}
    choices: dict[str, Settings] = {"default": {}, "without shapes": {"encoder.shape_channels": 0}}
    yield ("set", *choices)
    for name, own in sets.items():
        cells = []
        for settings in choices.values():
            pairs = [(truth, stage_labels(recording, settings, np.random.default_rng(0))) for recording, truth in own]
            row, overlaps = scores_of(pairs), [Overlap.of(*pair) for pair in pairs]
            cuts = [100 * np.mean([measure(own) for own in overlaps]) for measure in (covering, change_point_f1)]
            figures = "/".join(f"{value:.1f}" for value in (*(row[score] for score in TRIPLE), *cuts))
            cells.append(f"{figures}, {row['n_clusters']:.1f}")
        yield (name, *cells)


def window_lengths(options: Options) -> Rows:
    """Four window lengths on MoCap: units, motifs, and a clock with as many pieces as the units have segments."""
    triples = ("units: ARI / AMI / one-to-one", "clock")
    yield ("window of units", *triples, "MoF", "clock", "units a recording", "motifs: ARI / AMI / one-to-one")
    own = without_rate(cases(options.data, "MoCap"))
    for window in ("120", "auto", "60", "30"):
        models = [Rondo(window=window, seed=0).fit(recording) for recording, _ in own]
        found = [(truth, model.predict(recording)) for model, (recording, truth) in zip(models, own, strict=True)]
        units, motifs = (
            scores_of([(truth, getattr(label, level)) for truth, label in found]) for level in ("units", "motifs")
        )
        low, *_, high = sorted(model.window_length_frames_ for model in models)
        title = f"{low} frames" if low == high else f"{window}, {low} to {high} frames"
        clock, mof = units["clock"], f"{units['mof']:.0f}"
        yield (
            title,
            triple(units, 0),
            triple(clock, 0),
            mof,
            f"{clock['mof']:.0f}",
            f"{units['n_clusters']:.1f}",
            triple(motifs, 0),
        )


def window_ceilings(options: Options) -> Rows:
    """True classes by window, then by frame: no method with such windows does better by a rule of projection."""
    columns = ("mof", "f1_50", "edit", "ari")
    yield ("set", "windows", "rule", *(COLUMNS[column] for column in columns))
    for name in ("MoCap", "ActRecTut"):
        length, step = PAPER[name]
        for rule in get_args(Projection):
            pairs = []
            for _, truth in cases(options.data, name):
                classes = np.unique(truth, return_inverse=True)[1]
                grid = WindowGrid(length, step, classes.size, ((0, classes.size),))
                commonest = [np.bincount(classes[start : start + length]).argmax() for start in grid.starts]
                pairs.append((truth, grid.project(np.array(commonest), rule)))
            scores = scores_of(pairs)
            yield (name, f"{length} every {step}", rule, *(f"{scores[column]:.2f}" for column in columns))


def clock(options: Options) -> Rows:
    """20 equal pieces of each MoCap recording, beside the labels of AutoPlait and TICC that the paper published."""
    stored = json.loads((Path(__file__).parents[1] / "tests/calibration/mocap_labels.json").read_text(encoding="utf-8"))

    def track(runs: Sequence[tuple[int, int]]) -> Labels:
        stops, ids = np.array(runs).T
        return np.repeat(ids, np.diff(stops, prepend=0)).astype(np.int32)

    truth = {name: track(runs) for name, runs in stored["truth"].items()}
    found = {"clock, 20 pieces": {name: clock_labels(own.size, 20) for name, own in truth.items()}}
    found |= {method: {id: track(runs) for id, runs in own.items()} for method, own in stored["predictions"].items()}
    columns = ("mof", "recall", "f1_50", "edit", "seg_ratio", *TRIPLE)
    yield ("labels", *(COLUMNS[column] for column in columns))
    for title, own in found.items():
        scores = scores_of([(truth[id], labels) for id, labels in own.items()])
        yield (title, *(f"{scores[column]:.2f}" for column in columns))


LEVEL_SETS = ("MoCap", "HuGaDB", "COMPASS_Suturing", "PTE", "Billboard", "OpenPack", "ActRecTut", "USC-HAD", "MoCap6")


def two_levels(options: Options) -> Rows:
    """What contexts add to their units: mean of the three scores against `y`, the first 12 recordings of each set.

    `flat`: one scale, windows of 1.5 s or as long as the long window. `mode filter`: the commonest unit in a long
    window around each frame. `shared units`: units that make up a tenth of two contexts or more; a coarser window
    called motif would have 0, and 1 unit per context. Held out: recordings of Billboard and USC-HAD not in view.
    """
    titles = ("flat 1.5 s", "flat, long", "units", "mode filter", "contexts")
    yield ("set", *titles, "shared units", "units per context")
    chosen, means = {name: slice(12) for name in options.sets or LEVEL_SETS}, []
    for name, part in (
        {"Billboard": slice(12, None), "USC-HAD": slice(6, None)} if options.held_out else chosen
    ).items():
        rows, shares = [], []
        for (recording, truth), seed in product(cases(options.data, name, part), range(options.seeds or 1)):
            model = Rondo(seed=seed, settings=UNTESTED).fit(recording)
            long, units = model.motif_window_frames_, np.asarray(model.predict(recording).units)
            contexts, share = contexts_of(model, recording, units)
            flat = [labels_of(Rondo(window, seed=seed, settings=FLAT), recording) for window in ("1.5s", long)]
            labels = (*flat, units, mode_filtered(units, long), contexts)
            scores = [scores_of([(truth, own)]) for own in labels]
            rows.append([np.mean([own[score] for score in TRIPLE]) for own in scores])
            shares.append(share)
        means.append(np.mean(rows, axis=0))
        shared, n_units = np.nanmean(shares, axis=0)
        title = f"{name} ({len(rows) // (options.seeds or 1)})"
        yield (title, *(f"{value:.1f}" for value in means[-1]), f"{shared:.0%}", f"{n_units:.1f}")
    yield ("**mean**", *(f"{value:.1f}" for value in np.mean(means, axis=0)))


def contexts_of(model: Rondo, recording: Recording, units: Labels) -> tuple[Labels, tuple[float, float]]:
    """Labels of contexts, units where there are none; the share of units in several, and units per context."""
    motifs = model.motif_model_
    if not isinstance(motifs, ComposedMotifs) or motifs.contexts is None:
        return units, (np.nan, np.nan)
    model.motif_model_ = motifs.showing("context")
    counts = motifs.contexts.mixes.windows
    has = counts / np.maximum(1, counts.sum(axis=1, keepdims=True)) >= 0.1
    shares = float((has.sum(axis=0) > 1).mean()), float(has.sum(axis=1).mean())
    return np.asarray(model.predict(recording).motifs), shares


def mode_filtered(labels: Labels, length: int) -> Labels:
    """The commonest label within `length` frames around each."""
    ids, frames = np.unique(labels), np.arange(labels.size)
    low, high = np.maximum(0, frames - length // 2), np.minimum(labels.size, frames + length // 2 + 1)
    summed = [np.append(0, np.cumsum(labels == id)) for id in ids]
    return ids[np.argmax([own[high] - own[low] for own in summed], axis=0)]


PEOPLE = {  # whether constants were chosen with its labels in view
    **dict.fromkeys(("USC-HAD 1-7", "MoCap6", "walk", "gestures", "OpenPack"), "development"),
    "USC-HAD 8-14": "held out",
    "USC-HAD": "half of each",
    "planted": "held out",
    "planted apart": "held out",
    **dict.fromkeys(("Suturing", "PTE", "MoCap"), "held out"),
}


def people_of(data: Path, name: str) -> list[Case]:
    if name.startswith("planted"):
        plan = StreamPlan(style=1.0 if name.endswith("apart") else 0.3)
        return [(own.recording, own.unit_truth) for own in plant_subjects(plan, 6, n_frames=30_000, seed=7)]
    if name in ("walk", "gestures"):
        return [case for case in cases(data, "ActRecTut") if name.rstrip("s") in case[0].id]
    folder, _, part = name.partition(" ")
    first, _, last = part.partition("-")
    chosen = slice(int(first) - 1, int(last)) if part else slice(None)
    return cases(data, {"Suturing": "COMPASS_Suturing"}.get(folder, folder), chosen)


def separate(people: Sequence[Case], seed: int) -> list[Labels]:
    """A vocabulary for each person, ids made different."""
    labels, first = list[Labels](), 0
    for recording, _ in people:
        own = labels_of(Rondo(seed=seed, settings=UNTESTED), recording)
        labels.append(np.where(own < 0, own, own + first))
        first += int(own.max()) + 1
    return labels


def joint(people: Sequence[Case], seed: int, places: bool) -> list[Labels]:
    model = Rondo(seed=seed, settings=UNTESTED | {"units.places": places})
    return [own.units for own in model.fit_predict([recording for recording, _ in people])]


def new_people(people: Sequence[Case], seed: int) -> list[Labels]:
    """The second half, labelled by a model of the first."""
    half = len(people) // 2
    model = Rondo(seed=seed, settings=UNTESTED).fit([recording for recording, _ in people[:half]])
    return [model.predict(recording).units for recording, _ in people[half:]]


def people(options: Options) -> Rows:
    """Units of several people: per-person ARI / pooled ARI / meaning (`rondo.metrics.meaning`), sd of meaning."""
    fits: dict[str, Callable[[Sequence[Case], int], list[Labels]]] = {
        "separate fits": separate,
        "joint, no places": partial(joint, places=False),
        "places": partial(joint, places=True),
        "new people": new_people,
    }
    yield ("people", "", *fits)
    for name in options.sets or list(PEOPLE)[:-3]:
        own, cells = people_of(options.data, name), list[str]()
        for title, fit in fits.items():
            seen = own[len(own) // 2 :] if title == "new people" else own
            if title == "new people" and len(own) < 4:
                continue
            rows, truth = [], {recording.id: classes for recording, classes in seen}
            for seed in range(options.seeds or 3):
                scores = shared_scores(truth, dict(zip(truth, fit(own, seed), strict=True)))
                rows.append([scores.per_person_ari, scores.pooled_ari, scores.meaning])
            n = 2 if title == "separate fits" else 3  # separate fits share no ids
            cell = " / ".join(f"{value:.0f}" for value in np.mean(rows, axis=0)[:n])
            cells.append(cell if n == 2 or len(rows) == 1 else f"{cell} ({np.std(rows, axis=0)[2]:.0f})")
        yield (f"{name} ({len(own)})", PEOPLE[name], *cells)


def classifier(options: Options) -> Rows:
    """Windows that a linear classifier trained on the labels of the other people calls right: what labels could do."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    yield ("people", "windows classified correctly")
    for name in options.sets or ("USC-HAD", "MoCap6", "walk", "gestures", "OpenPack"):
        own, rows, classes, right = people_of(options.data, name), [], [], []
        model = Rondo(seed=0, settings=UNTESTED).fit([recording for recording, _ in own])
        for recording, truth in own:
            windows = model._windows_of(recording)[1]
            points = model.unit_model_.encoder.encode(windows).astype(np.float64)
            rows.append((points - points.mean(axis=0)) / (points.std(axis=0) + 1e-6))
            middles = windows.grid.starts + windows.grid.length_frames // 2
            classes.append(truth[np.minimum(middles, truth.size - 1)])
        for i in range(len(own)):
            x, y = (np.concatenate(part[:i] + part[i + 1 :]) for part in (rows, classes))
            fitted = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.1).fit(x, y)
            right.append((fitted.predict(rows[i]) == classes[i]).mean())
        yield (name, f"{100 * np.mean(right):.0f} %")


KNOWN = {"OpenPack": ((90, 30), ("",)), "ActRecTut": ((90, 30), ("walk", "gesture")), "USC-HAD": ((200, 100), ("",))}


def transfer(options: Options) -> Rows:
    """Units of one recording read on another, as they are and adapted; all ordered pairs of a set.

    `meaning`: every unit is called what it mostly is in the source; target frames called right, in percent: kept,
    adapted, and fitted on the target. Planted: the second half is read after its sensor was turned, three seeds.
    `together` is one fit of all recordings. --set NAME=VALUE changes settings.
    """
    yield ("from -> to", "units kept", "adapted", "clock", "fitted on the target", "meaning", '"does it fit?"')
    settings = UNTESTED | dict(parse_override(text) for text in options.set)
    wanted = options.sets or ["planted", "OpenPack", "ActRecTut"]
    if "planted" in wanted:
        yield from turned_sensors(settings)
    for name in (name for name in wanted if name != "planted"):
        window, kinds = KNOWN[name]
        make = partial(Rondo, *window, settings=settings, seed=0)
        for kind in kinds:
            own = [(r, truth.astype(int) + 1) for r, truth in without_rate(cases(options.data, name)) if kind in r.id]
            models, rows = [make().fit(recording) for recording, _ in own], []
            for i, j in permutations(range(len(own)), 2):
                rows.append((f"{name} {own[i][0].id} -> {own[j][0].id}", *pair(own[i], own[j], models[i], models[j])))
            if len(rows) <= 6:
                yield from (transfer_cells(*row) for row in rows)
            title = f"{name} {kind}".strip() + f", {len(rows)} pairs"
            yield transfer_cells(title, mean_columns([row[1] for row in rows]), f"together: {together(own, make())}")


def turned_sensors(settings: Settings) -> Rows:
    """Two triples of channels turned about the third axis of each."""
    streams = [plant(n_frames=24_000, seed=seed) for seed in (5, 6, 7)]
    first = [(Recording(own.recording.values[:12_000], 50), own.unit_truth[:12_000] + 1) for own in streams]
    models = [Rondo(settings=settings, seed=0).fit(recording) for recording, _ in first]
    for degrees in (0, 20, 40, 60, 90, 180):
        sine, cosine = np.sin(np.radians(degrees)), np.cos(np.radians(degrees))
        axes = np.kron(np.eye(2), np.array([[cosine, sine, 0], [-sine, cosine, 0], [0, 0, 1]]))
        rows = []
        for source, stream, model in zip(first, streams, models, strict=True):
            other = Recording((stream.recording.values[12_000:] @ axes).astype(np.float32), 50)
            target = other, stream.unit_truth[12_000:] + 1
            rows.append(pair(source, target, model, Rondo(settings=settings, seed=0).fit(other))[0])
        yield transfer_cells(f"planted, the sensor turned by {degrees}°", mean_columns(rows), "")


def called_right(truth: Labels, labels: Labels, target_truth: Labels, target_labels: Labels) -> float:
    """Share of target frames, in percent, that are what their unit mostly is in the source."""
    called = {unit: np.bincount(truth[labels == unit]).argmax() for unit in np.unique(labels)}
    right = [called.get(unit) == true for unit, true in zip(target_labels, target_truth, strict=True)]
    return 100 * float(np.mean(right))


def pair(source: Case, target: Case, fitted: Rondo, own: Rondo) -> tuple[dict[str, list[float]], str]:
    """The numbers of one pair by column, and what the model says about the fit."""
    (learned, learned_truth), (other, truth) = source, target
    as_fitted, itself, known = fitted.predict(other), own.predict(other), fitted.predict(learned).units
    moved = copy(fitted).adapt(other).predict(other)
    scores = [scores_of([(truth, found.units)]) for found in (as_fitted, moved, itself)]
    columns = {
        name: [row[score] for score in TRIPLE] for name, row in zip(("kept", "adapted", "own"), scores, strict=True)
    }
    columns["clock"] = [scores[0]["clock"][score] for score in TRIPLE]
    columns["meaning"] = [called_right(learned_truth, known, truth, found.units) for found in (as_fitted, moved)]
    columns["meaning"].append(called_right(truth, itself.units, truth, itself.units))
    profile = FitProfile.from_json(fitted.provenance_["fit_profile"], Path(learned.id))
    found = as_fitted[0]
    return columns, f"{fit_of(found.fit_profile, profile)}, {100 * found.share_accepted:.0f} % accepted"


def together(own: Sequence[Case], model: Rondo) -> str:
    """All recordings fitted as one: scores of each, and units called what they mostly are in the others."""
    labels = [found.units for found in model.fit_predict([recording for recording, _ in own])]
    truths = [truth for _, truth in own]
    rows = [scores_of([pair]) for pair in zip(truths, labels, strict=True)]
    meaning = []
    for i, truth in enumerate(truths):
        classes, units = (np.concatenate([part[j] for j in range(len(own)) if j != i]) for part in (truths, labels))
        meaning.append(called_right(classes, units, truth, labels[i]))
    means = {score: np.mean([row[score] for row in rows]) for score in TRIPLE}
    return f"{len(model.unit_model_.ids)} units, {triple(means)}, meaning {np.mean(meaning):.1f}"


def mean_columns(rows: Sequence[dict[str, list[float]]]) -> dict[str, list[float]]:
    return {name: np.mean([columns[name] for columns in rows], axis=0).tolist() for name in rows[0]}


def transfer_cells(title: str, columns: dict[str, list[float]], fit: str) -> tuple[str, ...]:
    scores = (" / ".join(f"{value:.1f}" for value in columns[name]) for name in ("kept", "adapted", "clock", "own"))
    return (title, *scores, ", ".join(f"{value:.0f}" for value in columns["meaning"]), fit)


FAULTS, ANSWERS = ("130 s", "half", "fifth", "throughout"), ("fill", "cut", "drop")


def dropouts(options: Options) -> Rows:
    """Channels that fall silent; cells: scores against the annotation, then ARI with the units found without the fault.

    `130 s`: one channel in the middle. `half`: a sensor of three channels for the second half. `fifth`: two thirds of
    the channels for a fifth of the recording. `throughout`: one channel in one of two recordings fitted together.
    `fill` and `cut` are values of `preprocess.dropouts`; `drop` leaves the channels out. Two recordings of each set.
    """
    yield ("set", "fault", "without it", *ANSWERS)
    for name in options.sets or ("OpenPack", "USC-HAD", "PTE", "HuGaDB", "planted"):
        if name == "planted":
            streams = plant_subjects(StreamPlan(), 2, n_frames=30_000, seed=60)
            own = [(stream.recording, stream.unit_truth) for stream in streams]
        else:
            own = [
                (Recording(recording.values[:60_000], recording.rate, id=recording.id), truth[:60_000])
                for recording, truth in cases(options.data, name, slice(2))
            ]
        for fault in FAULTS if len(own) > 1 else FAULTS[:-1]:
            yield (name, fault, *dropout_cells(own, fault))


def dropout_cells(own: Sequence[Case], fault: str) -> Iterator[str]:
    """The cells of one fault: without it, then by each answer; the fault is planted at two places."""
    scored: dict[str, list[tuple[Labels, Labels, Labels]]] = {name: [] for name in ("clean", *ANSWERS)}
    for group in [list(own)] if fault == "throughout" else [[case] for case in own]:
        recordings, truth = [recording for recording, _ in group], group[-1][1]
        clean = answered(recordings, {})
        assert clean is not None
        scored["clean"].append((truth, clean, clean))
        names = recordings[0].channels
        for silent in silent_channels(fault, len(names)):
            holed = [*recordings[:-1], with_fault(recordings[-1], fault, silent)]
            others = {"preprocess.channels": tuple(name for c, name in enumerate(names) if c not in silent)}
            for answer in ANSWERS:
                units = answered(holed, others if answer == "drop" else {"preprocess.dropouts": answer})
                if units is not None:
                    scored[answer].append((truth, units, clean))
    for rows in scored.values():
        if rows:
            against = scores_of([(truth, units) for truth, units, _ in rows])
            yield f"{triple(against)}, {scores_of([(clean, units) for _, units, clean in rows])['ari']:.0f}"
        else:
            yield "refused"


def silent_channels(fault: str, n_channels: int) -> list[list[int]]:
    """The channels of the first and of the last sensor."""
    n_silent = {"half": 3, "fifth": 2 * n_channels // 3}.get(fault, 1)
    last = n_channels - n_silent if fault == "fifth" else 3 * (n_channels // 3 - 1)
    return [list(range(start, start + n_silent)) for start in (0, last)]


def with_fault(recording: Recording, fault: str, channels: Sequence[int]) -> Recording:
    n, values = recording.n_frames, recording.values.copy()
    half, fifth = round(65 * (recording.rate or 1)), n // 10
    spans = {"130 s": (n // 2 - half, n // 2 + half), "half": (n // 2, n), "fifth": (n // 2 - fifth, n // 2 + fifth)}
    start, stop = spans.get(fault, (0, n))
    values[max(0, start) : stop, channels] = np.nan
    return Recording(values, recording.rate, recording.channels, recording.id)


def answered(recordings: Sequence[Recording], settings: Settings) -> Labels | None:
    """Units of the last recording; None where Rondo refuses them."""
    try:
        found = Rondo(seed=0, settings=UNTESTED | settings).fit_predict(list(recordings))
    except RecordingError:
        return None
    return np.asarray(found[-1].units)


STUDIES: dict[str, Callable[[Options], Rows]] = {
    own.__name__.replace("_", "-"): own
    for own in (
        *(unit_settings, few_channels, window_lengths, window_ceilings, clock),
        *(two_levels, people, classifier, transfer, dropouts),
        *stream_studies.STUDIES,
        *choice_studies.STUDIES,
        *teaching_studies.STUDIES,
        *finding_studies.STUDIES,
        *scale_studies.STUDIES,
    )
}
SECTIONS = (*STUDIES, *(f"{name}-held-out" for name in ("unit-settings", "two-levels", "find", "scales")))
SECTIONS += ("people-other-sets", "transfer-usc-had")


def section_of(options: Options) -> str:
    if options.study == "people" and options.sets and set(options.sets) <= set(list(PEOPLE)[-3:]):
        return "people-other-sets"
    if options.study == "transfer" and options.sets == ["USC-HAD"]:
        return "transfer-usc-had"
    return options.study + ("-held-out" if options.held_out else "")


def parsed(arguments: Sequence[str] | None = None) -> Options:
    about = "\n".join(f"    {name:18} {(own.__doc__ or '').splitlines()[0]}" for name, own in STUDIES.items())
    parser = argparse.ArgumentParser(
        description=f"{__doc__}\nStudies:\n{about}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("study", choices=STUDIES, metavar="NAME")
    parser.add_argument("data", type=Path, nargs="?", default=Path())
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--held-out", action="store_true", help="recordings that had no part in choosing settings")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="transfer: settings")
    return parse(parser, __file__, arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    warnings.simplefilter("ignore")
    rows = STUDIES[options.study](options)
    table = Table(*map(str, next(rows)))
    for cells in rows:
        table.add(*cells)
    write_section(options, section_of(options), table)


if __name__ == "__main__":
    main()
