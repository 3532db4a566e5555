"""What a release wrote is read for ever: runs, models, lists of edits, streams (tests/frozen/README.md)."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.edit import apply_edits
from rondo.errors import OutputError
from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.run.folder import run_edits
from rondo.run.shown import shown
from scripts.freeze import freeze
from tests.cli.running import call

VERSIONS = sorted((Path(__file__).parent / "frozen").glob("v*"))
FROZEN = VERSIONS[0]
RUNS = ("one", "groups", "edited", "labelled", "finished", "stopped")
APART = "apart/model/subject0_day0"


@pytest.fixture(
    scope="module",
    params=[*VERSIONS, pytest.param(None, marks=pytest.mark.slow)],
    ids=lambda folder: folder.name if folder else "the next",
)
def frozen(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of each release, and one that is frozen now, as `scripts/freeze.py` will for the next."""
    if request.param is not None:
        return Path(request.param)
    folder = tmp_path_factory.mktemp("frozen") / "next"
    freeze(folder)
    return folder


@pytest.fixture
def copied(frozen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that may be written to, as the folder that one is in: paths in these folders are relative."""
    folder = Path(shutil.copytree(frozen, tmp_path / "copied"))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = Path(shutil.copytree(FROZEN, tmp_path / "old"))
    monkeypatch.chdir(folder)
    return folder


def share_equal(labels: NDArray[np.integer], stored: NDArray[np.integer]) -> float:
    assert labels.shape == stored.shape
    return float(np.mean(labels == stored))


def painted(result: Result, recording: str, level: str) -> NDArray[np.int64]:
    """The labels that the segments of a recording tell."""
    table = result.segments
    labels = np.full(len(result[recording].units), -1)
    for row in table[(table["recording"] == recording) & (table["level"] == level)].itertuples():
        labels[row.start_frame : row.end_frame] = row.id
    return labels


def test_every_release_since_0_2_0_is_kept() -> None:
    text = (Path(__file__).parents[1] / "CHANGELOG.md").read_text(encoding="utf-8")
    released = set(re.findall(r"^## (\d+\.\d+\.\d+)(?!.*not released)", text, re.MULTILINE))
    assert {f"v{version}" for version in released} == {folder.name for folder in VERSIONS}


def test_runs_are_loaded_with_their_labels_and_segments(frozen: Path) -> None:
    runs = [path.parent for path in frozen.glob("*/summary.json") if path.parent.name != "apart"]
    assert len(runs) >= len(RUNS)
    for run in runs:
        result = Result.load(run)
        stored = sorted(path.stem for path in (run / "units").glob("*.npy"))
        assert sorted(one.id for one in result.recordings) == stored
        for id in stored:
            units, motifs = np.load(run / f"units/{id}.npy"), np.load(run / f"labels/{id}.npy")
            assert np.array_equal(result[id].units, units) and np.array_equal(result[id].motifs, motifs)
            assert np.array_equal(painted(result, id, "unit"), units)
            assert np.array_equal(painted(result, id, "motif"), motifs)


def test_models_are_loaded_and_label_as_they_did(frozen: Path) -> None:
    for model in (path.parent for path in frozen.glob("*/model/manifest.json")):
        assert len(Rondo.load(model).units_) > 1
    result = Rondo.load(frozen / "one/model").predict(frozen / "day2.csv")
    assert share_equal(result.units, np.load(frozen / "labelled/units/day2.npy")) >= 0.995  # processors differ
    assert share_equal(result.motifs, np.load(frozen / "labelled/labels/day2.npy")) >= 0.995


def test_a_stopped_stream_goes_on_to_where_an_uninterrupted_one_ends(copied: Path) -> None:
    assert not Result.load(copied / "stopped").segments.empty
    done = call("stream", "one", "--source", "day2.csv", "--out", "stopped")
    assert done.code == 0, done.err
    for level in ("units", "labels"):
        resumed, whole = (np.load(copied / run / level / "day2.npy") for run in ("stopped", "finished"))
        assert share_equal(resumed, whole) >= 0.995
    kinds = [
        [json.loads(line)["kind"] for line in (copied / run / "events.jsonl").read_text().splitlines()]
        for run in ("stopped", "finished")
    ]
    assert kinds[0] == kinds[1]


def test_names_are_shown_and_edits_are_undone(copied: Path) -> None:
    for run, name in (("edited", "rest"), ("finished", "learned on the way")):
        assert name in set(Result.load(copied / run).segments["name"])
        assert call("undo", run).code == 0
    for run in (path.parent.name for path in copied.glob("*/summary.json")):
        done = call("report", run)
        assert done.code == 0, done.err
        assert (copied / run / "report.html").stat().st_size > 100_000


def test_motifs_are_composed_of_units() -> None:
    segments = Result.load(FROZEN / "one").segments
    assert segments[segments["level"] == "motif"]["units"].str.split().str.len().max() >= 4


def test_groups_and_files_that_failed_are_known() -> None:
    result = Result.load(FROZEN / "groups")
    assert [one.group for one in result.recordings] == ["subject0", "subject0", "subject1"]
    assert set(result.usage(per="group")["group"]) == {"subject0", "subject1"}
    assert "subject1_empty.csv" in (FROZEN / "groups/failed.csv").read_text()


def test_a_model_of_one_recording_among_several_is_loaded() -> None:
    assert len(Rondo.load(FROZEN / APART).units_) > 1


def test_edits_are_shown() -> None:
    segments = Result.load(FROZEN / "edited").segments
    names = {(row.level, row.id): row.name_ for row in segments.rename(columns={"name": "name_"}).itertuples()}
    assert names["unit", 0] == "rest" and names["motif", 0] == "pause" and names["unit", 1000] == "limp"
    assert ("unit", 2) not in names and ("unit", 3) in names  # merged with 1; merged, and split off again
    assert not names["unit", 4]  # a name that was taken back
    live = Result.load(FROZEN / "finished").segments
    assert set(live[live["name"] == "learned on the way"]["id"]) == {5}


@pytest.mark.parametrize("run", RUNS)
def test_edits_in_kinds_that_are_gone_show_the_labels_that_were_stored(run: str) -> None:
    result = Result.load(FROZEN / run)
    edits = run_edits(FROZEN / run, result.summary)
    for labelling in result:
        again = shown(labelling, edits)
        assert np.array_equal(again.units, labelling.units) and np.array_equal(again.motifs, labelling.motifs)


def test_the_history_of_edits_is_kept_and_goes_on(old: Path) -> None:
    history = json.loads(call("name", "edited", "--history", "--json").out)["history"]
    assert [edit["kind"] for edit in history] == [
        "name", "name", "merge", "undo", "merge", "merge", "name", "undo", *["relabel"] * 4,
    ]  # fmt: skip
    labels = [np.load(f"edited/{level}/short.npy") for level in ("units", "labels")]
    assert call("name", "edited", "unit:0", "pause").code == 0
    npt.assert_array_equal([np.load(f"edited/{level}/short.npy") for level in ("units", "labels")], labels)
    names = Result.load(old / "edited").segments.groupby(["level", "id"])["name"].first()
    assert names["unit", 0] == "pause" and names["unit", 1000] == "limp"
    assert call("undo", "edited").code == 0
    assert Result.load(old / "edited").segments.groupby(["level", "id"])["name"].first()["unit", 0] == "rest"
    assert call("apply", "edited", "wanted.json").code == 2  # a page of 0.2.0 asks for a cut
    for number in range(9, 13):
        assert call("undo", "edited", number).code == 0
    assert 1000 not in Result.load(old / "edited").units


def test_motifs_that_labels_do_not_show_move_into_the_segments_with_the_first_edit(old: Path) -> None:
    run = old / "groups"
    before = Result.load(run)
    (motif,) = before.summary.unshown_motifs
    apply_edits(run, [{"kind": "name", "level": "motif", "ids": [motif.id], "name": "rowing"}])
    assert not list(run.glob("unshown_segments*"))
    after = Result.load(run)
    kept = after.segments["level"] == motif.kind
    assert set(after.segments[kept]["name"]) == {"rowing"} and kept.sum() == motif.n_occurrences
    assert before.segments.drop(columns="name").equals(after.segments.drop(columns="name"))


def test_what_was_merged_stays_merged_in_new_labels(old: Path) -> None:
    assert call("label", "edited", "day2.csv", "--out", "again").code == 0
    segments = Result.load(old / "again").segments
    units = segments[segments["level"] == "unit"]
    assert 2 not in set(units["id"]) and "rest" in set(units["name"])


def test_ids_of_recordings_that_had_a_vocabulary_each_are_shifted_apart(old: Path) -> None:
    result = Result.load(old / "apart")
    first, second = (one.id for one in result.recordings)
    for level, name in (("units", "unit"), ("labels", "motif")):
        shown = [result[id].labels_of(name) for id in (first, second)]
        stored = [np.load(old / "apart" / level / f"{id}.npy") for id in (first, second)]
        assert np.array_equal(shown[0], stored[0])
        shift = result.summary.id_shifts[second]
        assert shift > 0 and np.array_equal(shown[1], np.where(stored[1] == -1, -1, stored[1] + shift))
        assert all(
            np.array_equal(painted(result, id, name), track) for id, track in zip((first, second), shown, strict=True)
        )
    shares = [
        sum(one.share for one in result.summary.units),
        1 - np.mean([one.share_other for one in result.recordings]),
    ]
    assert shares[0] == pytest.approx(shares[1], abs=0.02)
    known = {f"u{one.id}" for one in result.summary.units}
    assert {unit for units in result.segments["units"] for unit in units.split()} <= known
    assert {one.taken_for for one in result.summary.units} <= {"", *known}
    with pytest.raises(OutputError, match="read only"):
        apply_edits(old / "apart", [{"kind": "name", "level": "unit", "ids": [0], "name": "rest"}])
    result.save(old / "copy")
    assert Result.load(old / "copy").summary == result.summary.model_copy(update={"id_shifts": {}})
