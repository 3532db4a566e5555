"""What stands first on the page: the entries of each level by their share of the time, how often and how long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST_NAMED = 16
"""Entries of a level with words; the bar shows all, and the vocabulary tells the rest."""


def glance(summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A heading and its rows, the largest share first, for each level that has something of its own to say.

    Nothing where every recording has a vocabulary of its own, and nothing for two runs side by side.
    """
    if summary.get("agreement"):
        return []
    levels = {"unit": "Units"} if summary["motifs_are_units"] else {"unit": "Units", "motif": "Motifs"}
    rows = {heading: summary["entries"][level] for level, heading in levels.items()}
    return [
        {"heading": heading, "entries": sorted(found, key=lambda row: -row["part"])}
        for heading, found in rows.items()
        if found and not found[0]["recording"]
    ]


def leaves_room(parts: list[dict[str, Any]]) -> bool:
    """Whether the entries of a level leave some of the time to OTHER."""
    return any(sum(row["part"] for row in part["entries"]) < 0.9995 for part in parts)
