"""Experiment -> tasks: what is to be run, each with the rows that it gives; and how long that will take.

A task is one recording for most methods; all recordings of a set for a method that joins them; all targets of one
source participant for transfer.

Time is estimated by what a method says of itself, Rondo as `rondo suggest` does, and by how much longer earlier rows
took: some methods grow with the square of a recording, so that seconds per frame of short ones say little about long
ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rondo.config.settings import WindowsConfig
from rondo.cost import IMPORTS_S, cost_of_fit
from rondo.errors import InputError, SettingError
from rondo.wording import counted, did_you_mean
from rondo_bench.baselines.baseline import estimated_seconds
from rondo_bench.data_sets.catalogue import CLAP, DATA_SETS, find_data_set, is_known
from rondo_bench.data_sets.read import find_copy
from rondo_bench.data_sets.series import find_labels
from rondo_bench.data_sets.stored import size_of
from rondo_bench.data_sets.verify import EXPECTED_FRAMES
from rondo_bench.experiments.inputs import (
    PLANTED,
    PLANTED_FRAMES,
    PLANTED_PLAN,
    baseline_for,
    config_of,
    fingerprint,
    joins,
    recording_ids,
    rondo_for,
    trains_networks,
)
from rondo_bench.experiments.rows import Key, Row
from rondo_bench.experiments.spec import Experiment, Method, Protocol, SetSpec
from rondo_bench.metrics.published import INITIAL_PERCENT


@dataclass(frozen=True)
class Task:
    """One piece of work, as a plain value that can be sent to another process."""

    experiment: str
    protocol: Protocol
    data_set: str
    data: Path | None  # the folder of data sets
    of_set: SetSpec
    recordings: tuple[str, ...]  # one row each
    method_name: str
    method: Method
    seed: int
    fingerprint: str
    kept_in: Path  # the folder of the rows
    learned_from: tuple[str, ...] = ()  # recordings, where it is not the one that is labelled
    source: str = ""  # the participant of those, in transfer
    device: str = "auto"
    mantis: str = ""
    wants_gpu: bool = False  # where there is one; the engine asks

    @property
    def keys(self) -> tuple[Key, ...]:
        own = (self.source, self.method_name, self.seed, self.fingerprint)
        return tuple(Key(self.experiment, self.set_name, recording, *own) for recording in self.recordings)

    @property
    def set_name(self) -> str:
        return Path(self.data_set).name  # a folder of one's own goes by its name

    @property
    def is_of_folder(self) -> bool:
        """Whether its recordings are of a folder of one's own, not of a set with a name of its own."""
        return Path(self.data_set).is_absolute()

    def only(self, keys: Sequence[Key]) -> Task:
        """The same for some of its rows; what it learns from stays."""
        return replace(self, recordings=tuple(key.recording for key in keys))


class Choice(NamedTuple):
    """What of an experiment is run; empty or None: all of it."""

    data_sets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    recordings: tuple[str, ...] = ()
    limit: int | None = None  # recordings of each set
    seeds: int | None = None


EVERYTHING = Choice()


class Plan(NamedTuple):
    tasks: tuple[Task, ...]
    notes: tuple[str, ...] = ()


def plan(
    experiment: Experiment,
    sets: Mapping[str, SetSpec],
    choice: Choice,
    data: Path | None,
    out: Path,
    device: str = "auto",
    mantis: str = "",
) -> Plan:
    """All tasks of an experiment; sets that were not asked for by name and are not at hand are left out."""
    names = choice.methods or tuple(experiment.methods)
    refuse_unknown(names, tuple(experiment.methods), f"method of '{experiment.name}'")
    tasks: list[Task] = []
    notes: list[str] = []
    found: list[str] = []
    named: set[str] = set()
    for data_set in choice.data_sets or experiment.data_sets:
        name = set_name(data_set, sets)
        of_set = sets.get(Path(name).name, SetSpec())
        try:
            every = recording_ids(name, data)
        except InputError as error:
            if choice.data_sets or len(experiment.data_sets) == 1:
                raise
            notes.append(f"{name} is left out: {error}")
            continue
        if Path(name).name in named:
            raise SettingError(f"two data sets are called '{Path(name).name}'; rename one of the folders")
        named.add(Path(name).name)
        found += every
        known = next((own for own in DATA_SETS if own.name == name), None)
        if known is not None and known.n_recordings != len(every):  # rows that cannot be compared with the paper's
            notes.append(
                f"{name} has {counted(len(every), 'recording')} here, expected {known.n_recordings}; rows are not of "
                f"the whole set (`rondo datasets verify {name}` says more)"
            )
        if name not in sets and is_known(name):
            notes.append(f"the file of data sets has no [{name}]: windows are chosen from the data")
        ids = tuple(id for id in every if not choice.recordings or id in choice.recordings)[: choice.limit]
        for method_name in names:
            method = experiment.methods[method_name]
            if method.needs == "mantis" and not mantis:
                notes.append(f"{name}, {method_name} is left out: give the folder of MantisV2's weights with --mantis")
                continue
            if method.stored and find_labels(Path(name).name, method.stored, data) is None:
                notes.append(
                    f"{name}, {method_name} is left out: its labels are not at hand; give --data a clone of {CLAP}"
                )
                continue
            try:
                config, baseline = config_of(method, Path(name).name, of_set, experiment.protocol, mantis)
            except SettingError as error:
                raise SettingError(f"method '{method_name}' of '{experiment.name}': {error}") from None
            # A GPU that is asked for by name must be seen, whatever is trained; else it is left to those it helps.
            wants_gpu = "encoder" in config if device == "cuda" else device == "auto" and trains_networks(config)
            about = (experiment.name, experiment.protocol, name, data, of_set, (), method_name, method)
            whole = Task(*about, 0, "", out, device=device, mantis=mantis, wants_gpu=wants_gpu)
            parts = list(_parts(experiment.protocol, of_set, ids, joins(method, baseline)))
            for seed in range(method.n_seeds(choice.seeds or experiment.seeds)):
                for recordings, learned_from, source in parts:
                    made_with = fingerprint(config, experiment.protocol, learned_from)
                    part = replace(whole, recordings=recordings, seed=seed, fingerprint=made_with)
                    tasks.append(replace(part, learned_from=learned_from, source=source))
        if experiment.protocol == "transfer" and len({of_set.subject_of(id) for id in ids}) < 2:
            notes.append(f"{name} has recordings of one participant only: nothing to transfer")
    refuse_unknown(choice.recordings, found, "recording")
    return Plan(tuple(tasks), tuple(dict.fromkeys(notes)))


def _parts(
    protocol: Protocol, of_set: SetSpec, ids: tuple[str, ...], together: bool
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], str]]:
    """Of each task: the recordings of its rows, those learned from where they are others, and their participant.

    In transfer there is one for each source participant and group of comparable recordings.
    """
    if protocol != "transfer":
        yield from ([(ids, ids, "")] if together else [((id,), (), "") for id in ids])
        return
    for group in dict.fromkeys(map(of_set.group_of, ids)):
        subjects = {id: of_set.subject_of(id) for id in ids if of_set.group_of(id) == group}
        for source in dict.fromkeys(subjects.values()):
            targets = tuple(id for id, subject in subjects.items() if subject != source)
            if targets:
                yield targets, tuple(id for id, subject in subjects.items() if subject == source), source


def set_name(given: str, sets: Mapping[str, SetSpec]) -> str:
    """The name by which specs know a data set, whatever its case and punctuation; the whole path of a folder."""
    if given in sets:
        return given
    if os.sep in given or "/" in given or (not is_known(given) and Path(given).is_dir()):
        return str(Path(given).absolute().resolve())
    near = {"".join(c for c in name if c.isalnum()): name for name in sets if name not in {s.name for s in DATA_SETS}}
    plain = "".join(c for c in given.lower() if c.isalnum())
    return near[plain] if plain in near else find_data_set(given).name


def refuse_unknown(given: Sequence[str], known: Sequence[str], what: str) -> None:
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known, f"there are {', '.join(known[:20])}")
            raise SettingError(f"unknown {what}: '{name}'; {hint}")


_PER_WINDOW = 2e-3  # seconds of a baseline that does not say: DenStream, DBSTREAM
_UNMEASURED = (10.0, 0.04)  # seconds of Rondo with an encoder that was never measured: once, and for each window
_READ_PER_WINDOW = 1e-3  # seconds, of a recording that Rondo labels or follows and has not learned from
_USUAL_WINDOW, _USUAL_STEP = 75, 20  # frames, where they come from the data
_AT_LEAST = 0.05  # seconds: what reading and scoring take


def expected_seconds(tasks: Sequence[Task], rows: Sequence[Row]) -> list[float]:
    """Of each task on one core, about: what its method says, times how much longer than that earlier rows took.

    That factor is the median over rows of the same method and set, else over those of the method on all sets.
    """
    examples = {(task.method_name, task.set_name): task for task in tasks}
    examples |= {(task.method_name, ""): task for task in tasks}
    sizes = {
        (row.key.data_set, row.key.recording): (row.counts["n_frames"], row.counts["n_channels"])
        for row in rows
        if "n_frames" in row.counts
    }
    factors: dict[tuple[str, str], list[float]] = {}
    for row in (row for row in rows if "n_frames" in row.counts and row.is_ok):
        data_set, method = row.key.data_set, row.key.method
        example = examples.get((method, data_set)) or examples.get((method, ""))
        said = 0.0 if example is None else _said_of_row(example, row, sizes)
        for name in (data_set, "") if said else ():
            factors.setdefault((method, name), []).append(row.seconds / said)

    def seconds(task: Task) -> float:
        seen = factors.get((task.method_name, task.set_name)) or factors.get((task.method_name, ""), [1.0])
        return max(_AT_LEAST, median(seen) * _said_of_task(task, sizes))

    return [seconds(task) for task in tasks]


Sizes = Mapping[tuple[str, str], tuple[int, int]]  # frames and channels of recordings that rows are about


def _said_of_task(task: Task, sizes: Sizes) -> float:
    known = {
        id: sizes.get((task.set_name, id)) or _expected_size(task, id)
        for id in dict.fromkeys((*task.recordings, *task.learned_from))
    }
    read, learned = ([known[id][0] for id in ids] for ids in (task.recordings, task.learned_from))
    return _said_seconds(task, learned or read, read, next(iter(known.values()))[1])


def _said_of_row(example: Task, row: Row, sizes: Sizes) -> float:
    """What a task like this one says of a row: in transfer the part of the whole that is its recording's."""
    n_frames, n_channels = row.counts["n_frames"], row.counts["n_channels"]
    if example.protocol != "transfer":
        return _said_seconds(example, [n_frames], [n_frames], n_channels)
    every = sum((sizes.get((example.set_name, id)) or _expected_size(example, id))[0] for id in example.recordings)
    return _said_of_task(example, sizes) * n_frames / max(every, 1)


def _said_seconds(task: Task, learned: Sequence[int], read: Sequence[int], n_channels: int) -> float:
    """`learned`, `read`: frames of each recording that is learned from, and that is labelled."""
    if task.method.clock or task.method.stored:
        return 0.0
    if not task.method.baseline:
        return _seconds_of_rondo(task, learned, read, n_channels)
    n_frames = sum(read) + (sum(learned) if task.source else 0)
    baseline = baseline_for(task.method, task.set_name, task.of_set)
    said = estimated_seconds(baseline, n_frames, n_channels)
    return _PER_WINDOW * n_frames / _window_and_step(task.of_set)[1] if said is None else said


def _seconds_of_rondo(task: Task, learned: Sequence[int], read: Sequence[int], n_channels: int) -> float:
    """As `rondo suggest` says it, but for the imports, which a worker makes once for all of its tasks."""
    config = rondo_for(task.method, task.set_name, task.of_set, task.protocol, task.mantis)
    length, step = _window_and_step(config.windows if isinstance(config.windows.length, int) else task.of_set)

    def of_fit(frames: Sequence[int]) -> float:
        seconds = cost_of_fit(config, frames, n_channels, length, step).seconds
        return _UNMEASURED[0] + _UNMEASURED[1] * sum(frames) / step if seconds is None else seconds - IMPORTS_S

    reading = _READ_PER_WINDOW * sum(read) / step
    if task.protocol == "continual":
        return of_fit([n_frames * INITIAL_PERCENT // 100 for n_frames in learned]) + reading
    fitted_again = read if task.method.refit_motifs or task.method.adapt_units else ()
    again = sum(of_fit([n_frames]) for n_frames in fitted_again)
    return of_fit(learned) + again + (reading if task.source else 0.0)


def _window_and_step(own: SetSpec | WindowsConfig) -> tuple[int, int]:
    """In frames; as is usual where they come from the data or are times."""
    window, step = (own.window, own.step) if isinstance(own, SetSpec) else (own.length, own.step)
    return window if isinstance(window, int) else _USUAL_WINDOW, step if isinstance(step, int) else _USUAL_STEP


def _expected_size(task: Task, recording: str) -> tuple[int, int]:
    """Frames and channels of a recording: of a set that we know its own or their mean, else by its file.

    What cannot be read counts nothing here: its row will say why.
    """
    if task.data_set in PLANTED:
        return PLANTED_FRAMES, PLANTED_PLAN.n_channels
    known = next((own for own in DATA_SETS if own.name == task.data_set), None)
    if known is not None:
        counted_frames = EXPECTED_FRAMES.get(known.name, {}).get(recording)
        n_frames = counted_frames or known.n_frames // known.n_recordings
        return n_frames, task.of_set.n_channels or known.n_channels
    try:
        return size_of(_paths(task.data_set)[recording])
    except (InputError, OSError):
        return 0, 1


@cache
def _paths(folder: str) -> dict[str, Path]:
    copy = find_copy(folder)
    return dict(zip(copy.ids, copy.paths, strict=True))
