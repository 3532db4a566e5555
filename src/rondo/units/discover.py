"""Units that several groups of recordings share: matched first, then told apart where the groups agree.

People differ, and directions that tell the units of one apart may tell people apart instead. So

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
from scipy.optimize import linear_sum_assignment

from rondo.arrays import Floats, Ints
from rondo.config.settings import AcceptanceConfig, MixtureConfig, SlowUnitsConfig, UnitsConfig
from rondo.data.labels import runs_of
from rondo.data.windows import Span
from rondo.units.mixture import FittedMixture, acceptance_of, fit_components
from rondo.units.model import joined_spans
from rondo.units.places import Standing
from rondo.units.slow import SlowProjection, fit_slow_as_set
from rondo.units.viterbi import centre_distances, decode, smooth_spans, typical_step
from rondo.units.vocabulary import Level, Vocabulary

# ----------------------------------------------------------------
# Latents -> unit vocabulary: cluster, smooth, and keep what persists.


class UnitRules(NamedTuple):
    """What windows, which overlap, say about units."""

    penalty: float  # of a change of unit, in latent distance
    shortest_run: float  # windows that a unit usually lasts at least
    window_weight: float  # observations that one window is worth


def transition_scale(config: UnitsConfig, *, few_channels: bool, shared: bool = False) -> float:
    """The price of a change of unit in typical steps; `few_channels`: so few that shapes count; `shared`: by groups.

    >>> from rondo.config.settings import SlowUnitsConfig
    >>> transition_scale(SlowUnitsConfig(), few_channels=True), transition_scale(SlowUnitsConfig(), few_channels=False)
    (4.0, 2.0)
    """
    if config.transition_scale == "auto":
        return 4.0 if few_channels or shared else 2.0
    return config.transition_scale


def discover_units(
    latents: NDArray[np.float64],
    embeddings: NDArray[np.float64],
    spans: Sequence[Span],
    rules: UnitRules,
    config: MixtureConfig,
    rng: np.random.Generator,
    device: str,
    level: Level = "unit",
    start: NDArray[np.int64] | None = None,
) -> Vocabulary:
    """Fit the mixture on latents (n_windows, n_dims), smooth its assignments, make entries of what persists.

    `embeddings` (n_windows, n_embedding_dims) are what prototypes are means of; `start`, if given, holds a component
    for each window, at which the mixture starts.
    Windows of dropped components join the entry that smoothing gives them. Ids follow first appearance.
    """
    # The fit starts at rows chosen by number; sorted, they do not tell which recording came first.
    order = np.lexsort(latents.T)
    begin = None if start is None else np.unique(start, return_inverse=True)[1][order]
    mixture = fit_components(latents[order], config, rng, rules.window_weight, device, begin)
    posterior = mixture.posterior(latents)
    centres = _member_means(latents, posterior.argmax(axis=1), mixture)
    distances = centre_distances(latents, centres)
    kept = _persisting(distances, spans, rules.penalty, rules.shortest_run)
    path = kept[smooth_spans(distances[:, kept], spans, rules.penalty)]
    vocabulary = Vocabulary(level)
    for k in _by_first_appearance(path):
        members = path == k
        radius, floor = acceptance_of(distances[members, k], posterior[members, k], AcceptanceConfig())
        prototype = embeddings[members].mean(axis=0)
        vocabulary = vocabulary.with_entry(centres[k], radius, floor, float(members.sum()), prototype)
    return vocabulary


def _persisting(
    distances: NDArray[np.float64], spans: Sequence[Span], penalty: float, shortest_run: float
) -> NDArray[np.int64]:
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


def _member_means(
    latents: NDArray[np.float64], assignment: NDArray[np.int64], mixture: FittedMixture
) -> NDArray[np.float64]:
    """Mean of the members of each component; a component that wins no window keeps its fitted mean."""
    centres = mixture.means.copy()
    for k in range(mixture.n_components):
        members = assignment == k
        if members.any():
            centres[k] = latents[members].mean(axis=0)
    return centres


def _by_first_appearance(path: NDArray[np.int64]) -> list[int]:
    components, first = np.unique(path, return_index=True)
    return [int(k) for k in components[np.argsort(first)]]


_DIMENSIONS = 10  # chosen on development sets, as are the others (docs/many.md); 8 to 12 are alike
_REACH = 3.0  # times the typical distance between neighbouring units of one group, up to which units are matched
_ROUNDS = 3  # of projecting and matching; chosen on development sets (docs/many.md)
_MATCHINGS = 10  # at most, of units in one round; chosen on development sets (docs/many.md)
_ROUNDING = 1e-12  # relative; far above what float64 loses, far below what matters


class GroupWindows(NamedTuple):
    """All windows of one group: representations at home, and spans in which windows follow on each other."""

    rows: NDArray[np.floating]  # (n_windows, n_dims)
    spans: Sequence[Span]


class SharedStart(NamedTuple):
    """Directions in which groups agree, and a unit for every window of each group to begin with."""

    projection: SlowProjection
    labels: list[Ints]


def fit_shared(
    groups: Sequence[GroupWindows],
    config: SlowUnitsConfig,
    rules: UnitRules,
    step_share: float,
    seed: int,
    *,
    few_channels: bool = False,
) -> SharedStart:
    """Directions and first units of two or more groups.

    Parameters
    ----------
    rules : of windows that overlap; the price of a change is taken from the latents each time.
    step_share : a step in window lengths.
    few_channels : so few that shapes count.
    """
    own = [_own_units(group, config, rules, step_share, seed, few_channels=few_channels) for group in groups]
    labels = matched([group.rows for group in groups], own, config.mixture.component_cap)
    dimension = _DIMENSIONS if config.dimension == "auto" else config.dimension
    projection = fit_agreeing(groups, labels, config.pca_dim, config.ridge, dimension)
    for _ in range(_ROUNDS - 1):
        labels = _found_anew(groups, projection, labels, config, rules)
        projection = fit_agreeing(groups, labels, config.pca_dim, config.ridge, dimension)
    return SharedStart(projection, labels)


def _own_units(
    group: GroupWindows,
    config: SlowUnitsConfig,
    rules: UnitRules,
    step_share: float,
    seed: int,
    *,
    few_channels: bool,
) -> Ints:
    """The units of one group alone, numbered from 0; the same whatever the other groups are."""
    projection = fit_slow_as_set(group.rows, group.spans, config, step_share, few_channels=few_channels)
    latents = projection.apply(group.rows)
    price = transition_scale(config, few_channels=few_channels)
    own = rules._replace(penalty=price * typical_step(latents, group.spans))
    found = discover_units(latents, latents, group.spans, own, config.mixture, np.random.default_rng(seed), "cpu")
    return np.unique(decode(latents, group.spans, found, own.penalty).ids, return_inverse=True)[1]


def _found_anew(
    groups: Sequence[GroupWindows],
    projection: SlowProjection,
    labels: Sequence[Ints],
    config: SlowUnitsConfig,
    rules: UnitRules,
) -> list[Ints]:
    """The units of all groups, from a mixture that starts at these labels."""
    latents, spans = latents_at_home(groups, projection), joined_spans([group.spans for group in groups])
    price = transition_scale(config, few_channels=False, shared=True)
    again = rules._replace(penalty=price * typical_step(latents, spans))
    found = discover_units(
        latents, latents, spans, again, config.mixture, np.random.default_rng(0), "cpu", start=np.concatenate(labels)
    )
    ids = decode(latents, spans, found, again.penalty).ids.astype(np.int64)
    return np.split(ids, np.cumsum([len(group.rows) for group in groups])[:-1])


def latents_at_home(groups: Sequence[GroupWindows], projection: SlowProjection) -> Floats:
    """Latents of all groups, one after the other, each with the spread that they have in common."""
    each = [projection.apply(group.rows) for group in groups]
    common = Standing.common(each)
    return np.concatenate([Standing.of(latents).home(latents, common) for latents in each])


# ---------------------------------------------------------------- which units of different groups are one


def matched(each: Sequence[NDArray[np.floating]], own: Sequence[Ints], most: int) -> list[Ints]:
    """Labels over all groups from the units of each (numbered from 0), at most so many.

    Each unit joins the prototype that is nearest to it when all units of its group choose together (Hungarian), unless
    it lies beyond the reach; then it is a prototype itself. Groups come in the order of how many units they have.
    """
    units = [_means(rows, labels) for rows, labels in zip(each, own, strict=True)]
    sizes = [np.bincount(labels, minlength=len(means)) / labels.size for labels, means in zip(own, units, strict=True)]
    reach = _REACH * _typical_gap(units)
    order = sorted(range(len(units)), key=lambda g: (-len(units[g]), units[g].sum()))
    prototypes = units[order[0]]
    numbers: list[Ints] = [np.zeros(0, np.int64)] * len(units)
    for _ in range(_MATCHINGS):
        before = numbers.copy()
        for g in order:
            numbers[g], prototypes = _joined(units[g], prototypes, reach)
        numbers, prototypes = _averaged(units, sizes, numbers, len(prototypes))
        if all(np.array_equal(old, new) for old, new in zip(before, numbers, strict=True)):
            break
    numbers = _heaviest(sizes, numbers, prototypes, most)
    return [number[labels] for number, labels in zip(numbers, own, strict=True)]


def _means(rows: NDArray[np.floating], labels: Ints) -> Floats:
    return np.stack([rows[labels == k].mean(axis=0, dtype=np.float64) for k in range(int(labels.max()) + 1)])


def _typical_gap(units: Sequence[Floats]) -> float:
    """Median distance from a unit to the nearest other of its group; infinite where every group has one unit."""
    gaps = [np.sort(_distances(means, means), axis=1)[:, 1] for means in units if len(means) > 1]
    return float(np.median(np.concatenate(gaps))) if gaps else np.inf


def _distances(some: Floats, others: Floats) -> Floats:
    return np.asarray(np.linalg.norm(some[:, None] - others[None], axis=2))


def _joined(units: Floats, prototypes: Floats, reach: float) -> tuple[Ints, Floats]:
    """The prototype of each unit of a group, none twice; units beyond the reach of all are prototypes from now on."""
    distances = _distances(units, prototypes)
    alone = np.full((len(units), len(units)), min(reach, 1e9))
    rows, columns = linear_sum_assignment(np.hstack([distances, alone]))
    numbers = np.full(len(units), -1)
    numbers[rows] = np.where(columns < len(prototypes), columns, -1)
    fresh = np.flatnonzero(numbers < 0)
    numbers[fresh] = len(prototypes) + np.arange(fresh.size)
    return numbers, np.vstack([prototypes, units[fresh]])


def _averaged(
    units: Sequence[Floats], sizes: Sequence[Floats], numbers: Sequence[Ints], n_prototypes: int
) -> tuple[list[Ints], Floats]:
    """Prototypes as means of their units, groups counting alike; those without units are gone."""
    weight = np.bincount(np.concatenate(numbers), np.concatenate(sizes), n_prototypes)
    summed = np.zeros((n_prototypes, units[0].shape[1]))
    for means, own, number in zip(units, sizes, numbers, strict=True):
        np.add.at(summed, number, own[:, None] * means)
    there = weight > 0
    places = np.cumsum(there) - 1
    return [places[number] for number in numbers], summed[there] / weight[there, None]


def _heaviest(sizes: Sequence[Floats], numbers: Sequence[Ints], prototypes: Floats, most: int) -> list[Ints]:
    """With so many prototypes at most; units of the others join the nearest that is kept."""
    weight = np.bincount(np.concatenate(numbers), np.concatenate(sizes), len(prototypes))
    kept = np.sort(np.argsort(-weight, kind="stable")[:most])
    nearest = _distances(prototypes, prototypes[kept]).argmin(axis=1)
    return [nearest[number] for number in numbers]


# ---------------------------------------------------------------- directions


def fit_agreeing(
    groups: Sequence[GroupWindows], labels: Sequence[Ints], pca_dim: int, ridge: float, dimension: int = _DIMENSIONS
) -> SlowProjection:
    """The directions in which units differ and groups agree; its slowness is lambda / (1 + lambda)."""
    mean = np.mean([group.rows.mean(axis=0, dtype=np.float64) for group in groups], axis=0)
    centred = [group.rows - mean for group in groups]
    weights = [1.0 / len(rows) for rows in centred]
    total = sum(weight * rows.T @ rows for weight, rows in zip(weights, centred, strict=True))
    n_windows = sum(map(len, centred))
    p = max(1, min(pca_dim, mean.size, n_windows // 5))
    axes = np.linalg.eigh(total)[1][:, ::-1][:, :p]
    q = [rows @ axes for rows in centred]
    between = _between(q, labels, weights)
    steps = sum(weight * _steps(rows, group.spans) for weight, rows, group in zip(weights, q, groups, strict=True))
    noise = axes.T @ total @ axes - between + steps
    floor = (ridge + _ROUNDING) * np.trace(noise) / p or 1.0
    k = min(dimension, p)
    found, vectors = eigh(between, noise + floor * np.eye(p), subset_by_index=[p - k, p - 1])
    found, vectors = np.maximum(found[::-1], 0.0), vectors[:, ::-1]
    agreement = found / (1 + found)
    matrix = axes @ (vectors * np.sqrt(agreement))
    signs = np.sign(matrix[np.abs(matrix).argmax(axis=0), np.arange(k)])
    return SlowProjection(mean, matrix * np.where(signs == 0, 1.0, signs), agreement)


def _between(q: Sequence[Floats], labels: Sequence[Ints], weights: Sequence[float]) -> Floats:
    """Scatter of the means of units over all groups, of rows whose mean is 0."""
    n_units = max(int(own.max()) for own in labels) + 1
    size, summed = np.zeros(n_units), np.zeros((n_units, q[0].shape[1]))
    for rows, own, weight in zip(q, labels, weights, strict=True):
        size += weight * np.bincount(own, minlength=n_units)
        np.add.at(summed, own, weight * rows)
    means = summed / np.maximum(size, np.finfo(float).tiny)[:, None]
    return np.asarray((size[:, None] * means).T @ means)


def _steps(rows: Floats, spans: Sequence[Span]) -> Floats:
    """Scatter of steps from window to window."""
    steps = np.concatenate([np.diff(rows[a:b], axis=0) for a, b in spans])
    return np.asarray(steps.T @ steps)
