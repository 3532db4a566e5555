"""Ids of recordings are names of files in a run folder, so that one from someone else must not lead outside."""

from __future__ import annotations

from pathlib import Path


def checked_id(id: str) -> str:
    """The id, if it is one name for a file here; ValueError where it is a path, or nothing.

    >>> checked_id("day 1.left")
    'day 1.left'
    >>> checked_id("../../x")
    Traceback (most recent call last):
    ValueError: the id '../../x' is no name for a file
    """
    if not id or id in (".", "..") or "\0" in id or Path(id).name != id:
        raise ValueError(f"the id '{id[:80]}' is no name for a file")
    return id
