"""How it composes: what motifs are made of, what follows what, and what comes back at regular intervals.

Everything is about the recordings on the page. What follows what is counted as in `rondo.analysis.sequence`:
directly, not over OTHER or a break, as the mean over recordings; `rondo.analysis.sequence` says what counts as regular.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.analysis.composition import MOST_OCCURRENCES, Piece, Run, mix_shares, part_shares, parts_of
from rondo.analysis.sequence import (
    LARGEST_VARIATION,
    LEAST_INTERVALS,
    N_ORDERS,
    GroupTransition,
    RegularReturns,
    cycles_in,
    group_transitions,
    transitions_in,
)
from rondo.report.lanes import look_of
from rondo.report.tables import entries_shown, entry_key, entry_name, is_unproven, percent
from rondo.wording import spread_in_words

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.summary import EntrySummary, RecordingSummary, RunSummary

MOST_NODES, MOST_ARROWS = 16, 36
MOST_MOTIFS = 24
_FROM_EACH, _FROM_EACH_OF_MANY, _MANY = 3, 2, 8  # arrows that leave a node; of more nodes, fewer
_LEAST_PROBABILITY = 0.1
_UNITS_OF_MIX, _LEAST_OF_MIX = 6, 0.01  # units of a context that are drawn one by one, and their least share
EntryByKey = Mapping[tuple[str, int], "EntrySummary"]
"""Every entry that labels show, by level and id."""


def composition(
    run: RunSummary, segments: pl.DataFrame, unshown: pl.DataFrame, drawn: Sequence[RecordingSummary]
) -> dict[str, Any]:
    """Keys: made_of (by the key of a motif), n_motifs_left_out, graphs (one per level), cycles, cycle_rule."""
    levels = {"unit": run.units} if run.motifs_are_units else {"unit": run.units, "motif": run.shown_motifs}
    entries = {(level, one.id): one for level, own in levels.items() for one in own}
    tables, units = {True: segments, False: unshown}, _units_in(segments)
    motifs = [] if run.motifs_are_units else [*entries_shown(run.motifs)]
    found = cycles_in(segments, drawn)
    return {
        "made_of": {
            entry_key("motif", one): made_of(one, entries, _runs_inside(one, tables[one.in_labels], units))
            for one in motifs[:MOST_MOTIFS]
        },
        "n_motifs_left_out": max(0, len(motifs) - MOST_MOTIFS),
        "graphs": _graphs(levels, segments, drawn),
        "cycles": [it for one in found if (it := _cycle(one, entries)) is not None],
        "cycle_rule": f"Regular means: at least {LEAST_INTERVALS} intervals between starts, their coefficient of "
        f"variation at most {LARGEST_VARIATION} and smaller than in {N_ORDERS} random orders of the same segments.",
    }


# ---------------------------------------------------------------- what motifs are made of


def made_of(motif: EntrySummary, entries: EntryByKey, occurrences: Sequence[Sequence[Run]]) -> dict[str, Any]:
    """The parts of a motif in order, or its mix; `rest` is the share of its time that falls on none of them."""
    parts = parts_of(motif.composition)
    if parts:
        shares = part_shares(occurrences, parts)
    else:
        mix = [it for it in mix_shares(occurrences).items() if it[1] >= _LEAST_OF_MIX][:_UNITS_OF_MIX]
        parts, shares = [Piece((unit,)) for unit, _ in mix], [[share] for _, share in mix]
    is_ordered = bool(parts_of(motif.composition))
    return {
        "name": entry_name("motif", motif.id, motif.name),
        **look_of("motif", motif.id)._asdict(),
        "kind": motif.kind,
        "in_labels": motif.in_labels,
        "unproven": is_unproven(motif),
        "n": motif.n_occurrences,
        "ordered": is_ordered,
        "words": motif.composition,
        "order": motif.composition.partition("; ")[2],
        "parts": [
            {
                "units": [
                    _unit(unit, entries) | {"share": round(share, 4)}
                    for unit, share in zip(part.units, own, strict=True)
                ],
                "times": _times(part),
                "optional": part.optional,
            }
            for part, own in zip(parts, shares, strict=True)
        ],
        "rest": round(max(0.0, 1 - sum(sum(own) for own in shares)), 4) if occurrences else 0.0,
    }


def _times(part: Piece) -> str:
    fewest, most = part.times
    return "" if most == 1 else f"×{most}" if fewest == most else f"×{fewest}–{most}"


def _unit(id: int, entries: EntryByKey) -> dict[str, Any]:
    known = entries.get(("unit", id))
    name = entry_name("unit", id, "" if known is None else known.name)
    return {"key": None if known is None else entry_key("unit", known), "name": name, **look_of("unit", id)._asdict()}


def _units_in(segments: pl.DataFrame) -> dict[str, pl.DataFrame]:
    import polars as pl

    own = segments.filter(pl.col("level") == "unit").sort("start_frame")
    return {str(id): rows for (id,), rows in own.partition_by("recording", as_dict=True).items()}


def _runs_inside(motif: EntrySummary, table: pl.DataFrame, units: Mapping[str, pl.DataFrame]) -> list[list[Run]]:
    """The units inside the occurrences of a motif, or inside so many of them, in order, each with its frames.

    `units` by recording, in order; occurrences in other recordings are passed over.
    """
    import polars as pl

    is_own = (pl.col("level") == "motif") & (pl.col("id") == motif.id) & pl.col("recording").is_in([*units])
    own = table.filter(is_own).sort("recording", "start_frame")
    places = np.unique(np.linspace(0, max(0, own.height - 1), min(MOST_OCCURRENCES, own.height)).astype(np.int64))
    found = []
    for (recording,), rows in own[places].partition_by("recording", as_dict=True, maintain_order=True).items():
        found += [*_cut_out(rows, units[str(recording)])]
    return found


def _cut_out(occurrences: pl.DataFrame, units: pl.DataFrame) -> Iterator[list[Run]]:
    starts, ends, ids = (units[name].to_numpy() for name in ("start_frame", "end_frame", "id"))
    for start, end in occurrences.select("start_frame", "end_frame").iter_rows():
        first, past = np.searchsorted(ends, start, side="right"), np.searchsorted(starts, end, side="left")
        lengths = np.minimum(ends[first:past], end) - np.maximum(starts[first:past], start)
        yield [(int(id), float(length)) for id, length in zip(ids[first:past], lengths, strict=True)]


# ---------------------------------------------------------------- what follows what


def _graphs(
    levels: Mapping[str, Sequence[EntrySummary]],
    segments: pl.DataFrame,
    drawn: Sequence[RecordingSummary],
) -> list[dict[str, Any]]:
    """The larger level first; none for a level in which nothing follows anything."""
    found = group_transitions(transitions_in(segments, drawn, {}))
    graphs = []
    for level in ("motif", "unit"):
        rows = [row for row in found if row.level == level]
        if rows and level in levels:
            graphs.append(graph(level, levels[level], rows))
    return graphs


def graph(level: str, entries: Sequence[EntrySummary], rows: Sequence[GroupTransition]) -> dict[str, Any]:
    """Nodes on a ring, arrows of the strongest transitions, and all of them as rows of a table."""
    largest = sorted(entries, key=lambda one: -one.share)[:MOST_NODES]
    kept = {one.id: one for one in largest}
    inside = [row for row in rows if row.id in kept and row.next_id in kept]
    order = ring_order([one.id for one in largest], {(row.id, row.next_id): row.probability for row in inside})
    arrows = _strongest(inside, _FROM_EACH if len(order) <= _MANY else _FROM_EACH_OF_MANY)
    n_all = sum(row.n for row in rows)
    return {
        "level": level,
        "nodes": [
            _node(level, kept[id]) | dict(zip("xy", _on_ring(place, len(order)), strict=True))
            for place, id in enumerate(order)
        ],
        "arrows": [
            {"from": order.index(row.id), "to": order.index(row.next_id), "p": round(row.probability, 4), "n": row.n}
            for row in arrows
        ],
        "shown": percent(sum(row.n for row in arrows) / n_all),
        "n_transitions": n_all,
        "n_left_out": len(entries) - len(order),
        "rows": [_node(level, kept[id]) | {"next": _followers(level, kept, inside, id)} for id in sorted(kept)],
    }


def _node(level: str, entry: EntrySummary) -> dict[str, Any]:
    name = entry_name(level, entry.id, entry.name)
    look = look_of(level, entry.id)._asdict()
    return {"key": entry_key(level, entry), "name": name, **look, "part": entry.share, "share": percent(entry.share)}


def _followers(
    level: str, kept: Mapping[int, EntrySummary], rows: Sequence[GroupTransition], id: int
) -> list[dict[str, Any]]:
    """What follows an entry, the most probable first."""
    own = sorted((row for row in rows if row.id == id), key=lambda row: (-row.probability, row.next_id))
    return [
        _node(level, kept[row.next_id]) | {"p": percent(row.probability), "n": row.n, "low": row.low, "high": row.high}
        for row in own
    ]


def _strongest(rows: Sequence[GroupTransition], from_each: int) -> list[GroupTransition]:
    ranked = sorted(rows, key=lambda row: (-row.probability, -row.n, row.id, row.next_id))
    taken: dict[int, int] = {}
    found = []
    for row in ranked:
        if row.probability < _LEAST_PROBABILITY or taken.get(row.id, 0) == from_each:
            continue
        taken[row.id] = taken.get(row.id, 0) + 1
        found.append(row)
    return found[:MOST_ARROWS]


def ring_order(ids: Sequence[int], probability: Mapping[tuple[int, int], float]) -> list[int]:
    """An order in which what often follows stands next: from the first on, always to the likeliest that is left.

    >>> ring_order([0, 1, 2, 3], {(0, 2): 0.9, (2, 3): 0.8, (3, 1): 0.7})
    [0, 2, 3, 1]
    """
    left, order = [*ids], list[int]()
    while left:
        last = order[-1] if order else None
        best = left[0] if last is None else max(left, key=lambda id: probability.get((last, id), 0.0))
        order.append(best)
        left.remove(best)
    return order


def _on_ring(place: int, n: int) -> tuple[float, float]:
    """From the top on, clockwise; within -1 and 1."""
    angle = 2 * math.pi * place / max(1, n)
    return round(math.sin(angle), 4), round(-math.cos(angle), 4)


# ---------------------------------------------------------------- what comes back


def _cycle(one: RegularReturns, entries: EntryByKey) -> dict[str, Any] | None:
    """None for a motif that is one unit, which is listed already."""
    known = entries.get((one.level, one.id))
    if known is None or known.kind == "unit":
        return None
    lengths = (one.median, one.low, one.high)
    every = spread_in_words(*lengths) if one.in_seconds else "{:.0f} ({:.0f}–{:.0f}) frames".format(*lengths)
    return {**_node(one.level, known), "words": f"comes back every {every}", "n": one.n_intervals}
