"""One seed, one generator per stage: a stage that draws more or less does not disturb the next."""

from __future__ import annotations

import numpy as np


def generators(seed: int, stages: tuple[str, ...]) -> dict[str, np.random.Generator]:
    """An independent generator for each named stage.

    >>> draws = {name: rng.integers(100) for name, rng in generators(0, ("units", "motifs")).items()}
    >>> draws == {name: rng.integers(100) for name, rng in generators(0, ("units", "motifs")).items()}
    True
    """
    children = np.random.SeedSequence(seed).spawn(len(stages))
    return {stage: np.random.default_rng(child) for stage, child in zip(stages, children, strict=True)}
