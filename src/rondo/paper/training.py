"""One training loop for all nets. It knows no domain: a step gives a loss, the loop takes it down."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from rondo.arrays import Tensors
from rondo.data.windows import Windows
from rondo.encoders.base import Representations
from rondo.errors import ModelError, SettingError
from rondo.wording import Progress, silent


def minimise(
    loss_of_step: Callable[[int], torch.Tensor],
    optimiser: torch.optim.Optimizer,
    n_steps: int,
    after_step: Callable[[int], None] | None = None,
    progress: Progress = silent,
) -> list[float]:
    """Take `n_steps` steps and return the loss of each; `after_step` is for averaged weights and the like."""
    losses = []
    for step in range(n_steps):
        loss = loss_of_step(step)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
        if after_step is not None:
            after_step(step)
        progress("training", step + 1, n_steps)
    return [float(loss) for loss in losses]  # converted at the end: asking a GPU for a number makes it wait


def batches(n_items: int, batch_size: int, n_epochs: int, generator: torch.Generator) -> Iterator[torch.Tensor]:
    """Shuffled indices, epoch after epoch; a last batch of fewer than two items is left out."""
    for _ in range(n_epochs):
        order = torch.randperm(n_items, generator=generator)
        for start in range(0, n_items, batch_size):
            batch = order[start : start + batch_size]
            if batch.numel() > 1:
                yield batch


# What every network here needs: weights drawn from a given generator, kept as arrays, and read back.

Net = TypeVar("Net", bound=nn.Module)


def seeded_linear(n_in: int, n_out: int, generator: torch.Generator) -> nn.Linear:
    """torch's linear layer with torch's own start, U(-1/sqrt(n_in), 1/sqrt(n_in)), drawn from the generator."""
    layer: nn.Linear = nn.utils.skip_init(nn.Linear, n_in, n_out)  # type: ignore[no-untyped-call]
    bound = 1 / math.sqrt(n_in)
    with torch.no_grad():
        layer.weight.uniform_(-bound, bound, generator=generator)
        layer.bias.uniform_(-bound, bound, generator=generator)
    return layer


def settled(net: Net) -> Net:
    """The network as a value: float64, on the CPU, without gradients."""
    return net.double().cpu().requires_grad_(False)


def weights_of(net: nn.Module) -> dict[str, NDArray[np.float32]]:
    return {name: weight.detach().float().cpu().numpy().copy() for name, weight in net.state_dict().items()}


def stored(tensors: Tensors, name: str, whose: str = "encoder") -> NDArray[np.generic]:
    """The tensor of a model folder, which must be there."""
    if name not in tensors:
        raise ModelError(f"the {whose}'s tensor '{name}' is missing; fit and save the model again")
    return tensors[name]


def load_weights(net: nn.Module, tensors: Tensors, whose: str = "encoder") -> None:
    """Put the arrays that `weights_of` gave into a network of the same make; others are refused by name."""
    own = net.state_dict()
    for name, weight in own.items():
        if stored(tensors, name, whose).shape != weight.shape:
            raise ModelError(
                f"the {whose}'s tensor '{name}' is {tensors[name].shape}, its settings make it "
                f"{tuple(weight.shape)}; fit and save the model again"
            )
    net.load_state_dict({name: torch.tensor(np.asarray(tensors[name], np.float32)) for name in own})


# Many small steps, on a GPU too: there a step is recorded once for each shape of its inputs and then replayed.
#
# A step of a small network is a hundred kernels of a few microseconds each, and launching them one by one takes ten
# times as long as running them. A recorded step (CUDA graph) is launched as one. On the CPU every step is simply
# taken.

Inputs = tuple[torch.Tensor, ...]
LossTerms = Callable[..., torch.Tensor]
"""The loss terms (n_terms,) of a step from its inputs. It must not ask the GPU for a number."""

_STEPS_BEFORE_RECORDING = 3  # of each shape: torch sets up what it needs in the first ones


@dataclass(frozen=True, eq=False)
class Descent:
    """Down the weighted sum of loss terms, by the steps of an optimiser that `small_steps` made."""

    terms_of: LossTerms
    weights: torch.Tensor  # (n_terms,)
    optimiser: torch.optim.Optimizer

    def step(self, inputs: Inputs) -> torch.Tensor:
        """Take one step; gives its terms, without gradients."""
        terms = self.terms_of(*inputs)
        self.optimiser.zero_grad(set_to_none=True)
        (self.weights @ terms).backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        return terms.detach()

    def steps(self, each: Iterable[Inputs]) -> torch.Tensor:
        """Take a step for each of these inputs; gives the terms of all, (n_steps, n_terms)."""
        on_gpu = self.weights.device.type == "cuda"
        seen = self._replayed(each) if on_gpu else [self.step(inputs) for inputs in each]
        return torch.stack(seen) if seen else self.weights.new_zeros((0, self.weights.numel()))

    def _replayed(self, each: Iterable[Inputs]) -> list[torch.Tensor]:
        device = self.weights.device
        taken: dict[tuple[torch.Size, ...], int] = {}
        recorded: dict[tuple[torch.Size, ...], _Recording] = {}
        aside = torch.cuda.Stream(device)  # torch wants the steps before a recording on a stream of their own
        seen = []
        for given in each:
            inputs = tuple(part.to(device, non_blocking=True) for part in given)
            shape = tuple(part.shape for part in inputs)
            if taken.get(shape, 0) < _STEPS_BEFORE_RECORDING:
                aside.wait_stream(torch.cuda.current_stream(device))
                with torch.cuda.stream(aside):
                    seen.append(self.step(inputs))
                torch.cuda.current_stream(device).wait_stream(aside)
                taken[shape] = taken.get(shape, 0) + 1
                continue
            if shape not in recorded:
                recorded[shape] = _Recording.of(self, inputs)
            seen.append(recorded[shape].replay(inputs))
        return seen


def small_steps(parameters: Iterable[torch.nn.Parameter], learning_rate: float, decay: float) -> torch.optim.Optimizer:
    """Adam with decoupled weight decay, in a form that can be recorded where the parameters lie on a GPU."""
    own = list(parameters)
    on_gpu = own[0].device.type == "cuda"
    return torch.optim.AdamW(own, lr=learning_rate, weight_decay=decay, fused=True, capturable=on_gpu)


@dataclass(frozen=True, eq=False)
class _Recording:
    """One step for inputs of one shape, as the GPU repeats it: it reads and writes the same memory every time."""

    graph: torch.cuda.CUDAGraph
    inputs: Inputs
    terms: torch.Tensor

    @classmethod
    def of(cls, descent: Descent, inputs: Inputs) -> _Recording:
        graph, own = torch.cuda.CUDAGraph(), tuple(part.clone() for part in inputs)
        with torch.cuda.graph(graph):  # nothing is computed while it is recorded
            terms = descent.step(own)
        return cls(graph, own, terms)

    def replay(self, inputs: Inputs) -> torch.Tensor:
        for own, given in zip(self.inputs, inputs, strict=True):
            own.copy_(given)
        self.graph.replay()
        return self.terms.clone()


# What encoders read: windows in batches, and in training those within the first share of the stream.


def read_in_batches(
    windows: Windows, at_once: int, n_dims: int, encode: Callable[[NDArray[np.float32]], torch.Tensor], *, fill: bool
) -> Representations:
    """What `encode` makes (n, n_dims) of windows (n, length, n_channels), so many at once; all as one table.

    `fill`: a short last batch is filled up, so that products always have one shape.
    """
    out = np.zeros((len(windows), n_dims), dtype=np.float32)
    within = np.arange(windows.grid.length_frames)
    for first in range(0, len(windows), at_once):
        starts = windows.grid.starts[first : first + at_once]
        places = np.resize(starts, at_once) if fill else starts
        with torch.no_grad():
            encoded = encode(windows.values[places[:, None] + within])
        out[first : first + len(starts)] = encoded[: len(starts)].cpu().numpy()
    return out


class TrainingWindows(NamedTuple):
    """Windows as places in one run of frames, so that no window is copied before it is used."""

    frames: torch.Tensor  # (n_frames, n_channels), recordings one after the other
    starts: torch.Tensor  # (n_windows,), first frame of each
    length: int  # frames per window


def training_windows(windows: Sequence[Windows], share: float) -> TrainingWindows:
    """All windows that lie within the first `share` of the frames, recordings taken in order."""
    n_frames = sum(w.grid.n_frames for w in windows)
    seen, length = math.floor(share * n_frames), max(w.grid.length_frames for w in windows)
    values: list[NDArray[np.float32]] = []
    starts: list[NDArray[np.int64]] = []
    first = 0
    for w in windows:
        values.append(w.values[: max(0, seen - first)])
        starts.append(first + w.grid.starts)
        first += w.grid.n_frames
    chosen = np.concatenate(starts)
    chosen = chosen[chosen + length <= seen]
    if not chosen.size:
        raise SettingError(
            f"encoder.fit_share = {share:g} leaves the encoder no whole window: windows.length is {length} frames, "
            f"the stream's share {seen} of {n_frames}; raise the share, or shorten the windows"
        )
    return TrainingWindows(torch.from_numpy(np.concatenate(values)), torch.from_numpy(chosen), length)
