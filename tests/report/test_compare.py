"""Two runs side by side: agreement does not depend on ids, and confusion is counted in frames."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from rondo.errors import OutputError
from rondo.report.compare import Shared, agreement
from rondo.report.lanes import look_of
from rondo.report.render import render
from tests.report.on_folders import compare, write_report
from tests.report.run_folders import edit_summary, write_run_folder


def relabelled(folder: Path, mapping: dict[int, int]) -> None:
    path = folder / "segments.parquet"
    table = pl.read_parquet(path)
    table.with_columns(pl.col("id").replace(mapping)).write_parquet(path)


def test_the_same_run_under_other_ids_agrees_wholly_and_in_colour(tmp_path: Path) -> None:
    first, second = write_run_folder(tmp_path / "first"), write_run_folder(tmp_path / "second")
    relabelled(second, {0: 3, 3: 0, 1: 2, 2: 1})
    summary = compare(first, second)
    json.dumps(summary, allow_nan=False)
    for level in summary["agreement"]["levels"]:
        assert level["scores"] == pytest.approx({"ari": 100, "ami": 100, "one_to_one": 100})
        assert [max(row["cells"]) for row in level["rows"]] == pytest.approx([1.0] * len(level["rows"]))
        assert [row["cells"].index(1.0) for row in level["rows"]] == list(range(len(level["rows"])))
    lanes = summary["recordings"][0]["lanes"]
    assert [lane["title"] for lane in lanes] == ["units first", "units second", "motifs first", "motifs second"]
    assert lanes[0]["colours"] == lanes[1]["colours"]
    assert dict(zip(lanes[1]["names"], lanes[1]["colours"], strict=True))["u3"] == look_of("unit", 0).colour


def test_motifs_that_are_units_in_both_runs_are_not_held_against_each_other_once_more(tmp_path: Path) -> None:
    first, second = (write_run_folder(tmp_path / name, with_truth=False) for name in ("first", "second"))
    for both, titles in ((False, 4), (True, 2)):
        edit_summary(second, motifs_are_units=True)
        edit_summary(first, motifs_are_units=both)
        summary = compare(first, second)
        assert [one["level"] for one in summary["agreement"]["levels"]] == ["unit", "motif"][: titles // 2]
        assert len(summary["recordings"][0]["lanes"]) == titles
        assert ("lane of their own" in render(summary)) == both


def test_agreement_equals_scikit_learns_and_shares_are_counted() -> None:
    rng = np.random.default_rng(0)
    first = rng.integers(-1, 3, 500).astype(np.int32)
    second = np.where(rng.random(500) < 0.7, first, rng.integers(-1, 2, 500)).astype(np.int32)
    scores = agreement({"r": first}, {"r": second})
    assert scores["ari"] == pytest.approx(100 * adjusted_rand_score(first, second))
    assert scores["ami"] == pytest.approx(100 * adjusted_mutual_info_score(first, second))
    rows, columns, frames = Shared.of(first, second)
    for i, a in enumerate(rows):
        for j, b in enumerate(columns):
            assert frames[i, j] == sum(x == a and y == b for x, y in zip(first, second, strict=True))


def test_the_page_is_written_beside_the_report(tmp_path: Path) -> None:
    first, second = write_run_folder(tmp_path / "first"), write_run_folder(tmp_path / "second")
    path = write_report(first, second)
    assert path == first / "compare.html"
    assert "first and second agree" in path.read_text(encoding="utf-8")
    assert not (first / "report.html").exists()


def test_runs_without_a_common_recording_are_refused(tmp_path: Path) -> None:
    first = write_run_folder(tmp_path / "first")
    for other in (
        write_run_folder(tmp_path / "names", recording_ids=("day2",)),
        write_run_folder(tmp_path / "lengths", n_frames=500),
    ):
        with pytest.raises(OutputError, match="none of its recordings"):
            compare(first, other)
