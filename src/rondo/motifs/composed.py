"""ComposedMotifs: both kinds of motif over one vocabulary of units, and which of them the labels show.

A *phrase* is an ordered sequence of units that comes back (`motifs/model.py`); a *context* is a stretch in which the
same units keep coming (`motifs/contexts.py`). Labels hold one motif per frame, so one kind is shown; where neither is
shown, every unit is its own motif. Motifs of the other kind that have passed their own test are *unshown*: they follow
on those that are shown in one space of ids.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import owned, owned_by
from rondo.config.settings import MotifsConfig
from rondo.data.labels import OTHER
from rondo.encoders.base import Curves
from rondo.motifs.base import Kept, MotifKind, MotifTimeline, PhraseBook
from rondo.motifs.contexts import ContextModel
from rondo.motifs.model import MotifModel
from rondo.units.viterbi import Timeline

_KINDS: tuple[MotifKind, ...] = ("unit", "phrase", "context")  # model folders hold their places here: append only
_BESIDE: dict[MotifKind, MotifKind] = {"unit": "phrase", "phrase": "context", "context": "phrase"}


@dataclass(frozen=True, eq=False)
class ComposedMotifs:
    """Every unit by itself; phrases and contexts, where there are any; the kind that is shown, and what is not."""

    flat: MotifModel
    phrases: MotifModel | None
    contexts: ContextModel | None
    shown: MotifKind
    unshown: tuple[int, ...] = ()  # motifs of the other kind, by the ids that they have in the model of their kind

    @property
    def unit_ids(self) -> tuple[int, ...]:
        return self.flat.unit_ids

    @property
    def by_kind(self) -> dict[MotifKind, MotifModel | ContextModel | None]:
        return {"unit": self.flat, "phrase": self.phrases, "context": self.contexts}

    @property
    def shown_contexts(self) -> ContextModel | None:
        return self.contexts if self.shown == "context" else None

    @property
    def by_units(self) -> MotifModel:
        """What reads motifs from units alone: the phrases where labels show them, else every unit by itself."""
        return self.phrases if self.shown == "phrase" and self.phrases is not None else self.flat

    @property
    def shown_model(self) -> MotifModel | ContextModel:
        shown = self.by_kind[self.shown]
        if shown is None:
            raise ValueError(f"motifs show the kind '{self.shown}', of which there are none")
        return shown

    @property
    def unshown_model(self) -> MotifModel | ContextModel | None:
        return self.by_kind[_BESIDE[self.shown]]

    @property
    def ids(self) -> tuple[int, ...]:
        return self.shown_model.ids

    @property
    def unshown_ids(self) -> tuple[int, ...]:
        first = max(self.ids, default=-1) + 1
        return tuple(range(first, first + len(self.unshown)))

    def kind(self, motif: int) -> MotifKind:
        own, model = self._own(motif)
        return model.kind(own)

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

    def timeline(self, units: Timeline) -> MotifTimeline:
        return self.shown_model.timeline(units)

    def unshown_timeline(self, units: Timeline) -> MotifTimeline | None:
        """The unshown motif of every window, OTHER where there is none; None where no motif is unshown."""
        model = self.unshown_model
        if not self.unshown or model is None:
            return None
        read = model.timeline(units)
        number = np.full(max(model.ids) + 2, OTHER, np.int32)  # OTHER = -1 finds the last
        number[list(self.unshown)] = self.unshown_ids
        ids = number[read.ids]
        return MotifTimeline(ids, np.where(ids == OTHER, 0.0, read.scores), read.begins)

    def phrase_book(self) -> PhraseBook:
        return self.by_units.phrase_book()

    def composition(self, motif: int, kept: Kept = int) -> str:
        own, model = self._own(motif)
        return model.composition(own, kept)

    def _own(self, motif: int) -> tuple[int, MotifModel | ContextModel]:
        """The id that a motif has in the model of its kind, and that model."""
        model = self.unshown_model
        if motif in self.unshown_ids and model is not None:
            return self.unshown[self.unshown_ids.index(motif)], model
        return motif, self.shown_model

    def showing(self, kind: MotifKind) -> ComposedMotifs:
        """The same with another kind shown; what is unshown stays so, unless it is shown now."""
        return replace(self, shown=kind, unshown=self.unshown if _BESIDE[kind] == _BESIDE[self.shown] else ())

    def with_all_unshown(self) -> ComposedMotifs:
        """The same with every motif of the other kind, to be tested."""
        model = self.unshown_model
        several = () if model is None else model.ids if isinstance(model, ContextModel) else model.motif_of_phrase
        return replace(self, unshown=tuple(sorted(set(several))))

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        named: dict[str, NDArray[np.generic]] = {"shown": np.array([_KINDS.index(self.shown)], np.int64)}
        named["unshown"] = np.array(self.unshown, np.int64)
        for part in ("flat", "phrases", "contexts"):
            if (own := getattr(self, part)) is not None:
                named |= owned(part, own.tensors())
        return named

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]], config: MotifsConfig | None = None) -> ComposedMotifs:
        phrases, contexts = owned_by("phrases", tensors), owned_by("contexts", tensors)
        restored = cls(
            MotifModel.restore(owned_by("flat", tensors)),
            MotifModel.restore(phrases) if phrases else None,
            ContextModel.restore(contexts) if contexts else None,
            _KINDS[int(tensors["shown"][0])],
            tuple(np.asarray(tensors["unshown"], np.int64).tolist()),
        )
        parts = (restored.shown_model, restored.unshown_model)  # refuses a kind of which there are none
        if any(model is not None and model.unit_ids != restored.unit_ids for model in parts):
            raise ValueError("motifs of the two kinds are about different units")
        if not set(restored.unshown) <= set(restored.with_all_unshown().unshown):
            raise ValueError("motifs that labels do not show are none of the model")
        return restored
