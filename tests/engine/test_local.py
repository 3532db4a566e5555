"""Processes of this machine: nothing lost whoever dies, one thread each, GPUs by turns, all ended with the run."""

from __future__ import annotations

import os
import threading
from itertools import pairwise
from pathlib import Path

import pytest

from rondo.errors import SettingError
from rondo.many import pool as local_module
from rondo.many.driver import Serial, engine_of
from rondo.many.pool import ONE_THREAD, Local, hold_to_one_thread
from tests.engine import works
from tests.engine.processes import PATIENCE_S, are_gone, is_there, said_by
from tests.systems import needs_posix

pytestmark = needs_posix


def test_gives_what_serial_gives_failures_too() -> None:
    tasks = [1, 2, 3, 4, 5]
    ours = {one.index: (one.result, one.failure) for one in Local(2).run(works.ten_times, tasks)}
    assert ours == {one.index: (one.result, one.failure) for one in Serial().run(works.ten_times, tasks)}


@pytest.mark.slow
def test_numbers_are_those_of_serial_to_the_bit() -> None:
    ours = {one.index: one.result for one in Local(1).run(works.first_digits, [0, 1])}
    assert ours == {one.index: one.result for one in Serial().run(works.first_digits, [0, 1])}


@pytest.mark.slow
def test_a_killed_worker_is_tried_again_and_the_rest_goes_on(tmp_path: Path) -> None:
    notes = [works.Note(tmp_path, name) for name in ("ever", "once", "a", "b")]
    done = {one.index: one for one in Local(2).run(works.killed_the_first_time, notes)}
    assert set(list(done)[:2]) == {2, 3}  # what is tried again comes last, when memory is free
    assert [done[i].result for i in range(4)] == [None, "once", "a", "b"]
    assert done[0].failure is not None and "2 times" in done[0].failure and "SIGKILL" in done[0].failure
    assert done[0].seconds > 0


def test_a_worker_that_ends_itself_is_a_failure() -> None:
    (done,) = Local(1).run(works.ends_itself, [0])
    assert "exit code 7" in str(done.failure)


def test_a_death_is_noticed_while_a_child_holds_the_pipe(tmp_path: Path) -> None:
    (done,) = Local(1).run(works.dies_beside_a_child, [works.Note(tmp_path, "child")])
    assert done.failure is not None and "SIGKILL" in done.failure
    assert are_gone([int((tmp_path / "child").read_text())])


def test_one_worker_serves_many_tasks_and_ends_with_the_run() -> None:
    pids = {one.result for one in Local(1).run(works.process_of, list(range(5)))}
    (pid,) = pids
    assert pid not in (None, os.getpid()) and are_gone([pid])


def test_no_more_workers_than_asked_for() -> None:
    assert len({one.result for one in Local(2).run(works.process_of, list(range(6)))}) <= 2


@pytest.mark.slow
def test_one_thread_each_and_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "3")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    (done,) = Local(1).run(works.surroundings, [0])
    assert done.result is not None
    assert set(done.result["threads"]) == {1} and done.result["torch"] == 1 and done.result["cuda"] == ""
    assert done.result["variables"] == ONE_THREAD and done.result["oom_score"] in (500, None)


def test_libraries_that_are_loaded_are_held_to_one_thread() -> None:
    import torch
    from threadpoolctl import threadpool_info, threadpool_limits

    threadpool_limits(2)
    torch.set_num_threads(2)
    hold_to_one_thread()
    assert {pool["num_threads"] for pool in threadpool_info()} == {1} and torch.get_num_threads() == 1


def test_peak_memory_is_that_of_the_task() -> None:
    done = {one.index: one.peak_mb for one in Local(1).run(works.holds, [1, 300, 1])}
    assert done[1] > 300 > done[0] and done[2] < 0.5 * done[1]


def test_tasks_that_want_the_gpu_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_module, "visible_gpus", lambda: ["7"])
    notes = [works.Note(tmp_path, str(i), wants_gpu=i < 3) for i in range(6)]
    done = {one.index: one.result for one in Local(2).run(works.overlapping, notes)}
    seen = {i: result for i, result in done.items() if result is not None}
    assert [seen[i][0] for i in range(6)] == ["7"] * 3 + [""] * 3
    on_gpu = sorted(seen[i][1:] for i in range(3))
    assert all(before[1] <= after[0] for before, after in pairwise(on_gpu))


def test_gpus_are_those_that_this_process_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert local_module.visible_gpus() == ["0", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, 5")
    assert local_module.visible_gpus() == ["3", "5"]


def test_where_there_is_no_gpu_all_workers_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_module, "visible_gpus", list)
    notes = [works.Note(tmp_path, str(i), wants_gpu=True) for i in range(2)]
    assert [one.result[0] for one in Local(2).run(works.overlapping, notes) if one.result] == ["", ""]


def test_what_cannot_be_sent_is_said() -> None:
    (done,) = Local(1).run(works.gives_what_cannot_be_sent, [0])
    assert done.failure is not None and "result cannot be sent" in done.failure
    (unsent,) = Local(1).run(works.process_of, [lambda: None])  # type: ignore[list-item]
    assert unsent.failure is not None and "task cannot be sent" in unsent.failure
    with pytest.raises(SettingError, match="top of a module"):
        list(Local(1).run(lambda task: task, [0]))


def test_notes_reach_the_user_and_other_warnings_do_not(capfd: pytest.CaptureFixture[str]) -> None:
    (done,) = Local(1).run(works.warns, [4])
    said = capfd.readouterr()
    assert done.result == 4 and said.out == ""
    assert sorted(said.err.splitlines()) == ["a library talks", "note: a channel is constant"]


def test_progress_counts_what_has_ended() -> None:
    told: list[tuple[str, int, int]] = []
    list(Local(1).run(works.ten_times, [1, 4], lambda *said: told.append(said)))
    assert told == [("tasks", 0, 2), ("tasks", 1, 2), ("tasks", 2, 2)]


def test_workers_go_on_while_the_caller_looks_at_a_result(tmp_path: Path) -> None:
    run = Local(1).run(works.sleeps, [works.Note(tmp_path, name) for name in ("now", "here")])
    next(run)
    assert said_by(tmp_path / "here")
    run.close()  # type: ignore[attr-defined]


def test_left_early_no_worker_stays() -> None:
    run = Local(1).run(works.process_of, list(range(9)))
    pid = next(run).result
    assert pid is not None and is_there(pid)
    run.close()  # type: ignore[attr-defined]
    assert are_gone([pid])


def test_a_task_that_exits_is_a_failure_and_the_rest_goes_on() -> None:
    done = {one.index: one for one in Local(1).run(works.exits, [0, 3])}
    assert done[0].result == 0
    assert "exit code 3" in str(done[1].failure)


def test_a_large_result_comes_through() -> None:
    (done,) = Local(1).run(works.many_bytes, [50_000_000])
    assert done.failure is None and done.result == bytes(50_000_000)


def test_from_another_thread() -> None:
    given: list[int | None] = []
    own = threading.Thread(target=lambda: given.extend(one.result for one in Local(1).run(works.ten_times, [1, 4])))
    own.start()
    own.join(PATIENCE_S)
    assert given == [10, 40]


def test_left_early_a_task_tidies_up(tmp_path: Path) -> None:
    run = Local(1).run(works.sleeps_in_a_folder, [works.Note(tmp_path, "now"), works.Note(tmp_path, "here")])
    next(run)
    folder = Path(said_by(tmp_path / "here"))
    assert folder.is_dir()
    run.close()  # type: ignore[attr-defined]
    assert not folder.exists()


def test_an_error_of_the_caller_ends_the_workers() -> None:
    pids: list[int] = []

    def look_at_results() -> None:
        for done in Local(1).run(works.process_of, list(range(9))):
            assert done.result is not None
            pids.append(done.result)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        look_at_results()
    assert pids and are_gone(pids)


def test_chosen_by_name() -> None:
    assert engine_of("local", 3) == Local(3)
    assert engine_of("local") == Local(local_module.n_cores())
    with pytest.raises(SettingError, match="add --engine ray"):
        engine_of("local", ray_address="host:6379")
    with pytest.raises(SettingError, match="1 or more"):
        Local(0)
