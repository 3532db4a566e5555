"""TS2Vec as a choice: its settings and its cost. What it does stands in `rondo.encoders.nets.ts2vec`."""

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


def _build(config: TS2VecConfig, seed: int, device: str) -> Encoder:
    from rondo.encoders.nets.ts2vec import TS2Vec  # brings torch, which takes seconds to import

    return TS2Vec(config, seed, device)


def _cost(config: TS2VecConfig, n_windows: int, length: int) -> EncoderCost:
    trained = config.iterations * min(config.batch_size, n_windows) * length
    seconds = _S_PER_TRAINED_FRAME * trained + _S_PER_READ_FRAME * n_windows * length
    return EncoderCost(seconds, _MB_PER_WINDOW_FRAME * length)


ENCODER = DeclaredEncoder(
    settings=TS2VecConfig,
    help="a network trained on the recordings, as in the paper",
    order=1,
    build=_build,
    cost=_cost,
    is_network=True,
)
