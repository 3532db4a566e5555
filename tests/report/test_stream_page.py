"""The page of a stream: decisions joined into segments, the journal in words, files that are half written."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import OutputError
from rondo.report.render import render
from rondo.run.decisions import COLUMNS
from tests.report.on_folders import summarize, write_report
from tests.report.stream_folders import EVENTS, STEP, add_decisions, write_stream_folder


def test_decisions_become_segments_and_events_a_journal(tmp_path: Path) -> None:
    folder = write_stream_folder(tmp_path / "live", events=EVENTS)
    summary = summarize(folder)
    json.dumps(summary, allow_nan=False)
    (recording,) = summary["recordings"]
    units, motifs = recording["lanes"]
    assert recording["rate"] == 50.0
    assert recording["n_frames"] == 1000
    assert units["names"] == ["u0", "u1"] * 5
    assert list(zip(units["start_frames"], units["end_frames"], strict=True))[:3] == [(0, 100), (100, 200), (200, 300)]
    assert list(zip(motifs["start_frames"], motifs["end_frames"], strict=True))[:2] == [(0, 200), (250, 450)]
    assert motifs["scores"] == [0.25] * 4
    assert summary["overview"] == (
        "In 20 s of the stream 2 units and 1 motif occur; 1 unit promoted; 1 note on gaps in the input. "
        "20 % of the time is OTHER."
    )
    assert [(event["kind"], event["frame"]) for event in recording["journal"]] == [("promote", 400), ("gap", 600)]
    assert recording["journal"][0]["words"] == ["8.0 s: promoted u7", "unit", "support 9.5, regions 3"]
    assert summary["n_refined"] == 1


def test_a_page_is_made_and_says_what_happened(tmp_path: Path) -> None:
    page = write_report(write_stream_folder(tmp_path / "live")).read_text(encoding="utf-8")
    assert "<title>Rondo stream</title>" in page
    assert "promoted u7" in page
    assert "state.json" not in page  # only a page that was served asks for more
    assert "state.json" in render(summarize(tmp_path / "live"), live="now")


def test_decisions_that_speak_for_no_frame_change_nothing(tmp_path: Path) -> None:
    """Of windows beside a boundary, some have given all their frames to the next unit; here one comes first of all."""
    plain, folder = (write_stream_folder(tmp_path / name / "live") for name in ("plain", "empty"))
    path = folder / "labels.csv"
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    silent = [",".join([start, start, second, second, "9", "9", "0.5", "0.5"]) for start, _, second, *_ in (
        line.split(",") for line in lines
    )]  # fmt: skip
    mixed = [line for pair in zip(silent, lines, strict=True) for line in pair]
    path.write_text("\n".join([header, *mixed]) + "\n", encoding="utf-8")
    assert summarize(folder) == summarize(plain)


def test_a_line_that_is_half_written_is_not_there_yet(tmp_path: Path) -> None:
    folder = write_stream_folder(tmp_path / "live")
    before = summarize(folder)
    for name in ("labels.csv", "events.jsonl"):
        with (folder / name).open("a", encoding="utf-8") as file:
            file.write("1000,10" if name == "labels.csv" else '{"kind":"pro')
    assert summarize(folder) == before


def test_a_stream_that_has_just_begun_makes_a_page(tmp_path: Path) -> None:
    folder = write_stream_folder(tmp_path / "live", n_decisions=0, events=())
    assert "0 units and 0 motifs occur; nothing new was promoted" in render(summarize(folder))
    add_decisions(folder, 1)
    assert "1 unit and 1 motif occur" in render(summarize(folder))


def test_a_stream_whose_motifs_are_units_says_so_once_two_have_come(tmp_path: Path) -> None:
    folder = write_stream_folder(tmp_path / "live", n_decisions=0, events=())
    lines = [f"{50 * i},{50 * i + 50},{i},{i + 1},{unit},{motif},0.5,0.5\n"
             for i, (unit, motif) in enumerate([(0, 4), (0, 4), (1, 7), (-1, -1), (0, 4)])]  # fmt: skip
    path = folder / "labels.csv"
    header = path.read_text(encoding="utf-8")
    for n, said in (
        (2, "1 unit and 1 motif occur"), (5, "2 units occur; no motif is longer than a unit; nothing new"),
    ):  # fmt: skip
        path.write_text(header + "".join(lines[:n]), encoding="utf-8")
        summary = summarize(folder)
        assert said in summary["overview"]
        assert ("no lane of their own" in render(summary)) == (n == 5)
    path.write_text(header + "".join(lines) + "250,300,5,6,1,4,0.5,0.5\n", encoding="utf-8")  # u1 in another motif
    assert "2 units and 2 motifs occur" in summarize(folder)["overview"]


def test_what_is_no_stream(tmp_path: Path) -> None:
    folder = write_stream_folder(tmp_path / "live")
    (folder / "labels.csv").write_text("start_frame\nx\n", encoding="utf-8")
    with pytest.raises(OutputError, match=r"labels\.csv: expected the labels of `rondo stream`"):
        summarize(folder)
    add = write_stream_folder(tmp_path / "other")
    (add / "summary.json").write_text("[]", encoding="utf-8")
    with pytest.raises(OutputError, match=r"summary\.json"):
        summarize(add)


@pytest.mark.parametrize("kept", [0, 11, len(",".join(COLUMNS)) + 1, len(",".join(COLUMNS)) + 20])
def test_a_stream_that_has_just_begun_has_a_page(tmp_path: Path, kept: int) -> None:
    """Between two instants of writing: no header yet, half of it, the header alone, half of the first decision."""
    folder = write_stream_folder(tmp_path / "live")
    path = folder / "labels.csv"
    path.write_bytes(path.read_bytes()[:kept])
    (folder / "events.jsonl").unlink()
    page = render(summarize(folder), live="now")
    assert "0 events so far" in page and "0 units and 0 motifs occur" in page


def test_the_scores_of_decisions_lie_on_their_frames(tmp_path: Path) -> None:
    folder = write_stream_folder(tmp_path / "live", n_decisions=10)
    scores = summarize(folder)["recordings"][0]["scores"]
    assert scores["channels"] == ["unit score", "motif score"]
    codes = np.frombuffer(base64.b64decode(scores["coarse"]["data"]), np.uint8).reshape(2, 500)
    npt.assert_allclose(codes[0] / 254, 0.5, atol=1 / 254)
    expected = np.repeat([0.25, 0.25, 0.25, 0.25, 0.0] * 2, STEP)  # every fifth decision is OTHER
    npt.assert_allclose(codes[1] / 254, expected, atol=1 / 254)
