"""CPU time of Time2State and E2USD from values to labels, beside the published formulation run plainly, on one thread.

    OMP_NUM_THREADS=1 python -m benchmarks.bench_published_loops [DATA] [--method time2state e2usd]

DATA holds MoCap/amc_86_02.npz (10,617 frames, only `X` is read); without it a planted stream of that size is used. The
plain runs are the slow twins of the tests, in double precision as released: padded convolutions that are cut to size or
a transform per window, pairs by loops, a matrix of votes. Both start from the same weights, draw the same windows and
fit the same mixture with the same seed, so that their results can be compared without any truth: the loss of the
weights learned, on groups that neither has seen, and the share of frames with the same label. Bar: at least five times
less CPU time, losses within a hundredth of each other.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # CPU time of one thread, set before numpy and torch are loaded

import numpy as np
import torch
from numpy.typing import NDArray
from rondo_bench.baselines.base import in_order_of_appearance
from rondo_bench.baselines.state_mixture import fitted_components
from torch import Tensor

from rondo.arrays import owned_by
from rondo.data.labels import Labels
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.signal import Signal
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant
from rondo_bench.baselines import e2usd_net, time2state_net
from rondo_bench.baselines.e2usd import E2USD, E2USDConfig
from rondo_bench.baselines.time2state import Time2State, Time2StateConfig
from rondo_bench.baselines.window_states import Groups, Scale, WindowStatesConfig
from tests import naive_e2usd, naive_time2state

LENGTH, STEP, SEED = 256, 50, 0
N_PROBED = 20  # groups on which the losses of both are compared
BAR, LOSS_BAR = 5.0, 0.01
Weights = dict[str, Tensor]
Embed = Callable[[Weights, Tensor], Tensor]


@dataclass(frozen=True)
class Race:
    """One method: ours, and the parts of its plain formulation."""

    ours: Time2State | E2USD
    start: Callable[[int, torch.Generator], torch.nn.Module]  # n_channels -> a network as ours begins
    train: Callable[[Weights, Tensor, list[list[int]]], Weights]
    embed: Embed
    loss: Callable[[Weights, Tensor, list[int]], float]


def time2state() -> Race:
    config = Time2StateConfig()

    def train(weights: Weights, values: Tensor, draws: list[list[int]]) -> Weights:
        return naive_time2state.train(weights, values, draws, LENGTH, config.group_size, config.learning_rate)[0]

    def loss(weights: Weights, values: Tensor, firsts: list[int]) -> float:
        groups = [naive_time2state.embeddings(weights, group) for group in _groups(values, firsts, config)]
        return naive_time2state.lse_loss_by_loops(torch.stack(groups).tolist())

    return Race(
        Time2State(config),
        lambda n_channels, generator: time2state_net.CausalNet(n_channels, config, generator),
        train,
        naive_time2state.embeddings,
        loss,
    )


def e2usd() -> Race:
    config = E2USDConfig()

    def train(weights: Weights, values: Tensor, draws: list[list[int]]) -> Weights:
        sizes = LENGTH, config.group_size, config.learning_rate, config.n_bins
        return naive_e2usd.train(weights, values, draws, *sizes)[0]

    def loss(weights: Weights, values: Tensor, firsts: list[int]) -> float:
        groups = [naive_e2usd.embeddings(weights, group, config.n_bins) for group in _groups(values, firsts, config)]
        return float(naive_e2usd.fncc_loss_by_loops(*(torch.stack(kind) for kind in zip(*groups, strict=True))))

    return Race(
        E2USD(config),
        lambda n_channels, generator: e2usd_net.TwoViewNet(n_channels, config, generator),
        train,
        lambda weights, windows: naive_e2usd.embeddings(weights, windows, config.n_bins)[0],
        loss,
    )


RACES: dict[str, Callable[[], Race]] = {"time2state": time2state, "e2usd": e2usd}


def _groups(values: Tensor, firsts: list[int], config: WindowStatesConfig) -> list[Tensor]:
    return [
        torch.stack([values[first + i : first + i + LENGTH].T for i in range(config.group_size)]) for first in firsts
    ]


def plainly(race: Race, signal: Signal) -> tuple[Weights, Labels]:
    """The published formulation with the draws of ours: weights and labels."""
    config = race.ours.config
    network_seed, mixture_seed = np.random.default_rng(SEED).integers(2**31, size=2).tolist()
    generator = torch.Generator().manual_seed(network_seed)
    begun = race.start(signal.values.shape[1], generator).double().state_dict()
    starts = Groups.within(signal, LENGTH, config, "plain").starts
    draws = [
        starts[torch.randint(starts.size, (config.n_groups,), generator=generator).numpy()].tolist()
        for _ in range(config.n_steps)
    ]
    values = torch.from_numpy(Scale.of(signal).apply(signal)).double()
    weights = race.train(dict(begun), values, draws)
    firsts = range(0, signal.n_frames - LENGTH + 1, STEP)
    with torch.no_grad():
        embeddings = race.embed(weights, torch.stack([values[first : first + LENGTH].T for first in firsts])).numpy()
    components = fitted_components(embeddings, config.component_cap, config.concentration, mixture_seed, "plain")
    states = in_order_of_appearance(components.states_of(embeddings))
    labels = naive_time2state.votes(states.tolist(), list(firsts), LENGTH, signal.n_frames).argmax(axis=1)
    return weights, labels.astype(np.int32)


def prepared(data: Path | None) -> Signal:
    if data is None:
        recording = plant(StreamPlan(n_channels=4), n_frames=10_617, seed=0).recording
    else:
        recording = Recording(np.load(data / "MoCap" / "amc_86_02.npz")["X"], id="amc_86_02")
    config = Time2StateConfig().preprocess
    return Preprocessor.fit([recording], config).apply(recording)


def run(name: str, signal: Signal) -> bool:
    """One row of the table; whether it meets the bar."""
    race = RACES[name]()
    begun = time.process_time()
    labels = race.ours.fit_predict(signal, np.random.default_rng(SEED))
    ours_s = time.process_time() - begun
    begun = time.process_time()
    weights, plain_labels = plainly(race, signal)
    plain_s = time.process_time() - begun
    learned = owned_by("net", race.ours.fit(signal, np.random.default_rng(SEED)).tensors())
    own = {key: torch.from_numpy(tensor).double() for key, tensor in learned.items()}
    values = torch.from_numpy(Scale.of(signal).apply(signal)).double()
    probed = np.random.default_rng(1).integers(signal.n_frames - LENGTH - 8, size=N_PROBED).tolist()
    with torch.no_grad():
        losses = [race.loss(each, values, probed) for each in (own, weights)]
    n_covered = (signal.n_frames - LENGTH) // STEP * STEP + LENGTH  # frames after the last window differ by design
    same = float(np.mean(labels[:n_covered] == plain_labels[:n_covered]))
    ratio = plain_s / ours_s
    print(
        f"{name:<11} {ours_s:>8.2f} {plain_s:>9.2f} {ratio:>7.1f} x {losses[0]:>10.4f} {losses[1]:>11.4f} {same:>10.1%}"
    )
    return ratio >= BAR and abs(losses[0] - losses[1]) <= LOSS_BAR


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--method", nargs="+", choices=RACES, default=list(RACES))
    given = parser.parse_args()
    torch.set_num_threads(1)
    signal = prepared(given.data)
    small: NDArray[np.float32] = signal.values[:1000]
    E2USD().fit(
        Signal(signal.id, small, None, signal.channels, ((0, 1000),), 1000), np.random.default_rng(0)
    )  # imports
    print("method       ours CPU s  plain CPU s   ratio   ours: loss   plain: loss   same labels")
    met = [run(name, signal) for name in given.method]
    print(f"bar: {BAR:g} x less CPU time at the same loss (within {LOSS_BAR:g}): {'met' if all(met) else 'MISSED'}")


if __name__ == "__main__":
    main()
