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
    place_sentence,
    recurrence_sentence,
)
from rondo.run.shown import edited_findings
from rondo.run.summary import FitSummary, Profile, RecordingSummary, RunSummary


def evidence(p: float, *verdicts: Verdict, motifs: tuple[Verdict, ...] = ()) -> Evidence:
    units, others = ({id: EntryEvidence(p, 1.0, 2, one) for id, one in enumerate(own)} for own in (verdicts, motifs))
    return replace(Evidence.not_tested({}, {}), p=p, units=units, motifs=others)


def test_what_comes_back_is_counted_by_kind() -> None:
    some = evidence(0.05, "recurs clearly", "occurs once", "blurred", motifs=("recurs faintly", "occurs once"))
    words = recurrence_sentence(some, {0: "phrase", 1: "context"})
    assert re.findall(r"[\d.]*\d [a-z]+", words)[:4] == ["1 phrase", "1 of", "3 units", "1 occurs"]
    assert words.startswith("1 phrase comes back faintly") and "p = 0.05" in words
    assert "fitted: 1 of 3 units" in recurrence_sentence(some, {}, is_foreign=True)


def test_what_chance_explains_is_named_once() -> None:
    words = recurrence_sentence(evidence(0.6, "not shown", "not shown"), {})
    assert words.count("p = 0.6") == 1 and "unit" not in words


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
