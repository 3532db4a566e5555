"""Evidence for a vocabulary: whether the whole, each unit and each motif recurs.

Any method finds units in slow noise, and motifs in the units. Evidence marks what may be no more than that; it hides
nothing and changes no label. Where the figures come from: `signal` and `order` (units), `composition` (motifs of
several units), `tests` (all of it).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import owned, owned_by
from rondo.data.labels import OTHER
from rondo.wording import duration_in_words

# ----------------------------------------------------------------
# Which evidence speaks for an entry, and how that reads.

ReasonKind = Literal["", "alike", "spacing", "order", "start", "end", "place", "sequence", "mix"]

KINDS: tuple[ReasonKind, ...] = get_args(ReasonKind)  # model folders hold their places here: append only
_PLACES = {"start": "at the start of", "end": "at the end of", "place": "at the same place in"}
_IN_WORDS = {
    "alike": "alike beyond chance",
    "order": "comes before and after the same units",
    "sequence": "its units keep this order",
    "mix": "the same units come together again",
}


class Reason(NamedTuple):
    """The kind of evidence ("" where there is none), and what it saw.

    `figure` is the interval in frames where the kind is 'spacing'; where it is a place, that many `of` recordings.
    """

    kind: ReasonKind = ""
    figure: float = 0.0
    of: int = 0

    def in_words(self, rate: float | None = None) -> str:
        """A short phrase; `rate` in Hz makes times of frames.

        >>> Reason("spacing", 150.0).in_words(1 / 60), Reason("spacing", 150.0).in_words()
        ('comes back at regular intervals of about 2 h 30 min', 'comes back at regular intervals of about 150 frames')
        >>> Reason("end", 97.0, 100).in_words()
        'at the end of 97 of 100 recordings'
        """
        if self.kind == "spacing":
            interval = f"{self.figure:.0f} frames" if rate is None else duration_in_words(self.figure / rate)
            return f"comes back at regular intervals of about {interval}"
        if self.kind in _PLACES:
            return f"{_PLACES[self.kind]} {self.figure:.0f} of {self.of} recordings"
        return _IN_WORDS.get(self.kind, "")


Verdict = Literal["recurs clearly", "occurs once", "not shown", "not tested", "recurs faintly", "blurred"]

SIGNIFICANT = 0.05  # the usual level, family-wise
_VERDICTS: tuple[Verdict, ...] = get_args(Verdict)  # model folders hold their places here: append only
_RETURNING = ("recurs clearly", "recurs faintly")


def comes_back(verdict: str) -> bool:
    """Whether an entry of this verdict comes back.

    One that is blurred does not count: what comes back may be the entry that it is hard to tell from.
    """
    return verdict in _RETURNING


def is_pale(verdict: str) -> bool:
    """Whether what was found is doubtful although the recording comes back to where it was."""
    return verdict in ("occurs once", "blurred")


class EntryEvidence(NamedTuple):
    """Evidence for one entry.

    p is NaN where nothing could be compared, closeness also in a motif of several units, which is about order. The
    reason is that of the smallest p, and empty where nothing but its visits speaks for the entry.
    """

    p: float
    closeness: float
    n_occurrences: int
    verdict: Verdict
    reason: Reason = Reason()
    n_visits: int = 0  # occurrences, joined where the recording was elsewhere for less than a window
    recognised: float = math.nan  # the share of visits that lie nearer to this entry than to any other
    margin: float = math.nan  # how much nearer: see `rondo.evidence.visits`
    like: int = OTHER  # the entry that is nearest to it

    @property
    def comes_back(self) -> bool:
        return comes_back(self.verdict)


Entries = Mapping[int, EntryEvidence]


@dataclass(frozen=True, eq=False)
class Evidence:
    """p of the whole, closeness of its windows and of surrogates (NaN where not tested), evidence for each entry."""

    p: float
    closeness: float
    by_chance: Mapping[str, NDArray[np.float64]]  # closeness of the surrogates of each kind
    units: Entries
    motifs: Entries
    unshown: Entries = field(default_factory=dict)  # motifs of the kind that labels do not show

    @property
    def recurs(self) -> bool:
        return self.p <= SIGNIFICANT

    @classmethod
    def not_tested(
        cls, units: Mapping[int, int], motifs: Mapping[int, int], unshown: Mapping[int, int] | None = None
    ) -> Evidence:
        each = (
            {id: EntryEvidence(np.nan, np.nan, n, "not tested") for id, n in occurrences.items()}
            for occurrences in (units, motifs, unshown or {})
        )
        return cls(np.nan, np.nan, {}, *each)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Everything, as arrays, for the model folder, which takes no NaN."""
        parts = {
            "by_chance": self.by_chance,
            "units": _entry_tensors(self.units),
            "motifs": _entry_tensors(self.motifs),
            "unshown": _entry_tensors(self.unshown),
        }
        named = _without_nan(np.array([[self.p, self.closeness]]))
        for part, own in parts.items():
            named |= owned(part, own)
        return named

    @classmethod
    def restore(
        cls,
        tensors: Mapping[str, NDArray[np.generic]],
        unit_ids: Iterable[int],
        motif_ids: Iterable[int],
        unshown_ids: Iterable[int] = (),
    ) -> Evidence:
        """The evidence that wrote these tensors; models of a version that did not ask for it hold none."""
        if not tensors:
            return cls.not_tested(*(dict.fromkeys(ids, 0) for ids in (unit_ids, motif_ids, unshown_ids)))
        ((p, closeness),) = _with_nan(tensors).tolist()
        by_chance = {kind: np.asarray(own, np.float64) for kind, own in owned_by("by_chance", tensors).items()}
        levels = {"units": unit_ids, "motifs": motif_ids, "unshown": unshown_ids}
        each = [_restored_entries(owned_by(level, tensors)) for level in levels]
        if any(set(own) != set(ids) for own, ids in zip(each, levels.values(), strict=True)):
            raise ValueError("the evidence is about other units or motifs")
        return cls(p, closeness, by_chance, *each)


def rank_p(figure: float, by_chance: NDArray[np.float64]) -> float:
    """(1 + surrogates that reach the figure) / (1 + surrogates): 19 of them for 0.05.

    >>> rank_p(2.0, np.array([0.5, 1.0, 2.0]))
    0.5
    """
    return float((1 + (by_chance >= figure).sum()) / (1 + by_chance.size))


def _entry_tensors(entries: Entries) -> dict[str, NDArray[np.generic]]:
    table = [(id, entry.n_occurrences, _VERDICTS.index(entry.verdict)) for id, entry in entries.items()]
    figures = [(entry.p, entry.closeness) for entry in entries.values()]
    visits = [(entry.n_visits, entry.like) for entry in entries.values()]
    graded = [(entry.recognised, entry.margin) for entry in entries.values()]
    reasons = [(KINDS.index(entry.reason.kind), *entry.reason[1:]) for entry in entries.values()]
    return {
        "table": np.array(table, np.int64).reshape(-1, 3),
        "reasons": np.array(reasons, np.float64).reshape(-1, 3),
        "visits": np.array(visits, np.int64).reshape(-1, 2),
        **_without_nan(np.array(figures, np.float64).reshape(-1, 2)),
        **owned("graded", _without_nan(np.array(graded, np.float64).reshape(-1, 2))),
    }


def _restored_entries(tensors: Mapping[str, NDArray[np.generic]]) -> Entries:
    if not tensors:  # older models know of none that labels do not show
        return {}
    table, figures = np.asarray(tensors["table"], np.int64), _with_nan(tensors)
    if table.shape != (len(figures), 3) or ((table[:, 2] < 0) | (table[:, 2] >= len(_VERDICTS))).any():
        raise ValueError("a table of evidence that Rondo did not write")
    reasons = np.asarray(tensors.get("reasons", np.zeros(table.shape)), np.float64)  # older models hold none
    if reasons.shape != table.shape or ((reasons[:, 0] < 0) | (reasons[:, 0] >= len(KINDS))).any():
        raise ValueError("reasons of evidence that Rondo did not write")
    graded = owned_by("graded", tensors)  # models of 0.2.0 have neither these nor visits
    shares = _with_nan(graded) if graded else np.full(figures.shape, np.nan)
    visits = np.asarray(tensors.get("visits", np.tile([0, OTHER], (len(table), 1))), np.int64)
    if visits.shape != figures.shape or shares.shape != figures.shape or (visits < OTHER).any():
        raise ValueError("visits of evidence that Rondo did not write")
    rows = zip(*(part.tolist() for part in (table, figures, reasons, visits, shares)), strict=True)
    return {
        id: EntryEvidence(
            p,
            closeness,
            n,
            _VERDICTS[verdict],
            Reason(KINDS[int(kind)], figure, int(of)),
            n_visits,
            share,
            margin,
            like,
        )
        for (id, n, verdict), (p, closeness), (kind, figure, of), (n_visits, like), (share, margin) in rows
    }


def _without_nan(figures: NDArray[np.float64]) -> dict[str, NDArray[np.generic]]:
    known = ~np.isnan(figures)
    return {"figures": np.where(known, figures, 0.0), "known": known.astype(np.uint8)}


def _with_nan(tensors: Mapping[str, NDArray[np.generic]]) -> NDArray[np.float64]:
    figures, known = np.asarray(tensors["figures"], np.float64), np.asarray(tensors["known"], np.bool_)
    if figures.ndim != 2 or figures.shape[1] != 2 or known.shape != figures.shape:
        raise ValueError("figures of evidence that Rondo did not write")
    if not ((figures[:, 0] >= 0) & (figures[:, 0] <= 1)).all():
        raise ValueError("a p of evidence that is not between 0 and 1")
    return np.where(known, figures, np.nan)
