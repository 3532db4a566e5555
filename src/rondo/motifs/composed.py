"""ComposedMotifs: both kinds of motif over one vocabulary of units, and which of them the labels show.

A *phrase* is an ordered sequence of units that comes back (`motifs/model.py`); a *context* is a stretch in which the
same units keep coming (`motifs/contexts.py`). Labels hold one motif per frame, so one kind is shown; where neither is
shown, every unit is its own motif.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import owned, owned_by
from rondo.data.windows import Windows
from rondo.encoders import Curves
from rondo.motifs.base import Kept, MotifTimeline
from rondo.motifs.contexts import ContextModel
from rondo.motifs.model import MotifModel
from rondo.units.timeline import Timeline

MotifKind = Literal["unit", "phrase", "context"]
_KINDS: tuple[MotifKind, ...] = ("unit", "phrase", "context")  # model folders hold their places here: append only


@dataclass(frozen=True, eq=False)
class ComposedMotifs:
    """Every unit by itself; phrases and contexts, where there are any; and the kind that is shown."""

    flat: MotifModel
    phrases: MotifModel | None
    contexts: ContextModel | None
    shown: MotifKind

    @property
    def unit_ids(self) -> tuple[int, ...]:
        return self.flat.unit_ids

    @property
    def shown_contexts(self) -> ContextModel | None:
        """The contexts, where labels show them."""
        return self.contexts if self.shown == "context" else None

    @property
    def by_units(self) -> MotifModel:
        """What reads motifs from units alone: the phrases where labels show them, else every unit by itself."""
        return self.phrases if self.shown == "phrase" and self.phrases is not None else self.flat

    @property
    def _shown(self) -> MotifModel | ContextModel:
        shown = {"unit": self.flat, "phrase": self.phrases, "context": self.contexts}[self.shown]
        if shown is None:
            raise ValueError(f"motifs show the kind '{self.shown}', of which there are none")
        return shown

    @property
    def ids(self) -> tuple[int, ...]:
        return self._shown.ids

    @property
    def composed(self) -> bool:
        return self.shown != "unit"

    @property
    def standing_units(self) -> tuple[int, ...]:
        return self.by_units.standing_units

    @property
    def known_phrases(self) -> Sequence[tuple[tuple[int, ...], int]]:
        return self.by_units.known_phrases

    @property
    def curves(self) -> Curves:
        return {}  # nothing is trained

    def timeline(self, units: Timeline, windows: Windows) -> MotifTimeline:
        """The motif of every window, of the kind that is shown."""
        shown = self._shown
        return shown.timeline(units, windows) if isinstance(shown, ContextModel) else shown.timeline(units)

    def composition(self, motif: int, kept: Kept = int) -> str:
        """What a motif is made of, for people, in units under the ids that are kept."""
        return self._shown.composition(motif, kept)

    def showing(self, kind: MotifKind) -> ComposedMotifs:
        """The same with another kind shown."""
        return replace(self, shown=kind)

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Everything learned, as arrays, for the model folder."""
        named: dict[str, NDArray[np.generic]] = {"shown": np.array([_KINDS.index(self.shown)], np.int64)}
        for part in ("flat", "phrases", "contexts"):
            if (own := getattr(self, part)) is not None:
                named |= owned(part, own.tensors())
        return named

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]]) -> ComposedMotifs:
        """The motifs that wrote these tensors."""
        phrases, contexts = owned_by("phrases", tensors), owned_by("contexts", tensors)
        return cls(
            MotifModel.restore(owned_by("flat", tensors)),
            MotifModel.restore(phrases) if phrases else None,
            ContextModel.restore(contexts) if contexts else None,
            _KINDS[int(tensors["shown"][0])],
        )
