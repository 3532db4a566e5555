"""Cases in which people see at once what recurs, and what a run shows of it; and the levels that `rondo suggest` marks.

    python benchmarks/real_cases.py cases FOLDER [--rate HZ] [--key NAME] [--page docs/results/evidence.md]
    python benchmarks/real_cases.py levels SET... --data DATA [--recordings N] [--page docs/results/judging.md]

`cases`: a folder holds the recordings of one case (one task recorded many times, one machine program run again, run
to failure), read together with the defaults as `rondo discover FOLDER` does: units by verdict, the level that labels
show and its entries by verdict, in how many files each of its commonest occurs. `order` is how far files agree on
which of two such entries comes first: of the pairs of entries and the files that have both, the share that has them in
the commoner order, by mean position (0.5 is chance).

`levels`: DATA holds a folder per set: .npz recordings (`X`; `y`, `y2` for scoring) and a meta.json (`rate_hz`). Each
recording has a curve of its own. Printed are how many recordings have at least one level, and in how many of those a
level lies within a factor of two of half the mean annotated segment. The levels of the mean curve come last. The set
`planted` has contexts of 14 to 20 s made of units of 1.5 to 2.5 s, the set `noise` the noises of evidence_quality.py.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # set before numpy is loaded

import numpy as np
from evidence_quality import NOISES, RATE
from numpy.typing import NDArray
from results_page import Table, parse, write_section

from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.discovery import discover
from rondo.result import Result
from rondo.run.summary import EntrySummary
from rondo.scale_curve import Scale, ScaleCurve, levels_of, scale_curve
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant

SECTIONS = ("engines", "compass_suturing", "levels")  # a case has a section by the name of its folder
N_SHOWN = 8  # entries of a case
PLAN = StreamPlan(motifs="contexts", n_channels=8, unit_s=(1.5, 2.5), context_s=(14, 20))
FACTOR = 2.0  # a level this near to half a mean segment has found it

Tracks = dict[str, NDArray[np.int32]]


def order_of(tracks: Tracks, ids: list[int]) -> float:
    """How far recordings agree on which of two entries comes first, by their mean position."""
    agreeing, asked = 0, 0
    positions = [
        {id: float(np.flatnonzero(own == id).mean()) for id in ids if (own == id).any()} for own in tracks.values()
    ]
    for one, other in combinations(ids, 2):
        first = [own[one] < own[other] for own in positions if one in own and other in own]
        if len(first) > 1:
            agreeing += max(sum(first), len(first) - sum(first))
            asked += len(first)
    return agreeing / asked if asked else float("nan")


def shown_entries(result: Result) -> tuple[str, list[EntrySummary], Tracks]:
    """The level that labels show, its entries, and its labels."""
    summary = result.summary
    level = "unit" if summary.motifs_are_units else "motif"
    named = zip((recording.id for recording in summary.recordings), result, strict=True)
    tracks = {id: np.asarray(own.units if level == "unit" else own.motifs) for id, own in named}
    return level, list(summary.units if level == "unit" else summary.shown_motifs), tracks


def case_cells(folder: Path, rate: float | None, key: str | None) -> list[str]:
    """One row of the table of cases."""
    result = discover(folder, rate=rate, key=key)
    summary = result.summary
    level, entries, tracks = shown_entries(result)
    common = sorted(entries, key=lambda entry: -entry.share)[:N_SHOWN]
    n_files = [sum(bool((own == entry.id).any()) for own in tracks.values()) for entry in common]
    return [
        folder.name,
        str(len(summary.recordings)),
        verdicts(summary.units),
        level if level == "unit" else f"{entries[0].kind}s",
        verdicts(entries),
        f"{min(n_files)} to {max(n_files)}",
        f"{order_of(tracks, [entry.id for entry in common]):.2f}",
    ]


def verdicts(entries: Sequence[EntrySummary]) -> str:
    """How many entries have each verdict: recurs / not shown / occurs once."""
    found = Counter("" if entry.evidence is None else entry.evidence.verdict for entry in entries)
    return " / ".join(str(found[verdict]) for verdict in ("recurs", "not shown", "occurs once"))


def mean_segment(truth: NDArray[np.integer]) -> float:
    """Frames of a segment, on average; stretches without a label are none."""
    starts = np.append(0, np.flatnonzero(np.diff(truth)) + 1)
    lengths = np.diff(np.append(starts, truth.size))
    return float(lengths[truth[starts] != OTHER].mean())


def mean_levels(curves: list[ScaleCurve]) -> tuple[int, ...]:
    """The levels of the mean over the recordings that have as many lengths as half of them have, one deal each."""
    n = int(np.median([len(curve.scales) for curve in curves]))
    whole = [curve.scales[:n] for curve in curves if len(curve.scales) >= n]
    means = [
        Scale(
            at[0].length_frames, 0, 0.0, tuple(own.agreement for own in at), float(np.mean([s.by_chance for s in at]))
        )
        for at in zip(*whole, strict=True)
    ]
    return levels_of(means) if len(whole) > 1 else ()


Annotated = tuple[Recording, dict[str, NDArray[np.integer]]]


def annotated(data: Path, name: str, most: int | None) -> Iterator[Annotated]:
    """The recordings of a set with their annotation, longer segments under y, shorter ones under y2."""
    if name == "planted":
        for seed in range(most or 5):
            stream = plant(PLAN, n_frames=40_000, seed=seed)
            yield stream.recording, {"y": stream.motif_truth, "y2": stream.unit_truth}
    elif name == "noise":
        for noise in NOISES.values():
            for seed in range(most or 3):
                yield Recording(noise(12_000, np.random.default_rng(seed)).astype(np.float32), rate=RATE), {}
    else:
        rate = json.loads((data / name / "meta.json").read_text(encoding="utf-8"))["rate_hz"]
        for path in sorted((data / name).glob("*.npz"))[:most]:
            with np.load(path) as stored:
                truths = {key: stored[key] for key in ("y", "y2") if key in stored.files}
                yield Recording(stored["X"], rate, id=path.stem), truths


def level_cells(data: Path, name: str, most: int | None) -> list[str]:
    """One row of the table of levels."""
    curves, found = [], Counter[str]()
    segments: dict[str, list[float]] = {}
    for recording, truths in annotated(data, name, most):
        rate = recording.rate or 1.0
        curve = scale_curve(recording)
        curves.append(curve)
        for key, truth in truths.items():
            frames = mean_segment(truth)
            segments.setdefault(key, []).append(frames / rate)
            found[key] += any(1 / FACTOR <= level / (frames / 2) <= FACTOR for level in curve.levels)
    marked = sum(bool(curve.levels) for curve in curves)
    seen = ", ".join(f"{level / rate:.3g} s" for level in mean_levels(curves)) or "none"
    near = [f"{np.mean(segments[key]):.3g} s, {found[key]}" if key in segments else "" for key in ("y", "y2")]
    return [f"{name} ({len(curves)})", str(marked), *near, seen]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("cases", "levels"))
    parser.add_argument("names", type=Path, nargs="+", help="folders of cases, or sets")
    parser.add_argument("--rate", type=float, help="of cases")
    parser.add_argument("--key", help="of cases")
    parser.add_argument("--data", type=Path, default=Path(), help="the folder of data sets")
    parser.add_argument("--recordings", type=int, help="only the first N of each set")
    given = parse(parser, __file__)
    warnings.simplefilter("ignore")
    if given.what == "cases":
        verdict = "recurs / not shown / once"
        table = Table("case", "files", f"units: {verdict}", "labels show", verdict, "files with the commonest", "order")
        for folder in given.names:
            table.add(*case_cells(folder, given.rate, given.key))
    else:
        near = [f"{which} annotation: mean segment, found" for which in ("longer", "shorter")]
        table = Table("set (recordings)", "with a level", *near, "levels of the mean curve")
        for name in given.names:
            table.add(*level_cells(given.data, str(name), given.recordings))
    write_section(given, "levels" if given.what == "levels" else given.names[0].name.lower(), table)


if __name__ == "__main__":
    main()
