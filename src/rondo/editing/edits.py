"""Edits: what people have changed about what was found, as a list that is only ever added to.

Learners do not see it. They go on under their own ids, and the list is applied to labels after these were read. An
"undo" takes back the edit that it names, also another undo; what is left, in order, is in force. Of that, spans are
painted first (`rondo.editing.edits`), and merges hold for whatever is on the frames then:

    kept(k) = min of the group of k,   label(t) <- kept(painted(t)),   OTHER stays OTHER

Groups come from merges. The entry with the lowest id, the one that has been there longest, stands for its group: so
the order of merges does not matter, neither does the order of merges and span edits, and applying twice is applying
once. Only "divide" makes up an id: one above every id that was ever used, and not below `FIRST_BY_HAND`, which the
counter of a learner does not reach. No id is ever used again.

There are two lists. Names, merges and splits are about a vocabulary: edits.json beside a model, or beside the
checkpoint of a stream. What is about frames, and about entries that "divide" has made, holds for one run only:
edits.json in the folder of the run (`rondo.run.edit_lists`). None counts towards the identity of a model: its files
stay as they are, and a stream that began with the model goes on when entries are named.
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER, Labels
from rondo.editing.names import EntryId, checked_name
from rondo.errors import ModelError, SettingError
from rondo.store.folder import write_json
from rondo.store.lock import locked
from rondo.store.model_file import EDITS, EDITS_LOCK
from rondo.store.reading import read_regular
from rondo.units.vocabulary import Level

# ----------------------------------------------------------------
# One edit: what people have done to entries of one level, or to spans of recordings; as JSON and in words.
#
# kind ids spans means name K K is called `name`; "" takes the name away merge K, K', … they count as one split K K
# leaves the group that merges have put it in relabel K one or more these frames belong to K (OTHER: to nothing), in
# one occurrence each cut one, empty a new occurrence begins at this frame divide K, N one or more these occurrences of
# K are the new entry N undo as undone takes back the edit at the place `of` of the same list

EditKind = Literal["name", "merge", "split", "relabel", "cut", "divide", "undo"]
OF_SPANS: tuple[EditKind, ...] = ("relabel", "cut", "divide")
NOTHING = -1
_LONGEST_KEY = 80


class FrameSpan(NamedTuple):
    """The frames [start, stop) of one recording; empty for a place between two frames."""

    recording: str
    start: int
    stop: int


@dataclass(frozen=True)
class Edit:
    """One thing that was done."""

    kind: EditKind
    level: Level
    ids: tuple[int, ...] = ()
    name: str = ""
    at: str = ""  # by the clock on the wall, for people; "" where nobody cared
    spans: tuple[FrameSpan, ...] = ()
    of: int = NOTHING  # the place of what an "undo" takes back
    follows: bool = False  # made together with the one before it in the list, and taken back with it
    key: str = ""  # by which whoever sends an edit twice is understood once

    def __str__(self) -> str:
        entries = [EntryId(self.level, id) for id in self.ids if id != OTHER]
        first = str(entries[0]) if entries else "OTHER"
        match self.kind:
            case "name":
                return f"{first} named '{self.name}'" if self.name else f"{first} lost its name"
            case "merge":
                return f"{', '.join(map(str, entries))} merged"
            case "split":
                return f"{first} split off"
            case "relabel":
                return f"{self._where()} relabelled {first}"
            case "cut":
                return f"{self.level} cut at frame {self.spans[0].start} of {self.spans[0].recording}"
            case "divide":
                n = len(self.spans)
                return f"{n} {'occurrence' if n == 1 else 'occurrences'} of {first} became {entries[1]}"
            case "undo":
                return "undone"

    def _where(self) -> str:
        recording, start, stop = self.spans[0]
        more = f" and {len(self.spans) - 1} more" if len(self.spans) > 1 else ""
        return f"frames {start} to {stop} of {recording}{more}"

    def shifted(self, places: int) -> Edit:
        """The same in a list that has so many more edits before it."""
        return replace(self, of=self.of + places) if self.kind == "undo" else self

    def as_json(self) -> dict[str, Any]:
        """Plain values; those that say nothing are left out, so that names and merges read as they always did."""
        fields: dict[str, Any] = {
            "kind": self.kind, "level": self.level, "ids": list(self.ids), "name": self.name, "at": self.at,
        }  # fmt: skip
        if self.spans:
            fields["spans"] = [list(span) for span in self.spans]
        if self.kind == "undo":
            fields["of"] = self.of
        told = {"follows": self.follows, "key": self.key}
        return fields | {name: value for name, value in told.items() if value}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Edit:
        """What `as_json` gave; LookupError, TypeError, ValueError or SettingError for anything else."""
        edit = cls(
            fields["kind"],
            fields["level"],
            tuple(fields["ids"]),
            fields["name"],
            fields["at"],
            spans_from_json(fields.get("spans", ())),
            fields.get("of", NOTHING),
            fields.get("follows", False),
            fields.get("key", ""),
        )
        edit.check()
        return edit

    def check(self) -> None:
        """ValueError, or the error of a name, where the parts do not go together."""
        if self.kind not in get_args(EditKind) or self.level not in get_args(Level):
            raise ValueError(f"edit {reprlib.repr(self.kind)} of {reprlib.repr(self.level)}")
        least_id = OTHER if self.kind in ("relabel", "undo") else 0
        if not all(type(id) is int and id >= least_id for id in self.ids) or len(set(self.ids)) != len(self.ids):
            raise ValueError(f"ids {reprlib.repr(list(self.ids))}")
        if not _MOST[self.kind][0] <= len(self.ids) <= _MOST[self.kind][1]:
            raise ValueError(f"'{self.kind}' of {len(self.ids)} entries")
        if not all(isinstance(text, str) for text in (self.at, self.key)):
            given = ", ".join(map(reprlib.repr, (self.at, self.key)))
            raise ValueError(f"expected text for at and key, got {given}")
        if type(self.follows) is not bool or type(self.of) is not int or (self.kind == "undo") == (self.of < 0):
            raise ValueError(f"follows {reprlib.repr(self.follows)}, of {reprlib.repr(self.of)}")
        if len(self.key) > _LONGEST_KEY:
            raise ValueError(f"a key of {len(self.key)} characters, expected at most {_LONGEST_KEY}")
        if self.name and checked_name(self.name) != self.name:
            raise ValueError(f"name {reprlib.repr(self.name)}")
        self._check_spans()

    def _check_spans(self) -> None:
        if (self.kind in OF_SPANS) != bool(self.spans):
            raise ValueError(f"'{self.kind}' of {len(self.spans)} spans")
        for span in self.spans:
            if not 0 <= span.start < span.stop + (self.kind == "cut"):
                raise ValueError(f"'{self.kind}' of frames {span.start} to {span.stop}")
        if self.kind == "cut" and (len(self.spans) > 1 or self.spans[0].start != self.spans[0].stop):
            raise ValueError("a 'cut' with other than one place")


_MANY = 1 << 30
_MOST: dict[EditKind, tuple[int, int]] = {  # how many entries each may be of
    "name": (1, 1), "merge": (2, _MANY), "split": (1, 1), "relabel": (1, 1), "cut": (0, 0), "divide": (2, 2),
    "undo": (0, _MANY),
}  # fmt: skip


def spans_from_json(found: Any) -> tuple[FrameSpan, ...]:
    """Spans that were written as [recording, start, stop]; ValueError for anything else."""
    spans = tuple(FrameSpan(*one) for one in found)
    for span in spans:
        if not isinstance(span.recording, str) or type(span.start) is not int or type(span.stop) is not int:
            raise ValueError(f"span {list(span)}, expected [recording, start frame, end frame]")
    return spans


# ----------------------------------------------------------------
# FrameSpan edits applied to the labels of one level of one recording, frame by frame.
#
# A track is a label for every frame and the frames at which an occurrence begins although the label stays the same.
# Edits are applied in their order:
#
#     relabel [a, b) to K    label(t) <- K for a <= t < b; no occurrence begins in [a, b] unless the label changes there
#     divide  [a, b) into N  label(t) <- N for a <= t < b; occurrences begin where they did
#     cut at f               an occurrence begins at f
#
# So the last edit that covers a frame decides, and applying all of them twice is applying them once. To move the
# boundary between two occurrences is to relabel the frames between its old and its new place; where both are of one
# entry, a cut at the new place follows.


class Stroke(NamedTuple):
    """One span of an edit, on one track."""

    kind: EditKind
    start: int
    stop: int
    label: int = 0


class LevelTrack(NamedTuple):
    """The labels of every frame, and where occurrences begin inside runs of one label, in order."""

    labels: Labels
    begins: NDArray[np.int64]

    def painted(self, strokes: Sequence[Stroke]) -> LevelTrack:
        """The track after the strokes; the arrays of this one stay as they are.

        >>> track = LevelTrack(np.array([3, 3, 3, 7, 7]), np.array([1]))
        >>> painted = track.painted([Stroke("relabel", 1, 4, 3), Stroke("cut", 2, 2)])
        >>> painted.labels.tolist(), painted.begins.tolist()
        ([3, 3, 3, 3, 7], [2])
        """
        if not strokes:
            return self
        labels = np.array(self.labels)
        begins = np.zeros(labels.size + 1, dtype=np.bool_)
        begins[self.begins] = True
        for stroke in strokes:
            if stroke.kind == "cut":
                begins[stroke.start : stroke.start + 1] = True
                continue
            labels[stroke.start : stroke.stop] = stroke.label
            if stroke.kind == "relabel":
                begins[stroke.start : stroke.stop + 1] = False
        return LevelTrack(labels, np.flatnonzero(begins[: labels.size]).astype(np.int64))


def strokes_of(edits: Sequence[Edit], recording: str) -> list[Stroke]:
    """What edits of one level do to one recording, in order."""
    return [
        Stroke(edit.kind, span.start, span.stop, edit.ids[-1] if edit.ids else 0)
        for edit in edits
        for span in edit.spans
        if span.recording == recording
    ]


FORMAT, SCHEMA = "rondo-edits", 1
FIRST_BY_HAND = 1000
"""The lowest id that "divide" gives: learners count from 0 and stay far below."""
_ANEW = "put it back, or remove it and name the entries again"


@dataclass(frozen=True)
class Edits:
    """The list, and what follows from it.

    >>> edits = Edits().named("unit:3", "reach").merged(["unit:7", "unit:3"])
    >>> edits.apply("unit", np.array([3, 7, 7, -1, 8])).tolist(), edits.name("unit", 7)
    ([3, 3, 3, -1, 8], 'reach')
    >>> edits.split("unit:7").apply("unit", np.array([3, 7])).tolist(), len(edits.history)
    ([3, 7], 2)
    >>> edits.undone(1).apply("unit", np.array([3, 7])).tolist(), len(edits.undone(1).history)
    ([3, 7], 3)
    """

    history: tuple[Edit, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """The list alone: a copy, or a hash, of a model must not depend on what was read of it before."""
        return {"history": self.history}

    # ------------------------------------------------------------ what is in force

    @cached_property
    def is_undone(self) -> tuple[bool, ...]:
        """Of every edit, whether it was taken back: by an undo that was not taken back itself."""
        undone = [False] * len(self.history)
        for place in reversed(range(len(self.history))):
            edit = self.history[place]
            if edit.kind == "undo" and not undone[place]:
                undone[edit.of] = True
        return tuple(undone)

    @cached_property
    def in_force(self) -> tuple[Edit, ...]:
        """What was not taken back, in order, without the undoing itself."""
        pairs = zip(self.history, self.is_undone, strict=True)
        return tuple(edit for edit, is_undone in pairs if edit.kind != "undo" and not is_undone)

    def made_with(self, place: int) -> tuple[int, ...]:
        """The places of all edits that were made together with the one at this place, in order."""
        first = place
        while first > 0 and self.history[first].follows:
            first -= 1
        last = first + 1
        while last < len(self.history) and self.history[last].follows:
            last += 1
        return tuple(range(first, last))

    # ------------------------------------------------------------ what follows

    @cached_property
    def _groups(self) -> dict[EntryId, int]:
        """The kept id of every entry that is merged, or was once."""
        kept: dict[EntryId, int] = {}
        for edit in self.in_force:
            if edit.kind not in ("merge", "split"):
                continue
            entries = [EntryId(edit.level, id) for id in edit.ids]
            groups = {kept.setdefault(entry, entry.id) for entry in entries}
            members = {entry for entry, group in kept.items() if entry.level == edit.level and group in groups}
            left = members - set(entries) if edit.kind == "split" else members
            kept |= {entry: entry.id for entry in members - left}
            kept |= {entry: min(left).id for entry in left}
        return kept

    @cached_property
    def _own_names(self) -> dict[EntryId, str]:
        """The name that each entry was given last, merged or not."""
        given = {EntryId(edit.level, edit.ids[0]): edit.name for edit in self.in_force if edit.kind == "name"}
        return {entry: name for entry, name in given.items() if name}

    def kept(self, level: Level, id: int) -> int:
        """The entry under whose id this one is written."""
        return self._groups.get(EntryId(level, id), id)

    def absorbed(self, level: Level, id: int) -> tuple[int, ...]:
        """The other entries that are written under this id."""
        return tuple(sorted(e.id for e, kept in self._groups.items() if e.level == level and kept == id != e.id))

    def groups(self, level: Level) -> tuple[int, ...]:
        """The ids that are kept for more than one entry."""
        return tuple(sorted({k for e, k in self._groups.items() if e.level == level and k != e.id}))

    def name(self, level: Level, id: int) -> str:
        """What people call it, "" where they do not; of a group the name of its kept entry, else its first one."""
        kept = self.kept(level, id)
        names = (self._own_names.get(EntryId(level, member)) for member in (kept, *self.absorbed(level, kept)))
        return next((name for name in names if name), "")

    def names(self, level: Level) -> dict[int, str]:
        """The name of every entry that has one, absorbed entries under the name of their group."""
        mentioned = {entry.id for entry in (*self._own_names, *self._groups) if entry.level == level}
        named = {id: self.name(level, id) for id in sorted(mentioned)}
        return {id: name for id, name in named.items() if name}

    def apply(self, level: Level, labels: NDArray[np.integer]) -> NDArray[Any]:
        """Labels under the ids that are kept; the array itself where no merge concerns it."""
        moved = {entry.id: kept for entry, kept in self._groups.items() if entry.level == level and entry.id != kept}
        if not moved or not labels.size:
            return labels
        ids, codes = np.unique(labels, return_inverse=True)
        kept = np.array([moved.get(id, id) for id in ids.tolist()], dtype=labels.dtype)
        return np.asarray(kept[codes].reshape(labels.shape))

    def strokes(self, level: Level, recording: str) -> list[Stroke]:
        """What span edits do to the frames of one level of a recording, in order."""
        return strokes_of([edit for edit in self._of_spans if edit.level == level], recording)

    @cached_property
    def _of_spans(self) -> tuple[Edit, ...]:
        return tuple(edit for edit in self.in_force if edit.kind in OF_SPANS)

    @property
    def touched(self) -> frozenset[str]:
        """The recordings of which frames were changed, and not changed back."""
        return frozenset(span.recording for edit in self._of_spans for span in edit.spans)

    def divided(self, level: Level) -> dict[int, int]:
        """The entries of a level that "divide" has made, undone or not, and of which each was a part."""
        made = (edit.ids for edit in self.history if edit.kind == "divide" and edit.level == level)
        return {new: old for old, new in made}

    def divided_motifs(self) -> dict[int, int]:
        """The motif of each unit that was divided off together with its motif."""
        pairs = zip(self.history, self.history[1:], strict=False)
        return {
            unit.ids[1]: motif.ids[1]
            for unit, motif in pairs
            if unit.kind == motif.kind == "divide" and (unit.level, motif.level) == ("unit", "motif") and motif.follows
        }

    def made_by_hand(self, level: Level) -> tuple[int, ...]:
        """The ids of entries that "divide" has made and that edits in force put on frames."""
        made = self.divided(level)
        return tuple(sorted({id for edit in self._of_spans if edit.level == level for id in edit.ids if id in made}))

    def fresh_id(self, level: Level, known: Collection[int]) -> int:
        """An id above all that are known and all that any edit has ever been about."""
        used = {id for edit in self.history if edit.level == level for id in edit.ids}
        return max([FIRST_BY_HAND - 1, *used, *known]) + 1

    # ------------------------------------------------------------ adding

    def named(self, entry: str | EntryId, name: str, at: str = "") -> Edits:
        """With a name for an entry; one that another entry of its level has is refused."""
        this, name = _entry(entry), checked_name(name)
        self._refuse_absorbed(this)
        for other, taken in self._own_names.items():
            if other != this and other.level == this.level and taken.casefold() == name.casefold():
                raise SettingError(f"'{taken}' is the name of {other} already; choose another, or merge the two")
        return self._and(Edit("name", this.level, (this.id,), name, at), self._own_names.get(this) == name)

    def unnamed(self, entry: str | EntryId, at: str = "") -> Edits:
        """Without the name of an entry; it stays in the history."""
        this = _entry(entry)
        self._refuse_absorbed(this)
        return self._and(Edit("name", this.level, (this.id,), "", at), this not in self._own_names)

    def merged(
        self, entries: Iterable[str | EntryId], at: str = "", own_motifs: Mapping[int, int] | None = None
    ) -> Edits:
        """With entries that count as one from now on, under the lowest of their ids.

        `own_motifs` is the motif of each unit where every unit is its own motif: who merges units there means both
        levels. Motifs alone can be merged: they are then groups of units.

        >>> Edits().merged(["unit:3", "unit:7"], own_motifs={3: 3, 7: 7}).kept("motif", 7)
        3
        """
        these = sorted({_entry(entry) for entry in entries})
        if len(these) < 2 or len({entry.level for entry in these}) > 1:
            given = ", ".join(map(str, these)) or "none"
            raise SettingError(f"expected two or more different entries of one level to merge, got {given}")
        is_done = len({self.kept(*entry) for entry in these}) == 1
        merged = self._and(Edit("merge", these[0].level, tuple(entry.id for entry in these), at=at), is_done)
        motifs = [motif for entry in these for motif in _own_motif(entry, own_motifs)]
        return merged.merged(motifs, at).together_since(len(self.history)) if len(motifs) > 1 else merged

    def split(self, entry: str | EntryId, at: str = "", own_motifs: Mapping[int, int] | None = None) -> Edits:
        """With an entry taken out of the group that merges have put it in; the others stay together.

        One that was taken out before is on its own already, so that a command that was interrupted can be repeated.
        `own_motifs` as in `merged`: the motif of a unit leaves its group too, if it is in one.
        """
        this = _entry(entry)
        kept = self.kept(*this)
        if not self.absorbed(this.level, kept):
            if self._was_split(this):
                return self
            raise SettingError(
                f"{this} is not merged with anything, so nothing can be split off; "
                "to divide an entry that was found as one, choose its occurrences in `rondo view`"
            )
        split = self._and(Edit("split", this.level, (this.id,), at=at), False)
        for motif in _own_motif(this, own_motifs):
            if split.absorbed("motif", split.kept(*motif)):
                split = split.split(motif, at)
        return split.together_since(len(self.history))

    def _was_split(self, entry: EntryId) -> bool:
        splits = (edit for edit in self.in_force if edit.kind == "split" and edit.level == entry.level)
        return any(entry.id in edit.ids for edit in splits)

    def relabelled(
        self, entry: EntryId, spans: Iterable[FrameSpan], at: str = "", own_motifs: Mapping[int, int] | None = None
    ) -> Edits:
        """With frames that belong to an entry, or to nothing (id OTHER); each span is one occurrence.

        `own_motifs` as in `merged`: the frames belong to the motif of the unit too.

        >>> edits = Edits().relabelled(EntryId("unit", 3), [FrameSpan("day", 10, 20)])
        >>> edits.strokes("unit", "day")
        [Stroke(kind='relabel', start=10, stop=20, label=3)]
        """
        frames = tuple(spans)
        levels = [entry, *_motif_too(entry, own_motifs)]
        return self._made([Edit("relabel", each.level, (each.id,), at=at, spans=frames) for each in levels])

    def cut(self, level: Level, recording: str, frame: int, at: str = "", both: bool = False) -> Edits:
        """With an occurrence that begins at this frame; of both levels where every unit is its own motif."""
        places = (FrameSpan(recording, frame, frame),)
        levels: tuple[Level, ...] = ("unit", "motif") if both else (level,)
        return self._made([Edit("cut", each, at=at, spans=places) for each in levels])

    def divided_off(
        self,
        entry: EntryId,
        spans: Iterable[FrameSpan],
        known: Mapping[Level, Collection[int]],
        at: str = "",
        own_motifs: Mapping[int, int] | None = None,
    ) -> Edits:
        """With a new entry that these occurrences of another are; `known` holds the ids that learners have given.

        >>> edits = Edits().divided_off(EntryId("unit", 3), [FrameSpan("day", 10, 20)], {"unit": [0, 3]})
        >>> edits.divided("unit")
        {1000: 3}
        """
        frames, made = tuple(spans), []
        for old in (entry, *_motif_too(entry, own_motifs)):
            new = self.fresh_id(old.level, known.get(old.level, ()))
            made.append(Edit("divide", old.level, (old.id, new), at=at, spans=frames))
        return self._made(made)

    def undone(self, place: int, at: str = "") -> Edits:
        """Without the edit at this place and those made with it; of an undo, with what it took back."""
        if not 0 <= place < len(self.history):
            raise SettingError(f"there is no edit {place} in a list of {len(self.history)}; expected one of its places")
        left = [each for each in self.made_with(place) if not self.is_undone[each]]
        undoing = [Edit("undo", self.history[each].level, self.history[each].ids, at=at, of=each) for each in left]
        undone = self._made(undoing)
        undone.refuse_twins()
        return undone

    def _made(self, edits: Sequence[Edit]) -> Edits:
        """With edits that were made together."""
        return Edits((*self.history, *edits)).together_since(len(self.history))

    def together_since(self, place: int) -> Edits:
        """The same, where all edits from a place on were made together."""
        first, rest = self.history[place : place + 1], self.history[place + 1 :]
        return Edits((*self.history[:place], *first, *(replace(edit, follows=True) for edit in rest)))

    def with_key(self, place: int, key: str) -> Edits:
        """The same with a key for the edit at a place; as it is where nothing is there."""
        if place >= len(self.history):
            return self
        return Edits((*self.history[:place], replace(self.history[place], key=key), *self.history[place + 1 :]))

    def refuse_twins(self) -> None:
        """SettingError where two entries have one name: an undo can bring back one that was given to another since."""
        owners: dict[tuple[Level, str], EntryId] = {}
        for entry, name in self._own_names.items():
            first = owners.setdefault((entry.level, name.casefold()), entry)
            if first != entry:
                raise SettingError(f"'{name}' would be the name of {first} and {entry}; take one of them away first")

    def shows_as(self, other: Edits) -> bool:
        """Whether entries have the same names and groups under both lists."""
        groups = [{entry: kept for entry, kept in each._groups.items() if entry.id != kept} for each in (self, other)]
        return groups[0] == groups[1] and self._own_names == other._own_names

    def _and(self, edit: Edit, is_done: bool) -> Edits:
        return self if is_done else Edits((*self.history, edit))

    def _refuse_absorbed(self, entry: EntryId) -> None:
        kept = self.kept(*entry)
        if kept != entry.id:
            raise SettingError(f"{entry} is part of {EntryId(entry.level, kept)} since they were merged; name that one")

    # ------------------------------------------------------------ putting together

    def then(self, later: Edits) -> Edits:
        """These, and then those that were made elsewhere, as beside a stream or in a run."""
        return Edits(self.history + tuple(edit.shifted(len(self.history)) for edit in later.history))

    def since(self, place: int) -> Edits:
        """The edits from a place on, as a list of their own; none of them may take back an earlier one."""
        return Edits(tuple(edit.shifted(-place) for edit in self.history[place:]))

    def among(self, ids: Mapping[Level, Collection[int]]) -> Edits:
        """Only what is about these entries: where others have grown elsewhere, the same ids mean other things."""

        def left(edit: Edit) -> Edit | None:
            known = tuple(id for id in edit.ids if id in ids.get(edit.level, ()))
            return replace(edit, ids=known) if len(known) >= (2 if edit.kind == "merge" else 1) else None

        return self._picked(left)

    def without_spans(self, level: Level) -> Edits:
        """Without what was done to frames of one level."""
        return self._picked(lambda edit: None if edit.kind in OF_SPANS and edit.level == level else edit)

    def _picked(self, left: Callable[[Edit], Edit | None]) -> Edits:
        """The list with what is left of each edit; an undo of nothing goes too."""
        kept: list[Edit] = []
        places: dict[int, int] = {}
        for place, edit in enumerate(self.history):
            if edit.kind == "undo":
                found = replace(edit, of=places[edit.of]) if edit.of in places else None
            else:
                found = left(edit)
            if found is not None:
                follows = found.follows and place - 1 in places
                places[place] = len(kept)
                kept.append(replace(found, follows=follows))
        return Edits(tuple(kept))

    def as_json(self) -> dict[str, Any]:
        """What edits.json holds."""
        return {"format": FORMAT, "schema": SCHEMA, "edits": [edit.as_json() for edit in self.history]}

    @classmethod
    def from_json(cls, found: Any, where: object) -> Edits:
        """The edits that were written so; anything else is refused, naming `where`."""
        try:
            if (found["format"], found["schema"]) != (FORMAT, SCHEMA):
                raise ValueError(f"expected format '{FORMAT}', schema {SCHEMA}")
            edits = tuple(Edit.from_json(fields) for fields in found["edits"])
            for place, edit in enumerate(edits):
                if edit.of >= place:
                    raise ValueError(f"edit {place} takes back edit {edit.of}")
            return cls(edits)
        except (LookupError, TypeError, ValueError, AttributeError, SettingError) as error:
            raise ModelError(f"{where}: not a list of edits ({error}); {_ANEW}") from None


def _entry(entry: str | EntryId) -> EntryId:
    return EntryId.parse(entry) if isinstance(entry, str) else entry


def _own_motif(entry: EntryId, own_motifs: Mapping[int, int] | None) -> list[EntryId]:
    if entry.level == "motif" or not own_motifs or entry.id not in own_motifs:
        return []
    return [EntryId("motif", own_motifs[entry.id])]


def _motif_too(entry: EntryId, own_motifs: Mapping[int, int] | None) -> list[EntryId]:
    """The motif of a unit where every unit is its own; frames of no unit have no motif there."""
    if entry.id == OTHER and entry.level == "unit" and own_motifs:
        return [EntryId("motif", OTHER)]
    return _own_motif(entry, own_motifs)


def now() -> str:
    """The time on the wall, to the second: when someone has made an edit."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def changing(folder: Path) -> AbstractContextManager[None]:
    """Keep others from changing the edits here, or what shows them, from before they are read until they are written.

    Whoever names 20,000 recordings may take minutes over it.
    """
    return locked(folder, EDITS_LOCK, "another process is editing here; wait for it, or stop it", wait_s=600.0)


def read_edits(folder: Path) -> Edits:
    """The edits in a folder; none where nobody has made any."""
    path = folder / EDITS
    try:
        found = json.loads(read_regular(path))
    except FileNotFoundError:
        return Edits()
    except (ValueError, RecursionError):
        raise ModelError(f"{path}: not JSON; {_ANEW}") from None
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror}); {_ANEW}") from None
    return Edits.from_json(found, path)


def write_edits(folder: Path, edits: Edits) -> None:
    """Put edits.json in place, whole: whoever reads meanwhile sees the one before."""
    write_json(folder / EDITS, edits.as_json(), ensure_ascii=False)
