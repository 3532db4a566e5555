"""Serial and Local: the same results, nothing lost whoever dies, one thread each, all ended with the run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from rondo.errors import RecordingError, SettingError
from rondo.many import pool
from rondo.many.driver import engine_of
from rondo.many.engine import ONE_THREAD, Serial, n_cores
from rondo.many.pool import Local
from tests.engine import works
from tests.engine.processes import PATIENCE_S, are_gone, is_there, said_by
from tests.systems import needs_posix

pytestmark = needs_posix


@pytest.mark.parametrize("engine", [Serial(), Local(2)])
def test_every_task_is_tried_whatever_happens_to_the_others(engine: Serial | Local) -> None:
    told: list[tuple[str, int, int]] = []
    done = sorted(engine.run(works.ten_times, [1, 2, 3, 4], lambda *said: told.append(said)), key=lambda one: one.index)
    assert [one.result for one in done] == [10, None, None, 40]
    assert [one.failure for one in done] == [None, "no frames in it", "ZeroDivisionError: by nought", None]
    assert [one.error for one in done] == [None, RecordingError, ZeroDivisionError, None]
    assert told == [("tasks", n, 4) for n in range(5)]
    assert all(one.seconds >= 0 and one.cpu_seconds >= 0 and 10 < (one.peak_mb or 0) < 100_000 for one in done)


def test_chosen_by_name() -> None:
    assert isinstance(engine_of("serial"), Serial) and engine_of("local", 3) == Local(3)
    assert engine_of("local") == Local(n_cores())
    for name, more, says in (("serail", {}, "serial"), ("local", {"ray_address": "host:6379"}, "--engine ray")):
        with pytest.raises(SettingError, match=says):
            engine_of(name, **more)
    with pytest.raises(SettingError, match="1 or more"):
        Local(0)


# ---------------------------------------------------------------- deaths


@pytest.mark.slow
def test_a_killed_worker_is_tried_again_and_the_rest_goes_on(tmp_path: Path) -> None:
    notes = [works.Note(tmp_path, name) for name in ("ever", "once", "a", "b")]
    done = {one.index: one for one in Local(2).run(works.killed_the_first_time, notes)}
    assert set(list(done)[:2]) == {2, 3}  # what is tried again comes last, when memory is free
    assert [done[i].result for i in range(4)] == [None, "once", "a", "b"]
    assert done[0].failure is not None and "2 times" in done[0].failure and "SIGKILL" in done[0].failure
    assert done[0].seconds > 0


@pytest.mark.parametrize(("work", "code"), [(works.ends_itself, 7), (works.exits, 3)])
def test_a_worker_that_ends_itself_is_a_failure(work: works.Work, code: int) -> None:
    done = {one.index: one for one in Local(1).run(work, [code, 0] if work is works.exits else [code])}
    assert f"exit code {code}" in str(done[0].failure)
    assert work is not works.exits or done[1].result == 0


def test_a_death_is_noticed_while_a_child_holds_the_pipe(tmp_path: Path) -> None:
    (done,) = Local(1).run(works.dies_beside_a_child, [works.Note(tmp_path, "child")])
    assert done.failure is not None and "SIGKILL" in done.failure
    assert are_gone([int((tmp_path / "child").read_text())])


def test_a_worker_killed_from_outside_is_replaced() -> None:
    run = Local(1).run(works.sleeps_when_told, [0.0, 0.5, 0.0])
    os.kill(next(run).result or 0, signal.SIGKILL)
    assert [one.failure for one in run] == [None, None]


def test_one_worker_serves_many_tasks_and_ends_with_the_run(capfd: pytest.CaptureFixture[str]) -> None:
    (pid,) = {one.result for one in Local(1).run(works.process_of, list(range(5)))}
    assert pid not in (None, os.getpid()) and are_gone([pid])
    assert [one.failure for one in Local(1).run(works.is_told_to_end_while_it_ends, [0])] == [None]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("error", [None, ZeroDivisionError])
def test_left_early_no_worker_stays_and_a_task_tidies_up(tmp_path: Path, error: type[Exception] | None) -> None:
    run = Local(1).run(works.sleeps_in_a_folder, [works.Note(tmp_path, "now"), works.Note(tmp_path, "here")])
    next(run)
    folder = Path(said_by(tmp_path / "here"))  # it goes on while the caller looks at a result
    assert folder.is_dir()
    if error is None:
        run.close()  # type: ignore[attr-defined]
    else:
        with pytest.raises(error):
            run.throw(error)  # type: ignore[attr-defined]
    assert not folder.exists()


IMPORTS = "import pathlib, signal, sys\nfrom rondo.many.pool import Local\nfrom tests.engine import works\n"


def in_its_own_process(script: str, *arguments: str) -> subprocess.Popen[str]:
    """A script, after `IMPORTS`, that has our path and these arguments; those with a dash are its interpreter's."""
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    options = [one for one in arguments if one.startswith("-")]
    return subprocess.Popen(
        [sys.executable, *options, "-c", IMPORTS + script, *(one for one in arguments if one not in options)],
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_workers_and_their_children_end_with_the_one_who_started_them(tmp_path: Path, name: str) -> None:
    script = (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # ignored in what a shell starts with &
        "signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})\n"
        "list(Local(1).run(works.sleeps_beside_a_child, [works.Note(pathlib.Path(sys.argv[1]), 'here')]))\n"
    )
    owner = in_its_own_process(script, str(tmp_path))
    try:
        pids = [int(pid) for pid in said_by(tmp_path / "here").split()]
        assert all(map(is_there, pids))
        owner.send_signal(getattr(signal, name))
        assert owner.wait(PATIENCE_S) != 0
        assert are_gone(pids)
    finally:
        owner.kill()
        owner.communicate()


@pytest.mark.parametrize("how", ["", "raise SystemExit(3)"])
def test_a_run_left_in_a_variable_ends_with_the_interpreter(tmp_path: Path, how: str) -> None:
    script = (
        "from tests.engine.processes import said_by\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "left = Local(1).run(works.sleeps, [works.Note(folder, 'now'), works.Note(folder, 'here')])\n"
        "next(left), said_by(folder / 'here')\n"
    )
    owner = in_its_own_process(script + how, str(tmp_path))
    _, complaints = owner.communicate(timeout=PATIENCE_S)
    assert are_gone([int((tmp_path / "here").read_text())]) and complaints == ""


# ---------------------------------------------------------------- surroundings


@pytest.mark.slow
def test_one_thread_each_and_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "3")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    (done,) = Local(1).run(works.surroundings, [0])
    assert done.result is not None
    assert set(done.result["threads"]) == {1} and done.result["torch"] == 1 and done.result["cuda"] == ""
    assert done.result["variables"] == ONE_THREAD and done.result["oom_score"] in (500, None)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "0" and {os.environ[name] for name in ONE_THREAD} == {"3"}


def test_peak_memory_is_that_of_the_task() -> None:
    done = {one.index: one.peak_mb or 0 for one in Local(1).run(works.holds, [1, 300, 1])}
    assert done[1] > 300 > done[0] and done[2] < 0.5 * done[1]


def test_tasks_that_want_the_gpu_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "visible_gpus", lambda: ["7"])
    notes = [works.Note(tmp_path, str(i), wants_gpu=i < 3) for i in range(6)]
    done = {one.index: one.result for one in Local(2).run(works.overlapping, notes)}
    seen = {i: result for i, result in done.items() if result is not None}
    assert [seen[i][0] for i in range(6)] == ["7"] * 3 + [""] * 3
    on_gpu = sorted(seen[i][1:] for i in range(3))
    assert all(before[1] <= after[0] for before, after in pairwise(on_gpu))
    monkeypatch.setattr(pool, "visible_gpus", list)
    notes = [works.Note(tmp_path, str(i), wants_gpu=True) for i in range(2)]
    assert [one.result[0] for one in Local(2).run(works.overlapping, notes) if one.result] == ["", ""]


def test_gpus_are_those_that_this_process_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert pool.visible_gpus() == ["0", "1"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, 5")
    assert pool.visible_gpus() == ["3", "5"]


def test_what_cannot_be_sent_is_said() -> None:
    (done,) = Local(1).run(works.gives_what_cannot_be_sent, [0])
    assert done.failure is not None and done.failure.startswith("its result cannot")
    (unsent,) = Local(1).run(works.process_of, [lambda: None])  # type: ignore[list-item]
    assert unsent.failure is not None and unsent.failure.startswith("the task cannot")
    with pytest.raises(SettingError, match="top of a module"):
        list(Local(1).run(lambda task: task, [0]))
    (large,) = Local(1).run(works.many_bytes, [50_000_000])
    assert large.failure is None and large.result == bytes(50_000_000)


def test_notes_reach_the_user_and_other_warnings_do_not(capfd: pytest.CaptureFixture[str]) -> None:
    (done,) = Local(1).run(works.warns, [4])
    said = capfd.readouterr()
    assert done.result == 4 and said.out == ""
    assert sorted(said.err.splitlines()) == ["a library talks", "note: a channel is constant"]


def test_neither_a_file_of_the_working_folder_nor_the_script_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("signal.py", "random.py", "pickle.py"):
        (tmp_path / name).write_text("raise SystemExit('the file of the working folder was imported')")
    (tmp_path / "inside").mkdir()
    unguarded = IMPORTS + "print([one.result for one in Local(1).run(works.ten_times, [1])])\n"
    (tmp_path / "inside" / "script.py").write_text(unguarded)
    monkeypatch.chdir(tmp_path)
    script = f"import runpy\nrunpy.run_path({str(tmp_path / 'inside' / 'script.py')!r}, run_name='__main__')\n"
    said, complaints = in_its_own_process(script, "-P").communicate(timeout=PATIENCE_S)
    assert (said, complaints) == ("[10]\n", "")


def test_a_worker_that_cannot_be_started_is_one_line() -> None:
    script = (
        "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))\nlist(Local(4).run(works.exits, [0] * 4))"
    )
    _, complaints = in_its_own_process(script).communicate(timeout=PATIENCE_S)
    assert complaints.splitlines()[-1].startswith("rondo.errors.SettingError: ")


def test_a_worker_imports_no_network_library() -> None:
    (done,) = Local(1).run(works.modules, [0])
    assert done.result is not None and not {"torch", "pandas", "sklearn"} & done.result
