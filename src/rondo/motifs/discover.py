"""Unit timelines -> motifs: test phrases against shuffled order, search for a lexicon, number what it reads.

MotifFormer, the stage of the paper, is `rondo.paper.motifs`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from rondo.arrays import Flags, Floats, Ints
from rondo.config.settings import ComposedMotifsConfig, NoMotifsConfig, SlowUnitsConfig
from rondo.data.windows import Windows
from rondo.motifs.base import MotifKind, UnitRuns
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.contexts import LongWindows, fit_contexts
from rondo.motifs.mining import LEAST_COUNT, Miner, Sequences, sampled
from rondo.motifs.model import MotifModel, PhraseUse
from rondo.motifs.phrases import STANDING, Lexicon, Phrase, grouped
from rondo.motifs.rest import between_rests, rest_of
from rondo.units.model import UnitModel
from rondo.units.viterbi import Timeline
from rondo.wording import Progress

_JUDGED = 8  # units; the surprise of a longer phrase is that of its beginning
_TESTED_RUNS, _SEARCH_RUNS = 2000, 1000  # at most, in evenly spaced stretches
_STRETCH_RUNS = 200  # runs; chosen by hand, not measured
# When labels show phrases instead of contexts. In planted streams of 5 to 20 minutes 62 to 95 % of runs lie in phrases,
# which save 0.6 to 1.9 nats per run, their own description included. In recordings of six public sets it is up to 78 %,
# 1.2 nats, both only where there are one or two phrases (docs/method.md).
_LEAST_SHARE, _LEAST_GAIN = 0.6, 0.5
_FEW, _LEAST_SHARE_OF_FEW, _FEWEST_ROUNDS = 2, 0.9, 10  # as above


class MotifInput(NamedTuple):
    """What a motif stage is fitted to."""

    windows: Sequence[Windows]
    timelines: Sequence[Timeline]
    units: UnitModel
    long_frames: int  # length of the windows in which contexts are looked for
    rng: np.random.Generator
    device: str
    progress: Progress


def fit_none(data: MotifInput, config: NoMotifsConfig | None = None) -> MotifModel:
    """Every unit is its own motif; no setting changes that."""
    return flat_motifs(UnitRuns.of(data.timelines), data.units.ids)


def fit_composed(data: MotifInput, config: ComposedMotifsConfig) -> ComposedMotifs:
    """Phrases and contexts, and which of them labels show."""
    windows, timelines, unit_ids, rng = data.windows, data.timelines, data.units.ids, data.rng
    flat, phrases = fit_none(data), fit_phrases(timelines, unit_ids, config, rng)
    grid = windows[0].grid
    long = LongWindows.of(data.long_frames, (grid.length_frames, grid.step_frames))
    contexts = fit_contexts(windows, timelines, unit_ids, long, SlowUnitsConfig(), rng)
    rest = rest_of(windows, timelines, unit_ids)
    if rest is not None:
        phrases = fit_strophes(UnitRuns.of(timelines), unit_ids, rest, config, rng) or phrases
    shown: MotifKind = "unit" if contexts is None else "context"
    if phrases.rest is not None or _phrases_tell_all(phrases):
        shown = "phrase"
    return ComposedMotifs(flat, phrases if phrases.composed else None, contexts, shown).with_all_unshown()


def _phrases_tell_all(phrases: MotifModel) -> bool:
    """Whether labels should show phrases: most runs lie in them, and they make the runs much shorter to describe.

    Elsewhere phrases are findings, and contexts label every frame. One or two phrases tell little apart, unless they
    are nearly everything, many times over: a cycle that goes round.
    """
    n_several = len({motif for _, motif in phrases.known_phrases})
    if n_several <= _FEW:
        n_rounds = sum(usage.count for usage in phrases.usages if len(usage.phrase) > 1)
        return phrases.share_in_phrases >= _LEAST_SHARE_OF_FEW and n_rounds >= _FEWEST_ROUNDS
    return phrases.share_in_phrases >= _LEAST_SHARE and phrases.gain_per_run >= _LEAST_GAIN


def fit_phrases(
    timelines: Sequence[Timeline], unit_ids: Sequence[int], config: ComposedMotifsConfig, rng: np.random.Generator
) -> MotifModel:
    """Motifs as phrases of units that come back, each accepted by the surrogate test; other runs stay units.

    No phrase crosses the end of a span. `rng` is for the shuffles alone; the search draws nothing.
    """
    runs = UnitRuns.of(timelines)
    codes = np.searchsorted(np.array(unit_ids), runs.units)
    order = _Order.of(codes, runs.first, len(unit_ids), config, rng)
    if order.p(max(order.surprises.values(), default=0.0)) > config.significance:
        return flat_motifs(runs, unit_ids)
    miner = Miner(*sampled(codes, runs.first, _SEARCH_RUNS, _STRETCH_RUNS), len(unit_ids))
    accepted = miner.best()
    while accepted.lexicon.phrases:
        phrases = accepted.lexicon.phrases
        groups = grouped(phrases, config.phrase_distance)
        p_of = order.p_of(phrases, groups)
        kept = [phrase for phrase in phrases if p_of[phrase] <= config.significance]
        if len(kept) == len(phrases):
            gain = (miner.described(()).total - accepted.total) / miner.units.size
            return _numbered(runs, codes, unit_ids, accepted.lexicon, groups, p_of, gain)
        accepted = miner.described(kept)
    return flat_motifs(runs, unit_ids)


class _Order(NamedTuple):
    """How surprising phrases are, and the most surprising one of each shuffled order."""

    surprises: Mapping[Phrase, float]
    chance: Floats

    @classmethod
    def of(
        cls, codes: Ints, first: Flags, n_units: int, config: ComposedMotifsConfig, rng: np.random.Generator
    ) -> _Order:
        """Of runs, in stretches that begin at `first`; no phrase crosses the end of one."""
        units, opened = sampled(codes, first, _TESTED_RUNS, _STRETCH_RUNS)
        sequence = Sequences(units[None], opened, n_units)
        surprises: dict[Phrase, float] = {}
        for phrase, surprise in sequence.surprises(_JUDGED, LEAST_COUNT).items():
            # With the unit before it, after it or both: that u1 u2 comes alone, between two rests, is order too.
            for part in (phrase, phrase[1:], phrase[:-1], phrase[1:-1]):
                surprises[part] = max(surprises.get(part, 0.0), surprise)
        return cls(surprises, sequence.shuffled(config.shuffles, rng).most_surprising(_JUDGED, LEAST_COUNT))

    def p(self, surprise: float) -> float:
        """(1 + shuffles that reach it) / (1 + shuffles)."""
        return float((1 + (self.chance >= surprise).sum()) / (1 + self.chance.size))

    def p_of(self, phrases: Sequence[Phrase], groups: Sequence[int]) -> dict[Phrase, float]:
        """Of each phrase, that of the most surprising one of its group."""
        best = np.zeros(max(groups) + 1)
        np.maximum.at(best, groups, [self.surprises.get(phrase[:_JUDGED], 0.0) for phrase in phrases])
        return {phrase: self.p(best[group]) for phrase, group in zip(phrases, groups, strict=True)}


def fit_strophes(
    runs: UnitRuns, unit_ids: Sequence[int], rest: int, config: ComposedMotifsConfig, rng: np.random.Generator
) -> MotifModel | None:
    """Phrases that are all that is done between two rests; None where that is not the same few things, many times.

    Their order is tested as that of other phrases is: units shuffled between the rests.
    """
    opened, stretches = between_rests(runs, rest)
    often = [phrase for phrase, n in Counter(stretches).items() if n >= LEAST_COUNT and len(phrase) > 1]
    if len(stretches) < _FEWEST_ROUNDS or not often:
        return None
    codes, ids = np.searchsorted(np.array(unit_ids), runs.units), np.array(unit_ids)
    miner = Miner(*sampled(codes, opened, _SEARCH_RUNS, _STRETCH_RUNS), len(unit_ids))
    accepted = miner.described([tuple(np.searchsorted(ids, phrase).tolist()) for phrase in often])
    phrases = accepted.lexicon.phrases
    if not phrases:
        return None
    groups = grouped(phrases, config.phrase_distance)
    p_of = _Order.of(codes, opened, len(unit_ids), config, rng).p_of(phrases, groups)
    if max(p_of.values()) > config.significance:
        return None
    gain = (miner.described(()).total - accepted.total) / miner.units.size
    found = replace(_numbered(runs, codes, unit_ids, accepted.lexicon, groups, p_of, gain), rest=rest)
    return found if found.share_in_phrases >= _LEAST_SHARE_OF_FEW else None


def _numbered(
    runs: UnitRuns,
    codes: Ints,
    unit_ids: Sequence[int],
    lexicon: Lexicon,
    groups: Sequence[int],
    p_of: Mapping[Phrase, float],
    gain: float,
) -> MotifModel:
    """The model that has read all runs; ids follow first appearance, of motifs and of units that stand alone."""
    counts = Counter[tuple[bool, int, Phrase]]()
    for token in lexicon.read(codes, runs.first):
        alone = token.phrase == STANDING
        group = int(codes[token.start]) if alone else groups[token.phrase]
        counts[alone, group, tuple(runs.units[token.start : token.stop].tolist())] += 1
    number = {entry: i for i, entry in enumerate(dict.fromkeys((alone, group) for alone, group, _ in counts))}
    for group in groups:  # one that the stretches held, and the whole reads otherwise
        number.setdefault((False, group), len(number))
    usages = [PhraseUse(number[alone, group], phrase, n) for (alone, group, phrase), n in counts.items()]
    ids = np.array(unit_ids)
    own = [number[False, group] for group in groups]
    missing = dict(zip(own, lexicon.phrases, strict=True))
    for usage in usages:
        missing.pop(usage.motif, None)
    usages += [PhraseUse(motif, tuple(ids[list(phrase)].tolist()), 0) for motif, phrase in missing.items()]
    p_values = {motif: p_of[phrase] for motif, phrase in zip(own, lexicon.phrases, strict=True)}
    return MotifModel(tuple(unit_ids), lexicon, tuple(own), tuple(usages), p_values, gain)


def flat_motifs(runs: UnitRuns, unit_ids: Sequence[int]) -> MotifModel:
    """Every unit is its own motif, under the unit's id."""
    usages = tuple(PhraseUse(int(unit), (int(unit),), int((runs.units == unit).sum())) for unit in unit_ids)
    return MotifModel(tuple(unit_ids), None, (), usages, {}, 0.0)
