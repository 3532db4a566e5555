"""How it composes: what motifs are made of, what follows what, and what comes back at regular intervals.

Everything is about the recordings on the page. `rondo.analysis.sequence` says what follows what and what is regular.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rondo.analysis.composition import Piece, Run, mix_shares, part_shares, parts_of, units_by_recording, units_inside
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
from rondo.report.lanes import entry_look
from rondo.report.tables import entries_shown, entry_key, is_unproven, levels_shown
from rondo.wording import percent, spread_in_words

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.summary import EntrySummary, RecordingSummary, RunSummary

MOST_NODES, MOST_ARROWS = 16, 36
MOST_MOTIFS = 24
_ARROWS_EACH, _ARROWS_EACH_OF_MANY, _MANY_NODES = 3, 2, 8  # arrows that leave a node; fewer of many nodes
_LEAST_PROBABILITY = 0.1
_UNITS_OF_MIX, _LEAST_OF_MIX = 6, 0.01  # units of a context that are drawn one by one, and their least share
EntryByKey = Mapping[tuple[str, int], "EntrySummary"]
"""Every entry that labels show, by level and id."""


def composition(
    run: RunSummary, segments: pl.DataFrame, unshown: pl.DataFrame, drawn: Sequence[RecordingSummary]
) -> dict[str, Any]:
    """Keys: made_of (by the key of a motif), n_motifs_left_out, graphs (one per level), cycles, cycle_rule."""
    levels = levels_shown(run)
    entries = {(level, entry.id): entry for level, group in levels.items() for entry in group}
    motifs = [] if run.motifs_are_units else [*entries_shown(run.motifs)]
    units = units_by_recording(segments)
    transitions = group_transitions(transitions_in(segments, drawn, {}))
    rows = {level: [row for row in transitions if row.level == level] for level in ("motif", "unit")}
    parts = {}
    for motif in motifs[:MOST_MOTIFS]:
        occurrences = units_inside(motif.id, segments if motif.in_labels else unshown, units)
        parts[entry_key("motif", motif)] = made_of(motif, entries, occurrences)
    return {
        "made_of": parts,
        "n_motifs_left_out": max(0, len(motifs) - MOST_MOTIFS),
        "graphs": [graph(level, levels[level], rows[level]) for level in rows if rows[level] and level in levels],
        "cycles": [row for cycle in cycles_in(segments, drawn) if (row := _cycle(cycle, entries)) is not None],
        "cycle_rule": f"Regular means: at least {LEAST_INTERVALS} intervals between starts, their coefficient of "
        f"variation at most {LARGEST_VARIATION} and smaller than in {N_ORDERS} random orders of the same segments.",
    }


def made_of(motif: EntrySummary, entries: EntryByKey, occurrences: Sequence[Sequence[Run]]) -> dict[str, Any]:
    """The parts of a motif in order, or its mix; `rest` is the share of its time that falls on none of them."""
    parts = parts_of(motif.composition)
    is_ordered = bool(parts)
    if is_ordered:
        shares = part_shares(occurrences, parts)
    else:
        mix = [it for it in mix_shares(occurrences).items() if it[1] >= _LEAST_OF_MIX][:_UNITS_OF_MIX]
        parts, shares = [Piece((unit,)) for unit, _ in mix], [[share] for _, share in mix]
    return {
        **entry_look("motif", motif.id, motif.name),
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
                    for unit, share in zip(part.units, part_share, strict=True)
                ],
                "times": "" if part.times[1] == 1 else "×" + "–".join(map(str, dict.fromkeys(part.times))),
                "optional": part.optional,
            }
            for part, part_share in zip(parts, shares, strict=True)
        ],
        "rest": round(max(0.0, 1 - sum(map(sum, shares))), 4) if occurrences else 0.0,
    }


def _unit(id: int, entries: EntryByKey) -> dict[str, Any]:
    entry = entries.get(("unit", id))
    key, name = (None, "") if entry is None else (entry_key("unit", entry), entry.name)
    return {"key": key, **entry_look("unit", id, name)}


def graph(level: str, entries: Sequence[EntrySummary], rows: Sequence[GroupTransition]) -> dict[str, Any]:
    """Nodes on a ring, arrows of the strongest transitions, and all of them as rows of a table."""
    largest = sorted(entries, key=lambda entry: -entry.share)[:MOST_NODES]
    nodes = {entry.id: _node(level, entry) for entry in largest}
    inside = [row for row in rows if row.id in nodes and row.next_id in nodes]
    order = ring_order([*nodes], {(row.id, row.next_id): row.probability for row in inside})
    most_each = _ARROWS_EACH if len(order) <= _MANY_NODES else _ARROWS_EACH_OF_MANY
    arrows: list[GroupTransition] = []  # the most probable transitions, at most so many from each entry
    for row in sorted(inside, key=lambda row: (-row.probability, -row.n, row.id, row.next_id)):
        if row.probability >= _LEAST_PROBABILITY and sum(arrow.id == row.id for arrow in arrows) < most_each:
            arrows.append(row)
    arrows = arrows[:MOST_ARROWS]
    n_all = sum(row.n for row in rows)
    angles = {id: 2 * math.pi * place / max(1, len(order)) for place, id in enumerate(order)}  # from the top, clockwise
    return {
        "level": level,
        "nodes": [nodes[id] | {"x": round(math.sin(a), 4), "y": round(-math.cos(a), 4)} for id, a in angles.items()],
        "arrows": [
            {"from": order.index(row.id), "to": order.index(row.next_id), "p": round(row.probability, 4), "n": row.n}
            for row in arrows
        ],
        "shown": percent(sum(row.n for row in arrows) / n_all),
        "n_transitions": n_all,
        "n_left_out": len(entries) - len(order),
        "rows": [
            nodes[id]
            | {
                "next": [
                    nodes[row.next_id] | {"p": percent(row.probability), "n": row.n, "low": row.low, "high": row.high}
                    for row in sorted(inside, key=lambda row: (-row.probability, row.next_id))
                    if row.id == id
                ]
            }
            for id in sorted(nodes)
        ],
    }


def _node(level: str, entry: EntrySummary) -> dict[str, Any]:
    look = entry_look(level, entry.id, entry.name)
    return {"key": entry_key(level, entry), **look, "part": entry.share, "share": percent(entry.share)}


def ring_order(ids: Sequence[int], probability: Mapping[tuple[int, int], float]) -> list[int]:
    """An order in which frequent followers are neighbours: from the first id on, always the likeliest that is left.

    >>> ring_order([0, 1, 2, 3], {(0, 2): 0.9, (2, 3): 0.8, (3, 1): 0.7})
    [0, 2, 3, 1]
    """
    left, order = [*ids], list[int]()
    while left:
        best = max(left, key=lambda id: probability.get((order[-1], id), 0.0)) if order else left[0]
        order.append(best)
        left.remove(best)
    return order


def _cycle(cycle: RegularReturns, entries: EntryByKey) -> dict[str, Any] | None:
    """None for a motif that is one unit, which is listed already."""
    entry = entries.get((cycle.level, cycle.id))
    if entry is None or entry.kind == "unit":
        return None
    lengths = (cycle.median, cycle.low, cycle.high)
    every = spread_in_words(*lengths) if cycle.in_seconds else "{:.0f} ({:.0f}–{:.0f}) frames".format(*lengths)
    return {**_node(cycle.level, entry), "words": f"comes back every {every}", "n": cycle.n_intervals}
