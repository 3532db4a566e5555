"""Studies of streams, run by studies.py: agreement with `label`, forgetting, growth, promotions, novelty."""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo import Recording, Rondo
from rondo.config.overrides import changes_from
from rondo.config.settings import resolve
from rondo.continual import updater
from rondo.continual.contexts import reader_of
from rondo.continual.updater import Updater
from rondo.data.labels import OTHER, runs_of
from rondo.files.read import read_recording
from rondo.metrics import evaluate
from rondo.metrics.overlap import Overlap, class_of_cluster
from rondo.metrics.segmental import recall_of_classes
from rondo.motifs.composed import ComposedMotifs
from rondo.synthetic import StreamPlan, plant
from rondo.synthetic.plan import Novelty
from rondo.units.viterbi import centre_distances
from rondo_bench.experiments.inputs import PLANTED, PLANTED_FRAMES, PLANTED_PLAN, read_some, recording_ids, rondo_for
from rondo_bench.experiments.protocols import follow
from rondo_bench.experiments.spec import read_data_sets, read_experiment
from rondo_bench.experiments.summary import title_of
from rondo_bench.metrics.published import INITIAL_PERCENT

Labels = NDArray[np.integer]
Options = argparse.Namespace
Rows = Iterator[tuple[object, ...]]
QUICK: dict[str, Any] = {"evidence.surrogates": 0}
NEW = {"unit": (8, 9), "motif": (5, 6)}  # of planted streams: those that appear later
CHUNK = 50


def part(recording: Recording, start: int, stop: int | None = None) -> Recording:
    return Recording(recording.values[start:stop], recording.rate, recording.channels, recording.id)


def in_scale_of_stream(model: Rondo, recording: Recording) -> Labels:
    """The units of `label`, scaled by the model as a stream is."""
    own = model.preprocessor_
    model.preprocessor_ = replace(own, config=own.config.model_copy(update={"statistics": "dataset"}))
    units = np.asarray(model.predict(recording).units)
    model.preprocessor_ = own
    return units


def stream_vs_label(options: Options) -> Rows:
    """Rows of a stream that get the unit that `label` gives them, in percent, frozen and learning.

    `same scale`: against labels scaled by the model, where `label` scales a recording by its own statistics. `behind`:
    windows from the end of its frames to a decision of the frozen stream, fed in chunks of 50 rows.
    """
    kinds = [f"{kind}{scale}" for kind in ("frozen", "learning") for scale in ("", ", same scale")]
    yield ("recording", "fitted on", "read", *kinds, "behind")
    files = ["ActRecTut/subject1_walk", "OpenPack/U0102-S0500", "OpenPack/U0209-S0500", "USC-HAD/subject01"]
    for name in options.sets or [*files, "MoCap/amc_86_01"]:
        whole = read_recording(options.data / f"{name}.npz")
        half = whole.n_frames // 2
        yield (name, "all", "all", *agreement(Rondo(settings=QUICK).fit(whole), whole))
        model = Rondo(settings=QUICK).fit(part(whole, 0, half))
        yield ("", "first half", "all", *agreement(model, whole))
        yield ("", "first half", "second half", *agreement(model, part(whole, half)))
    fitted, other = (read_recording(options.data / f"{name}.npz") for name in files[1:3])
    yield (files[2], f"{files[1]}, another person", "all", *agreement(Rondo(settings=QUICK).fit(fitted), other))


def agreement(model: Rondo, recording: Recording) -> list[str]:
    labelled, alike = np.asarray(model.predict(recording).units), in_scale_of_stream(model, recording)
    read, behind = streamed(model, recording, frozen=True)
    of_streams = (read, streamed(model, recording, frozen=False)[0])
    cells = [f"{100 * np.mean(units == own):.1f}" for units in of_streams for own in (labelled, alike)]
    return [*cells, f"{behind / model.step_frames_:.0f}"]


def streamed(model: Rondo, recording: Recording, frozen: bool) -> tuple[Labels, float]:
    """The units of a stream, and how many frames on average a decision came after those that it labels."""
    stream, units, behind = model.stream(frozen=frozen), np.full(recording.n_frames, OTHER, np.int32), list[int]()
    for start in range(0, recording.n_frames + CHUNK, CHUNK):
        ends = start >= recording.n_frames
        report = stream.finish() if ends else stream.feed(recording.values[start : start + CHUNK])
        for own in report.decisions:
            units[own.start_frame : own.stop_frame] = own.unit
            if not ends:
                behind.append(start + CHUNK - own.stop_frame)
    return units, float(np.mean(behind))


def new_people(options: Options) -> Rows:
    """ARI of `label` and of streams on new people: of the units / of each unit read as its class in the fit.

    DATA/Exermote holds `... Individual N.csv` of github.com/Lausbert/Exermote, 5 minutes in a gym each, at 10 Hz.
    Three sessions of people 1 and 2 are fitted, three of each of people 3 to 6 are read.
    """
    yield ("channels", "`label`", "frozen", "learning")
    paths = [sorted(options.data.glob(f"Exermote/*Individual?{person}.csv"))[:3] for person in range(1, 7)]
    for motion_only in (True, False):
        fitted, new = ([session(path, motion_only) for own in some for path in own] for some in (paths[:2], paths[2:]))
        model = Rondo(settings=QUICK).fit([recording for recording, _ in fitted])
        counts: dict[int, Counter[str]] = {}
        for recording, truth in fitted:
            for unit, name in zip(model.predict(recording).units, truth, strict=True):
                counts.setdefault(int(unit), Counter())[name] += 1
        names = {unit: own.most_common(1)[0][0] for unit, own in counts.items()}
        scores = [scores_of_readers(model, names, recording, truth) for recording, truth in new]
        cells = (f"{found:.1f} / {named:.1f}" for found, named in np.mean(scores, axis=0))
        yield (f"{fitted[0][0].values.shape[1]}{', of motion' if motion_only else ''}", *cells)


def scores_of_readers(
    model: Rondo, names: Mapping[int, str], recording: Recording, truth: Sequence[str]
) -> list[list[float]]:
    """Of `label`, of a frozen stream and of one that learns: ARI of units, and of what they are called."""
    read = [np.asarray(model.predict(recording).units)]
    read += [streamed(model, recording, frozen)[0] for frozen in (True, False)]
    called = [[names.get(unit, f"unit {unit}") for unit in units.tolist()] for units in read]
    return [[evaluate({"": (truth, own)}).average.ari for own in pair] for pair in zip(read, called, strict=True)]


def session(path: Path, motion_only: bool) -> tuple[Recording, list[str]]:
    """A file of Exermote: its numbers, without who it was, and what was done in each row."""
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    wanted = [i for i, name in enumerate(head) if not motion_only or name.endswith("Acceleration") or "Device:" in name]
    texts = ("nearableID", "timeStamp", "exercise", "individual")
    wanted = [i for i in wanted if not any(text in head[i] for text in texts)]
    values = np.array([[float(row[i] or "nan") for i in wanted] for row in rows])
    return Recording(values, 10.0, id=path.stem), [row[head.index("exerciseType")] for row in rows]


def forgetting(options: Options) -> Rows:
    """M_f of `rondo bench run continual` with and without the null class, and the stream beside `label`.

    M_f is the fall of the recall of classes seen in the first 20 %. `label` is the same model on the whole recording in
    the scale of the stream; its first 20 % are those of the fit.
    """
    yield ("set", "M_f", "without null", "ARI, stream", "ARI, `label`")
    for name in options.sets or ("actrectut", "openpack", "usc_had", "planted"):
        of_set, rows = read_data_sets()[name], []
        config = rondo_for(read_experiment("continual").methods["rondo"], name, of_set, "continual")
        changes = changes_from(resolve(), config)
        streams = read_some(name, options.data, recording_ids(name, options.data), of_set)
        for recording in streams.recordings:
            truth, model = streams.annotations[recording.id].classes, Rondo(settings=changes)
            labels, n_first = follow(model, recording, "unit").labels, recording.n_frames * INITIAL_PERCENT // 100
            first = np.asarray(model.predict(part(recording, 0, n_first)).units)
            whole = np.concatenate([first, in_scale_of_stream(model, recording)[n_first:]])
            scores = [evaluate({"": (truth, own)}).average.ari for own in (labels, whole)]
            rows.append([*falls(truth, labels), *scores])
        title = f"{title_of(name, read_data_sets())} ({len(rows)})"
        yield (title, *(f"{value:.1f}" for value in np.mean(rows, axis=0)))


def falls(truth: Labels, labels: Labels) -> tuple[float, float]:
    """M_f of all old classes, and of all but class 0."""
    overlap = Overlap.of(truth, labels, "")
    mapping = class_of_cluster(overlap)
    before = recall_of_classes(overlap.prefix(truth.size * INITIAL_PERCENT // 100), mapping)
    fall = 100 * (before - recall_of_classes(overlap, mapping)[: before.size])
    old = list(dict.fromkeys(runs_of(truth).ids.tolist()))[: before.size]
    return float(fall.mean()), float(np.mean([own for own, name in zip(fall, old, strict=True) if name != 0]))


def growing_contexts(options: Options) -> Rows:
    """Contexts that grow in a stream against contexts as fitted: ARI / AMI of motifs, and promotions.

    Planted: 33 minutes, a fit on the first 35 %; at 40 % a new context comes, with two new units, with none, or not at
    all. Real: a fit on the first half, the second half as a stream. Means over streams in which the fit finds contexts;
    `right` are promoted contexts that stand for the new one, `false` the others.
    """
    yield ("streams", "contexts as fitted: ARI / AMI", "growing: ARI / AMI", "promoted: right", "false")
    planted = {
        "a new context with two new units": (Novelty(at=0.4, n_units=2),),
        "a new context of known units": (Novelty(at=0.4, n_units=0),),
        "no new context": (),
    }
    streams: dict[str, list[tuple[Recording, Labels, int]]] = {}
    for kind, novelty in planted.items():
        plan = StreamPlan(motifs="contexts", novelty=novelty)
        own = [plant(plan, n_frames=100_000, seed=seed) for seed in range(options.seeds or 6)]
        streams[f"planted, {kind}"] = [(stream.recording, stream.motif_truth, 35_000) for stream in own]
    for name, most in {"PTE": 8, "Billboard": 12, "OpenPack": 2}.items():
        if name in (options.sets or (name,)):
            paths = sorted((options.data / name).glob("*.npz"))[:most]
            streams[f"{name}, second half"] = [half_of(path) for path in paths]
    for name, own in streams.items():
        found = [one for one in (grown(*stream) for stream in own) if one is not None]
        scores = np.mean([one[0] for one in found], axis=0)
        cells = [f"{ari:.1f} / {ami:.1f}" for ari, ami in (scores[:2], scores[2:])]
        yield (f"{name} ({len(found)})", *cells, *(sum(one[i] for one in found) for i in (1, 2)))


def half_of(path: Path) -> tuple[Recording, Labels, int]:
    recording = read_recording(path)
    return recording, np.load(path)["y"].astype(np.int64), recording.n_frames // 2


def grown(recording: Recording, truth: Labels, n_fitted: int) -> tuple[list[float], int, int] | None:
    """ARI and AMI as fitted, then growing; promoted contexts, right and false. None without contexts."""
    model = Rondo(settings=QUICK).fit(part(recording, 0, n_fitted))
    motifs, rest, scores = model.motif_model_, truth[n_fitted:], list[float]()
    if not isinstance(motifs, ComposedMotifs) or motifs.contexts is None:
        return None
    model.motif_model_ = motifs.showing("context")
    for learns in (False, True):
        updater.reader_of = reader_of if learns else lambda *known: reader_of(*known, learns=False)  # type: ignore[assignment]
        stream, labels = model.stream(), np.full(rest.size, OTHER)
        reports = [stream.feed(recording.values[n_fitted:]), stream.finish()]
        for decision in (decision for report in reports for decision in report.decisions):
            labels[decision.start_frame : decision.stop_frame] = decision.motif
        average = evaluate({"": (rest, labels)}).average
        scores += [average.ari, average.ami]
    events = [
        event for report in reports for event in report.events if (event.level, event.kind) == ("motif", "promote")
    ]
    known, right = set(truth[:n_fitted].tolist()), 0
    for event in events:
        classes = Counter(rest[labels == event.ids[0]].tolist()).most_common(1)
        right += bool(classes) and classes[0][0] not in known
    return scores, right, len(events) - right


def promotions(options: Options) -> Rows:
    """New units and motifs of 8 planted streams: found, false, and how often a new one had come when promoted."""
    yield ("new", "promoted", "found", "false", "visits before")
    for name in options.sets or PLANTED:
        of_set = read_data_sets()[name]
        level, counts, delays = of_set.level or "unit", np.zeros(4, int), list[int]()
        streams = read_some(name, None, recording_ids(name, None), of_set)
        for recording in streams.recordings:
            classes = streams.annotations[recording.id].classes
            offset = classes.size * INITIAL_PERCENT // 100 - int(of_set.window)
            followed, new = follow(Rondo(of_set.window, of_set.step, settings=QUICK), recording, level), set[int]()
            for event in (own for own in followed.events if (own.kind, own.level) == ("promote", level)):
                counts[0] += 1
                own = classes[followed.labels == event.ids[0]]
                stands_for = int(np.bincount(own + 1).argmax()) - 1 if own.size else None
                if stands_for in NEW[level]:
                    new.add(stands_for)
                    before = classes[: event.frame + offset] == stands_for
                    delays.append(int((before[1:] & ~before[:-1]).sum()))
                else:
                    counts[2] += own.size > 0
            counts[1] += len(new)
            counts[3] += 2
        yield (f"{level}s", counts[0], f"{counts[1]} of {counts[3]}", counts[2], f"{np.mean(delays or [np.nan]):.1f}")


def novelty_gates(options: Options) -> Rows:
    """Windows accepted as known: by the radius of units in the latent space, as in the paper, and by exemplars.

    A model is fitted on the first fifth of planted streams in which two units appear at 40 % and 60 %. Shares of later
    windows that hold one known unit (all should be accepted), and one new unit (none should be).
    """
    yield ("seed", *(f"{kind}, by {gate}" for kind in ("known", "new") for gate in ("latents", "exemplars")))
    length, step = 75, 18
    for seed in range(20, 28):
        stream = plant(PLANTED_PLAN, n_frames=PLANTED_FRAMES, seed=seed)
        recording, truth = stream.recording, stream.unit_truth
        n_first = recording.n_frames * INITIAL_PERCENT // 100
        model = Rondo(length, step, settings=QUICK | {"preprocess.statistics": "dataset"}).fit(
            part(recording, 0, n_first)
        )
        windows, units = model._windows_of(recording)[1], model.unit_model_
        points, vocabulary = units.encoder.encode(windows), units.vocabulary
        ratios = centre_distances(units.projection.apply(points), vocabulary.centres) / vocabulary.radii
        gate = Updater(units, model.motif_model_, model.config_.continual, (length, step), aligned=True)
        nearest = np.array([gate.units.distances(point).min() for point in points.astype(np.float64)])
        starts, classes = windows.grid.starts, truth[windows.grid.starts + length // 2]
        pure = [(truth[start : start + length] == own).mean() > 0.9 for start, own in zip(starts, classes, strict=True)]
        counted, new = np.array(pure) & (starts >= n_first) & (classes >= 0), np.isin(classes, NEW["unit"])
        accepted = ratios.min(axis=1) <= 1, nearest <= gate.buffer.scales.reach
        shares = [own[counted & kind].mean() for kind in (~new, new) for own in accepted]
        yield (seed, *(f"{100 * share:.0f} %" for share in shares))


STUDIES = (stream_vs_label, new_people, forgetting, growing_contexts, promotions, novelty_gates)
