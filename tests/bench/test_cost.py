"""How long it will take: what rows took before counts most, then what a method says of itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rondo.baselines import build_baseline
from rondo.baselines.cost import estimated_seconds
from rondo.bench.cost import Costs
from rondo.bench.plan import Choice, Task, plan
from rondo.bench.run import pending
from rondo.bench.spec import read_data_sets, read_experiment
from tests.bench.made_rows import row


def tasks_of(walks: Path, *methods: str) -> tuple[Task, ...]:
    chosen = Choice((str(walks),), methods, seeds=1)
    return plan(read_experiment("static"), read_data_sets(), chosen, None, Path("out")).tasks


def test_by_rows_of_the_same_set_then_of_others_then_by_the_method(walks: Path) -> None:
    task = tasks_of(walks, "ticc")[0]
    own = row("ann_1", "ticc", 1.0, data_set="walks", seconds=9.0, counts={"n_frames": 300, "n_channels": 2})
    other = row("one", "ticc", 1.0, seconds=50.0)  # 100 frames
    assert Costs([other, replace(own, key=own.key._replace(recording="x"))]).seconds(task) == pytest.approx(27.0)
    assert Costs([other]).seconds(task) == pytest.approx(450.0)
    said = estimated_seconds(build_baseline("ticc"), 900, 2)
    assert Costs([]).seconds(task) == pytest.approx(said)
    failed = replace(other, status="failed")
    assert Costs([failed]).seconds(task) == pytest.approx(said)


def test_recordings_that_are_joined_count_once(walks: Path) -> None:
    (task,) = tasks_of(walks, "compile")
    said = estimated_seconds(build_baseline("compile"), 3 * 900, 2)
    assert Costs([]).seconds(task) == pytest.approx(said)


def test_the_longest_comes_first(walks: Path) -> None:
    planned = plan(
        read_experiment("static"),
        read_data_sets(),
        Choice((str(walks),), ("clock", "autoplait", "ticc"), seeds=1, limit=1),
        None,
        Path("out"),
    )
    left = pending(planned, [])
    assert left.tasks[-1].method_name == "clock"
    assert list(left.seconds) == sorted(left.seconds, reverse=True)
