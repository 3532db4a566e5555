"""The models of AutoPlait: hidden Markov models with diagonal Gaussian states, their paths, their fit, and their bits.

A recursion over frames is a product of one small matrix per frame, and products can be bracketed. Frames are cut into
about sqrt(n_frames) chunks of as many frames: one loop over the frames of a chunk multiplies the matrices of all chunks
side by side, one loop over chunks carries the state on, and a second loop over the frames of a chunk fills in what lies
between. A product is a maximum of sums in the best path, a sum of products in the passes forward and backward. It costs
n_states times the arithmetic, so that many states take the plain loop. Densities are bounded as in the released code:

    b_i(x) = max(FLOOR, prod_c (FLOOR + clip(N(x_c; mean_ic, variance_ic), FLOOR, 1 - FLOOR))),   FLOOR = 1e-6

With ten independent channels or more, most frames of the right state are at the floor too, and regimes can no longer be
told apart: this is why AutoPlait returns one regime for wide recordings. Bits are those of the released code, which
counts the best path instead of all paths, and the moves between regimes with the frames:

    model     F (k + k^2 + 2 k n_channels) + log*(k)                   F bits for a number, log*(x) = 2 log2(x) + 1
    segments  sum log2(length)
    frames    - sum [best path + ln delta + (length - 1) ln(1 - delta)] / ln 2  + n_frames log2(k)

where delta = n_segments / n_frames of the segments that the model was fitted to. All regimes together cost
log*(r) + log*(m) + m log2(r) + F r^2 more, for r regimes with m segments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rondo.data.windows import Span

Floats = NDArray[np.float64]

_CHUNKED_STATES = 12  # above, one step of a plain loop costs less than n_states ** 3 sums (measured)


def best_score(log_start: Floats, log_transition: Floats, log_density: Floats) -> float:
    """max over paths q of log_start[q_0] + sum_t log_density[t, q_t] + sum_t log_transition[q_t-1, q_t]."""
    n_frames, k = log_density.shape
    score = log_start + log_density[0]
    if k == 1:
        return float(score[0] + (n_frames - 1) * log_transition[0, 0] + log_density[1:].sum())
    steps = log_density[1:]
    length = _chunk_length(len(steps), k)
    n_chunks = len(steps) // length
    if length > 1:
        for product in _path_products(log_transition, steps[: n_chunks * length].reshape(n_chunks, length, k)):
            score = (score[:, None] + product).max(axis=0)
        steps = steps[n_chunks * length :]
    for density in steps:
        score = (score[:, None] + log_transition).max(axis=0) + density
    return float(score.max())


def best_path(log_start: Floats, log_transition: Floats, log_density: Floats) -> NDArray[np.uint8]:
    """The path of the best score, a state for each frame; of several equal predecessors the lowest."""
    n_frames, k = log_density.shape
    length = _chunk_length(n_frames - 1, k)
    n_chunks = (n_frames - 1) // length if length > 1 else 1
    length = length if length > 1 else n_frames - 1
    steps = log_density[1 : 1 + n_chunks * length].reshape(n_chunks, length, k)
    scores = np.empty((n_chunks, k))
    score = log_start + log_density[0]
    scores[0] = score
    if n_chunks > 1:
        for chunk, product in enumerate(_path_products(log_transition, steps[:-1]), start=1):
            scores[chunk] = score = (score[:, None] + product).max(axis=0)
    before = np.empty((n_frames, k), dtype=np.uint8)
    inside = before[1 : 1 + n_chunks * length].reshape(n_chunks, length, k)
    into = np.ascontiguousarray(log_transition.T)
    for step in range(length):
        reached = scores[:, None, :] + into  # (n_chunks, to, from)
        origin = reached.argmax(axis=2)
        inside[:, step] = origin
        scores = np.take_along_axis(reached, origin[:, :, None], axis=2)[:, :, 0] + steps[:, step]
    score = scores[-1]
    for frame in range(1 + n_chunks * length, n_frames):
        reached = score + into
        before[frame] = reached.argmax(axis=1)
        score = reached.max(axis=1) + log_density[frame]
    return _traced(before, int(score.argmax()))


def _chunk_length(n_steps: int, k: int) -> int:
    """Frames per chunk; 1 where the plain loop is quicker."""
    return math.isqrt(n_steps) if k <= _CHUNKED_STATES and n_steps >= 16 else 1


def _path_products(log_transition: Floats, log_density: Floats) -> Floats:
    """(n_chunks, k, k): the best score from each state before a chunk to each state at its end.

    `log_density` is (n_chunks, length, k). Chunks lie on the last axis in the loop, where numpy runs along them.
    """
    densities_last = np.ascontiguousarray(log_density.transpose(1, 2, 0))  # (length, k, n_chunks)
    best = log_transition[:, :, None] + densities_last[0]  # (from, to, n_chunks)
    for density in densities_last[1:]:
        best = (best[:, :, None, :] + log_transition[None, :, :, None]).max(axis=1) + density
    return np.ascontiguousarray(best.transpose(2, 0, 1))


def _traced(before: NDArray[np.uint8], last: int) -> NDArray[np.uint8]:
    """The path that ends in `last`, where `before[t, i]` is the state at t - 1 of the best path to i at t."""
    n_frames, k = before.shape
    flat, path, state = before.tobytes(), bytearray(n_frames), last
    for frame in range(n_frames - 1, 0, -1):
        path[frame] = state
        state = flat[frame * k + state]
    path[0] = state
    return np.frombuffer(path, dtype=np.uint8)


FLOOR = 1e-6  # released code: ZERO
_KMEANS_ITERATIONS = 100  # released code
_BAUM_WELCH_ITERATIONS = 10  # released code
_SETTLED = 1.0  # released code: nats of log-likelihood
_NOTHING = 1e-300  # keeps the mean of a state without frames, and the moves of a single frame, from being 0 / 0
_STEPS_PER_SCALING = 8  # a density is at least 1e-6, so that a product shrinks by no more than 1e-48 in between


@dataclass(frozen=True, eq=False)
class Hmm:
    """Probabilities of the first state (k,) and of the next (k, k), Gaussians by state and channel (k, n_channels)."""

    start: Floats
    transition: Floats
    mean: Floats
    variance: Floats

    @property
    def n_states(self) -> int:
        return int(self.start.size)


def densities(model: Hmm, values: Floats) -> Floats:
    """b_i(x) as in the module's docstring, for each frame and state: (n_frames, k)."""
    product = np.ones((len(values), model.n_states))
    height = 1 / np.sqrt(2 * math.pi * model.variance)
    for channel in range(values.shape[1]):
        deviation = values[:, channel, None] - model.mean[:, channel]
        np.square(deviation, out=deviation)
        deviation *= -0.5 / model.variance[:, channel]
        np.exp(deviation, out=deviation)
        deviation *= height[:, channel]
        np.clip(deviation, FLOOR, 1 - FLOOR, out=deviation)
        deviation += FLOOR
        product *= deviation
    return np.maximum(product, FLOOR, out=product)


def logs(probabilities: Floats) -> Floats:
    """Logarithms that stay finite at zero."""
    out: Floats = np.log(probabilities + FLOOR)
    return out


@dataclass(frozen=True, eq=False)
class Expectations:
    """What one pass over the frames says of the states; those of several sequences, or passes, may be added."""

    start: Floats  # (k,)
    transition: Floats  # (k, k) expected moves
    weight: Floats  # (k,) expected frames
    first: Floats  # (k, n_channels) weighted sum of values
    second: Floats  # (k, n_channels) weighted sum of their squares
    n_frames: int
    log_likelihood: float

    def __add__(self, other: Expectations) -> Expectations:
        return Expectations(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))

    def model(self) -> Hmm:
        """The model that makes them most likely, with the floors of the released code."""
        mean = self.first / np.maximum(self.weight, _NOTHING)[:, None]
        scatter = self.second - self.first * mean
        variance = np.maximum(scatter / (self.weight + FLOOR * self.n_frames)[:, None], FLOOR)
        moves = self.transition + _NOTHING
        return Hmm(self.start / self.start.sum(), moves / moves.sum(axis=1, keepdims=True), mean, variance)


def expectations(model: Hmm, values: Floats, squares: Floats) -> Expectations:
    """One pass forward and backward over one sequence."""
    density = densities(model, values)
    alpha, scale, beta = forward_backward(model.start, model.transition, density)
    posterior = alpha * beta
    posterior /= posterior.sum(axis=1, keepdims=True)
    arrived = density[1:] * beta[1:]
    moves = np.einsum("ti,ti->t", alpha[:-1] @ model.transition, arrived)
    transition = model.transition * ((alpha[:-1] / moves[:, None]).T @ arrived) + FLOOR * len(moves)
    return Expectations(
        posterior[0] + FLOOR,
        transition,
        posterior.sum(axis=0),
        posterior.T @ values,
        posterior.T @ squares,
        len(values),
        float(np.log(scale).sum()),
    )


def forward_backward(start: Floats, transition: Floats, density: Floats) -> tuple[Floats, Floats, Floats]:
    """Forward probabilities that sum to one, what they were divided by, and backward ones up to a factor per frame."""
    n_frames, k = density.shape
    alpha, scale, beta = np.empty((n_frames, k)), np.empty(n_frames), np.empty((n_frames, k))
    length = max(math.isqrt(n_frames - 1), 1) if n_frames > 1 else 1
    n_chunks = (n_frames - 1) // length
    body = slice(1, 1 + n_chunks * length)  # the first frame stands alone, those after the last chunk follow it
    inside = density[body].reshape(n_chunks, length, k)
    products = _sum_products(transition, inside)
    entry, leave = np.empty((n_chunks, k)), np.empty((n_chunks, k))
    state, scale[0] = _to_one(start * density[0])
    alpha[0] = state
    for chunk, product in enumerate(products):
        entry[chunk] = state
        state = _to_one(state @ product)[0]
    _fill_forward(entry, transition, inside, alpha[body].reshape(inside.shape), scale[body].reshape(inside.shape[:2]))
    for frame in range(body.stop, n_frames):
        state, scale[frame] = _to_one((state @ transition) * density[frame])
        alpha[frame] = state
    state = np.full(k, 1 / k)
    for frame in range(n_frames - 1, body.stop - 1, -1):
        beta[frame] = state
        state = _to_one(transition @ (density[frame] * state))[0]
    for chunk in range(n_chunks - 1, -1, -1):
        leave[chunk] = state
        state = _to_one(products[chunk] @ state)[0]
    beta[0] = state
    _fill_backward(leave, transition, inside, beta[body].reshape(inside.shape))
    return alpha, scale, beta


def _to_one(state: Floats) -> tuple[Floats, float]:
    total = float(state.sum())
    return state / total, total


def _sum_products(transition: Floats, density: Floats) -> Floats:
    """(n_chunks, k, k) products of transition and density over each chunk, up to a factor.

    The rows of all chunks are forward passes from one state each, so that a step is one multiplication of matrices.
    """
    n_chunks, length, k = density.shape
    rows = np.tile(np.eye(k), (n_chunks, 1))
    for step in range(length):
        rows = rows @ transition
        by_chunk = rows.reshape(n_chunks, k, k)
        by_chunk *= density[:, step, None, :]
        if step % _STEPS_PER_SCALING == 0:
            by_chunk /= by_chunk.sum(axis=(1, 2), keepdims=True)
    return rows.reshape(n_chunks, k, k)


def _fill_forward(state: Floats, transition: Floats, density: Floats, alpha: Floats, scale: Floats) -> None:
    for step in range(density.shape[1]):
        state = state @ transition
        state *= density[:, step]
        total = state.sum(axis=1)
        state /= total[:, None]
        alpha[:, step] = state
        scale[:, step] = total


def _fill_backward(state: Floats, transition: Floats, density: Floats, beta: Floats) -> None:
    backwards = np.ascontiguousarray(transition.T)
    for step in range(density.shape[1] - 1, -1, -1):
        beta[:, step] = state
        state = (state * density[:, step]) @ backwards
        state /= state.sum(axis=1, keepdims=True)


def fit(sequences: Sequence[Floats], k: int, rng: np.random.Generator) -> Hmm:
    """k-means, then Baum-Welch until the log-likelihood changes by a nat or less.

    As in the released code, the last model is that of the last two passes together.
    """
    values = np.concatenate(sequences)
    squares = values**2
    ends = np.cumsum([len(sequence) for sequence in sequences])
    pieces = [(values[end - len(s) : end], squares[end - len(s) : end]) for end, s in zip(ends, sequences, strict=True)]
    model = initial(values, k, rng)
    if k == 1:
        return model
    told = _expected(model, pieces)
    for _ in range(_BAUM_WELCH_ITERATIONS):
        before, model = told, told.model()
        told = _expected(model, pieces)
        if abs(told.log_likelihood - before.log_likelihood) <= _SETTLED:
            break
    return (before + told).model()


def _expected(model: Hmm, pieces: Sequence[tuple[Floats, Floats]]) -> Expectations:
    first, *others = (expectations(model, *piece) for piece in pieces)
    return sum(others, start=first)


def initial(values: Floats, k: int, rng: np.random.Generator) -> Hmm:
    """Random transitions, and one state for each of k means; a single state has all there is to know."""
    if k == 1:
        mean, variance = values.mean(axis=0), np.maximum(values.var(axis=0), FLOOR)
        return Hmm(np.ones(1), np.ones((1, 1)), mean[None], variance[None])
    transition, start = rng.random((k, k)), rng.random(k)
    nearest = k_means(values, rng.random((k, values.shape[1])), rng)
    mean, variance = np.empty((k, values.shape[1])), np.full((k, values.shape[1]), FLOOR)
    for state in range(k):
        own = values[nearest == state]
        mean[state] = own.mean(axis=0) if len(own) else rng.random(values.shape[1])
        if len(own) > 1:
            variance[state] = own.var(axis=0, ddof=1) + FLOOR
    return Hmm(start / start.sum(), transition / transition.sum(axis=1, keepdims=True), mean, variance)


def k_means(values: Floats, mean: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """The nearest of k means for each frame, from these means on; one that has no frame is given any."""
    k, mean = len(mean), mean.copy()
    nearest = np.full(len(values), -1)
    for _ in range(_KMEANS_ITERATIONS):
        distance = (mean**2).sum(axis=1) - 2 * values @ mean.T
        previous, nearest = nearest, distance.argmin(axis=1)
        for empty in np.flatnonzero(np.bincount(nearest, minlength=k) == 0):
            nearest[rng.integers(len(values))] = empty
        if (previous == nearest).all():
            break
        counts = np.bincount(nearest, minlength=k)
        taken = counts > 0  # a frame that was given away may have been the only one of its state
        sums = (nearest == np.arange(k)[:, None]).astype(np.float64) @ values
        mean[taken] = sums[taken] / counts[taken, None]
        mean[~taken] = rng.random((k, values.shape[1]))[~taken] if not taken.all() else 0
    return nearest


_TRAINING_SEGMENTS = 3  # released code: the first ones, however many there are


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, and how probable it is that a frame begins a segment of it."""

    model: Hmm
    delta: float


@dataclass(frozen=True, eq=False)
class Regime(Fitted):
    """Segments that one model describes, and what they cost with it."""

    segments: tuple[Span, ...]
    cost: float


def log_star(x: int) -> float:
    """Bits for a whole number of unknown size, as in the released code."""
    return 2 * math.log2(x) + 1


def model_cost(k: int, n_channels: int, float_bits: int) -> float:
    return float_bits * (k + k * k + 2 * k * n_channels) + log_star(k)


def regime_cost(fitted: Fitted, values: Floats, segments: Sequence[Span], float_bits: int) -> float:
    """Bits for a model and these segments of the values."""
    k, n_channels = fitted.model.mean.shape
    bits = model_cost(k, n_channels, float_bits)
    for start, stop in segments:
        bits += segment_cost(fitted, values[start:stop]) + math.log2(stop - start) + (stop - start) * math.log2(k)
    return bits


def segment_cost(fitted: Fitted, values: Floats) -> float:
    """Bits for the frames of one segment, coming to the regime and staying in it included."""
    model = fitted.model
    path = best_score(logs(model.start), logs(model.transition), np.log(densities(model, values)))
    return -(path + dwelling(fitted.delta, len(values))) / math.log(2)


def dwelling(delta: float, length: int) -> float:
    """ln of the probability to begin a segment and to stay in it."""
    return math.log(delta) + (length - 1) * math.log1p(-delta)


def total_cost(regimes: Sequence[Regime], float_bits: int) -> float:
    r, m = len(regimes), sum(len(regime.segments) for regime in regimes)
    return sum(regime.cost for regime in regimes) + log_star(r) + log_star(m) + m * math.log2(r) + float_bits * r * r


def fitted_to(values: Floats, segments: Sequence[Span], k: int, rng: np.random.Generator) -> Fitted:
    """A model with k states of the first few segments.

    A probability of one half is the most: the released code stops with an error where all segments are single frames.
    """
    model = fit([values[start:stop] for start, stop in segments[:_TRAINING_SEGMENTS]], k, rng)
    n_frames = sum(stop - start for start, stop in segments)
    return Fitted(model, min(len(segments) / n_frames, 0.5))


def cheapest(
    values: Floats, segments: Sequence[Span], max_states: int, float_bits: int, rng: np.random.Generator
) -> Regime:
    """The regime of these segments, with states added while each makes it cheaper."""
    best: Regime | None = None
    for k in range(1, max_states + 1):
        fitted = fitted_to(values, segments, k, rng)
        cost = regime_cost(fitted, values, segments, float_bits)
        if best is not None and cost > best.cost:
            break
        best = Regime(fitted.model, fitted.delta, tuple(segments), cost)
    assert best is not None  # max_states is at least one
    return best
