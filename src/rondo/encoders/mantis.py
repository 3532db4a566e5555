"""MantisV2 as a choice: its settings and its cost. What it does stands in `rondo.encoders.nets.mantis`."""

from __future__ import annotations

from typing import Literal

from rondo.config.ways import EncoderSettings, setting
from rondo.encoders.base import DeclaredEncoder, Encoder, EncoderCost

_MB_PER_WINDOW_FRAME = 2.0


class MantisConfig(EncoderSettings):
    """MantisV2, pretrained and frozen."""

    name: Literal["mantis"] = "mantis"
    weights: str = setting(
        "", "ours: folder with config.json and model.safetensors of Hugging Face paris-noah/MantisV2; never downloaded"
    )
    input_frames: int = setting(512, "paper: app. MantisV2, windows resized linearly", ge=2)
    layer_index: int = setting(2, "paper: app. MantisV2, return_transf_layer=2", ge=0)


def _build(config: MantisConfig, seed: int, device: str) -> Encoder:
    from rondo.encoders.nets.mantis import Mantis  # brings torch, which takes seconds to import

    return Mantis(config, device)


def _cost(config: MantisConfig, n_windows: int, length: int) -> EncoderCost:
    return EncoderCost(None, _MB_PER_WINDOW_FRAME * length)


ENCODER = DeclaredEncoder(
    settings=MantisConfig,
    help="MantisV2, pretrained and frozen (needs its published weights)",
    order=3,
    build=_build,
    cost=_cost,
    is_network=True,
)
