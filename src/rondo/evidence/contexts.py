"""Do mixes of units come back, oftener than their order by chance would have it?

A context says that the units of one long window are those of another, elsewhere. The figure is how alike the mix of
units in a long window is to the most alike one with which it shares no frame: the mean cosine of the square roots of
shares. The surrogates keep every run of a unit, with its length, and shuffle the order of the runs within each span:
units come as often and last as long as they did, side by side with any other. p is the rank of the figure among them.

The test is one for the whole level. A context that comes back recurs if the level passes and the recording does
(p is never smaller than that of the whole signal); one that does not, occurs once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rondo.arrays import Ints
from rondo.data.labels import runs_of
from rondo.data.windows import Span, Windows
from rondo.evidence.verdicts import Entries, EntryEvidence, rank_p, verdict_of
from rondo.motifs.contexts import ContextModel, unit_shares
from rondo.units.model import joined_spans
from rondo.units.timeline import Timeline

_MOST_WINDOWS = 400  # long windows that are compared with each other, evenly spread


def context_evidence(
    windows: Sequence[Windows],
    timelines: Sequence[Timeline],
    contexts: ContextModel,
    p_whole: float,
    n_surrogates: int,
    rng: np.random.Generator,
) -> Entries:
    """Evidence for each context in these recordings."""
    p = max(p_whole, level_p(timelines, contexts, n_surrogates, rng))
    counts = dict.fromkeys(contexts.ids, 0)
    for own, units in zip(windows, timelines, strict=True):
        timeline = contexts.timeline(units, own)
        for id in timeline.ids[timeline.begins].tolist():
            counts[id] += 1
    entries = {}
    for id, n in counts.items():
        if n < 2:
            entries[id] = EntryEvidence(np.nan, np.nan, n, "occurs once" if n else "not tested")
        else:
            entries[id] = EntryEvidence(p, np.nan, n, verdict_of(p))
    return entries


def level_p(
    timelines: Sequence[Timeline], contexts: ContextModel, n_surrogates: int, rng: np.random.Generator
) -> float:
    """The p of the level: whether mixes of units come back."""
    spans = joined_spans([own.spans for own in timelines])
    codes = np.searchsorted(np.array(contexts.unit_ids), np.concatenate([own.ids for own in timelines]))
    figure = _figure(codes, spans, contexts)
    by_chance = np.array([_figure(_shuffled(codes, spans, rng), spans, contexts) for _ in range(n_surrogates)])
    return rank_p(figure, by_chance)


def _figure(codes: Ints, spans: Sequence[Span], contexts: ContextModel) -> float:
    long = contexts.windows
    first = long.first_covered(spans)
    first = first[np.unique(np.linspace(0, first.size - 1, _MOST_WINDOWS).astype(np.int64))]
    mixes = unit_shares(codes, first, long.n_covered, len(contexts.unit_ids))
    cosines = mixes @ mixes.T
    cosines[np.abs(first[:, None] - first) < long.n_covered] = -1.0
    nearest = cosines.max(axis=1)
    return float(nearest[nearest >= 0].mean()) if (nearest >= 0).any() else 0.0


def _shuffled(codes: Ints, spans: Sequence[Span], rng: np.random.Generator) -> Ints:
    """The runs of each span in another order."""
    shuffled = codes.copy()
    for start, stop in spans:
        runs = runs_of(codes[start:stop])
        order = rng.permutation(len(runs))
        shuffled[start:stop] = np.repeat(runs.ids[order], runs.lengths[order])
    return shuffled
