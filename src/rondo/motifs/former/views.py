"""Corrupted views of unit subsequences: some tokens are masked, some dropped (paper: MotifFormer Implementation).

A masked token keeps its place and hides its unit; a dropped token is not there, and the others keep their positions.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch


class View(NamedTuple):
    """What is done to each token of a batch of equal lengths; no token is both masked and dropped."""

    masked: torch.Tensor  # (B, length), bool
    dropped: torch.Tensor  # (B, length), bool


def corrupted(
    n_items: int, length: int, mask_probability: float, drop_probability: float, generator: torch.Generator
) -> View:
    """An independent view of each item; at least one of its tokens stays as it is.

    One number u in [0, 1) decides per token: dropped below `drop_probability`, masked in the next `mask_probability`.
    The token with the largest u always stays: a view without any unit says nothing of the subsequence it came from.
    Drawn on the CPU, whatever the device.
    """
    u = torch.rand(n_items, length, generator=generator)
    u.scatter_(1, u.argmax(1, keepdim=True), math.inf)
    dropped = u < drop_probability
    return View((u < drop_probability + mask_probability) & ~dropped, dropped)
