"""Quantities in addresses: times such as 60s or 7d, sizes such as 500MB or 1GiB."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from rondo.errors import SettingError

_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_SECONDS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}
_BYTES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def seconds_in(text: str, option: str) -> float:
    """
    >>> seconds_in("60s", "patience"), seconds_in("5min", "patience"), seconds_in("2", "patience")
    (60.0, 300.0, 2.0)
    """
    return _amount(text, _SECONDS, "s", f"{option}={text}: expected a time such as 60s, 5min, 2h or 7d")


def bytes_in(text: str, option: str) -> int:
    """
    >>> bytes_in("1GiB", "inbox"), bytes_in("500MB", "inbox")
    (1073741824, 500000000)
    """
    return int(_amount(text, _BYTES, "B", f"{option}={text}: expected a size such as 500MB or 1GiB"))


def _amount(text: str, units: Mapping[str, float], bare: str, expected: str) -> float:
    found = _NUMBER.fullmatch(text.strip())
    size = units.get(found[2] or bare) if found else None
    if found is None or size is None or not 0 < float(found[1]) * size < math.inf:
        raise SettingError(f"{expected}; correct the address")
    return float(found[1]) * size
