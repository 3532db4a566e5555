"""Every contract of `tests/model_contracts.py` over Rondo in its presets and ablations, made small."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from rondo.errors import RondoWarning
from tests.model_contracts import RONDO_CONTRACTS, Contract, a_deep_copy_is_identical, saved_and_loaded_is_identical

MIXTURE = {"latent_dim": 2, "autoencoder_epochs": 1, "component_cap": 5}
ENCODERS: dict[str, dict[str, Any]] = {
    "summary_stats": {},
    "ts2vec": {"output_dim": 8, "hidden_dim": 8, "depth": 2, "iterations": 2},
    "time_mae": {"output_dim": 8, "encoder_layers": 1, "regressor_layers": 1, "epochs": 1},
}
UNITS: dict[str, dict[str, Any]] = {
    "slow": {},
    "unit_align": {
        "bottleneck_dim": 8, "output_dim": 4, "init_epochs": 1, "refine_epochs": 1, "max_rounds": 1, "mixture": MIXTURE
    },
    "direct": {"mixture": MIXTURE | {"kind": "deep_dpm"}},
}  # fmt: skip
MOTIFS: dict[str, dict[str, Any]] = {
    "composed": {},
    "motif_former": {"lengths": (2, 3), "model_dim": 8, "heads": 2, "epochs": 1, "mixture": MIXTURE},
    "none": {},
}


def small(encoder: str, units: str, motifs: str) -> dict[str, Any]:
    """Arguments of a model that is quick to fit; evidence has tests of its own."""
    settings = {
        "encoder": {"name": encoder, **ENCODERS[encoder]},
        "units": {"method": units, **UNITS[units]},
        "motifs": {"method": motifs, **MOTIFS[motifs]},
        "evidence": {"surrogates": 0},
    }
    return {"window": 60, "step": 20, "settings": settings, "seed": 3, "device": "cpu"}


MODELS = {
    "default": small("summary_stats", "slow", "composed"),
    "paper": small("ts2vec", "unit_align", "motif_former"),
    "without both": small("time_mae", "direct", "none"),
}
# every way of units with every way of motifs, the encoders in turn
WAYS = [(tuple(ENCODERS)[(i + i // 3) % 3], *ways) for i, ways in enumerate(product(UNITS, MOTIFS))]

pytestmark = pytest.mark.filterwarnings(f"ignore::{RondoWarning.__module__}.{RondoWarning.__name__}")  # one round


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("contract", RONDO_CONTRACTS, ids=lambda contract: contract.__name__)
def test_contract(name: str, contract: Contract, tmp_path: Path) -> None:
    contract(MODELS[name], tmp_path)  # asserts


@pytest.mark.parametrize("ways", WAYS, ids="-".join)
def test_kept_to_the_bit(ways: tuple[str, str, str], tmp_path: Path) -> None:
    saved_and_loaded_is_identical(small(*ways), tmp_path)  # asserts


def test_a_deep_copy(tmp_path: Path) -> None:
    a_deep_copy_is_identical(MODELS["default"], tmp_path)  # asserts
