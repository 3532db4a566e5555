"""The table of the page that compares groups of recordings: the share of every entry in every group."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from rondo.analysis.between_groups import MOST_COMPARED
from rondo.analysis.usage import Difference, GroupUsage, differences, group_usage, groups_of_run, unit_of_comparison
from rondo.analysis.usage import usage_of as rows_of
from rondo.report.colours import look_of
from rondo.report.tables import entries_shown, entry_name, percent

if TYPE_CHECKING:
    from rondo.result import Result

_STANDS_OUT = 0.05


def group_table(result: Result) -> dict[str, Any] | None:
    """Groups, a row of cells for each entry, and notes; None where the run has fewer than two groups.

    Of many groups those with the most recordings are shown, as many as are compared.
    """
    groups = groups_of_run(result)
    if groups is None or len(set(groups.values())) < 2:
        return None
    sizes = Counter(groups.values())
    shown = sorted(sorted(sizes, key=lambda name: (-sizes[name], name))[:MOST_COMPARED])
    usage = rows_of(result, groups)
    cells = {(one.level, one.id, one.group): one for one in group_usage(usage)}
    run, found = result.summary, differences(usage)
    levels = {"unit": run.units} if run.motifs_are_units else {"unit": run.units, "motif": run.shown_motifs}
    clear: dict[tuple[str, int], list[str]] = {}
    for one in found:
        if one.p <= _STANDS_OUT:
            clear.setdefault((one.level, one.id), []).append(_words(one))
    top = max((one.share_high or one.mean_share for one in cells.values() if one.group in shown), default=0.0) or 1.0
    rows = [
        {
            "name": entry_name(level, entry.id, entry.name),
            **look_of(level, entry.id)._asdict(),
            "cells": [_cell(cells[level, entry.id, name], top) for name in shown],
            "differences": clear.get((level, entry.id), []),
        }
        for level, entries in levels.items()
        for entry in entries_shown(entries)
        if (level, entry.id, shown[0]) in cells
    ]
    return {
        "names": [{"name": name, "n_recordings": sizes[name]} for name in shown],
        "n_left_out": len(sizes) - len(shown),
        "rows": rows,
        "top": percent(top),
        "notes": [*unit_of_comparison(result, groups), _outcome(bool(clear), len(sizes))],
    }


def _cell(one: GroupUsage, top: float) -> dict[str, Any]:
    """The share in words, and what its bar needs, in percent of the longest one."""
    width, low, high = (
        None if end is None else round(100 * end / top, 1) for end in (one.mean_share, one.share_low, one.share_high)
    )
    bar = {"width": width, "low": low, "high": high}
    if one.share_low is None or one.share_high is None:
        return {"share": percent(one.mean_share), "interval": "", **bar}
    ends = [percent(end).removesuffix(" %") for end in (one.share_low, one.share_high)]
    return {"share": percent(one.mean_share), "interval": "–".join(ends), **bar}


def _words(one: Difference) -> str:
    more, less = one.groups if one.difference > 0 else one.groups[::-1]
    return f"more in {more} than in {less} (p = {one.p:.2g})"


def _outcome(is_any_clear: bool, n_groups: int) -> str:
    if n_groups > MOST_COMPARED:
        return f"Differences are tested for up to {MOST_COMPARED} groups; here are {n_groups}."
    if is_any_clear:
        return "p is from dealing the recordings to the groups at random, corrected for all entries and pairs."
    return "No difference between groups stands out from chance (p > 0.05); few recordings can show none."
