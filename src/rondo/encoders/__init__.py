"""WINDOWS -> REPRESENTATIONS: encoders behind one interface."""

from __future__ import annotations

from rondo.config import EncoderConfig, SummaryStatsConfig
from rondo.encoders.base import Encoder, FittedEncoder, Representations, Tensors
from rondo.encoders.summary_stats import SummaryStats
from rondo.errors import SettingError

__all__ = ["Encoder", "FittedEncoder", "Representations", "Tensors", "build_encoder"]


def build_encoder(config: EncoderConfig) -> Encoder:
    """The encoder that a configuration names."""
    if isinstance(config, SummaryStatsConfig):
        return SummaryStats(config)
    raise SettingError(
        f"encoder.name = '{config.name}' is not in this version of Rondo; use encoder.name = 'summary_stats'"
    )
