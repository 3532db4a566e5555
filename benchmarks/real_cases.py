"""Cases in which people see at once what recurs, and what a run shows of it.

    python benchmarks/real_cases.py FOLDER... [--rate HZ] [--key NAME] [--page docs/results/evidence.md]

A folder holds the recordings of one case (one task recorded many times, one machine program run again, run to
failure), read together with the defaults as `rondo discover FOLDER` does: units by verdict, the level that labels
show and its entries by verdict, in how many files each of its commonest occurs. `order` is how far files agree on
which of two such entries comes first: of the pairs of entries and the files that have both, the share that has them in
the commoner order, by mean position (0.5 is chance).
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # set before numpy is loaded

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section

from rondo.discovery import discover
from rondo.result import Result
from rondo.run.summary import EntrySummary

SECTIONS = ("engines", "compass_suturing")  # a case has a section by the name of its folder
N_SHOWN = 8  # entries of a case

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--rate", type=float)
    parser.add_argument("--key")
    given = parse(parser, __file__)
    warnings.simplefilter("ignore")
    verdict = "recurs / not shown / once"
    table = Table("case", "files", f"units: {verdict}", "labels show", verdict, "files with the commonest", "order")
    for folder in given.folders:
        table.add(*case_cells(folder, given.rate, given.key))
    write_section(given, given.folders[0].name.lower(), table)


if __name__ == "__main__":
    main()
