"""Scores are kept as they are, drawn as a signal from 0 to 1, and left out where a method has none."""

from __future__ import annotations

import base64
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import OutputError
from rondo.run.overview import FrameScores, read_scores, score_rows, scores_path
from tests.report.on_folders import compare, summarize
from tests.report.run_folders import write_run_folder
from tests.run.stored import write_scores

UNITS = np.repeat([0.2, 0.9, 0.0, 1.0], 100).astype(np.float32)
MOTIFS = np.repeat([0.5, 0.75], 200).astype(np.float32)


def test_scores_come_back_as_they_were(tmp_path: Path) -> None:
    path = scores_path(tmp_path, "day1")
    write_scores(path, FrameScores(UNITS, MOTIFS))
    found = read_scores(path, 400)
    assert found is not None
    npt.assert_array_equal(found.units, UNITS)
    npt.assert_array_equal(found.motifs, MOTIFS)


def test_a_method_without_scores_leaves_no_file_and_no_row(tmp_path: Path) -> None:
    path = scores_path(tmp_path, "day1")
    write_scores(path, FrameScores(np.ones(400, np.float32), (UNITS > 0).astype(np.float32)))
    assert not path.exists()
    assert read_scores(path, 400) is None
    assert score_rows({"": None}, 1000)["channels"] == []


def test_a_row_holds_the_scores_to_an_eighth_bit() -> None:
    rows = score_rows({"": FrameScores(UNITS, MOTIFS)}, 100_000)
    assert (rows["channels"], rows["kinds"]) == (["unit score", "motif score"], ["unit", "motif"])
    codes = np.frombuffer(base64.b64decode(rows["coarse"]["data"]), np.uint8).reshape(2, 400)
    npt.assert_allclose(codes / 254, [UNITS, MOTIFS], atol=1 / 254)


def test_runs_written_before_there_were_scores_are_still_read(tmp_path: Path) -> None:
    old = write_run_folder(tmp_path / "old", with_scores=False)
    assert summarize(old)["recordings"][0]["scores"]["channels"] == []
    new = write_run_folder(tmp_path / "new")
    assert compare(old, new)["recordings"][0]["scores"]["channels"] == ["unit score new", "motif score new"]
    assert compare(new, new)["recordings"][0]["scores"]["channels"][0].startswith("unit score")


@pytest.mark.parametrize("damage", ["half", "short", "foreign"])
def test_a_damaged_file_is_named_in_one_line(tmp_path: Path, damage: str) -> None:
    folder = write_run_folder(tmp_path)
    path = scores_path(folder, "day1")
    if damage == "half":
        path.write_bytes(path.read_bytes()[:200])
    elif damage == "short":
        write_scores(path, FrameScores(UNITS, MOTIFS))
    else:
        np.savez(path, other=UNITS)
    with pytest.raises(OutputError, match=r"scores/day1\.npz") as refused:
        summarize(folder)
    assert "\n" not in str(refused.value)
