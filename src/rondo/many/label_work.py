"""The task that labels recordings: what a run folder holds of each file, and a part that says that they are done."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rondo.data.labels import OTHER, label_pairs
from rondo.data.recording import Recording
from rondo.formats.crash_guard import trusting
from rondo.formats.expected_memory import refuse_too_large
from rondo.formats.recording_file import RecordingFile
from rondo.labelling import FitProfile, Labelling
from rondo.many.batches import FileBatch
from rondo.many.survey_work import array_bytes, failure
from rondo.model import Rondo
from rondo.model_labels import label_one
from rondo.model_result import fit_profile, words_of
from rondo.report.frame_scores import told_scores
from rondo.report.overview import signal_overview, stored_overview
from rondo.run.counting import Words, recording_summary
from rondo.run.segments import LEVELS, SegmentRows, segment_table
from rondo.run.summary import FailedFile, RecordingSummary
from rondo.store.part_folder import PartFolder, part_folder, seen_here, write_together

if TYPE_CHECKING:
    import polars as pl

LABELS = "parts/label"
TABLES = {"segments": "parts/segments", "unshown_segments": "parts/unshown", "found": "parts/found"}


@dataclass(frozen=True)
class LabelTask:
    """Label these files with the model in the folder."""

    folder: PartFolder
    batch: FileBatch
    files: tuple[RecordingFile, ...]
    groups: tuple[str, ...]  # of each file; "" where nothing was said
    resample: bool
    is_foreign: bool  # the model was fitted on other recordings
    was_surveyed: bool
    most_bytes: int | None


@dataclass(frozen=True)
class LabelPart:
    """What a batch gave, beside its tables."""

    recordings: tuple[RecordingSummary, ...]
    failed: tuple[FailedFile, ...]
    pairs: tuple[tuple[int, int], ...]  # units and motifs that are labels of the same frame

    @classmethod
    def read(cls, folder: PartFolder, batch: FileBatch) -> LabelPart:
        """What `label_files` wrote."""
        stored = json.loads(folder.read(f"{LABELS}/{batch.name}.json"))
        recordings = tuple(map(RecordingSummary.model_validate, stored["recordings"]))
        failed = tuple(map(FailedFile.model_validate, stored["failed"]))
        return cls(recordings, failed, tuple((unit, motif) for unit, motif in stored["pairs"]))

    def as_bytes(self) -> bytes:
        """As it is stored."""
        plain = {
            name: [one.model_dump(mode="json") for one in getattr(self, name)] for name in ("recordings", "failed")
        }
        return json.dumps(plain | {"pairs": list(self.pairs)}).encode()


def label_files(task: LabelTask) -> None:
    """Write what the run folder holds of each file of a batch, its tables, and then its part."""
    model, words = model_in(task.folder)
    fitted = fit_profile(model) if task.is_foreign else None
    summaries: list[RecordingSummary] = []
    failed: list[FailedFile] = []
    tables: list[_Rows | Labelling] = []
    pairs: set[tuple[int, int]] = set()
    files: dict[str, bytes] = {}
    for file, group in zip(task.files, task.groups, strict=True):
        try:
            refuse_too_large(file, task.most_bytes)
            with _as_surveyed(task.was_surveyed):
                recording = file.read()
            labelling = label_one(model, recording, task.resample, group or None)
            summaries.append(_summary(recording, labelling, fitted, words, group))
        except Exception as error:  # noqa: BLE001  # a file that fails in whatever way is a row, and the rest goes on
            failed.append(failure(file, error))
            continue
        files |= _files_of(recording, labelling)
        tables.append(labelling if labelling.edits.history else _Rows.of(labelling))
        pairs |= label_pairs(labelling.units, labelling.motifs)
    files |= _table_files(task.batch, tables)
    write_together(task.folder, files)
    part = LabelPart(tuple(summaries), tuple(failed), tuple(sorted(pairs)))
    task.folder.write(f"{LABELS}/{task.batch.name}.json", part.as_bytes())


def model_in(folder: PartFolder) -> tuple[Rondo, Words]:
    """The model of a run, read once in each process."""
    return _model_of(folder.url, hashlib.sha256(folder.read("model/manifest.json")).hexdigest())


@lru_cache(maxsize=1)
def _model_of(url: str, manifest: str) -> tuple[Rondo, Words]:
    with seen_here(part_folder(url), "model") as here:
        model = Rondo.load(here / "model")
    return model, words_of(model)


@contextmanager
def _as_surveyed(was_surveyed: bool) -> Iterator[None]:
    """A file that was read well before need not be tried in a process of its own again."""
    if not was_surveyed:
        yield
        return
    with trusting():
        yield


def _summary(
    recording: Recording, labelling: Labelling, fitted: FitProfile | None, words: Words, group: str
) -> RecordingSummary:
    """As `rondo.run.counting` counts it in the table of segments, from the labels themselves."""
    about = recording_summary(recording, labelling, fitted, group)
    n_labelled = int((labelling.motifs != OTHER).sum())
    changed: dict[str, Any] = {"share_other": 1.0 - n_labelled / max(1, about.n_frames)}
    if about.fit is not None:
        units = np.unique(labelling.units)
        counts = {"n_units": int((units != OTHER).sum()), "n_units_of_model": len(words.units)}
        changed["fit"] = about.fit.model_copy(update=counts)
    return about.model_copy(update=changed)


def _files_of(recording: Recording, labelling: Labelling) -> dict[str, bytes]:
    """labels/, units/, overview/ and scores/ of one recording, as `rondo.run.folder` has them."""
    id = recording.id
    files = {
        f"labels/{id}.npy": array_bytes(labelling.motifs),
        f"units/{id}.npy": array_bytes(labelling.units),
        f"overview/{id}.npz": stored_overview(signal_overview(recording.values, recording.channels)),
    }
    scores = told_scores(labelling)
    if scores is not None:
        files[f"scores/{id}.npz"] = archive_bytes(
            unit=scores.units.astype(np.float32), motif=scores.motifs.astype(np.float32)
        )
    return files


class _Rows(NamedTuple):
    """The segments of one recording, by which its labels can go."""

    segments: list[SegmentRows]
    unshown_segments: list[SegmentRows]

    @classmethod
    def of(cls, labelling: Labelling) -> _Rows:
        unshown = [] if labelling.unshown is None else labelling.unshown.as_found.rows[1:]
        return cls(labelling.as_found.rows, unshown)


def _table_files(batch: FileBatch, each: Sequence[_Rows | Labelling]) -> dict[str, bytes]:
    """The tables of a batch, each made at once; of labels that people have edited, recording by recording."""
    import polars as pl

    plain = [one for one in each if isinstance(one, _Rows)]
    edited = [one for one in each if isinstance(one, Labelling)]
    tables: dict[str, pl.DataFrame] = {}
    for name in ("segments", "unshown_segments"):
        if rows := [own for one in plain for own in getattr(one, name)]:
            tables[name] = segment_table(rows)
    if edited:
        tables["segments"] = pl.concat([one.table for one in edited])
        if unshown := [one.unshown_table for one in edited if one.unshown is not None]:
            tables["unshown_segments"] = pl.concat(unshown)
        if any(edited[0].edits.groups(level) for level in LEVELS):
            tables["found"] = pl.concat([one.as_found.table for one in edited])
    return {f"{TABLES[name]}/{batch.name}.parquet": _parquet(table) for name, table in tables.items()}


def _parquet(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_parquet(buffer)
    return buffer.getvalue()


def archive_bytes(**arrays: np.ndarray[Any, Any]) -> bytes:
    """Arrays as the content of an .npz file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()
