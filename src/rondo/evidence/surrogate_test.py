"""The surrogate test of a fitted vocabulary: the signal first, then what is composed of its units."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rondo.config.schema import RondoConfig
from rondo.evidence.contexts import context_evidence
from rondo.evidence.composition import composition_evidence, phrase_book
from rondo.evidence.signal import occurrences, signal_evidence, unit_labels
from rondo.evidence.verdicts import Evidence
from rondo.motifs.base import Motifs
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.model import UnitRuns
from rondo.motifs.phrases import Phrase
from rondo.training.device import one_thread
from rondo.units.timeline import ReadUnits

_SHUFFLES = 39  # of the order of unit runs; they cost next to nothing


def find_evidence(
    read: Sequence[ReadUnits],
    unit_ids: Sequence[int],
    motifs: Motifs,
    config: RondoConfig,
    rng: np.random.Generator,
) -> Evidence:
    """Evidence in these windows for the units of their timelines and for the motifs found in them.

    It draws from `rng` only and changes nothing. Units that occur nowhere in the windows are 'not tested'.
    """
    windows, timelines = [own.windows for own in read], [own.timeline for own in read]
    labels = [timeline.ids for timeline in timelines]
    contexts = motifs.contexts if isinstance(motifs, ComposedMotifs) and motifs.shown == "context" else None
    book = phrase_book(motifs) if contexts is None else {id: Counter[Phrase]() for id in contexts.ids}
    n_of_units = dict.fromkeys(unit_ids, 0) | dict(occurrences(windows, labels))
    untested = Evidence.not_tested(n_of_units, {id: counts.total() for id, counts in book.items()})
    n_surrogates = config.evidence.surrogates
    if n_surrogates == 0:
        return untested
    with one_thread():  # many small matrices
        found = signal_evidence(windows, labels, unit_labels(config), n_surrogates, rng)
    units = {id: found.units.get(id, entry) for id, entry in untested.units.items()}
    if contexts is not None:
        motif_evidence = context_evidence(read, contexts, found.p, _SHUFFLES, rng)
    else:
        motif_evidence = composition_evidence(UnitRuns.of(timelines), book, units, found.p, n_surrogates, rng)
    return replace(found, units=units, motifs=motif_evidence)
