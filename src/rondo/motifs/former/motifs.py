"""FormerMotifs: the paper's second stage. MotifFormer describes unit subsequences, clusters of descriptors are motifs.

Fitting: train MotifFormer on the unit timeline, discover motifs from long to short, link them across lengths. Reading:
match every subsequence of a timeline, fuse the lengths. The paper's motifs need not recur to be motifs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import owned, owned_by
from rondo.config.schema import MotifFormerConfig
from rondo.data.windows import Span
from rondo.encoders import Curves
from rondo.errors import ModelError
from rondo.mixture import FittedMixture
from rondo.mixture.autoencoder import FittedAutoencoder
from rondo.motifs.base import Kept, MotifKind, MotifTimeline
from rondo.motifs.former.fusion import HIGHEST_SCORE, Fused, fuse, occurrences
from rondo.motifs.former.length_vocabularies import LengthMotifs, discover_lengths
from rondo.motifs.former.linking import link
from rondo.motifs.former.matching import match_lengths
from rondo.motifs.former.training import Epoch, MotifFormer, train_motif_former
from rondo.motifs.phrases import Phrase, composition, in_kept
from rondo.progress import Progress, silent
from rondo.units.timeline import Timeline

_MIXTURE = ("weights", "means", "precision_roots", "log_constants")
_MEASURES = ("centres", "radii", "floors", "supports")


@dataclass(frozen=True, eq=False)
class FormerMotifs:
    """MotifFormer, the motifs of each length, and which of them are one."""

    unit_ids: tuple[int, ...]  # ascending
    former: MotifFormer
    lengths: tuple[LengthMotifs, ...]  # longest first
    motif_ids: tuple[NDArray[np.int64], ...]  # of each component of each length
    phrases: tuple[tuple[int, Phrase, int], ...]  # motif, its units, how often: occurrences in the fitted recordings

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(sorted({int(id) for ids in self.motif_ids for id in ids}))

    @property
    def unshown_ids(self) -> tuple[int, ...]:
        return ()

    def kind(self, motif: int) -> MotifKind:
        """Subsequences are phrases."""
        return "phrase"

    @property
    def composed(self) -> bool:
        return True

    @property
    def standing_units(self) -> tuple[int, ...]:
        return ()  # candidates overlap, and cover any window

    @property
    def known_phrases(self) -> Sequence[tuple[tuple[int, ...], int]]:
        return ()  # its motifs are regions of a latent space

    @property
    def curves(self) -> Curves:
        names = [name for name in Epoch._fields if name != "number"]
        return {name: [float(getattr(epoch, name)) for epoch in self.former.log] for name in names}

    def timeline(self, units: Timeline) -> MotifTimeline:
        """The motif of every window, OTHER where no motif accepts a subsequence that covers it."""
        codes = np.searchsorted(np.array(self.unit_ids), units.ids)
        fused = self._fused(codes, units.spans)
        begins = np.ones(codes.size, dtype=np.bool_)
        begins[1:] = fused.ids[1:] != fused.ids[:-1]
        begins[[start for start, _ in units.spans]] = True
        return MotifTimeline(fused.ids, fused.scores / HIGHEST_SCORE, begins)

    def _fused(self, codes: NDArray[np.int64], spans: Sequence[Span]) -> Fused:
        matches = match_lengths(self.former.describe, codes, spans, self.lengths)
        return fuse(matches, self.motif_ids, codes.size)

    def composition(self, motif: int, kept: Kept = int) -> str:
        """What a motif is made of, for people, in units under the ids that are kept."""
        counts = Counter[Phrase]()
        for own, phrase, n in self.phrases:
            if own == motif:
                counts[in_kept(phrase, kept)] += n
        return composition(counts) if counts else ""

    def tensors(self) -> dict[str, NDArray[np.generic]]:
        """Everything learned, as arrays, for the model folder."""
        named = owned("former", self.former.tensors())
        autoencoder = self.lengths[0].autoencoder if self.lengths else None
        if autoencoder:
            named |= owned("autoencoder", autoencoder.tensors())
        for motifs, ids in zip(self.lengths, self.motif_ids, strict=True):
            parts = {name: getattr(motifs.mixture, name) for name in _MIXTURE}
            parts |= {name: getattr(motifs, name) for name in _MEASURES} | {"ids": ids}
            named |= owned(f"length.{motifs.length}", parts)
        units = [unit for _, phrase, _ in self.phrases for unit in phrase]
        table = np.array([(motif, len(phrase), n) for motif, phrase, n in self.phrases], np.int64).reshape(-1, 3)
        return {
            **named,
            "unit_ids": np.array(self.unit_ids, np.int64),
            "lengths": np.array([motifs.length for motifs in self.lengths], np.int64),
            "phrases.units": np.array(units, np.int64),
            "phrases.table": table,
        }

    @classmethod
    def restore(cls, tensors: Mapping[str, NDArray[np.generic]], config: MotifFormerConfig) -> FormerMotifs:
        """The model that wrote these tensors under this configuration."""
        try:
            former = MotifFormer.restore(owned_by("former", tensors), config)
            stored = owned_by("autoencoder", tensors)
            autoencoder = FittedAutoencoder.restore(stored) if stored else None
            names = np.asarray(tensors["lengths"], np.int64).tolist()
            lengths = tuple(_restored(n, owned_by(f"length.{n}", tensors), autoencoder) for n in names)
            ids = tuple(np.asarray(tensors[f"length.{n}.ids"], np.int64) for n in names)
            unit_ids = tuple(np.asarray(tensors["unit_ids"], np.int64).tolist())
            rows = np.asarray(tensors["phrases.table"], np.int64)
            units = np.split(np.asarray(tensors["phrases.units"], np.int64), np.cumsum(rows[:, 1])[:-1])
        except (KeyError, IndexError) as error:
            raise ModelError(f"the motifs' tensor {error} is missing; fit and save the model again") from None
        if any(own.shape != (motifs.n_components,) for own, motifs in zip(ids, lengths, strict=True)):
            raise ModelError("the motif ids do not fit the motifs of their lengths; fit and save the model again")
        phrases = tuple((int(row[0]), tuple(own.tolist()), int(row[2])) for row, own in zip(rows, units, strict=False))
        return cls(unit_ids, former, lengths, ids, phrases)


def _restored(
    length: int, tensors: Mapping[str, NDArray[np.generic]], autoencoder: FittedAutoencoder | None
) -> LengthMotifs:
    weights, means, roots, constants, centres, radii, floors, supports = (
        np.asarray(tensors[name], np.float64) for name in (*_MIXTURE, *_MEASURES)
    )
    mixture = FittedMixture(weights, means, roots, constants)
    return LengthMotifs(length, mixture, centres, radii, floors, supports, autoencoder)


def fit_former(
    units: Timeline,
    unit_ids: Sequence[int],
    prototypes: NDArray[np.float64],
    config: MotifFormerConfig,
    rng: np.random.Generator,
    device: str,
    progress: Progress = silent,
) -> FormerMotifs:
    """Motifs of a unit timeline whose units have these prototypes (n_units, n_dims), in the order of their ids."""
    codes = np.searchsorted(np.array(unit_ids), units.ids)
    progress("motifs: training MotifFormer", 0, 3)
    former = train_motif_former(prototypes, codes, units.spans, config, int(rng.integers(2**63)), device)
    progress("motifs: clustering from long to short", 1, 3)
    lengths = discover_lengths(former.describe, codes, units.spans, config, rng, device)
    progress("motifs: linking and reading", 2, 3)
    matches = match_lengths(former.describe, codes, units.spans, lengths)
    motif_ids = link(lengths, matches, config.link)
    found = occurrences(fuse(matches, motif_ids, codes.size), codes, units.spans)
    counts = Counter((one.motif, tuple(unit_ids[code] for code in one.phrase)) for one in found)
    phrases = tuple((motif, phrase, n) for (motif, phrase), n in sorted(counts.items()))
    return FormerMotifs(tuple(unit_ids), former, lengths, motif_ids, phrases)
