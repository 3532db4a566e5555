"""Edits: what people have changed about what was found, as one list that is only ever added to.

Learners do not see the list: labels are changed after they were read, and nowhere but in `rondo.run.shown`. Frames are
relabelled first, in the order of the list, and merges hold for whatever is on the frames then:

    kept(k) = min of the group of k,   label(t) <- kept(relabelled(t)),   OTHER stays OTHER

Groups are those of the last coarsening in force, joined by every merge.

A relabel may make up an entry (`new`): its id is above every id that was ever used, and not below `FIRST_BY_HAND`. No
id is ever used again. Where every unit is its own motif, an edit of units is one of their `motifs` too.

edits.json lies beside a model, or beside the checkpoint of a stream. Names and merges are carried over to other
recordings (`Edits.carried`). None of it counts towards the identity of a model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, NamedTuple, get_args

from rondo.data.labels import OTHER
from rondo.editing.kinds import Edit, TaughtSpan
from rondo.editing.names import EntryId, checked_name, in_labels, known_entry
from rondo.errors import ModelError, SettingError
from rondo.units.vocabulary import Level

FORMAT, SCHEMA = "rondo-edits", 2
FIRST_BY_HAND = 1000
"""The lowest id of an entry that people have made: learners count from 0 and stay far below."""
ADVICE = "put it back, or remove it and name the entries again"


class KnownIds(NamedTuple):
    """The entries of a vocabulary, as far as an edit needs to know them."""

    ids: Mapping[Level, tuple[int, ...]]
    own_motifs: Mapping[int, int] = {}  # the motif of each unit, where every unit is its own motif
    unshown: Collection[int] = ()  # motifs that labels do not show


@dataclass(frozen=True)
class Edits:
    """The list, and what follows from it.

    >>> edits = Edits().named("unit:3", "reach").merged(["unit:7", "unit:3"])
    >>> edits.kept("unit", 7), edits.name("unit", 7)
    (3, 'reach')
    >>> edits.split("unit:7").kept("unit", 7), [edit.kind for edit in edits.split("unit:7").history]
    (7, ['name', 'merge', 'undo'])
    """

    history: tuple[Edit, ...] = ()
    n_given: int = field(default=0, compare=False)  # the first so many came with the model of a stream

    def __getstate__(self) -> dict[str, Any]:
        """The list alone: a copy, or a hash, of a model must not depend on what was read of it before."""
        return {"history": self.history, "n_given": self.n_given}

    @cached_property
    def undone(self) -> frozenset[int]:
        """The places of edits that were taken back."""
        return frozenset(edit.of for edit in self.history if edit.kind == "undo")

    @cached_property
    def in_force(self) -> tuple[Edit, ...]:
        """What was not taken back, in order."""
        places = enumerate(self.history)
        return tuple(edit for place, edit in places if edit.kind != "undo" and place not in self.undone)

    @cached_property
    def _groups(self) -> dict[EntryId, int]:
        """The kept id of every entry that is merged."""
        kept: dict[EntryId, int] = {}
        last = self.coarsening
        together = [(last.level, group) for group in last.groups] if last else []
        merges = [edit for edit in self.in_force if edit.kind == "merge"]
        together += [(level, edit.ids_of(level)) for edit in merges for level in get_args(Level)]
        for level, ids in together:
            groups = {kept.setdefault(EntryId(level, id), id) for id in ids}
            members = [entry for entry, group in kept.items() if entry.level == level and group in groups]
            kept |= {entry: min(members).id for entry in members}
        return kept

    @cached_property
    def _own_names(self) -> dict[EntryId, str]:
        """The name that each entry was given last, merged or not."""
        given: dict[EntryId, str] = {}
        for edit in self.in_force:
            names = (edit.name,) if edit.kind == "name" or (edit.kind == "relabel" and edit.name) else edit.names
            given |= {EntryId(edit.level, id): name for id, name in zip(edit.ids, names, strict=False)}
        return {entry: name for entry, name in given.items() if name}

    def kept(self, level: Level, id: int) -> int:
        """The entry under whose id this one is written."""
        return self._groups.get(EntryId(level, id), id)

    def moved(self, level: Level) -> dict[int, int]:
        """The kept id of every entry of a level that is written under another."""
        return {entry.id: kept for entry, kept in self._groups.items() if entry.level == level and entry.id != kept}

    def absorbed(self, level: Level, id: int) -> tuple[int, ...]:
        """The other entries that are written under this id."""
        return tuple(sorted(other for other, kept in self.moved(level).items() if kept == id))

    def groups(self, level: Level) -> tuple[int, ...]:
        """The ids that are kept for more than one entry."""
        return tuple(sorted(set(self.moved(level).values())))

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

    @cached_property
    def relabels(self) -> tuple[Edit, ...]:
        """What was done to frames, and not taken back."""
        return tuple(edit for edit in self.in_force if edit.kind == "relabel")

    @property
    def has_merges(self) -> bool:
        return bool(self._groups)

    @property
    def touched(self) -> frozenset[str]:
        """The recordings of which frames were relabelled, or read as what was taught."""
        relabelled = {span.recording for edit in self.relabels for span in edit.spans}
        return frozenset(relabelled | {span.recording for edit in self.in_force for span in edit.taught})

    @property
    def teaching(self) -> Edit | None:
        """The last one in force: it holds the marks of those before."""
        return next((edit for edit in reversed(self.in_force) if edit.kind == "teach"), None)

    @property
    def coarsening(self) -> Edit | None:
        """The last one in force: it replaces those before."""
        return next((edit for edit in reversed(self.in_force) if edit.kind == "coarsen"), None)

    def marks(self, recording: str) -> list[TaughtSpan]:
        """The spans of a recording that people have marked to teach."""
        spans = [] if self.teaching is None else self.teaching.taught
        return [span for span in spans if span.marked and span.recording == recording]

    def read_as(self, taught: Iterable[TaughtSpan]) -> Edits:
        """With the last teaching as it reads other recordings."""
        edits = (replace(edit, taught=tuple(taught)) if edit is self.teaching else edit for edit in self.history)
        return replace(self, history=tuple(edits))

    def made(self, level: Level) -> set[int]:
        """The entries of a level that people have made, also those that were taken back."""
        made = (edit for edit in self.history if edit.new or edit.kind == "teach")
        return {id for edit in made for id in edit.ids_of(level) if edit.new or id >= FIRST_BY_HAND}

    def made_in_force(self, level: Level) -> tuple[int, ...]:
        """The entries that people have made and that frames belong to."""
        holding = (edit for edit in self.in_force if edit.kind in ("relabel", "teach"))
        return tuple(sorted({id for edit in holding for id in edit.ids_of(level)} & self.made(level)))

    def rows(self) -> list[dict[str, Any]]:
        """Every edit for the page and `--json`: its number, what it was in words, whether it is undone."""
        return [
            {name: value for name, value in edit.as_json().items() if name not in ("taught", "reader")}
            | {"number": place + 1, "what": str(edit), "undone": place in self.undone}
            | {"can_undo": place >= self.n_given and place not in self.undone and edit.kind != "undo"}
            | ({"marks": [list(span[:4]) for span in edit.taught if span.marked]} if edit.kind == "teach" else {})
            for place, edit in enumerate(self.history)
        ]

    def added(self, edit: Edit, known: KnownIds | None = None) -> Edits:
        """With one more edit, if it is possible: SettingError says what is. As it is where nothing would change."""
        if known is not None:
            self._check_known(edit, known)
        levels: tuple[Level, ...] = get_args(Level)
        match edit.kind:
            case "name":
                this = EntryId(edit.level, edit.ids[0])
                kept = self.kept(*this)
                if kept != this.id:
                    group = EntryId(this.level, kept)
                    raise SettingError(f"{this} is part of {group} since they were merged; name that one")
                if self._own_names.get(this, "") == edit.name:
                    return self
            case "merge":
                motifs = self.own_motifs([EntryId(edit.level, id) for id in edit.ids], known)
                edit = replace(edit, ids=tuple(sorted(edit.ids)), motifs=tuple(sorted(each.id for each in motifs)))
                if all(len({self.kept(level, id) for id in edit.ids_of(level)}) < 2 for level in levels):
                    return self
            case "coarsen":
                groups = tuple(sorted(tuple(sorted(group)) for group in edit.groups))
                edit = replace(edit, groups=groups, ids=tuple(id for group in groups for id in group))
                if groups == (self.coarsening.groups if self.coarsening else ()):
                    return self
            case "relabel" if edit.new:
                both = edit.level == "unit" and known is not None and known.own_motifs
                new = [self._next_id(level, known) for level in (levels if both else (edit.level,))]
                edit = replace(edit, ids=(new[0],), motifs=tuple(new[1:]))
            case "relabel":
                own = self.own_motifs([EntryId(edit.level, edit.ids[0])], known)
                edit = replace(edit, motifs=tuple(each.id for each in own))
            case "teach":
                last = self.teaching
                if last is not None and replace(edit, at=last.at, key=last.key) == last:
                    return self
            case "undo":
                if edit.of in self.undone:
                    return self
                edit = replace(edit, level=self._undoable(edit.of).level)
        added = replace(self, history=(*self.history, edit))
        owners: dict[tuple[Level, str], EntryId] = {}
        for entry, name in added._own_names.items():  # an undo can bring back a name that was given away
            first = owners.setdefault((entry.level, name.casefold()), entry)
            if first != entry:
                taken = added._own_names[first]
                raise SettingError(f"'{taken}' is the name of {first} already; choose another, or merge the two")
        return added

    def _next_id(self, level: Level, known: KnownIds | None) -> int:
        """An id that was never used, for an entry that people make."""
        used = {*self._used(level), *(known.ids[level] if known is not None else ())}
        return max([FIRST_BY_HAND - 1, *used]) + 1

    def ids_for(self, names: Iterable[str], known: KnownIds) -> dict[str, int]:
        """The motif of each name: the one that is called so, or a new one."""
        called = {name.casefold(): self.kept("motif", id) for id, name in self.names("motif").items()}
        first, ids = self._next_id("motif", known), dict[str, int]()
        for name in names:
            ids[name] = called.get(name.casefold(), first + sum(id >= first for id in ids.values()))
        return ids

    def _undoable(self, place: int) -> Edit:
        """The edit at a place, if it can be taken back."""
        if not 0 <= place < len(self.history):
            expected = f"1 to {len(self.history)}" if self.history else "no edits yet"
            raise SettingError(
                f"there is no edit {place + 1}, expected one of {expected}; see `rondo name RUN --history`"
            )
        edit = self.history[place]
        if edit.kind == "undo":
            raise SettingError(f"edit {place + 1} is an undo and stays; make the edit that it took back again")
        if place < self.n_given:
            raise SettingError(f"edit {place + 1} ({edit}) came with the model of this stream; undo it there")
        return edit

    def named(self, entry: str | EntryId, name: str, at: str = "", known: KnownIds | None = None) -> Edits:
        """With a name for an entry; one that another entry of its level has is refused."""
        this = _entry(entry)
        return self.added(Edit("name", this.level, (this.id,), checked_name(name), at=at), known)

    def unnamed(self, entry: str | EntryId, at: str = "", known: KnownIds | None = None) -> Edits:
        """Without the name of an entry; it stays in the history."""
        this = _entry(entry)
        return self.added(Edit("name", this.level, (this.id,), at=at), known)

    def merged(self, entries: Iterable[str | EntryId], at: str = "", known: KnownIds | None = None) -> Edits:
        """With entries that count as one from now on, under the lowest of their ids."""
        these = sorted({_entry(entry) for entry in entries})
        if len(these) < 2 or len({entry.level for entry in these}) > 1:
            given = ", ".join(map(str, these)) or "none"
            raise SettingError(f"expected two or more different entries of one level to merge, got {given}")
        return self.added(Edit("merge", these[0].level, tuple(entry.id for entry in these), at=at), known)

    def coarsened(self, groups: Iterable[Iterable[int]], at: str = "", known: KnownIds | None = None) -> Edits:
        """With motifs of each group counted as one, instead of those that were coarsened before; none: as found."""
        return self.added(Edit("coarsen", "motif", groups=tuple(tuple(group) for group in groups), at=at), known)

    def split(self, entry: str | EntryId, at: str = "", known: KnownIds | None = None) -> Edits:
        """With an entry taken out of its group: its merges are undone, and the others merged again.

        One that was taken out before is on its own already, so that a command that was interrupted can be repeated.
        """
        this = _entry(entry)
        if known is not None:
            self._check_known(Edit("name", this.level, (this.id,)), known)
        if not self.absorbed(this.level, self.kept(*this)):
            if any(self.history[place].kind == "merge" and this.id in self.history[place].ids_of(this.level)
                   for place in self.undone):  # fmt: skip
                return self
            raise SettingError(
                f"{this} is not merged with anything, so nothing can be split off; "
                "to divide an entry that was found as one, choose its occurrences in `rondo view`"
            )
        return self.split_off({this, *self.own_motifs([this], known)}, at)

    def split_off(self, alone: Collection[EntryId], at: str = "") -> Edits:
        """Without the merges of these entries; what else they had put together stays together."""
        split = self
        if last := self.coarsening:
            taken = {each.id for each in alone if each.level == last.level}
            groups = (tuple(id for id in group if id not in taken) for group in last.groups)
            split = self.coarsened((group for group in groups if len(group) > 1), at)
        for place, edit in enumerate(self.history):
            concerned = edit.kind == "merge" and any(each.id in edit.ids_of(each.level) for each in alone)
            if concerned and place not in self.undone:
                split = split.added(Edit("undo", of=place, at=at))
        for level in get_args(Level):
            for kept in self.groups(level):
                group = {EntryId(level, id) for id in (kept, *self.absorbed(level, kept))} - {*alone}
                split = split.merged(group, at) if len(group) > 1 else split
        return split

    def undo(self, number: int | None = None, at: str = "", key: str = "") -> Edits:
        """Without the edit of a number, which counts from 1; without a number, the last one in force."""
        if number is None:
            can_go = [row["number"] for row in self.rows() if row["can_undo"]]
            if not can_go:
                raise SettingError("there is nothing to undo: no edit is in force")
            number = can_go[-1]
        return self.added(Edit("undo", of=number - 1, at=at, key=key))

    def _check_known(self, edit: Edit, known: KnownIds) -> None:
        """Whether the entries are there; frames are never given to one that labels do not show."""
        if edit.kind == "teach":
            return
        more = self.made(edit.level) if edit.kind == "relabel" else self.made_in_force(edit.level)
        ids = {edit.level: (*known.ids[edit.level], *sorted(more))}
        for id in edit.ids:
            if id != OTHER:
                entry = known_entry(str(EntryId(edit.level, id)), ids)
                entry if edit.kind == "name" else in_labels(entry, known.unshown)

    def own_motifs(self, entries: Iterable[EntryId], known: KnownIds | None) -> list[EntryId]:
        """The motif of each unit, where every unit is its own motif; frames of no unit have no motif there."""
        if known is None or not known.own_motifs:
            return []
        made = {edit.ids[0]: edit.motifs[0] for edit in self.history if edit.new and edit.motifs}
        own = {OTHER: OTHER, **known.own_motifs, **made}
        return [EntryId("motif", own[entry.id]) for entry in entries if entry.level == "unit" and entry.id in own]

    def _used(self, level: Level) -> set[int]:
        return {id for edit in self.history for id in edit.ids_of(level)}

    def carried(self) -> Edits:
        """Names and merges of what was learned, without a history: what `label` and `stream` begin with."""
        made = {level: self.made(level) for level in get_args(Level)}
        mentioned = {level: self._used(level) - made[level] for level in get_args(Level)}
        return self.among(mentioned)

    def among(self, ids: Mapping[Level, Collection[int]]) -> Edits:
        """What is carried, only about these entries: where others have grown, the same ids mean other things."""
        carried = []
        for edit in self.in_force:
            own, motifs = ([id for id in edit.ids_of(level) if id in ids.get(level, ())]
                           for level in (edit.level, "motif"))  # fmt: skip
            if edit.kind == "name" and own:
                carried.append(edit)
            if edit is self.teaching and "motif" in ids:
                carried.append(replace(edit, taught=()) if edit.taught else edit)
            if edit is self.coarsening:
                groups = (tuple(id for id in group if id in ids.get(edit.level, ())) for group in edit.groups)
                left = tuple(group for group in groups if len(group) > 1)
                kept = replace(edit, ids=tuple(id for group in left for id in group), groups=left)
                carried += [edit if kept == edit else kept] * bool(left)
            if edit.kind == "merge":
                both = edit.level == "unit" and len(own) > 1 and len(motifs) > 1
                if len(own) > 1:
                    carried.append(replace(edit, ids=tuple(own), motifs=tuple(motifs) if both else ()))
                elif edit.level == "unit" and len(motifs) > 1:
                    carried.append(replace(edit, level="motif", ids=tuple(motifs), motifs=()))
        return self if tuple(carried) == self.history else Edits(tuple(carried))

    def then(self, later: Edits) -> Edits:
        """These, which came with a model, and then those that were made beside its stream."""
        n = len(self.history)
        shifted = (replace(edit, of=edit.of + n) if edit.kind == "undo" else edit for edit in later.history)
        return Edits((*self.history, *shifted), n)

    @property
    def own(self) -> Edits:
        """Without those that came with the model of a stream."""
        n, own = self.n_given, self.history[self.n_given :]
        return Edits(tuple(replace(edit, of=edit.of - n) if edit.kind == "undo" else edit for edit in own))

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
                if edit.of >= place or (edit.kind == "relabel" and not edit.ids):
                    raise ValueError(f"edit {place}: {edit}")
                if edit.kind == "undo" and edits[edit.of].kind == "undo":
                    raise ValueError(f"edit {place} takes back an undo")
            return cls(edits)
        except (LookupError, TypeError, ValueError, AttributeError, SettingError) as error:
            raise ModelError(f"{where}: not a list of edits ({error}); {ADVICE}") from None


def _entry(entry: str | EntryId) -> EntryId:
    return entry if isinstance(entry, EntryId) else EntryId.parse(entry)


def now() -> str:
    """The time on the wall, to the second: when someone has made an edit."""
    return datetime.now(UTC).isoformat(timespec="seconds")
