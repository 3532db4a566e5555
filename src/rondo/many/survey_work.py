"""Tasks that look at recordings before anything is learned: survey them, and cut out the stretches to learn from."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rondo.config.schema import PreprocessConfig
from rondo.data.as_recordings import in_hertz, same_rate
from rondo.data.fair_sample import taken
from rondo.data.left_out import UsedChannels
from rondo.data.preprocess import Preprocessor, mean_and_scale
from rondo.data.recording import Recording, Values
from rondo.data.survey import Survey, Surveyed, survey_of
from rondo.data.windows import Span
from rondo.engine.base import in_one_line
from rondo.errors import RecordingError, RondoError
from rondo.formats.crash_guard import trusting
from rondo.formats.expected_memory import refuse_too_large
from rondo.formats.recording_file import RecordingFile
from rondo.many.batches import FileBatch
from rondo.run.summary import FailedFile
from rondo.store.part_folder import PartFolder, write_together

SURVEYS, WHOLE, SAMPLES = "parts/survey", "parts/whole", "parts/sample"


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
class SurveyTask:
    """Survey these files; `keeps_signals`: and keep their signals, as all of them are going to be learned from."""

    folder: PartFolder
    batch: FileBatch
    files: tuple[RecordingFile, ...]
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
            refuse_too_large(file, task.most_bytes)
            survey, signal = task.data_set.survey(file.read())
        except Exception as error:  # noqa: BLE001  # a file that fails in whatever way is a row, and the rest goes on
            failed.append(failure(file, error))
            continue
        surveys.append(survey.as_json())
        if task.keeps_signals:
            signals.append(signal.values)
    files = {}
    if signals:
        files[f"{WHOLE}/{task.batch.name}.npy"] = array_bytes(np.concatenate(signals))
    write_together(task.folder, files)
    part = {"surveys": surveys, "failed": [one.model_dump() for one in failed]}
    task.folder.write(f"{SURVEYS}/{task.batch.name}.json", json.dumps(part).encode())


def failure(file: RecordingFile, error: BaseException) -> FailedFile:
    """The row of a file that failed."""
    return FailedFile(file=file.url, why=in_one_line(error).removeprefix(f"{file.url}: "))


def surveys_in(folder: PartFolder, batch: FileBatch) -> tuple[list[Survey], list[FailedFile]]:
    """What `survey_files` wrote."""
    stored = json.loads(folder.read(f"{SURVEYS}/{batch.name}.json"))
    failed = [FailedFile.model_validate(one) for one in stored["failed"]]
    return [Survey.from_json(one) for one in stored["surveys"]], failed


@dataclass(frozen=True)
class SampleTask:
    """Cut these stretches out of these files."""

    folder: PartFolder
    batch: FileBatch
    files: tuple[RecordingFile, ...]
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


def array_bytes(array: np.ndarray[Any, Any]) -> bytes:
    """An array as the content of an .npy file."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def stored_array(folder: PartFolder, name: str) -> np.ndarray[Any, Any]:
    """What `array_bytes` gave, as it was stored."""
    found: np.ndarray[Any, Any] = np.load(io.BytesIO(folder.read(name)), allow_pickle=False)
    return found


def split(values: Values, lengths: Sequence[int]) -> list[Values]:
    """Values of several signals that were stored one after the other."""
    if sum(lengths) != len(values):
        raise RecordingError(
            f"a stored sample holds {len(values)} frames, expected {sum(lengths)}; remove the folder and begin again"
        )
    return np.split(values, np.cumsum(lengths)[:-1])
