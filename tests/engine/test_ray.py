"""The same on Ray: what local gives, a killed worker survived, by address too."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rondo.errors import MissingExtraError, SettingError
from rondo.many import ray as ray_cluster
from rondo.many.driver import engine_of
from rondo.many.engine import ONE_THREAD
from rondo.many.pool import Local
from rondo.many.ray import ClusterGoneError, OnRay, Watch
from tests.engine import works
from tests.engine.processes import PATIENCE_S, are_gone, said_by
from tests.engine.ray_nodes import N_TASKS
from tests.systems import needs_posix

has_ray = importlib.util.find_spec("ray") is not None
needs_ray = [
    needs_posix,
    pytest.mark.ray,
    pytest.mark.timeout(600),  # a cluster that has lost a process of its own may wait for ever
    pytest.mark.skipif(not has_ray, reason="Ray is not installed: pip install 'rondo-ts[ray]'"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]
needs_clusters = [*needs_ray, pytest.mark.slow]


def test_where_ray_is_missing_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr("rondo.many.ray.find_spec", lambda name: None if name == "ray" else find_spec(name))
    with pytest.raises(MissingExtraError, match=r"pip install 'rondo-ts\[ray\]'"):
        engine_of("ray")


class Nodes:
    """What Ray says of its nodes, in place of Ray."""

    def __init__(self, *resources: set[str], alive: bool = True) -> None:
        self.there = [{"NodeID": str(i), "Alive": alive, "Resources": own} for i, own in enumerate(resources)]

    def nodes(self) -> list[dict[str, object]]:
        return self.there


class TestWatch:
    def test_a_cluster_may_be_without_nodes_for_a_while(self, monkeypatch: pytest.MonkeyPatch) -> None:
        Watch(Nodes({"memory"}), "auto", "7").look({"CPU"})
        monkeypatch.setattr(ray_cluster, "NO_NODE_S", -1.0)
        Watch(Nodes({"memory"}, {"CPU", "GPU"}), "auto", "7").look({"CPU", "GPU"})
        with pytest.raises(ClusterGoneError, match="CPU and GPU"):
            Watch(Nodes({"CPU"}, {"GPU"}), "auto", "7").look({"CPU", "GPU"})

    def test_the_own_node_is_needed(self) -> None:
        with pytest.raises(ClusterGoneError, match="cluster went away"):
            Watch(Nodes({"CPU"}, alive=False), "auto", "0").look({"CPU"})

    def test_silence_is_borne_for_a_while(self, monkeypatch: pytest.MonkeyPatch) -> None:
        closed = f"127.0.0.1:{free_port()}"
        Watch(Nodes(), closed, "7").look({"CPU"})
        monkeypatch.setattr(ray_cluster, "SILENCE_S", -1.0)
        with pytest.raises(ClusterGoneError, match=f"nobody has answered at {closed}"):
            Watch(Nodes(), closed, "7").look({"CPU"})


class TestOnRay:
    pytestmark = needs_ray

    @pytest.fixture(scope="class", autouse=True)
    def one_ray(self) -> Iterator[Any]:
        """One Ray for all tests of the class: to start it takes longer than they do."""
        import ray

        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        own = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 100_000_000}
        yield ray.init(address="local", log_to_driver=False, logging_level="ERROR", **own)
        ray.shutdown()

    @pytest.mark.slow
    def test_gives_what_local_gives_to_the_bit(self) -> None:
        tasks = [0, 1, 2]
        ours = {one.index: (one.result, one.failure) for one in OnRay().run(works.first_digits, tasks)}
        assert ours == {one.index: (one.result, one.failure) for one in Local(1).run(works.first_digits, tasks)}

    def test_failures_are_those_of_local(self) -> None:
        tasks = [1, 2, 3, 4]
        ours = {one.index: (one.result, one.failure) for one in OnRay().run(works.ten_times, tasks)}
        assert ours == {one.index: (one.result, one.failure) for one in Local(1).run(works.ten_times, tasks)}

    @pytest.mark.slow
    def test_a_killed_worker_is_tried_again_and_the_rest_goes_on(self, tmp_path: Path) -> None:
        notes = [works.Note(tmp_path, name) for name in ("ever", "once", "a", "b")]
        done = {one.index: one for one in OnRay().run(works.killed_the_first_time, notes)}
        assert [done[i].result for i in range(4)] == [None, "once", "a", "b"]
        assert done[0].failure is not None and "2 times" in done[0].failure

    @pytest.mark.slow
    def test_one_thread_each_and_no_gpu(self) -> None:
        (done,) = OnRay().run(works.surroundings, [0])
        assert done.result is not None
        assert set(done.result["threads"]) == {1} and done.result["torch"] == 1 and done.result["cuda"] == ""
        assert done.result["variables"] == ONE_THREAD

    def test_work_without_a_name_is_refused(self) -> None:
        with pytest.raises(SettingError, match="top of a module"):
            list(OnRay().run(lambda task: task, [0]))

    @pytest.mark.slow
    def test_time_and_memory_are_measured_there(self) -> None:
        done = {one.index: one for one in OnRay().run(works.holds, [1, 1500, 1])}
        # Workers differ by what earlier tasks imported, torch among it, so there is no common ground to start from.
        assert done[1].peak_mb > 1500 > max(done[0].peak_mb, done[2].peak_mb)
        assert done[1].seconds > 0 and done[1].cpu_seconds > 0

    def test_left_early_nothing_goes_on(self, tmp_path: Path) -> None:
        run = OnRay().run(works.sleeps, [works.Note(tmp_path, name) for name in ("now", "here")])
        next(run)
        pid = int(said_by(tmp_path / "here"))
        run.close()  # type: ignore[attr-defined]
        assert are_gone([pid])

    def test_what_a_signal_raises_comes_through(self, tmp_path: Path) -> None:
        class StoppedError(BaseException):
            """As the command line raises it."""

        def stop(*_: object) -> None:
            raise StoppedError

        before = signal.signal(signal.SIGALRM, stop)
        try:
            began = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 2.0)
            with pytest.raises(StoppedError):
                list(OnRay().run(works.sleeps, [works.Note(tmp_path, "here")]))
            assert time.monotonic() - began < works.FOR_EVER_S / 2  # it did not wait for the task
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    @pytest.mark.slow
    def test_progress_counts_what_has_ended(self) -> None:
        told: list[tuple[str, int, int]] = []
        list(OnRay().run(works.ten_times, [1, 4], lambda *said: told.append(said)))
        assert told == [("tasks", 0, 2), ("tasks", 1, 2), ("tasks", 2, 2)]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def wait_for(port: int, head: subprocess.Popen[bytes]) -> None:
    by = time.monotonic() + PATIENCE_S
    while head.poll() is None and time.monotonic() < by:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise AssertionError("the cluster did not start")


@pytest.fixture
def own_token(tmp_path: Path) -> dict[str, str]:
    """An environment in which a cluster and its driver share a token: Ray has them by default, from 2.59 on."""
    (tmp_path / "token").write_text(secrets.token_hex(32))
    paths = os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)])
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(tmp_path / "token")}
    return os.environ | token | {"RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": paths}


def driver(what: str, where: object, env: dict[str, str]) -> dict[int, tuple[int | None, str | None]]:
    """What each task gave, (result, failure), to a driver that may take minutes but not for ever."""
    command = [sys.executable, "-m", "tests.engine.ray_nodes", what, str(where)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return {index: (result, failure) for index, result, failure in json.loads(done.stdout.splitlines()[-1])}


class TestNodes:
    """Two nodes; when the second runs a task, something dies."""

    pytestmark = needs_clusters

    def test_tasks_of_a_node_that_dies_are_done_on_another(self, tmp_path: Path, own_token: dict[str, str]) -> None:
        done = driver("node", tmp_path, own_token)
        assert done == {i: (i**2, None) for i in range(N_TASKS)}
        begun = [path.name.split("-")[1] for path in tmp_path.glob("begun-*")]
        assert len(begun) > len(set(begun)) == N_TASKS  # one of them was on its way when the node died

    @pytest.mark.parametrize("what", ["cluster", "own"])
    def test_without_a_cluster_what_is_left_has_failed(
        self, what: str, tmp_path: Path, own_token: dict[str, str]
    ) -> None:
        done = driver(what, tmp_path, own_token)
        failures = [failure for _, failure in done.values() if failure is not None]
        assert sorted(done) == list(range(N_TASKS)) and failures
        assert all("went away" in failure and "\n" not in failure for failure in failures)
        assert all(result == i**2 for i, (result, failure) in done.items() if failure is None)


class TestStarted:
    pytestmark = needs_clusters

    def test_embedded_it_lives_as_long_as_the_run(self) -> None:
        import ray

        listening = signal.getsignal(signal.SIGTERM)
        meanwhile: list[object] = []
        tell = lambda *_: meanwhile.append(signal.getsignal(signal.SIGTERM))  # noqa: E731
        (done,) = OnRay(n_workers=1).run(works.process_of, [0], tell)
        assert done.result is not None and are_gone([done.result])
        assert not ray.is_initialized() and {*meanwhile, signal.getsignal(signal.SIGTERM)} == {listening}

    def test_by_address(self, own_token: dict[str, str]) -> None:
        command = [sys.executable, "-c", "import sys; from ray.scripts.scripts import main; sys.exit(main())", "start"]
        port = free_port()
        head = subprocess.Popen(
            [*command, "--head", f"--port={port}", "--num-cpus=1", "--include-dashboard=false", "--block"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=own_token,
        )
        try:
            wait_for(port, head)
            assert driver("by_address", f"127.0.0.1:{port}", own_token) == {0: (10, None), 1: (40, None)}
            assert head.poll() is None
        finally:
            head.terminate()
            head.wait(PATIENCE_S)

    def test_where_nobody_answers_one_line_says_so(self) -> None:
        with pytest.raises(SettingError, match=r"Ray cluster answers at '127.0.0.1:1'"):
            list(OnRay("127.0.0.1:1").run(works.ten_times, [1]))
