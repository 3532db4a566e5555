"""`rondo usage`: how much each unit and motif is used and what follows it, by recording and by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rondo.cli import options
from rondo.cli.terminal import aligned, print, print_data, print_json
from rondo.errors import SettingError
from rondo.store.csv_text import csv_of_rows
from rondo.wording import NO_LONGER_MOTIF, duration_in_words, often_per, percent

if TYPE_CHECKING:
    from rondo.analysis.bins import BinUsage
    from rondo.analysis.sequence import GroupTransition, Transition, TransitionDifference
    from rondo.analysis.usage import Difference, GroupUsage, Usage
    from rondo.result import Result

_MOST_LISTED = 10  # transitions of a recording or group


def usage(
    run: options.Run,
    group_by: Annotated[
        str | None,
        options.option(
            "--group-by",
            "PATTERN",
            "Groups of recordings: a word that all ids or folders hold with a value (subject), a regular "
            "expression on the ids, 's([0-9]+)_', or a .csv with the columns recording and group. Without it, the "
            "groups that the run was made with.",
        ),
    ] = None,
    transitions: Annotated[
        bool, options.switch("--transitions", "What follows what, instead of how much there is of each.")
    ] = False,
    bins: Annotated[
        str | None,
        options.option("--bins", "LENGTH", "In each bin of time: a length (10min, 2h), day, or hour (of the day)."),
    ] = None,
    as_csv: Annotated[
        bool,
        options.switch(
            "--csv", "Print csv: a row per entry and recording; of transitions, per group where there are groups."
        ),
    ] = False,
    xlsx: Annotated[
        Path | None, options.option("--xlsx", "FILE", "Write an Excel workbook with all rows instead of printing them.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Print how much each unit and motif is used: share of time, occurrences per hour, mean duration.

    Example: rondo usage run --group-by "subject[0-9]+" --json

    Where no motif is longer than a unit, units alone are printed; --csv and --json keep both levels.
    """
    from rondo.analysis import sequence, usage
    from rondo.result import Result

    if as_csv + json + (xlsx is not None) > 1:
        raise SettingError("--csv, --json and --xlsx are ways to give the same rows; give one")
    if bins is not None:
        if transitions or group_by is not None:
            raise SettingError("--bins counts each recording by itself, without --transitions and --group-by")
        _bins(Result.load(run), bins, as_csv, xlsx, json)
        return
    result = Result.load(run)
    groups = usage.groups_of_run(result, group_by)
    if transitions:
        rows: Sequence[Any] = sequence.transitions_of(result, groups)
        of_groups: Sequence[Any] = [] if groups is None else sequence.group_transitions(rows)
    else:
        rows = usage.usage_of(result, groups)
        of_groups = [] if groups is None else usage.group_usage(rows)
    if as_csv:
        if transitions and groups is not None:
            _print_csv(sequence.GroupTransition, of_groups)
        else:
            _print_csv(sequence.Transition if transitions else usage.Usage, rows, () if groups else ("group",))
        return
    differences: Sequence[Difference | TransitionDifference] = []
    if groups is not None and len(set(groups.values())) > 1:
        differences = sequence.transition_differences(rows) if transitions else usage.differences(rows)
    facts: dict[str, Any] = {"transitions" if transitions else "recordings": rows}
    facts |= {} if groups is None else {"groups": of_groups, "differences": differences}
    if xlsx is not None:
        _write_xlsx(xlsx, facts)
        return
    if json:
        plain = {key: [asdict(row) for row in each] for key, each in facts.items()}
        print_json({"motifs_are_units": result.summary.motifs_are_units, **plain})
        return
    levels = ("unit",) if result.summary.motifs_are_units else ("unit", "motif")
    shown = [row for row in (rows if groups is None else of_groups) if row.level in levels]
    print_rows = _print_transitions if transitions else _print_recordings if groups is None else _print_groups
    print_rows(shown)
    if result.summary.motifs_are_units:
        print(f"Motifs are not listed: {NO_LONGER_MOTIF}.")
    if groups is not None:
        points = "of what follows" if transitions else "of time"
        tested = [difference for difference in differences if difference.level in levels]
        for sentence in (*usage.unit_of_comparison(result, groups), *_sentences(tested, groups, points)):
            print(sentence)


def _bins(result: Result, length: str, as_csv: bool, xlsx: Path | None, json: bool) -> None:
    """All ways to give the rows of --bins."""
    from rondo.analysis.bins import BinUsage, bin_usage, parse_bins

    rows = bin_usage(result, parse_bins(length))
    if as_csv:
        _print_csv(BinUsage, rows)
    elif xlsx is not None:
        _write_xlsx(xlsx, {"bins": rows})
    elif json:
        print_json({"bins": [asdict(row) for row in rows]})
    else:
        for level in ("unit",) if result.summary.motifs_are_units else ("motif", "unit"):
            _print_bins([row for row in rows if row.level == level])


def _print_bins(rows: Sequence[BinUsage]) -> None:
    """A line per bin, a column for each of the entries that are used most."""
    used: dict[tuple[str, int, str], float] = {}
    for row in rows:
        entry = row.level, row.id, row.name
        used[entry] = used.get(entry, 0.0) + row.share * row.recorded_frames
    most = sorted(sorted(used, key=lambda entry: -used[entry])[:_MOST_LISTED])
    table: dict[tuple[str, str], list[str]] = {("recording", "bin"): ["recorded", *(_entry(*entry) for entry in most)]}
    for row in rows:
        cells = table.setdefault((row.recording, row.bin), [duration_in_words(row.recorded_s), *[""] * len(most)])
        entry = row.level, row.id, row.name
        if entry in most and row.share:
            cells[1 + most.index(entry)] = percent(row.share)
    print("\n".join(aligned([(*place, *cells) for place, cells in table.items()], texts=(0, 1))))
    if len(used) > len(most):
        print(f"{len(used) - len(most)} entries with less time are not listed; --csv, --json and --xlsx give all.")


def _write_xlsx(path: Path, tables: Mapping[str, Sequence[Any]]) -> None:
    """A sheet for each table that has rows."""
    from rondo.store.folder import whole_files
    from rondo.store.workbook import workbook

    sheets = {}
    for name, rows in tables.items():
        names = [field.name for field in fields(rows[0])] if rows else []
        sheets[name] = names, [[_cell(getattr(row, each)) for each in names] for row in rows]
    whole_files({path: workbook(sheets)})
    print(f"xlsx: {path}")


def _cell(value: Any) -> Any:
    return " and ".join(value) if isinstance(value, tuple) else value


def _print_csv(kind: type[Any], rows: Sequence[Any], left_out: Sequence[str] = ()) -> None:
    names = [field.name for field in fields(kind) if field.name not in left_out]
    print_data(csv_of_rows(names, ([getattr(row, name) for name in names] for row in rows)))


def _print_recordings(rows: Sequence[Usage]) -> None:
    per, hours = often_per(row.per_hour for row in rows if row.per_hour is not None)
    table = [("recording", "entry", "share", "occurrences", f"per {per}", "mean duration")]
    for row in rows:
        if row.n_occurrences:
            frames = f"{row.mean_duration_frames:.0f} frames"
            duration = frames if row.mean_duration_s is None else duration_in_words(row.mean_duration_s)
            numbers = (f"{row.share:.1%}", str(row.n_occurrences), _number(row.per_hour, hours), duration)
            table.append((row.recording, _entry(row.level, row.id, row.name), *numbers))
    print("\n".join(aligned(table, texts=(0, 1))))


def _print_groups(rows: Sequence[GroupUsage]) -> None:
    per, hours = often_per(row.mean_per_hour for row in rows if row.mean_per_hour is not None)
    table = [("group", "entry", "in recordings", "share", "95 %", f"per {per}", "95 %", "mean duration")]
    for row in rows:
        duration = "" if row.mean_duration_s is None else duration_in_words(row.mean_duration_s)
        share = (f"{row.mean_share:.1%}", _percents(row.share_low, row.share_high))
        low, high = _number(row.per_hour_low, hours), _number(row.per_hour_high, hours)
        often = (_number(row.mean_per_hour, hours), f"{low}-{high}" if low and high else "")
        where = f"{row.n_recordings_with} of {row.n_recordings}"
        table.append((row.group, _entry(row.level, row.id, row.name), where, *share, *often, duration))
    print("\n".join(aligned(table, texts=(0, 1))))


def _print_transitions(rows: Sequence[Transition] | Sequence[GroupTransition]) -> None:
    """The most frequent transitions of each recording or group."""
    is_grouped = any(not hasattr(row, "recording") for row in rows)
    by_place: dict[tuple[str, str], list[Any]] = {}
    for row in rows:
        if row.n:
            by_place.setdefault((getattr(row, "recording", row.group), row.level), []).append(row)
    header = ("group" if is_grouped else "recording", "followed by", "times", "probability")
    table, n_left_out = [(*header, "95 %", "in recordings") if is_grouped else header], 0
    for (place, level), transitions in by_place.items():
        most = sorted(transitions, key=lambda row: (-row.n, row.id, row.next_id))
        n_left_out += len(most[_MOST_LISTED:])
        for row in most[:_MOST_LISTED]:
            pair = f"{_entry(level, row.id, row.name)} -> {_entry(level, row.next_id, row.next_name)}"
            of_group = (_percents(row.low, row.high), str(row.n_recordings)) if is_grouped else ()
            table.append((place, pair, str(row.n), f"{row.probability:.1%}", *of_group))
    print("\n".join(aligned(table, texts=(0, 1))))
    if n_left_out:
        print(f"{n_left_out} less frequent transitions are not listed; --csv and --json print all.")


def _entry(level: str, id: int, name: str = "") -> str:
    return f"{level[0]}{id} {name}".strip()


def _number(per_hour: float | None, hours: float) -> str:
    return "" if per_hour is None else f"{per_hour * hours:.1f}"


def _percents(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{100 * low:.1f}-{100 * high:.1f}"


def _sentences(
    differences: Sequence[Difference | TransitionDifference], groups: Mapping[str, str], points: str
) -> list[str]:
    """Differences that chance could hardly have made, or what so few recordings can show at all."""
    from rondo.analysis.usage import MOST_COMPARED, smallest_p

    sizes = Counter(groups.values())
    if len(sizes) < 2:
        return [f"All recordings are in one group ('{next(iter(sizes))}'): there is nothing to compare."]
    if len(sizes) > MOST_COMPARED:
        return [f"{len(sizes)} groups: differences are tested for up to {MOST_COMPARED}; form fewer with --group-by."]
    if not differences:
        return ["No entry occurs in two of the groups: there is nothing to compare."]
    sentences = []
    for it in sorted(differences, key=lambda it: (it.p, -abs(it.difference))):
        if it.p <= 0.05:
            entry, next_id = _entry(it.level, it.id), getattr(it, "next_id", None)
            pair = entry if next_id is None else f"{entry} -> {_entry(it.level, next_id)}"
            sentences.append(
                f"{pair}: {100 * it.difference:+.1f} points {points} in '{it.groups[0]}' beside '{it.groups[1]}' "
                f"(p = {it.p:.2g}, recordings dealt at random, corrected for all entries)"
            )
    if sentences:
        return [
            *sentences,
            "Groups may differ in more than their name: sensors, days, people. A difference is no cause.",
        ]
    n_tests = sum(it.level == "unit" for it in differences)
    least = min(smallest_p(*(sizes[group] for group in it.groups)) for it in differences)
    why = (
        f"with so few recordings none could: the smallest p they can give is {least:.2g}, before correction for "
        f"{n_tests} comparisons"
        if least * n_tests > 0.05
        else "that does not mean that there is none"
    )
    return [f"No difference between groups stands out from chance (p > 0.05); {why}."]
