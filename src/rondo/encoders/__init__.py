"""WINDOWS -> REPRESENTATIONS: encoders behind one interface, one file each; the networks of some are in `nets`."""

from __future__ import annotations

from typing import Any

from rondo.config.schema import EncoderConfig
from rondo.config.ways import ENCODERS
from rondo.encoders.base import Curves, DeclaredEncoder, Encoder, FittedEncoder, Representations, Tensors
from rondo.errors import SettingError

__all__ = [
    "Curves",
    "DeclaredEncoder",
    "Encoder",
    "FittedEncoder",
    "Representations",
    "Tensors",
    "build_encoder",
    "declared_encoder",
]


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
    >>> from rondo.config.schema import resolve
    >>> type(build_encoder(resolve().encoder)).__name__
    'SummaryStats'
    """
    encoder: Encoder = declared_encoder(config.name).build(config, seed, device)
    return encoder
