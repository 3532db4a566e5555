"""The panel shows the mean posture of an entry of a body, and nothing for other recordings."""

from __future__ import annotations

import numpy as np
import pytest

import rondo
from rondo.report.panel import panel_entries
from rondo.report.skeleton import STEPS, skeletons
from rondo.run.overview import signal_overview
from rondo.synthetic import plant
from tests.poses import mouse, tracked

pl = pytest.importorskip("polars")
CHANNELS = ("nose.along", "paw.along", "paw.across", "body.forward", "body.sideways", "body.turning")


def segments(*spans: tuple[int, int, int]) -> object:
    rows = [{"level": "unit", "recording": "r", "id": id, "start_frame": a, "end_frame": b} for id, a, b in spans]
    return pl.DataFrame(rows)


def test_postures_are_means_in_body_lengths_from_start_to_end() -> None:
    values = np.tile([1.0, 0.5, -0.25, 2.0, 0.0, 0.5], (200, 1))
    values[:, 2] = np.tile(np.linspace(-0.5, 0.5, 50), 4)  # the paw goes from one side to the other
    values[100:, 0] = 0.8
    overview = signal_overview(values, CHANNELS)
    found = skeletons("unit", segments((0, 0, 50), (0, 50, 100), (1, 100, 150), (2, 0, 0)), {"r": overview}, [0, 1])
    assert found.keys() == {0, 1}
    drawn = found[0]
    assert drawn["names"] == ["origin", "nose", "paw"]
    assert len(drawn["steps"]) == STEPS and all(step[0] == [0.0, 0.0] for step in drawn["steps"])
    assert [step[1] for step in drawn["steps"]] == [[pytest.approx(1.0, abs=0.01), 0.0]] * STEPS
    across = [step[2][1] for step in drawn["steps"]]
    assert across == sorted(across) and across[0] < -0.3 and across[-1] > 0.3
    assert sorted(map(sorted, drawn["lines"])) == [[0, 2], [1, 2]]  # each to its nearest: the paw lies between
    assert "moves 2 body lengths per second ahead, turns 0.5 rad" in drawn["words"]
    assert found[1]["steps"][0][1][0] == pytest.approx(0.8, abs=0.01)


def test_a_point_that_is_never_seen_is_not_drawn() -> None:
    values = np.ones((60, len(CHANNELS)))
    values[:, 1] = np.nan
    drawn = skeletons("unit", segments((0, 0, 60)), {"r": signal_overview(values, CHANNELS)}, [0])[0]
    assert drawn["steps"][0][2] is None and drawn["lines"] == [[0, 1]]


def test_only_bodies_have_postures() -> None:
    quick = {"evidence.surrogates": 0, "windows.scales": 1}
    for recording, is_body in ((tracked(mouse(1_500)), True), (plant(n_frames=1_500).recording, False)):
        run = rondo.discover(recording, window="1s", settings=quick).run
        table = run.tables["segments"]
        panels = panel_entries("unit", run.summary.units, table, run.overviews, run.summary.recordings)
        assert {"skeleton" in panel for panel in panels.values()} == {is_body}
