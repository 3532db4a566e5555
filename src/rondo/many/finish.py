"""Parts -> the rest of the run folder: tables, summary, report. One part is in memory at a time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rondo.data.labels import are_one_to_one
from rondo.errors import RecordingError
from rondo.many.tasks import LABELS, TABLES, FileBatch, LabelPart
from rondo.many.unfinished import close_run
from rondo.model.describe import findings_of, fit_notes, fit_profile, words_of
from rondo.model.rondo import Rondo
from rondo.run.folder import TRAINING, run_of, write_summary
from rondo.run.labelling import curve_table
from rondo.run.overview import MOST_DRAWN
from rondo.run.segments import LEVELS
from rondo.run.summary import SUMMARY, FailedFile, RecordingSummary, RunKind, RunSummary
from rondo.run.tally import EntryTally, evidence_row, profile_summary
from rondo.store.csv_text import csv_of_rows, csv_of_table, plain_table
from rondo.store.folder import LocalFolder, PartFolder, put_files, seen_here, whole_file, write_text
from rondo.version import __version__

if TYPE_CHECKING:
    import polars as pl

FAILED = "failed.csv"


def finish_run(
    folder: PartFolder, model: Rondo, kind: RunKind, failed: Sequence[FailedFile], n_files: int
) -> RunSummary:
    """Write what is about all recordings, summary.json last, and take the parts away."""
    batches = sorted(map(FileBatch.named, folder.names(LABELS)))
    parts = [LabelPart.read(folder, batch) for batch in batches]
    every = [*failed, *(one for part in parts for one in part.failed)]
    recordings = tuple(one for part in parts for one in part.recordings)
    if not recordings:
        first = every[0]
        raise RecordingError(f"all {n_files} files failed; the first, {first.file}: {first.why}")
    with seen_here(folder, *TABLES.values(), *_drawn(recordings)) as here:
        known = set() if isinstance(folder, LocalFolder) else LocalFolder(here).names()
        summary = _summary(here, batches, parts, model, kind).model_copy(update={"failed": tuple(every)})
        _write_tables(here, batches, summary, model)
        if every:
            write_text(here / FAILED, failed_table(every))
        run_of(here, summary).report(here / "report.html")
        write_summary(here, summary)
        put_files(folder, here, last=SUMMARY, known=known)
    close_run(folder)
    return summary


def _drawn(recordings: Sequence[RecordingSummary]) -> list[str]:
    """What the page needs of a folder that is elsewhere."""
    ids = [one.id for one in recordings[:MOST_DRAWN]]
    return ["model", *(f"{kind}/{id}.npz" for kind in ("overview", "scores") for id in ids)]


def failed_table(failed: Sequence[FailedFile]) -> str:
    """failed.csv: file, why."""
    return csv_of_rows(("file", "why"), ((one.file, one.why) for one in failed))


def _summary(
    here: Path, batches: Sequence[FileBatch], parts: Sequence[LabelPart], model: Rondo, kind: RunKind
) -> RunSummary:
    recordings = [one for part in parts for one in part.recordings]
    n_frames, words = sum(one.n_frames for one in recordings), words_of(model)
    tallies = {level: EntryTally(level) for level in LEVELS}
    unshown = EntryTally("motif")
    for batch in batches:
        for name, counts in (("segments", [*tallies.values()]), ("unshown_segments", [unshown])):
            table = _part_of(here, name, batch)
            if table is not None:
                for tally in counts:
                    tally.add(table)
    motifs = tallies["motif"].rows(n_frames, words)
    pairs = np.array(sorted({pair for part in parts for pair in part.pairs}), np.int32).reshape(-1, 2)
    is_foreign = kind == "label"
    return RunSummary(
        rondo_version=__version__,
        kind=kind,
        method="rondo",
        seed=model.config_.seed,
        window_length_frames=model.window_length_frames_,
        step_frames=model.step_frames_,
        findings=tuple(findings_of(model, is_foreign)),
        fitted=profile_summary(fit_profile(model)) if is_foreign else None,
        recordings=_noted(recordings, model, is_foreign),
        units=tuple(tallies["unit"].rows(n_frames, words)),
        motifs=(*motifs, *unshown.rows(n_frames, words, in_labels=False)),
        unit_merges=tuple(words.merges),
        evidence=evidence_row(words.evidence),
        motifs_are_units=are_one_to_one(pairs[:, 0], pairs[:, 1]),
        config=model.config_.model_dump(mode="json"),
    )


def _noted(recordings: Sequence[RecordingSummary], model: Rondo, is_foreign: bool) -> tuple[RecordingSummary, ...]:
    notes = () if is_foreign else fit_notes(model, [one.n_frames for one in recordings])
    if not notes:
        return tuple(recordings)
    return (recordings[0].model_copy(update={"notes": (*recordings[0].notes, *notes)}), *recordings[1:])


def _part_of(here: Path, table: str, batch: FileBatch) -> pl.DataFrame | None:
    import polars as pl

    path = here / TABLES[table] / f"{batch.name}.parquet"
    return pl.read_parquet(path, glob=False) if path.exists() else None


def _write_tables(here: Path, batches: Sequence[FileBatch], summary: RunSummary, model: Rondo) -> None:
    """segments, unshown_segments and found, each part after the other; and the curves of training."""
    import polars as pl

    for name, under in TABLES.items():
        paths = [path for batch in batches if (path := here / under / f"{batch.name}.parquet").exists()]
        if not paths or (name == "unshown_segments" and not summary.unshown_motifs):
            continue
        rows = pl.scan_parquet(paths, glob=False)
        if name == "unshown_segments":
            kinds = {one.id: one.kind for one in summary.unshown_motifs}
            rows = rows.with_columns(pl.col("id").replace_strict(kinds, return_dtype=pl.String).alias("kind"))
        with whole_file(here / f"{name}.parquet") as file:
            rows.sink_parquet(file)
        if name != "found":
            with whole_file(here / f"{name}.csv") as file:
                plain_table(rows).sink_csv(file)
    training = curve_table(words_of(model))
    if training is not None:
        with whole_file(here / TRAINING) as file:
            file.write(csv_of_table(training).encode())
