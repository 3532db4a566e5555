"""Whether recordings are read all at once or one after the other, and what that will take."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rondo.data.groups import GroupBy
from rondo.data.survey import MOST_VALUES
from rondo.errors import RondoWarning, SettingError
from rondo.files.inputs import are_several, recording_files
from rondo.files.reading import Reading
from rondo.many.driver import ENGINES, ManyFiles, Where, engine_of
from rondo.many.pool import n_cores
from rondo.memory import PROCESS_BYTES, free_bytes, in_gigabytes, is_much, needed, refuse_all_at_once
from rondo.run.findings import failed_sentence
from rondo.run.summary import RunSummary
from rondo.store.locations import is_url
from rondo.wording import counted, estimate_in_words

_FILE_S = 0.006  # of a file, whatever its size, on one core: opened, labelled, written
_SURVEY_S_PER_VALUE = 2.0e-8
_LABEL_S_PER_VALUE = 2.8e-7
_FIT_BYTES_PER_VALUE = 36  # 18 of values, as many of windows (`rondo.cost`)
_FIT_S, _FIT_S_PER_VALUE = 3.0, 2.0e-6  # of values that are learned from


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
    group_by = asked.group_by if reading.split_by is None else None
    return ManyFiles.of(recording_files(paths, reading), where, group_by)


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


def expected_in_words(many: ManyFiles, file_by_file: bool, *, learns: bool) -> list[str]:
    """What a run will read and take, a line each; right within a factor of two or so."""
    n_bytes, n_files = sum(size.n_bytes for size in many.sizes), len(many.files)
    frames = [size.n_frames for size in many.sizes if size.n_frames is not None]
    known = f"{sum(frames):,} frames" if len(frames) == n_files else f"{sum(frames):,} frames in {len(frames)} of them"
    lines = [f"{counted(n_files, 'file')}, {in_gigabytes(n_bytes)} in memory, {known}"]
    workers = (many.where.workers or n_cores()) if file_by_file and many.where.engine != "serial" else 1
    values = n_bytes / 4
    learned = min(values, MOST_VALUES) if learns else 0
    seconds = (_FILE_S * n_files + (_SURVEY_S_PER_VALUE * learns + _LABEL_S_PER_VALUE) * values) / workers
    seconds += _FIT_S + _FIT_S_PER_VALUE * learned
    largest = max(map(needed, many.sizes))
    memory = PROCESS_BYTES + (int(_FIT_BYTES_PER_VALUE * learned) if file_by_file else sum(map(needed, many.sizes)))
    if file_by_file:
        memory = max(memory, PROCESS_BYTES + workers * (PROCESS_BYTES + largest))
    how = f"file by file, {counted(workers, 'file')} at a time" if file_by_file else "all in memory"
    lines.append(f"{how}: about {estimate_in_words(seconds)} and {in_gigabytes(memory)} of memory")
    free = free_bytes()
    return lines if free is None else [*lines, f"{in_gigabytes(free)} of memory are free"]
