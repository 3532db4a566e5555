"""`rondo usage`: how much each unit and motif is used, by recording and by group."""

from __future__ import annotations

import csv
import json as json_module
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.errors import SettingError
from rondo.times import duration_in_words
from rondo.wording import NO_LONGER_MOTIF

if TYPE_CHECKING:
    from rondo.report.usage import Difference, GroupUsage, Usage


def usage(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that discover, label or stream wrote.")],
    group_by: Annotated[
        str | None,
        typer.Option(
            "--group-by",
            metavar="PATTERN",
            help="Groups of recordings: a regular expression on their ids, 'subject[0-9]+', or a .csv with the "
            "columns recording and group.",
        ),
    ] = None,
    as_csv: Annotated[
        bool, typer.Option("--csv", metavar="", help="Print csv: a row per entry and recording.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Print how much each unit and motif is used: share of time, occurrences per hour, mean duration.

    Example: rondo usage run --group-by "subject[0-9]+" --json

    Where no motif is longer than a unit, units alone are printed; --csv and --json keep both levels.
    """
    from rondo.report.usage import differences, group_usage, groups_of, usage_of
    from rondo.result import Result

    if as_csv and json:
        raise SettingError("--csv and --json are two ways to print the same; give one")
    result = Result.load(run)
    groups = None if group_by is None else groups_of(result, group_by)
    rows = usage_of(result, groups)
    if as_csv:
        _print_csv(rows, with_groups=groups is not None)
        return
    of_groups = [] if groups is None else group_usage(rows)
    found = differences(rows) if groups is not None and len(set(groups.values())) > 1 else []
    motifs_are_units = result.summary.motifs_are_units
    if json:
        facts: dict[str, Any] = {
            "motifs_are_units": motifs_are_units,
            "recordings": [asdict(row) for row in rows],
        }
        if groups is not None:
            facts |= {"groups": [asdict(one) for one in of_groups], "differences": [asdict(one) for one in found]}
        print(json_module.dumps(facts))
        return
    levels = ("unit",) if motifs_are_units else ("unit", "motif")
    if groups is None:
        _print_recordings([row for row in rows if row.level in levels])
    else:
        _print_groups([row for row in of_groups if row.level in levels])
    if motifs_are_units:
        print(f"Motifs are not listed: {NO_LONGER_MOTIF}.")
    if groups is not None:
        for sentence in _sentences(rows, [one for one in found if one.level in levels], groups):
            print(sentence)


def _print_csv(rows: Sequence[Usage], with_groups: bool) -> None:
    from dataclasses import fields

    from rondo.report.usage import Usage

    names = [field.name for field in fields(Usage) if with_groups or field.name != "group"]
    writer = csv.DictWriter(sys.stdout, names, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)


def _print_recordings(rows: Sequence[Usage]) -> None:
    table = [("recording", "entry", "share", "occurrences", "per hour", "mean duration")]
    for row in rows:
        if row.n_occurrences:
            frames = f"{row.mean_duration_frames:.0f} frames"
            duration = frames if row.mean_duration_s is None else duration_in_words(row.mean_duration_s)
            entry, often = f"{row.level[0]}{row.id} {row.name}".strip(), str(row.n_occurrences)
            table.append((row.recording, entry, f"{row.share:.1%}", often, _number(row.per_hour), duration))
    _print_table(table)


def _print_groups(rows: Sequence[GroupUsage]) -> None:
    table = [("group", "entry", "in recordings", "share", "± points", "per hour", "mean duration")]
    for row in rows:
        spread = "" if row.sd_share is None else f"{100 * row.sd_share:.1f}"
        where, entry = f"{row.n_recordings_with} of {row.n_recordings}", f"{row.level[0]}{row.id}"
        duration = "" if row.mean_duration_s is None else duration_in_words(row.mean_duration_s)
        table.append((row.group, entry, where, f"{row.mean_share:.1%}", spread, _number(row.mean_per_hour), duration))
    _print_table(table)


def _print_table(table: Sequence[Sequence[str]]) -> None:
    """The first two columns hold names, the others numbers."""
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    for line in table:
        names = [cell.ljust(width) for cell, width in zip(line[:2], widths[:2], strict=True)]
        print("  ".join([*names, *(cell.rjust(width) for cell, width in zip(line[2:], widths[2:], strict=True))]))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _sentences(rows: Sequence[Usage], found: Sequence[Difference], groups: dict[str, str]) -> list[str]:
    """Which differences chance could hardly have made, and what so few recordings can tell at all."""
    from rondo.report.usage import smallest_p

    names = sorted(set(groups.values()))
    if len(names) < 2:
        return [f"All recordings are in one group ('{names[0]}'): there is nothing to compare."]
    said = [
        f"{one.level[0]}{one.id}: {100 * one.difference:+.1f} points of time in '{one.groups[0]}' beside "
        f"'{one.groups[1]}' (p = {one.p:.2g}, recordings dealt at random, corrected for all entries)"
        for one in sorted(found, key=lambda one: (one.p, -abs(one.difference)))
        if one.p <= 0.05
    ]
    if said:
        return [*said, "Groups may differ in more than their name: sensors, days, people. A difference is no cause."]
    least = min(smallest_p(rows, pair) for pair in {one.groups for one in found})
    n_tests = sum(one.level == "unit" for one in found)
    powerless = least * n_tests > 0.05
    why = (
        f"with so few recordings none could: the smallest p they can give is {least:.2g}, before correction for "
        f"{n_tests} comparisons"
        if powerless
        else "that does not mean that there is none"
    )
    return [f"No difference between groups stands out from chance (p > 0.05); {why}."]
