"""`rondo compare`: what people have annotated beside what was found; names from it only when asked for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rondo.cli import options
from rondo.cli.terminal import aligned, print, print_json
from rondo.errors import SettingError
from rondo.wording import NO_LONGER_MOTIF, counted

if TYPE_CHECKING:
    from rondo.metrics.comparison import Comparison
    from rondo.units.vocabulary import Level

_MOST_COLUMNS = 16


def compare(
    run: options.Run,
    truth: Annotated[Path, options.argument("TRUTH", "Classes per frame, or annotations, as for evaluate.")],
    level: Annotated[str, options.option("--level", "NAME", "motif (default) or unit.")] = "motif",
    recording: Annotated[str | None, options.option("--recording", "ID", "This one alone.")] = None,
    key: options.TruthKey = None,
    rate: options.TruthRate = None,
    suggest_names: Annotated[
        bool, options.switch("--suggest-names", "Propose a class as the name of each entry it fits.")
    ] = False,
    apply: Annotated[
        bool, options.switch("--apply", "With --suggest-names: give them to entries without a name.")
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

    chosen = options.checked_level(level)
    if apply and not suggest_names:
        raise SettingError("--apply writes the names that --suggest-names proposes; give both")
    result = Result.load(run)
    comparison = compared(result, truth, level=chosen, recording=recording, key=key, rate=rate)
    names = {entry.id: entry.name for its_level, entry in result.entries if its_level == chosen and entry.name}
    suggested = {id: name for id, name in comparison.suggested_names().items() if id not in names}
    given = _apply(run, chosen, suggested) if apply else {}
    names |= given
    if json:
        facts = {"level": chosen} | comparison.as_dict()
        for row in facts["entries"]:
            row["name"] = names.get(row["id"], "")
        if suggest_names:
            facts["suggested_names"] = {f"{chosen}:{id}": name for id, name in suggested.items()}
            facts["applied"] = [f"{chosen}:{id}" for id in given]
        print_json(facts)
        return
    print("\n".join(_lines(comparison, chosen, names)))
    if chosen == "motif" and result.summary.motifs_are_units:
        print(f"\n{NO_LONGER_MOTIF}: --level unit says the same about the units")
    if suggest_names:
        print("\n".join(_suggestions(run, chosen, suggested, given if apply else None)))


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


def _lines(comparison: Comparison, level: Level, names: dict[int, str]) -> list[str]:
    from rondo.report.lanes import entry_name
    from rondo.wording import percent

    def called(id: int) -> str:
        return " ".join([entry_name(level, id), *([names[id]] if id in names else [])])

    entries = [[level, "frames", "occurrences", "mostly", "purity"]]
    for row in comparison.entries:
        entries.append([called(row.id), str(row.frames), str(row.n_occurrences), row.main_class, percent(row.purity)])
    classes = [["class", "frames", "coverage", "OTHER", f"best {level}", "share"]]
    for each in comparison.classes:
        shares = [percent(each.coverage), percent(each.share_other)]
        classes.append([each.name, str(each.frames), *shares, called(each.best_entry), percent(each.best_share)])
    confusion = [["frames", *comparison.class_names[:_MOST_COLUMNS]]]
    for id, frames in zip(comparison.ids, comparison.frames[:, :_MOST_COLUMNS].tolist(), strict=True):
        confusion.append([called(id), *map(str, frames)])
    n_entries = sum(row.id != -1 for row in comparison.entries)
    lines = [
        f"{counted(n_entries, level)}, {counted(len(comparison.classes), 'class', 'classes')}; "
        f"{percent(comparison.share_other)} of frames OTHER",
        f"purity {percent(comparison.purity)} (one {level} for everything: {percent(comparison.largest_class_share)})",
        "",
        *aligned(entries, texts=(0, 3)),
        "",
        *aligned(classes, texts=(0, 4)),
        "",
        *aligned(confusion),
    ]
    left_out = len(comparison.class_names) - _MOST_COLUMNS
    if left_out > 0:
        lines.append(f"and {counted(left_out, 'class', 'classes')} more; --json has them all")
    return lines


def _suggestions(run: Path, level: Level, suggested: dict[int, str], given: dict[int, str] | None) -> list[str]:
    if not suggested:
        return ["", "no names to suggest: no entry without a name is mostly one class"]
    if given is None:
        commands = [f'  rondo name {run} {level}:{id} "{name}"' for id, name in suggested.items()]
        return ["", "suggested, not written (--apply gives them all):", *commands]
    left = [(id, name) for id, name in suggested.items() if id not in given]
    refused = [f"{level}:{id}: '{name}' was not given; name it by hand" for id, name in left]
    return ["", *(f"{level}:{id}: {name}" for id, name in given.items()), *refused]
