"""Edits of frames in runs of every kind: what is shown, what is refused, what is left for other recordings."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings

from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.edit import apply_edits, apply_file, edits_in, undo_edit
from rondo.editing.edits import Edits
from rondo.errors import SettingError
from rondo.evaluation import scored
from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.run.labelling import Labelling
from rondo.run.shown import shown
from tests import naive_edits
from tests.cli.running import call, tree, waves, write_csv
from tests.vocabulary.test_edits import BEGINS, HISTORIES, TRACKS

SETTINGS = ("--set", "evidence.surrogates=0", "--set", "encoder.shape_channels=0")
QUICK = ("--rate", 50, "--window", 50, "--step", 25, *SETTINGS)
FLAT = ("--set", "motifs.method=none")
MADE = {"model/edits.json", "found.parquet"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two recordings: of single units, of composed motifs, and of a method without a model."""
    folder = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate(("day", "night")):
        write_csv(folder / f"{name}.csv", waves(900, seed=seed))
    files = (folder / "day.csv", folder / "night.csv")
    clock = ("--rate", 50, "--method", "clock")
    for name, options in {"flat": (*QUICK, *FLAT), "composed": QUICK, "clock": clock}.items():
        done = call("discover", *files, *options, "--out", folder / name)
        assert done.code == 0, done.err
    return folder


@pytest.fixture
def copy(runs: Path, tmp_path: Path) -> Callable[[str], Path]:
    return lambda name: Path(shutil.copytree(runs / name, tmp_path / name))


def units_of(run: Path, recording: str = "day") -> list[tuple[int, int, int]]:
    table = pl.read_csv(run / "segments.csv").filter((pl.col("recording") == recording) & (pl.col("level") == "unit"))
    return [tuple(row) for row in table.select("id", "start_frame", "end_frame").rows()]


def track(run: Path, recording: str = "day", folder: str = "units") -> Any:
    return np.load(run / folder / f"{recording}.npy").copy()


def files_of(run: Path) -> dict[str, bytes | None]:
    """All that a run shows; not the lists of edits, nor what was found, which stay once they are there."""
    files = {name: content for name, content in tree(run).items() if content is not None}
    return {name: content for name, content in files.items() if name not in MADE and name != "report.html"}


@settings(max_examples=25)
@given(HISTORIES, TRACKS, TRACKS, BEGINS, BEGINS)
def test_segments_equal_those_painted_frame_by_frame(
    edits: Edits, units: list[int], motifs: list[int], begins: set[int], breaks: set[int]
) -> None:
    tracks = {"unit": np.array(units, np.int32), "motif": np.array(motifs, np.int32)}
    scores = [(own != OTHER).astype(np.float32) for own in tracks.values()]
    found = Labelling("day", *tracks.values(), *scores, np.arange(12) / 5, 5.0, np.array(sorted(breaks), np.int64), 1.0,
                      motif_begins=np.array(sorted(begins), np.int64))  # fmt: skip
    edited = shown(found, edits)
    for level, labels in tracks.items():
        own = begins if level == "motif" else set()
        own = {at for at in own if labels[at] == labels[at - 1] != OTHER}  # others are no begins inside a run
        painted, starts = naive_edits.relabelled(edits.history, level, "day", labels.tolist(), own)
        kept = naive_edits.applied(edits.history, level, painted)
        rows = edited.table.filter(pl.col("level") == level)
        expected = naive_edits.occurrences(kept, starts | breaks)
        assert rows.select("start_frame", "end_frame", "id").rows() == expected
        assert rows["start_s"].to_list() == [start / 5 for start, *_ in expected]
        assert rows["end_s"].to_list() == pytest.approx([end / 5 for _, end, _ in expected])
        assert rows["name"].to_list() == [naive_edits.name(edits.history, level, id) for *_, id in expected]
    spans = {level: edited.table.filter(pl.col("level") == level) for level in tracks}
    of_units = spans["unit"].select("start_frame", "end_frame", "id").rows()
    inside = [
        " ".join(f"u{id}" for first, last, id in of_units if first < stop and last > start)
        for start, stop in spans["motif"].select("start_frame", "end_frame").rows()
    ]
    assert spans["motif"]["units"].to_list() == inside


@pytest.mark.parametrize("name", ["flat", "composed", "clock"])
def test_edits_are_shown_everywhere_and_undone_without_a_trace(copy: Callable[[str], Path], name: str) -> None:
    run = copy(name)
    before, units, labels, night = files_of(run), track(run), track(run, folder="labels"), track(run, "night")
    first, second, third = units_of(run)[:3]
    edits = [
        {"kind": "relabel", "level": "unit", "ids": [third[0]], "spans": [["day", second[1], second[2]]]},
        {"kind": "relabel", "ids": ["new"], "spans": [["day", first[1], first[1] + 9]], "name": "limp"},
        {"kind": "name", "level": "unit", "ids": [third[0]], "name": "reach"},
    ]
    history = apply_edits(run, edits)
    expected = units.copy()
    expected[second[1] : second[2]], expected[first[1] : first[1] + 9] = third[0], 1000
    assert track(run).tolist() == expected.tolist()
    flat = name in ("flat", "clock")
    if flat:  # where a unit is its own motif, the motif follows
        assert np.array_equal(track(run, folder="labels") == 1000, expected == 1000)
    else:
        assert track(run, folder="labels").tolist() == labels.tolist()
    summary = json.loads((run / "summary.json").read_text())
    own = summary["units"]
    assert {one["id"]: one["name"] for one in own if one["name"]} == {third[0]: "reach", 1000: "limp"}
    limp = next(one for one in own if one["id"] == 1000)
    assert (limp["n_occurrences"], limp["mean_duration_frames"]) == (1, 9.0)
    assert [(one["start_frame"], one["end_frame"]) for one in limp["exemplars"]] == [(first[1], first[1] + 9)]
    assert any(sentence.startswith("Changed by hand: 2 spans") for sentence in summary["findings"])
    assert "u1000 limp" in (run / "report.html").read_text()
    assert np.array_equal(track(run, "night"), night)
    for _ in history:
        undo_edit(run)
    assert files_of(run) == before
    with pytest.raises(SettingError, match="there is nothing to undo"):
        undo_edit(run)


def test_a_recording_that_was_not_edited_stays_untouched(copy: Callable[[str], Path]) -> None:
    run = copy("flat")
    night = [run / folder / "night.npy" for folder in ("labels", "units")]
    before = [(path.read_bytes(), path.stat().st_ino) for path in night]
    apply_edits(run, [{"kind": "relabel", "ids": [OTHER], "spans": [["day", 10, 60]]}])
    assert [(path.read_bytes(), path.stat().st_ino) for path in night] == before  # not even written again
    assert (track(run)[10:60] == OTHER).all() and (track(run, folder="labels")[10:60] == OTHER).all()


def test_the_model_of_an_edited_run_reads_with_its_names_and_merges_alone(copy: Callable[[str], Path]) -> None:
    run = copy("flat")
    plain = Rondo.load(run / "model").predict(Recording(waves(900), rate=50, channels=("a", "b"), id="day"))
    manifest = (run / "model" / "manifest.json").read_bytes()
    first = units_of(run)[0]
    apply_edits(run, [
        {"kind": "name", "ids": [1], "name": "reach"},
        {"kind": "relabel", "ids": [2], "spans": [["day", first[1], first[2]]]},
        {"kind": "relabel", "ids": ["new"], "spans": [["day", *units_of(run)[1][1:]]], "name": "limp"},
    ])  # fmt: skip
    again = Rondo.load(run / "model").predict(Recording(waves(900), rate=50, channels=("a", "b"), id="day"))
    assert again.units.tolist() == plain.units.tolist()
    assert set(again.segments["name"]) == {"", "reach"}
    assert (run / "model" / "manifest.json").read_bytes() == manifest
    (run.parent / "again").mkdir()
    Result.load(run).save(run.parent / "again" / "run")  # a copy of the run has all of them
    assert track(run.parent / "again" / "run").tolist() == track(run).tolist()
    undo_edit(run.parent / "again" / "run", 1)
    assert edits_in(run.parent / "again" / "run")[:3] == [
        edit | ({"undone": True, "can_undo": False} if i == 0 else {}) for i, edit in enumerate(edits_in(run))
    ]  # fmt: skip


def test_an_id_that_was_made_up_is_never_given_again_and_redo_is_the_edit_again(copy: Callable[[str], Path]) -> None:
    run = copy("flat")
    spans = [["day", *units_of(run)[0][1:]]]
    wanted = {"kind": "relabel", "ids": ["new"], "spans": spans, "name": "limp"}
    (edit,) = apply_edits(run, [wanted])
    assert (edit["ids"], edit["motifs"]) == ([1000], [1000])
    undo_edit(run)
    assert apply_edits(run, [wanted])[-1]["ids"] == [1001]
    undo_edit(run)
    apply_edits(run, [wanted | {"ids": [1000]}])
    assert 1000 in track(run) and 1001 not in track(run) and 1000 in track(run, folder="labels")


def test_scores_against_a_truth_follow_and_come_back(runs: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = Result.load(runs / "composed")
    scored(result, {own.recording_id: (own.units, own.motifs) for own in result}).save(run)
    before = json.loads((run / "summary.json").read_text())["scores"]
    assert before["units"]["ari"] == before["motifs"]["ari"] == 100
    apply_edits(run, [{"kind": "relabel", "level": "unit", "ids": [0], "spans": [["day", 0, 700]]}])
    after = json.loads((run / "summary.json").read_text())["scores"]
    assert after["units"]["ari"] < 90 and after["motifs"] == before["motifs"]
    undo_edit(run)
    assert json.loads((run / "summary.json").read_text())["scores"] == before


@pytest.mark.parametrize(
    "wanted",
    [
        {"kind": "relabel", "ids": [77], "spans": [["day", 1, 5]]},
        {"kind": "relabel", "ids": [0], "spans": [["dusk", 1, 5]]},
        {"kind": "relabel", "ids": [0], "spans": [["day", 5, 901]]},
        {"kind": "relabel", "ids": [0], "spans": 3},
        {"kind": "name", "ids": [0], "name": "Reach"},
        {"kind": "undo", "number": 5},
        {"kind": "undo", "number": "1"},
        {"kind": "undo", "key": ["k"]},
        {"kind": "undo", "key": 5},
        {"kind": "undo", "key": "k" * 5_000},
        3,
    ],
)  # fmt: skip
def test_what_is_refused_changes_nothing(copy: Callable[[str], Path], wanted: Any) -> None:
    run = copy("flat")
    before = tree(run)
    with pytest.raises(SettingError, match="edit 2 of 2: ") as refused:
        apply_edits(run, [{"kind": "name", "ids": [1], "name": "reach"}, wanted])  # all or nothing
    assert "\n" not in str(refused.value)
    assert tree(run) == before


def test_a_file_is_bound_to_its_run_and_applied_once(copy: Callable[[str], Path], tmp_path: Path) -> None:
    run, other = copy("flat"), copy("composed")
    span = ["day", *units_of(run)[0][1:]]
    edits = [{"kind": "relabel", "ids": ["new"], "spans": [span]}, {"kind": "undo", "number": 1}]
    content = {"format": "rondo-edits", "schema": 2, "run": Result.load(run).summary.identity, "edits": edits}
    (tmp_path / "edits.json").write_text(json.dumps(content))
    once = apply_file(run, tmp_path / "edits.json")
    assert [edit["kind"] for edit in once] == ["relabel", "undo"]
    left = tree(run)
    assert apply_file(run, tmp_path / "edits.json") == once and tree(run) == left
    assert Result.load(run).summary.identity == content["run"]  # edits do not make it another run
    with pytest.raises(SettingError, match="it holds edits of run"):
        apply_file(other, tmp_path / "edits.json")
    for spoilt in ("[" * 100_000, "{}", json.dumps(content | {"edits": 3}), json.dumps(content | {"format": "x"})):
        (tmp_path / "edits.json").write_text(spoilt)
        with pytest.raises(SettingError, match="no file of edits"):
            apply_file(run, tmp_path / "edits.json")


# ---------------------------------------------------------------- a folder as reports are tested on
