"""The names that people gave to entries of a stream: what it knew when it ended, and what was given to it since."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rondo.store.reading import read_regular
from rondo.vocabulary.edit_file import read_edits
from rondo.vocabulary.vocabulary import Level

if TYPE_CHECKING:
    import polars as pl

LEVELS: tuple[Level, ...] = ("unit", "motif")
Names = Mapping[Level, Mapping[int, str]]


def stream_names(run_dir: Path) -> Names:
    """By level and id. Names beside the model are known from summary.json, so not before the stream has ended."""
    since = read_edits(run_dir / "checkpoint")
    found: dict[Level, dict[int, str]] = {}
    for level in LEVELS:
        taken = {id for edit in since.history if edit.kind == "name" and edit.level == level for id in edit.ids}
        at_the_end = {id: name for id, name in _at_the_end(run_dir, level).items() if id not in taken}
        found[level] = at_the_end | since.names(level)
    return found


def with_names(segments: pl.DataFrame, names: Names) -> pl.DataFrame:
    """The same segments with these names in the column `name`; null where there is none."""
    import polars as pl

    rows = [(level, id, name) for level, own in names.items() for id, name in own.items()]
    given = pl.DataFrame(rows, schema={"level": pl.String, "id": pl.Int64, "name": pl.String}, orient="row")
    return segments.drop("name").join(given, on=["level", "id"], how="left", maintain_order="left")


def _at_the_end(run_dir: Path, level: Level) -> dict[int, str]:
    try:
        names = json.loads(read_regular(run_dir / "summary.json")).get("names", {}).get(level, {})
        return {int(id): str(name) for id, name in names.items()}
    except (OSError, ValueError, AttributeError):  # not there yet; or damaged, which who reads all of it will tell
        return {}
