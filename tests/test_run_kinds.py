"""The folders of discover, label and stream are runs alike: every command works on each of them."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest

from rondo.live import session
from rondo.live.session import Session, SessionPaths
from rondo.model.rondo import Rondo
from rondo.result import Result
from tests.cli.running import Command, Outcome, call, command, tree, waves, write_csv

KINDS = ("discover", "label", "stream", "stopped")
N_ROWS = 1800
LAYOUT = {
    "labels", "units", "scores", "overview", "model", "segments.csv", "segments.parquet", "entries.csv",
    "summary.json", "report.html",
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of each kind over the recording `x`; the one of a stream that was stopped has half of it."""
    folder = tmp_path_factory.mktemp("kinds")
    write_csv(folder / "x.csv", waves(N_ROWS, seed=6))
    quick = ("--rate", 50, "--window", 40, "--step", 20, "--set", "evidence.surrogates=0")
    quick += ("--set", "encoder.shape_channels=0")  # shapes split these short windows
    done = [
        call("discover", folder / "x.csv", "--out", folder / "discover", *quick),
        call("label", folder / "discover", folder / "x.csv", "--rate", 50, "--out", folder / "label"),
        call("stream", folder / "discover", "--source", folder / "x.csv", "--out", folder / "stream"),
    ]
    assert [outcome.code for outcome in done] == [0, 0, 0], done
    model, place = folder / "discover" / "model", folder / "stopped"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(session, "CHUNK_ROWS", 100)
        at = SessionPaths(str(folder / "x.csv"), place)
        with closing(Session(Rondo.load(model), model, at)) as stopped:
            for _ in range(9):
                stopped.step()
            stopped.stop()
    return folder


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(params=KINDS)
def run(request: pytest.FixtureRequest, made: Path, here: Path) -> Path:
    return Path(shutil.copytree(made / request.param, here / "run"))


@pytest.fixture
def rondo(capfd: pytest.CaptureFixture[str]) -> Command:
    plain = command(capfd)

    def checked(*arguments: object) -> Outcome:
        outcome = plain(*arguments)
        assert outcome.code == 0, outcome.err
        return outcome

    return checked


def truth_of(run: Path, here: Path) -> Path:
    """Classes that are the units of the run under other names."""
    units = np.load(run / "units" / "x.npy")
    np.save(here / "truth.npy", np.array(["none", "sit", "walk", "run"])[units + 1])
    return here / "truth.npy"


def test_the_layout_is_the_same(run: Path) -> None:
    extra = {path.name for path in run.iterdir()} - LAYOUT - {"health.json"}  # of the command
    assert extra in (set(), {"labels.csv", "rows.csv", "events.jsonl", "checkpoint"})
    assert {path.name for path in run.iterdir()} >= LAYOUT - {"scores"}  # which say nothing where all of them are 1
    result = Result.load(run)
    assert (result.kind == "stream") == bool(extra)
    assert result.recordings[0].id == "x" and result.recordings[0].channels == ("a", "b")
    about = result.recordings[0]
    assert np.load(run / "labels" / "x.npy").shape == (about.n_frames,) == result.units.shape
    npt.assert_array_equal(np.load(run / "units" / "x.npy"), result.units)
    assert pl.read_csv(run / "segments.csv").height == len(result.segments) > 3
    assert isinstance(result.model, Rondo)
    page = (run / "report.html").read_text(encoding="utf-8")
    assert '<section class="recording"' in page and '"channels":["a","b"]' in page  # the signal of a stream too


def test_compare_and_suggested_names(rondo: Command, run: Path, here: Path) -> None:
    truth = truth_of(run, here)
    found = json.loads(rondo("compare", run, truth, "--level", "unit", "--json").out)
    assert found["purity"] == 1.0
    applied = json.loads(rondo("compare", run, truth, "--level", "unit", "--suggest-names", "--apply", "--json").out)[
        "applied"
    ]
    assert applied
    assert {unit.name for unit in Result.load(run).summary.units} <= {"sit", "walk", "run"}


def test_usage_export_and_scores(rondo: Command, run: Path, here: Path) -> None:
    rows = json.loads(rondo("usage", run, "--json").out)["recordings"]
    other = float((np.load(run / "units" / "x.npy") == -1).mean())
    assert sum(row["share"] for row in rows if row["level"] == "unit") == pytest.approx(1 - other)
    printed = json.loads(rondo("export", run, "--format", "eaf", "--out", here / "eaf", "--json").out)
    assert all(Path(file).stat().st_size > 20 for file in printed["files"])
    scores = json.loads(rondo("evaluate", truth_of(run, here), run, "--level", "unit", "--json").out)
    assert scores["ari"] == pytest.approx(100.0)
    beside = json.loads(rondo("evaluate", truth_of(run, here), run / "units" / "x.npy", "--json").out)
    assert beside == scores


def test_report_and_a_second_run_beside(rondo: Command, run: Path, made: Path, here: Path) -> None:
    before = (run / "report.html").read_bytes()
    rondo("report", run)
    assert (run / "report.html").read_bytes() == before
    rondo("report", run, "--truth", truth_of(run, here))
    assert b"walk" in (run / "report.html").read_bytes()
    if Result.load(run).recordings[0].n_frames == N_ROWS:
        rondo("report", run, "--compare", made / "label")
        assert (run / "compare.html").is_file()


def test_what_is_merged_is_merged_in_the_run_in_hand_and_split_again(rondo: Command, run: Path) -> None:
    before, files = np.load(run / "units" / "x.npy"), tree(run)
    motifs = np.load(run / "labels" / "x.npy")
    n_segments = len(Result.load(run).segments)
    rondo("merge", run, "unit:0", "unit:2")
    merged = np.load(run / "units" / "x.npy")
    npt.assert_array_equal(merged, np.where(before == 2, 0, before))
    npt.assert_array_equal(np.load(run / "labels" / "x.npy"), motifs)  # which are not the units
    assert np.load(run / "labels" / "x.npy").dtype == motifs.dtype == np.int32
    summary = Result.load(run).summary
    assert [(unit.id, unit.absorbed) for unit in summary.units] == [(0, (2,)), (1, ())]
    assert "Merged by hand, and not tested as one: u2 as u0." in summary.findings
    table = pl.read_parquet(run / "segments.parquet")
    n_joined = np.count_nonzero(np.diff(before)) - np.count_nonzero(np.diff(merged))  # none at the start of a stream
    assert table.height == n_segments - n_joined
    assert 2 not in table.filter(pl.col("level") == "unit")["id"]
    assert "u2" not in " ".join(table["units"])
    rondo("split", run, "unit:2")
    npt.assert_array_equal(np.load(run / "units" / "x.npy"), before)
    after = tree(run)
    same = {name for name in files if "edits.json" not in name and name not in ("found.parquet", "report.html")}
    assert {name: after[name] for name in same} == {name: files[name] for name in same}


def test_an_update_that_was_interrupted_is_repaired_by_the_same_command(
    rondo: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Path(shutil.copytree(run, run.parent / "whole"))
    rondo("merge", whole, "unit:0", "unit:1")

    class Killed(BaseException):
        """Nothing that anybody would catch."""

    def broken(*_: object) -> None:
        raise Killed

    for step in ("_label_files", "RunWriter._write_table", "write_json"):
        with monkeypatch.context() as patched:
            patched.setattr(f"rondo.run.writer.{step}", broken)
            with pytest.raises(Killed):
                call("merge", run, "unit:0", "unit:1")
    rondo("merge", run, "unit:0", "unit:1")
    some, other = ({name: it for name, it in tree(one).items() if "edits" not in name} for one in (run, whole))
    assert some == other


def test_the_model_inside_reads_another_recording(rondo: Command, run: Path, here: Path) -> None:
    write_csv(here / "y.csv", waves(600, seed=9))
    rondo("label", run, "y.csv", "--rate", 50, "--out", "read")
    result = Result.load(here / "read")
    said = any(finding.startswith("Read again with what the stream has learned") for finding in result.findings)
    assert said == (Result.load(run).kind == "stream")
    assert len(set(result.units.tolist()) - {-1}) == 3
