"""The one writer of run folders: for recordings in memory, for many files, for streams, and after edits.

`rondo.run.folder` describes the files and reads them.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rondo.run.data import RunData
from rondo.run.labelling import Labelling
from rondo.run.overview import FrameScores, Overview, stored_overview, stored_scores
from rondo.run.segments import in_one_table
from rondo.run.summary import SUMMARY, RunSummary
from rondo.store.csv_text import csv_of_rows, csv_of_table, plain_table
from rondo.store.folder import PartFolder, clear_drafts, whole_file, write_json, write_text
from rondo.store.reading import UNREADABLE, map_array

if TYPE_CHECKING:
    import polars as pl

FOUND, TRUTH, TRAINING, FAILED, PAGE = "found.parquet", "truth.parquet", "training.csv", "failed.csv", "report.html"
_TRACKS = {"labels": "motif", "units": "unit"}
ENTRIES = "entries.csv"
ENTRY_COLUMNS = (
    "level", "id", "name", "description", "n_occurrences", "share", "median_duration_frames", "median_duration_s",
    "recurs", "kind", "composition",
)  # fmt: skip


def recording_files(
    id: str, overview: Overview, scores: FrameScores | None, labelling: Labelling | None
) -> dict[str, bytes]:
    """The files of one recording by their names in the folder."""
    files = {} if labelling is None else _label_files(labelling)
    files[f"overview/{id}.npz"] = stored_overview(overview)
    if scores is not None and scores.tell_something:
        files[f"scores/{id}.npz"] = stored_scores(scores)
    return files


def _label_files(labelling: Labelling) -> dict[str, bytes]:
    tracks = {"labels": labelling.motifs, "units": labelling.units}
    return {f"{name}/{labelling.recording_id}.npy": array_bytes(track) for name, track in tracks.items()}


def array_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """An array as the content of an .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


class RunWriter:
    """A run folder that grows; `summary.json` comes last."""

    def __init__(self, folder: Path) -> None:
        self.folder = PartFolder(folder)

    def add(
        self, id: str, overview: Overview, scores: FrameScores | None = None, labelling: Labelling | None = None
    ) -> None:
        """Write the files of one recording; the labels of a stream grow elsewhere."""
        self.folder.write_together(recording_files(id, overview, scores, labelling))

    def close(
        self,
        summary: RunSummary,
        tables: Mapping[str, pl.DataFrame | pl.LazyFrame],
        draw: Callable[[Path], object] | None = None,
    ) -> None:
        """Write the tables and what else there is, draw the page, and write summary.json."""
        self.write_tables(tables)
        if summary.failed:
            rows = ((one.file, one.why) for one in summary.failed)
            write_text(self.folder.path / FAILED, csv_of_rows(("file", "why"), rows))
        write_text(self.folder.path / ENTRIES, csv_of_rows(ENTRY_COLUMNS, _entry_rows(summary)))
        if draw is not None:
            draw(self.folder.path / PAGE)
        write_json(self.folder.path / SUMMARY, summary.as_json())

    def write_tables(self, tables: Mapping[str, pl.DataFrame | pl.LazyFrame]) -> None:
        """Write the tables that there are."""
        if "unshown_segments" in tables:
            both: Any = [tables[name] for name in ("segments", "unshown_segments")]
            tables = {**tables, "segments": in_one_table(*both)}
        for name in ("segments", "found", "truth", "training"):
            if name in tables:
                self._write_table(name, tables[name])
        for suffix in ("csv", "parquet"):  # version 0.2.0 wrote them apart
            (self.folder.path / f"unshown_segments.{suffix}").unlink(missing_ok=True)

    def _write_table(self, name: str, table: pl.DataFrame | pl.LazyFrame) -> None:
        import polars as pl

        if name != "training":
            with whole_file(self.folder.path / f"{name}.parquet") as file, _polars_os_errors():
                table.sink_parquet(file) if isinstance(table, pl.LazyFrame) else table.write_parquet(file)
        if name not in ("found", "truth"):
            with whole_file(self.folder.path / f"{name}.csv") as file, _polars_os_errors():
                if isinstance(table, pl.LazyFrame):
                    plain_table(table).sink_csv(file)
                else:
                    file.write(csv_of_table(table).encode())

    def show(self, run: RunData) -> None:
        """Bring the folder up to date with the edits of a run; what was found is stored first."""
        for name in _TRACKS:  # drafts that a killed process has left
            clear_drafts(self.folder.path / name / "any")
        if not (self.folder.path / FOUND).exists() and (found := found_table(run)) is not None:
            self._write_table("found", found)
        for labelling in run.labellings.values():
            if not self._holds(labelling):  # of many recordings an edit concerns few
                self.folder.write_together(_label_files(labelling))
        self.close(run.summary, {name: run.tables[name] for name in ("segments", "unshown_segments")})

    def _holds(self, labelling: Labelling) -> bool:
        """Whether the folder has these very labels."""
        try:
            labels, units = (map_array(self.folder.path / name / f"{labelling.recording_id}.npy") for name in _TRACKS)
        except UNREADABLE:
            return False
        return np.array_equal(labels, labelling.motifs) and np.array_equal(units, labelling.units)


def _entry_rows(summary: RunSummary) -> Iterator[list[Any]]:
    """One row for each unit and motif, in the order of `ENTRY_COLUMNS`."""
    for level, entries in (("unit", summary.units), ("motif", summary.motifs)):
        for entry in entries:
            about = vars(entry) | {"level": level, "recurs": "" if entry.evidence is None else entry.evidence.verdict}
            yield [about[name] for name in ENTRY_COLUMNS]


@contextmanager
def _polars_os_errors() -> Iterator[None]:
    """What the system refuses to polars is an OSError, as it is elsewhere."""
    from polars.exceptions import PolarsError

    try:
        yield
    except PolarsError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from error


def found_table(run: RunData) -> pl.DataFrame | None:
    """Segments before people merged entries or changed frames; None if nobody has, and for a stream."""
    import polars as pl

    if run.summary.kind == "stream" or not (run.edits.has_merges or run.edits.touched):  # it keeps its decisions
        return None
    return pl.concat([labelling.table for labelling in run.found.values()])
