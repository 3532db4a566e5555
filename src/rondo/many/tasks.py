"""What a worker does with some files: survey them, cut out what is learned from, label them; parts say what is done."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rondo.config.settings import PreprocessConfig
from rondo.data.recording import Recording, Values
from rondo.data.scaling import Preprocessor, UsedChannels, mean_and_scale
from rondo.data.survey import Survey, Surveyed, survey_of, taken
from rondo.data.windows import Span
from rondo.errors import RecordingError, RondoError
from rondo.files.crash_guard import trusting
from rondo.files.inputs import RecordingFile, in_hertz, same_rate
from rondo.many.engine import in_one_line
from rondo.memory import refuse_too_large
from rondo.model.describe import fit_profile, words_of
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.run.overview import signal_overview, told_scores
from rondo.run.shown import shown
from rondo.run.summary import FailedFile, RecordingSummary
from rondo.run.tally import RecordingPart, Words
from rondo.run.writer import array_bytes, recording_files
from rondo.store.folder import PartFolder

if TYPE_CHECKING:
    import polars as pl


SURVEYS, WHOLE, SAMPLES, LABELS = "parts/survey", "parts/whole", "parts/sample", "parts/label"
TABLES = {"segments": "parts/segments", "unshown_segments": "parts/unshown", "found": "parts/found"}
BATCH_BYTES = 1 << 24  # of values in one task: about a second of work
BATCH_FILES = 256  # what is done again after a kill, at most, in each worker


class FileBatch(NamedTuple):
    """Files [first, past) of the run; a part is named after it."""

    first: int
    past: int

    @property
    def name(self) -> str:
        """As in the names of its parts: 0000012-0000015."""
        return f"{self.first:07d}-{self.past:07d}"

    @classmethod
    def named(cls, name: str) -> FileBatch:
        """The batch of a part of this name, whatever its folder and suffix."""
        first, past = name.rpartition("/")[2].partition(".")[0].split("-")
        return cls(int(first), int(past))


def batches_of(indices: Sequence[int], n_bytes: Sequence[int]) -> list[FileBatch]:
    """Small files together, for a task costs more than reading them, and large ones alone; `n_bytes` of every file.

    >>> batches_of([0, 1, 2, 5], [1, 2, BATCH_BYTES, 0, 0, 3])
    [FileBatch(first=0, past=2), FileBatch(first=2, past=3), FileBatch(first=5, past=6)]
    """
    batches: list[FileBatch] = []
    held = 0
    for i in indices:
        held += n_bytes[i]
        last = batches[-1] if batches else FileBatch(-1, -1)
        if last.past == i and held <= BATCH_BYTES and i - last.first < BATCH_FILES:
            batches[-1] = FileBatch(last.first, i + 1)
        else:
            batches.append(FileBatch(i, i + 1))
            held = n_bytes[i]
    return batches


@dataclass(frozen=True)
class FileTask:
    """Some files of a run, and its folder."""

    folder: PartFolder
    batch: FileBatch
    files: tuple[RecordingFile, ...]


@dataclass(frozen=True)
class DataSet:
    """What all recordings of a run have in common."""

    channels: UsedChannels
    rate: float | None
    preprocess: PreprocessConfig

    def survey(self, recording: Recording) -> Surveyed:
        """Look at one recording; one that does not belong here, or in which nothing changes, is refused."""
        self.refuse_other_rate(recording)
        found = survey_of(recording, self.channels.names, self.channels.settings(self.preprocess))
        if self.preprocess.scaling != "none" and self.preprocess.statistics == "recording":
            mean_and_scale(found.survey.moments, self.preprocess, f"recording '{recording.id}'")
        return found

    def refuse_other_rate(self, recording: Recording) -> None:
        """All recordings must have one rate."""
        if not same_rate(recording.rate, self.rate):
            raise RecordingError(
                f"it has {in_hertz(recording.rate)}, expected {in_hertz(self.rate)} as in the first file; resample it, "
                "or give one --rate for all"
            )


@dataclass(frozen=True)
class SurveyTask(FileTask):
    """Survey these files; `keeps_signals`: and keep their signals, as all of them are going to be learned from."""

    data_set: DataSet
    keeps_signals: bool
    most_bytes: int | None


def survey_files(task: SurveyTask) -> None:
    """Write the part of a batch: a survey of each file, or why there is none."""
    surveys: list[dict[str, Any]] = []
    signals: list[Values] = []
    failed: list[FailedFile] = []
    for file in task.files:
        try:
            refuse_too_large(file.url, file.expected(), task.most_bytes)
            survey, signal = task.data_set.survey(file.read())
        except Exception as error:  # noqa: BLE001  # a file that fails in whatever way is a row, and the rest goes on
            failed.append(failure(file, error))
            continue
        surveys.append(survey.as_json())
        if task.keeps_signals:
            signals.append(signal.values)
    if signals:
        task.folder.write(f"{WHOLE}/{task.batch.name}.npy", array_bytes(np.concatenate(signals)))
    part = {"surveys": surveys, "failed": [file.model_dump() for file in failed]}
    task.folder.write(f"{SURVEYS}/{task.batch.name}.json", json.dumps(part).encode())


def failure(file: RecordingFile, error: BaseException) -> FailedFile:
    """The row of a file that failed."""
    return FailedFile(file=file.url, why=in_one_line(error).removeprefix(f"{file.url}: "))


def surveys_in(folder: PartFolder, batch: FileBatch) -> tuple[list[Survey], list[FailedFile]]:
    """What `survey_files` wrote."""
    stored = json.loads(folder.read(f"{SURVEYS}/{batch.name}.json"))
    return list(map(Survey.from_json, stored["surveys"])), list(map(FailedFile.model_validate, stored["failed"]))


@dataclass(frozen=True)
class SampleTask(FileTask):
    """Cut these stretches out of these files."""

    stretches: tuple[tuple[Span, ...], ...]
    data_set: DataSet
    preprocessor: Preprocessor


def sample_files(task: SampleTask) -> None:
    """Write the part of a batch: the regular values of its stretches, file by file, not yet scaled."""
    pieces = []
    for file, stretches in zip(task.files, task.stretches, strict=True):
        try:
            with trusting():
                recording = file.read()
            task.data_set.refuse_other_rate(recording)
            pieces.append(taken(task.preprocessor.regular(recording), stretches).values)
        except (RondoError, IndexError) as error:
            raise RecordingError(f"{file.url}: it was surveyed well, and now {in_one_line(error)}") from None
    task.folder.write(f"{SAMPLES}/{task.batch.name}.npy", array_bytes(np.concatenate(pieces)))


def stored_array(folder: PartFolder, name: str) -> np.ndarray[Any, Any]:
    """What `array_bytes` gave, as it was stored."""
    array: np.ndarray[Any, Any] = np.load(io.BytesIO(folder.read(name)), allow_pickle=False)
    return array


def split(values: Values, lengths: Sequence[int]) -> list[Values]:
    """Values of several signals that were stored one after the other."""
    if sum(lengths) != len(values):
        raise RecordingError(
            f"a stored sample holds {len(values)} frames, expected {sum(lengths)}; remove the folder and begin again"
        )
    return np.split(values, np.cumsum(lengths)[:-1])


@dataclass(frozen=True)
class LabelTask(FileTask):
    """Label these files with the model in the folder."""

    groups: tuple[str, ...]  # of each file; "" where nothing was said
    resample: bool
    is_foreign: bool  # the model was fitted on other recordings
    was_surveyed: bool
    most_bytes: int | None


@dataclass(frozen=True)
class LabelPart:
    """What a batch gave, beside its tables."""

    recordings: tuple[RecordingPart, ...]
    failed: tuple[FailedFile, ...]

    @classmethod
    def read(cls, folder: PartFolder, batch: FileBatch) -> LabelPart:
        """What `label_files` wrote."""
        stored = json.loads(folder.read(f"{LABELS}/{batch.name}.json"))
        recordings = tuple(
            RecordingPart(RecordingSummary.model_validate(about), frozenset((unit, motif) for unit, motif in pairs))
            for about, pairs in stored["recordings"]
        )
        return cls(recordings, tuple(map(FailedFile.model_validate, stored["failed"])))

    def as_bytes(self) -> bytes:
        """As it is stored."""
        recordings = [(one.about.model_dump(mode="json"), sorted(one.pairs)) for one in self.recordings]
        return json.dumps({"recordings": recordings, "failed": [one.model_dump() for one in self.failed]}).encode()


def label_files(task: LabelTask) -> None:
    """Write what the run folder holds of each file of a batch, its tables, and then its part."""
    manifest = hashlib.sha256(task.folder.read("model/manifest.json")).hexdigest()
    model, words = _model_in(task.folder.path / "model", manifest)
    edits = model.edits_.carried()
    fitted = fit_profile(model) if task.is_foreign else None
    parts: list[RecordingPart] = []
    failed: list[FailedFile] = []
    tables: dict[str, list[pl.DataFrame]] = {name: [] for name in TABLES}
    files: dict[str, bytes] = {}
    for file, group in zip(task.files, task.groups, strict=True):
        try:
            refuse_too_large(file.url, file.expected(), task.most_bytes)
            with trusting() if task.was_surveyed else nullcontext():  # it was read well before
                recording = file.read()
            found = label_one(model, recording, task.resample, group or None, was_fitted=not task.is_foreign)
            labelling = shown(found, edits) if edits.history else found
            parts.append(RecordingPart.of(recording, labelling, words, fitted, group))
        except Exception as error:  # noqa: BLE001  # a file that fails in whatever way is a row, and the rest goes on
            failed.append(failure(file, error))
            continue
        overview = signal_overview(recording.values, recording.channels)
        files |= recording_files(recording.id, overview, told_scores(labelling), labelling)
        tables["segments"].append(labelling.table)
        if labelling.unshown is not None:
            tables["unshown_segments"].append(labelling.unshown)
        if edits.has_merges:
            tables["found"].append(found.table)
    files |= {f"{TABLES[name]}/{task.batch.name}.parquet": _parquet(each) for name, each in tables.items() if each}
    task.folder.write_together(files)
    part = LabelPart(tuple(parts), tuple(failed))
    task.folder.write(f"{LABELS}/{task.batch.name}.json", part.as_bytes())


@lru_cache(maxsize=1)
def _model_in(folder: Path, manifest: str) -> tuple[Rondo, Words]:
    """The model of a run, read once in each process; `manifest` is its checksum, another one for another model."""
    model = Rondo.load(folder)
    return model, words_of(model)


def _parquet(tables: Sequence[pl.DataFrame]) -> bytes:
    import polars as pl

    buffer = io.BytesIO()
    pl.concat(tables).write_parquet(buffer)
    return buffer.getvalue()
