"""The first line of a run: which kind of entry it is about, what it counts, and that every place says the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rondo.run.headline import heading_of, headline, headline_kind, kinds_of, leading_kind, motifs_by_kind
from rondo.run.summary import EntryEvidenceSummary, EntrySummary, FitSummary, RunSummary, VocabularyEvidence
from rondo.wording import found_in_words
from tests.run.test_findings import summary

CLEAR, FAINT, BLUR, ONCE, NOT = "recurs clearly", "recurs faintly", "blurred", "occurs once", "not shown"
TESTED = VocabularyEvidence(p=0.05, recurs=True)


def entry(id: int, verdict: str, share: float = 0.1, kind: str = "", visits: int = 4, **more: Any) -> EntrySummary:
    lasts = {
        f"{name}_duration_{axis}": 6.0 for name in ("mean", "p10", "median", "p90") for axis in ("frames", "s")
    }  # fmt: skip
    evidence = EntryEvidenceSummary(verdict=verdict, p=0.05, n_visits=visits) if verdict else None
    plain: dict[str, Any] = {"id": id, "n_occurrences": visits, "share": share, "exemplars": (), "kind": kind}
    return EntrySummary(**plain, **lasts, evidence=evidence, **more)


def group(kind: str, verdicts: Sequence[str], share: float, first: int = 0, **more: Any) -> tuple[EntrySummary, ...]:
    n = max(1, len(verdicts))
    return tuple(entry(first + i, verdict, share / n, kind, **more) for i, verdict in enumerate(verdicts))


def run_of(units: Sequence[EntrySummary], motifs: Sequence[EntrySummary] = (), **more: Any) -> RunSummary:
    plain = summary(evidence=TESTED)
    return plain.model_copy(
        update={"units": tuple(units), "motifs": tuple(motifs), "recordings": plain.recordings[:1]} | more
    )


@pytest.mark.parametrize(
    ("shares", "labelled", "lane", "kind"),
    [
        ({"unit": 0.9}, "motif", "motif", "unit"),
        ({"phrase": 0.6, "unit": 0.9}, "phrase", "phrase", "phrase"),
        ({"phrase": 0.2, "unit": 0.9}, "phrase", "phrase", "unit"),  # most of what comes back is no phrase
        ({"context": 0.8, "phrase": 0.6, "unit": 0.9}, "context", "context", "context"),
        ({"context": 0.8, "phrase": 0.6, "unit": 0.9}, "phrase", "phrase", "phrase"),  # contexts cover more by nature
        ({"context": 0.8, "phrase": 0.3, "unit": 0.9}, "phrase", "context", "context"),
        ({"context": 0.0, "phrase": 0.6, "unit": 0.9}, "context", "phrase", "phrase"),  # they all occur once
        ({"context": 0.0, "phrase": 0.1, "unit": 0.9}, "context", "phrase", "unit"),
        ({"context": 0.0, "unit": 0.9}, "context", "context", "unit"),
        ({"phrase": 0.0, "unit": 0.0}, "phrase", "phrase", "unit"),
        ({"phrase": 0.3, "unit": 0.0}, "phrase", "phrase", "phrase"),
    ],
)
def test_the_headline_is_about_what_comes_back(shares: dict[str, float], labelled: str, lane: str, kind: str) -> None:
    first = leading_kind({name: share for name, share in shares.items() if name != "unit"}, labelled)
    assert (first, headline_kind(shares, first)) == (lane, kind)


EIGHT = group("", [CLEAR] * 5 + [FAINT] * 2 + [ONCE], 0.9)
PHRASES = group("phrase", [CLEAR] * 4 + [FAINT], 0.6, first=10, in_labels=False)
SECTIONS = group("context", [ONCE] * 3, 1.0, first=20)


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (run_of(EIGHT[:7]), "7 units come back, 5 of them clearly, in 10 frames of 1 channel"),
        (run_of(EIGHT), "7 of 8 units come back, 5 of them clearly, in 10 frames of 1 channel; 1 occurs once"),
        (
            run_of(EIGHT, (*SECTIONS, *PHRASES)),
            "5 phrases and 3 sections made of 8 units; 5 phrases come back, 4 of them clearly, "
            "in 10 frames of 1 channel",
        ),
        (
            run_of(EIGHT[:7], SECTIONS),
            "3 sections made of 7 units; 7 units come back, 5 of them clearly, in 10 frames of 1 channel",
        ),
        (
            run_of(group("", [FAINT, BLUR, BLUR], 0.9)),
            "1 of 3 units comes back faintly in 10 frames of 1 channel",
        ),
        (
            run_of(EIGHT[:4], evidence=VocabularyEvidence(p=0.6, recurs=False)),
            "4 units found in 10 frames of 1 channel, but slow random change would look the same (p = 0.6)",
        ),
        (run_of(group("", [""] * 2, 0.9), evidence=None), "2 units found in 10 frames of 1 channel"),
        (
            run_of((*EIGHT[:2], entry(2, CLEAR, visits=2), entry(3, CLEAR, 0.01, visits=2))),
            "4 units come back clearly in 10 frames of 1 channel; u3 is rare: twice, 12 s in all: look at both",
        ),
        (run_of(EIGHT[:2], kind="label"), "2 units occur in 10 frames of 1 channel"),
        (
            run_of(group("", [ONCE, ONCE], 0.9)),
            "none of 2 units comes back in 10 frames of 1 channel; 2 occur once",
        ),
    ],
)
def test_first_lines(run: RunSummary, words: str) -> None:
    assert headline(run) == words == run.as_json()["headline"]


def test_the_counts_of_the_first_line_add_up_to_the_entries() -> None:
    standing = entry(30, CLEAR, 0.2, "unit")  # the motif of a unit by itself is that unit
    run = run_of(EIGHT, (*PHRASES, *SECTIONS, standing))
    counts = {kind: len(own) for kind, own in kinds_of(run).items()}
    assert counts == {"phrase": 5, "section": 3, "unit": 8}
    assert sum(counts.values()) == len(run.units) + len(run.motifs) - 1
    assert headline(run).startswith(found_in_words(counts))


def test_the_lane_that_is_shown_first_holds_what_comes_back() -> None:
    phrases_first = run_of(EIGHT, (*SECTIONS, *PHRASES))
    assert [*motifs_by_kind(phrases_first)] == ["phrase", "context"]
    nothing_else = run_of(EIGHT, SECTIONS)
    assert [*motifs_by_kind(nothing_else)] == ["context"]
    contexts = group("context", [CLEAR] * 3, 1.0, first=20)
    assert [*motifs_by_kind(run_of(EIGHT, (*contexts, *PHRASES)))] == ["context", "phrase"]
    assert [*motifs_by_kind(run_of(EIGHT, group("", [CLEAR], 0.5)))] == ["motif"]
    assert motifs_by_kind(run_of(EIGHT)) == {}


def test_headings_name_sections() -> None:
    assert heading_of("context", SECTIONS) == "Sections" and heading_of("phrase", PHRASES) == "Phrases"
    assert heading_of("context", (*SECTIONS, entry(9, CLEAR, 0.1, "context"))) == "Contexts and sections"


def test_whether_the_model_fits_follows() -> None:
    run = run_of(EIGHT[:2], kind="label")
    fit = FitSummary(verdict="fits", n_units=1, n_units_of_model=1, share_accepted=1.0, distance_quantiles={})
    one = run.recordings[0].model_copy(update={"fit": fit, "share_other": 0.25})
    other = one.model_copy(update={"fit": fit.model_copy(update={"verdict": "does not fit"})})
    assert headline(run.model_copy(update={"recordings": (one,)})).endswith("; 25 % OTHER; the model fits")
    assert headline(run.model_copy(update={"recordings": (one, other)})).endswith("; the model fits 1 of 2")
