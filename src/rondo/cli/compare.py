"""`rondo compare`: what people have annotated beside what was found; names from it only when asked for."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rondo.cli import options
from rondo.cli.terminal import print
from rondo.errors import SettingError
from rondo.wording import NO_LONGER_MOTIF, counted

if TYPE_CHECKING:
    from rondo.metrics.comparison import Comparison
    from rondo.units.vocabulary import Level

_MOST_COLUMNS = 16


def compare(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A folder that discover, label or stream wrote.")],
    truth: Annotated[Path, typer.Argument(metavar="TRUTH", help="Classes per frame, or annotations, as for evaluate.")],
    level: Annotated[str, typer.Option("--level", metavar="NAME", help="motif (default) or unit.")] = "motif",
    recording: Annotated[str | None, typer.Option("--recording", metavar="ID", help="This one alone.")] = None,
    key: options.TruthKey = None,
    rate: options.TruthRate = None,
    suggest_names: Annotated[
        bool, typer.Option("--suggest-names", metavar="", help="Propose a class as the name of each entry it fits.")
    ] = False,
    apply: Annotated[
        bool, typer.Option("--apply", metavar="", help="With --suggest-names: give them to entries without a name.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Hold what was found against annotations: the class of each entry, its purity, and the confusion table.

    Example: rondo compare run truth/ --suggest-names

    Entries that were merged count as one. Nothing is learned from annotations. Purity rises with every cut:
    `rondo evaluate` has the scores that a claim can rest on.
    """
    from rondo.evaluation import compared
    from rondo.result import Result

    if level not in ("unit", "motif"):
        raise SettingError(f"--level is unit or motif, got '{level}'")
    if apply and not suggest_names:
        raise SettingError("--apply writes the names that --suggest-names proposes; give both")
    chosen: Level = "unit" if level == "unit" else "motif"
    result = Result.load(run)
    comparison = compared(result, truth, level=chosen, recording=recording, key=key, rate=rate)
    names = {entry.id: entry.name for own, entry in result.entries if own == chosen and entry.name}
    suggested = {id: name for id, name in comparison.suggested_names().items() if id not in names}
    given = _apply(run, chosen, suggested) if apply else {}
    if json:
        print(json_module.dumps(_as_dict(comparison, chosen, names, suggested if suggest_names else None, given)))
        return
    print(_table(comparison, chosen, names | given))
    if chosen == "motif" and result.summary.motifs_are_units:
        print(f"\n{NO_LONGER_MOTIF}: --level unit says the same about the units")
    if suggest_names:
        print(_suggestions(run, chosen, suggested, given, apply))


def _apply(run: Path, level: Level, suggested: dict[int, str]) -> dict[int, str]:
    """Give the names that can be given; returns them."""
    from rondo.edit import editing
    from rondo.editing.edits import now
    from rondo.editing.names import EntryId

    given: dict[int, str] = {}
    with editing(run) as edited:
        edits = edited.edits
        for id, name in suggested.items():
            try:
                edits = edits.named(EntryId(level, id), name, now(), edited.known)
            except SettingError:  # taken, or no name at all: people decide
                continue
            given[id] = edits.name(level, id)
        edited.write(edits)
    return given


# ------------------------------------------------------------ saying it


def _as_dict(
    comparison: Comparison,
    level: Level,
    names: dict[int, str],
    suggested: dict[int, str] | None,
    given: dict[int, str],
) -> dict[str, Any]:
    found = {"level": level} | comparison.as_dict()
    for row in found["entries"]:
        row["name"] = (names | given).get(row["id"], "")
    if suggested is not None:
        found["suggested_names"] = {f"{level}:{id}": name for id, name in suggested.items()}
        found["applied"] = [f"{level}:{id}" for id in given]
    return found


def _table(comparison: Comparison, level: Level, names: dict[int, str]) -> str:
    from rondo.report.lanes import entry_name
    from rondo.report.tables import percent

    def called(id: int) -> str:
        return " ".join([entry_name(level, id), *([names[id]] if id in names else [])])

    entries = [
        [called(row.id), str(row.frames), str(row.n_occurrences), row.main_class, percent(row.purity)]
        for row in comparison.entries
    ]
    classes = [
        [
            row.name,
            str(row.frames),
            *map(percent, (row.coverage, row.share_other)),
            called(row.best_entry),
            percent(row.best_share),
        ]
        for row in comparison.classes
    ]
    shown = comparison.class_names[:_MOST_COLUMNS]
    cells = zip(comparison.ids, comparison.frames[:, :_MOST_COLUMNS].tolist(), strict=True)
    confusion = [[called(id), *map(str, frames)] for id, frames in cells]
    left_out = len(comparison.class_names) - len(shown)
    n_entries = sum(row.id != -1 for row in comparison.entries)
    alone = percent(comparison.largest_class_share)
    return "\n".join(
        [
            f"{counted(n_entries, level)}, {counted(len(classes), 'class', 'classes')}; "
            f"{percent(comparison.share_other)} of frames OTHER",
            f"purity {percent(comparison.purity)} (one {level} for everything: {alone})",
            "",
            *_aligned([level, "frames", "occurrences", "mostly", "purity"], entries, texts=(0, 3)),
            "",
            *_aligned(["class", "frames", "coverage", "OTHER", f"best {level}", "share"], classes, texts=(0, 4)),
            "",
            *_aligned(["frames", *shown], confusion, texts=(0,)),
            *([f"and {counted(left_out, 'class', 'classes')} more; --json has them all"] if left_out else []),
        ]
    )


def _aligned(header: list[str], rows: list[list[str]], texts: tuple[int, ...]) -> list[str]:
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    lines = [
        [
            cell.ljust(width) if i in texts else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in [header, *rows]
    ]
    return ["  ".join(line).rstrip() for line in lines]


def _suggestions(run: Path, level: Level, suggested: dict[int, str], given: dict[int, str], applied: bool) -> str:
    if not suggested:
        return "\nno names to suggest: no entry without a name is mostly one class"
    if applied:
        kept = [f"{level}:{id}: {name}" for id, name in given.items()]
        left = [
            f"{level}:{id}: '{name}' was not given; name it by hand"
            for id, name in suggested.items()
            if id not in given
        ]
        return "\n".join(["", *kept, *left])
    commands = [f'  rondo name {run} {level}:{id} "{name}"' for id, name in suggested.items()]
    return "\n".join(["", "suggested, not written (--apply gives them all):", *commands])
