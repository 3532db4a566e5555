"""Evidence of contexts: mixes that come back are claimed, runs of units in any order are not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rondo.config.settings import SlowUnitsConfig
from rondo.data.labels import runs_of
from rondo.evidence import composition
from rondo.evidence.composition import context_evidence, level_p
from rondo.evidence.tests import shown_after_test
from rondo.evidence.verdicts import SIGNIFICANT, EntryEvidence, Evidence, Verdict
from rondo.motifs.base import MotifKind, UnitRuns
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.contexts import ContextModel, LongWindows, fit_contexts
from rondo.motifs.discover import flat_motifs
from rondo.motifs.model import MotifModel, PhraseUse
from rondo.motifs.phrases import Lexicon
from rondo.units.viterbi import Timeline
from tests.motifs.planted_contexts import LENGTH, LONG, STEP, cut, planted

UNITS = (0, 1, 2)


@pytest.fixture(scope="module")
def line() -> Timeline:
    values, units, _ = planted()
    return cut(values, units)[1]


@pytest.fixture(scope="module")
def contexts(line: Timeline) -> ContextModel:
    values, units, _ = planted()
    wide = LongWindows.of(LONG, (LENGTH, STEP))
    found = fit_contexts([cut(values, units)[0]], [line], UNITS, wide, SlowUnitsConfig(), np.random.default_rng(0))
    assert found is not None
    return found


def in_any_order(line: Timeline, seed: int) -> Timeline:
    """The same runs, of the same lengths."""
    runs = runs_of(line.ids)
    order = np.random.default_rng(seed).permutation(len(runs))
    return replace(line, ids=np.repeat(runs.ids[order], runs.lengths[order]))


def test_planted_contexts_are_claimed(line: Timeline, contexts: ContextModel) -> None:
    entries = context_evidence([line], contexts, 0.05, np.random.default_rng(0))
    assert set(entries) == set(contexts.ids)
    occurrences = contexts.occurrences([line])
    for id, entry in entries.items():
        assert (entry.verdict, entry.reason.kind, entry.n_occurrences) == ("recurs clearly", "mix", occurrences[id])
        assert 2 <= entry.n_visits <= entry.n_occurrences and entry.recognised == 1 and entry.like in contexts.ids
        assert entry.p == 0.05 and np.isnan(entry.closeness)
        assert "same units come together" in entry.reason.in_words()


@pytest.mark.slow
def test_runs_in_any_order_are_not_claimed_oftener_than_a_test_may(line: Timeline, contexts: ContextModel) -> None:
    each = [level_p([in_any_order(line, seed)], contexts, np.random.default_rng(seed)) for seed in range(40)]
    assert np.mean(np.array(each) <= SIGNIFICANT) <= 0.125  # five of forty: more would come by chance once in 70
    assert np.median(each) > 0.2
    assert level_p([line], contexts, np.random.default_rng(0)) == 2 / 80  # the least that 79 shuffles can give


@pytest.mark.parametrize(("z", "n_shuffles"), [(0.3, 79), (2.1, 400), (9.0, 79)])
def test_more_orders_are_drawn_only_near_the_level(
    line: Timeline, contexts: ContextModel, monkeypatch: pytest.MonkeyPatch, z: float, n_shuffles: int
) -> None:
    figures = [(z, z), *np.random.default_rng(0).standard_normal((400, 2)).tolist()]
    left = iter(figures)
    monkeypatch.setattr(composition, "_figures", lambda *_: next(left))
    level_p([line], contexts, np.random.default_rng(0))
    assert len(figures) - 1 - len(list(left)) == n_shuffles


def test_without_order_nothing_recurs(line: Timeline, contexts: ContextModel) -> None:
    other = in_any_order(line, seed=1)
    entries = context_evidence([other], contexts, 0.05, np.random.default_rng(0))
    assert {entry.verdict for entry in entries.values()} == {"not shown"}
    assert {entry.reason.kind for entry in entries.values()} == {""}


def test_a_recording_that_does_not_recur_has_no_context_that_does(line: Timeline, contexts: ContextModel) -> None:
    entries = context_evidence([line], contexts, 0.4, np.random.default_rng(0))
    assert {(entry.verdict, entry.p) for entry in entries.values()} == {("not shown", 0.4)}


def test_what_comes_once_occurs_once(line: Timeline, contexts: ContextModel) -> None:
    ends = np.flatnonzero(np.diff(contexts.timeline(line).ids)) + 1
    part = Timeline(line.ids[: ends[1]], line.distances[: ends[1]], ((0, int(ends[1])),))
    entries = context_evidence([part], contexts, 0.05, np.random.default_rng(0))
    occurring = [entry for entry in entries.values() if entry.n_occurrences]
    assert len(occurring) == 2
    assert {(entry.verdict, entry.reason.kind, entry.n_visits) for entry in occurring} == {("occurs once", "", 1)}


def test_contexts_that_fail_their_test_give_way_to_units_that_come_back(line: Timeline, contexts: ContextModel) -> None:
    motifs = ComposedMotifs(flat_motifs(UnitRuns.of([line]), UNITS), None, contexts, "context")
    known = Evidence.not_tested(dict.fromkeys(UNITS, 5), dict.fromkeys(contexts.ids, 5))
    found, evidence = shown_after_test(motifs, known)  # nothing was asked
    assert isinstance(found, ComposedMotifs) and found.shown == "context" and evidence.motifs is known.motifs
    recurring = {id: entry._replace(verdict="recurs clearly") for id, entry in known.units.items()}
    mixed = in_any_order(line, seed=1)
    for timeline, units, shown in (
        (line, recurring, "context"),
        (mixed, recurring, "unit"),
        (mixed, known.units, "context"),
    ):
        entries = context_evidence([timeline], contexts, 0.05, np.random.default_rng(0))
        tested = replace(known, p=0.05, closeness=1.0, motifs=entries, units=units)
        found, evidence = shown_after_test(motifs, tested)
        assert isinstance(found, ComposedMotifs) and found.shown == shown
        assert set(evidence.motifs) == set(found.ids)
        assert evidence.motifs == (entries if shown == "context" else units)
        assert found.contexts is contexts  # kept, not shown


@pytest.mark.parametrize("shown", ["phrase", "unit"])
def test_only_what_passes_its_test_is_listed_beside_what_is_shown(
    line: Timeline, contexts: ContextModel, shown: MotifKind
) -> None:
    flat = flat_motifs(UnitRuns.of([line]), UNITS)
    usages = (PhraseUse(3, (0, 1), 4), PhraseUse(4, (1, 2), 4), *flat.usages)
    lexicon = Lexicon(((0, 1), (1, 2)), np.zeros((2, 5)))
    phrases = MotifModel(UNITS, lexicon, (3, 4), usages, {3: 0.01, 4: 0.01}, 1.0)
    motifs = ComposedMotifs(flat, phrases, contexts, shown).with_all_unshown()
    beside = contexts.ids if shown == "phrase" else (3, 4)
    assert motifs.unshown == beside and motifs.ids == ((0, 1, 2, 3, 4) if shown == "phrase" else UNITS)
    first = len(motifs.ids)
    assert motifs.unshown_ids == tuple(range(first, first + len(beside)))
    verdicts: tuple[Verdict, ...] = ("not shown", "recurs clearly", "occurs once")
    entries = {
        id: EntryEvidence(0.5, np.nan, 4, verdict) for id, verdict in zip(motifs.unshown_ids, verdicts, strict=False)
    }
    known = Evidence.not_tested(dict.fromkeys(UNITS, 5), dict.fromkeys(motifs.ids, 5))
    known = replace(known, p=0.01, closeness=1.0, unshown=entries)
    found, evidence = shown_after_test(motifs, known)
    assert isinstance(found, ComposedMotifs) and found.shown == shown and found.ids == motifs.ids
    assert found.unshown == beside[1:2] and found.unshown_ids == (first,)
    assert evidence.unshown == {first: entries[first + 1]} and evidence.motifs is known.motifs
    assert found.kind(first) == ("context" if shown == "phrase" else "phrase")
    again = Evidence.restore(evidence.tensors(), UNITS, found.ids, found.unshown_ids)
    assert {id: entry.verdict for id, entry in again.unshown.items()} == {first: "recurs clearly"}
    with pytest.raises(ValueError, match="about other units"):
        Evidence.restore(evidence.tensors(), UNITS, found.ids, ())
