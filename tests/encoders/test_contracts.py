"""The contracts of encoders, over every encoder that the registry finds.

Settings with which an encoder is quick come from `small_settings` in its own test file; without it, its defaults.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from rondo.checks.encoders import ENCODER_CHECKS, Check
from rondo.encoders.base import build_encoder
from rondo.registry import ENCODERS, EncoderSettings


def settings_of(name: str, *arguments: object) -> EncoderSettings:
    (file,) = Path(__file__).parent.rglob(f"test_{name}.py")
    place = file.relative_to(Path(__file__).parents[2]).with_suffix("")
    of_test = importlib.import_module(".".join(place.parts))
    small: Callable[..., EncoderSettings] | None = getattr(of_test, "small_settings", None)
    return ENCODERS[name].settings() if small is None else small(*arguments)


@pytest.mark.promise
@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("contract", ENCODER_CHECKS, ids=lambda contract: contract.__name__)
def test_contract(name: str, contract: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = settings_of(name, tmp_path, monkeypatch)
    encoder = build_encoder(config)
    contract(encoder)  # asserts
    assert encoder == build_encoder(config)  # fitting and encoding left the settings alone


@pytest.mark.parametrize("name", ENCODERS)
def test_a_declaration_says_what_choosing_needs(name: str) -> None:
    way = ENCODERS[name]
    assert way.name == name == way.settings().name
    assert 10 < len(way.help) < 80
    assert way.settings.__doc__
