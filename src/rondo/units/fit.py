"""Windows -> UnitModel: projection, mixture, smoothing, and what else reading needs.

Recordings of several groups (people, machines) share their units and have a place each: `rondo.units.discover`. The
units of one group, and of groups too short to have units of their own, lie in the slow projection of all windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rondo.arrays import Floats, Ints
from rondo.config.settings import SlowUnitsConfig, UnitAlignConfig, UnitsConfig
from rondo.data.windows import Span, Windows
from rondo.encoders.base import FittedEncoder, Representations
from rondo.encoders.summary_stats import describes_few_channels
from rondo.units.boundaries import fit_boundaries
from rondo.units.discover import GroupWindows, UnitRules, discover_units, fit_shared, transition_scale
from rondo.units.model import UnitModel, UnitProjection, fit_exemplars, joined_spans, refuse_non_finite
from rondo.units.places import FEWEST_LENGTHS, Places, Standing
from rondo.units.slow import fit_slow_as_set
from rondo.units.viterbi import decode, typical_step
from rondo.units.vocabulary import Vocabulary, merge_tree
from rondo.wording import Progress, silent

_LEAST_SHARE = 0.5  # of all windows, that groups long enough for units of their own hold


def fit_units(
    windows: Sequence[Windows],
    encoder: FittedEncoder,
    config: UnitsConfig,
    rng: np.random.Generator,
    device: str,
    progress: Progress = silent,
    groups: Sequence[str] = (),
) -> UnitModel:
    """One unit vocabulary over the windows of one or many signals; `groups` names whose each signal is."""
    rows = _Rows.of(windows, [encoder.encode(w) for w in windows], groups)
    refuse_non_finite(np.concatenate(rows.each))
    few_channels, seed = describes_few_channels(encoder), int(rng.integers(2**31))
    long = rows.long_groups() if isinstance(config, SlowUnitsConfig) and config.places else []
    if long and isinstance(config, SlowUnitsConfig):
        found = _shared_latents(rows, long, config, few_channels, seed)
    else:
        found = _plain_latents(rows, config, few_channels, seed, device, progress)
    penalty = transition_scale(config, few_channels=few_channels, shared=bool(long))
    penalty *= typical_step(found.latents, found.spans)
    rules = _rules(penalty, rows.window_weight, config)
    vocabulary = discover_units(
        found.latents, found.embeddings, found.spans, rules, config.mixture, rng, device, start=found.start
    )
    return _model(windows, rows, encoder, found, vocabulary, penalty, merge=config.merge)


@dataclass(frozen=True)
class _Rows:
    """Representations of every signal, and whose it is."""

    each: list[Representations]
    spans: list[tuple[Span, ...]]
    groups: list[str]
    window_weight: float  # window lengths that one window is worth

    @classmethod
    def of(cls, windows: Sequence[Windows], each: list[Representations], groups: Sequence[str]) -> _Rows:
        names = list(groups) or [""] * len(windows)
        return cls(each, [w.grid.window_spans for w in windows], names, windows[0].weight)

    def signals_of(self, group: str) -> list[int]:
        return [number for number, name in enumerate(self.groups) if name == group]

    def joined(self, numbers: Sequence[int]) -> tuple[Representations, tuple[Span, ...]]:
        """Representations and spans of these signals, one after the other."""
        return np.concatenate([self.each[i] for i in numbers]), joined_spans([self.spans[i] for i in numbers])

    def long_groups(self) -> list[str]:
        """Groups that can have units of their own; none where there are not two, or the others are the most."""
        sizes = {name: sum(len(self.each[i]) for i in self.signals_of(name)) for name in dict.fromkeys(self.groups)}
        long = [name for name, n in sizes.items() if self.window_weight * n >= FEWEST_LENGTHS]
        n_inside, n_all = sum(sizes[name] for name in long), sum(sizes.values())
        return long if len(long) > 1 and n_inside >= _LEAST_SHARE * n_all else []


@dataclass(frozen=True)
class _Latents:
    """What the mixture is fitted to."""

    projection: UnitProjection
    latents: Floats  # (n_windows, n_dims) of the signals that take part
    embeddings: Floats  # of the same windows
    spans: Sequence[Span]
    places: Places | None = None  # without a group yet
    start: Ints | None = None


def _plain_latents(
    rows: _Rows, config: UnitsConfig, few_channels: bool, seed: int, device: str, progress: Progress
) -> _Latents:
    """Of all windows in one projection."""
    representations, spans = rows.joined(range(len(rows.each)))
    projection = _fit_projection(
        representations, spans, rows.window_weight, config, few_channels, seed, device, progress
    )
    return _Latents(projection, projection.apply(representations), projection.embed(representations), spans)


def _shared_latents(
    rows: _Rows, long: Sequence[str], config: SlowUnitsConfig, few_channels: bool, seed: int
) -> _Latents:
    """Of the groups that are long enough, each at home, in the order of their signals."""
    signals = {name: rows.signals_of(name) for name in long}
    own = {name: rows.joined(numbers) for name, numbers in signals.items()}
    common = Standing.common([representations for representations, _ in own.values()])
    n_lengths = {name: rows.window_weight * len(representations) for name, (representations, _) in own.items()}
    at_home = {
        name: Standing.of(one).towards(common, n_lengths[name]).home(one, common).astype(np.float32)
        for name, (one, _) in own.items()
    }
    groups = [GroupWindows(at_home[name], own[name][1]) for name in long]
    rules = _rules(0.0, rows.window_weight, config)
    projection, labels = fit_shared(groups, config, rules, rows.window_weight, seed, few_channels=few_channels)
    each = [projection.apply(group.rows) for group in groups]
    common_latents = Standing.common(each)
    placed = [
        Standing.of(latents).towards(common_latents, n_lengths[name]).home(latents, common_latents)
        for name, latents in zip(long, each, strict=True)
    ]
    order = _in_order_of_signals([signals[name] for name in long], rows)
    latents = np.concatenate(placed)[order]
    taking_part = sorted(number for numbers in signals.values() for number in numbers)
    spans = joined_spans([rows.spans[i] for i in taking_part])
    places = Places(common, common_latents)
    return _Latents(projection, latents, latents, spans, places, np.concatenate(labels)[order])


def _in_order_of_signals(signals: Sequence[Sequence[int]], rows: _Rows) -> Ints:
    """Where each window lies among those of groups laid one after the other; ids follow the order of signals."""
    numbers = [number for own in signals for number in own]
    signal_of = np.repeat(numbers, [len(rows.each[i]) for i in numbers])
    return np.argsort(signal_of, kind="stable")


def _model(
    windows: Sequence[Windows],
    rows: _Rows,
    encoder: FittedEncoder,
    found: _Latents,
    vocabulary: Vocabulary,
    penalty: float,
    *,
    merge: bool,
) -> UnitModel:
    """The model, from what its units look like in every signal."""
    places, project = found.places, found.projection.apply
    if places is not None:
        of_group = {}
        for name in dict.fromkeys(rows.groups):
            representations, spans = rows.joined(rows.signals_of(name))
            of_group[name] = places.find(representations, spans, vocabulary, penalty, rows.window_weight, project)
        places = places.with_groups(of_group)
    read, at_home = [], []
    for own, spans, name in zip(rows.each, rows.spans, rows.groups, strict=True):
        if places is None:
            there, latents, centres = own, project(own), None
        else:
            there, latents = places.at_home(places.of_group[name], own, project)
            centres = places.of_group[name].centres
        read.append(decode(latents, spans, vocabulary, penalty, centres).ids)
        at_home.append(there)
    grid = windows[0].grid
    sharing_frames = (grid.length_frames - 1) // grid.step_frames
    representations, spans = np.concatenate(at_home), joined_spans(rows.spans)
    tree = merge_tree(representations, np.concatenate(read), spans, exclude=sharing_frames)
    n_merges = tree.best if merge else 0
    shown = [tree.coarsened(ids, n_merges) for ids in read]
    boundaries = fit_boundaries(windows, shown, sorted(set(tree.kept_at(n_merges).values())))
    exemplars = fit_exemplars(representations, np.concatenate(shown), spans, exclude=sharing_frames)
    return UnitModel(encoder, found.projection, vocabulary, penalty, tree, n_merges, boundaries, exemplars, places)


def _rules(penalty: float, step_share: float, config: UnitsConfig) -> UnitRules:
    """`step_share` is a step in window lengths. The paper counts every window, and knows no rule of persistence.

    Ours counts a window as step / length observations, the frames it adds (docs/results/units.md).
    """
    if not isinstance(config, SlowUnitsConfig):
        return UnitRules(penalty, shortest_run=0.0, window_weight=1.0)
    return UnitRules(penalty, config.persistence / step_share, window_weight=step_share)


# Both trained ways bring torch, which need not be installed, so each is imported when it is asked for.


def _fit_projection(
    representations: Representations,
    spans: Sequence[Span],
    step_share: float,
    config: UnitsConfig,
    few_channels: bool,
    seed: int,
    device: str,
    progress: Progress,
) -> UnitProjection:
    if isinstance(config, SlowUnitsConfig):
        return fit_slow_as_set(representations, spans, config, step_share, few_channels=few_channels)
    if isinstance(config, UnitAlignConfig):
        from rondo.paper.unit_align import fit_unit_align

        return fit_unit_align(representations, spans, config, seed, device, progress)
    from rondo.paper.ablations import fit_direct

    return fit_direct(representations, config, seed, device)
