"""Worker processes and loky: whoever ends, in whatever way, none is left, and nothing of the surroundings gets in."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from rondo.many.pool import Local, Worker, end
from tests.engine import works
from tests.engine.processes import PATIENCE_S, are_gone, is_there, said_by
from tests.systems import LISTENING_PYTHON, needs_posix

pytestmark = needs_posix


IMPORTS = "import pathlib, signal, sys\nfrom rondo.many.pool import Local\nfrom tests.engine import works\n"


def in_its_own_process(script: str, *arguments: str) -> subprocess.Popen[str]:
    """A script, after `IMPORTS`, that has our path and these arguments; those with a dash are its interpreter's."""
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    options = [own for own in arguments if own.startswith("-")]
    return subprocess.Popen(
        [*LISTENING_PYTHON, *options, "-c", IMPORTS + script, *(own for own in arguments if own not in options)],
        env=os.environ | {"PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_worker_that_died_idle_is_given_no_task() -> None:
    place = Worker("")
    try:
        begun = place.begin(pickle.dumps((works.process_of, 0)))
        before = pickle.loads(begun.result(PATIENCE_S)).result
        os.kill(before, signal.SIGKILL)
        assert are_gone([before])
        after = pickle.loads(place.begin(pickle.dumps((works.process_of, 0))).result(PATIENCE_S)).result
        assert after != before and is_there(after)
    finally:
        end([place])
    assert are_gone([after])


def test_a_process_that_another_thread_has_reaped_is_not_alive() -> None:
    """Python then knows no exit code, which otherwise means that the process runs."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    place = Worker("")
    place._process = SimpleNamespace(pid=child.pid, exitcode=None)  # type: ignore[assignment]
    assert not place.is_alive


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="only /proc tells of a first thread that has ended")
def test_a_process_whose_first_thread_has_ended_is_not_alive() -> None:
    """As one that was killed a moment ago: it cannot be reaped before its other threads have ended too."""
    script = "import ctypes, threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\n"
    child = subprocess.Popen([sys.executable, "-c", script + "ctypes.CDLL(None).pthread_exit(None)"])
    try:
        assert are_gone([child.pid]) and child.poll() is None
        place = Worker("")
        place._process = SimpleNamespace(pid=child.pid, exitcode=None)  # type: ignore[assignment]
        assert not place.is_alive
    finally:
        child.kill()
        child.wait()


def test_a_worker_that_ends_already_and_is_told_so_says_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    assert [one.failure for one in Local(1).run(works.is_told_to_end_while_it_ends, [0])] == [None]
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_workers_and_their_children_end_with_the_one_who_started_them(tmp_path: Path, name: str) -> None:
    script = (
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))\n"
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


@pytest.mark.parametrize("how", ["", "raise SystemExit(3)", "raise ValueError"])
def test_a_run_left_in_a_variable_ends_with_the_interpreter(tmp_path: Path, how: str) -> None:
    script = (
        "from tests.engine.processes import said_by\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "left = Local(1).run(works.sleeps, [works.Note(folder, 'now'), works.Note(folder, 'here')])\n"
        "next(left), said_by(folder / 'here')\n"
    )
    owner = in_its_own_process(script + how, str(tmp_path))
    _, complaints = owner.communicate(timeout=PATIENCE_S)
    assert are_gone([int((tmp_path / "here").read_text())])
    assert "loky" not in complaints


def test_a_file_of_the_working_folder_stands_for_no_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("signal.py", "random.py", "joblib.py"):
        (tmp_path / name).write_text("raise SystemExit('the file of the working folder was imported')")
    monkeypatch.chdir(tmp_path)
    script = "print([one.result for one in Local(1).run(works.ten_times, [1])])\n"
    owner = in_its_own_process(script, "-P")
    said, complaints = owner.communicate(timeout=PATIENCE_S)
    assert (said, complaints) == ("[10]\n", "")


@pytest.mark.slow
def test_many_workers_fit_under_a_low_limit_of_open_files() -> None:
    script = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, ({0}, {1}))\n"
        "print(sorted(one.result for one in Local(4).run(works.ten_times, [1, 4, 5, 6])))\n"
    )
    said, complaints = in_its_own_process(script.format(30, 4000)).communicate(timeout=PATIENCE_S)
    assert (said, complaints) == ("[10, 40, 50, 60]\n", "")
    _, complaints = in_its_own_process(script.format(30, 30)).communicate(timeout=PATIENCE_S)
    assert "rondo.errors.SettingError: a worker process" in complaints.splitlines()[-1]


def test_without_pgrep_a_death_is_quiet(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """Warnings are errors in tests; one in a thread of loky's would end that thread."""
    monkeypatch.setenv("PATH", "")
    assert [one.failure for one in Local(1).run(works.ends_itself, [0])] != [None]
    assert capfd.readouterr() == ("", "")


def test_loky_replaces_no_worker_that_has_grown() -> None:
    """It would where psutil is installed, and warn, from a thread."""
    assert [one.result for one in Local(1).run(works.loky_looks_at_memory, [0])] == [False]


def test_a_worker_imports_no_network_library() -> None:
    (done,) = Local(1).run(works.modules, [0])
    assert done.result is not None and "numpy" in done.result and not {"torch", "pandas", "sklearn"} & done.result
