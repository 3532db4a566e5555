"""What every encoder is: `fit` on windows gives a *fitted* encoder, whose `encode` gives representations.

Two types, so that encoding before fitting cannot be written and settings cannot be overwritten by a fit. A third,
`DeclaredEncoder`, is what the file of an encoder says about it to everyone else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Tensors as Tensors
from rondo.config.ways import EncoderSettings, Way
from rondo.data.windows import Windows
from rondo.progress import Progress, silent

Representations = NDArray[np.float32]
Curves = Mapping[str, Sequence[float]]
"""What training reached, step by step, by the name of what was measured."""


class FittedEncoder(Protocol):
    """Maps windows to representations; equal windows get equal representations, whatever the batch."""

    @property
    def curves(self) -> Curves:
        """The training log, to be plotted; empty where nothing is trained."""

    def encode(self, windows: Windows) -> Representations:
        """Representations (n_windows, n_dims) of the windows of one signal."""

    def tensors(self) -> Tensors:
        """Everything learned, as arrays, for the model folder."""


class Encoder(Protocol):
    """Settings of an encoder, ready to be fitted."""

    def fit(self, windows: Sequence[Windows], progress: Progress = silent) -> FittedEncoder:
        """Learn from the windows of one or many signals."""

    def restore(self, tensors: Tensors) -> FittedEncoder:
        """The fitted encoder that wrote these tensors."""


class EncoderCost(NamedTuple):
    """What fitting and encoding cost beyond the rest of a run, about, on one core."""

    seconds: float | None  # None where it was never measured
    megabytes: float


S = TypeVar("S", bound=EncoderSettings)


@dataclass(frozen=True, kw_only=True)
class DeclaredEncoder(Way, Generic[S]):
    """An encoder as the registry finds it: one value at the top of one module.

    The module is imported with all others whenever a configuration is made, so it imports no large library: `build`
    does.

    Parameters
    ----------
    build
        The encoder of these settings, a seed and a device ("cpu", "cuda").
    cost
        Of these settings for so many windows of so many frames.
    """

    build: Callable[[S, int, str], Encoder]
    cost: Callable[[S, int, int], EncoderCost]
