"""What every encoder is: `fit` on windows gives a *fitted* encoder, whose `encode` gives representations.

Two types, so that encoding before fitting cannot be written and settings cannot be overwritten by a fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rondo.data.windows import Windows
from rondo.progress import Progress, silent
from rondo.tensors import Tensors as Tensors

Representations = NDArray[np.float32]
Curves = Mapping[str, Sequence[float]]
"""What training reached, step by step, by the name of what was measured."""


class FittedEncoder(Protocol):
    """Maps windows to representations; equal windows get equal representations, whatever the batch."""

    @property
    def saw_whole_stream(self) -> bool:
        """True if fitting looked at the whole recordings, so that continual results would leak the future."""

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
