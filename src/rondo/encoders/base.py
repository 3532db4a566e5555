"""What every encoder is: `fit` on windows gives a *fitted* encoder, whose `encode` gives representations.

Two types, so that encoding before fitting cannot be written and settings cannot be overwritten by a fit. The file of an
encoder declares it by a `DeclaredEncoder` (`rondo.registry`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Tensors as Tensors
from rondo.config.settings import EncoderConfig
from rondo.data.windows import Windows
from rondo.errors import SettingError
from rondo.registry import ENCODERS
from rondo.registry import DeclaredEncoder as DeclaredEncoder
from rondo.wording import Progress, silent

Representations = NDArray[np.float32]
Curves = Mapping[str, Sequence[float]]
"""What training reached, step by step, by the name of what was measured."""


class FittedEncoder(Protocol):
    """A fitted encoder: it maps windows to representations.

    Equal windows have equal representations in every batch.

    Examples
    --------
    >>> from rondo.config.settings import resolve
    >>> from rondo.data.windows import WindowGrid, Windows
    >>> from rondo.encoders.base import build_encoder
    >>> signal = np.random.default_rng(0).normal(size=(500, 4)).astype(np.float32)
    >>> windows = Windows(signal, WindowGrid(50, 25, 500, ((0, 500),)))
    >>> fitted = build_encoder(resolve().encoder).fit([windows])
    >>> len(fitted.encode(windows)) == len(windows)
    True
    """

    @property
    def curves(self) -> Curves:
        """The training log by the name of what was measured; empty if nothing is trained."""

    def encode(self, windows: Windows) -> Representations:
        """Encode the windows of one signal.

        Parameters
        ----------
        windows : Windows
            The windows.

        Returns
        -------
        array of float32
            A representation for each window (n_windows, n_dims).
        """

    def tensors(self) -> Tensors:
        """Collect what was learned, for a model folder.

        Returns
        -------
        dict of str to array
            Arrays from which `Encoder.restore` makes it again.
        """


class Encoder(Protocol):
    """An encoder with its settings, before it is fitted; `build_encoder` returns one."""

    def fit(self, windows: Sequence[Windows], progress: Progress = silent) -> FittedEncoder:
        """Learn from windows.

        Parameters
        ----------
        windows : sequence of Windows
            The windows of each signal.
        progress : callable
            Called as progress(what, done, total).

        Returns
        -------
        FittedEncoder
            The fitted encoder.
        """

    def restore(self, tensors: Tensors) -> FittedEncoder:
        """Make a fitted encoder again.

        Parameters
        ----------
        tensors : mapping
            What `FittedEncoder.tensors` returned.

        Returns
        -------
        FittedEncoder
            The fitted encoder.
        """


class EncoderCost(NamedTuple):
    """What fitting and encoding cost beyond the rest of a run, about, on one core."""

    seconds: float | None  # None where it was never measured
    megabytes: float


def declared_encoder(name: str) -> DeclaredEncoder[Any]:
    """The declaration of an encoder; SettingError if there is no such encoder."""
    if name not in ENCODERS:
        raise SettingError(f"encoder.name = '{name}': no such encoder is declared; there are {', '.join(ENCODERS)}")
    return ENCODERS[name]


def build_encoder(config: EncoderConfig, seed: int = 0, device: str = "cpu") -> Encoder:
    """The encoder that settings name, not fitted yet; `seed` and `device` ("cpu" or "cuda") are for training."""
    encoder: Encoder = declared_encoder(config.name).build(config, seed, device)
    return encoder
