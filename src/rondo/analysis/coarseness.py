"""Places along the tree of a run's motifs: what each shows, and what the next merge would join.

A place is known by how many motifs it shows. Merges of motifs that occur nowhere in the run, or that people have merged
already, change nothing that is shown, and so make no place of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from rondo.editing.edits import Edits
from rondo.editing.names import EntryId
from rondo.errors import SettingError
from rondo.units.vocabulary import MergeStep, MergeTree
from rondo.wording import counted

if TYPE_CHECKING:
    import pandas as pd

    from rondo.result import Result

COLUMNS = ("kept", "absorbed", "confused", "n_motifs", "suggested")
Groups = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Coarseness:
    """The places of one run; place 0 shows what was found."""

    tree: MergeTree
    n_suggested: int  # merges
    stages: tuple[Edits, ...]  # the edits after 0, 1, 2 … merges
    counts: tuple[int, ...]  # motifs that are shown then
    n_now: int

    @property
    def n_found(self) -> int:
        return self.counts[0]

    @property
    def fewest(self) -> int:
        return self.counts[-1]

    def groups_at(self, n_motifs: int) -> Groups:
        """The motifs that count as one where so many are shown; SettingError where so many cannot be."""
        is_whole = isinstance(n_motifs, Integral) and not isinstance(n_motifs, bool)
        if not is_whole or n_motifs not in self.counts:
            if self.n_found > 2 and not self.tree.steps:
                raise SettingError(
                    "this run has no tree of motifs, as runs of the method rondo have; fit it again with that method"
                )
            can = f"{self.fewest} to {self.n_found}" if self.fewest < self.n_found else f"only {self.n_found}"
            raise SettingError(f"this run has {counted(self.n_found, 'motif')}, and can show {can}; got {n_motifs!r}")
        return groups_after(self.tree, self.counts.index(int(n_motifs)))

    @property
    def places(self) -> list[dict[str, Any]]:
        """Every place for the page and `--json`, what was found first; `next`: the merge that leads to the one after.

        It names motifs as they are shown, and holds the share of their windows that are taken for each other.
        """
        firsts = [at for at, n in enumerate(self.counts) if n not in self.counts[:at]]
        rows: list[dict[str, Any]] = [
            {"n_motifs": self.counts[at], "groups": groups_after(self.tree, at), "next": None} for at in firsts
        ]
        for row, at in zip(rows, firsts[1:], strict=False):
            step, edits = self.tree.steps[at - 1], self.stages[at - 1]
            kept, absorbed = sorted(edits.kept("motif", id) for id in (step.kept, step.absorbed))
            named = {"kept": kept, "absorbed": absorbed, "confused": round(step.confusion / 2, 4)}
            row["next"] = {**named, "n_motifs": self.counts[at], "suggested": at <= self.n_suggested}
        return rows

    @property
    def n_motifs_suggested(self) -> int:
        return self.counts[self.n_suggested]

    @property
    def merges(self) -> list[dict[str, Any]]:
        """The merges that lead on from here."""
        return [row["next"] for row in self.places if row["next"] and row["n_motifs"] <= self.n_now]


def coarseness_of(result: Result) -> Coarseness:
    """The places of a run under its edits."""
    merges, edits = result.summary.motif_merges, result.run.edits
    as_found = edits.coarsened(())
    shown = (result if as_found is edits else result.edited(as_found)).summary.shown_motifs
    steps = tuple(MergeStep(one.kept, one.absorbed, one.confusion, one.before, one.after) for one in merges)
    tree = MergeTree(tuple(sorted({id for step in steps for id in (step.kept, step.absorbed)})), steps)
    stages = tuple(as_found.coarsened(groups_after(tree, at)) for at in range(len(steps) + 1))
    counts = tuple(len({stage.kept("motif", one.id) for one in shown}) for stage in stages)
    return Coarseness(tree, sum(one.advised for one in merges), stages, counts, len(result.summary.shown_motifs))


def groups_after(tree: MergeTree, n_merges: int) -> Groups:
    """The entries that count as one after so many merges."""
    kept = tree.kept_at(n_merges)
    together = (tuple(id for id in tree.ids if kept[id] == one) for one in sorted({*kept.values()}))
    return tuple(group for group in together if len(group) > 1)


def merge_table(rows: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """Merges as a table."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(COLUMNS))


def reason(row: dict[str, Any]) -> str:
    """Why to merge, in words.

    >>> reason({"kept": 3, "absorbed": 7, "confused": 0.306})
    'm3 and m7 are confused in 31 % of windows'
    """
    kept, absorbed = (EntryId("motif", row[name]).short for name in ("kept", "absorbed"))
    return f"{kept} and {absorbed} are confused in {100 * row['confused']:.0f} % of windows"
