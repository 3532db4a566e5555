"""Do mixes of units come back more often than they would if units came in any order?

A context says that the units of one long window are those of another. Two figures ask for it: how alike the mix of
units in a long window is to the most alike one elsewhere (mean cosine of the square roots of shares), and how alike it
is to the one that follows on it (correlation of centred shares). The surrogates keep every run of a unit, with its
length, and shuffle the order of the runs within each span: units come as often and last as long as they did, side by
side with any other. p is twice the smaller of the two ranks among them.

The test is one for the whole level. A context that comes back recurs if the level passes and the recording does
(p is never smaller than that of the whole signal); one that does not come back occurs once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rondo.arrays import Ints
from rondo.data.labels import runs_of
from rondo.data.windows import Span
from rondo.evidence.reasons import Reason
from rondo.evidence.verdicts import SIGNIFICANT, Entries, EntryEvidence, rank_p, verdict_of
from rondo.motifs.contexts import ContextModel
from rondo.motifs.long_windows import persistence, unit_shares
from rondo.units.model import joined_spans
from rondo.units.timeline import Timeline

_SHUFFLES = 79  # two figures at p = 0.025 each; they cost next to nothing
_MOST_WINDOWS = 400  # long windows that are compared with each other, evenly spread


def context_evidence(
    timelines: Sequence[Timeline],
    occurrences: Mapping[int, int],
    contexts: ContextModel,
    p_whole: float,
    rng: np.random.Generator,
) -> Entries:
    """Evidence for each context that occurs so often in these recordings."""
    p = max(p_whole, level_p(timelines, contexts, rng))
    reason = Reason("mix") if p <= SIGNIFICANT else Reason()
    verdicts = {id: verdict_of(p, n) for id, n in occurrences.items()}
    return {
        id: EntryEvidence(p, np.nan, n, verdicts[id], reason if verdicts[id] == "recurs" else Reason())
        for id, n in occurrences.items()
    }


def level_p(timelines: Sequence[Timeline], contexts: ContextModel, rng: np.random.Generator) -> float:
    """The p of the level: whether mixes of units come back, or last."""
    spans = joined_spans([own.spans for own in timelines])
    codes = np.searchsorted(np.array(contexts.unit_ids), np.concatenate([own.ids for own in timelines]))
    figures = _figures(codes, spans, contexts)
    by_chance = np.array([_figures(_shuffled(codes, spans, rng), spans, contexts) for _ in range(_SHUFFLES)])
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
