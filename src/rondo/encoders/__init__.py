"""WINDOWS -> REPRESENTATIONS: encoders behind one interface."""

from __future__ import annotations

from rondo.config.schema import EncoderConfig, SummaryStatsConfig, TimeMAEConfig, TS2VecConfig
from rondo.encoders.base import Curves, Encoder, FittedEncoder, Representations, Tensors
from rondo.encoders.summary_stats import SummaryStats

__all__ = ["Curves", "Encoder", "FittedEncoder", "Representations", "Tensors", "build_encoder"]


def build_encoder(config: EncoderConfig, seed: int = 0, device: str = "cpu") -> Encoder:
    """The encoder that a configuration names; `seed` and `device` are for those that are trained."""
    if isinstance(config, SummaryStatsConfig):
        return SummaryStats(config)
    if isinstance(config, TS2VecConfig):
        from rondo.encoders.nets.ts2vec import TS2Vec  # brings torch, which takes seconds to import

        return TS2Vec(config, seed, device)
    if isinstance(config, TimeMAEConfig):
        from rondo.encoders.nets.time_mae import TimeMAE

        return TimeMAE(config, seed, device)
    from rondo.encoders.nets.mantis import Mantis

    return Mantis(config, device)
