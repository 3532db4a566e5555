"""kill -9 in the middle of a real run, many times: no row lost, none doubled, the rows those of a run left alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli import killing
from tests.systems import needs_posix

pytestmark = needs_posix

TIMES = ("seconds", "cpu_seconds", "peak_mb", "finished")
N_ROWS = 9


@pytest.fixture(scope="module")
def killer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[killing.Killer]:
    """Children are forked from a process that has imported what the methods need."""
    imports = "import sklearn.cluster, rondo_bench.baselines.window_clusters, rondo_bench.experiments.run\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(killing, "_SERVER", imports + killing._SERVER)
        with killing.Killer(tmp_path_factory.mktemp("killer"), "real") as started:
            yield started


def arguments(walks: Path, out: Path) -> tuple[object, ...]:
    chosen = ("--datasets", walks, "--methods", "kmeans,clock", "--seeds", 2)
    return ("bench", "run", "static", *chosen, "--engine", "serial", "--out", out)


def lines(out: Path) -> list[dict[str, Any]]:
    """The rows as they lie there, torn end left out, without what differs from run to run."""
    path = out / "rows.jsonl"
    text = path.read_text() if path.exists() else ""
    whole = [json.loads(line) for line in text.split("\n")[:-1]]
    return [{name: value for name, value in row.items() if name not in TIMES} for row in whole]


def in_order(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


@pytest.mark.slow
def test_a_run_that_is_killed_at_every_step_ends_with_the_same_rows(
    walks: Path, tmp_path: Path, killer: killing.Killer
) -> None:
    assert killer.rondo(*arguments(walks, tmp_path / "alone")) == 0
    expected = in_order(lines(tmp_path / "alone"))
    assert len(expected) == N_ROWS
    n_kills, n_before = 0, 0
    for at_call in (0, 1, 2, 3, 4, 1, 2, 3, 2, 1, 5, 2, 1, 4, 0, 3, 2, 1, 1, 2, 3, 2):  # writes (torn), syncs, cuts
        if killer.rondo(*arguments(walks, tmp_path / "out"), at_call=at_call) == -9:
            n_kills += 1
        found = in_order(lines(tmp_path / "out"))
        assert len(set(found)) == len(found) >= n_before, "a row was doubled or lost"
        n_before = len(found)
    assert n_kills >= 10
    assert killer.rondo(*arguments(walks, tmp_path / "out")) == 0
    assert in_order(lines(tmp_path / "out")) == expected
