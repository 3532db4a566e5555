"""WINDOWS -> REPRESENTATIONS: encoders behind one interface."""

from __future__ import annotations

from rondo.config import EncoderConfig, SummaryStatsConfig, TS2VecConfig
from rondo.encoders.base import Encoder, FittedEncoder, Representations, Tensors
from rondo.encoders.summary_stats import SummaryStats
from rondo.errors import SettingError

__all__ = ["Encoder", "FittedEncoder", "Representations", "Tensors", "build_encoder"]


def build_encoder(config: EncoderConfig, seed: int = 0, device: str = "cpu") -> Encoder:
    """The encoder that a configuration names; `seed` and `device` are for those that are trained."""
    if isinstance(config, SummaryStatsConfig):
        return SummaryStats(config)
    if isinstance(config, TS2VecConfig):
        from rondo.encoders.ts2vec import TS2Vec  # brings torch, which takes seconds to import

        return TS2Vec(config, seed, device)
    raise SettingError(
        f"encoder.name = '{config.name}' is not in this version of Rondo; "
        "use encoder.name = 'summary_stats' or 'ts2vec'"
    )
