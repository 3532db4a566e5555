"""Do the units of a motif come in this order more often than units in any order would?

Surrogates and the surprise of a phrase are those of `motifs/shuffling.py`: units as often as they are, in any order.
A motif is as surprising as its most surprising phrase. It is compared with the most surprising of *all* phrases, up to
the length of the longest in the book, of each surrogate (Westfall & Young 1993): phrases are in the book because they
were found often, and a surrogate may search as well. A chain that knows which unit follows which was tried instead and
explains motifs away: of 36 in planted streams 11 passed, against 36. That u1 is followed by u2 is what a motif says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from rondo.arrays import Flags, Floats, Ints
from rondo.evidence.reasons import Reason
from rondo.evidence.verdicts import Entries, EntryEvidence, rank_p, verdict_of
from rondo.motifs.base import Motifs
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.model import MotifModel, UnitRuns
from rondo.motifs.phrases import Phrase
from rondo.motifs.shuffling import Sequences

PhraseBook = Mapping[int, Counter[Phrase]]
"""How often each phrase of each motif occurs."""

_LONGEST = 8  # runs; longer phrases are judged by their first ones
_MOST_RUNS, _STRETCHES = 4000, 10  # more runs are asked about in evenly spread stretches


def phrase_book(motifs: Motifs) -> PhraseBook:
    """The phrases in which each motif occurs in the fitted recordings; a motif that occurs nowhere has none."""
    if isinstance(motifs, ComposedMotifs):
        motifs = motifs.by_units
    if isinstance(motifs, MotifModel):
        rows = [(usage.motif, usage.phrase, usage.count) for usage in motifs.usages]
    else:
        from rondo.motifs.former.motifs import FormerMotifs  # brings torch, which is loaded where there is one

        if not isinstance(motifs, FormerMotifs):
            raise TypeError(f"expected motifs with phrases, got {type(motifs).__name__}")
        rows = list(motifs.phrases)
    book: dict[int, Counter[Phrase]] = {id: Counter() for id in motifs.ids}
    for motif, phrase, count in rows:
        book[motif][phrase] += count
    return book


def composition_evidence(
    runs: UnitRuns, book: PhraseBook, units: Entries, p_whole: float, n_surrogates: int, rng: np.random.Generator
) -> Entries:
    """Evidence for each motif of the book, whose units are those of `units`; p is never smaller than `p_whole`.

    A motif that mostly is a single unit has the evidence of that unit.
    """
    composed = {motif: _composed(counts) for motif, counts in book.items()}
    longest = min(_LONGEST, max((len(phrase) for phrases in composed.values() for phrase in phrases), default=0))
    own, best = {}, np.zeros(0)
    if longest:
        ids = np.array(sorted(units))
        units_asked, first = _asked(runs)
        sequence = Sequences(np.searchsorted(ids, units_asked)[None], first, ids.size)
        best = sequence.shuffled(n_surrogates, rng).most_surprising(longest)
        own = {tuple(ids[list(phrase)].tolist()): found for phrase, found in sequence.surprises(longest).items()}
    entries: dict[int, EntryEvidence] = {}
    for motif, counts in book.items():
        n = counts.total()
        if n < 2:
            entries[motif] = EntryEvidence(np.nan, np.nan, n, verdict_of(np.nan, n))
        elif composed[motif]:
            seen = [own[phrase[:longest]] for phrase in composed[motif] if phrase[:longest] in own]
            entries[motif] = _entry(max(seen, default=None), n, best, p_whole)
        else:
            (unit, *_), _ = counts.most_common(1)[0]
            entries[motif] = units[unit]._replace(n_occurrences=n)
    return entries


def accepted_evidence(phrases: MotifModel, p_whole: float) -> Entries:
    """Evidence for phrases from the test by which each was accepted (`motifs/discover.py`), never below `p_whole`."""
    entries = {}
    for motif, own in phrases.p_values.items():
        p, n = max(p_whole, own), phrases.occurrences[motif]
        verdict = verdict_of(p, n)
        entries[motif] = EntryEvidence(p, np.nan, n, verdict, Reason("sequence" if verdict == "recurs" else ""))
    return entries


def _composed(counts: Counter[Phrase]) -> list[Phrase]:
    """The phrases of several units, where those are what the motif mostly is."""
    several = [phrase for phrase in counts if len(phrase) > 1]
    return several if 2 * sum(counts[phrase] for phrase in several) > counts.total() else []


def _asked(runs: UnitRuns) -> tuple[Ints, Flags]:
    """The units and beginnings of all runs, or of stretches of them; a stretch begins like a span."""
    if runs.units.size <= _MOST_RUNS:
        return runs.units, runs.first
    length = _MOST_RUNS // _STRETCHES
    begins = np.linspace(0, runs.units.size - length, _STRETCHES).astype(np.int64)
    chosen = (begins[:, None] + np.arange(length)).ravel()
    first = runs.first[chosen]
    first[::length] = True
    return runs.units[chosen], first


def _entry(surprise: float | None, n_occurrences: int, best: Floats, p_whole: float) -> EntryEvidence:
    if surprise is None:  # none of its phrases lies in the stretches
        return EntryEvidence(np.nan, np.nan, n_occurrences, "not shown")
    p = max(p_whole, rank_p(surprise, best))
    verdict = verdict_of(p)
    return EntryEvidence(p, np.nan, n_occurrences, verdict, Reason("sequence") if verdict == "recurs" else Reason())
