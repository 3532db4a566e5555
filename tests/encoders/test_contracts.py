from __future__ import annotations

import pytest

from rondo.config import EncoderConfig, MantisConfig, SummaryStatsConfig, TimeMAEConfig, TS2VecConfig
from rondo.encoders import build_encoder
from rondo.errors import SettingError
from tests.contracts import ENCODER_CONTRACTS, Contract

TINY = TS2VecConfig(output_dim=8, hidden_dim=8, depth=3, iterations=2)
BUILT: tuple[EncoderConfig, ...] = (SummaryStatsConfig(), TINY)
NOT_YET: tuple[EncoderConfig, ...] = (TimeMAEConfig(), MantisConfig())


@pytest.mark.parametrize("config", BUILT, ids=lambda config: config.name)
@pytest.mark.parametrize("contract", ENCODER_CONTRACTS, ids=lambda contract: contract.__name__)
def test_contract(config: EncoderConfig, contract: Contract) -> None:
    encoder = build_encoder(config)
    contract(encoder)  # asserts
    assert encoder == build_encoder(config)  # fitting and encoding left the settings alone


@pytest.mark.parametrize("config", NOT_YET, ids=lambda config: config.name)
def test_an_encoder_that_is_not_there_is_refused_by_name(config: EncoderConfig) -> None:
    with pytest.raises(SettingError, match=rf"encoder\.name = '{config.name}' .* 'summary_stats'"):
        build_encoder(config)
