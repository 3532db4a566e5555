"""What a run says about itself in words."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from rondo.editing.edits import Edits
from rondo.evidence.verdicts import EntryEvidence, Evidence, Reason, Verdict
from rondo.run.findings import (
    composition_sentence,
    fit_sentence,
    found_sentence,
    place_sentence,
    recurrence_sentence,
)
from rondo.run.shown import edited_findings
from rondo.run.summary import FitSummary, Profile, RecordingSummary, RunSummary


def evidence(p: float, *verdicts: Verdict) -> Evidence:
    entries = {id: EntryEvidence(p, 1.0, 2, verdict) for id, verdict in enumerate(verdicts)}
    return replace(Evidence.not_tested({}, {}), p=p, units=entries, motifs={0: entries[0]})


def test_what_recurs_is_counted() -> None:
    told = recurrence_sentence(evidence(0.05, "recurs clearly", "occurs once", "not shown"))
    assert re.findall(r"[\d.]*\d", told) == ["1", "3", "1", "1", "1", "0.05"]


def test_motifs_that_are_units_are_not_counted_once_more() -> None:
    told = recurrence_sentence(evidence(0.05, "recurs clearly", "recurs clearly", "not shown"), is_flat=True)
    assert told.startswith("2 of 3 units") and "motif" not in told


def test_units_that_most_recordings_have_at_the_same_place_are_named_as_a_recording_goes() -> None:
    reasons = (Reason("end", 99.0, 100), Reason("alike"), Reason("place", 49.0, 100), Reason("start", 80.0, 100))
    units = {id: EntryEvidence(0.01, 1.0, 100, "recurs clearly", reason) for id, reason in enumerate(reasons)}
    told = place_sentence(units)
    assert re.findall(r"u\d|start|end|\d+ of \d+", told) == ["u3", "start", "80 of 100", "u0", "end", "99 of 100"]
    assert place_sentence({1: units[1], 2: units[2]}) == ""


def summary(**changes: Any) -> RunSummary:
    recording = RecordingSummary(
        id="a", source="", n_frames=10, channels=("x",), rate=None, duration_s=None, notes=(), share_other=0.0
    )
    plain = RunSummary(
        rondo_version="0", method="rondo", seed=0, window_length_frames=1, step_frames=1,
        recordings=(recording, recording.model_copy(update={"id": "b"})), units=(), motifs=(),
    )  # fmt: skip
    return plain.model_copy(update=changes)


def test_counts() -> None:
    found = summary(units=("a unit",))
    assert re.findall(r"\d+ \w+", found_sentence(found)) == ["1 unit", "0 motifs", "2 recordings"]
    flat = found.model_copy(update={"motifs_are_units": True})
    assert re.findall(r"\d+ \w+", found_sentence(flat)) == ["1 unit", "2 recordings"]


@pytest.mark.parametrize(("n_units", "n_units_of_model", "said"), [(1, 9, True), (1, 1, False), (2, 9, False)])
def test_one_unit_of_many_tells_nothing_apart(n_units: int, n_units_of_model: int, said: bool) -> None:
    fit = FitSummary(
        verdict="does not fit", n_units=n_units, n_units_of_model=n_units_of_model, share_accepted=0.0,
        distance_quantiles={},
    )  # fmt: skip
    told = fit_sentence("a", fit, Profile(share_accepted=0.95, distance_quantiles={}))
    assert "median distance unknown (unknown)" in told
    assert told.endswith(" units") != said


def test_phrases_that_labels_do_not_show_are_no_lack_of_composition() -> None:
    said = composition_sentence(True, True, has_phrases=True)
    assert said.startswith("Some orders") and said.count(": ") == 1
    (merged,) = edited_findings([said], Edits(), motifs_are_units=False)
    assert merged == said.partition(":")[0] + "."
    assert edited_findings([merged], Edits(), motifs_are_units=True) == (said,)


def test_what_is_said_of_merges_is_said_anew() -> None:
    found = ["It recurs.", "No composition of units into longer motifs recurs here: every unit is its own motif."]
    merged = edited_findings(found, Edits().merged(["u0", "u2"]), motifs_are_units=False)
    assert merged[:2] == (found[0], found[1].partition(":")[0] + ".")
    assert len(merged) == 3 and "u2 as u0" in merged[2]
    assert list(edited_findings(merged, Edits(), motifs_are_units=True)) == found
