"""The published numbers of the RONDO paper, as they stand in its tables: percent, SegRatio a ratio.

>>> published("main", "MoCap", "TICC")["mof"]
86.61
>>> published("main", "MoCap", "no such method")
{}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

_FILE = "paper_numbers.json"


@cache
def _tables() -> Mapping[str, Any]:
    read: Mapping[str, Any] = json.loads(
        resources.files("rondo_bench.experiments").joinpath(_FILE).read_text(encoding="utf-8")
    )
    return read


def published(table: str, data_set: str, row: str) -> Mapping[str, float]:
    """One row of one published table by the paper's own names; empty where there is none.

    `mof recall f1_50 edit seg_ratio`, each with `_std` where a deviation is given; in the table `continual` also
    `h_40 … h_100` and `forgetting`.
    """
    own: Mapping[str, float] = _tables().get(table, {}).get(data_set, {}).get(row, {})
    return own
