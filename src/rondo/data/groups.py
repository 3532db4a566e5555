"""Groups of recordings: those of one person, machine or day."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rondo.errors import SettingError


def groups_of(ids: Sequence[str], by: str | None) -> dict[str, str]:
    """The group of each recording: what a regular expression finds in its id; without one, each is its own."""
    if by is None:
        return {id: id for id in ids}
    found = {id: re.search(by, id) for id in ids}
    lost = next((id for id, match in found.items() if match is None), None)
    if lost is not None:
        raise SettingError(
            f"--group-by '{by}' finds nothing in the recording '{lost}'; give a pattern that all ids hold"
        )
    return {id: match[0] for id, match in found.items() if match is not None}
