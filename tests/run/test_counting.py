"""The entries of summary.json: durations, exemplars and evidence, counted by hand."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.editing.edits import Edits
from rondo.evidence.verdicts import EntryEvidence, Evidence
from rondo.model.describe import evidence_words
from rondo.run.labelling import Labelling
from rondo.run.shown import shown, shown_summary
from rondo.run.summary import EntrySummary
from rondo.run.tally import N_EXEMPLARS, EntryTally, Words
from rondo.units.vocabulary import Level
from tests.run.test_findings import summary

EVIDENCE = replace(
    Evidence.not_tested({}, {}),
    p=0.05,
    units={0: EntryEvidence(0.05, 1.5, 4, "recurs clearly"), 1: EntryEvidence(np.nan, np.nan, 1, "occurs once")},
    motifs={0: EntryEvidence(0.35, np.nan, 4, "not shown")},
)


def segments_of(units: list[int], scores: list[float], rate: float | None = None) -> pl.DataFrame:
    track, values = np.array(units, np.int32), np.array(scores, np.float32)
    times = None if rate is None else np.arange(track.size) / rate
    return Labelling("r", track, track, values, values, times, rate, np.zeros(0, np.int64), 1.0).table


def entry_rows(level: Level, segments: pl.DataFrame, n_frames: int, words: Words) -> list[EntrySummary]:
    tally = EntryTally(level)
    tally.add(segments)
    return tally.rows(n_frames, words)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4)), min_size=1, max_size=40))
def test_figures_are_those_counted_by_hand(frames: list[tuple[int, int]]) -> None:
    segments = segments_of([id for id, _ in frames], [score / 4 for _, score in frames], rate=2.0)
    own = segments.filter(pl.col("level") == "unit").to_dicts()
    for row in entry_rows("unit", segments, len(frames), Words()):
        occurrences = [one for one in own if one["id"] == row.id]
        lengths = [one["end_frame"] - one["start_frame"] for one in occurrences]
        assert row.n_occurrences == len(lengths)
        assert row.share == pytest.approx(sum(lengths) / len(frames))
        for name, expected in (
            ("mean", np.mean(lengths)),
            ("p10", np.quantile(lengths, 0.1)),
            ("median", np.median(lengths)),
            ("p90", np.quantile(lengths, 0.9)),
        ):
            assert getattr(row, f"{name}_duration_frames") == pytest.approx(expected)
            assert getattr(row, f"{name}_duration_s") == pytest.approx(expected / 2)
        ranked = sorted(
            occurrences,
            key=lambda one: (-round(one["score"], 3), one["start_frame"] - one["end_frame"], one["start_frame"]),
        )
        names = ("recording", "start_frame", "end_frame", "start_s", "score")
        assert [one.model_dump() for one in row.exemplars] == [
            {name: one[name] for name in names} for one in ranked[:N_EXEMPLARS]
        ]


def test_of_equal_scores_the_longest_comes_first() -> None:
    segments = segments_of([0, 1, 0, 0, 1, 0, 0, 0, 1, 0], [1.0, 0, 1.0, 1.0, 0, 0.9999, 0.9999, 0.9999, 0, 0.5])
    exemplars = entry_rows("motif", segments, 10, Words())[0].exemplars
    assert [one.start_frame for one in exemplars] == [5, 2, 0]  # to three decimals all are 1
    assert exemplars[0].start_s is None


def test_evidence_stands_beside_every_entry_and_is_json() -> None:
    segments = segments_of([0, 1, 0, 2], [1.0] * 4)
    units = entry_rows("unit", segments, 4, Words(**evidence_words(EVIDENCE, None)))
    assert [row.evidence and row.evidence.model_dump(exclude_none=True) for row in units] == [
        {"verdict": "recurs clearly", "p": 0.05, "reason": ""},
        {"verdict": "occurs once", "reason": ""},
        {"verdict": "not tested", "reason": ""},  # unknown to the evidence
    ]
    motifs = entry_rows("motif", segments, 4, Words(**evidence_words(EVIDENCE, None)))
    assert motifs[0].evidence is not None
    assert motifs[0].evidence.model_dump(exclude_none=True) == {"verdict": "not shown", "p": 0.35, "reason": ""}
    json.dumps([row.model_dump(mode="json") for row in units + motifs], allow_nan=False)
    assert entry_rows("unit", segments, 4, Words())[0].evidence is None


def test_merged_entries_are_not_tested_as_one_and_motifs_name_what_is_kept() -> None:
    units, ones = np.array([0, 0, 1, 2], np.int32), np.ones(4, np.float32)
    edits = Edits().merged(["u0", "u1"]).named("u0", "reach")
    found = Labelling("r", units, np.zeros(4, np.int32), ones, ones, None, None, np.zeros(0, np.int64), 1.0)
    table = shown(found, edits).table
    assert table.filter(pl.col("level") == "motif")["units"].to_list() == ["u0 u2"]
    rows = entry_rows("unit", table, 4, Words(**evidence_words(EVIDENCE, None)))
    merged = shown_summary(summary(units=tuple(rows)), edits).units[0]
    assert (merged.name, merged.absorbed) == ("reach", (1,))
    assert merged.evidence is not None and merged.evidence.verdict == "not tested"
