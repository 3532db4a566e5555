"""All evidence for a fitted vocabulary: does the recording come back at all, and how clearly does each entry?

The *gate* is a test of the recording as a whole. It passes if one of several tests says so, corrected for all of them
(family-wise 5 %): 3 % for likeness (`signal`), and the rest evenly for spacing, order and, from five recordings on,
place of some unit (`order`), each corrected for all units. So

    p = min over tests of p_test / share_test.

Where the gate passes, entries are graded by their visits (`visits`); motifs pass a test of their kind as well
(`composition`). A p for each entry was tried instead and lost half of those that recur (docs/results/evidence.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rondo.config.settings import RondoConfig
from rondo.data.windows import Windows
from rondo.device import one_thread
from rondo.encoders.base import FittedEncoder
from rondo.evidence.composition import accepted_evidence, composition_evidence, context_evidence
from rondo.evidence.order import FEWEST_RECORDINGS, ids_in, order_test, place_test, spacing_test
from rondo.evidence.signal import SHARE_OF_LIKENESS, alike_test
from rondo.evidence.verdicts import SIGNIFICANT, Entries, EntryEvidence, Evidence, Reason
from rondo.evidence.visits import graded, grades_of
from rondo.motifs.base import Motifs, UnitRuns
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.contexts import ContextModel
from rondo.motifs.model import MotifModel
from rondo.units.model import UnitModel
from rondo.units.viterbi import Timeline

AnyMotifs = Motifs | ContextModel
_SEQUENCES = 99  # as many as accept a phrase (`motifs.shuffles`); with 19 the seed decides about p near 0.05


def find_evidence(
    windows: Sequence[Windows],
    timelines: Sequence[Timeline],
    units: UnitModel,
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
    counts = dict.fromkeys(units.ids, 0) | _unit_counts(_labelled_runs(timelines))
    n_surrogates = config.evidence.surrogates
    if n_surrogates == 0:
        each = [{} if own is None else _counts(own, timelines) for own in (shown, unshown)]
        found = Evidence.not_tested(counts, *each)
    else:
        with one_thread():  # many small matrices
            found, p_order = unit_evidence(windows, timelines, units.encoder, n_surrogates, rng)
        absent = EntryEvidence(np.nan, np.nan, 0, "not tested")
        found = replace(found, units={id: found.units.get(id, absent) for id in counts})
        own = _tested(shown, timelines, found, p_order, rng)
        if isinstance(unshown, MotifModel):  # whose phrases were tested when they were accepted
            beside = accepted_evidence(unshown, found.units, p_order)
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
        return context_evidence(timelines, motifs, found.p, rng)
    return composition_evidence(UnitRuns.of(timelines), motifs.phrase_book(), found.units, p_order, _SEQUENCES, rng)


def shown_after_test(motifs: Motifs, evidence: Evidence) -> tuple[Motifs, Evidence]:
    """What fails its own test is neither shown nor listed.

    Without contexts that pass every unit is its own motif, with its own evidence, if any unit comes back. Where nothing
    does, contexts stay: long sections say more of such a recording than short ones.
    """
    if not isinstance(motifs, ComposedMotifs):
        return motifs, evidence
    if math.isnan(evidence.closeness):  # nothing was tested
        return motifs, evidence
    passes = any(entry.p <= SIGNIFICANT for entry in evidence.motifs.values())
    units_do = any(entry.comes_back for entry in evidence.units.values())
    if motifs.shown_contexts is not None and not passes and units_do:
        motifs, evidence = motifs.showing("unit"), replace(evidence, motifs=evidence.units)
    every = zip(motifs.unshown, evidence.unshown.values(), strict=True)
    passed = [(id, entry) for id, entry in every if entry.verdict not in ("not shown", "not tested", "occurs once")]
    motifs = replace(motifs, unshown=tuple(id for id, _ in passed))
    listed = dict(zip(motifs.unshown_ids, (entry for _, entry in passed), strict=True))
    return motifs, replace(evidence, unshown=listed)


def unit_evidence(
    windows: Sequence[Windows],
    timelines: Sequence[Timeline],
    encoder: FittedEncoder,
    n_surrogates: int,
    rng: np.random.Generator,
) -> tuple[Evidence, float]:
    """Evidence for the whole and for the units that occur, and p of an order that is more than slow change."""
    runs, labels = _labelled_runs(timelines), [timeline.labels for timeline in timelines]
    alike = alike_test(windows, labels, n_surrogates, rng)
    spacing, order = spacing_test(runs), order_test(runs, rng)
    place, where = place_test(labels, rng)
    n_recordings, step = len(labels), windows[0].grid.step_frames
    other = (1 - SHARE_OF_LIKENESS) / (3 if n_recordings >= FEWEST_RECORDINGS else 2)
    p_of: dict[int, dict[Reason, float]] = {}
    for id in ids_in(runs):
        each = {
            Reason("spacing", step * spacing.seen.get(id, 0.0)): spacing.p.get(id, np.nan) / other,
            Reason("order"): order.p.get(id, np.nan) / other,
            Reason(where.get(id, ""), place.seen.get(id, 0.0), n_recordings): place.p.get(id, np.nan) / other,
        }
        p_of[id] = {reason: min(1.0, p) for reason, p in each.items() if not np.isnan(p)}
    p_whole = float(np.minimum(1.0, alike.p / SHARE_OF_LIKENESS))  # NaN stays
    p = _least([p_whole, *(p for each in p_of.values() for p in each.values())])
    if np.isnan(p_whole) and p > SIGNIFICANT:
        p = np.nan  # the test that finds most could not be made
    grades = grades_of(windows, labels, encoder)
    passed = None if np.isnan(p) else p <= SIGNIFICANT
    entries = {}
    for id, n in _unit_counts(runs).items():
        reason = min(p_of[id], key=p_of[id].__getitem__, default=Reason())
        own = EntryEvidence(p_of[id].get(reason, np.nan), alike.units.get(id, np.nan), n, "not tested", reason)
        entries[id] = graded(own, grades[id], passed, alike.closer(id))
    p_order = _least([p_whole, *(own / other for own in order.p.values())])
    return Evidence(p, alike.closeness, alike.by_chance, entries, {}), p_order


def _least(values: Sequence[float]) -> float:
    """The smallest of those that are known; NaN where none is."""
    return min((own for own in values if not np.isnan(own)), default=np.nan)


def _labelled_runs(timelines: Sequence[Timeline]) -> UnitRuns:
    """Runs of the units that label the windows; windows that no unit explains are OTHER."""
    return UnitRuns.of_labels([(timeline.labels, timeline.spans) for timeline in timelines])


def _unit_counts(runs: UnitRuns) -> dict[int, int]:
    return {id: int((runs.units == id).sum()) for id in ids_in(runs)}
