"""Vocabulary: the entries of one level, units or motifs. Ids come from a counter and are never used again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rondo.errors import ModelError

Level = Literal["unit", "motif"]


@dataclass(frozen=True, eq=False)
class Entry:
    """One unit or motif: where its members lie in the latent space, and what it accepts."""

    id: int
    centre: NDArray[np.float64]  # (n_dims,), mean of the members in the mixture's latent space
    radius: float  # P95 of the members' distances to the centre
    posterior_floor: float  # P5 of the members' posteriors
    support: float  # windows that back the entry
    prototype: NDArray[np.float64]  # (n_embedding_dims,), mean of the members' embeddings

    def __repr__(self) -> str:
        return f"Entry({self.id}, support={self.support:g}, radius={self.radius:.3g})"


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Entries in the order of their ids, and the next id to give.

    >>> empty = Vocabulary("unit")
    >>> one = empty.with_entry(np.zeros(2), radius=1.0, posterior_floor=0.5, support=3)
    >>> one.ids, one.next_id, len(empty)
    ((0,), 1, 0)
    """

    level: Level
    entries: tuple[Entry, ...] = ()
    next_id: int = 0

    def with_entry(
        self,
        centre: NDArray[np.float64],
        radius: float,
        posterior_floor: float,
        support: float,
        prototype: NDArray[np.float64] | None = None,
    ) -> Vocabulary:
        """This vocabulary and one entry more, under a fresh id; its prototype is its centre if none is given."""
        entry = Entry(
            self.next_id, centre, radius, posterior_floor, support, centre if prototype is None else prototype
        )
        return Vocabulary(self.level, (*self.entries, entry), self.next_id + 1)

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(entry.id for entry in self.entries)

    @property
    def centres(self) -> NDArray[np.float64]:
        """(n_entries, n_dims)"""
        return np.stack([entry.centre for entry in self.entries]) if self.entries else np.zeros((0, 0))

    @property
    def prototypes(self) -> NDArray[np.float64]:
        """(n_entries, n_embedding_dims)"""
        return np.stack([entry.prototype for entry in self.entries]) if self.entries else np.zeros((0, 0))

    @property
    def radii(self) -> NDArray[np.float64]:
        return np.array([entry.radius for entry in self.entries])

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Everything in it, as arrays, for the model folder."""
        return {
            "ids": np.array(self.ids, dtype=np.int64),
            "next_id": np.array([self.next_id], dtype=np.int64),
            "centres": self.centres,
            "prototypes": self.prototypes,
            "radii": self.radii,
            "posterior_floors": np.array([entry.posterior_floor for entry in self.entries]),
            "supports": np.array([entry.support for entry in self.entries], dtype=np.float64),
        }

    @classmethod
    def restore(cls, level: Level, tensors: Mapping[str, NDArray[np.generic]]) -> Vocabulary:
        """The vocabulary that wrote these tensors; refused if an id could be given twice."""
        try:
            names = ("ids", "centres", "radii", "posterior_floors", "supports", "prototypes")
            columns = [tensors[name] for name in names]
            next_id = int(tensors["next_id"][0])
            entries = tuple(
                Entry(
                    int(id),
                    np.asarray(centre, np.float64),
                    float(radius),
                    float(floor),
                    float(support),
                    np.asarray(prototype, np.float64),
                )
                for id, centre, radius, floor, support, prototype in zip(*columns, strict=True)
            )
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise ModelError(
                f"the tensors of the {level} vocabulary are not complete ({error}); fit and save the model again"
            ) from error
        ids = [entry.id for entry in entries]
        if ids != sorted(set(ids)) or any(not 0 <= id < next_id for id in ids):
            raise ModelError(
                f"the {level} vocabulary expects rising ids below its next id {next_id}, got {ids}; "
                "fit and save the model again"
            )
        wrong = next((one for one in entries if not (one.support > 0 and one.radius >= 0)), None)
        if wrong is not None:
            raise ModelError(
                f"{level} {wrong.id} has a support of {wrong.support:g} and a radius of {wrong.radius:g}, expected "
                "more than no window and no negative distance; fit and save the model again"
            )
        return cls(level, entries, next_id)
