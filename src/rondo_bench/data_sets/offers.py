"""Where each data set can be had and under which licence: `offers.toml` beside this file, as values."""

from __future__ import annotations

import json
import tomllib
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from rondo.errors import SettingError
from rondo_bench.data_sets.http import Remote, read_small


@dataclass(frozen=True)
class Offer:
    """How one data set can be had; `files` maps a name under `base` to its checksum ("" where none is published)."""

    name: str
    page: str
    licence: str
    base: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    keep: tuple[str, ...] = ("*",)
    zenodo: Mapping[str, str] = field(default_factory=dict)
    by_hand: str = ""

    def remotes(self) -> list[Remote]:
        """What to fetch; a Zenodo record is asked for its files, whose addresses and checksums it knows."""
        if self.zenodo:
            return _files_of_record(self.zenodo["address"], self.zenodo["match"])
        quoted = {name: self.base + urllib.parse.quote(name, safe="/+") for name in self.files}
        return [Remote(quoted[name], name, checksum) for name, checksum in self.files.items()]


@cache
def offers() -> dict[str, Offer]:
    """All of them, by the name of the data set."""
    tables = tomllib.loads(Path(__file__).with_name("offers.toml").read_text(encoding="utf-8"))
    return {name: Offer(name, **(table | {"keep": tuple(table.get("keep", ("*",)))})) for name, table in tables.items()}


def _files_of_record(address: str, match: str) -> list[Remote]:
    try:
        files = json.loads(read_small(address))["files"]
        found = [
            Remote(file["links"]["self"], file["key"], file.get("checksum", ""))
            for file in files
            if match in file["key"].lower()
        ]
    except (ValueError, KeyError, TypeError):
        raise SettingError(f"{address}: the answer is no list of files; get the files by hand from the page") from None
    if not found:
        names = ", ".join(str(file.get("key")) for file in files)
        raise SettingError(f"{address}: no file there is called like '{match}', only {names}; get them by hand")
    return found
