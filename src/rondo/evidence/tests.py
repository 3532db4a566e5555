"""All evidence for a fitted vocabulary: for the whole and for each unit from several tests, then for motifs.

A unit recurs if one test says so, corrected for all units and for all tests at once (family-wise 5 %). Within a test
p holds for all units together; between tests the 5 % are shared out: 3 % to likeness, which few surrogates limit, and
the rest evenly to spacing, order and, from five recordings on, place. So

    p = min over tests of p_test / share_test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rondo.config.settings import RondoConfig
from rondo.data.windows import Windows
from rondo.device import one_thread
from rondo.evidence.composition import accepted_evidence, composition_evidence, context_evidence
from rondo.evidence.order import FEWEST_RECORDINGS, ids_in, order_test, place_test, spacing_test
from rondo.evidence.signal import alike_test
from rondo.evidence.verdicts import SIGNIFICANT, Entries, EntryEvidence, Evidence, Reason, comes_back, verdict_of
from rondo.motifs.base import Motifs, UnitRuns
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.contexts import ContextModel
from rondo.motifs.model import MotifModel
from rondo.units.viterbi import Timeline

AnyMotifs = Motifs | ContextModel
_SHARE_OF_LIKENESS = 0.6  # 3 of the 5 %: few surrogates limit it, see above; chosen by hand, not measured
_SEQUENCES = 19  # the least with which the rank of a motif reaches p = 0.05


def find_evidence(
    windows: Sequence[Windows],
    timelines: Sequence[Timeline],
    unit_ids: Sequence[int],
    motifs: Motifs,
    config: RondoConfig,
    rng: np.random.Generator,
) -> Evidence:
    """Evidence in these windows for the units of their timelines and for the motifs found in them.

    It draws from `rng` only and changes nothing. With no surrogates nothing is tested.
    """
    shown: AnyMotifs = motifs
    unshown: AnyMotifs | None = None
    if isinstance(motifs, ComposedMotifs):
        shown, unshown = motifs.shown_model, motifs.unshown_model if motifs.unshown else None
    counts = dict.fromkeys(unit_ids, 0) | _unit_counts(_labelled_runs(timelines))
    n_surrogates = config.evidence.surrogates
    if n_surrogates == 0:
        each = [{} if own is None else _counts(own, timelines) for own in (shown, unshown)]
        found = Evidence.not_tested(counts, *each)
    else:
        with one_thread():  # many small matrices
            found, p_order = unit_evidence(windows, timelines, n_surrogates, rng)
        units = {
            id: found.units.get(id, EntryEvidence(np.nan, np.nan, n, verdict_of(np.nan, n))) for id, n in counts.items()
        }
        found = replace(found, units=units)
        own = _tested(shown, timelines, found, p_order, rng)
        if isinstance(unshown, MotifModel):  # whose phrases were tested when they were accepted
            beside = accepted_evidence(unshown, p_order)
        else:
            beside = {} if unshown is None else _tested(unshown, timelines, found, p_order, rng)
        found = replace(found, motifs=own, unshown=beside)
    if not isinstance(motifs, ComposedMotifs):
        return found
    renamed = {id: found.unshown[own] for id, own in zip(motifs.unshown_ids, motifs.unshown, strict=True)}
    return replace(found, unshown=renamed)


def _counts(motifs: AnyMotifs, timelines: Sequence[Timeline]) -> dict[int, int]:
    """How often each motif occurs."""
    if isinstance(motifs, ContextModel):
        return motifs.occurrences(timelines)
    return {id: phrases.total() for id, phrases in motifs.phrase_book().items()}


def _tested(
    motifs: AnyMotifs, timelines: Sequence[Timeline], found: Evidence, p_order: float, rng: np.random.Generator
) -> Entries:
    """Evidence for motifs of one kind, by the test of that kind."""
    if isinstance(motifs, ContextModel):
        return context_evidence(timelines, motifs.occurrences(timelines), motifs, found.p, rng)
    return composition_evidence(UnitRuns.of(timelines), motifs.phrase_book(), found.units, p_order, _SEQUENCES, rng)


def shown_after_test(motifs: Motifs, evidence: Evidence) -> tuple[Motifs, Evidence]:
    """What fails its own test is neither shown nor listed.

    Without contexts that pass every unit is its own motif, with its own evidence.
    """
    if not isinstance(motifs, ComposedMotifs):
        return motifs, evidence
    tested = list(zip(motifs.unshown, evidence.unshown.values(), strict=True))
    # NaN: not tested
    if motifs.shown_contexts is not None and all(entry.p > SIGNIFICANT for entry in evidence.motifs.values()):
        motifs, evidence = motifs.showing("unit"), replace(evidence, motifs=evidence.units)
    passed = [(id, entry) for id, entry in tested if entry.comes_back or entry.verdict == "not tested"]
    motifs = replace(motifs, unshown=tuple(id for id, _ in passed))
    listed = dict(zip(motifs.unshown_ids, (entry for _, entry in passed), strict=True))
    return motifs, replace(evidence, unshown=listed)


def unit_evidence(
    windows: Sequence[Windows], timelines: Sequence[Timeline], n_surrogates: int, rng: np.random.Generator
) -> tuple[Evidence, float]:
    """Evidence for the whole and for the units that occur, and p of an order that is more than slow change."""
    runs, labels = _labelled_runs(timelines), [timeline.labels for timeline in timelines]
    alike = alike_test(windows, labels, n_surrogates, rng)
    spacing, order = spacing_test(runs), order_test(runs, rng)
    place, where = place_test(labels, rng)
    n_recordings, step = len(labels), windows[0].grid.step_frames
    other = (1 - _SHARE_OF_LIKENESS) / (3 if n_recordings >= FEWEST_RECORDINGS else 2)
    entries = {}
    for id, n in _unit_counts(runs).items():
        p_alike, closeness = alike.units.get(id, (np.nan, np.nan))
        each: dict[Reason, float] = {
            Reason("alike"): p_alike / _SHARE_OF_LIKENESS,
            Reason("spacing", step * spacing.seen.get(id, 0.0)): spacing.p.get(id, np.nan) / other,
            Reason("order"): order.p.get(id, np.nan) / other,
            Reason(where.get(id, ""), place.seen.get(id, 0.0), n_recordings): place.p.get(id, np.nan) / other,
        }
        known = {reason: p for reason, p in each.items() if not np.isnan(p)}
        if n < 2 or not known:
            entries[id] = EntryEvidence(np.nan, closeness, n, verdict_of(np.nan, n))
            continue
        reason = min(known, key=known.__getitem__)
        p = min(1.0, known[reason])
        verdict = verdict_of(p, n)
        entries[id] = EntryEvidence(p, closeness, n, verdict, reason if comes_back(verdict) else Reason())
    p_whole = min(1.0, alike.p / _SHARE_OF_LIKENESS)
    p = min([p_whole, *(entry.p for entry in entries.values() if not np.isnan(entry.p))])
    p_order = min([p_whole, *(own / other for own in order.p.values())])
    return Evidence(p, alike.closeness, alike.by_chance, entries, {}), p_order


def _labelled_runs(timelines: Sequence[Timeline]) -> UnitRuns:
    """Runs of the units that label the windows; windows that no unit explains are OTHER."""
    return UnitRuns.of_labels([(timeline.labels, timeline.spans) for timeline in timelines])


def _unit_counts(runs: UnitRuns) -> dict[int, int]:
    return {id: int((runs.units == id).sum()) for id in ids_in(runs)}
