"""Whether recordings are read all at once or one after the other."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rondo.data.groups import GroupBy
from rondo.errors import RondoWarning, SettingError
from rondo.files.inputs import Reading, are_several, recording_files
from rondo.files.locations import is_url
from rondo.many.driver import ManyFiles, Where
from rondo.many.pool import ENGINES, engine_of
from rondo.memory import is_much, refuse_all_at_once
from rondo.run.findings import failed_sentence
from rondo.run.summary import RunSummary


@dataclass(frozen=True)
class Asked:
    """What a command or a call says about where recordings are read."""

    engine: str | None = None
    workers: int | None = None
    ray_address: str | None = None
    group_by: GroupBy = None

    def refuse_contradictions(self) -> None:
        """Say what cannot be before any file is looked at."""
        if self.engine is not None and self.engine not in ENGINES:
            engine_of(self.engine)  # says which one was probably meant
        if self.ray_address is not None and self.engine != "ray":
            raise SettingError("--ray-address names a cluster for --engine ray; give both, or neither")


def many_files(paths: Sequence[str | Path], asked: Asked, reading: Reading) -> ManyFiles:
    """The files that are named, with what their headers say.

    Recordings that a column tells apart have no group yet (`split_by`): nobody knows their ids before files are read.
    """
    asked.refuse_contradictions()
    where = Where(asked.engine or "local", asked.workers, asked.ray_address)
    rate, key, label_columns, split_by, session = reading
    files = recording_files(paths, rate=rate, key=key, label_columns=label_columns, session=session)
    return ManyFiles.of(files, where, asked.group_by if split_by is None else None)


def files_to_read(data: Any, out: str | Path | None, asked: Asked, why_not: str, reading: Reading) -> ManyFiles | None:
    """The files to be read one after the other; None where what was given is to be held in memory."""
    given = list(data) if are_several(data) else [data]
    if not given or not all(isinstance(one, str | Path) for one in given):
        if asked.engine is not None:
            raise SettingError("engine reads file by file; give paths, or leave it out")
        return None
    if out is None:
        if asked.engine is not None:
            raise SettingError("engine reads file by file, and writes labels as files are done; give out=")
        return None
    many = many_files(given, asked, reading)
    why_not = why_not or why_not_split(reading.split_by)
    return many if goes_file_by_file(many, asked, why_not) else None


def why_not_split(split_by: str | None) -> str:
    """Why files that hold several recordings are not read one after the other; "" where they hold one each."""
    return "" if split_by is None else "--split-by cuts files that are held in memory"


def warn_of_failed(summary: RunSummary) -> None:
    """What the command prints as a note is a warning in Python."""
    if summary.failed:
        warnings.warn(f"{failed_sentence(summary)}; result.summary.failed lists them", RondoWarning, stacklevel=3)


def goes_file_by_file(many: ManyFiles, asked: Asked, why_not: str = "") -> bool:
    """Whether to read one file after the other.

    `why_not`: why this cannot be done so; recordings that then do not fit into memory are refused before they are read.
    """
    if not why_not:
        wanted = asked.engine is not None or asked.workers is not None
        return wanted or is_url(many.files[0].url) or is_much(many.sizes)
    if asked.engine is not None:
        raise SettingError(f"--engine reads file by file, but {why_not}; leave it out")
    refuse_all_at_once(many.sizes, f"{why_not}: give fewer or shorter ones")
    return False
