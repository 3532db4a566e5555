"""Windows -> UnitModel: projection, mixture, smoothing, and what else reading needs.

Recordings of several groups (people, machines) share their units and have a place each: `rondo.units.discover`. The
units of one group, and of groups too short to have units of their own, lie in the slow projection of all windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rondo.arrays import Floats, Ints
from rondo.config.settings import SlowUnitsConfig, UnitsConfig
from rondo.data.windows import Span, Windows
from rondo.encoders.base import FittedEncoder, Representations
from rondo.encoders.summary_stats import describes_few_channels
from rondo.registry import UNITS
from rondo.units.boundaries import fit_boundaries
from rondo.units.discover import GroupWindows, UnitRules, discover_units, fit_shared
from rondo.units.model import UnitModel, UnitProjection, fit_exemplars, joined_spans, refuse_non_finite
from rondo.units.places import FEWEST_LENGTHS, Places, Standing
from rondo.units.slow import FEWEST, FEWEST_OF_FEW_CHANNELS, fit_slow
from rondo.units.viterbi import decode
from rondo.units.vocabulary import Vocabulary, merge_tree
from rondo.wording import Progress, silent

_LEAST_SHARE = 0.5  # of all windows, that groups long enough for units of their own hold


@dataclass(frozen=True)
class UnitInput:
    """What a unit stage is fitted to: the representations of every signal, and the group it belongs to."""

    representations: list[Representations]
    spans: list[tuple[Span, ...]]
    groups: list[str]
    window_weight: float  # window lengths that one window is worth
    few_channels: bool  # so few that shapes count
    seed: int
    device: str
    progress: Progress = silent

    def signals_of(self, group: str) -> list[int]:
        return [number for number, name in enumerate(self.groups) if name == group]

    def joined(self, signals: Sequence[int] | None = None) -> tuple[Representations, tuple[Span, ...]]:
        """Representations and spans of these signals, or of all, one after the other."""
        numbers = range(len(self.representations)) if signals is None else signals
        rows = np.concatenate([self.representations[i] for i in numbers])
        return rows, joined_spans([self.spans[i] for i in numbers])


@dataclass(frozen=True)
class Latents:
    """What the mixture is fitted to, and the projection that gives it."""

    projection: UnitProjection
    points: Floats  # (n_windows, n_dims) of the signals that take part
    embeddings: Floats  # of the same windows
    spans: Sequence[Span]
    places: Places | None = None  # without a group yet
    start: Ints | None = None

    @classmethod
    def of(cls, projection: UnitProjection, representations: Representations, spans: Sequence[Span]) -> Latents:
        return cls(projection, projection.apply(representations), projection.embed(representations), spans)


def fit_units(
    windows: Sequence[Windows],
    encoder: FittedEncoder,
    config: UnitsConfig,
    rng: np.random.Generator,
    device: str,
    progress: Progress = silent,
    groups: Sequence[str] = (),
) -> UnitModel:
    """One unit vocabulary over the windows of one or many signals; `groups` names the group of each signal."""
    seed = int(rng.integers(2**31))
    representations = [encoder.encode(w) for w in windows]
    refuse_non_finite(np.concatenate(representations))
    spans, names = [w.grid.window_spans for w in windows], list(groups) or [""] * len(windows)
    weight, few_channels = windows[0].weight, describes_few_channels(encoder)
    data = UnitInput(representations, spans, names, weight, few_channels, seed, device, progress)
    latents = UNITS[config.method].fit(data, config)
    rules = UnitRules.of(config, weight, few_channels=few_channels, shared=latents.places is not None)
    vocabulary, penalty = discover_units(
        latents.points, latents.embeddings, latents.spans, rules, config.mixture, rng, device, latents.start
    )
    return _model(windows, data, encoder, latents, vocabulary, penalty, merge=config.merge)


def fit_slow_latents(data: UnitInput, config: SlowUnitsConfig) -> Latents:
    """The slow projection of all windows, or of groups that can have units of their own, each with its place.

    There must be two such groups, with at least half of all windows.
    """
    sizes = dict.fromkeys(data.groups, 0)
    for name, rows in zip(data.groups, data.representations, strict=True):
        sizes[name] += len(rows)
    long = [name for name, n in sizes.items() if data.window_weight * n >= FEWEST_LENGTHS]
    n_inside, n_all = sum(sizes[name] for name in long), sum(sizes.values())
    if config.places and len(long) > 1 and n_inside >= _LEAST_SHARE * n_all:
        return _shared_latents(data, long, config)
    rows, spans = data.joined()
    fewest = FEWEST_OF_FEW_CHANNELS if data.few_channels else FEWEST
    return Latents.of(fit_slow(rows, spans, config, data.window_weight, fewest), rows, spans)


def _shared_latents(data: UnitInput, long: Sequence[str], config: SlowUnitsConfig) -> Latents:
    """Of the groups that are long enough, each at home, in the order of their signals."""
    signals = {name: data.signals_of(name) for name in long}
    of_group = {name: data.joined(numbers) for name, numbers in signals.items()}
    common = Standing.common([representations for representations, _ in of_group.values()])
    n_lengths = {name: data.window_weight * len(representations) for name, (representations, _) in of_group.items()}
    at_home = {
        name: Standing.of(rows).towards(common, n_lengths[name]).home(rows, common).astype(np.float32)
        for name, (rows, _) in of_group.items()
    }
    groups = [GroupWindows(at_home[name], of_group[name][1]) for name in long]
    projection, labels = fit_shared(groups, config, data.window_weight, data.seed, few_channels=data.few_channels)
    each = [projection.apply(group.rows) for group in groups]
    common_latents = Standing.common(each)
    placed = [
        Standing.of(latents).towards(common_latents, n_lengths[name]).home(latents, common_latents)
        for name, latents in zip(long, each, strict=True)
    ]
    numbers = [number for name in long for number in signals[name]]
    signal_of = np.repeat(numbers, [len(data.representations[i]) for i in numbers])
    order = np.argsort(signal_of, kind="stable")  # windows in the order of signals, which ids follow
    latents = np.concatenate(placed)[order]
    spans = joined_spans([data.spans[i] for i in sorted(numbers)])
    places = Places(common, common_latents)
    return Latents(projection, latents, latents, spans, places, np.concatenate(labels)[order])


def _model(
    windows: Sequence[Windows],
    data: UnitInput,
    encoder: FittedEncoder,
    latents: Latents,
    vocabulary: Vocabulary,
    penalty: float,
    *,
    merge: bool,
) -> UnitModel:
    """The model, from what its units look like in every signal."""
    places, project = latents.places, latents.projection.apply
    if places is not None:
        of_group = {}
        for name in dict.fromkeys(data.groups):
            representations, spans = data.joined(data.signals_of(name))
            of_group[name] = places.find(representations, spans, vocabulary, penalty, data.window_weight, project)
        places = places.with_groups(of_group)
    read, at_home = [], []
    for rows, spans, name in zip(data.representations, data.spans, data.groups, strict=True):
        if places is None:
            moved, points, centres = rows, project(rows), None
        else:
            moved, points = places.at_home(places.of_group[name], rows, project)
            centres = places.of_group[name].centres
        read.append(decode(points, spans, vocabulary, penalty, centres).ids)
        at_home.append(moved)
    grid = windows[0].grid
    sharing_frames = (grid.length_frames - 1) // grid.step_frames
    representations, spans = np.concatenate(at_home), joined_spans(data.spans)
    tree = merge_tree(representations, np.concatenate(read), spans, exclude=sharing_frames)
    n_merges = tree.best if merge else 0
    shown = [tree.coarsened(ids, n_merges) for ids in read]
    boundaries = fit_boundaries(windows, shown, sorted(set(tree.kept_at(n_merges).values())))
    exemplars = fit_exemplars(representations, np.concatenate(shown), spans, exclude=sharing_frames)
    return UnitModel(encoder, latents.projection, vocabulary, penalty, tree, n_merges, boundaries, exemplars, places)
