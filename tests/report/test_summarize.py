"""What the dict says about a run folder, and what is said about folders that cannot be read."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest

from rondo.errors import OutputError
from rondo.report.render import render
from rondo.report.tables import MAX_ENTRIES_SHOWN
from rondo.run.overview import overview_path, write_overview
from tests.report.on_folders import summarize
from tests.report.run_folders import MOTIFS, add_fit, edit_summary, write_run_folder


def read(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def test_the_first_sentence_says_what_was_found(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, n_frames=6000)
    edit_summary(folder, recordings=[read(folder)["recordings"][0] | {"share_other": 0.12}])
    assert summarize(folder)["overview"] == (
        "Rondo found 5 units and 3 motifs in 1 recording (2 min, 6 channels at 50 Hz). 12 % of the time is OTHER."
    )


def test_motifs_that_are_units_are_not_counted_twice(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, with_truth=False)
    edit_summary(folder, motifs_are_units=True)
    summary = summarize(folder)
    assert summary["overview"].startswith(
        "Rondo found 5 units in 1 recording (2 min, 6 channels at 50 Hz); no motif is longer than a unit. "
    )
    page = render(summary)
    assert "No motif is longer than a unit, so that motifs have no lane of their own." in page
    assert "<h3>Motifs</h3> No motif is longer than a unit: the table repeats the one above" in page


def test_recordings_that_differ_are_told_as_ranges_and_other_is_weighted_by_frames(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, recording_ids=("a", "b"), rate=None, with_truth=False)
    first, second = read(folder)["recordings"]
    edit_summary(folder, recordings=[first | {"share_other": 0.0}, second | {"share_other": 0.06}], method="clock")
    sentence = summarize(folder)["overview"]
    assert sentence.startswith(
        "The method 'clock' found 5 units and 3 motifs in 2 recordings (12,000 frames, 6 channels)"
    )
    assert sentence.endswith("3.0 % of the time is OTHER.")


def test_the_dict_is_plain_json(tmp_path: Path) -> None:
    summary = summarize(write_run_folder(tmp_path))
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_each_score_row_is_followed_by_its_clock(tmp_path: Path) -> None:
    rows = summarize(write_run_folder(tmp_path))["scores"]
    assert [(row["level"], row["method"]) for row in rows] == [
        ("Units", "rondo"),
        ("Units", "clock"),
        ("Motifs", "rondo"),
        ("Motifs", "clock"),
    ]
    assert rows[0]["ari"] == 72.25
    assert rows[1]["ari"] == 9.5
    assert summarize(write_run_folder(tmp_path / "no truth", with_truth=False))["scores"] == []


def test_lanes_hold_the_segments_of_their_recording(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, recording_ids=("a", "b"))
    table = pl.read_parquet(folder / "segments.parquet")
    for recording in summarize(folder)["recordings"]:
        assert [lane["kind"] for lane in recording["lanes"]] == ["unit", "true unit", "motif", "true motif"]
        own = table.filter((pl.col("recording") == recording["id"]) & (pl.col("level") == "unit"))
        motifs = table.filter((pl.col("recording") == recording["id"]) & (pl.col("level") == "motif"))["id"]
        lane = recording["lanes"][0]
        assert lane["start_frames"] == own["start_frame"].to_list()
        assert lane["end_frames"] == own["end_frame"].to_list()
        assert lane["names"] == ["OTHER" if i == -1 else f"u{i}" for i in own["id"]]
        assert lane["scores"] == own["score"].to_list()
        assert recording["lanes"][2]["units"] == [
            "" if i == -1 else " ".join(map("u{}".format, MOTIFS[i])) for i in motifs
        ]
        assert recording["lanes"][1]["scores"] == [None] * len(recording["lanes"][1]["names"])


def test_notes_are_gathered_over_recordings(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, recording_ids=("a", "b"), with_gap=False)
    first, second = read(folder)["recordings"]
    second |= {"breaks": [3, 5], "duration_s": 999.0}
    edit_summary(folder, recordings=[first, second])
    notes = summarize(folder)["notes"]
    assert [(note["recordings"], note["in_all"]) for note in notes] == [
        (["a", "b"], True),
        (["b"], False),
        (["b"], False),
    ]
    assert "2 gaps" in notes[1]["text"]
    assert "timestamps jump" in notes[2]["text"]


def test_gaps_are_missing_and_every_recording_and_channel_is_inside(tmp_path: Path) -> None:
    ids = tuple(f"r{i:02}" for i in range(13))
    summary = summarize(write_run_folder(tmp_path, recording_ids=ids, channels=tuple("abcdefghijklmn"), n_frames=800))
    assert summary["n_recordings"] == 13
    assert summary["left_out"] == []
    assert [(recording["id"], recording["at_first"]) for recording in summary["recordings"]] == [
        (id, place < 12) for place, id in enumerate(ids)
    ]
    signal = summary["recordings"][0]["signal"]
    assert (signal["channels"], signal["at_first"]) == (list("abcdefghijklmn"), 12)
    codes = np.frombuffer(base64.b64decode(signal["coarse"]["data"]), np.uint8).reshape(14, 800)
    assert signal["fine"] is None  # there is nothing finer than every frame
    npt.assert_array_equal(codes == 255, np.tile((np.arange(800) >= 400) & (np.arange(800) < 440), (14, 1)))


def test_entries_are_named_and_coloured_like_their_segments(tmp_path: Path) -> None:
    summary = summarize(write_run_folder(tmp_path))
    lanes = {lane["kind"]: lane for lane in summary["recordings"][0]["lanes"]}
    for level in ("unit", "motif"):
        drawn = dict(zip(lanes[level]["names"], lanes[level]["colours"], strict=True))
        for entry in summary["entries"][level]:
            assert drawn[entry["name"]] == entry["colour"]
    assert summary["entries"]["motif"][1]["composition"] == "u2 u3 u2"
    assert summary["entries"]["unit"][0]["mean_duration"].endswith(" s")


def test_entries_without_evidence_are_marked_not_hidden(tmp_path: Path) -> None:
    rows = summarize(write_run_folder(tmp_path))["entries"]["unit"]
    assert [(row["evidence"], row["unproven"]) for row in rows] == [
        ("yes (p = 0.05)", False),
        ("not shown (p = 0.35)", True),
        ("occurs once", True),
        ("not tested", False),
        ("yes (p = 0.05)", False),
    ]


@pytest.mark.parametrize("rate", [50.0, None])
def test_exemplars_lead_to_their_place_in_the_timeline(tmp_path: Path, rate: float | None) -> None:
    ids = tuple(f"r{i:02}" for i in range(13))
    folder = write_run_folder(tmp_path, recording_ids=ids, n_frames=2000, rate=rate)
    told = {}
    for row, entry in zip(summarize(folder)["entries"]["unit"], read(folder)["units"], strict=True):
        for shown, exemplar in zip(row["exemplars"], entry["exemplars"], strict=True):
            start, stop = exemplar["start_frame"], exemplar["end_frame"]
            at = f"frame {start}" if rate is None else f"{start / rate:.1f} s"
            assert (shown["text"], shown["score"]) == (f"{exemplar['recording']} {at}", f"{exemplar['score']:.2f}")
            told[exemplar["recording"]] = shown["timeline"]
            if shown["timeline"] is not None:
                assert shown["from"] == max(0, 2 * start - stop)
                assert shown["to"] == min(2000, 2 * stop - start)
    assert told == {id: ids.index(id) for id in told}


def test_of_very_many_entries_those_with_most_time_are_shown(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path)
    one = read(folder)["units"][0]
    edit_summary(folder, units=[one | {"id": i, "share": (i * 7919 % 1000) / 1000} for i in range(1000)])
    summary = summarize(folder)
    assert summary["n_entries"] == {"unit": 1000, "motif": 3}
    shown = [int(row["name"][1:]) for row in summary["entries"]["unit"]]
    assert shown == [i for i in range(1000) if i * 7919 % 1000 >= 1000 - MAX_ENTRIES_SHOWN]


def test_fit_is_told_beside_the_fitted_recordings(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path, recording_ids=("a", "b"))
    assert summarize(folder)["fit"] == []
    add_fit(folder, "fits", "does not fit")
    fitted, first, second = summarize(folder)["fit"]
    assert (fitted["verdict"], fitted["share_accepted"]) == ("", "95 %")
    assert (first["recording"], first["verdict"], first["units"]) == ("a", "fits", "3 of 5")
    assert first["distances"] == fitted["distances"] == ["0.20", "0.30", "0.50", "0.70", "1.00"]
    assert (second["share_accepted"], second["distances"]) == ("0 %", ["–"] * 5)


SEGMENT = {
    "recording": ["day1"],
    "level": ["unit"],
    "id": [0],
    "start_frame": [0],
    "end_frame": [5],
    "score": [0.5],
}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 1}, "schema"),
        ({"recordings": [{"id": "../../elsewhere"}]}, r"recordings\.0\.id"),
        ({"units": "many"}, "units"),
        ({"recordings": []}, "recordings"),
        ({"seed": None}, "seed"),
        ({"units": [{"id": 1, "n_occurrences": 3, "share": 40.0}]}, "units.0.share"),
    ],
)
def test_a_wrong_summary_is_refused_by_its_key(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    folder = write_run_folder(tmp_path)
    edit_summary(folder, **changes)
    with pytest.raises(OutputError, match=rf"summary\.json: {message}") as refused:
        summarize(folder)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"recording": ["day2"]}, "row 0 .recording 'day2'"),
        ({"level": ["states"]}, "level 'states'"),
        ({"end_frame": [6001]}, "0 to 6001"),
        ({"start_frame": [5]}, "5 to 5"),
        ({"id": [None]}, "id None"),
        ({"id": ["walk"]}, "cannot be read as a table"),
    ],
)
def test_segments_that_do_not_fit_are_refused_by_their_row(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    folder = write_run_folder(tmp_path)
    pl.DataFrame(SEGMENT | changes).write_parquet(folder / "segments.parquet")
    with pytest.raises(OutputError, match=message) as refused:
        summarize(folder)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["summary.json", "segments.parquet", "truth.parquet", "overview/day1.npz"])
@pytest.mark.parametrize("damage", ["missing", "empty", "binary", "half", "folder"])
def test_a_damaged_file_is_named(tmp_path: Path, name: str, damage: str) -> None:
    folder = write_run_folder(tmp_path)
    path = folder / name
    content = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "missing":
        path.write_bytes({"empty": b"", "binary": bytes(range(256)), "half": content[: len(content) // 2]}[damage])
    if (name, damage) == ("truth.parquet", "missing"):
        assert len(summarize(folder)["recordings"][0]["lanes"]) == 2
        return
    with pytest.raises(OutputError, match=Path(name).name) as refused:
        summarize(folder)
    assert "\n" not in str(refused.value)


def test_missing_columns_and_foreign_overviews_are_refused(tmp_path: Path) -> None:
    folder = write_run_folder(tmp_path)
    write_overview(overview_path(folder, "day1"), np.zeros((10, 6)), list("abcdef"))
    with pytest.raises(OutputError, match="covers 10 frames"):
        summarize(folder)
    pl.DataFrame(SEGMENT).drop("level").write_parquet(folder / "segments.parquet")
    with pytest.raises(OutputError, match="column 'level' is missing"):
        summarize(folder)


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="no such folder; give the --out of"):
        summarize(tmp_path / "nowhere")
