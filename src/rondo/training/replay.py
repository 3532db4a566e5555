"""Many small steps, on a GPU too: there a step is recorded once for each shape of its inputs and then replayed.

A step of a small network is a hundred kernels of a few microseconds each, and launching them one by one takes ten times
as long as running them. A recorded step (CUDA graph) is launched as one. On the CPU every step is simply taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

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
