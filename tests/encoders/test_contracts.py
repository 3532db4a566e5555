from __future__ import annotations

import pytest

from rondo.config.schema import EncoderConfig, SummaryStatsConfig, TimeMAEConfig, TS2VecConfig
from rondo.encoders import build_encoder
from tests.contracts import ENCODER_CONTRACTS, Contract

TINY = TS2VecConfig(output_dim=8, hidden_dim=8, depth=3, iterations=2)
TINY_MAE = TimeMAEConfig(output_dim=8, encoder_layers=1, regressor_layers=1, epochs=1)
BUILT: tuple[EncoderConfig, ...] = (SummaryStatsConfig(), TINY, TINY_MAE)


@pytest.mark.parametrize("config", BUILT, ids=lambda config: config.name)
@pytest.mark.parametrize("contract", ENCODER_CONTRACTS, ids=lambda contract: contract.__name__)
def test_contract(config: EncoderConfig, contract: Contract) -> None:
    encoder = build_encoder(config)
    contract(encoder)  # asserts
    assert encoder == build_encoder(config)  # fitting and encoding left the settings alone
