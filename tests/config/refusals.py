"""Settings that must be refused, and what is said then."""

from __future__ import annotations

from typing import Any

import pytest

from rondo.config.settings import resolve
from rondo.errors import SettingError


def refusal(**arguments: Any) -> str:
    with pytest.raises(SettingError) as caught:
        resolve(**arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def refused(name: str, value: Any = 1) -> str:
    return refusal(overrides={name: value})
