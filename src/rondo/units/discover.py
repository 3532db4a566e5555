"""Latents -> units: cluster, smooth, and keep what persists; and units that several groups of recordings share.

People differ, and directions that tell the units of one apart may tell people apart instead. So of several groups

1. each group gets units of its own, from its representations at home (`rondo.units.places`);
2. they are matched, one to one within a group, to a set of prototypes that grows where a unit is like none of them:
   what only one group does stays with that group;
3. directions are kept in which the same unit is alike in all groups. With S_w the scatter within matched units over
   all groups, each counting alike, S_b that of the means of the units and S_1 that of steps from window to window,

       S_b v = lambda (S_w + S_1 + ridge tr(S_w + S_1)/p I) v

   after PCA to p dimensions; a coordinate is scaled by sqrt(lambda / (1 + lambda)). A person's own way of doing
   something is part of S_w, and what changes faster than a window passes is part of S_1;
4. the mixture starts at the matched units and finds them again in these directions. 3 and 4 are repeated.

(Harmony, Korsunsky et al. 2019, moves soft clusters together in fixed directions; docs/many.md compares.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from rondo.arrays import Floats, Ints
from rondo.config.settings import AcceptanceConfig, MixtureConfig, SlowUnitsConfig, UnitsConfig
from rondo.data.labels import runs_of
from rondo.data.windows import Span
from rondo.registry import MIXTURES
from rondo.units.mixture import acceptance_of
from rondo.units.model import joined_spans
from rondo.units.places import Standing
from rondo.units.slow import FEWEST, FEWEST_OF_FEW_CHANNELS, SlowProjection, fit_slow
from rondo.units.viterbi import centre_distances, decode, smooth_spans, typical_step
from rondo.units.vocabulary import Vocabulary

_DIMENSIONS = 10  # chosen on development sets, as are the others (docs/many.md); 8 to 12 are alike
_REACH = 3.0  # times the typical distance between neighbouring units of one group, up to which units are matched
_ROUNDS = 3  # of projecting and matching; chosen on development sets (docs/many.md)
_MATCHINGS = 10  # at most, of units in one round; chosen on development sets (docs/many.md)
_NEARLY_ALL = 0.95  # of the components of a mixture: five of 388 recordings of public sets need so many units
_ROUNDING = 1e-12  # relative; far above what float64 loses, far below what matters


class UnitRules(NamedTuple):
    """What windows, which overlap, say about units."""

    price: float  # of a change of unit, in typical steps of the latents
    shortest_run: float  # windows that a unit usually lasts at least
    window_weight: float  # observations that one window is worth
    most_units: int = 0  # where all components of the mixture are units, so many may be

    @classmethod
    def of(cls, config: UnitsConfig, step_share: float, *, few_channels: bool, shared: bool = False) -> UnitRules:
        """`step_share`: a step in window lengths; `few_channels`: so few that shapes count; `shared`: by groups."""
        price = config.transition_scale
        if price == "auto":
            price = 4.0 if few_channels or shared else 2.0
        return cls(price, config.shortest_run(step_share), config.observations(step_share), config.most_units())


def discover_units(
    latents: Floats,
    embeddings: Floats,
    spans: Sequence[Span],
    rules: UnitRules,
    config: MixtureConfig,
    rng: np.random.Generator,
    device: str = "cpu",
    start: Ints | None = None,
) -> tuple[Vocabulary, float]:
    """Fit the mixture on latents (n_windows, n_dims), smooth its assignments, make entries of what persists.

    `embeddings` (n_windows, n_embedding_dims) are what prototypes are means of; `start` holds a component for each
    window, at which the mixture starts. Windows of dropped components join the entry that smoothing gives them. Ids
    follow first appearance. The second value is the penalty of a change of unit, in latent distance. Where nearly
    all components that the mixture may have are units, it is fitted once more and may have more of them.
    """
    penalty = rules.price * typical_step(latents, spans)
    # The fit starts at rows chosen by number; sorted, they do not tell which recording came first.
    order = np.lexsort(latents.T)
    begin = None if start is None else np.unique(start, return_inverse=True)[1][order]
    mixture = MIXTURES[config.kind].fit(latents[order], config, rng, rules.window_weight, device, begin)
    posterior = mixture.posterior(latents)
    assignment, centres = posterior.argmax(axis=1), mixture.means.copy()
    for k in np.unique(assignment):  # a component that wins no window keeps its fitted mean
        centres[k] = latents[assignment == k].mean(axis=0)
    distances = centre_distances(latents, centres)
    kept = _persisting(distances, spans, penalty, rules.shortest_run)
    path = kept[smooth_spans(distances[:, kept], spans, penalty)]
    components, first = np.unique(path, return_index=True)
    if _NEARLY_ALL * config.component_cap <= components.size and config.component_cap < rules.most_units:
        more = config.model_copy(update={"component_cap": rules.most_units})
        return discover_units(latents, embeddings, spans, rules, more, rng, device, start)
    components = components[np.argsort(first)]
    members = [path == k for k in components]
    accepted = [
        acceptance_of(distances[own, k], posterior[own, k], AcceptanceConfig())
        for k, own in zip(components, members, strict=True)
    ]
    prototypes = np.stack([embeddings[own].mean(axis=0) for own in members])
    supports = np.array([own.sum() for own in members], np.float64)
    radii, floors = np.array(accepted).T.copy()
    ids, next_id = tuple(range(components.size)), components.size
    return Vocabulary(ids, next_id, centres[components], prototypes, radii, floors, supports), penalty


def _persisting(distances: Floats, spans: Sequence[Span], penalty: float, shortest_run: float) -> Ints:
    """Components that usually last at least `shortest_run` windows.

    Overlapping windows that straddle two units look alike and cluster, but such a passage is over before one whole
    window has gone by. The least lasting component is dropped and its windows decoded again, until all remaining last.
    """
    kept = np.arange(distances.shape[1])
    while kept.size > 1:
        path = smooth_spans(distances[:, kept], spans, penalty)
        lengths: list[list[int]] = [[] for _ in kept]
        for start, stop in spans:
            runs = runs_of(path[start:stop])
            for k, length in zip(runs.ids, runs.lengths, strict=True):
                lengths[k].append(int(length))
        typical = np.array([np.median(own) if own else 0.0 for own in lengths])
        if typical.min() >= shortest_run:
            break
        kept = np.delete(kept, typical.argmin())
    return kept


class GroupWindows(NamedTuple):
    """All windows of one group: representations at home, and spans in which windows follow on each other."""

    rows: NDArray[np.floating]  # (n_windows, n_dims)
    spans: Sequence[Span]


def fit_shared(
    groups: Sequence[GroupWindows], config: SlowUnitsConfig, step_share: float, seed: int, *, few_channels: bool = False
) -> tuple[SlowProjection, list[Ints]]:
    """Directions in which two or more groups agree, and a unit for every window of each group to begin with."""
    own = [_own_units(group, config, step_share, seed, few_channels=few_channels) for group in groups]
    labels = matched([group.rows for group in groups], own, config.mixture.component_cap)
    projection = fit_agreeing(groups, labels, config)
    rules = UnitRules.of(config, step_share, few_channels=False, shared=True)
    spans = joined_spans([group.spans for group in groups])
    for _ in range(_ROUNDS - 1):
        latents, rng = latents_at_home(groups, projection), np.random.default_rng(0)
        start = np.concatenate(labels)
        found, penalty = discover_units(latents, latents, spans, rules, config.mixture, rng, start=start)
        ids = decode(latents, spans, found, penalty).ids.astype(np.int64)
        labels = np.split(ids, np.cumsum([len(group.rows) for group in groups])[:-1])
        projection = fit_agreeing(groups, labels, config)
    return projection, labels


def _own_units(
    group: GroupWindows, config: SlowUnitsConfig, step_share: float, seed: int, *, few_channels: bool
) -> Ints:
    """The units of one group alone, numbered from 0; the same whatever the other groups are."""
    fewest = FEWEST_OF_FEW_CHANNELS if few_channels else FEWEST
    latents = fit_slow(group.rows, group.spans, config, step_share, fewest).apply(group.rows)
    rules = UnitRules.of(config, step_share, few_channels=few_channels)
    rng = np.random.default_rng(seed)
    found, penalty = discover_units(latents, latents, group.spans, rules, config.mixture, rng)
    return np.unique(decode(latents, group.spans, found, penalty).ids, return_inverse=True)[1]


def latents_at_home(groups: Sequence[GroupWindows], projection: SlowProjection) -> Floats:
    """Latents of all groups, one after the other, each with the spread that they have in common."""
    each = [projection.apply(group.rows) for group in groups]
    common = Standing.common(each)
    return np.concatenate([Standing.of(latents).home(latents, common) for latents in each])


def matched(each: Sequence[NDArray[np.floating]], own: Sequence[Ints], most: int) -> list[Ints]:
    """Labels over all groups from the units of each (numbered from 0), at most so many.

    Each unit joins the prototype that is nearest to it when all units of its group choose together (Hungarian), unless
    it lies beyond the reach; then it is a prototype itself. Groups come in the order of how many units they have.
    """
    units = [
        np.stack([rows[labels == k].mean(axis=0, dtype=np.float64) for k in range(int(labels.max()) + 1)])
        for rows, labels in zip(each, own, strict=True)
    ]
    sizes = [np.bincount(labels, minlength=len(means)) / labels.size for labels, means in zip(own, units, strict=True)]
    gaps = [np.sort(_distances(means, means), axis=1)[:, 1] for means in units if len(means) > 1]
    reach = _REACH * float(np.median(np.concatenate(gaps))) if gaps else np.inf
    order = sorted(range(len(units)), key=lambda g: (-len(units[g]), units[g].sum()))
    prototypes = units[order[0]]
    numbers: list[Ints] = [np.zeros(0, np.int64)] * len(units)
    for _ in range(_MATCHINGS):
        before = numbers.copy()
        for g in order:
            numbers[g], prototypes = _joined(units[g], prototypes, reach)
        # Prototypes are means of their units, groups counting alike; those without units are gone.
        weight = np.bincount(np.concatenate(numbers), np.concatenate(sizes), len(prototypes))
        summed, there = np.zeros_like(prototypes), weight > 0
        for means, shares, number in zip(units, sizes, numbers, strict=True):
            np.add.at(summed, number, shares[:, None] * means)
        numbers = [(np.cumsum(there) - 1)[number] for number in numbers]
        prototypes = summed[there] / weight[there, None]
        if all(np.array_equal(old, new) for old, new in zip(before, numbers, strict=True)):
            break
    weight = np.bincount(np.concatenate(numbers), np.concatenate(sizes), len(prototypes))
    kept = np.sort(np.argsort(-weight, kind="stable")[:most])
    nearest = _distances(prototypes, prototypes[kept]).argmin(axis=1)  # units of the others join the nearest
    return [nearest[number][labels] for number, labels in zip(numbers, own, strict=True)]


def _distances(some: Floats, others: Floats) -> Floats:
    return np.asarray(np.linalg.norm(some[:, None] - others[None], axis=2))


def _joined(units: Floats, prototypes: Floats, reach: float) -> tuple[Ints, Floats]:
    """The prototype of each unit of a group, none twice; units beyond the reach of all are prototypes from now on."""
    from scipy.optimize import linear_sum_assignment  # slow to import, and not needed for a single group

    distances = _distances(units, prototypes)
    alone = np.full((len(units), len(units)), min(reach, 1e9))
    rows, columns = linear_sum_assignment(np.hstack([distances, alone]))
    numbers = np.full(len(units), -1)
    numbers[rows] = np.where(columns < len(prototypes), columns, -1)
    fresh = np.flatnonzero(numbers < 0)
    numbers[fresh] = len(prototypes) + np.arange(fresh.size)
    return numbers, np.vstack([prototypes, units[fresh]])


def fit_agreeing(groups: Sequence[GroupWindows], labels: Sequence[Ints], config: SlowUnitsConfig) -> SlowProjection:
    """The directions in which units differ and groups agree; its slowness is lambda / (1 + lambda)."""
    mean = np.mean([group.rows.mean(axis=0, dtype=np.float64) for group in groups], axis=0)
    centred = [group.rows - mean for group in groups]
    weights = [1.0 / len(rows) for rows in centred]
    total = sum(weight * rows.T @ rows for weight, rows in zip(weights, centred, strict=True))
    p = max(1, min(config.pca_dim, mean.size, sum(map(len, centred)) // 5))
    axes = np.linalg.eigh(total)[1][:, ::-1][:, :p]
    n_units = max(int(own.max()) for own in labels) + 1
    size, summed, steps = np.zeros(n_units), np.zeros((n_units, p)), np.zeros((p, p))
    for rows, own, weight, group in zip(centred, labels, weights, groups, strict=True):
        q = rows @ axes
        size += weight * np.bincount(own, minlength=n_units)
        np.add.at(summed, own, weight * q)
        step = np.concatenate([np.diff(q[a:b], axis=0) for a, b in group.spans])
        steps += weight * (step.T @ step)
    means = summed / np.maximum(size, np.finfo(float).tiny)[:, None]
    between = (size[:, None] * means).T @ means
    noise = axes.T @ total @ axes - between + steps
    floor = (config.ridge + _ROUNDING) * np.trace(noise) / p or 1.0
    k = min(_DIMENSIONS if config.dimension == "auto" else config.dimension, p)
    found, vectors = eigh(between, noise + floor * np.eye(p), subset_by_index=[p - k, p - 1])
    found, vectors = np.maximum(found[::-1], 0.0), vectors[:, ::-1]
    agreement = found / (1 + found)
    matrix = axes @ (vectors * np.sqrt(agreement))
    signs = np.sign(matrix[np.abs(matrix).argmax(axis=0), np.arange(k)])
    return SlowProjection(mean, matrix * np.where(signs == 0, 1.0, signs), agreement)
