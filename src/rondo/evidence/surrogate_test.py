"""The surrogate test of a fitted vocabulary: the signal first, then what is composed of its units."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rondo.config.schema import RondoConfig
from rondo.data.windows import Windows
from rondo.evidence.composition import composition_evidence, phrase_book
from rondo.evidence.signal import occurrences, signal_evidence, unit_labels
from rondo.evidence.verdicts import Evidence
from rondo.motifs.base import Motifs
from rondo.motifs.model import UnitRuns
from rondo.training.device import one_thread
from rondo.units.timeline import Timeline


def find_evidence(
    windows: Sequence[Windows],
    timelines: Sequence[Timeline],
    unit_ids: Sequence[int],
    motifs: Motifs,
    config: RondoConfig,
    rng: np.random.Generator,
) -> Evidence:
    """Evidence in these windows for the units of their timelines and for the motifs found in them.

    It draws from `rng` only and changes nothing. Units that occur nowhere in the windows are 'not tested'.
    """
    labels = [timeline.ids for timeline in timelines]
    book = phrase_book(motifs)
    n_of_units = dict.fromkeys(unit_ids, 0) | dict(occurrences(windows, labels))
    untested = Evidence.not_tested(n_of_units, {id: counts.total() for id, counts in book.items()})
    n_surrogates = config.evidence.surrogates
    if n_surrogates == 0:
        return untested
    with one_thread():  # many small matrices
        found = signal_evidence(windows, labels, unit_labels(config), n_surrogates, rng)
    units = {id: found.units.get(id, entry) for id, entry in untested.units.items()}
    composed = composition_evidence(UnitRuns.of(timelines), book, units, found.p, n_surrogates, rng)
    return replace(found, units=units, motifs=composed)
