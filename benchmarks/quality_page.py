"""The page docs/results/quality.md and the table of the README, from guard.json and peers.json; nothing is run.

`python benchmarks/guard.py --page docs/results/quality.md` writes the page. `python benchmarks/quality_page.py` prints
the table of the README; a test holds the README against it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

HERE = Path(__file__).resolve().parent
SCORES = ("ari", "ami", "one_to_one")
LONGER = {  # labels against the longer annotation, `y`
    "MoCap": "MoCap, exercises",
    "HuGaDB": "HuGaDB, activities",
    "ActRecTut": "ActRecTut, gestures and walks",
    "OpenPack": "OpenPack, operations",
    "COMPASS_Suturing": "Suturing, gestures",
    "PTE": "PTE, exercises",
    "Billboard": "Billboard songs, sections",
    "TSSB": "TSSB, states of one channel",
    "USC-HAD": "USC-HAD, activities",
    "MoCap6": "MoCap6, exercises",
}
SHORTER = {  # units against the shorter annotation, `y2`
    "OpenPack": "OpenPack, actions",
    "COMPASS_Suturing": "Suturing, primitives",
    "PTE": "PTE, repetitions",
    "Billboard": "Billboard songs, chords",
}
PLANTED = {
    "planted": "motifs share units",
    "planted_own": "motifs own their units",
    "planted_cycles": "fixed cycles",
    "planted_contexts": "long contexts, units in any order",
}
METHODS = {
    "kmeans": "k-means",
    "hdbscan": "HDBSCAN",
    "time2state": "Time2State",
    "e2usd": "E2USD",
    "hmm": "HMM",
    "ticc": "TICC",
    "autoplait": "AutoPlait",
    "clap": "CLaP",
    "clasp2feat": "ClaSP2Feat",
    "hdp-hsmm": "HDP-HSMM",
    "dbstream": "DBSTREAM",
    "denstream": "DenStream",
}

Json = Mapping[str, Any]


def page_text(guard: Json, peers: Json) -> str:
    """The whole page; each table is headed by the command that measures it."""
    parts = [
        "# Quality at both levels",
        "Written by `python benchmarks/guard.py --page docs/results/quality.md` from `benchmarks/guard.json` and "
        "`benchmarks/peers.json`. Scores are ARI/AMI/one-to-one in percent, means over recordings. The labels of "
        "these sets were in view when Rondo's settings were chosen.",
        "## Rondo, the best peer and the clock",
        "```\npython benchmarks/guard.py DATA --store\npython benchmarks/peer_levels.py DATA --cache FILE --store\n```",
        "Rondo: default settings, five seeds. Best peer: the highest mean of the three scores among all rows of the "
        "set below, one seed. Clock: as many equal pieces as Rondo has segments.",
        quality_table(guard, peers),
        "## Each peer over the rows it has",
        "The mean of the three scores, averaged over the rows above on which the method was run.",
        averages_table(guard, peers),
        "## Planted streams",
        "```\npython benchmarks/guard.py DATA --sets planted,planted_own,planted_cycles,planted_contexts --store\n```",
        "Streams of 20 minutes, seeds 20 to 24.",
        planted_table(guard),
        "## All peers",
        "```\npython benchmarks/peer_levels.py DATA --cache FILE --store\n```",
        "Default settings, one seed. *short* and *long* are the two windows that Rondo chooses for the recording. "
        "USC-HAD: rows of [static](static.md), windows of the paper. TSSB: rows of [public series](clap_suite.md), "
        "labels stored by the CLaP paper; TICC, ClaSP2Feat and AutoPlait were given the number of states or changes.",
        *(text for name in LONGER if name in peers for text in (f"### {name}", peers_table(peers[name]))),
    ]
    return "\n\n".join(parts) + "\n"


def quality_table(guard: Json, peers: Json) -> str:
    """One row for each set and level."""
    rows = [row_of(guard, peers, name, title, "motifs", "y") for name, title in LONGER.items()]
    rows += [row_of(guard, peers, name, title, "units", "y2") for name, title in SHORTER.items()]
    head = "| annotation | level | recordings | Rondo | best peer | clock |\n|---|---|---|---|---|---|"
    return "\n".join([head, *rows])


def row_of(guard: Json, peers: Json, name: str, title: str, level: str, track: str) -> str:
    own = guard[name]["pairs"][f"{level} vs {track}"]
    best = best_of(peers, name, track)
    cells = [title, level, str(guard[name]["n_recordings"]), triple(own["mean"])]
    cells += [f"{triple(best[1])} ({titled(best[0])})" if best else "not run", triple(own["clock"])]
    return f"| {' | '.join(cells)} |"


def best_of(peers: Json, name: str, track: str) -> tuple[str, Json] | None:
    """The peer with the highest mean of the three scores. The annotation decides, so the choice favours peers."""
    by_way = {way: own[track] for way, own in peers.get(name, {}).items() if track in own}
    if not by_way:
        return None
    best = max(by_way, key=lambda way: mean_score(by_way[way]))
    return best, by_way[best]


def averages_table(guard: Json, peers: Json) -> str:
    head = "| method | rows | mean | Rondo on the same rows |\n|---|---|---|---|"
    found = sorted(averages(guard, peers).items(), key=lambda item: -len(item[1]))
    rows = [
        f"| {titled(way)} | {len(pairs)} | {mean([it[0] for it in pairs]):.1f} | {mean([it[1] for it in pairs]):.1f} |"
        for way, pairs in found
    ]
    return "\n".join([head, *rows])


def averages(guard: Json, peers: Json) -> dict[str, list[tuple[float, float]]]:
    """For every peer, its mean score and Rondo's on each row that it has."""
    found: dict[str, list[tuple[float, float]]] = {}
    for name, level, track in [*((it, "motifs", "y") for it in LONGER), *((it, "units", "y2") for it in SHORTER)]:
        own = mean_score(guard[name]["pairs"][f"{level} vs {track}"]["mean"])
        for way, scores in peers.get(name, {}).items():
            if track in scores:
                found.setdefault(way, []).append((mean_score(scores[track]), own))
    return found


def mean_score(scores: Json) -> float:
    return mean([scores[score] for score in SCORES])


def planted_table(guard: Json) -> str:
    rows = []
    for name, title in PLANTED.items():
        units, motifs = (guard[name]["pairs"][pair] for pair in ("units vs y2", "motifs vs y"))
        cells = [title, triple(units["mean"]), triple(motifs["mean"]), triple(motifs["clock"])]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(["| planted motifs | units | motifs | clock, motifs |\n|---|---|---|---|", *rows])


def peers_table(by_way: Json) -> str:
    tracks = [track for track in ("y", "y2") if track in next(iter(by_way.values()))]
    head = {"y": "longer annotation", "y2": "shorter annotation"}
    rows = [f"| {titled(way)} | {' | '.join(triple(own[track]) for track in tracks)} |" for way, own in by_way.items()]
    return "\n".join([f"| method | {' | '.join(head[it] for it in tracks)} |", "|---" * (len(tracks) + 1) + "|", *rows])


def titled(way: str) -> str:
    name, _, window = way.partition(", ")
    return METHODS[name] + (f", {window}" if window else "")


def triple(scores: Json) -> str:
    """
    >>> triple({"ari": 86.155, "ami": 85.25, "one_to_one": 91.648, "n_clusters": 5.7})
    '86.2/85.2/91.6'
    """
    return "/".join(f"{scores[score]:.1f}" for score in SCORES)


def stored_scores() -> tuple[Json, Json]:
    guard, peers = (json.loads((HERE / name).read_text(encoding="utf-8")) for name in ("guard.json", "peers.json"))
    return guard, peers


def main() -> int:
    print(quality_table(*stored_scores()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
