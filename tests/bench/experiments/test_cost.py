"""How long it will take: what rows took before counts most, then what a method says of itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from rondo.cost import IMPORTS_S, cost_of_fit
from rondo_bench.baselines.baseline import build_baseline, estimated_seconds
from rondo_bench.data_sets.stored import size_of
from rondo_bench.data_sets.verify import EXPECTED_FRAMES
from rondo_bench.experiments.inputs import rondo_for
from rondo_bench.experiments.rows import Row
from rondo_bench.experiments.run import pending
from rondo_bench.experiments.spec import SetSpec, read_data_sets, read_experiment
from rondo_bench.experiments.tasks import Choice, Task, expected_seconds, plan
from tests.bench.experiments.made_rows import row


def tasks_of(walks: Path, *methods: str) -> tuple[Task, ...]:
    chosen = Choice((str(walks),), methods, seeds=1)
    return plan(read_experiment("static"), read_data_sets(), chosen, None, Path("out")).tasks


def test_what_the_method_says_times_what_rows_took_of_the_same_set_else_of_others(walks: Path) -> None:
    task = tasks_of(walks, "ticc")[0]
    small = {"n_frames": 300, "n_channels": 2}
    own = row("x", "ticc", 1.0, data_set="walks", seconds=9.0, counts=small)
    other = row("one", "ticc", 1.0, seconds=50.0)  # 100 frames
    said, of_own, of_other = (
        estimated_seconds(build_baseline("ticc"), *size) for size in ((900, 2), (300, 2), (100, 4))
    )
    assert said and of_own and of_other

    def seconds(*rows: Row) -> float:
        return expected_seconds([task], rows)[0]

    assert seconds(other, own) == pytest.approx(said * 9.0 / of_own)
    assert seconds(other) == pytest.approx(said * 50.0 / of_other)
    assert seconds() == seconds(replace(other, status="failed")) == pytest.approx(said)


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


def test_own_recordings_are_not_read_to_know_their_size(
    tmp_path: Path, walks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"{i / 50:.2f},{i % 7}.5,{i % 3}.25,walk\n" for i in range(5000))
    (tmp_path / "long.csv").write_text("time,x,y,activity\n" + rows)
    monkeypatch.setattr("rondo.files.read.read_recording", None)
    assert size_of(walks / "ann_1.npz") == (900, 2)
    n_frames, n_columns = size_of(tmp_path / "long.csv")
    assert n_frames == pytest.approx(5000, rel=0.02)
    assert n_columns == 4


@pytest.mark.parametrize(
    ("data_set", "recording", "measured"), [("mocap", "amc_86_09", 70), ("actrectut", "subject1_walk", 95)]
)
def test_rondo_costs_what_suggest_says(walks: Path, data_set: str, recording: str, measured: float) -> None:
    sets = read_data_sets()
    of_set = sets[data_set]
    (task, *_) = tasks_of(walks, "rondo-paper")
    task = replace(task, data_set=data_set, recordings=(recording,), of_set=of_set)
    config = rondo_for(task.method, data_set, of_set, "static")
    n_frames = EXPECTED_FRAMES[data_set][recording]
    assert isinstance(of_set.window, int) and isinstance(of_set.step, int)
    said = cost_of_fit(config, [n_frames], of_set.n_channels or 24, of_set.window, of_set.step).seconds
    assert said is not None
    (expected,) = expected_seconds([task], [])
    assert expected == pytest.approx(said - IMPORTS_S)
    assert expected == pytest.approx(measured, rel=0.35)  # CPU seconds on one core


@pytest.mark.parametrize("method", ["rondo", "rondo-fit", "rondo-paper", "e2usd"])
def test_rows_of_a_transfer_say_what_the_same_transfer_takes(walks: Path, method: str) -> None:
    sets = {**read_data_sets(), "walks": SetSpec(window=60, step=20, subject="^([a-z]+)")}
    chosen = Choice((str(walks),), (method,), seeds=1)
    ann_to_bob, bob_to_ann = plan(read_experiment("transfer"), sets, chosen, None, Path("out")).tasks
    about = {"experiment": "transfer", "data_set": "walks", "counts": {"n_frames": 900, "n_channels": 2}}
    rows = [row(id, method, 1.0, source="bob", seconds=20.0, **about) for id in bob_to_ann.recordings]
    assert expected_seconds([ann_to_bob, bob_to_ann], rows)[1] == pytest.approx(40.0, rel=0.01)
    by_task = [expected_seconds([own], [])[0] for own in (bob_to_ann, ann_to_bob)]
    if method == "rondo-fit":  # each target is learned from again
        assert by_task[0] > 1.3 * by_task[1]
