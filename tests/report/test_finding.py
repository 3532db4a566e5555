"""The heading of a page: what recurs, in how much data, and no more than was shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rondo.report.summarize import finding
from rondo.run.summary import read_summary
from tests.report.on_folders import compare, summarize
from tests.report.run_folders import edit_summary, write_run_folder


def judged(folder: Path, units: list[str], motifs: list[str], **changes: Any) -> str:
    """The finding of a run whose entries have these verdicts."""
    stored = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    levels = {
        level: [
            row | {"evidence": {"p": 0.05, "verdict": verdict}} for row, verdict in zip(stored[level], own, strict=True)
        ]
        for level, own in (("units", units), ("motifs", motifs))
    }
    edit_summary(folder, **levels, **changes)
    return finding(read_summary(folder))


@pytest.mark.parametrize(
    ("units", "motifs", "words"),
    [
        (["recurs"] * 5, ["recurs"] * 3, "5 units and 3 motifs recur in "),
        (
            ["recurs", "not shown", "recurs", "occurs once", "recurs"],
            ["recurs"] * 3,
            "3 of 5 units and 3 motifs recur in ",
        ),
        (["not shown"] * 5, ["occurs once"] * 3, "5 units and 3 motifs found, not shown to recur, in "),
        (["recurs"] * 4 + ["not tested"], ["recurs"] * 3, "5 units and 3 motifs found in "),
    ],
)
def test_only_what_was_shown_to_recur_is_said_to(
    tmp_path: Path, units: list[str], motifs: list[str], words: str
) -> None:
    told = judged(write_run_folder(tmp_path), units, motifs)
    assert told.startswith(f"{words}2 min of 6 channels; ")
    assert told.endswith(" % OTHER")


def test_motifs_that_are_units_are_not_counted_again_and_many_recordings_are_counted(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, recording_ids=("a", "b"), rate=None)
    told = judged(folder, ["recurs"] * 5, ["recurs"] * 3, motifs_are_units=True)
    assert told.startswith("5 units recur in 2 recordings (12,000 frames of 6 channels); ")


def test_two_runs_are_told_by_how_far_they_agree(tmp_path: Path) -> None:
    from rondo.report.render import render

    first, second = (write_run_folder(tmp_path / name, with_truth=False) for name in ("first", "second"))
    page = render(compare(first, second))
    assert "<h1>first and second agree in 1 recording: ARI of units 100, motifs 100 (100 is the same)</h1>" in page


def test_a_run_without_entries_says_so(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, with_truth=False)
    edit_summary(folder, units=[], motifs=[])
    assert summarize(folder)["finding"].startswith("0 units and 0 motifs found in 2 min of 6 channels")
