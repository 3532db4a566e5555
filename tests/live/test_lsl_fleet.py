"""`rondo stream --source lsl:...` as a process: killed and started again, it labels all that it had received."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.live.lsl_outlet import Outlet, OutletPlan, configure
from tests.live.memory_feed import CHANNELS, RATE, signal, small_model
from tests.live.rondo_process import n_labels, rondo_processes, wait_for

pytestmark = [pytest.mark.broker, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _loopback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pytest.importorskip("pylsl")
    monkeypatch.setenv("LSLAPICFG", str(configure(tmp_path)))
    yield


@pytest.fixture
def device(tmp_path: Path) -> Iterator[str]:
    """A stream that is sent for ten minutes, and its source_id."""
    name = f"imu-{uuid.uuid4().hex[:12]}"
    np.save(tmp_path / "rows.npy", signal(3, round(600 * RATE))[:, 1:])
    outlet = Outlet(OutletPlan(name, CHANNELS, rate=RATE, source_id=name, signal=str(tmp_path / "rows.npy")))
    yield name
    outlet.kill()


def test_killed_and_started_again_is_a_boundary_in_the_journal(device: str, tmp_path: Path) -> None:
    model, out = small_model(tmp_path / "m")[1], tmp_path / "out"
    with rondo_processes() as begin:
        process = begin(model, f"lsl:{device}", out)
        wait_for(lambda: n_labels(out) > 15, "labels", process)
        process.kill()
        n_before, n_frames = n_labels(out), labels_of(out / device)[-1][1]
        process = begin(model, f"lsl:{device}", out)
        wait_for(lambda: n_labels(out) > n_before, "labels after the restart", process)
        process.stop()
    events = [json.loads(line) for line in (out / device / "events.jsonl").read_text().splitlines()]
    lost = [event for event in events if event["evidence"].get("cause") == "messages were lost before this one"]
    assert [event["kind"] for event in lost] == ["gap"]
    assert lost[0]["frame"] >= n_frames  # what was labelled before the kill is not lost
    ends = [0] + [end for _, end in labels_of(out / device)]
    assert [start for start, _ in labels_of(out / device)] == ends[:-1]  # without a hole
    assert lost[0]["frame"] in ends  # everything before the boundary has its label


def labels_of(device: Path) -> list[tuple[int, int]]:
    lines = (line.split(",") for line in (device / "labels.csv").read_text().splitlines()[1:])
    return [(int(start), int(end)) for start, end, *_ in lines]
