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
    """What the file of the encoder says about it."""
    declared = ENCODERS.get(name)
    if not isinstance(declared, DeclaredEncoder):
        known = ", ".join(known for known, way in ENCODERS.items() if isinstance(way, DeclaredEncoder))
        raise SettingError(f"encoder.name = '{name}': no such encoder is declared; there are {known}")
    return declared


def build_encoder(config: EncoderConfig, seed: int = 0, device: str = "cpu") -> Encoder:
    """The encoder that a configuration names; `seed` and `device` are for those that are trained."""
    encoder: Encoder = declared_encoder(config.name).build(config, seed, device)
    return encoder
