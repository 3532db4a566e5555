"""One training loop for all nets. It knows no domain: a step gives a loss, the loop takes it down."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from rondo.progress import Progress, silent


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
