"""A run over many files, from the first look to summary.json; nothing large is held here.

    find files -> survey -> plan -> sample -> fit, in this process -> label -> finish
    `label`:                                  a model that is there -> label -> finish

Parts in the run folder say what is done, so a run that was killed continues from there.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from rondo.analysis.described import described
from rondo.config.settings import PreprocessConfig
from rondo.data.body import BodyFrame
from rondo.data.groups import GroupBy, groups_of
from rondo.data.scaling import UsedChannels, refuse_too_many_axes, used_channels
from rondo.data.signal import Signal, chosen_channels, refuse_shape
from rondo.data.survey import MOST_VALUES, Survey, n_taken, rebased
from rondo.errors import OutputError, RecordingError, RondoWarning, SettingError
from rondo.files.inputs import RecordingFile
from rondo.files.reading import PoseReading
from rondo.many.engine import Engine, Serial, n_cores
from rondo.many.pool import Local
from rondo.many.ray import ray
from rondo.many.tasks import (
    LABELS,
    SAMPLES,
    SURVEYS,
    TABLES,
    WHOLE,
    DataSet,
    FileBatch,
    FileTask,
    LabelPart,
    LabelTask,
    SampleTask,
    SurveyTask,
    batches_of,
    failure,
    label_files,
    sample_files,
    split,
    stored_array,
    survey_files,
    surveys_in,
)
from rondo.many.unfinished import RunRecord, close_run, is_whole, opened_run
from rondo.memory import ExpectedSize, most_for_a_file, refuse_too_large, workers_that_fit
from rondo.model.describe import fit_notes, fit_profile, run_fields, words_of
from rondo.model.fit import FitPlan, learn_into, plan_fit
from rondo.model.folder import config_of
from rondo.model.rondo import Rondo
from rondo.result import Result, result_in
from rondo.run.folder import stored_run
from rondo.run.labelling import curve_table
from rondo.run.shown import shown_summary
from rondo.run.summary import FailedFile, RunKind
from rondo.run.tally import RunTally, profile_summary
from rondo.run.writer import RunWriter
from rondo.store.folder import PartFolder
from rondo.store.locations import is_url
from rondo.store.model_file import MANIFEST
from rondo.wording import Progress, did_you_mean, silent

ENGINES = ("local", "serial", "ray")
DATA_SET = "parts/data_set.json"
_NO_WORKERS = (
    "worker processes need process groups, which this system (Windows?) lacks: tasks run one after the other, as with "
    "--engine serial"
)
StepTask = TypeVar("StepTask", bound=FileTask)


def engine_of(
    name: str, n_workers: int | None = None, ray_address: str | None = None, tasks_per_gpu: int = 1
) -> Engine:
    """`serial`: in this process. `local`: in processes of this machine. `ray`: on a cluster, or embedded here."""
    if ray_address and name != "ray":
        raise SettingError(f"an address of a Ray cluster is for the engine 'ray', not '{name}'; add --engine ray")
    match name:
        case "local" if not hasattr(os, "killpg"):
            warnings.warn(_NO_WORKERS, RondoWarning, stacklevel=2)
            return Serial()
        case "local":
            return Local(n_workers or n_cores(), tasks_per_gpu)
        case "serial":
            return Serial()
        case "ray":
            return ray(ray_address, n_workers, tasks_per_gpu)
    raise SettingError(f"unknown engine '{name}'; {did_you_mean(name, ENGINES, 'there are ' + ', '.join(ENGINES))}")


@dataclass(frozen=True)
class ManyFiles:
    """The files of a run, what their headers say, and where they are read."""

    files: tuple[RecordingFile, ...]
    sizes: tuple[ExpectedSize, ...]
    group_of: Mapping[str, str]  # of each recording, by its id
    group_by: GroupBy = None
    engine: str = "local"
    workers: int | None = None
    ray_address: str | None = None

    @classmethod
    def of(
        cls,
        files: Sequence[RecordingFile],
        group_by: GroupBy = None,
        engine: str = "local",
        workers: int | None = None,
        ray_address: str | None = None,
    ) -> ManyFiles:
        """Look at the headers of all files."""
        groups = groups_of([file.id for file in files], group_by, {file.id: file.url for file in files})
        sizes = tuple(file.expected() for file in files)
        return cls(tuple(files), sizes, groups, group_by, engine, workers, ray_address)

    def opened(self, out: str | Path, command: str, settings: Mapping[str, Any]) -> AbstractContextManager[PartFolder]:
        """The folder of the run; `settings` and how files are read make another command the same as this one."""
        if self.ray_address is not None and is_url(out):  # such a run grows on this machine
            raise SettingError(
                f"{out}: a Ray cluster writes where all its nodes can; give a path that they share as --out"
            )
        first = self.files[0].reading
        columns = [*first.leave_out, *(f"keep {name}" for name in (*first.keep, *first.known_names))]
        reading = {"rate": first.rate, "key": first.key, "label_columns": columns, "session": first.session}
        record = RunRecord.of(command, {**settings, **reading, "group_by": self.group_by}, self.files)
        return opened_run(out, record)


def discover_files(many: ManyFiles, model: Rondo, out: str | Path, progress: Progress = silent) -> Result:
    """Learn one vocabulary from all files, label each, and write the run folder; an unfinished one is continued."""
    config = config_of(model)
    with many.opened(out, "discover", {"config": config.model_dump(mode="json")}) as folder:
        if is_whole(folder):
            return _tidied(folder)
        run = _Run(folder, many, progress)
        data_set, surveys, failed = run.surveyed(config.preprocess)
        if run.has_model():
            model = Rondo.load(run.model)
        else:
            by_id = {file.id: file for file in run.many.files}
            plan = plan_fit(data_set.channels, surveys, config, lambda how, id: how.apply(by_id[id].read()))
            sample = run.sample(plan, data_set)
            learn_into(model, plan, sample, [many.group_of[signal.id] for signal in sample], progress)
            model.save(run.model)
            del sample
        for under in (WHOLE, SAMPLES):
            folder.remove_under(under)
        run.label({survey.id for survey in surveys}, was_surveyed=True)
        return run.finished(model, "discover", failed)


def label_files_with(
    many: ManyFiles, model: Rondo, out: str | Path, *, resample: bool = False, progress: Progress = silent
) -> Result:
    """Label all files with a fitted model and write the run folder; an unfinished one is continued."""
    with many.opened(out, "label", {"model": _fingerprint(model), "resample": resample}) as folder:
        if is_whole(folder):
            return _tidied(folder)
        run = _Run(folder, many, progress)
        if not run.has_model():
            model.save(run.model)
        run.label({file.id for file in many.files}, resample=resample, is_foreign=True)
        return run.finished(model, "label", [])


def _fingerprint(model: Rondo) -> str:
    """What differs where a model does."""
    scales = (model.window_length_frames_, model.step_frames_, model.motif_window_frames_, model.rate_)
    fitted = model.preprocessor_
    seen = (fitted.channels, fitted.mean.tolist(), fitted.scale.tolist(), fitted.body)
    digest = hashlib.sha256(repr((model.edits_, scales, seen, model.config_)).encode())
    for name, tensor in sorted({**model.unit_model_.tensors(), **model.motif_model_.tensors()}.items()):
        digest.update(name.encode() + tensor.tobytes())
    return digest.hexdigest()


def _tidied(folder: PartFolder) -> Result:
    """A run that was killed when all was written."""
    close_run(folder)
    return Result.load(folder.path)


class _Run:
    """The stages of a run in its folder; each does what its parts say is left."""

    def __init__(self, folder: PartFolder, many: ManyFiles, progress: Progress) -> None:
        self.folder, self.many, self.progress = folder, many, progress
        self.model = folder.path / "model"
        self.most_bytes = most_for_a_file()
        self.n_bytes = [size.n_bytes for size in many.sizes]

    def has_model(self) -> bool:
        """Whether the model was learned, or put here, before."""
        return (self.model / MANIFEST).is_file()

    def surveyed(self, preprocess: PreprocessConfig) -> tuple[DataSet, list[Survey], list[FailedFile]]:
        """All files in the channels that are used; where some are left out, files are surveyed without them again."""
        data_set = self._data_set(preprocess)
        surveys, failed = self._surveys(data_set)
        used = used_channels(data_set.channels.names, surveys, preprocess)
        if data_set.channels.left_out or not used.left_out:
            return data_set, surveys, failed
        refuse_too_many_axes(len(used.names), preprocess)
        for under in (WHOLE, SURVEYS):
            self.folder.remove_under(under)
        data_set = self._kept(DataSet(used, data_set.rate, preprocess))
        return data_set, *self._surveys(data_set)

    def _data_set(self, preprocess: PreprocessConfig) -> DataSet:
        """Channels and rate of the first file that can be read: all others must have them."""
        if DATA_SET in self.folder.names("parts"):
            known = json.loads(self.folder.read(DATA_SET))
            used = UsedChannels(tuple(known["channels"]), tuple(known["left_out"]))
            self._take_body(known.get("body"))
            return DataSet(used, known["rate"], preprocess)
        self.progress("looking", 0, 1)
        failed: list[FailedFile] = []
        for file in self.many.files:
            try:
                refuse_too_large(file.url, file.expected(), self.most_bytes)
                recording = file.read()
                channels = chosen_channels(recording, preprocess)
                refuse_shape(recording, channels)
            except RecordingError as error:
                failed.append(failure(file, error))
                continue
            refuse_too_many_axes(len(channels), preprocess)
            self._take_body(None if recording.body is None else recording.body.as_json())
            return self._kept(DataSet(UsedChannels(channels), recording.rate, preprocess))
        raise _all_failed(failed)

    def _take_body(self, stored: dict[str, Any] | None) -> None:
        """All files are read in the body frame of the first."""
        self.body = stored
        poses = None if stored is None else PoseReading(frame=BodyFrame.from_json(stored))
        if poses is not None:
            files = (replace(file, reading=replace(file.reading, poses=poses)) for file in self.many.files)
            self.many = replace(self.many, files=tuple(files))

    def _kept(self, data_set: DataSet) -> DataSet:
        channels = data_set.channels
        known = {"channels": channels.names, "left_out": channels.left_out, "rate": data_set.rate, "body": self.body}
        self.folder.write(DATA_SET, json.dumps(known).encode())
        return data_set

    def _surveys(self, data_set: DataSet) -> tuple[list[Survey], list[FailedFile]]:
        """A survey of every file that has one, in order, and the others."""
        keeps_signals = sum(self.n_bytes) <= 4 * MOST_VALUES

        def task(batch: FileBatch, files: tuple[RecordingFile, ...]) -> SurveyTask:
            return SurveyTask(self.folder, batch, files, data_set, keeps_signals, self.most_bytes)

        failed = list(self._done("survey", survey_files, SURVEYS, task).values())
        surveys: list[Survey] = []
        for batch in self._parts(SURVEYS):
            in_batch, failed_in_batch = surveys_in(self.folder, batch)
            surveys += in_batch
            failed += failed_in_batch
        if not surveys:
            raise _all_failed(failed)
        return surveys, failed

    def sample(self, plan: FitPlan, data_set: DataSet) -> list[Signal]:
        """The stretches that are learned from, as the model sees them."""
        stretches = {survey.id: cuts for survey, cuts in zip(plan.surveys, plan.stretches, strict=True) if cuts}
        is_whole = all(cuts == survey.spans for cuts, survey in zip(plan.stretches, plan.surveys, strict=True))
        # What a survey keeps was filled by what that recording alone tells.
        is_filled_by_all = plan.preprocessor.fills_by_all and any(survey.n_filled for survey in plan.surveys)
        if is_whole and not is_filled_by_all and self.folder.names(WHOLE):
            return self._stored_sample(WHOLE, plan)

        def task(batch: FileBatch, files: tuple[RecordingFile, ...]) -> SampleTask:
            cuts = tuple(stretches[file.id] for file in files)
            return SampleTask(self.folder, batch, files, cuts, data_set, plan.preprocessor)

        for lost in self._done("sample", sample_files, SAMPLES, task, stretches).values():
            raise RecordingError(f"{lost.file}: {lost.why}")
        return self._stored_sample(SAMPLES, plan)

    def _stored_sample(self, under: str, plan: FitPlan) -> list[Signal]:
        """Signals in the order of surveys; those of which nothing is learned are left out."""
        position = {survey.id: i for i, survey in enumerate(plan.surveys) if plan.stretches[i]}
        signals: dict[int, Signal] = {}
        for batch in self._parts(under):
            ids = [file.id for file in self.many.files[batch.first : batch.past]]
            stored = [position[id] for id in ids if id in position]
            lengths = [n_taken(plan.surveys[i].n_frames, plan.surveys[i].spans, plan.stretches[i]) for i in stored]
            pieces = split(stored_array(self.folder, f"{under}/{batch.name}.npy"), lengths)
            for i, values in zip(stored, pieces, strict=True):
                survey, cuts = plan.surveys[i], plan.stretches[i]
                spans = survey.spans if cuts == survey.spans else rebased(cuts)
                channels = plan.preprocessor.channels
                size = (survey.rate, channels, spans, len(values))
                signal = Signal(survey.id, values, *size, silent=survey.silent, offsets=survey.moments.offsets)
                signals[i] = plan.preprocessor.seen(signal, survey.moments)
        return [signals[i] for i in sorted(signals)]

    def label(
        self, ids: Container[str], *, resample: bool = False, is_foreign: bool = False, was_surveyed: bool = False
    ) -> None:
        """Label the files of these recordings."""
        groups = {} if self.many.group_by is None else self.many.group_of

        def task(batch: FileBatch, files: tuple[RecordingFile, ...]) -> LabelTask:
            of_files = tuple(groups.get(file.id, "") for file in files)
            how = (resample, is_foreign, was_surveyed, self.most_bytes)
            return LabelTask(self.folder, batch, files, of_files, *how)

        for batch, lost in self._done("label", label_files, LABELS, task, ids).items():
            self.folder.write(f"{LABELS}/{batch.name}.json", LabelPart((), (lost,)).as_bytes())

    def finished(self, model: Rondo, kind: RunKind, failed: Sequence[FailedFile]) -> Result:
        """Write what is about all recordings, summary.json last, and remove the parts; one is in memory at a time."""
        import polars as pl

        batches = self._parts(LABELS)
        parts = [LabelPart.read(self.folder, batch) for batch in batches]
        failed = [*failed, *(lost for part in parts for lost in part.failed)]
        if not any(part.recordings for part in parts):
            raise _all_failed(failed, len(self.many.files))
        files = {
            name: [self.folder.path / under / f"{batch.name}.parquet" for batch in batches]
            for name, under in TABLES.items()
        }
        tally, is_foreign, words = RunTally(), kind == "label", words_of(model)
        for part, *paths in zip(parts, files["segments"], files["unshown_segments"], strict=True):
            tally.add(
                part.recordings, *(pl.read_parquet(path, glob=False) if path.exists() else None for path in paths)
            )
        fitted = profile_summary(fit_profile(model)) if is_foreign else None
        summary = tally.summary(words, kind=kind, fitted=fitted, **run_fields(model, is_foreign))
        summary = shown_summary(summary, model.edits_)
        first, *others = summary.recordings
        if not is_foreign:
            notes = fit_notes(model, [recording.n_frames for recording in summary.recordings])
            first = first.model_copy(update={"notes": (*first.notes, *notes)})
        summary = summary.model_copy(update={"recordings": (first, *others), "failed": tuple(failed)})
        tables: dict[str, pl.LazyFrame | pl.DataFrame] = {}
        for name, paths in files.items():
            if written := [path for path in paths if path.exists()]:
                tables[name] = pl.scan_parquet(written, glob=False)
        if "unshown_segments" in tables:
            kinds = {motif.id: motif.kind for motif in summary.unshown_motifs}
            of_motif = pl.col("id").replace_strict(kinds, return_dtype=pl.String).alias("kind")
            tables["unshown_segments"] = tables["unshown_segments"].with_columns(of_motif)
        if (training := curve_table(words)) is not None:
            tables["training"] = training
        here = self.folder.path
        writer = RunWriter(here)
        writer.write_tables(tables)
        summary = described(stored_run(here, summary)).summary
        writer.close(summary, {}, lambda page: result_in(here, summary).report(page))
        close_run(self.folder)
        return result_in(here, summary)

    # ------------------------------------------------------------ tasks

    def _parts(self, under: str) -> list[FileBatch]:
        return sorted(map(FileBatch.named, self.folder.names(under)))

    def _done(
        self,
        what: str,
        work: Callable[[StepTask], None],
        under: str,
        task_of: Callable[[FileBatch, tuple[RecordingFile, ...]], StepTask],
        ids: Container[str] | None = None,
    ) -> dict[FileBatch, FailedFile]:
        """Run the tasks of all files, or those of these recordings, that have no part yet; files that failed.

        A batch whose worker died is tried again file by file, so that only the file that kills is lost.
        """
        files = self.many.files
        done = {i for batch in self._parts(under) for i in range(*batch)}
        left = [i for i in range(len(files)) if i not in done and (ids is None or files[i].id in ids)]
        lost = self._run(what, work, batches_of(left, self.n_bytes), task_of)
        alone = [FileBatch(i, i + 1) for batch in lost if batch.past - batch.first > 1 for i in range(*batch)]
        lost |= self._run(f"{what} again", work, alone, task_of)
        return {
            batch: FailedFile(file=files[batch.first].url, why=why)
            for batch, why in lost.items()
            if batch.past - batch.first == 1
        }

    def _run(
        self,
        what: str,
        work: Callable[[StepTask], None],
        batches: Sequence[FileBatch],
        task_of: Callable[[FileBatch, tuple[RecordingFile, ...]], StepTask],
    ) -> dict[FileBatch, str]:
        """The batches that failed as a whole, with why."""
        tasks = [task_of(batch, self.many.files[batch.first : batch.past]) for batch in batches]
        if not tasks:
            return {}
        many, n_workers = self.many, self.many.workers
        if many.engine == "local":
            sizes = [many.sizes[i] for batch in batches for i in range(*batch)]
            n_workers = workers_that_fit(min(n_workers or n_cores(), len(tasks)), sizes, self.most_bytes)
        engine = engine_of(many.engine, n_workers, many.ray_address)
        failed = {}
        for done in engine.run(work, tasks, lambda _, n_done, total: self.progress(what, n_done, total)):
            if done.failure is not None:
                if done.error is not None and issubclass(done.error, OutputError):  # a full disk is full for all
                    raise OutputError(done.failure)
                failed[batches[done.index]] = done.failure
        return failed


def _all_failed(failed: Sequence[FailedFile], n_files: int | None = None) -> RecordingError:
    first = failed[0]
    return RecordingError(f"all {n_files or len(failed)} files failed; the first, {first.file}: {first.why}")
