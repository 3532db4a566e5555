"""FormerMotifs: the paper's second stage. MotifFormer describes unit subsequences, clusters of descriptors are motifs.

Fitting: train MotifFormer on the unit timeline, discover motifs from long to short, link them across lengths. Reading:
match every subsequence of a timeline, fuse the lengths. The paper's motifs need not recur to be motifs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import check_shapes, owned, owned_by
from rondo.config.settings import AcceptanceConfig, MixtureConfig
from rondo.data.labels import OTHER, Labels, runs_of
from rondo.data.windows import Span
from rondo.encoders.base import Curves
from rondo.errors import ModelError
from rondo.motifs.base import Kept, MotifKind, MotifTimeline, PhraseBook
from rondo.motifs.discover import MotifInput
from rondo.motifs.phrases import Phrase, composition, in_kept
from rondo.paper.candidates import Describe, Matches, Subsequences, latents_of, match, match_lengths, subsequences
from rondo.paper.candidates import LengthMotifs as LengthMotifs
from rondo.paper.deep_dpm import FittedAutoencoder, fit_autoencoder
from rondo.paper.motif_former import Epoch, MotifFormer, train_motif_former
from rondo.paper.settings import MotifFormerConfig
from rondo.units.mixture import FittedMixture, acceptance_of, fit_components, fit_mixture
from rondo.units.viterbi import Timeline, centre_distances, joined
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
    """The claimed windows of the joined window axis.

    >>> coverage = Coverage.none(n_windows=6).claim(np.array([1]), length=3)
    >>> coverage.claimed.astype(int).tolist()
    [0, 1, 1, 1, 0, 0]
    >>> coverage.ratio(np.array([0, 1, 4]), length=2).tolist()
    [0.5, 1.0, 0.0]
    """

    claimed: NDArray[np.bool_]  # (n_windows,)

    @classmethod
    def none(cls, n_windows: int) -> Coverage:
        """Nothing claimed yet."""
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
        mixture = _fit_weighted(latents, weights, config.mixture, rng, device)
        motifs = _with_acceptance(mixture, candidates, latents, config.acceptance, autoencoder)
        _, strengths = match(motifs, candidates, latents).best
        coverage = coverage.claim(candidates.starts[_strongest(strengths, config.claim_share)], candidates.length)
        found.append(motifs)
    return tuple(found)


def item_weights(candidates: Subsequences, coverage: Coverage) -> NDArray[np.float64]:
    """The weight of each item, (n_items,): the sum of 1 - rho over its candidates."""
    free = 1.0 - coverage.ratio(candidates.starts, candidates.length)
    return np.asarray(np.bincount(candidates.item_of, free, minlength=len(candidates.items)), dtype=np.float64)


def copies(weights: NDArray[np.floating], rng: np.random.Generator) -> NDArray[np.int64]:
    """Whole numbers that are the weights (n,) on average, none off by one or more; whole weights stay as they are.

    >>> copies(np.array([2.0, 0.0, 3.0]), np.random.default_rng(0)).tolist()
    [2, 0, 3]
    """
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
        return fit_components(np.repeat(rows, times, axis=0) if times.any() else rows, config, rng, device=device)
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


def _strongest(distances: NDArray[np.float64], share: float) -> NDArray[np.int64]:
    """The share of accepted candidates with the smallest normalised distances, at least one; of equals the earliest."""
    n_accepted = int(np.isfinite(distances).sum())
    n_claims = min(n_accepted, max(1, round(share * n_accepted)))
    return np.argsort(distances, kind="stable")[:n_claims]


# One identity across lengths: which components of different lengths are one motif.
#
# The paper clusters each length on its own and then sums over "the lengths that support motif m", without saying when
# components of two lengths are the same m. Three answers:
#
#     none        they never are; every component is a motif
#     overlap     their members lie at the same places: Jaccard distance of the sets of centre windows
#     descriptor  their centres point the same way: cosine distance in the latent space
#
# The last two group components by average linkage, cut at a distance of one half.

Rule = Literal["none", "overlap", "descriptor"]

_CUT = 0.5  # in a prototype, on MoCap, overlap: ARI 62 to 66 with 13 motifs; without linking 55 to 59 with 17


def link(
    lengths: Sequence[LengthMotifs], matches: Sequence[Matches], rule: Rule, next_id: int = 0
) -> tuple[NDArray[np.int64], ...]:
    """A motif id for each component of each length, from `next_id` on, in the order in which members first appear.

    `matches` are those of the recordings the motifs were found in; where members of two motifs begin at the same
    window, the one of the length that stands first in `lengths` comes first.
    """
    sizes = [motifs.n_components for motifs in lengths]
    n_components = sum(sizes)
    if rule == "none" or n_components < 2:
        groups = np.arange(n_components)
    elif rule == "overlap":
        groups = _linked(_overlap_distances(matches, sizes))
    else:
        groups = _linked(_descriptor_distances(lengths))
    ids = next_id + _by_first_appearance(groups, _first_starts(matches, sizes))
    return tuple(np.split(ids, np.cumsum(sizes)[:-1])) if sizes else ()


def _overlap_distances(matches: Sequence[Matches], sizes: Sequence[int]) -> NDArray[np.float64]:
    """1 - |A ∩ B| / |A ∪ B| of the centre windows (start + length // 2) of the members, over all pairs."""
    from scipy.sparse import csr_array  # only needed to fit

    rows = [offset + own.nearest[own.candidates.item_of] for own, offset in zip(matches, _offsets(sizes), strict=True)]
    columns = [own.candidates.starts + own.candidates.length // 2 for own in matches]
    row, column = np.concatenate(rows), np.concatenate(columns)
    members = csr_array((np.ones(row.size), (row, column)), shape=(sum(sizes), int(column.max(initial=0)) + 1))
    common = (members @ members.T).toarray()
    n_members = common.diagonal()
    union = n_members[:, None] + n_members - common
    return np.asarray(1.0 - common / np.maximum(union, 1.0))


def _descriptor_distances(lengths: Sequence[LengthMotifs]) -> NDArray[np.float64]:
    """1 - cosine of the latent centres, over all pairs; a centre at the origin points nowhere: 1."""
    centres = np.concatenate([motifs.centres for motifs in lengths])
    norms = np.linalg.norm(centres, axis=1, keepdims=True)
    directions = centres / np.where(norms > 0, norms, 1.0)
    return np.asarray(1.0 - np.clip(directions @ directions.T, -1.0, 1.0))


def _linked(distances: NDArray[np.float64]) -> NDArray[np.int64]:
    """Groups by average linkage, (n_components,)."""
    from scipy.cluster.hierarchy import fcluster, linkage  # slow to import, and only needed to fit
    from scipy.spatial.distance import squareform

    return np.asarray(fcluster(linkage(squareform(distances, checks=False), "average"), _CUT, "distance"), np.int64)


def _first_starts(matches: Sequence[Matches], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Where the first member of each component begins; a component without members comes last."""
    first = np.full(sum(sizes), np.iinfo(np.int64).max)
    for own, offset in zip(matches, _offsets(sizes), strict=True):
        np.minimum.at(first, offset + own.nearest[own.candidates.item_of], own.candidates.starts)
    return first


def _by_first_appearance(groups: NDArray[np.int64], first_starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, ... for the groups, by the first start among their components; of equals the component that stands first.

    >>> _by_first_appearance(np.array([7, 3, 7]), np.array([5, 2, 0])).tolist()
    [0, 1, 0]
    """
    order = np.argsort(first_starts, kind="stable")
    names, first_at, inverse = np.unique(groups[order], return_index=True, return_inverse=True)
    number = np.empty(names.size, dtype=np.int64)
    number[np.argsort(first_at)] = np.arange(names.size)
    ids = np.empty(groups.size, dtype=np.int64)
    ids[order] = number[inverse]
    return ids


def _offsets(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *sizes], dtype=np.int64)[:-1]


# Fusion: one motif per window from the matches of all lengths (paper, app. MotifFormer).
#
#     s(t, m) = b(|L(t, m)|) / |L(t, m)| * sum over L in L(t, m) of exp(-r(t, m, L)),   b(n) = 1 + 0.1 min(n - 1, 5)
#
# r(t, m, L) is the smallest normalised distance among the candidates of length L that cover window t and match m, and
# L(t, m) are the lengths that have one. The paper cuts r at tau_r; accepted candidates have r <= 1, so that no tau_r
# from 1 on changes anything. It gives no b; in a prototype, on MoCap (one seed, linked motifs), F1@50 was 100 with it
# and 96 without a bonus.

_BONUS, _MOST_BONUSES = 0.1, 5  # measured on MoCap, see above
HIGHEST_SCORE = 1 + _BONUS * _MOST_BONUSES
_DECIMALS = 9  # scores are compared so far: which of two centres is exactly met is a matter of rounding


class Fused(NamedTuple):
    """The motif of each window, OTHER where nothing is accepted, and its fused score in (0, 1.5]; 0 for OTHER."""

    ids: Labels  # (n_windows,)
    scores: NDArray[np.float64]  # (n_windows,)


class Occurrence(NamedTuple):
    """A motif on the windows [start, stop): the units of the runs in it, and the mean of the scores."""

    motif: int
    start: int
    stop: int
    phrase: Phrase
    score: float


def fuse(matches: Sequence[Matches], motif_ids: Sequence[NDArray[np.int64]], n_windows: int) -> Fused:
    """The motif with the highest fused score at each window; of equals the longer one there, then the smaller id.

    `motif_ids` holds, for each length, the motif of each component (`rondo.paper.motifs`).
    """
    ids = np.full(n_windows, OTHER, dtype=np.int32)
    scores = np.zeros(n_windows)
    longest = np.zeros(n_windows, dtype=np.int64)
    # Motif after motif, so that memory grows with the windows only.
    for motif in np.unique(np.concatenate([*motif_ids, np.zeros(0, np.int64)])):
        own, own_longest = _fused_score(matches, [here == motif for here in motif_ids], n_windows)
        better = (own > scores) | ((own == scores) & (own_longest > longest))
        ids[better], scores[better], longest[better] = motif, own[better], own_longest[better]
    return Fused(ids, scores)


def _fused_score(
    matches: Sequence[Matches], components: Sequence[NDArray[np.bool_]], n_windows: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """s(t, m) of one motif (0 where no length supports it), and the longest length that does; both (n_windows,)."""
    total = np.zeros(n_windows)
    n_lengths, longest = np.zeros(n_windows, dtype=np.int64), np.zeros(n_windows, dtype=np.int64)
    for own, chosen in zip(matches, components, strict=True):
        if chosen.any():
            nearest = _nearest_covering(own, chosen, n_windows)
            total += np.exp(-nearest)
            n_lengths += np.isfinite(nearest)
            longest = np.where(np.isfinite(nearest), np.maximum(longest, own.candidates.length), longest)
    bonus = 1 + _BONUS * np.minimum(n_lengths - 1, _MOST_BONUSES)
    return np.round(total / np.maximum(n_lengths, 1) * bonus, _DECIMALS), longest


def fused_score(nearest: Sequence[float]) -> float:
    """s(t, m) of one motif at one window from r(t, m, L) of the lengths that support it.

    >>> fused_score([0.0]), fused_score([0.0, 0.0])
    (1.0, 1.1)
    """
    bonus = 1 + _BONUS * min(len(nearest) - 1, _MOST_BONUSES)
    return float(np.round(np.exp(-np.array(nearest)).sum() / len(nearest) * bonus, _DECIMALS))


def _nearest_covering(matches: Matches, components: NDArray[np.bool_], n_windows: int) -> NDArray[np.float64]:
    """Smallest r among the candidates that cover each window, (n_windows,); infinite where there is none."""
    candidates = matches.candidates
    r = matches.distances[:, components].min(axis=1)
    begun = np.full(n_windows, np.inf)
    begun[candidates.starts] = r[candidates.item_of]
    covering = begun.copy()
    for age in range(1, candidates.length):
        np.minimum(covering[age:], begun[:-age], out=covering[age:])
    return covering


def occurrences(fused: Fused, codes: NDArray[np.int64], spans: Sequence[Span]) -> tuple[Occurrence, ...]:
    """The runs of each motif with their units, in order; OTHER is left out and nothing crosses a span."""
    return tuple(_occurrences(fused, codes, spans))


def _occurrences(fused: Fused, codes: NDArray[np.int64], spans: Sequence[Span]) -> Iterator[Occurrence]:
    for first, last in spans:
        runs = runs_of(fused.ids[first:last])
        for motif, start, stop in zip(runs.ids.tolist(), runs.starts + first, runs.stops + first, strict=True):
            if motif != OTHER:
                phrase = tuple(runs_of(codes[start:stop]).ids.tolist())
                yield Occurrence(motif, int(start), int(stop), phrase, float(fused.scores[start:stop].mean()))


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
    shapes = ("n", "n d", "n d d", "n", "n d", "n", "n", "n")
    sizes = {"d": int(autoencoder.network.latent.bias.numel())} if autoencoder else {}
    check_shapes(tensors, dict(zip((*_MIXTURE, *_MEASURES), shapes, strict=True)), **sizes)
    weights, means, roots, constants, centres, radii, floors, supports = (
        np.asarray(tensors[name], np.float64) for name in (*_MIXTURE, *_MEASURES)
    )
    mixture = FittedMixture(weights, means, roots, constants)
    return LengthMotifs(length, mixture, centres, radii, floors, supports, autoencoder)


def fit_motifs(data: MotifInput, config: MotifFormerConfig) -> FormerMotifs:
    """The motifs of all timelines, as a motif stage gives them."""
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
    found = occurrences(fuse(matches, motif_ids, codes.size), codes, units.spans)
    counts = Counter((one.motif, tuple(unit_ids[code] for code in one.phrase)) for one in found)
    phrases = tuple((motif, phrase, n) for (motif, phrase), n in sorted(counts.items()))
    return FormerMotifs(tuple(unit_ids), former, lengths, motif_ids, phrases)
