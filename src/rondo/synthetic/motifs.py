"""Planted motifs: small grammars over units, drawn so that no order of units can come from two of them.

Four structures can be planted:

- `sharing`: motifs of three or four units, one of them repeated, perhaps one missing; motifs share units;
- `own`: the same, but no unit is in two motifs;
- `cycles`: a fixed order of units that goes round several times without a rest; no unit is in two cycles;
- `contexts`: long stretches in which the same few units come in any order; contexts share units.

The programme of a stream says which motif is played when, with which unit instances, and where there is rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo.errors import SettingError

Structure = Literal["sharing", "own", "cycles", "contexts"]

MAX_ITEMS = 4  # of a motif; ours
_N_TRIES = 500  # of a motif unlike the others, before the plan is refused
_ROUNDS = (3, 8)  # of a cycle, between two rests


class Item(NamedTuple):
    """One place in a motif: a unit, how often it is repeated (lo to hi), how likely it is there at all."""

    unit: int
    repeats: tuple[int, int] = (1, 1)
    present: float = 1.0

    def __str__(self) -> str:
        low, high = self.repeats
        times = "" if high == 1 else f"{{{low},{high}}}"
        return f"u{self.unit}{times}" if self.present == 1.0 else f"[u{self.unit}{times}]"


@dataclass(frozen=True)
class PlantedMotif:
    """Items in fixed order, each with its repeats and its chance to be left out: m4 = u0 u2{1,2} [u1].

    It goes round `rounds` (lo to hi) times before the next rest; each round is an occurrence. With `instances` (lo to
    hi) an occurrence is that many items in any order instead, none twice in a row.
    """

    id: int
    items: tuple[Item, ...]
    rounds: tuple[int, int] = (1, 1)
    instances: tuple[int, int] | None = None

    def perform(self, rng: np.random.Generator) -> tuple[int, ...]:
        """The units of one occurrence, in order."""
        units: list[int] = []
        if self.instances is not None:
            for _ in range(_draw_between(self.instances, rng)):
                units.append(int(rng.choice([item.unit for item in self.items if [item.unit] != units[-1:]])))
            return tuple(units)
        for item in self.items:
            if rng.random() < item.present:
                units += [item.unit] * int(rng.integers(item.repeats[0], item.repeats[1] + 1))
        return tuple(units)

    @property
    def orders(self) -> frozenset[tuple[int, ...]]:
        """All unit sequences that the motif can produce, repeats counted once; in any order: its units, ascending."""
        if self.instances is not None:
            return frozenset([tuple(sorted(item.unit for item in self.items))])
        choices = [((item.unit,),) if item.present == 1.0 else ((item.unit,), ()) for item in self.items]
        return frozenset(sum(parts, start=()) for parts in product(*choices))

    def __str__(self) -> str:
        units = " ".join(str(item) for item in self.items)
        if self.instances is not None:
            return f"m{self.id} = {{{units}}} in any order"
        return f"m{self.id} = {units}" if self.rounds == (1, 1) else f"m{self.id} = ({units}) round and round"


class Stage(NamedTuple):
    """What becomes known together: the ids of its new units, and how many new motifs introduce them."""

    fresh_units: Sequence[int]
    n_motifs: int


class Form(NamedTuple):
    """How all motifs of a stream are made: their structure, and how many instances an occurrence of a context has."""

    structure: Structure
    instances: tuple[int, int]

    @property
    def owns_units(self) -> bool:
        return self.structure in ("own", "cycles")


def draw_motifs(
    stages: Sequence[Stage],
    first_id: int,
    taken: frozenset[tuple[int, ...]],
    rng: np.random.Generator,
    form: Form,
) -> list[list[PlantedMotif]]:
    """The motifs of each stage, ids from `first_id` on, no order of units in `taken` or in two of them.

    A motif uses units of its own and of earlier stages only; every fresh unit is in a motif of its stage.
    """
    drawn: list[list[PlantedMotif]] = []
    known: list[int] = []
    next_id = first_id
    for stage in stages:
        known += stage.fresh_units
        fresh = rng.permutation(stage.fresh_units).tolist()
        motifs: list[PlantedMotif] = []
        for place in range(stage.n_motifs):
            wanted = fresh[place :: stage.n_motifs]
            usable = wanted if form.owns_units else known
            for _ in range(_N_TRIES):
                motif = _draw_motif(next_id, wanted, usable, rng, form)
                if not motif.orders & taken:
                    break
            else:
                raise SettingError(
                    f"planted stream: {len(usable)} units do not give {next_id + 1} different motifs; "
                    "plan more units, fewer motifs or fewer subjects"
                )
            taken |= motif.orders
            motifs.append(motif)
            next_id += 1
        drawn.append(motifs)
    return drawn


def _draw_motif(
    motif_id: int, wanted: list[int], known: list[int], rng: np.random.Generator, form: Form
) -> PlantedMotif:
    """Three or four different units in random order, one repeated; of four, one may be missing (not in a cycle)."""
    n_items = max(int(rng.integers(3, MAX_ITEMS + 1)), len(wanted))
    others = rng.permutation([unit for unit in known if unit not in wanted]).tolist()
    units = rng.permutation(wanted + others[: n_items - len(wanted)]).tolist()
    if form.structure == "cycles":
        return PlantedMotif(motif_id, tuple(Item(unit) for unit in units), rounds=_ROUNDS)
    if form.structure == "contexts":
        return PlantedMotif(motif_id, tuple(Item(unit) for unit in units), instances=form.instances)
    repeated = int(rng.integers(len(units)))
    spare = [place for place, unit in enumerate(units) if form.owns_units or unit not in wanted]
    may_miss = spare if len(units) == MAX_ITEMS else []
    optional = int(rng.choice(may_miss)) if may_miss else -1
    items = (
        Item(unit, (1, 3) if place == repeated else (1, 1), 0.7 if place == optional else 1.0)
        for place, unit in enumerate(units)
    )
    return PlantedMotif(motif_id, tuple(items))


class Programme(NamedTuple):
    """Instance i shows the unit `units[i]` (OTHER: rest) on the frames [edges[i], edges[i + 1]).

    `played` lists the occurrences: the motif's id, and which instances perform it.
    """

    edges: NDArray[np.int64]
    units: NDArray[np.int64]
    played: list[tuple[int, slice]]


def write_programme(
    arrivals: Sequence[tuple[int, Sequence[PlantedMotif]]],
    unit_frames: Sequence[tuple[int, int]],
    rest_frames: tuple[int, int],
    n_frames: int,
    rng: np.random.Generator,
) -> Programme:
    """Rest and motifs in turn, until the next motif and a rest after it would not fit; then rest to the end.

    `arrivals` are (frame, motifs) in order of time: these motifs do not start before that frame, and then
    they come next. Motifs are dealt from a shuffled deck, so that all recur about equally often.
    `unit_frames[u]` and `rest_frames` are the least and the most frames of an instance.
    """
    edges, units, played = [0], [], []
    pending, known, deck = list(arrivals), list[PlantedMotif](), list[PlantedMotif]()
    while True:
        edges.append(edges[-1] + _draw_between(rest_frames, rng))
        units.append(OTHER)
        while pending and pending[0][0] <= edges[-1]:
            fresh = pending.pop(0)[1]
            known += fresh
            deck += _shuffled(fresh, rng)  # the end of the list is the top of the deck
        deck = deck or _shuffled(known, rng)
        motif = deck.pop()
        n_rounds = 1 if motif.rounds == (1, 1) else _draw_between(motif.rounds, rng)
        rounds = [motif.perform(rng) for _ in range(n_rounds)]
        performed = sum(rounds, start=())
        stops = edges[-1] + np.cumsum([_draw_between(unit_frames[unit], rng) for unit in performed])
        if stops[-1] + rest_frames[0] > n_frames:
            break
        for own in rounds:
            played.append((motif.id, slice(len(units), len(units) + len(own))))
            units += own
        edges += stops.tolist()
    edges[-1] = n_frames
    return Programme(np.array(edges, dtype=np.int64), np.array(units, dtype=np.int64), played)


def _draw_between(bounds: tuple[int, int], rng: np.random.Generator) -> int:
    return int(rng.integers(bounds[0], bounds[1] + 1))


def _shuffled(motifs: Sequence[PlantedMotif], rng: np.random.Generator) -> list[PlantedMotif]:
    return [motifs[place] for place in rng.permutation(len(motifs))]
