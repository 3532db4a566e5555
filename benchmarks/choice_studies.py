"""Studies of own and typical statistics (rondo.data.own_scaling), run by studies.py: recall, streams and `label`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo import Recording, Rondo
from rondo.data import own_scaling
from rondo.files.read import read_recording
from rondo.model.label import label_one

Labels = NDArray[np.integer]
Options = argparse.Namespace
Rows = Iterator[tuple[object, ...]]
QUICK: dict[str, Any] = {"evidence.surrogates": 0}
FITTED, NEW = 3, 2  # recordings of a set that a model is fitted on, and that it has not seen
SETS = ("MoCap6", "USC-HAD", "PTE", "MoCap", "OpenPack", "ActRecTut")
OTHERS = {"MoCap6": 3, "USC-HAD": 3}  # the first recording of another person
RULES = ("own", "typical", "chosen")
GAINS = (0.5, 2.0)  # of the first and the last channel, with those of the others between


class Annotated(NamedTuple):
    recording: Recording
    classes: Labels


def read(path: Path) -> Annotated:
    return Annotated(read_recording(path), np.load(path)["y"].astype(np.int64))


def split(options: Options, name: str) -> tuple[list[Annotated], list[Annotated]]:
    """Recordings to fit on, and others."""
    paths = sorted((options.data / name).glob("*.npz"))
    n = min(FITTED, len(paths) // 2)
    return [read(path) for path in paths[:n]], [read(path) for path in paths[max(n, OTHERS.get(name, 0)) :][:NEW]]


def one_activity_each(given: Annotated, least: int) -> Iterator[Annotated]:
    """The rows of each class as a recording."""
    for kind in np.unique(given.classes):
        rows = given.classes == kind
        if rows.sum() >= least:
            own = given.recording
            alone = Recording(own.values[rows], own.rate, own.channels, f"{own.id}-{kind}")
            yield Annotated(alone, given.classes[rows])


def with_gain(given: Annotated) -> Annotated:
    """As another sensor would have measured it."""
    own, gains = given.recording, np.linspace(*GAINS, given.recording.values.shape[1])
    return Annotated(Recording(own.values * gains + gains, own.rate, own.channels, own.id), given.classes)


def units_by(rule: str, model: Rondo, recording: Recording) -> Labels:
    """The units of `label` under a rule: own or typical statistics for all recordings, or as it chooses."""
    least, own_scaling._LEAST = own_scaling._LEAST, np.inf if rule == "typical" else own_scaling._LEAST
    units = label_one(model, recording, was_fitted=rule == "own").units
    own_scaling._LEAST = least
    return np.asarray(units)


def recall(known: dict[int, int], units: Labels, classes: Labels) -> dict[int, float]:
    """Of each class, the share of its rows in units that stand for it."""
    read_as = np.array([known.get(int(unit), -1) for unit in units])
    return {int(kind): float(np.mean(read_as[classes == kind] == kind)) for kind in np.unique(classes)}


def own_or_typical(options: Options) -> Rows:
    """Class recall of `label` with own statistics, typical ones, and as it chooses.

    A unit stands for the class that it mostly is in the fitted recordings. *One activity*: the rows of each class as a
    recording; *gain*: channels multiplied by 0.5 to 2 and shifted. Constants were chosen on MoCap6, USC-HAD and PTE.
    """
    yield ("set", "recordings", *(f"{rule}" for rule in RULES))
    for name in options.sets or SETS:
        fitted, new = split(options, name)
        model = Rondo(settings=QUICK)
        result = model.fit_predict([own.recording for own in fitted])
        units = np.concatenate([own.units for own in result])
        classes = np.concatenate([own.classes for own in fitted])
        known = {int(k): int(np.bincount(classes[units == k] + 1).argmax()) - 1 for k in np.unique(units)}
        least = 2 * model.window_length_frames_
        kinds = {
            "fitted": fitted,
            "fitted, one activity": [one for own in fitted for one in one_activity_each(own, least)],
            "new": new,
            "new, gain": [with_gain(own) for own in new],
            "new, one activity": [one for own in new for one in one_activity_each(own, least)],
        }
        for kind, given in kinds.items():
            cells = []
            for rule in RULES:
                found: dict[int, list[float]] = {}
                for own in given:
                    for one, share in recall(known, units_by(rule, model, own.recording), own.classes).items():
                        found.setdefault(one, []).append(share)
                cells.append(f"{100 * np.mean([np.mean(shares) for shares in found.values()]):.1f}")
            yield (name, f"{kind} ({len(given)})", *cells)


def stream_at_row(options: Options) -> Rows:
    """Rows of a stream that have the unit that `label` gives them from the rows so far, in percent.

    A row is compared with `label` of the first k rows, where k is the last look of the stream (`StreamScaling`) before
    the unit of the row was decided. *Label itself*: rows that two such labellings, at one look and the next, agree on;
    *at the end*: rows that have the unit that `label` gives them from the whole recording.
    """
    yield ("set", "recording", "frozen", "learning", "label itself", "frozen, at the end", "statistics")
    for name in options.sets or SETS:
        fitted, new = split(options, name)
        model = Rondo(settings=QUICK).fit([own.recording for own in fitted])
        for kind, given in {"fitted": fitted[:1], "new": new}.items():
            for own in given:
                yield (name, f"{own.recording.id}, {kind}", *at_row(model, own.recording))


def at_row(model: Rondo, recording: Recording) -> list[str]:
    values, (length, step) = recording.values, (model.window_length_frames_, model.step_frames_)
    looks, look = list[int](), 20 * length
    while look < len(values):
        looks.append(look)
        look = round(1.1 * look)
    so_far = {
        n: np.asarray(model.predict(Recording(values[:n], recording.rate, recording.channels)).units)
        for n in (*looks, len(values))
    }
    cells, at_end, chosen = list[str](), "", ""
    for frozen in (True, False):
        stream = model.stream(frozen=frozen)
        reports = [stream.feed(values), stream.finish()]
        lag = model.config_.continual.lag if frozen else -(-length // step)
        units, expected = np.full(len(values), -2), so_far[len(values)].copy()
        for decision in (decision for report in reports for decision in report.decisions):
            rows = np.arange(decision.start_frame, decision.stop_frame)
            units[rows] = decision.unit
            decided = decision.window * step + length + lag * step
            k = max((look for look in looks if look <= decided), default=min(so_far))
            expected[rows[rows < k]] = so_far[k][rows[rows < k]]
        cells.append(f"{100 * np.mean(units == expected):.1f}")
        if frozen:
            at_end = f"{100 * np.mean(units == so_far[len(values)]):.1f}"
            events = [event for report in reports for event in report.events if event.kind == "scaling"]
            chosen = ", ".join(f"{event.evidence['statistics']} from row {event.frame}" for event in events)
    pairs = zip(looks, [*looks[1:], len(values)], strict=True) if looks else ()
    alike = np.concatenate([[True], *(so_far[n] == so_far[after][:n] for n, after in pairs)])
    return [*cells, f"{100 * np.mean(alike):.1f}", at_end, chosen or "model"]


STUDIES = (own_or_typical, stream_at_row)
