"""How it composes, as a dict: pictures of motifs, the graph of transitions and its twin, invariances."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.report.graph import MOST_ARROWS, MOST_NODES, composition, made_of
from rondo.result import make_result
from rondo.run.labelling import Labelling
from rondo.run.summary import EntrySummary
from rondo.run.tally import Words
from tests import naive_transitions as naive
from tests.metrics.tracks import track

Tracks = dict[str, tuple[list[int], list[int]]]
"""Units and motifs of each recording."""


def labelling(id: str, units: list[int], motifs: list[int]) -> Labelling:
    tracks = [np.array(labels, dtype=np.int32) for labels in (units, motifs)]
    scores = [np.where(labels == OTHER, 0.0, 1.0).astype(np.float32) for labels in tracks]
    return Labelling(id, *tracks, *scores, None, 10.0, np.zeros(0, np.int64), 1.0, ())


def composed(tracks: Tracks, **words: str) -> dict[str, Any]:
    """The composition of a run; `words` are the lines of its motifs, by m0, m1, …"""
    recordings = [Recording(np.zeros((len(units), 1)), 10, id=id) for id, (units, _) in tracks.items()]
    lines = {int(name[1:]): line for name, line in words.items()}
    result = make_result(
        "some", recordings, [labelling(id, *own) for id, own in tracks.items()], words=Words(motifs=lines)
    )
    found = composition(result.summary, result.run.tables["segments"], result.run.tables["segments"], result.recordings)
    json.dumps(found, allow_nan=False)
    return found


def arrows_of(found: dict[str, Any], level: str) -> dict[tuple[str, str], tuple[float, int]]:
    (graph,) = [it for it in found["graphs"] if it["level"] == level]
    names = [node["name"] for node in graph["nodes"]]
    return {(names[it["from"]], names[it["to"]]): (it["p"], it["n"]) for it in graph["arrows"]}


@st.composite
def several(draw: st.DrawFn) -> Tracks:
    found: Tracks = {}
    for i in range(draw(st.integers(1, 3))):
        n_frames = draw(st.integers(2, 40))
        found[f"r{i}"] = (draw(track(n_frames, OTHER, 3)), draw(track(n_frames, OTHER, 3)))
    return found


def twin(labels: list[list[int]], letter: str) -> dict[tuple[str, str], tuple[int, float]]:
    """How often a pair occurs, and its probability: the mean over recordings in which its first is followed."""
    counted = [naive.counts(own, ()) for own in labels]
    found = {}
    for a, b in {pair for counts in counted for pair in counts}:
        followed = [sum(n for (first, _), n in counts.items() if first == a) for counts in counted]
        shares = [counts[a, b] / n for counts, n in zip(counted, followed, strict=True) if n]
        found[f"{letter}{a}", f"{letter}{b}"] = (sum(counts[a, b] for counts in counted), float(np.mean(shares)))
    return found


@settings(max_examples=25, deadline=None)
@given(several())
def test_the_graph_equals_the_slow_twin(tracks: Tracks) -> None:
    graphs = {it["level"]: it for it in composed(tracks)["graphs"]}
    for place, level in enumerate(("unit", "motif")):
        expected = twin([own[place] for own in tracks.values()], level[0])
        if level not in graphs:  # nothing follows anything, or motifs are units
            assert level == "motif" or not expected
            continue
        rows = graphs[level]["rows"]
        found = {(row["name"], it["name"]): it["n"] for row in rows for it in row["next"]}
        assert found == {pair: n for pair, (n, _) in expected.items()}
        assert graphs[level]["n_transitions"] == sum(n for n, _ in expected.values())
        for pair, (p, n) in arrows_of({"graphs": [graphs[level]]}, level).items():
            assert (n, p) == (expected[pair][0], pytest.approx(expected[pair][1], abs=1e-4))


UNITS = [0, 0, 1, 1, 2, 2, 2, 0, 0, 1, 2, 2, 2, 2]
MOTIFS = [0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1]


def test_other_ids_give_the_same_arrows_and_parts_under_other_names() -> None:
    there = {0: 2, 1: 0, 2: 1}
    one = composed({"r": (UNITS, MOTIFS)}, m0="u0 u1", m1="u2")
    other = composed({"r": ([there[it] for it in UNITS], MOTIFS)}, m0="u2 u0", m1="u1")
    renamed = {tuple(f"u{there[int(it[1:])]}" for it in pair): value for pair, value in arrows_of(one, "unit").items()}
    assert renamed == arrows_of(other, "unit")
    for it in (one, other):
        parts = it["made_of"]["motif|m0"]["parts"]
        assert [part["units"][0]["share"] for part in parts] == pytest.approx([7 / 12, 5 / 12], abs=1e-4)


def test_a_graph_of_many_entries_keeps_the_largest_and_the_strongest() -> None:
    rng = np.random.default_rng(0)
    units = np.repeat(rng.integers(0, 30, 600), 3).tolist()
    (graph,) = [it for it in composed({"r": (units, [0] * len(units))})["graphs"] if it["level"] == "unit"]
    assert len(graph["nodes"]) == MOST_NODES and graph["n_left_out"] == 14
    assert len(graph["arrows"]) <= MOST_ARROWS
    leaving = [arrow["from"] for arrow in graph["arrows"]]
    assert max(map(leaving.count, leaving)) <= 2
    assert all(abs(np.hypot(node["x"], node["y"]) - 1) < 1e-3 for node in graph["nodes"])


def entry(id: int, **about: Any) -> EntrySummary:
    figures = {f"{name}_duration_{unit}": 1.0 for name in ("mean", "p10", "median", "p90") for unit in ("frames", "s")}
    return EntrySummary(id=id, n_occurrences=2, share=0.5, exemplars=(), **figures, **about)


def test_pictures_of_phrases_and_of_mixes() -> None:
    units = {("unit", 6): entry(6, name="<b>six</b>")}
    runs = [[(6, 4.0), (5, 2.0), (4, 2.0), (5, 1.0), (4, 1.0)], [(6, 5.0), (5, 5.0)]]
    phrase = made_of(entry(0, kind="phrase", composition="u6 (u5 u4)×1-2 [u3]"), units, runs)
    assert phrase["ordered"] and [part["times"] for part in phrase["parts"]] == ["", "×1–2", ""]
    assert [part["optional"] for part in phrase["parts"]] == [False, False, True]
    assert [[unit["share"] for unit in part["units"]] for part in phrase["parts"]] == [[0.45], [0.4, 0.15], [0.0]]
    assert phrase["parts"][0]["units"][0]["name"] == "u6 <b>six</b>" and phrase["rest"] == 0.0
    line = "u5 60%, u6 40%; no fixed order, u5 twice per occurrence"
    mix = made_of(entry(1, kind="context", composition=line), units, [[(5, 6.0), (6, 2.0), (OTHER, 2.0)]])
    assert not mix["ordered"] and mix["order"] == "no fixed order, u5 twice per occurrence"
    assert [part["units"][0]["share"] for part in mix["parts"]] == [0.6, 0.2] and mix["rest"] == 0.2


def test_runs_in_which_motifs_are_units_tell_of_units_alone() -> None:
    recordings = [Recording(np.zeros((len(UNITS), 1)), 10, id="r")]
    result = make_result("some", recordings, [labelling("r", UNITS, UNITS)])
    summary = result.summary.model_copy(update={"motifs_are_units": True})
    found = composition(summary, result.run.tables["segments"], pl.DataFrame(), result.recordings)
    assert found["made_of"] == {} and [it["level"] for it in found["graphs"]] == ["unit"]
