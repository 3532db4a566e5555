"""Studies of finding more like one marked span (rondo.motifs.alike), run by studies.py."""

from __future__ import annotations

import argparse
import ast
import csv
import gzip
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from guard import PLANTED, Fit, read
from numpy.typing import NDArray

from rondo import Recording
from rondo.config.settings import resolve
from rondo.data.labels import runs_of
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal
from rondo.motifs.alike import find_alike
from rondo.synthetic import plant

Options = argparse.Namespace
Rows = Iterator[tuple[object, ...]]
Span = tuple[int, int]
Case = tuple[NDArray[np.floating], list[Span]]  # values, and all spans of one kind
# The series of LAMA: the file, the annotations that count, and the frames of one repetition where these hold several.
SERIES: dict[str, tuple[str, tuple[str, ...], int]] = {
    "Charleston": ("motion_data/93_04", ("Basic",), 0),
    "Boxing": ("motion_data/13_17", ("Punch",), 0),
    "Swordplay": ("motion_data/02_07", ("Lifting",), 0),
    "Basketball": ("motion_data/06_02", ("Dribble",), 0),
    "The Shire": ("audio/Lord-of-the-Rings-Symphony-The-Shire", ("Tin Whistle",), 400),
    "Imperial March": ("audio/Star_Wars_The_Imperial_March_Theme_Song", ("Trumpet",), 0),
    "Paint It Black": ("audio/The-Rolling-Stones-Paint-It-Black", ("C",), 0),
    "Numb": ("audio/Numb-Linkin-Park", ("Chorus",), 0),
    "What I've Done": ("audio/What-I-ve-Done-Linkin-Park", ("Chorus",), 0),
    "Under Pressure": ("audio/Queen-David-Bowie-Under-Pressure", ("riff (9x)", "riff (4x)", "riff (3x)"), 180),
    "Ice Ice Baby": ("audio/Vanilla_Ice-Ice_Ice_Baby", ("riff (4x)",), 177),
    "Starling": ("audio/common-starling-sturnus-vulgaris", ("Starling",), 0),
    "Physiodata": ("physiodata/physio", ("Correct", "Correct (Low Amplitude)"), 148),
    "Bitcoin": ("crypto/crypto", ("Halving Event",), 0),
}


def find(options: Options) -> Rows:
    """One true span is marked, each in turn: precision and recall of what is suggested for it.

    A suggestion is right that shares half of the shorter with another true span. DATA/LAMA is the folder `datasets` of
    github.com/patrickzib/leitmotifs. All channels are searched, angles of joints for motions. Settings were chosen on
    every second of these series, subject 1 of ActRecTut and planted streams 0 to 2; `--held-out`: the others. `best`:
    F1 if the cut in the ranking were the best one. In ActRecTut and planted streams four spans of a kind are marked.
    """
    yield "set", "marked", "precision", "recall", "best"
    means = []
    for name in options.sets or ("LAMA", "ActRecTut", *PLANTED):
        for one in list(SERIES)[int(options.held_out) :: 2] if name == "LAMA" else [name]:
            cases = [_series(options.data / "LAMA", *SERIES[one])] if name == "LAMA" else _cases(options, name)
            scores = [
                _scored(values, spans, marked)
                for values, spans in cases
                for marked in (spans if name == "LAMA" else spans[:: -(-len(spans) // 4)])
            ]
            yield one, len(scores), *(f"{100 * each:.1f}" for each in np.mean(scores, axis=0))
            means += [np.mean(scores, axis=0)] if name == "LAMA" else []
    if means:
        yield f"mean of {len(means)} series of LAMA", "", *(f"{100 * each:.1f}" for each in np.mean(means, axis=0))


def _series(folder: Path, name: str, annotations: Sequence[str], length: int) -> Case:
    """A series of LAMA; annotations that hold several repetitions are cut into parts of about `length` frames."""
    rows = list(csv.reader((folder / f"{name}_gt.csv").read_text(encoding="utf-8").splitlines()))
    kinds = [kind.strip() for kind in rows[0]]
    spans = []
    for first, past in sorted(span for kind in annotations for span in ast.literal_eval(rows[1][kinds.index(kind)])):
        edges = np.linspace(first, past, 1 + (max(1, round((past - first) / length)) if length else 1)).round()
        spans += list(pairwise(edges.astype(int).tolist()))
    if name.startswith("motion_data"):
        lines = (folder / f"{name}.amc").read_text(encoding="utf-8").split(":DEGREES\n")[1].splitlines()
        angles = [float(value) for line in lines for value in line.split()[1:]]  # a frame begins with its number alone
        return np.reshape(angles, (sum(line.isdecimal() for line in lines), -1)), spans
    packed = name.startswith("audio")
    text = (folder / f"{name}.csv").read_bytes()
    lines = (gzip.decompress(text) if packed else text).decode().splitlines()[1:]
    return np.array([line.split(",")[packed:] for line in lines], np.float64).T, spans


def _cases(options: Options, name: str) -> Iterator[Case]:
    if name in PLANTED:
        for seed in range(20, 23) if options.held_out else range(3):
            stream = plant(PLANTED[name], n_frames=20_000, seed=seed)
            kinds = [[(one.start, one.stop) for one in stream.occurrences if one.motif == kind] for kind in range(9)]
            yield from ((stream.recording.values, spans) for spans in kinds if len(spans) > 2)
        return
    recording, tracks = read(options.data, Fit(name, f"subject{1 + options.held_out}_gesture", 0))
    runs = runs_of(tracks["y"])
    for kind in range(1, 12):  # 0 is the background
        at = runs.ids == kind
        yield recording.values, list(zip(runs.starts[at].tolist(), runs.stops[at].tolist(), strict=True))


def _scored(values: NDArray[np.floating], spans: Sequence[Span], marked: Span) -> tuple[float, float, float]:
    recording, others = Recording(values, id="a"), [span for span in spans if span != marked]
    signal: Signal = Preprocessor.fit([recording], resolve().preprocess).apply(recording)
    found = find_alike([signal], "a", *marked)[1:]
    shared = np.array([[min(o.stop, s[1]) - max(o.start, s[0]) for s in others] for o in found])
    shorter = np.array([[min(o.stop - o.start, s[1] - s[0]) for s in others] for o in found])
    hits = 2 * shared >= shorter
    ranks = np.arange(1, len(found) + 1)
    precision = hits.any(axis=1).cumsum() / ranks
    recall = np.maximum.accumulate(hits, axis=0).mean(axis=1)
    best = (2 * precision * recall / np.maximum(precision + recall, 1e-9)).max()
    n = sum(one.suggested for one in found)
    return (float(precision[n - 1]), float(recall[n - 1]), float(best)) if n else (0.0, 0.0, float(best))


STUDIES = (find,)
