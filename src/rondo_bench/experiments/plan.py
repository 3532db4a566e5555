"""Experiment -> tasks: what is to be run, each with the rows that it gives.

A task is one recording for most methods; all recordings of a set for a method that joins them; all targets of one
source participant for transfer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rondo.errors import InputError, SettingError
from rondo.wording import counted, did_you_mean
from rondo_bench.data_sets.catalogue import CLAP, DATA_SETS, find_data_set, is_known
from rondo_bench.data_sets.clap_labels import find_labels
from rondo_bench.experiments.configured import config_of, fingerprint, joins, trains_networks
from rondo_bench.experiments.inputs import recording_ids
from rondo_bench.experiments.rows import Key
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
        """Of the rows that it gives."""
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
    """Tasks, and what was left out and why."""

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
        notes += _other_counts(name, len(every))
        if name not in sets and is_known(name):
            notes.append(f"the file of data sets has no [{name}]: windows are chosen from the data")
        ids = chosen_ids(every, choice)
        for method_name in names:
            method = experiment.methods[method_name]
            if method.published:
                continue
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
            together = ids if joins(method, baseline) else ()
            own = _OneMethod(experiment, name, data, of_set, method_name, method, config, together, out, device, mantis)
            for seed in range(method.n_seeds(choice.seeds or experiment.seeds)):
                tasks += own.tasks(ids, seed)
        if experiment.protocol == "transfer" and len({of_set.subject_of(id) for id in ids}) < 2:
            notes.append(f"{name} has recordings of one participant only: nothing to transfer")
    refuse_unknown(choice.recordings, found, "recording")
    return Plan(tuple(tasks), tuple(dict.fromkeys(notes)))


@dataclass(frozen=True)
class _OneMethod:
    experiment: Experiment
    data_set: str
    data: Path | None
    of_set: SetSpec
    name: str
    method: Method
    config: Mapping[str, Any]
    together: tuple[str, ...]
    out: Path
    device: str
    mantis: str

    def tasks(self, ids: tuple[str, ...], seed: int) -> list[Task]:
        if self.experiment.protocol == "transfer":
            return self._transfers(ids, seed)
        if self.together:
            return [self._task(ids, seed, self.together)]
        return [self._task((id,), seed) for id in ids]

    def _transfers(self, ids: tuple[str, ...], seed: int) -> list[Task]:
        """One task per source participant and group of comparable recordings."""
        subject, group = self.of_set.subject_of, self.of_set.group_of
        tasks = []
        for own_group in dict.fromkeys(map(group, ids)):
            members = [id for id in ids if group(id) == own_group]
            for source in dict.fromkeys(map(subject, members)):
                sources = tuple(id for id in members if subject(id) == source)
                targets = tuple(id for id in members if subject(id) != source)
                if targets:
                    tasks.append(self._task(targets, seed, sources, source))
        return tasks

    def _task(
        self, recordings: tuple[str, ...], seed: int, learned_from: tuple[str, ...] = (), source: str = ""
    ) -> Task:
        return Task(
            self.experiment.name,
            self.experiment.protocol,
            self.data_set,
            self.data,
            self.of_set,
            recordings,
            self.name,
            self.method,
            seed,
            fingerprint(self.config, self.experiment.protocol, learned_from),
            self.out,
            learned_from,
            source,
            self.device,
            self.mantis,
            # Asked for by name it must be seen, whatever is trained; else it is left to those whom it helps.
            "encoder" in self.config
            if self.device == "cuda"
            else self.device == "auto" and trains_networks(self.config),
        )


def set_name(given: str, sets: Mapping[str, SetSpec]) -> str:
    """The name by which specs know a data set, whatever its case and punctuation; the whole path of a folder."""
    if given in sets:
        return given
    if os.sep in given or "/" in given or (not is_known(given) and Path(given).is_dir()):
        return str(Path(given).absolute().resolve())
    near = {"".join(c for c in name if c.isalnum()): name for name in sets if name not in {s.name for s in DATA_SETS}}
    plain = "".join(c for c in given.lower() if c.isalnum())
    return near[plain] if plain in near else find_data_set(given).name


def chosen_ids(ids: tuple[str, ...], choice: Choice) -> tuple[str, ...]:
    """Which recordings of a set are run."""
    return tuple(id for id in ids if not choice.recordings or id in choice.recordings)[: choice.limit]


def _other_counts(data_set: str, n_recordings: int) -> list[str]:
    """A copy that is not what the paper had makes rows that cannot be compared with its own."""
    known = next((own for own in DATA_SETS if own.name == data_set), None)
    if known is None or known.n_recordings == n_recordings:
        return []
    return [
        f"{data_set} has {counted(n_recordings, 'recording')} here, expected {known.n_recordings}; rows are not of "
        f"the whole set (`rondo datasets verify {data_set}` says more)"
    ]


def refuse_unknown(given: Sequence[str], known: Sequence[str], what: str) -> None:
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known, f"there are {', '.join(known[:20])}")
            raise SettingError(f"unknown {what}: '{name}'; {hint}")
