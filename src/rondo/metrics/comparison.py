"""What people have annotated beside what was found, entry by entry: purity, coverage, and the confusion table.

With n(e, c) the frames that entry e and class c share, pooled over recordings with one vocabulary,

    purity(e)   = max over c of n(e, c) / sum over c of n(e, c)      and the class where it is reached
    coverage(c) = sum of n(e, c) over the entries e that are mostly c / sum over e of n(e, c)

Purity rises with every cut, down to single frames: read it beside the share of the largest class, which one entry for
everything reaches, and beside the clock of `rondo evaluate`. Nothing here goes back to a learner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.annotations.annotation import Annotation
from rondo.data.labels import OTHER, runs_of
from rondo.errors import AnnotationError

_MOSTLY = 0.5  # an entry is called by a class only if more than half of it is that class


@dataclass(frozen=True)
class EntryRow:
    """One entry, or OTHER."""

    id: int
    frames: int
    n_occurrences: int
    main_class: str
    purity: float


@dataclass(frozen=True)
class ClassRow:
    """One class; `best_entry` shares the most frames with it, and is OTHER where that is so."""

    name: str
    frames: int
    coverage: float  # share of it in entries that are mostly this class
    share_other: float
    best_entry: int
    best_share: float


@dataclass(frozen=True, eq=False)
class Comparison:
    """Number of frames that each entry shares with each class; `compare` returns one."""

    ids: tuple[int, ...]  # of the entries, OTHER last: the rows of `frames`
    class_names: tuple[str, ...]  # in order of appearance: the columns of `frames`
    frames: NDArray[np.int64]  # (n_entries, n_classes)
    n_occurrences: NDArray[np.int64]  # of each entry (n_entries,)

    @cached_property
    def entries(self) -> tuple[EntryRow, ...]:
        """A row for each entry: frames, occurrences, main class and purity."""
        main, sizes = self.frames.argmax(axis=1), self.frames.sum(axis=1)
        rows = zip(self.ids, sizes.tolist(), self.n_occurrences.tolist(), main.tolist(), self.frames, strict=True)
        return tuple(EntryRow(id, n, runs, self.class_names[c], float(row[c] / n)) for id, n, runs, c, row in rows)

    @cached_property
    def classes(self) -> tuple[ClassRow, ...]:
        """A row for each class: frames, coverage, share of OTHER, and the entry that shares most frames with it."""
        is_entry = np.array(self.ids) != OTHER
        main = np.where(is_entry, self.frames.argmax(axis=1), -1)
        rows = []
        for c, name in enumerate(self.class_names):
            column = self.frames[:, c]
            n, best = int(column.sum()), int(column.argmax())
            shares = (column[main == c].sum() / n, column[~is_entry].sum() / n)
            rows.append(ClassRow(name, n, float(shares[0]), float(shares[1]), self.ids[best], float(column[best] / n)))
        return tuple(rows)

    @property
    def purity(self) -> float:
        """The share of frames, of those that are not OTHER, in the main class of their entry; 0 if all are OTHER."""
        own = self._found
        return float(own.max(axis=1).sum() / own.sum()) if own.size else 0.0

    @property
    def largest_class_share(self) -> float:
        """The purity that a single entry for all these frames would have."""
        own = self._found
        return float(own.sum(axis=0).max() / own.sum()) if own.size else 0.0

    @property
    def _found(self) -> NDArray[np.int64]:
        return np.asarray(self.frames[np.array(self.ids) != OTHER])

    @property
    def share_other(self) -> float:
        """The share of frames that are OTHER."""
        return float(1 - self._found.sum() / self.frames.sum())

    def suggested_names(self) -> dict[int, str]:
        """The name of a class for each entry of which more than half is that class.

        Each class names only the entry that shares most frames with it; one that is a number n is named "class n".
        """
        found: dict[int, str] = {}
        for c, name in enumerate(self.class_names):
            mostly = [e for e, row in enumerate(self.entries) if row.id != OTHER and row.main_class == name]
            best = max(mostly, key=lambda e: int(self.frames[e, c]), default=None)
            if best is not None and self.entries[best].purity > _MOSTLY:
                found[self.ids[best]] = f"class {name}" if name.lstrip("-").isdecimal() else name
        return dict(sorted(found.items()))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as `rondo compare --json` prints them."""
        return {
            "n_frames": int(self.frames.sum()),
            "purity": self.purity,
            "largest_class_share": self.largest_class_share,
            "share_other": self.share_other,
            "entries": [asdict(row) for row in self.entries],
            "classes": [asdict(row) for row in self.classes],
            "confusion": {"ids": list(self.ids), "classes": list(self.class_names), "frames": self.frames.tolist()},
        }


def compare(pairs: Mapping[str, tuple[Annotation, NDArray[np.integer]]]) -> Comparison:
    """Compare labels (n_frames,) of one vocabulary with annotations, recording by recording id, entry by entry.

    Classes of the same name are the same class in all recordings; without names, those of the same number.

    >>> comparison = compare({"day1": (Annotation(["sit", "sit", "walk", "walk"]), np.array([4, 4, 4, 7]))})
    >>> comparison.purity, comparison.largest_class_share, comparison.suggested_names()
    (0.75, 0.5, {4: 'sit', 7: 'walk'})
    """
    if not pairs:
        raise AnnotationError("there is nothing to compare: expected at least one recording with annotation and labels")
    columns: dict[str, int] = {}
    cells: Counter[tuple[int, int]] = Counter()
    n_runs: Counter[int] = Counter()
    for recording, (annotation, labels) in pairs.items():
        if annotation.n_frames != labels.size:
            raise AnnotationError(
                f"recording '{recording}': the annotation has {annotation.n_frames} frames, the labels {labels.size}; "
                "give one label per frame"
            )
        numbers, first, class_codes = np.unique(annotation.classes, return_index=True, return_inverse=True)
        names = [annotation.names[number] if annotation.names else str(number) for number in numbers.tolist()]
        for place in np.argsort(first):
            columns.setdefault(names[place], len(columns))
        ids, label_codes = np.unique(labels, return_inverse=True)
        table = np.bincount(label_codes * numbers.size + class_codes, minlength=ids.size * numbers.size)
        for (e, c), count in np.ndenumerate(table.reshape(ids.size, numbers.size)):
            cells[int(ids[e]), columns[names[c]]] += int(count)
        n_runs.update(runs_of(labels).ids.tolist())
    rows = tuple(sorted(n_runs, key=lambda id: (id == OTHER, id)))
    frames = np.array([[cells[id, column] for column in columns.values()] for id in rows], dtype=np.int64)
    return Comparison(rows, tuple(columns), frames, np.array([n_runs[id] for id in rows]))
