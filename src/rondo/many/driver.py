"""A run over many files, from the first look to summary.json: one file is one task, and nothing large is held here.

    find files -> survey -> plan -> sample -> fit, in this process -> label -> finish
    `label`:                                  a model that is there -> label -> finish

The parts in the run folder say what is done, so a run that was killed goes on from there.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rondo.config.settings import PreprocessConfig
from rondo.data.groups import GroupBy, groups_of
from rondo.data.recording import Recording
from rondo.data.scaling import UsedChannels, refuse_too_many_axes, used_channels
from rondo.data.signal import Signal, chosen_channels, refuse_shape
from rondo.data.survey import MOST_VALUES, Survey, n_taken, rebased
from rondo.errors import OutputError, RecordingError, RondoWarning, SettingError
from rondo.files.inputs import RecordingFile
from rondo.many.pool import Engine, Local, Serial, n_cores
from rondo.many.ray import ray
from rondo.many.tasks import (
    LABELS,
    SAMPLES,
    SURVEYS,
    TABLES,
    WHOLE,
    DataSet,
    FileBatch,
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
from rondo.model.fit import FitPlan, learn_into, planned
from rondo.model.folder import config_of
from rondo.model.rondo import Rondo
from rondo.result import Result, result_in
from rondo.run.labelling import curve_table
from rondo.run.summary import FailedFile, RunKind, RunSummary
from rondo.run.tally import RunTally, profile_summary
from rondo.run.writer import RunWriter
from rondo.store.folder import PartFolder
from rondo.store.locations import is_url
from rondo.store.model_file import MANIFEST
from rondo.wording import Progress, did_you_mean, silent

if TYPE_CHECKING:
    import polars as pl


ENGINES = ("local", "serial", "ray")
_NO_WORKERS = (
    "worker processes need process groups, which this system (Windows?) lacks: tasks run one after the other, as with "
    "--engine serial"
)


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
    groups: tuple[str, ...]
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
        of_files = tuple(groups[file.id] for file in files)
        return cls(tuple(files), sizes, of_files, group_by, engine, workers, ray_address)

    @property
    def group_of(self) -> dict[str, str]:
        """The group of each recording, by its id."""
        return dict(zip((file.id for file in self.files), self.groups, strict=True))

    def record(self, command: str, settings: Mapping[str, Any]) -> RunRecord:
        """What makes another command the same as this one."""
        first = self.files[0].reading
        columns = [*first.leave_out, *(f"keep {name}" for name in (*first.keep, *first.known_names))]
        reading = {"rate": first.rate, "key": first.key, "label_columns": columns, "session": first.session}
        return RunRecord.of(command, {**settings, **reading, "group_by": self.group_by}, self.files)


DATA_SET = "parts/data_set.json"
StepTask = TypeVar("StepTask", SurveyTask, SampleTask, LabelTask)


def discover_files(many: ManyFiles, model: Rondo, out: str | Path, progress: Progress = silent) -> Result:
    """Learn one vocabulary from all files, label each, and write the run folder; an unfinished one is continued."""
    config = config_of(model)
    _refuse_far_workers(many, out)
    with opened_run(out, many.record("discover", {"config": config.model_dump(mode="json")})) as folder:
        if is_whole(folder):
            return _tidied(folder)
        run = _Run(folder, many, progress)
        data_set, surveys, failed = run.surveyed(config.preprocess)
        if run.has_model():
            model = Rondo.load(run.model)
        else:
            plan, by_id = run.plan(model, data_set, surveys), {file.id: file for file in many.files}
            sample = run.sample(plan, data_set, [by_id[survey.id] for survey in surveys])
            learn_into(model, plan, sample, [many.group_of[signal.id] for signal in sample], progress)
            model.save(run.model)
            del sample
        for under in (WHOLE, SAMPLES):
            folder.remove_under(under)
        known = {survey.id for survey in surveys}
        run.label([file.id in known for file in many.files], was_surveyed=True)
        return run.finished(model, "discover", failed)


def label_files_with(
    many: ManyFiles, model: Rondo, out: str | Path, *, resample: bool = False, progress: Progress = silent
) -> Result:
    """Label all files with a fitted model and write the run folder; an unfinished one is continued."""
    _refuse_far_workers(many, out)
    with opened_run(out, many.record("label", {"model": _fingerprint(model), "resample": resample})) as folder:
        if is_whole(folder):
            return _tidied(folder)
        run = _Run(folder, many, progress)
        if not run.has_model():
            model.save(run.model)
        run.label([True] * len(many.files), resample=resample, is_foreign=True)
        return run.finished(model, "label", [])


def _refuse_far_workers(many: ManyFiles, out: str | Path) -> None:
    """Nodes of a cluster write into the run folder, and one for a bucket grows on this machine."""
    if many.ray_address is not None and is_url(out):
        raise SettingError(f"{out}: a Ray cluster writes where all its nodes can; give a path that they share as --out")


def _fingerprint(model: Rondo) -> str:
    """What differs where a model does."""
    scales = (model.window_length_frames_, model.step_frames_, model.motif_window_frames_, model.rate_)
    seen = (model.preprocessor_.channels, model.preprocessor_.mean.tolist(), model.preprocessor_.scale.tolist())
    found = hashlib.sha256(repr((model.edits_, scales, seen, model.config_)).encode())
    for name, tensor in sorted({**model.unit_model_.tensors(), **model.motif_model_.tensors()}.items()):
        found.update(name.encode() + tensor.tobytes())
    return found.hexdigest()


def _tidied(folder: PartFolder) -> Result:
    """A run that was killed when all was written."""
    close_run(folder)
    return Result.load(folder.path)


class _Run:
    """The stages of a run in its folder; each does what its parts say is left."""

    def __init__(self, folder: PartFolder, many: ManyFiles, progress: Progress) -> None:
        self.folder, self.many, self.progress = folder, many, progress
        self.most_bytes = most_for_a_file()
        self.n_bytes = [size.n_bytes for size in many.sizes]

    def surveyed(self, preprocess: PreprocessConfig) -> tuple[DataSet, list[Survey], list[FailedFile]]:
        """All files in the channels that are used; where some are left out, files are surveyed without them again."""
        data_set = self.data_set(preprocess)
        surveys, failed = self.surveys(data_set)
        used = used_channels(data_set.channels.names, surveys, preprocess)
        if data_set.channels.left_out or not used.left_out:
            return data_set, surveys, failed
        refuse_too_many_axes(len(used.names), preprocess)
        for under in (WHOLE, SURVEYS):
            self.folder.remove_under(under)
        data_set = self._kept(DataSet(used, data_set.rate, preprocess))
        return data_set, *self.surveys(data_set)

    def data_set(self, preprocess: PreprocessConfig) -> DataSet:
        """Channels and rate of the first file that can be read: all others must have them."""
        if DATA_SET in self.folder.names("parts"):
            known = json.loads(self.folder.read(DATA_SET))
            used = UsedChannels(tuple(known["channels"]), tuple(known["left_out"]))
            return DataSet(used, known["rate"], preprocess)
        self.progress("looking", 0, 1)
        why: list[FailedFile] = []
        for file in self.many.files:
            try:
                refuse_too_large(file.url, file.expected(), self.most_bytes)
                recording = file.read()
                channels = chosen_channels(recording, preprocess)
                refuse_shape(recording, channels)
            except RecordingError as error:
                why.append(failure(file, error))
                continue
            refuse_too_many_axes(len(channels), preprocess)
            return self._kept(DataSet(UsedChannels(channels), recording.rate, preprocess))
        raise RecordingError(f"all {len(why)} files failed; the first, {why[0].file}: {why[0].why}")

    def _kept(self, data_set: DataSet) -> DataSet:
        channels = data_set.channels
        known = {"channels": channels.names, "left_out": channels.left_out, "rate": data_set.rate}
        self.folder.write(DATA_SET, json.dumps(known).encode())
        return data_set

    def surveys(self, data_set: DataSet) -> tuple[list[Survey], list[FailedFile]]:
        """A survey of every file that has one, in order, and the others."""
        keeps_signals = sum(self.n_bytes) <= 4 * MOST_VALUES
        fixed = (data_set, keeps_signals, self.most_bytes)
        lost = self._done(
            "survey", survey_files, SURVEYS, lambda batch, files: SurveyTask(self.folder, batch, files, *fixed)
        )
        surveys: list[Survey] = []
        failed = [one for _, one in lost]
        for batch in self._parts(SURVEYS):
            own, others = surveys_in(self.folder, batch)
            surveys, failed = surveys + own, failed + others
        if not surveys:
            raise RecordingError(f"all {len(failed)} files failed; the first, {failed[0].file}: {failed[0].why}")
        return surveys, failed

    def plan(self, model: Rondo, data_set: DataSet, surveys: Sequence[Survey]) -> FitPlan:
        """How all files are prepared, and what is learned from."""
        by_id = {file.id: file for file in self.many.files}

        def read(id: str) -> Recording:
            return by_id[id].read()

        return planned(config_of(model), data_set.channels, surveys, read)

    def sample(self, plan: FitPlan, data_set: DataSet, files: Sequence[RecordingFile]) -> list[Signal]:
        """The stretches that are learned from, as the model sees them."""
        stretches = dict(zip((file.id for file in files), plan.stretches, strict=True))
        asked = [bool(stretches.get(file.id)) for file in self.many.files]
        under = WHOLE
        is_whole = all(own == survey.spans for own, survey in zip(plan.stretches, plan.surveys, strict=True))
        # What a survey keeps was filled by what that recording alone tells.
        is_filled_by_all = plan.preprocessor.fills_by_all and any(survey.n_filled for survey in plan.surveys)
        if not is_whole or is_filled_by_all or not self.folder.names(WHOLE):
            under = SAMPLES

            def task(batch: FileBatch, files: tuple[RecordingFile, ...]) -> SampleTask:
                own = tuple(stretches[file.id] for file in files)
                return SampleTask(self.folder, batch, files, own, data_set, plan.preprocessor)

            for _, lost in self._done("sample", sample_files, SAMPLES, task, asked):
                raise RecordingError(f"{lost.file}: {lost.why}")
        return list(self._stored_sample(under, plan))

    def _stored_sample(self, under: str, plan: FitPlan) -> Iterator[Signal]:
        """Signals in the order of surveys; those of which nothing is learned are empty."""
        surveyed = {survey.id: place for place, survey in enumerate(plan.surveys)}
        found: dict[int, Signal] = {}
        for batch in self._parts(under):
            ids = [file.id for file in self.many.files[batch.first : batch.past]]
            places = [surveyed[id] for id in ids if id in surveyed and plan.stretches[surveyed[id]]]
            lengths = [n_taken(plan.surveys[at].n_frames, plan.surveys[at].spans, plan.stretches[at]) for at in places]
            values = split(stored_array(self.folder, f"{under}/{batch.name}.npy"), lengths)
            for at, own in zip(places, values, strict=True):
                survey, stretches = plan.surveys[at], plan.stretches[at]
                spans = survey.spans if stretches == survey.spans else rebased(stretches)
                channels = plan.preprocessor.channels
                signal = Signal(survey.id, own, survey.rate, channels, spans, len(own), silent=survey.silent)
                found[at] = plan.preprocessor.seen(signal, survey.moments)
        return (found[at] for at in sorted(found))

    @property
    def model(self) -> Path:
        """The folder of the model."""
        return self.folder.path / "model"

    def has_model(self) -> bool:
        """Whether the model was learned, or put here, before."""
        return (self.model / MANIFEST).is_file()

    def label(
        self, asked: Sequence[bool], *, resample: bool = False, is_foreign: bool = False, was_surveyed: bool = False
    ) -> None:
        """Label the files that are asked for."""
        groups = {} if self.many.group_by is None else self.many.group_of
        fixed = (resample, is_foreign, was_surveyed, self.most_bytes)

        def task(batch: FileBatch, files: tuple[RecordingFile, ...]) -> LabelTask:
            return LabelTask(self.folder, batch, files, tuple(groups.get(file.id, "") for file in files), *fixed)

        for batch, lost in self._done("label", label_files, LABELS, task, asked):
            self.folder.write(f"{LABELS}/{batch.name}.json", LabelPart((), (lost,)).as_bytes())

    # ------------------------------------------------------------ the rest of the run folder

    def finished(self, model: Rondo, kind: RunKind, failed: Sequence[FailedFile]) -> Result:
        """Write what is about all recordings, summary.json last, and remove the parts; one is in memory at a time."""
        batches = self._parts(LABELS)
        parts = [LabelPart.read(self.folder, batch) for batch in batches]
        every = [*failed, *(one for part in parts for one in part.failed)]
        if not any(part.recordings for part in parts):
            first = every[0]
            raise RecordingError(f"all {len(self.many.files)} files failed; the first, {first.file}: {first.why}")
        summary = self._summary(batches, parts, model, kind).model_copy(update={"failed": tuple(every)})
        here = self.folder.path
        tables = self._tables(batches, summary, model)
        RunWriter(here).close(summary, tables, lambda page: result_in(here, summary).report(page))
        close_run(self.folder)
        return result_in(here, summary)

    def _tables_of(self, name: str, batches: Sequence[FileBatch]) -> list[Path | None]:
        paths = [self.folder.path / TABLES[name] / f"{batch.name}.parquet" for batch in batches]
        return [path if path.exists() else None for path in paths]

    def _summary(
        self, batches: Sequence[FileBatch], parts: Sequence[LabelPart], model: Rondo, kind: RunKind
    ) -> RunSummary:
        import polars as pl

        tally, is_foreign = RunTally(), kind == "label"
        paths = [self._tables_of(name, batches) for name in ("segments", "unshown_segments")]
        for part, *own in zip(parts, *paths, strict=True):
            tables = [None if path is None else pl.read_parquet(path, glob=False) for path in own]
            tally.add(part.recordings, *tables)
        fitted = profile_summary(fit_profile(model)) if is_foreign else None
        summary = tally.summary(words_of(model), kind=kind, fitted=fitted, **run_fields(model, is_foreign))
        first, *others = summary.recordings
        notes = () if is_foreign else fit_notes(model, [one.n_frames for one in summary.recordings])
        first = first.model_copy(update={"notes": (*first.notes, *notes)})
        return summary.model_copy(update={"recordings": (first, *others)})

    def _tables(
        self, batches: Sequence[FileBatch], summary: RunSummary, model: Rondo
    ) -> dict[str, pl.LazyFrame | pl.DataFrame]:
        """segments, unshown_segments and found, each part after the other; and the curves of training."""
        import polars as pl

        tables: dict[str, pl.LazyFrame | pl.DataFrame] = {}
        for name in TABLES:
            if paths := [path for path in self._tables_of(name, batches) if path is not None]:
                tables[name] = pl.scan_parquet(paths, glob=False)
        if "unshown_segments" in tables:
            kinds = {one.id: one.kind for one in summary.unshown_motifs}
            kind = pl.col("id").replace_strict(kinds, return_dtype=pl.String).alias("kind")
            tables["unshown_segments"] = tables["unshown_segments"].with_columns(kind)
        if (training := curve_table(words_of(model))) is not None:
            tables["training"] = training
        return tables

    # ------------------------------------------------------------ tasks

    def _parts(self, under: str) -> list[FileBatch]:
        return sorted(map(FileBatch.named, self.folder.names(under)))

    def _done(
        self,
        what: str,
        work: Callable[[StepTask], None],
        under: str,
        task_of: Callable[[FileBatch, tuple[RecordingFile, ...]], StepTask],
        asked: Sequence[bool] | None = None,
    ) -> list[tuple[FileBatch, FailedFile]]:
        """Run the tasks of all files that are asked for and have no part yet; those that failed come back.

        A batch whose worker died is tried again file by file, so that only the file that kills is lost.
        """
        done = {place for batch in self._parts(under) for place in range(batch.first, batch.past)}
        places = [at for at in range(len(self.many.files)) if at not in done and (asked is None or asked[at])]
        failed = self._run(what, work, batches_of(places, self.n_bytes), task_of)
        alone = [FileBatch(at, at + 1) for batch in failed if batch.past - batch.first > 1 for at in range(*batch)]
        alone = [batch for batch in alone if asked is None or asked[batch.first]]
        again = self._run(f"{what} again", work, alone, task_of) if alone else {}
        lost = {batch: why for batch, why in {**failed, **again}.items() if batch.past - batch.first == 1}
        return [(batch, FailedFile(file=self.many.files[batch.first].url, why=why)) for batch, why in lost.items()]

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
            sizes = [many.sizes[at] for batch in batches for at in range(*batch)]
            n_workers = workers_that_fit(min(n_workers or n_cores(), len(tasks)), sizes, self.most_bytes)
        engine = engine_of(many.engine, n_workers, many.ray_address)
        failed = {}
        for done in engine.run(work, tasks, lambda _, n_done, total: self.progress(what, n_done, total)):
            if done.failure is not None:
                if done.error is not None and issubclass(done.error, OutputError):  # a full disk is full for all
                    raise OutputError(done.failure)
                failed[batches[done.index]] = done.failure
        return failed
