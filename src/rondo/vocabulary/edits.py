"""Edits: what people have changed about what was found, as a list that is only ever added to.

Learners do not see it. They go on under their own ids, and the list is applied to labels after these were read. An
"undo" takes back the edit that it names, also another undo; what is left, in order, is in force. Of that, spans are
painted first (`rondo.vocabulary.painting`), and merges hold for whatever is on the frames then:

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
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo.errors import ModelError, SettingError
from rondo.store.artifact import EDITS, EDITS_LOCK
from rondo.store.lock import locked
from rondo.store.reading import read_regular
from rondo.store.writing import write_json
from rondo.vocabulary.edit import OF_SPANS, Edit, FrameSpan
from rondo.vocabulary.names import EntryId, checked_name
from rondo.vocabulary.painting import Stroke, strokes_of
from rondo.vocabulary.vocabulary import Level

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
