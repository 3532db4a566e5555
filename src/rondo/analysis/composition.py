"""Of which units a motif is made, part by part, with the mean share of its time that each part takes.

The line that describes a motif (its composition) gives the parts:

    u6 (u5 u4)×2-4 [u3]                    a phrase: units in order, repeats, parts that some occurrences lack
    u3 45%, u1 30%; mostly u3 → u1, …      a context: a mix, in any order

The units inside every occurrence are laid along the parts of a phrase so that as much of its time as possible falls on
parts of the same unit, without going back. What falls on none, and OTHER, is the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import polars as pl

MOST_OCCURRENCES = 200
"""Of a motif, spread over all of them; more would not change a picture."""

_PART = re.compile(r"(\[)?(?:\((u\d+(?: u\d+)*)\)|(u\d+))(?:×(\d+)(?:-(\d+))?)?\]?")
Run = tuple[int, float]
"""A unit and how long it goes on; OTHER is one too."""


class Piece(NamedTuple):
    """A place in a phrase: one unit, or several that come round; `times` is fewest and most."""

    units: tuple[int, ...]
    times: tuple[int, int] = (1, 1)
    optional: bool = False

    @property
    def can_repeat(self) -> bool:
        return len(self.units) > 1 or self.times[1] > 1


def parts_of(composition: str) -> list[Piece]:
    """The parts of a phrase; none where the line describes no phrase.

    >>> parts_of("u6 (u5 u4)×2-4 [u3]") == [Piece((6,)), Piece((5, 4), (2, 4)), Piece((3,), optional=True)]
    True
    >>> parts_of("u3 45%, u1 30%; no fixed order, u3 6 times per occurrence")
    []
    """
    if "%" in composition or _PART.sub("", composition).strip():
        return []
    found = []
    for match in _PART.finditer(composition):
        units = tuple(int(word[1:]) for word in (match[2] or match[3]).split())
        fewest = int(match[4] or 1)
        found.append(Piece(units, (fewest, int(match[5] or fewest)), match[1] is not None))
    return found


def laid_along(runs: Sequence[Run], parts: Sequence[Piece]) -> list[dict[int, float]]:
    """How much of each unit of an occurrence falls on each part, such that most of its time does."""
    nothing: list[dict[int, float]] = [{} for _ in parts]
    best: list[tuple[float, list[dict[int, float]]] | None] = [None] * len(parts)  # by the last part that is used
    for unit, length in runs:
        now = [*best]
        for place, part in enumerate(parts):
            if unit not in part.units:
                continue
            before = best[: place + 1] if part.can_repeat else best[:place]
            total, amounts = max((it for it in before if it is not None), key=lambda it: it[0], default=(0.0, nothing))
            if (own := now[place]) is None or total + length > own[0]:
                added = [dict(it) for it in amounts]
                added[place][unit] = added[place].get(unit, 0.0) + length
                now[place] = (total + length, added)
        best = now
    return max((it for it in best if it is not None), key=lambda it: it[0], default=(0.0, nothing))[1]


def part_shares(occurrences: Sequence[Sequence[Run]], parts: Sequence[Piece]) -> list[list[float]]:
    """The mean share of an occurrence's time, for every unit of every part."""
    shares = [[0.0] * len(part.units) for part in parts]
    for runs in occurrences:
        whole = sum(length for _, length in runs) or 1.0
        for place, amounts in enumerate(laid_along(runs, parts)):
            for unit, length in amounts.items():
                shares[place][parts[place].units.index(unit)] += length / whole / len(occurrences)
    return shares


def mix_shares(occurrences: Sequence[Sequence[Run]]) -> dict[int, float]:
    """The mean share of an occurrence's time of every unit, the largest first, OTHER left out."""
    found: dict[int, float] = {}
    for runs in occurrences:
        whole = sum(length for _, length in runs) or 1.0
        for unit, length in runs:
            if unit >= 0:
                found[unit] = found.get(unit, 0.0) + length / whole / len(occurrences)
    return dict(sorted(found.items(), key=lambda it: -it[1]))


def units_by_recording(segments: pl.DataFrame) -> dict[str, pl.DataFrame]:
    units = segments.filter(segments["level"] == "unit").sort("start_frame")
    return {str(id): rows for (id,), rows in units.partition_by("recording", as_dict=True).items()}


def units_inside(motif_id: int, segments: pl.DataFrame, units: Mapping[str, pl.DataFrame]) -> list[list[Run]]:
    """The units inside each occurrence of a motif, or inside `MOST_OCCURRENCES` of them, in order, with their frames.

    Occurrences in recordings that `units` lacks are left out.
    """
    import polars as pl

    is_motif = (pl.col("level") == "motif") & (pl.col("id") == motif_id) & pl.col("recording").is_in([*units])
    occurrences = segments.filter(is_motif).sort("recording", "start_frame")
    n = occurrences.height
    occurrences = occurrences[np.unique(np.linspace(0, max(0, n - 1), min(MOST_OCCURRENCES, n)).astype(np.int64))]
    runs: list[list[Run]] = []
    for (recording,), rows in occurrences.partition_by("recording", as_dict=True, maintain_order=True).items():
        starts, ends, ids = (units[str(recording)][name].to_numpy() for name in ("start_frame", "end_frame", "id"))
        for start, end in rows.select("start_frame", "end_frame").iter_rows():
            first, past = np.searchsorted(ends, start, side="right"), np.searchsorted(starts, end, side="left")
            lengths = np.minimum(ends[first:past], end) - np.maximum(starts[first:past], start)
            runs.append([(int(id), float(length)) for id, length in zip(ids[first:past], lengths, strict=True)])
    return runs
