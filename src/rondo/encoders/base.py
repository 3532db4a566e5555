"""What every encoder is: `fit` on windows gives a *fitted* encoder, whose `encode` gives representations.

Two types, so that encoding before fitting cannot be written and settings cannot be overwritten by a fit. A third,
`DeclaredEncoder`, is what the file of an encoder says about it to everyone else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Tensors as Tensors
from rondo.config.settings import EncoderConfig
from rondo.config.ways import ENCODERS, EncoderSettings, Way
from rondo.data.windows import Windows
from rondo.errors import SettingError
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
    >>> from rondo.encoders import build_encoder
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
    """An encoder with its settings, before it is fitted; `build_encoder` returns one.

    Examples
    --------
    >>> from rondo.config.settings import resolve
    >>> from rondo.encoders import build_encoder
    >>> type(build_encoder(resolve().encoder)).__name__
    'SummaryStats'
    """

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


S = TypeVar("S", bound=EncoderSettings)


@dataclass(frozen=True, kw_only=True)
class DeclaredEncoder(Way, Generic[S]):
    """The declaration of an encoder: one value at the top of one module.

    The module is imported whenever a configuration is made. A large library belongs into `build`.

    Parameters
    ----------
    settings : type
        The class of its settings; the default of their `name` is the name of the encoder.
    help : str
        A few words, for people who choose.
    order : int
        Its place in lists.
    is_network : bool
        Whether it needs torch (extra `nets`) and can use a GPU.
    build : callable
        Makes the encoder from settings, a seed and a device ("cpu", "cuda").
    cost : callable
        Estimates the cost from settings, the number of windows and their length in frames.

    Examples
    --------
    >>> from rondo.encoders import declared_encoder
    >>> declared_encoder("ts2vec").is_network
    True
    """

    build: Callable[[S, int, str], Encoder]
    cost: Callable[[S, int, int], EncoderCost]


# ----------------------------------------------------------------
# WINDOWS -> REPRESENTATIONS: encoders behind one interface, one file each; the networks of some are in `nets`.


def declared_encoder(name: str) -> DeclaredEncoder[Any]:
    """Find the declaration of an encoder.

    Parameters
    ----------
    name : str
        The encoder.

    Returns
    -------
    DeclaredEncoder
        Its declaration.

    Raises
    ------
    SettingError
        If there is no such encoder.

    Examples
    --------
    >>> declared_encoder("summary_stats").is_network
    False
    """
    declared = ENCODERS.get(name)
    if not isinstance(declared, DeclaredEncoder):
        known = ", ".join(known for known, way in ENCODERS.items() if isinstance(way, DeclaredEncoder))
        raise SettingError(f"encoder.name = '{name}': no such encoder is declared; there are {known}")
    return declared


def build_encoder(config: EncoderConfig, seed: int = 0, device: str = "cpu") -> Encoder:
    """Make the encoder that settings name.

    Parameters
    ----------
    config : EncoderConfig
        The settings of the encoder.
    seed : int
        Seed of its training, if it is trained.
    device : str
        Where a network runs: "cpu" or "cuda".

    Returns
    -------
    Encoder
        The encoder, not fitted yet.

    Raises
    ------
    SettingError
        If there is no such encoder.

    Examples
    --------
    >>> from rondo.config.settings import resolve
    >>> type(build_encoder(resolve().encoder)).__name__
    'SummaryStats'
    """
    encoder: Encoder = declared_encoder(config.name).build(config, seed, device)
    return encoder
