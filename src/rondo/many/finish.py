"""Parts -> the rest of the run folder: tables, summary, report. One part is in memory at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rondo.errors import RecordingError
from rondo.many.tasks import LABELS, TABLES, FileBatch, LabelPart
from rondo.many.unfinished import close_run
from rondo.model.describe import fit_notes, fit_profile, run_fields, words_of
from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.run.labelling import curve_table
from rondo.run.overview import MOST_DRAWN
from rondo.run.summary import SUMMARY, FailedFile, RecordingSummary, RunKind, RunSummary
from rondo.run.tally import RunTally, profile_summary
from rondo.run.writer import RunWriter
from rondo.store.folder import LocalFolder, PartFolder, put_files, seen_here

if TYPE_CHECKING:
    import polars as pl


def finish_run(
    folder: PartFolder, model: Rondo, kind: RunKind, failed: Sequence[FailedFile], n_files: int
) -> RunSummary:
    """Write what is about all recordings, summary.json last, and take the parts away."""
    batches = sorted(map(FileBatch.named, folder.names(LABELS)))
    parts = [LabelPart.read(folder, batch) for batch in batches]
    every = [*failed, *(one for part in parts for one in part.failed)]
    recordings = [one.about for part in parts for one in part.recordings]
    if not recordings:
        first = every[0]
        raise RecordingError(f"all {n_files} files failed; the first, {first.file}: {first.why}")
    with seen_here(folder, *TABLES.values(), *_drawn(recordings)) as here:
        known = set() if isinstance(folder, LocalFolder) else LocalFolder(here).names()
        summary = _summary(here, batches, parts, model, kind).model_copy(update={"failed": tuple(every)})
        RunWriter(here).close(
            summary, _tables(here, batches, summary, model), lambda page: Result.of_folder(here, summary).report(page)
        )
        put_files(folder, here, last=SUMMARY, known=known)
    close_run(folder)
    return summary


def _drawn(recordings: Sequence[RecordingSummary]) -> list[str]:
    """What the page needs of a folder that is elsewhere."""
    ids = [one.id for one in recordings[:MOST_DRAWN]]
    return ["model", *(f"{kind}/{id}.npz" for kind in ("overview", "scores") for id in ids)]


def _summary(
    here: Path, batches: Sequence[FileBatch], parts: Sequence[LabelPart], model: Rondo, kind: RunKind
) -> RunSummary:
    import polars as pl

    tally, is_foreign = RunTally(), kind == "label"
    for batch, part in zip(batches, parts, strict=True):
        paths = [here / TABLES[name] / f"{batch.name}.parquet" for name in ("segments", "unshown_segments")]
        tables = [pl.read_parquet(path, glob=False) if path.exists() else None for path in paths]
        tally.add(part.recordings, *tables)
    fitted = profile_summary(fit_profile(model)) if is_foreign else None
    summary = tally.summary(words_of(model), kind=kind, fitted=fitted, **run_fields(model, is_foreign))
    first, *others = summary.recordings
    notes = () if is_foreign else fit_notes(model, [one.n_frames for one in summary.recordings])
    first = first.model_copy(update={"notes": (*first.notes, *notes)})
    return summary.model_copy(update={"recordings": (first, *others)})


def _tables(
    here: Path, batches: Sequence[FileBatch], summary: RunSummary, model: Rondo
) -> dict[str, pl.LazyFrame | pl.DataFrame]:
    """segments, unshown_segments and found, each part after the other; and the curves of training."""
    import polars as pl

    tables: dict[str, pl.LazyFrame | pl.DataFrame] = {}
    for name, under in TABLES.items():
        if paths := [path for batch in batches if (path := here / under / f"{batch.name}.parquet").exists()]:
            tables[name] = pl.scan_parquet(paths, glob=False)
    if "unshown_segments" in tables:
        kinds = {one.id: one.kind for one in summary.unshown_motifs}
        kind = pl.col("id").replace_strict(kinds, return_dtype=pl.String).alias("kind")
        tables["unshown_segments"] = tables["unshown_segments"].with_columns(kind)
    if (training := curve_table(words_of(model))) is not None:
        tables["training"] = training
    return tables
