"""Other methods on the recordings and annotations of guard.py, at both levels, so that its scores have neighbours.

    OMP_NUM_THREADS=1 python benchmarks/peer_levels.py DATA --cache FILE   fit what FILE does not hold yet
    python benchmarks/peer_levels.py DATA --cache FILE --store             then replace peers.json by what FILE holds

Methods are those of `rondo discover --method` with their default settings and one seed. A method that cuts windows runs
twice, with the two windows that Rondo chooses for the recording, and counts as two: `kmeans, short` and `kmeans, long`.
One prediction is scored against both annotations. A method that cannot be fitted to a recording (too short for its
window, say) has no row for that set. AutoPlait and CLaP are left out where a recording has more than 25,000 frames.
Two sets are not fitted here: `rondo bench` has their rows already (`TABLES`).
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from guard import SCORES, SETS, STORED, Fit, Row, append, cached_rows, read, recording_ids, scores_of

from rondo.config.settings import RondoConfig
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.window_lengths import choose_scales
from rondo.errors import RondoError
from rondo_bench.baselines.baseline import build_baseline, label_recording

PEERS = STORED.with_name("peers.json")
WINDOWED = ("kmeans", "hdbscan", "time2state", "e2usd")
PLAIN = ("hmm", "ticc", "autoplait", "clap")
FRAMES = {"autoplait": 25_000, "clap": 25_000}  # a recording may have: minutes of one core
SEED = 0
RESULTS = STORED.parents[1] / "docs" / "results"
TABLES = {  # windows of the paper, five seeds; labels that the CLaP paper stores
    "USC-HAD": (RESULTS / "static.csv", "usc_had"),
    "TSSB": (RESULTS / "clap_suite.csv", "tssb"),
}


def ways() -> list[str]:
    return [f"{name}, {window}" for name in WINDOWED for window in ("short", "long")] + list(PLAIN)


def scored(data: Path, fit: Fit, way: str) -> Row:
    """One method on one recording; without `pairs` where it could not be fitted."""
    warnings.simplefilter("ignore")  # notes on the data, the same in every run
    recording, annotations = read(data, fit)
    name, _, window = way.partition(", ")
    row: Row = fit._asdict() | {"way": way}
    if len(recording.values) > FRAMES.get(name, len(recording.values)):
        return row | {"why": f"more than {FRAMES[name]:,} frames"}
    start = time.process_time()
    try:
        baseline = build_baseline(name, windows_of(recording, window) if window else {})
        labels = label_recording(recording, baseline, np.random.default_rng(SEED))
    except (RondoError, ValueError) as error:
        return row | {"why": str(error)}
    seconds = time.process_time() - start
    pairs = {track: scores_of(truth, labels) for track, truth in annotations.items()}
    return row | {"pairs": pairs, "cpu_s": round(seconds, 2)}


def windows_of(recording: Recording, window: str) -> dict[str, int]:
    """The window of Rondo's units or of its motifs, and a step of a quarter."""
    config = RondoConfig()
    signal = Preprocessor.fit([recording], config.preprocess).apply(recording)
    scales = choose_scales([signal], config)
    length = scales.unit_frames if window == "short" else scales.motif_frames
    return {"windows.length": length, "windows.step": max(1, length // 4)}


def summarise(rows: Sequence[Row]) -> dict[str, Any]:
    """Mean scores of every method by set and annotation, where it was fitted to all recordings of the set."""
    n_recordings = {name: own["n_recordings"] for name, own in json.loads(STORED.read_text(encoding="utf-8")).items()}
    found: dict[str, Any] = {name: from_table(*table) for name, table in TABLES.items()}
    for name in (name for name in SETS if name not in TABLES):
        for way in ways():
            done = [row for row in rows if (row["set"], row["way"]) == (name, way) and "pairs" in row]
            if len(done) == n_recordings[name]:
                scores = {track: {key: mean_of(done, track, key) for key in SCORES} for track in done[0]["pairs"]}
                found.setdefault(name, {})[way] = scores
    return found


def from_table(path: Path, data_set: str) -> dict[str, Any]:
    """Means over recordings and seeds of the methods of a stored table, those of Rondo and the clock left out."""
    with path.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["data_set"] == data_set]
    methods = dict.fromkeys(row["method"] for row in rows if row["method"].partition("-")[0] not in ("rondo", "clock"))
    own = {method: [row for row in rows if row["method"] == method] for method in methods}
    return {
        method: {"y": {key: round(float(np.mean([float(row[key]) for row in rows])), 3) for key in SCORES}}
        for method, rows in own.items()
    }


def mean_of(rows: Sequence[Row], track: str, key: str) -> float:
    return round(float(np.mean([row["pairs"][track][key] for row in rows])), 3)


def missing(data: Path, sets: Sequence[str], cache: Path) -> Iterator[tuple[Fit, str]]:
    known = {(fit, way) for way in ways() for fit in cached_rows(cache, way)}
    for name in sets:
        for id in recording_ids(data, name):
            yield from ((fit, way) for way in ways() if ((fit := Fit(name, id, SEED)), way) not in known)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--sets", default=",".join(sorted(set(SETS) - set(TABLES))), help="names with commas between; all unless given"
    )
    parser.add_argument("--cache", type=Path, required=True, help="file of finished fits, to continue from")
    parser.add_argument("--store", action="store_true", help="replace peers.json by what the cache holds")
    given = parser.parse_args(arguments)
    for fit, way in missing(given.data, given.sets.split(","), given.cache):
        append(given.cache, {"source": way} | scored(given.data, fit, way))  # rows are found again by their way
        print(fit.set, fit.recording, way, file=sys.stderr)
    if given.store:
        rows = [row for way in ways() for row in cached_rows(given.cache, way).values()]
        PEERS.write_text(json.dumps(summarise(rows), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
