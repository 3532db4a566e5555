"""Experiment -> tasks: what is to be run, each with the rows that it gives; and how long that will take.

A task is one recording for most methods; all recordings of a set for a method that joins them; all targets of one
source participant for transfer.

Time is estimated by what earlier rows took, else by what a method says of itself, else by our measure. Rows of other
sets tell how this machine compares with what a method says of itself: some methods grow with the square of a recording,
so that seconds per frame of short ones say little about long ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from statistics import median

from rondo.errors import InputError, SettingError
from rondo.wording import counted, did_you_mean
from rondo_bench.baselines.baseline import estimated_seconds
from rondo_bench.data_sets.catalogue import CLAP, DATA_SETS, find_data_set, is_known
from rondo_bench.data_sets.read import find_copy
from rondo_bench.data_sets.series import find_labels
from rondo_bench.data_sets.stored import size_of
from rondo_bench.experiments.inputs import (
    PLANTED,
    PLANTED_FRAMES,
    PLANTED_PLAN,
    baseline_for,
    config_of,
    fingerprint,
    joins,
    recording_ids,
    trains_networks,
)
from rondo_bench.experiments.rows import Key, Row
from rondo_bench.experiments.spec import Experiment, Method, Protocol, SetSpec


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


@dataclass(frozen=True)
class Choice:
    """What of an experiment is run; empty or None: all of it."""

    data_sets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    recordings: tuple[str, ...] = ()
    limit: int | None = None  # recordings of each set
    seeds: int | None = None


EVERYTHING = Choice()


@dataclass(frozen=True)
class Plan:
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


# Seconds of Rondo on one core: once, and for each window (benchmarks/scale.py, docs/results/motifs.md).
_SECONDS_OF_RONDO = {"default": (0.2, 2e-4), "paper": (10.0, 0.04)}
_PER_WINDOW = 2e-3  # seconds of a baseline that does not say: DenStream, DBSTREAM
_AT_LEAST = 0.05  # seconds: what reading and scoring take


@dataclass(frozen=True)
class Costs:
    """What is known about cost from the rows that are there."""

    rows: Sequence[Row]

    @cached_property
    def _per_frame(self) -> dict[tuple[str, str], float]:
        """Seconds per frame, median, by method and data set, and by method over all sets (under "")."""
        seen: dict[tuple[str, str], list[float]] = {}
        for row in self.rows:
            if row.is_ok and row.counts.get("n_frames"):
                for data_set in (row.key.data_set, ""):
                    rate = row.seconds / row.counts["n_frames"]
                    seen.setdefault((row.key.method, data_set), []).append(rate)
        return {key: median(rates) for key, rates in seen.items()}

    @cached_property
    def _sizes(self) -> dict[tuple[str, str], tuple[int, int]]:
        return {
            (row.key.data_set, row.key.recording): (row.counts["n_frames"], row.counts["n_channels"])
            for row in self.rows
            if "n_frames" in row.counts
        }

    def seconds(self, task: Task) -> float:
        recordings = dict.fromkeys((*task.recordings, *task.learned_from))
        sizes = [self._size(task, recording) for recording in recordings]
        n_frames = sum(frames for frames, _ in sizes)
        rates = [self._per_frame.get((task.method_name, data_set)) for data_set in (task.set_name, "")]
        rate = rates[0] or (rates[1] if self._slowdown(task) is None else None)
        if rate is not None:
            return max(_AT_LEAST, rate * sum(frames for frames, _ in sizes[: len(task.recordings)]))
        return max(_AT_LEAST, (self._slowdown(task) or 1.0) * _unseen(task, n_frames, sizes[0][1]))

    def _slowdown(self, task: Task) -> float | None:
        """How much longer than it says the method has taken, median over the rows of all sets; None where unknown."""
        if not task.method.baseline:
            return None
        baseline = baseline_for(task.method, task.set_name, task.of_set)
        if joins(task.method, baseline):  # a row has a share of its time, not the time of its own
            return None
        ratios = []
        for row in self.rows:
            if row.is_ok and row.key.method == task.method_name and "n_frames" in row.counts:
                said = estimated_seconds(baseline, row.counts["n_frames"], row.counts["n_channels"])
                ratios += [row.seconds / said] if said else []
        return median(ratios) if ratios else None

    def _size(self, task: Task, recording: str) -> tuple[int, int]:
        known = self._sizes.get((task.set_name, recording))
        return known or _expected_size(task.data_set, task.data, recording, task.of_set.n_channels)


def _unseen(task: Task, n_frames: int, n_channels: int) -> float:
    n_windows = n_frames / (task.of_set.step if isinstance(task.of_set.step, int) else 20)
    if task.method.clock or task.method.stored:
        return 0.0
    if task.method.baseline:
        baseline = baseline_for(task.method, task.set_name, task.of_set)
        said = estimated_seconds(baseline, n_frames, n_channels)
        return _PER_WINDOW * n_windows if said is None else said
    once, per_window = _SECONDS_OF_RONDO["default" if task.method.preset == "default" else "paper"]
    return once * len(task.recordings) + per_window * n_windows


@cache
def _expected_size(data_set: str, data: Path | None, recording: str, n_channels: int) -> tuple[int, int]:
    """Frames and channels of a recording: of a set that we know its mean, else by its file.

    What cannot be read counts nothing here: its row will say why.
    """
    if data_set in PLANTED:
        return PLANTED_FRAMES, PLANTED_PLAN.n_channels
    known = next((own for own in DATA_SETS if own.name == data_set), None)
    if known is not None:
        return known.n_frames // known.n_recordings, n_channels or known.n_channels
    try:
        return size_of(_paths(data_set, data)[recording])
    except (InputError, OSError):
        return 0, 1


@cache
def _paths(data_set: str, data: Path | None) -> dict[str, Path]:
    copy = find_copy(data_set, data)
    return dict(zip(copy.ids, copy.paths, strict=True))
