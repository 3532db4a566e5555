"""Do the units of a motif come in this order more often than units in any order would?

The surrogates are sequences of unit runs in which every unit comes as often as in the recording, in any order, but
never twice in a row (two runs of one unit would be one):

    P(v follows u) = a_v / (1 - a_u),  v != u,  with a such that units come with the frequencies they have.

How surprising it is that a phrase w_1 .. w_n occurs c times is asked of the same chain, fitted to the sequence itself:

    surprise = -log P(Poisson(e) >= c),   e = starts(w_1) P(w_2 follows w_1) .. P(w_n follows w_n-1)

A motif is as surprising as its most surprising phrase. It is compared with the most surprising of *all* phrases, up to
the length of the longest in the book, of each surrogate (Westfall & Young 1993): phrases are in the book because they
were found often, and a surrogate may search as well. A chain that knows which unit follows which was tried instead and
explains motifs away: of 36 in planted streams 11 passed, against 36. That u1 is followed by u2 is what a motif says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import gammainc

from rondo.arrays import Flags, Floats, Ints
from rondo.evidence.reasons import Reason
from rondo.evidence.verdicts import Entries, EntryEvidence, rank_p, verdict_of
from rondo.motifs.base import Motifs
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.model import MotifModel, UnitRuns
from rondo.motifs.phrases import Phrase

PhraseBook = Mapping[int, Counter[Phrase]]
"""How often each phrase of each motif occurs."""

_LONGEST = 8  # runs; longer phrases are judged by their first ones
_MOST_RUNS, _STRETCHES = 4000, 10  # more runs are asked about in evenly spread stretches
_BISECTIONS = 60
_LEAST_SCALE = 1e-6  # of weights beside one that takes nearly all
_LEAST_PROBABILITY = 1e-300


def phrase_book(motifs: Motifs) -> PhraseBook:
    """The phrases in which each motif occurs in the fitted recordings; a motif that occurs nowhere has none."""
    if isinstance(motifs, ComposedMotifs):
        motifs = motifs.by_units or motifs.flat
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
        sequence = _Sequences(np.searchsorted(ids, units_asked)[None], first, ids.size)
        chance = sequence.shuffled(n_surrogates, rng)
        own = {
            tuple(ids[phrase].tolist()): surprise
            for found in sequence.phrases(longest)
            for phrase, surprise in zip(found.units[0], found.surprise[0], strict=True)
        }
        best = np.max([found.surprise.max(axis=1, initial=0.0) for found in chance.phrases(longest)], axis=0)
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


class _Found(NamedTuple):
    """The phrase of one length that begins at each place of each sequence."""

    units: Ints  # (n_sequences, n_places, length)
    surprise: Floats  # (n_sequences, n_places)


class _Sequences(NamedTuple):
    """Sequences of unit runs that are cut into the same spans; units are 0 .. n_units-1."""

    units: Ints  # (n_sequences, n_runs)
    first: Flags  # (n_runs,), True where a span begins
    n_units: int

    def shuffled(self, n: int, rng: np.random.Generator) -> _Sequences:
        """n surrogates of the first sequence."""
        weights = quasi_independent(self._frequencies()[0])
        drawn = np.empty((n, self.units.shape[1]), dtype=np.int64)
        for place, chance in enumerate(rng.random((self.units.shape[1], n))):
            left = np.tile(weights, (n, 1))
            if not self.first[place]:
                left[np.arange(n), drawn[:, place - 1]] = 0.0
            steps = np.cumsum(left, axis=1)
            drawn[:, place] = (steps <= chance[:, None] * steps[:, -1:]).sum(axis=1)
        return _Sequences(drawn, self.first, self.n_units)

    def phrases(self, longest: int) -> Iterator[_Found]:
        """Of each length from 2, all phrases that no span's end cuts, and how surprising their numbers are."""
        span, rows = np.cumsum(self.first), np.arange(len(self.units))[:, None]
        weights = np.stack([quasi_independent(own) for own in self._frequencies()])
        with np.errstate(divide="ignore"):
            follows = np.log(weights)[rows, self.units[:, 1:]] - np.log1p(-weights)[rows, self.units[:, :-1]]
        expected, codes = np.zeros(self.units.shape), self.units
        for length in range(2, min(longest, self.units.shape[1]) + 1):
            n_places = self.units.shape[1] - length + 1
            expected = expected[:, :n_places] + follows[:, length - 2 :]
            codes = codes[:, :n_places] * self.n_units + self.units[:, length - 1 :]
            whole = np.flatnonzero(span[:n_places] == span[length - 1 :])
            starts = _counts(self.units[:, whole])
            counts = _counts(codes[:, whole])
            tail = gammainc(counts, starts * np.exp(expected[:, whole]))
            surprise = np.where(counts > 1, -np.log(np.maximum(tail, _LEAST_PROBABILITY)), 0.0)
            yield _Found(self.units[:, whole[:, None] + np.arange(length)], surprise)

    def _frequencies(self) -> Floats:
        counts = [np.bincount(own, minlength=self.n_units) for own in self.units]
        return np.asarray(np.stack(counts) / self.units.shape[1])


def quasi_independent(frequencies: Floats) -> Floats:
    """The weights a of the chain, P(v follows u) = a_v / (1 - a_u), in which units come with these frequencies q.

    The chain is reversible, with frequencies proportional to a_u (1 - a_u). So a_u = (1 -+ sqrt(1 - 4 c q_u)) / 2 with
    the c that makes them sum to one, and plus for the commonest unit only, where minus does not reach one. No unit can
    be more than every second run of such a chain; one that is gets nearly all the weight.

    >>> quasi_independent(np.array([0.2, 0.2, 0.2, 0.4])).round(3).tolist()
    [0.143, 0.143, 0.143, 0.571]
    """
    top = int(frequencies.argmax())
    low, high = _LEAST_SCALE, 0.25 / frequencies[top]

    def weights(c: float, sign: float) -> Floats:
        roots = np.sqrt(np.maximum(1 - 4 * c * frequencies, 0.0))
        roots[top] *= sign
        return np.asarray((1 - roots) / 2)

    sign = 1.0 if weights(high, 1.0).sum() >= 1 else -1.0
    for _ in range(_BISECTIONS):
        c = (low + high) / 2
        if (weights(c, sign).sum() - 1) * sign < 0:
            low = c
        else:
            high = c
    return weights(high, sign)


def _counts(codes: Ints) -> Ints:
    """How often each code occurs in its row, at each of its places."""
    counts = np.empty(codes.shape, dtype=np.int64)
    for own, row in zip(counts, codes, strict=True):
        _, places, times = np.unique(row, return_inverse=True, return_counts=True)
        own[:] = times[places]
    return counts
