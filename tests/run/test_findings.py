"""What a run says about itself in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rondo.editing.edits import Edits
from rondo.evidence.verdicts import EntryEvidence, Evidence, Reason, Verdict
from rondo.run.findings import (
    composition_sentence,
    edited_findings,
    fit_sentence,
    found_sentence,
    place_sentence,
    recurrence_sentence,
)
from rondo.run.summary import FitSummary, Profile, RecordingSummary, RunSummary


def evidence(p: float, *verdicts: Verdict) -> Evidence:
    entries = {id: EntryEvidence(p, 1.0, 2, verdict) for id, verdict in enumerate(verdicts)}
    return replace(Evidence.not_tested({}, {}), p=p, units=entries, motifs={0: entries[0]})


def test_what_recurs_is_counted() -> None:
    told = recurrence_sentence(evidence(0.05, "recurs", "occurs once", "not shown"))
    assert told == (
        "1 of 3 units recurs, 1 occurs once and 1 of 1 motif recurs (p <= 0.05, corrected for the number of tests)."
    )


def test_motifs_that_are_units_are_not_counted_once_more() -> None:
    told = recurrence_sentence(evidence(0.05, "recurs", "recurs", "not shown"), is_flat=True)
    assert told == "2 of 3 units recur (p <= 0.05, corrected for the number of tests)."


def test_a_whole_without_a_unit_that_recurs_is_not_called_a_vocabulary() -> None:
    told = recurrence_sentence(evidence(0.01, "not shown", "occurs once"))
    assert told == (
        "The signal as a whole comes back to earlier states (p = 0.01), "
        "but recurrence was not shown for any single unit."
    )


def test_what_is_not_shown_is_not_denied() -> None:
    told = recurrence_sentence(evidence(0.35, "not shown"))
    assert told == "Recurrence not shown (p = 0.35): the units may describe slow change only."


def test_evidence_from_elsewhere_is_said_to_be() -> None:
    for p in (0.05, 0.35):
        told = recurrence_sentence(evidence(p, "recurs"), is_foreign=True)
        assert told.startswith("Where the model was fitted: ")


def test_units_that_most_recordings_have_at_the_same_place_are_named_as_a_recording_goes() -> None:
    reasons = (Reason("end", 99.0, 100), Reason("alike"), Reason("place", 49.0, 100), Reason("start", 80.0, 100))
    units = {id: EntryEvidence(0.01, 1.0, 100, "recurs", reason) for id, reason in enumerate(reasons)}
    told = place_sentence(units)
    assert (
        told == "Over the recordings: u3 at the start of 80 of 100 recordings, u0 at the end of 99 of 100 recordings."
    )
    assert place_sentence({1: units[1], 2: units[2]}) == ""


def test_what_was_not_tested_is_said() -> None:
    assert recurrence_sentence(evidence(np.nan, "not tested")) == "Recurrence was not tested."


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
    assert found_sentence(found) == "1 unit and 0 motifs in 2 recordings"
    flat = found.model_copy(update={"motifs_are_units": True})
    assert found_sentence(flat) == "1 unit in 2 recordings; no motif is longer than a unit"


@pytest.mark.parametrize(("n_units", "n_units_of_model", "said"), [(1, 9, True), (1, 1, False), (2, 9, False)])
def test_one_unit_of_many_tells_nothing_apart(n_units: int, n_units_of_model: int, said: bool) -> None:
    fit = FitSummary(
        verdict="does not fit", n_units=n_units, n_units_of_model=n_units_of_model, share_accepted=0.0,
        distance_quantiles={},
    )  # fmt: skip
    told = fit_sentence("a", fit, Profile(share_accepted=0.95, distance_quantiles={}))
    assert "median distance unknown (unknown)" in told
    assert told.endswith("nothing in it is told apart") == said


def test_phrases_that_labels_do_not_show_are_no_lack_of_composition() -> None:
    said = composition_sentence(True, True, has_phrases=True)
    assert said.startswith("Some orders of units recur, but") and said.endswith(": every unit is its own motif.")
    (merged,) = edited_findings([said], Edits(), motifs_are_units=False)
    assert merged == said.replace(": every unit is its own motif", "")
    assert edited_findings([merged], Edits(), motifs_are_units=True) == (said,)


def test_what_is_said_of_merges_is_said_anew() -> None:
    found = ["It recurs.", "No composition of units into longer motifs recurs here: every unit is its own motif."]
    merged = edited_findings(found, Edits().merged(["u0", "u2"]), motifs_are_units=False)
    assert merged == (
        "It recurs.",
        "No composition of units into longer motifs recurs here.",
        "Merged by hand, and not tested as one: u2 as u0.",
    )
    assert list(edited_findings(merged, Edits(), motifs_are_units=True)) == found
