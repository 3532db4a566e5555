"""AutoPlait written plainly, frame by frame and pair by pair, on lists of segments, as the released code does it.

Only the start of a fit (k-means from random means) is taken from the package, so that both see the same draws.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rondo.data.windows import Span
from rondo_bench.baselines.autoplait import AutoPlaitConfig
from rondo_bench.baselines.autoplait_hmm import Fitted, Floats, Hmm, initial

TINY = 1e-6
Sets = tuple[list[Span], list[Span]]


def density(model: Hmm, state: int, frame: Floats) -> float:
    log = 0.0
    for x, mean, variance in zip(frame, model.mean[state], model.variance[state], strict=True):
        p = math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
        log += math.log(TINY + min(max(p, TINY), 1 - TINY))
    return math.exp(max(log, math.log(TINY)))


def log_of(p: float) -> float:
    return math.log(p + TINY)


def best_score(model: Hmm, values: Floats) -> float:
    k = model.n_states
    best = [log_of(model.start[i]) + math.log(density(model, i, values[0])) for i in range(k)]
    for frame in values[1:]:
        best = [
            max(best[i] + log_of(model.transition[i, j]) for i in range(k)) + math.log(density(model, j, frame))
            for j in range(k)
        ]
    return max(best)


def passes(model: Hmm, values: Floats) -> tuple[list[list[float]], list[Floats], float]:
    """Posteriors of states, posteriors of moves, and the log-likelihood."""
    k, n = model.n_states, len(values)
    b = [[density(model, i, frame) for i in range(k)] for frame in values]
    alpha: list[list[float]] = []
    total = 0.0
    for t in range(n):
        now = [
            (model.start[j] if t == 0 else sum(alpha[t - 1][i] * model.transition[i, j] for i in range(k))) * b[t][j]
            for j in range(k)
        ]
        total += math.log(sum(now))
        alpha.append([p / sum(now) for p in now])
    beta = [[1.0] * k for _ in range(n)]
    for t in range(n - 2, -1, -1):
        now = [sum(model.transition[i, j] * b[t + 1][j] * beta[t + 1][j] for j in range(k)) for i in range(k)]
        beta[t] = [p / sum(now) for p in now]
    gamma = [[a * z for a, z in zip(alpha[t], beta[t], strict=True)] for t in range(n)]
    gamma = [[p / sum(now) for p in now] for now in gamma]
    moves = []
    for t in range(n - 1):
        xi = np.array(
            [[alpha[t][i] * model.transition[i, j] * b[t + 1][j] * beta[t + 1][j] for j in range(k)] for i in range(k)]
        )
        moves.append(xi / xi.sum())
    return gamma, moves, total


def most_likely(model: Hmm, seen: Sequence[tuple[Floats, list[list[float]], list[Floats]]]) -> Hmm:
    """The model of these sequences with their posteriors."""
    k, n_channels = model.mean.shape
    start, transition = np.zeros(k), np.zeros((k, k))
    weight, mean, spread = np.zeros(k), np.zeros((k, n_channels)), np.zeros((k, n_channels))
    for values, gamma, moves in seen:
        start += np.array(gamma[0]) + TINY
        for xi in moves:
            transition += xi + TINY
        for frame, now in zip(values, gamma, strict=True):
            for i in range(k):  # weighted running mean and variance
                total = weight[i] + now[i] + TINY
                away = frame - mean[i]
                mean[i] += away * now[i] / total
                spread[i] += weight[i] * away * (away * now[i] / total)
                weight[i] = total
    variance = np.maximum(spread / weight[:, None], TINY)
    transition += 1e-300  # a single frame has no moves
    return Hmm(start / start.sum(), transition / transition.sum(axis=1, keepdims=True), mean, variance)


def k_means(values: Floats, means: Floats, rng: np.random.Generator) -> list[int]:
    """Until no frame changes; one without a frame gets any, one that lost its only frame is drawn again."""
    k = len(means)
    nearest = [-1] * len(values)
    for _ in range(100):
        before = nearest
        nearest = [min(range(k), key=lambda i: math.dist(frame, means[i])) for frame in values]
        for empty in [i for i in range(k) if i not in nearest]:
            nearest[rng.integers(len(values))] = empty
        if nearest == before:
            break
        drawn = rng.random(means.shape) if len(set(nearest)) < k else means
        own = [[frame for frame, i in zip(values, nearest, strict=True) if i == state] for state in range(k)]
        means = np.array([np.mean(own[i], axis=0) if own[i] else drawn[i] for i in range(k)])
    return nearest


def fit(sequences: Sequence[Floats], k: int, rng: np.random.Generator) -> Hmm:
    model = initial(np.concatenate(sequences), k, rng)
    if k == 1:
        return model
    now = [passes(model, values) for values in sequences]
    for _ in range(10):
        before = now
        model = most_likely(model, [(v, g, m) for v, (g, m, _) in zip(sequences, before, strict=True)])
        now = [passes(model, values) for values in sequences]
        if abs(sum(told[2] for told in now) - sum(told[2] for told in before)) <= 1:
            break
    both = [(v, g, m) for told in (before, now) for v, (g, m, _) in zip(sequences, told, strict=True)]
    return most_likely(model, both)


def fitted_to(values: Floats, segments: Sequence[Span], k: int, rng: np.random.Generator) -> Fitted:
    model = fit([values[start:stop] for start, stop in segments[:3]], k, rng)
    return Fitted(model, min(0.5, len(segments) / sum(stop - start for start, stop in segments)))


def segment_cost(side: Fitted, values: Floats) -> float:
    score = best_score(side.model, values) + math.log(side.delta) + (len(values) - 1) * math.log(1 - side.delta)
    return -score / math.log(2)


def regime_cost(side: Fitted, values: Floats, segments: Sequence[Span], float_bits: int) -> float:
    k, n_channels = side.model.mean.shape
    bits: float = float_bits * (k + k * k + 2 * k * n_channels) + 2 * math.log2(k) + 1
    bits += sum(segment_cost(side, values[start:stop]) for start, stop in segments)
    bits += sum(math.log2(stop - start) for start, stop in segments)
    return bits + sum(stop - start for start, stop in segments) * math.log2(k)


def total_cost(costs: Sequence[float], n_segments: int, float_bits: int) -> float:
    r = len(costs)
    bits = 2 * math.log2(r) + 1 + 2 * math.log2(n_segments) + 1 + n_segments * math.log2(r) + float_bits * r * r
    return float(sum(costs) + bits)


def cheapest(
    values: Floats, segments: Sequence[Span], config: AutoPlaitConfig, rng: np.random.Generator
) -> tuple[Fitted, float]:
    found: list[tuple[Fitted, float]] = []
    for k in range(1, config.max_states + 1):
        side = fitted_to(values, segments, k, rng)
        found.append((side, regime_cost(side, values, segments, config.float_bits)))
        if k > 1 and found[-1][1] > found[-2][1]:
            return found[-2]
    return found[-1]


def search(values: Floats, stretches: Sequence[Span], sides: Sequence[Fitted]) -> tuple[Sets, float]:
    """Segments of both regimes, and the bits of the best paths, each of which carries where it changed regimes."""
    found: Sets = ([], [])
    bits = 0.0
    for start, stop in stretches:
        paths: list[list[tuple[float, list[int]]]] = [
            [
                (math.log(sides[1 - r].delta) + log_of(m.start[i]) + math.log(density(m, i, values[start])), [])
                for i in range(m.n_states)
            ]
            for r, m in enumerate(side.model for side in sides)
        ]
        for t in range(start + 1, stop):
            paths = [_one_step(values[t], t, paths[r], paths[1 - r], sides[r], sides[1 - r]) for r in (0, 1)]
        ends = [max(side, key=lambda path: path[0]) for side in paths]
        side = 0 if ends[0][0] > ends[1][0] else 1
        bits -= ends[side][0] / math.log(2)
        edges = [start, *ends[side][1], stop]
        for i in range(len(edges) - 2, -1, -1):
            found[side].append((edges[i], edges[i + 1]))
            side = 1 - side
    return (sorted(found[0]), sorted(found[1])), bits


def _one_step(
    frame: Floats,
    t: int,
    own: list[tuple[float, list[int]]],
    other: list[tuple[float, list[int]]],
    side: Fitted,
    left: Fitted,
) -> list[tuple[float, list[int]]]:
    m = side.model
    coming = max(other, key=lambda path: path[0])
    step = []
    for u in range(m.n_states):
        switch = coming[0] + math.log(left.delta) + log_of(m.start[u])
        stay, v = max(
            (own[v][0] + math.log(1 - side.delta) + log_of(m.transition[v, u]), -v) for v in range(m.n_states)
        )
        b = math.log(density(m, u, frame))
        step.append((switch + b, [*coming[1], t]) if switch > stay else (stay + b, own[-v][1]))
    return step


def _least_loss(values: Floats, sets: Sets, sides: Sequence[Fitted], side: int) -> tuple[float, int]:
    losses = [
        segment_cost(sides[1 - side], values[start:stop]) - segment_cost(sides[side], values[start:stop])
        for start, stop in sets[side]
    ]
    return (min(losses), losses.index(min(losses))) if losses else (math.inf, -1)


def _joined(segments: Sequence[Span], stretches: Sequence[Span]) -> list[Span]:
    """Segments in order; those that touch are one, unless a stretch begins in between."""
    begins = {start for start, _ in stretches}
    out: list[Span] = []
    for start, stop in sorted(segments):
        if out and out[-1][1] == start and start not in begins:
            out[-1] = (out[-1][0], stop)
        else:
            out.append((start, stop))
    return out


def without_noise(
    values: Floats, stretches: Sequence[Span], sets: Sets, sides: Sequence[Fitted], threshold: float
) -> Sets:
    n_before = math.inf
    while n_before > len(sets[0]) + len(sets[1]):
        n_before = len(sets[0]) + len(sets[1])
        (loss0, at0), (loss1, at1) = (_least_loss(values, sets, sides, side) for side in (0, 1))
        side, loss, at = (0, loss0, at0) if loss0 < loss1 else (1, loss1, at1)
        if loss < threshold:
            left = [segment for i, segment in enumerate(sets[side]) if i != at]
            more = _joined([*sets[1 - side], sets[side][at]], stretches)
            sets = (left, more) if side == 0 else (more, left)
    return sets


def pruned(
    values: Floats, stretches: Sequence[Span], sides: Sequence[Fitted], total: float, noise_share: float
) -> Sets:
    sets, _ = search(values, stretches, sides)
    if len(sets[0]) <= 1 and len(sets[1]) <= 1:
        return sets
    share, before = noise_share, math.inf
    best = sets = without_noise(values, stretches, sets, sides, share * total)
    while share <= 10 * noise_share and best[0] and best[1]:
        share *= 2
        sets = without_noise(values, stretches, sets, sides, share * total)
        if len(sets[0]) <= 1 or len(sets[1]) <= 1:
            break
        doubtful = [sets[side][_least_loss(values, sets, sides, side)[1]] for side in (0, 1)]
        rng = np.random.default_rng(0)  # one state draws nothing
        cost = search(values, stretches, [fitted_to(values, [span], 1, rng) for span in doubtful])[1]
        if cost >= before:
            break
        best, before = sets, cost
    return best


def seeds_of(segments: Sequence[Span], spans: Sequence[Span], length: int, n_seeds: int) -> list[Span]:
    stride = int((sum(stop - start for start, stop in segments) - length) / n_seeds)
    seeds: list[Span] = []
    for start, stop in segments:
        if len(seeds) >= n_seeds:
            return seeds
        low, high = next(span for span in spans if span[0] <= start < span[1])
        for i in range(n_seeds):
            if start + i * stride + length > stop:
                first = max(stop - length, low)
                seeds.append((first, min(first + length, high)))
                break
            seeds.append((start + i * stride, start + i * stride + length))
    return seeds


def split(
    values: Floats,
    spans: Sequence[Span],
    segments: Sequence[Span],
    total: float,
    config: AutoPlaitConfig,
    rng: np.random.Generator,
) -> Sets:
    """Segments of both regimes, in frames of the recording; stretches are the segments of the regime themselves."""
    length = math.ceil(sum(stop - start for start, stop in spans) * config.seed_share)
    seeds = seeds_of(segments, spans, length, config.n_seeds)
    least, chosen = math.inf, None
    for i in range(len(seeds)):
        for j in range(i + 1, len(seeds)):
            if abs(seeds[i][0] - seeds[j][0]) < length:
                continue
            sides = [fitted_to(values, [seed], 1, rng) for seed in (seeds[i], seeds[j])]
            sets = pruned(values, segments, sides, total, config.noise_share)
            if not (sets[0] and sets[1]):
                continue
            cost = sum(regime_cost(side, values, own, config.float_bits) for side, own in zip(sides, sets, strict=True))
            if cost < least:
                least, chosen = cost, (seeds[i], seeds[j])
    if chosen is None:
        (start, _), (second, end) = segments[0], segments[1 % len(segments)]
        ends = [next(span for span in spans if span[0] <= first < span[1])[1] for first in (start, second)]
        middle = second + (end - second) // 2
        chosen = (start, min(start + length, ends[0])), (middle, min(middle + length, ends[1]))
    best: Sets = ([], [])
    least = math.inf
    for turn in range(10):
        sides = [cheapest(values, [seed], config, rng)[0] for seed in chosen]
        sets = pruned(values, segments, sides, total, config.noise_share)
        if not (sets[0] and sets[1]):
            break
        cost = sum(regime_cost(side, values, own, config.float_bits) for side, own in zip(sides, sets, strict=True))
        if cost < least:
            least, best = cost, sets
        elif turn >= 3:
            break
        chosen = (max(sets[0], key=lambda s: s[1] - s[0]), max(sets[1], key=lambda s: s[1] - s[0]))
    return best


def regimes(
    values: Floats, spans: Sequence[Span], config: AutoPlaitConfig, rng: np.random.Generator
) -> list[tuple[Span, ...]]:
    """The segments of each regime."""
    stack = [(list(spans), cheapest(values, spans, config, rng)[1])]
    final: list[tuple[list[Span], float]] = []
    while stack:
        everything = final + stack
        n_segments = sum(len(segments) for segments, _ in everything)
        total = total_cost([cost for _, cost in everything], n_segments, config.float_bits)
        segments, cost = stack.pop()
        sets = split(values, spans, segments, total, config, rng)
        halves = [(own, cheapest(values, own, config, rng)[1]) for own in sets] if all(sets) else []
        if halves and sum(half[1] for half in halves) + config.split_share * cost < cost:
            stack.extend(halves)
        else:
            final.append((segments, cost))
    return [tuple(segments) for segments, _ in final]
