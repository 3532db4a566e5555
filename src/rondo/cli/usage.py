"""`rondo usage`: how much each unit and motif is used and what follows it, by recording and by group."""

from __future__ import annotations

import json as json_module
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.terminal import print, print_data
from rondo.errors import SettingError
from rondo.store.csv_text import csv_of_rows
from rondo.wording import NO_LONGER_MOTIF, duration_in_words

if TYPE_CHECKING:
    from rondo.analysis.sequence import GroupTransition, Transition, TransitionDifference
    from rondo.analysis.usage import Difference, GroupUsage, Usage
    from rondo.result import Result

_MOST_LISTED = 10  # transitions of a recording or group


def usage(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that discover, label or stream wrote.")],
    group_by: Annotated[
        str | None,
        typer.Option(
            "--group-by",
            metavar="PATTERN",
            help="Groups of recordings: a word that all ids or folders hold with a value (subject), a regular "
            "expression on the ids, 's([0-9]+)_', or a .csv with the columns recording and group. Without it, the "
            "groups that the run was made with.",
        ),
    ] = None,
    transitions: Annotated[
        bool, typer.Option("--transitions", metavar="", help="What follows what, instead of how much there is of each.")
    ] = False,
    as_csv: Annotated[
        bool,
        typer.Option(
            "--csv",
            metavar="",
            help="Print csv: a row per entry and recording; of transitions, per group where there are groups.",
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """Print how much each unit and motif is used: share of time, occurrences per hour, mean duration.

    Example: rondo usage run --group-by "subject[0-9]+" --json

    Where no motif is longer than a unit, units alone are printed; --csv and --json keep both levels.
    """
    from rondo.analysis.usage import groups_of_run
    from rondo.result import Result

    if as_csv and json:
        raise SettingError("--csv and --json are two ways to print the same; give one")
    result = Result.load(run)
    groups = groups_of_run(result, group_by)
    tell = _tell_transitions if transitions else _tell_usage
    tell(result, groups, as_csv=as_csv, json=json)


def _tell_usage(result: Result, groups: dict[str, str] | None, *, as_csv: bool, json: bool) -> None:
    from rondo.analysis.usage import Usage, differences, group_usage, smallest_p, usage_of

    rows = usage_of(result, groups)
    if as_csv:
        _print_csv(Usage, rows, left_out=() if groups else ("group",))
        return
    of_groups = [] if groups is None else group_usage(rows)
    found = differences(rows) if groups is not None and len(set(groups.values())) > 1 else []
    if json:
        _print_json(result, {"recordings": rows}, groups, of_groups, found)
        return
    levels = _levels(result)
    if groups is None:
        _print_recordings([row for row in rows if row.level in levels])
    else:
        _print_groups([row for row in of_groups if row.level in levels])
    shown = [one for one in found if one.level in levels]
    least = min((smallest_p(rows, pair) for pair in {one.groups for one in shown}), default=1.0)
    _print_notes(result, groups, shown, least, "of time")


def _tell_transitions(result: Result, groups: dict[str, str] | None, *, as_csv: bool, json: bool) -> None:
    from rondo.analysis.sequence import (
        GroupTransition,
        Transition,
        group_transitions,
        transition_differences,
        transitions_of,
    )
    from rondo.analysis.usage import smallest_p_of

    rows = transitions_of(result, groups)
    of_groups = [] if groups is None else group_transitions(rows)
    if as_csv:
        if groups is None:
            _print_csv(Transition, rows, left_out=("group",))
        else:
            _print_csv(GroupTransition, of_groups)
        return
    found = transition_differences(rows) if groups is not None and len(set(groups.values())) > 1 else []
    if json:
        _print_json(result, {"transitions": rows}, groups, of_groups, found)
        return
    levels = _levels(result)
    if groups is None:
        _print_transitions([row for row in rows if row.level in levels])
    else:
        _print_transitions([row for row in of_groups if row.level in levels])
    sizes = {pair: [list((groups or {}).values()).count(group) for group in pair] for pair in {o.groups for o in found}}
    least = min((smallest_p_of(*each) for each in sizes.values()), default=1.0)
    _print_notes(result, groups, [one for one in found if one.level in levels], least, "of what follows")


def _levels(result: Result) -> tuple[str, ...]:
    return ("unit",) if result.summary.motifs_are_units else ("unit", "motif")


# ---------------------------------------------------------------- for machines


def _print_csv(kind: type[Any], rows: Iterable[Any], left_out: Sequence[str] = ()) -> None:
    names = [field.name for field in fields(kind) if field.name not in left_out]
    print_data(csv_of_rows(names, ([getattr(row, name) for name in names] for row in rows)))


def _print_json(
    result: Result,
    rows: Mapping[str, Sequence[Any]],
    groups: Mapping[str, str] | None,
    of_groups: Sequence[Any],
    found: Sequence[Any],
) -> None:
    facts: dict[str, Any] = {"motifs_are_units": result.summary.motifs_are_units}
    told = dict(rows) if groups is None else {**rows, "groups": of_groups, "differences": found}
    facts |= {key: [asdict(row) for row in each] for key, each in told.items()}
    print(json_module.dumps(facts))


# ---------------------------------------------------------------- for people


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
    table = [("group", "entry", "in recordings", "share", "95 %", "per hour", "95 %", "mean duration")]
    for row in rows:
        where, entry = f"{row.n_recordings_with} of {row.n_recordings}", f"{row.level[0]}{row.id} {row.name}".strip()
        duration = "" if row.mean_duration_s is None else duration_in_words(row.mean_duration_s)
        share = (f"{row.mean_share:.1%}", _interval(row.share_low, row.share_high, "%"))
        often = (_number(row.mean_per_hour), _interval(row.per_hour_low, row.per_hour_high))
        table.append((row.group, entry, where, *share, *often, duration))
    _print_table(table)


def _print_transitions(rows: Sequence[Transition] | Sequence[GroupTransition]) -> None:
    """The most frequent ones of each recording or group."""
    from rondo.analysis.sequence import Transition

    each: dict[tuple[str, str], list[Any]] = {}
    for row in rows:
        where = row.recording if isinstance(row, Transition) else row.group
        if row.n:
            each.setdefault((where, row.level), []).append(row)
    table, n_left_out = [], 0
    for (where, level), own in each.items():
        most = sorted(own, key=lambda row: (-row.n, row.id, row.next_id))
        n_left_out += len(most[_MOST_LISTED:])
        for row in most[:_MOST_LISTED]:
            ends = ((row.id, row.name), (row.next_id, row.next_name))
            what = " -> ".join(f"{level[0]}{id} {name}".strip() for id, name in ends)
            line = (where, what, str(row.n), f"{row.probability:.1%}")
            in_group = () if isinstance(row, Transition) else (_interval(row.low, row.high, "%"), str(row.n_recordings))
            table.append((*line, *in_group))
    grouped = bool(table) and len(table[0]) > 4
    header = ("group" if grouped else "recording", "followed by", "times", "probability")
    _print_table([(*header, "95 %", "in recordings") if grouped else header, *table])
    if n_left_out:
        print(f"{n_left_out} less frequent transitions are not listed; --csv and --json print all.")


def _print_table(table: Sequence[Sequence[str]]) -> None:
    """The first two columns hold names, the others numbers."""
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    for line in table:
        names = [cell.ljust(width) for cell, width in zip(line[:2], widths[:2], strict=True)]
        print("  ".join([*names, *(cell.rjust(width) for cell, width in zip(line[2:], widths[2:], strict=True))]))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _interval(low: float | None, high: float | None, unit: str = "") -> str:
    if low is None or high is None:
        return ""
    return f"{100 * low:.1f}-{100 * high:.1f}" if unit else f"{low:.1f}-{high:.1f}"


def _print_notes(
    result: Result,
    groups: Mapping[str, str] | None,
    found: Sequence[Difference | TransitionDifference],
    least: float,
    points: str,
) -> None:
    """What is not listed, what was compared, and which differences chance could hardly have made."""
    from rondo.analysis.usage import unit_of_comparison

    if result.summary.motifs_are_units:
        print(f"Motifs are not listed: {NO_LONGER_MOTIF}.")
    if groups is not None:
        for sentence in (*unit_of_comparison(result, groups), *_sentences(found, groups, least, points)):
            print(sentence)


def _sentences(
    found: Sequence[Difference | TransitionDifference], groups: Mapping[str, str], least: float, points: str
) -> list[str]:
    """Differences, or what so few recordings can tell at all; `least` is the smallest p that they can give."""
    from rondo.analysis.usage import MOST_COMPARED

    names = sorted(set(groups.values()))
    if len(names) < 2:
        return [f"All recordings are in one group ('{names[0]}'): there is nothing to compare."]
    if len(names) > MOST_COMPARED:
        return [f"{len(names)} groups: differences are tested for up to {MOST_COMPARED}; form fewer with --group-by."]
    if not found:
        return ["No entry occurs in two of the groups: there is nothing to compare."]
    said = [
        f"{_entry(one)}: {100 * one.difference:+.1f} points {points} in '{one.groups[0]}' beside "
        f"'{one.groups[1]}' (p = {one.p:.2g}, recordings dealt at random, corrected for all entries)"
        for one in sorted(found, key=lambda one: (one.p, -abs(one.difference)))
        if one.p <= 0.05
    ]
    if said:
        return [*said, "Groups may differ in more than their name: sensors, days, people. A difference is no cause."]
    n_tests = sum(one.level == "unit" for one in found)
    why = (
        f"with so few recordings none could: the smallest p they can give is {least:.2g}, before correction for "
        f"{n_tests} comparisons"
        if least * n_tests > 0.05
        else "that does not mean that there is none"
    )
    return [f"No difference between groups stands out from chance (p > 0.05); {why}."]


def _entry(one: Difference | TransitionDifference) -> str:
    from rondo.analysis.sequence import TransitionDifference

    first = f"{one.level[0]}{one.id}"
    return f"{first} -> {one.level[0]}{one.next_id}" if isinstance(one, TransitionDifference) else first
