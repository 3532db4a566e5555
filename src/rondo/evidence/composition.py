"""Do the units of a motif come in this order more often than units in any order would?

Surrogates and the surprise of a phrase are those of `motifs/mining.py`: units as often as they are, in any order.
A motif is as surprising as its most surprising phrase. It is compared with the most surprising of *all* phrases, up to
the length of the longest in the book, of each surrogate (Westfall & Young 1993): phrases are in the book because they
were found often, and a surrogate may search as well. A chain that knows which unit follows which was tried instead and
explains motifs away: of 36 in planted streams 11 passed, against 36. That u1 is followed by u2 is what a motif says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from rondo.arrays import Floats, Ints
from rondo.data.labels import OTHER, runs_of
from rondo.data.windows import Span
from rondo.evidence.signal import is_clear
from rondo.evidence.verdicts import SIGNIFICANT, Entries, EntryEvidence, Reason, Verdict, comes_back, rank_p
from rondo.evidence.visits import Sample, Visits, graded, held_out
from rondo.motifs.base import PhraseBook, UnitRuns
from rondo.motifs.contexts import ContextModel, persistence, unit_shares
from rondo.motifs.mining import Sequences, sampled
from rondo.motifs.model import MotifModel
from rondo.units.model import joined_spans
from rondo.units.viterbi import Timeline

_LONGEST = 8  # runs; longer phrases are judged by their first ones
_MOST_RUNS, _STRETCH_RUNS = 4000, 400  # more runs are asked about in evenly spread stretches


def composition_evidence(
    runs: UnitRuns, book: PhraseBook, units: Entries, p_whole: float, n_surrogates: int, rng: np.random.Generator
) -> Entries:
    """Evidence for each motif of the book, whose units are those of `units`; p is never smaller than `p_whole`.

    A motif that mostly is a single unit has the evidence of that unit.
    """
    composed, alone = {}, {}  # the phrases of several units, or the unit, that each motif mostly is
    for motif, counts in book.items():
        several = [phrase for phrase in counts if len(phrase) > 1]
        is_composed = 2 * sum(counts[phrase] for phrase in several) > counts.total()
        composed[motif] = several if is_composed else []
        if counts.total() and not is_composed:
            alone[max((phrase for phrase in counts if len(phrase) == 1), key=counts.__getitem__)[0]] = motif
    longest = min(_LONGEST, max((len(phrase) for phrases in composed.values() for phrase in phrases), default=0))
    own, best = {}, np.zeros(0)
    if longest:
        ids = np.array(sorted(units))
        asked, first = sampled(runs.units, runs.first, _MOST_RUNS, _STRETCH_RUNS)
        sequence = Sequences(np.searchsorted(ids, asked)[None], first, ids.size)
        best = sequence.shuffled(n_surrogates, rng).most_surprising(longest)
        own = {tuple(ids[list(phrase)].tolist()): found for phrase, found in sequence.surprises(longest).items()}
    entries: dict[int, EntryEvidence] = {}
    for motif, counts in book.items():
        n = counts.total()
        if not n:
            entries[motif] = EntryEvidence(np.nan, np.nan, n, "not tested")
        elif composed[motif]:
            seen = [own[phrase[:longest]] for phrase in composed[motif] if phrase[:longest] in own]
            p = max(p_whole, rank_p(max(seen), best)) if seen else 1.0  # none lies in the stretches
            entries[motif] = _of_phrases(p, counts, units)
        else:
            (unit, *_), _ = counts.most_common(1)[0]
            entries[motif] = units[unit]._replace(n_occurrences=n, like=alone.get(units[unit].like, OTHER))
    return entries


def accepted_evidence(phrases: MotifModel, units: Entries, p_whole: float) -> Entries:
    """Evidence for phrases from the test by which each was accepted (`motifs/discover.py`), never below `p_whole`."""
    book = phrases.phrase_book()
    return {motif: _of_phrases(max(p_whole, own), book[motif], units) for motif, own in phrases.p_values.items()}


def _of_phrases(p: float, counts: Counter[tuple[int, ...]], units: Entries) -> EntryEvidence:
    """Evidence for a motif of several units: p is about their order, and most of its units say how clear it is.

    Its order tells it from others, so it is never blurred.
    """
    n = counts.total()
    n_clear = n_runs = 0
    for phrase, count in counts.items():
        n_clear += count * sum(units[unit].verdict == "recurs clearly" for unit in phrase)
        n_runs += count * len(phrase)
    verdict: Verdict = "recurs clearly" if 2 * n_clear > n_runs else "recurs faintly"
    if n < 2:
        verdict = "occurs once"
    elif not p <= SIGNIFICANT:
        verdict = "not tested" if np.isnan(p) else "not shown"
    reason = Reason("sequence" if comes_back(verdict) else "")
    return EntryEvidence(p, np.nan, n, verdict, reason, n)


_SHUFFLES, _MOST_SHUFFLES = 79, 400  # two figures at p = 0.025 each; near that, 79 let the seed decide
_MOST_WINDOWS = 400  # long windows that are compared with each other, evenly spread


def context_evidence(
    timelines: Sequence[Timeline], contexts: ContextModel, p_whole: float, rng: np.random.Generator
) -> Entries:
    """Evidence for each context that occurs in these recordings.

    The test is one for the whole level, and p is never smaller than that of the whole signal. Each context is graded by
    its visits, in the mixes of units around their windows.
    """
    p = max(p_whole, level_p(timelines, contexts, rng))
    read, spans = np.concatenate([contexts.timeline(own).ids for own in timelines]), _spans(timelines)
    visits = Visits.of(read, spans, contexts.windows.n_covered)
    sample = Sample.of(visits, read, contexts.windows.n_covered // 2)
    grades = held_out(_mixes_around(sample.windows, timelines, contexts), sample, visits)
    passed = None if np.isnan(p) else p <= SIGNIFICANT
    entries = {}
    for id, n in contexts.occurrences(timelines).items():
        own = EntryEvidence(p, np.nan, n, "not tested", Reason("mix"))
        entries[id] = graded(own, grades[id], passed) if id in grades else own._replace(reason=Reason())
    return entries


def _spans(timelines: Sequence[Timeline]) -> tuple[Span, ...]:
    return joined_spans([own.spans for own in timelines])


def _codes(timelines: Sequence[Timeline], contexts: ContextModel) -> Ints:
    """The place of the unit of every window among those of the contexts."""
    return np.searchsorted(np.array(contexts.unit_ids), np.concatenate([own.ids for own in timelines]))


def _mixes_around(chosen: Ints, timelines: Sequence[Timeline], contexts: ContextModel) -> Floats:
    """Square roots of the shares of units in the long windows around some windows, as far as their spans go."""
    spans = np.array(_spans(timelines))
    own = spans[np.searchsorted(spans[:, 1], chosen, side="right")]
    first = np.maximum(own[:, 0], chosen - contexts.windows.n_covered // 2)
    n_covered = np.minimum(own[:, 1], first + contexts.windows.n_covered) - first
    codes = _codes(timelines, contexts)
    return unit_shares(codes, first, n_covered, len(contexts.unit_ids))


def level_p(timelines: Sequence[Timeline], contexts: ContextModel, rng: np.random.Generator) -> float:
    """Do mixes of units come back more often than they would if units came in any order?

    A context says that the units of one long window are those of another. Two figures ask for it: how alike the mix of
    units in a long window is to the most alike one elsewhere (mean cosine of the square roots of shares), and how alike
    it is to the one that follows on it (correlation of centred shares). The surrogates keep every run of a unit, with
    its length, and shuffle the order of the runs within each span: units come as often and last as long as they did,
    side by side with any other. p is twice the smaller of the two ranks among them. More are drawn where it
    is open on which side of the level a figure lies.
    """
    spans = _spans(timelines)
    codes = _codes(timelines, contexts)
    figures = _figures(codes, spans, contexts)
    level, by_chance = SIGNIFICANT / len(figures), np.zeros((0, len(figures)))
    for n in (_SHUFFLES, _MOST_SHUFFLES - _SHUFFLES):
        more = [_figures(_shuffled(codes, spans, rng), spans, contexts) for _ in range(n)]
        by_chance = np.concatenate([by_chance, more])
        if all(is_clear(figure, column, level) for figure, column in zip(figures, by_chance.T, strict=True)):
            break
    each = [rank_p(figure, column) for figure, column in zip(figures, by_chance.T, strict=True)]
    return min(1.0, len(each) * min(each))


def _figures(codes: Ints, spans: Sequence[Span], contexts: ContextModel) -> tuple[float, float]:
    """How alike the mix of a long window is to the most alike one elsewhere, and to the one that follows on it."""
    long = contexts.windows
    first = long.first_covered(spans)
    mixes = unit_shares(codes, first, long.n_covered, len(contexts.unit_ids))
    lasting = persistence(mixes - mixes.mean(axis=0), long.spans(spans), -(-long.n_covered // long.n_apart))
    asked = np.unique(np.linspace(0, first.size - 1, _MOST_WINDOWS).astype(np.int64))
    cosines = mixes[asked] @ mixes[asked].T
    cosines[np.abs(first[asked][:, None] - first[asked]) < long.n_covered] = -1.0
    nearest = cosines.max(axis=1)
    return float(np.maximum(nearest, 0.0).mean()), lasting


def _shuffled(codes: Ints, spans: Sequence[Span], rng: np.random.Generator) -> Ints:
    """The runs of each span in another order."""
    shuffled = codes.copy()
    for start, stop in spans:
        runs = runs_of(codes[start:stop])
        order = rng.permutation(len(runs))
        shuffled[start:stop] = np.repeat(runs.ids[order], runs.lengths[order])
    return shuffled
