"""Studies of the scale at which a recording is read (data.window_lengths, model.attempts), run by studies.py."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sources import gestures

from rondo import Recording, Rondo
from rondo.config.settings import resolve
from rondo.data.agreement import agreement
from rondo.data.scaling import Preprocessor
from rondo.data.signal import FEWEST_FRAMES
from rondo.data.windows import FEW_CHANNELS
from rondo.metrics import evaluate

Labels = NDArray[np.integer]
Case = tuple[Recording, Labels]
Options = argparse.Namespace
Rows = Iterator[tuple[object, ...]]
TRIPLE = ("ari", "ami", "one_to_one")
MOST_RECORDINGS = 6  # of a set
SUGGESTED: dict[str, Any] = {"settings": {"windows.scales": 1}}
BETWEEN_RESTS: dict[str, dict[str, Any]] = {
    "a cycle of 5 movements": {"n_gestures": 1, "n_movements": 5},
    "a cycle of 3": {"n_gestures": 1, "n_movements": 3},
    "a cycle of 7": {"n_gestures": 1, "n_movements": 7},
    "a cycle of 5, noise 0.3": {"n_gestures": 1, "n_movements": 5, "noise": 0.3},
    "a cycle of 5, short rests": {"n_gestures": 1, "n_movements": 5, "rest_s": (1.0, 1.5)},
    "3 gestures of 3 movements": {"n_gestures": 3, "n_movements": 3},
    "3 gestures of 4": {"n_gestures": 3, "n_movements": 4},
    "3 gestures of 4, noise 0.3": {"n_gestures": 3, "n_movements": 4, "noise": 0.3},
    "3 gestures of 4, 12 channels": {"n_gestures": 3, "n_movements": 4, "n_channels": 12},
    "5 gestures of 3": {"n_gestures": 5, "n_movements": 3},
}


def scales(options: Options) -> Rows:
    """Motifs with windows in seconds as 0.2.0 had them, with the suggested ones, and with the best agreed of 4.

    Every folder of DATA is a set; at most 6 recordings of each are read. Cells are means of ARI, AMI and one-to-one
    over recordings; *sd*: the standard deviation over seeds of the mean of a set, compared scales. `rate` in the
    recording counts where there is no meta.json.
    """
    yield ("set", "recordings", "seconds", "suggested", "compared", "sd", "unit window, frames: seconds", "compared")
    totals = []
    for folder in sorted(path for path in options.data.iterdir() if any(path.glob("*.npz"))):
        if options.sets and folder.name not in options.sets:
            continue
        paths = sorted(folder.glob("*.npz"))[:MOST_RECORDINGS]
        own = [[_by_rule(read_annotated(path), seed) for path in paths] for seed in range(options.seeds or 1)]
        found = np.array(own)  # (seeds, recordings, rules, score and window)
        scores, frames = found[..., 0].mean(axis=(0, 1)), np.median(found[..., 1], axis=(0, 1))
        spread = found[:, :, 2, 0].mean(axis=1).std()
        totals.append(scores)
        yield (folder.name, len(paths), *(f"{score:.1f}" for score in scores), f"{spread:.1f}",
               f"{frames[0]:.0f}", f"{frames[2]:.0f}")  # fmt: skip
    yield (f"mean of {len(totals)} sets", "", *(f"{score:.1f}" for score in np.mean(totals, axis=0)), "", "", "")


def read_annotated(path: Path) -> Case:
    with np.load(path) as stored:
        meta = path.with_name("meta.json")
        rate = stored.get("rate")
        if rate is None and meta.is_file():
            rate = json.loads(meta.read_text(encoding="utf-8"))["rate_hz"]
        known = rate is not None and np.isfinite(float(rate))
        return Recording(stored["X"], float(rate) if known else None, id=path.stem), stored["y"].astype(np.int64)


def _by_rule(case: Case, seed: int) -> list[tuple[float, int]]:
    """Score and unit window by each of the three rules."""
    recording, truth = case
    found = []
    for given in (_in_seconds(recording), SUGGESTED, {}):
        model = Rondo(seed=seed, **given)
        scores = evaluate({"0": (truth, np.asarray(model.fit_predict(recording).motifs))}).average
        found.append((float(np.mean([getattr(scores, name) for name in TRIPLE])), model.window_length_frames_))
    return found


def _in_seconds(recording: Recording) -> dict[str, Any]:
    """1/40 of the recording between 1.5 and 6 s for motifs, a quarter of it, at least 0.3 s, for units."""
    rate, n_frames, few = recording.rate, recording.n_frames, recording.values.shape[1] <= FEW_CHANNELS
    signal = Preprocessor.fit([recording], resolve().preprocess).apply(recording)
    period = signal.period_frames
    if rate is not None and rate >= 10:
        long = min(max(n_frames / 40, 1.5 * rate), 6 * rate)
    elif rate is None and few:
        long = 4 * max(FEWEST_FRAMES, 20 * period)
    else:
        long = min(max(n_frames / 40, FEWEST_FRAMES, period), 4 * max(FEWEST_FRAMES, period))
    unit = min(max(8.0, 0.3 * (rate or 0), long / 4), n_frames / 20)
    long = 4 * unit if rate is None and few else long
    return {"window": max(1, round(unit)), "motif_window": round(max(long, 2 * unit))}


def rests(options: Options) -> Rows:
    """Five minutes of gestures with rests between, each of movements of its own: motifs found, and their AMI.

    Ten variants at 50 Hz, outside `rondo.synthetic`; means over streams, and the lowest. *Seconds*: the windows of
    0.2.0.
    """
    yield ("streams", "true", "found", "AMI", "lowest", "AMI, suggested scale", "AMI, seconds")
    every = []
    for title, variant in BETWEEN_RESTS.items():
        rows = []
        for seed in range(100, 100 + (options.seeds or 3)):
            values, truth = gestures(seed, **variant)
            recording = Recording(values, 50.0)
            labels = [
                np.asarray(Rondo(**given).fit_predict(recording).motifs)
                for given in ({}, SUGGESTED, _in_seconds(recording))
            ]
            rows.append([*(100 * agreement(truth, own) for own in labels), np.unique(labels[0]).size])
        now, suggested, seconds, n_found = np.mean(rows, axis=0)
        every.append((now, suggested, seconds))
        yield (title, variant["n_gestures"] + 1, f"{n_found:.1f}", f"{now:.0f}", f"{np.min(rows, axis=0)[0]:.0f}",
               f"{suggested:.0f}", f"{seconds:.0f}")  # fmt: skip
    now, suggested, seconds = np.mean(every, axis=0)
    yield (f"mean of {len(every)}", "", "", f"{now:.0f}", "", f"{suggested:.0f}", f"{seconds:.0f}")


STUDIES = (scales, rests)
