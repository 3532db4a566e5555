"""Latents -> unit vocabulary: cluster, smooth, and keep what persists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.config.schema import AcceptanceConfig, MixtureConfig, UnitsConfig
from rondo.data.labels import runs_of
from rondo.data.windows import Span
from rondo.mixture import FittedMixture, acceptance_of, fit_components
from rondo.units.timeline import centre_distances, smooth_spans
from rondo.vocabulary import Vocabulary
from rondo.vocabulary.vocabulary import Level


class UnitRules(NamedTuple):
    """What windows, which overlap, say about units."""

    penalty: float  # of a change of unit, in latent distance
    shortest_run: float  # windows that a unit usually lasts at least
    window_weight: float  # observations that one window is worth


def transition_scale(config: UnitsConfig, *, few_channels: bool, shared: bool = False) -> float:
    """The price of a change of unit in typical steps; `few_channels`: so few that shapes count; `shared`: by groups.

    >>> from rondo.config.schema import SlowUnitsConfig
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
