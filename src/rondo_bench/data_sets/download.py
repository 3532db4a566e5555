"""Bring a data set to its folder: fetch what its offer names, unpack it, and note what was done.

The note (`downloaded.json`) makes a second run skip what is complete; archives are taken away once unpacked.
"""

from __future__ import annotations

import json
from pathlib import Path

from rondo.errors import RecordingError, SettingError
from rondo.progress import Progress, silent
from rondo.store.writing import write_json
from rondo_bench.data_sets.http import fetch
from rondo_bench.data_sets.offers import Offer
from rondo_bench.data_sets.unpack import unpack

NOTE = "downloaded.json"


def download(offer: Offer, folder: Path, progress: Progress = silent) -> int:
    """All files of an offer under `folder`; how many were fetched now."""
    if offer.by_hand:
        raise SettingError(f"{offer.name} is fetched by hand: {offer.by_hand} into {folder} (page: {offer.page})")
    done = _note(folder)
    fetched = 0
    for remote in offer.remotes():
        if done.get(remote.name) == remote.address:
            continue
        target = folder / remote.name
        if not target.resolve().is_relative_to(folder.resolve()):
            raise SettingError(f"{remote.address}: its name '{remote.name}' would lead outside {folder}")
        if not target.is_file():  # a name is only given to what is complete: an archive waits to be unpacked
            fetch(remote, target, progress)
        if target.suffix.lower() == ".zip":
            _unpack(target, folder, offer.keep, progress)
        done[remote.name] = remote.address
        _write_note(folder, done)
        fetched += 1
    return fetched


def _unpack(archive: Path, folder: Path, keep: tuple[str, ...], progress: Progress) -> None:
    """What is damaged is taken away, so that the next run fetches it anew; for want of room it stays."""
    try:
        n_files = unpack(archive, folder, keep, progress)
    except RecordingError:
        archive.unlink(missing_ok=True)
        raise
    archive.unlink()
    if not n_files:
        raise RecordingError(f"{archive.name}: no file in it is called like {', '.join(keep)}; the archive has changed")


def _note(folder: Path) -> dict[str, str]:
    try:
        return dict(json.loads((folder / NOTE).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def _write_note(folder: Path, done: dict[str, str]) -> None:
    write_json(folder / NOTE, done, "check the disk, then run it again")
