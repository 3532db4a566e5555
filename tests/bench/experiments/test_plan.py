"""Which tasks an experiment has, and which rows each gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rondo.errors import SettingError
from rondo_bench.experiments.spec import SetSpec, read_data_sets, read_experiment
from rondo_bench.experiments.tasks import Choice, Plan, plan

PEOPLE = SetSpec(subject="^([a-z]+)")


def planned(experiment: str, walks: Path, *methods: str, **choice: object) -> Plan:
    sets = {**read_data_sets(), "walks": PEOPLE}
    chosen = Choice((str(walks),), methods, **choice)  # type: ignore[arg-type]
    return plan(read_experiment(experiment), sets, chosen, None, Path("out"))


def test_a_task_for_each_recording_method_and_seed(walks: Path) -> None:
    tasks = planned("static", walks, "kmeans", seeds=2).tasks
    rows = [(key.recording, key.seed) for task in tasks for key in task.keys]
    assert rows == [(id, seed) for seed in (0, 1) for id in ("ann_1", "ann_2", "bob_1")]
    assert {key.data_set for task in tasks for key in task.keys} == {"walks"}


def test_a_method_that_joins_recordings_is_one_task(walks: Path) -> None:
    (task,) = planned("static", walks, "compile").tasks
    assert task.recordings == task.learned_from == ("ann_1", "ann_2", "bob_1")
    part = task.only(task.keys[1:2])
    assert (part.recordings, part.learned_from) == (("ann_2",), task.learned_from)
    assert part.keys == task.keys[1:2]


def test_rows_of_joined_recordings_depend_on_which(walks: Path) -> None:
    (whole,), (part,) = (planned("static", walks, "compile", limit=limit).tasks for limit in (None, 2))
    assert whole.keys[0] != part.keys[0]


def test_transfer_goes_from_each_person_to_the_others(walks: Path) -> None:
    tasks = planned("transfer", walks, "rondo").tasks
    assert [(task.source, task.learned_from, task.recordings) for task in tasks] == [
        ("ann", ("ann_1", "ann_2"), ("bob_1",)),
        ("bob", ("bob_1",), ("ann_1", "ann_2")),
    ]


@pytest.mark.parametrize(
    ("choice", "message"),
    [({"recordings": ("bob_2",)}, "unknown recording: 'bob_2'; did you mean 'bob_1'"),
     ({"methods": ("k-means",)}, "unknown method of 'static': 'k-means'; did you mean 'kmeans'")],
)  # fmt: skip
def test_what_there_is_not_is_refused(walks: Path, choice: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        planned("static", walks, *choice.pop("methods", ("clock",)), **choice)


def test_sets_that_are_not_here_are_left_out_with_a_note(walks: Path) -> None:
    experiment = read_experiment("static").model_copy(update={"data_sets": ("mocap", str(walks))})
    found = plan(experiment, read_data_sets(), Choice(methods=("clock",)), walks.parent, Path("out"))
    assert {task.set_name for task in found.tasks} == {"walks"}
    assert len(found.notes) == 1 and found.notes[0].startswith("mocap is left out: ")


def test_a_copy_with_other_counts_is_told(tmp_path: Path) -> None:
    (tmp_path / "MoCap").mkdir()
    np.savez(tmp_path / "MoCap" / "amc_86_01.npz", X=np.zeros((10, 4)), y=np.zeros(10))
    found = plan(read_experiment("static"), read_data_sets(), Choice(("mocap",), ("clock",)), tmp_path, Path("out"))
    assert len(found.tasks) == 1
    assert "mocap has 1 recording here" in found.notes[0]


def test_what_needs_weights_is_left_out_with_a_note(walks: Path) -> None:
    found = planned("representation", walks, "mantis", "rondo", seeds=1)
    assert {task.method_name for task in found.tasks} == {"rondo"}
    assert "MantisV2's weights with --mantis" in found.notes[0]


def test_a_mistake_in_settings_says_whose(walks: Path) -> None:
    experiment = read_experiment("static")
    wrong = experiment.methods["rondo"].model_copy(update={"settings": {"evidence.surogates": 0}})
    changed = experiment.model_copy(update={"methods": {"rondo": wrong}})
    with pytest.raises(SettingError, match=r"'rondo' of 'static': .*'evidence.surogates'"):
        plan(changed, read_data_sets(), Choice((str(walks),)), None, Path("out"))


def test_two_folders_of_one_name_are_refused(walks: Path, tmp_path: Path) -> None:
    (tmp_path / "walks").mkdir()
    np.savez(tmp_path / "walks" / "ann_1.npz", X=np.zeros((10, 4)), y=np.zeros(10))
    both = Choice((str(walks), str(tmp_path / "walks")), ("clock",))
    with pytest.raises(SettingError, match="called 'walks'; rename"):
        plan(read_experiment("static"), read_data_sets(), both, None, Path("out"))
