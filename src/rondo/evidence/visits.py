"""How well each entry is known again when it comes back: its visits, held out in turn.

A *visit* is a stretch in which the recording is in an entry; it outlasts absences shorter than one window. A visit and
what follows until the next one is a cycle. Cycles are dealt in turn to two folds, entry by entry, and the windows of a
visit are compared with the centres of all entries in the other fold:

    margin of a visit = mean over its windows of log(distance to the nearest other centre / distance to the own centre)

in the first principal components of the windows' representations, whitened by the covariance within entries. A visit
with a margin above 0 is *recognised*. Clustering recognises its own entries in noise too, so that a grade counts only
where the recording as a whole comes back (`rondo.evidence.tests`).

The grade of an entry is its margin over its visits and how alike its occurrences are compared with surrogates,

    score = margin + (closeness - closeness by chance, from -1 to 1) / 4.

Windows are sampled, so that the cost does not grow with the recording: of each entry some visits, evenly spread, and of
each visit windows that lie inside it by half their length, or the middle one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Ints
from rondo.data.labels import OTHER, Labels
from rondo.data.windows import Span, WindowGrid, Windows
from rondo.encoders.base import FittedEncoder
from rondo.evidence.verdicts import SIGNIFICANT, EntryEvidence, Reason, Verdict, comes_back
from rondo.motifs.base import UnitRuns
from rondo.units.model import joined_spans

# Chosen on recordings of ten public sets, plain simulations, planted streams and noise; docs/results/evidence.md.
RECOGNISED, CLEAR, CLOSENESS_COUNTS = 2 / 3, 0.25, 0.25
_RIDGE, _COMPONENTS = 0.1, 30  # of the mean variance within entries; the same sets, where others change little
_MOST_WINDOWS, _FEWEST_OF_ENTRY = 2048, 16  # sampled, in all and of an entry; bounds time, chosen by hand
_PER_VISIT, _FEWEST_VISITS = 8, 8  # windows of an entry over its visits, where it has many; chosen by hand
_BATCH_VALUES = 1 << 22  # that are encoded at once; bounds memory
_TINY = 1e-9  # far below any distance


class Grade(NamedTuple):
    """How well an entry is known again; NaN and OTHER where it has fewer than two visits, or no other entry."""

    n_visits: int
    recognised: float = math.nan  # share of the visits that were compared
    margin: float = math.nan
    like: int = OTHER  # the entry with the nearest centre


class Visits(NamedTuple):
    """Visits of all entries, grouped by entry, in order of time; windows are counted over all signals."""

    entries: Ints  # (n_visits,)
    starts: Ints  # first window
    stops: Ints

    @classmethod
    def of(cls, labels: Labels, spans: Sequence[Span], apart: int) -> Visits:
        """Of the windows of several signals, laid one after the other.

        `apart`: windows that share no frame; a shorter absence ends no visit.
        """
        runs = UnitRuns.of_labels([(labels, spans)])
        known = np.flatnonzero(runs.units != OTHER)
        order = known[np.argsort(runs.units[known], kind="stable")]
        entries, starts, span = runs.units[order].astype(np.int64), runs.starts[order], runs.spans[order]
        stops = starts + runs.lengths[order]
        begins = np.ones(order.size, np.bool_)
        begins[1:] = (np.diff(entries) != 0) | (np.diff(span) != 0) | (starts[1:] - stops[:-1] >= apart)
        first = np.flatnonzero(begins)
        last = np.append(first, order.size)[1:] - 1
        return cls(entries[first], starts[first], stops[last])


class Sample(NamedTuple):
    """Windows that stand for the visits of their entries, grouped as visits are."""

    windows: Ints  # (n_sampled,)
    visits: Ints  # the visit of each, ascending

    @classmethod
    def of(cls, visits: Visits, labels: Labels, inside: int) -> Sample:
        """`inside`: windows at either end of a visit that lie in it by less than half."""
        ids, first, counts = np.unique(visits.entries, return_index=True, return_counts=True)
        budget = max(_FEWEST_OF_ENTRY, _MOST_WINDOWS // max(1, ids.size))
        windows, owners = [], []
        for start, n in zip(first.tolist(), counts.tolist(), strict=True):
            n_kept = min(n, max(_FEWEST_VISITS, budget // _PER_VISIT))
            for visit in start + np.linspace(0, n - 1, n_kept).astype(np.int64):
                a, b = int(visits.starts[visit]), int(visits.stops[visit])
                low, high = (a + inside, b - inside) if b - a > 2 * inside else ((a + b) // 2, (a + b) // 2 + 1)
                n_own = min(max(1, budget // n_kept), -(-(high - low) // max(1, inside)))
                chosen = np.unique(np.linspace(low, high - 1, n_own).astype(np.int64))
                own = chosen[labels[chosen] == visits.entries[visit]]
                windows.append(own if own.size else chosen)
                owners.append(np.full(windows[-1].size, visit))
        return cls(np.concatenate(windows), np.concatenate(owners))


def grades_of(windows: Sequence[Windows], labels: Sequence[Labels], encoder: FittedEncoder) -> dict[int, Grade]:
    """The grade of each entry of these labels, one array per signal, in the encoder's representations."""
    grid, joined = windows[0].grid, np.concatenate(labels)
    apart = -(-grid.length_frames // grid.step_frames)
    visits = Visits.of(joined, joined_spans([w.grid.window_spans for w in windows]), apart)
    if not visits.entries.size:
        return {}
    sample = Sample.of(visits, joined, apart // 2)
    points = [encoder.encode(batch) for batch in _batches(windows, sample.windows)]
    return held_out(np.concatenate(points), sample, visits)


def held_out(points: NDArray[np.floating], sample: Sample, visits: Visits) -> dict[int, Grade]:
    """The grade of each entry from points (n_sampled, n_dims)."""
    ids, codes, counts = np.unique(visits.entries, return_inverse=True, return_counts=True)
    found = {int(id): Grade(int(n)) for id, n in zip(ids, counts, strict=True)}
    if ids.size < 2:
        return found
    own = codes[sample.visits]
    white = _whitened(points, own)
    members = np.eye(ids.size)[own]  # (n_sampled, n_entries)
    for code in np.flatnonzero(counts > 1):
        cycles = np.searchsorted(visits.starts[codes == code][1:], sample.windows, side="right")
        margins, distances = [], []
        for fold in (0, 1):
            known = members[cycles % 2 != fold]
            sizes = known.sum(axis=0)
            rows = np.flatnonzero((own == code) & (cycles % 2 == fold))
            others = np.flatnonzero((sizes > 0) & (np.arange(ids.size) != code))
            if not (rows.size and others.size and sizes[code]):
                continue
            centres = known.T @ white[cycles % 2 != fold] / np.maximum(sizes, 1)[:, None]
            elsewhere = _distances(white[rows], centres[others])
            ratios = np.log(elsewhere.min(axis=1) / _distances(white[rows], centres[[code]])[:, 0])
            _, of = np.unique(sample.visits[rows], return_inverse=True)
            margins.append(np.bincount(of, ratios) / np.bincount(of))
            distances.append(np.full(ids.size, np.inf))
            distances[-1][others] = np.log(elsewhere).mean(axis=0)
        if margins:
            each, like = np.concatenate(margins), int(ids[np.min(distances, axis=0).argmin()])
            found[int(ids[code])] = Grade(int(counts[code]), float((each > 0).mean()), float(each.mean()), like)
    return found


def graded(entry: EntryEvidence, grade: Grade, passed: bool | None, closer: float = math.nan) -> EntryEvidence:
    """The entry with its grade and verdict; `passed`: its test says that it recurs, None where nothing could tell.

    `closer`: closeness above that by chance, NaN where unknown. The reason stays where its p is small enough.
    """
    score = grade.margin + CLOSENESS_COUNTS * float(np.clip(np.nan_to_num(closer), -1, 1))
    verdict: Verdict
    if grade.n_visits < 2:
        verdict = "occurs once"
    elif passed is None:
        verdict = "not tested"
    elif not passed:
        verdict = "not shown"
    elif math.isnan(score):  # there is no other entry
        verdict = "recurs faintly"
    elif grade.recognised < RECOGNISED - _TINY or score <= 0:
        verdict = "blurred"
    else:
        verdict = "recurs clearly" if score >= CLEAR else "recurs faintly"
    reason = entry.reason if comes_back(verdict) and entry.p <= SIGNIFICANT else Reason()
    n_visits, recognised, margin, like = grade
    return entry._replace(
        verdict=verdict, reason=reason, n_visits=n_visits, recognised=recognised, margin=margin, like=like
    )


def _batches(windows: Sequence[Windows], chosen: Ints) -> Iterator[Windows]:
    """The chosen windows, counted over all signals; those of a batch one after the other."""
    length, n_channels = windows[0].grid.length_frames, windows[0].n_channels
    firsts = np.cumsum([0, *(len(w) for w in windows)])
    signals = np.searchsorted(firsts, chosen, side="right") - 1
    size = max(1, _BATCH_VALUES // (length * n_channels))
    for first in range(0, chosen.size, size):
        rows = slice(first, first + size)
        pieces = []
        for signal, window in zip(signals[rows].tolist(), (chosen - firsts[signals])[rows].tolist(), strict=True):
            start = windows[signal].grid.starts[window]
            pieces.append(windows[signal].values[start : start + length])
        values = np.concatenate(pieces)
        yield Windows(values, WindowGrid(length, length, len(values), ((0, len(values)),)))


def _whitened(points: NDArray[np.floating], own: Ints) -> Floats:
    """The first principal components, of which the covariance within entries is nearly the identity."""
    reduced = _principal_components(np.asarray(points, np.float64))
    sizes = np.bincount(own)
    centres = np.stack([np.bincount(own, column) for column in reduced.T], axis=1) / np.maximum(sizes, 1)[:, None]
    within = reduced - centres[own]
    scatter = within.T @ within / len(within)
    scatter += (_RIDGE * np.trace(scatter) / len(scatter) + _TINY) * np.eye(len(scatter))
    return np.asarray(reduced @ np.linalg.cholesky(np.linalg.inv(scatter)))


def _principal_components(points: Floats) -> Floats:
    """The first of them (n_sampled, at most 30), from the smaller of the two square matrices."""
    from scipy.linalg import eigh

    centred = points - points.mean(axis=0)
    is_wide = centred.shape[1] > len(centred)
    square = centred @ centred.T if is_wide else centred.T @ centred
    powers, axes = eigh(square, subset_by_index=[max(0, len(square) - _COMPONENTS), len(square) - 1])
    return np.asarray(axes * np.sqrt(np.maximum(powers, 0.0)) if is_wide else centred @ axes)


def _distances(rows: Floats, centres: Floats) -> Floats:
    """(n_rows, n_centres), never zero."""
    squares = np.square(rows).sum(axis=1)[:, None] + np.square(centres).sum(axis=1) - 2 * rows @ centres.T
    return np.asarray(np.sqrt(np.maximum(squares, _TINY**2)))
