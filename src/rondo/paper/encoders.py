"""TS2Vec as a choice: its settings and its cost. What it does stands in `rondo.paper.ts2vec`."""

from __future__ import annotations

from typing import Literal

from rondo.config.ways import EncoderSettings, setting
from rondo.encoders.base import DeclaredEncoder, Encoder, EncoderCost

_S_PER_TRAINED_FRAME = 5e-5  # iterations x batch x window length, measured on one core
_S_PER_READ_FRAME = 1.8e-5
_MB_PER_WINDOW_FRAME = 5.5  # of a batch in training


class TS2VecConfig(EncoderSettings):
    """TS2Vec, trained per recording."""

    name: Literal["ts2vec"] = "ts2vec"
    output_dim: int = setting(128, "paper: app. TS2Vec", ge=1)
    batch_size: int = setting(64, "paper: app. TS2Vec", ge=2)
    iterations: int = setting(100, "paper: app. TS2Vec", ge=0)
    hidden_dim: int = setting(64, "paper: app. encoders, default of the official implementation", ge=1)
    depth: int = setting(10, "paper: app. encoders, default of the official implementation", ge=1)
    learning_rate: float = setting(1e-3, "paper: app. encoders, default of the official implementation", gt=0)
    fit_share: float = setting(
        1.0, "ours: share of the stream, from its start, that training may see; 1 = all", gt=0, le=1
    )


def _build_ts2vec(config: TS2VecConfig, seed: int, device: str) -> Encoder:
    from rondo.paper.ts2vec import TS2Vec  # brings torch, which takes seconds to import

    return TS2Vec(config, seed, device)


def _ts2vec_cost(config: TS2VecConfig, n_windows: int, length: int) -> EncoderCost:
    trained = config.iterations * min(config.batch_size, n_windows) * length
    seconds = _S_PER_TRAINED_FRAME * trained + _S_PER_READ_FRAME * n_windows * length
    return EncoderCost(seconds, _MB_PER_WINDOW_FRAME * length)


TS2VEC = DeclaredEncoder(
    settings=TS2VecConfig,
    help="a network trained on the recordings, as in the paper",
    order=1,
    build=_build_ts2vec,
    cost=_ts2vec_cost,
    is_network=True,
)


# ----------------------------------------------------------------
# Time-MAE as a choice: its settings and its cost. What it does stands in `rondo.paper.time_mae`.

_TIME_MAE_S_PER_TRAINED_FRAME = 2.9e-5  # epochs x windows x window length, measured on one core
_TIME_MAE_MB_PER_WINDOW_FRAME = 1.4  # of a batch in training


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


def _build_time_mae(config: TimeMAEConfig, seed: int, device: str) -> Encoder:
    from rondo.paper.time_mae import TimeMAE  # brings torch, which takes seconds to import

    return TimeMAE(config, seed, device)


def _time_mae_cost(config: TimeMAEConfig, n_windows: int, length: int) -> EncoderCost:
    seconds = _TIME_MAE_S_PER_TRAINED_FRAME * config.epochs * n_windows * length
    return EncoderCost(seconds, _TIME_MAE_MB_PER_WINDOW_FRAME * length)


TIME_MAE = DeclaredEncoder(
    settings=TimeMAEConfig,
    help="a masked autoencoder trained on the recordings",
    order=2,
    build=_build_time_mae,
    cost=_time_mae_cost,
    is_network=True,
)


# ----------------------------------------------------------------
# MantisV2 as a choice: its settings and its cost. What it does stands in `rondo.paper.mantis`.

_MANTIS_MB_PER_WINDOW_FRAME = 2.0


class MantisConfig(EncoderSettings):
    """MantisV2, pretrained and frozen."""

    name: Literal["mantis"] = "mantis"
    weights: str = setting(
        "", "ours: folder with config.json and model.safetensors of Hugging Face paris-noah/MantisV2; never downloaded"
    )
    input_frames: int = setting(512, "paper: app. MantisV2, windows resized linearly", ge=2)
    layer_index: int = setting(2, "paper: app. MantisV2, return_transf_layer=2", ge=0)


def _build_mantis(config: MantisConfig, seed: int, device: str) -> Encoder:
    from rondo.paper.mantis import Mantis  # brings torch, which takes seconds to import

    return Mantis(config, device)


def _mantis_cost(config: MantisConfig, n_windows: int, length: int) -> EncoderCost:
    return EncoderCost(None, _MANTIS_MB_PER_WINDOW_FRAME * length)


MANTIS = DeclaredEncoder(
    settings=MantisConfig,
    help="MantisV2, pretrained and frozen (needs its published weights)",
    order=3,
    build=_build_mantis,
    cost=_mantis_cost,
    is_network=True,
)
