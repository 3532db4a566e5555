"""Time-MAE as a choice: its settings and its cost. What it does stands in `rondo.encoders.nets.time_mae`."""

from __future__ import annotations

from typing import Literal

from rondo.config.ways import EncoderSettings, setting
from rondo.encoders.base import DeclaredEncoder, Encoder, EncoderCost

_S_PER_TRAINED_FRAME = 2.9e-5  # epochs x windows x window length, measured on one core
_MB_PER_WINDOW_FRAME = 1.4  # of a batch in training


class TimeMAEConfig(EncoderSettings):
    """Time-MAE, trained per recording."""

    name: Literal["time_mae"] = "time_mae"
    output_dim: int = setting(64, "paper: app. Time-MAE; four heads share it", ge=1, multiple_of=4)
    patch_frames: int = setting(2, "paper: app. Time-MAE", ge=1)
    encoder_layers: int = setting(4, "paper: app. Time-MAE", ge=1)
    regressor_layers: int = setting(2, "paper: app. Time-MAE", ge=1)
    dropout: float = setting(0.1, "paper: app. Time-MAE", ge=0, lt=1)
    batch_size: int = setting(64, "paper: app. Time-MAE", ge=2)
    epochs: int = setting(10, "paper: app. Time-MAE", ge=0)
    learning_rate: float = setting(1e-3, "paper: app. encoders, default of the official implementation", gt=0)
    fit_share: float = setting(
        1.0, "ours: share of the stream, from its start, that training may see; 1 = all", gt=0, le=1
    )


def _build(config: TimeMAEConfig, seed: int, device: str) -> Encoder:
    from rondo.encoders.nets.time_mae import TimeMAE  # brings torch, which takes seconds to import

    return TimeMAE(config, seed, device)


def _cost(config: TimeMAEConfig, n_windows: int, length: int) -> EncoderCost:
    seconds = _S_PER_TRAINED_FRAME * config.epochs * n_windows * length
    return EncoderCost(seconds, _MB_PER_WINDOW_FRAME * length)


ENCODER = DeclaredEncoder(
    settings=TimeMAEConfig,
    help="a masked autoencoder trained on the recordings",
    order=2,
    build=_build,
    cost=_cost,
    is_network=True,
)
