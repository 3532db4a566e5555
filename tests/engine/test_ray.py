"""The same on Ray: what local gives, a killed worker survived, by address too."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.engine import works

from rondo.engine.choose import engine_of
from rondo.engine.local import Local
from rondo.engine.ray import OnRay
from rondo.errors import MissingExtraError, SettingError

has_ray = importlib.util.find_spec("ray") is not None
needs_ray = [
    pytest.mark.ray,
    pytest.mark.skipif(not has_ray, reason="Ray is not installed: pip install 'rondo-ts[ray]'"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning"),
]


def test_where_ray_is_missing_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    monkeypatch.setattr("rondo.engine.ray.find_spec", lambda name: None if name == "ray" else find_spec(name))
    with pytest.raises(MissingExtraError, match=r"pip install 'rondo-ts\[ray\]'"):
        engine_of("ray")


class TestOnRay:
    pytestmark = needs_ray

    @pytest.fixture(scope="class", autouse=True)
    def one_ray(self) -> Iterator[Any]:
        """One Ray for all tests of the class: to start it takes longer than they do."""
        import os

        import ray

        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        own = {"num_cpus": 2, "include_dashboard": False, "object_store_memory": 100_000_000}
        yield ray.init(address="local", log_to_driver=False, logging_level="ERROR", **own)
        ray.shutdown()

    def test_gives_what_local_gives_to_the_bit(self) -> None:
        tasks = [0, 1, 2]
        ours = {one.index: (one.result, one.failure) for one in OnRay().run(works.first_digits, tasks)}
        assert ours == {one.index: (one.result, one.failure) for one in Local(1).run(works.first_digits, tasks)}

    def test_failures_are_those_of_local(self) -> None:
        tasks = [1, 2, 3, 4]
        ours = {one.index: (one.result, one.failure) for one in OnRay().run(works.ten_times, tasks)}
        assert ours == {one.index: (one.result, one.failure) for one in Local(1).run(works.ten_times, tasks)}

    def test_a_killed_worker_is_tried_again_and_the_rest_goes_on(self, tmp_path: Path) -> None:
        notes = [works.Note(tmp_path, name) for name in ("ever", "once", "a", "b")]
        done = {one.index: one for one in OnRay().run(works.killed_the_first_time, notes)}
        assert [done[i].result for i in range(4)] == [None, "once", "a", "b"]
        assert done[0].failure is not None and "2 times" in done[0].failure

    def test_one_thread_each_and_no_gpu(self) -> None:
        (done,) = OnRay().run(works.surroundings, [0])
        assert done.result is not None
        assert set(done.result["threads"]) == {1} and done.result["torch"] == 1 and done.result["cuda"] == ""

    def test_what_cannot_be_sent_is_said(self) -> None:
        (done,) = OnRay().run(works.gives_what_cannot_be_sent, [0])
        assert done.result is None or callable(done.result)  # Ray's own pickle sends even this
        with pytest.raises(SettingError, match="top of a module"):
            list(OnRay().run(lambda task: task, [0]))

    def test_time_and_memory_are_measured_there(self) -> None:
        done = {one.index: one.peak_mb for one in OnRay(n_workers=1).run(works.holds, [1, 300])}
        assert done[1] > 300 > done[0]

    def test_progress_counts_what_has_ended(self) -> None:
        told: list[tuple[str, int, int]] = []
        list(OnRay().run(works.ten_times, [1, 4], lambda *said: told.append(said)))
        assert told == [("tasks", 0, 2), ("tasks", 1, 2), ("tasks", 2, 2)]
