"""FormerMotifs: the paper's second stage. MotifFormer describes unit subsequences, clusters of descriptors are motifs.

Fitting: train MotifFormer on the unit timeline, discover motifs from long to short, link them across lengths. Reading:
match every subsequence of a timeline, fuse the lengths. The paper's motifs need not recur to be motifs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import check_shapes, owned, owned_by
from rondo.config.settings import AcceptanceConfig, MixtureConfig
from rondo.data.windows import Span
from rondo.encoders.base import Curves
from rondo.errors import ModelError
from rondo.motifs.base import Kept, MotifKind, MotifTimeline, PhraseBook
from rondo.motifs.discover import MotifInput
from rondo.motifs.phrases import Phrase, composition, in_kept
from rondo.paper.candidates import Describe, LengthMotifs, Subsequences, latents_of, match, match_lengths, subsequences
from rondo.paper.deep_dpm import FittedAutoencoder, fit_autoencoder
from rondo.paper.fusion import Fused, fuse, highest_score, link, occurrences
from rondo.paper.motif_former import Epoch, MotifFormer, train_motif_former
from rondo.paper.settings import MotifFormerConfig
from rondo.registry import MIXTURES
from rondo.units.mixture import FittedMixture, acceptance_of, fit_mixture
from rondo.units.viterbi import Timeline, centre_distances
from rondo.wording import Progress, silent

# Discovery from long to short: the motifs of each length, in what longer motifs have left unclaimed.
#
# Length by length the candidates are clustered, each with weight 1 - rho (below), and the strongest of those accepted
# claim their windows. The paper calls it a sampling weight; here it is a true one: the mixture counts an item as often
# as the sum of the weights of its candidates, and nothing is drawn at random. Who is a member, and what a motif
# accepts, is measured on all candidates of the length, claimed or not: coverage decides what is looked for, not what a
# motif looks like. The component cap holds for each length.
#
# *Coverage* is how much of a candidate lies in windows that motifs have claimed (paper, app. MotifFormer).
#
#     rho(q) = |I(q) ∩ C| / |I(q)|,   w(q) = 1 - rho(q)
#
# with I(q) the windows of candidate q and C the claimed windows.

_MOST_ROWS = 16_384  # of the autoencoder; 640 steps in 10 epochs


@dataclass(frozen=True, eq=False)
class Coverage:
    """The claimed windows of the joined window axis."""

    claimed: NDArray[np.bool_]  # (n_windows,)

    @classmethod
    def none(cls, n_windows: int) -> Coverage:
        return cls(np.zeros(n_windows, dtype=np.bool_))

    def ratio(self, starts: NDArray[np.int64], length: int) -> NDArray[np.float64]:
        """rho of the candidates [start, start + length), (n_candidates,)."""
        before = np.concatenate([[0], np.cumsum(self.claimed)])  # claimed windows before each window
        return np.asarray((before[starts + length] - before[starts]) / length, dtype=np.float64)

    def claim(self, starts: NDArray[np.int64], length: int) -> Coverage:
        """The coverage once the candidates [start, start + length) have claimed their windows too."""
        n_windows = self.claimed.size
        opened = np.bincount(starts, minlength=n_windows + 1)
        closed = np.bincount(starts + length, minlength=n_windows + 1)
        return Coverage(self.claimed | (np.cumsum(opened - closed)[:n_windows] > 0))


def discover_lengths(
    describe: Describe,
    codes: NDArray[np.int64],
    spans: Sequence[Span],
    config: MotifFormerConfig,
    rng: np.random.Generator,
    device: str,
) -> tuple[LengthMotifs, ...]:
    """Motifs of unit codes (n_windows,), longest length first; a length that has none is left out."""
    every = [subsequences(codes, spans, length) for length in sorted(set(config.lengths), reverse=True)]
    every = [candidates for candidates in every if len(candidates.items)]
    if not every:
        return ()
    descriptors = [describe(candidates.items) for candidates in every]
    autoencoder = _shared_autoencoder(every, descriptors, config.mixture, rng, device)
    coverage = Coverage.none(codes.size)
    found = []
    for candidates, own in zip(every, descriptors, strict=True):
        latents = latents_of(own, autoencoder)
        weights = item_weights(candidates, coverage)
        if not weights.any():
            continue
        if config.full_weight:
            weights *= candidates.starts.size / weights.sum()
        mixture = _fit_weighted(latents, weights, config.mixture, rng, device)
        motifs = _with_acceptance(mixture, candidates, latents, config.acceptance, autoencoder)
        _, strengths = match(motifs, candidates, latents).best
        coverage = coverage.claim(_claiming(candidates, strengths, codes.size, config), candidates.length)
        found.append(motifs)
    return tuple(found)


def item_weights(candidates: Subsequences, coverage: Coverage) -> NDArray[np.float64]:
    """The weight of each item, (n_items,): the sum of 1 - rho over its candidates."""
    free = 1.0 - coverage.ratio(candidates.starts, candidates.length)
    return np.asarray(np.bincount(candidates.item_of, free, minlength=len(candidates.items)), dtype=np.float64)


def copies(weights: NDArray[np.floating], rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole numbers that are the weights (n,) on average, none off by one or more; whole weights stay as they are."""
    edges = np.floor(np.cumsum(weights) + rng.random())
    return np.diff(edges, prepend=0.0).astype(np.int64)


def _shared_autoencoder(
    every: Sequence[Subsequences],
    descriptors: Sequence[NDArray[np.float64]],
    config: MixtureConfig,
    rng: np.random.Generator,
    device: str,
) -> FittedAutoencoder | None:
    """One autoencoder for all lengths, so that their latents can be compared.

    It has no weights: an item is repeated by its multiplicity, scaled down where that makes more than _MOST_ROWS.
    """
    if not config.latent_dim:
        return None
    rows = np.concatenate(descriptors)
    counts = np.concatenate([candidates.counts for candidates in every])
    repeated = np.repeat(rows, copies(counts * min(1.0, _MOST_ROWS / counts.sum()), rng), axis=0)
    return fit_autoencoder(repeated, config, int(rng.integers(2**31)), device)


def _fit_weighted(
    latents: NDArray[np.float64],
    weights: NDArray[np.float64],
    config: MixtureConfig,
    rng: np.random.Generator,
    device: str,
) -> FittedMixture:
    """The mixture in which an item counts as often as its weight says."""
    order = np.lexsort(latents.T)  # the fit starts at rows chosen by number; sorted, they do not tell what came first
    order = order[weights[order] > 0]  # the others only cost time
    rows, weights = latents[order], weights[order]
    if config.kind == "deep_dpm":  # knows no weights; its rows are repeated instead
        times = copies(weights, rng)
        repeated = np.repeat(rows, times, axis=0) if times.any() else rows
        return MIXTURES[config.kind].fit(repeated, config, rng, 1.0, device, None)
    return fit_mixture(rows, config, rng, weights)


def _with_acceptance(
    mixture: FittedMixture,
    candidates: Subsequences,
    latents: NDArray[np.float64],
    config: AcceptanceConfig,
    autoencoder: FittedAutoencoder | None,
) -> LengthMotifs:
    """The components that have members, and what their members say; each candidate counts as one member."""
    nearest = mixture.posterior(latents).argmax(axis=1)
    kept, member_of = np.unique(nearest, return_inverse=True)
    mixture = _only(mixture, kept)
    supports = np.asarray(np.bincount(member_of, candidates.counts), dtype=np.float64)
    centres = np.zeros((kept.size, latents.shape[1]))
    np.add.at(centres, member_of, latents * candidates.counts[:, None])
    centres /= supports[:, None]
    distances = centre_distances(latents, centres)
    posterior = mixture.posterior(latents)
    accepted = []
    for k in range(kept.size):
        members = candidates.item_of[member_of[candidates.item_of] == k]
        accepted.append(acceptance_of(distances[members, k], posterior[members, k], config))
    radii, floors = np.array(accepted).T
    return LengthMotifs(candidates.length, mixture, centres, radii, floors, supports, autoencoder)


def _only(mixture: FittedMixture, kept: NDArray[np.int64]) -> FittedMixture:
    return replace(
        mixture,
        weights=mixture.weights[kept],
        means=mixture.means[kept],
        precision_roots=mixture.precision_roots[kept],
        log_constants=mixture.log_constants[kept],
    )


def _claiming(
    candidates: Subsequences, distances: NDArray[np.float64], n_windows: int, config: MotifFormerConfig
) -> NDArray[np.int64]:
    """Where the strongest accepted candidates begin, those of smallest normalised distance; of equals the earliest.

    They are a share of the accepted candidates, at least one, or as many as claim that share of all windows.
    """
    n_accepted = int(np.isfinite(distances).sum())
    starts = candidates.starts[np.argsort(distances, kind="stable")[:n_accepted]]
    if config.claim_of == "candidates":
        return starts[: max(1, round(config.claim_share * n_accepted))]
    first = np.full(n_windows, n_accepted)  # the rank of the first candidate that covers each window
    for offset in range(candidates.length):
        np.minimum.at(first, starts + offset, np.arange(n_accepted))
    claimed = np.cumsum(np.bincount(first, minlength=n_accepted + 1)[:n_accepted])  # windows, by number of candidates
    return starts[: 1 + int(np.searchsorted(claimed, config.claim_share * n_windows))]


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
    bonus: float  # of each further length that supports a motif

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(sorted({int(id) for ids in self.motif_ids for id in ids}))

    @property
    def unshown_ids(self) -> tuple[int, ...]:
        return ()

    def kind(self, motif: int) -> MotifKind:
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
        return MotifTimeline(fused.ids, fused.scores / highest_score(self.bonus), begins)

    def _fused(self, codes: NDArray[np.int64], spans: Sequence[Span]) -> Fused:
        matches = match_lengths(self.former.describe, codes, spans, self.lengths)
        return fuse(matches, self.motif_ids, codes.size, self.bonus)

    def phrase_book(self) -> PhraseBook:
        """The phrases in which each motif occurs in the fitted recordings; a motif that occurs nowhere has none."""
        book: dict[int, Counter[Phrase]] = {id: Counter() for id in self.ids}
        for motif, phrase, count in self.phrases:
            book[motif][phrase] += count
        return book

    def composition(self, motif: int, kept: Kept = int) -> str:
        """What a motif is made of, for people, in units under the ids that are kept."""
        counts = Counter[Phrase]()
        for own, phrase, n in self.phrases:
            if own == motif:
                counts[in_kept(phrase, kept)] += n
        return composition(counts) if counts else ""

    def tensors(self) -> dict[str, NDArray[np.generic]]:
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
        return cls(unit_ids, former, lengths, ids, phrases, config.length_bonus)


def _restored(
    length: int, tensors: Mapping[str, NDArray[np.generic]], autoencoder: FittedAutoencoder | None
) -> LengthMotifs:
    shapes = ("n", "n d", "n d d", "n", "n d", "n", "n", "n")
    sizes = {"d": int(autoencoder.network.latent.bias.numel())} if autoencoder else {}
    check_shapes(tensors, dict(zip((*_MIXTURE, *_MEASURES), shapes, strict=True)), **sizes)
    weights, means, roots, constants, centres, radii, floors, supports = (
        np.asarray(tensors[name], np.float64) for name in (*_MIXTURE, *_MEASURES)
    )
    mixture = FittedMixture(weights, means, roots, constants)
    return LengthMotifs(length, mixture, centres, radii, floors, supports, autoencoder)


def joined(timelines: Sequence[Timeline]) -> Timeline:
    """Timelines laid one after the other; their spans stay apart."""
    offsets = np.cumsum([0, *(timeline.ids.size for timeline in timelines)]).tolist()
    spans = tuple(
        (start + offset, stop + offset)
        for timeline, offset in zip(timelines, offsets, strict=False)
        for start, stop in timeline.spans
    )
    ids, distances = (
        np.concatenate([getattr(timeline, name) for timeline in timelines]) for name in ("ids", "distances")
    )
    return Timeline(ids, distances, spans)


def fit_motifs(data: MotifInput, config: MotifFormerConfig) -> FormerMotifs:
    units = data.units
    return fit_former(joined(data.timelines), units.ids, units.prototypes, config, data.rng, data.device, data.progress)


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
    found = occurrences(fuse(matches, motif_ids, codes.size, config.length_bonus), codes, units.spans)
    counts = Counter((one.motif, tuple(unit_ids[code] for code in one.phrase)) for one in found)
    phrases = tuple((motif, phrase, n) for (motif, phrase), n in sorted(counts.items()))
    return FormerMotifs(tuple(unit_ids), former, lengths, motif_ids, phrases, config.length_bonus)
