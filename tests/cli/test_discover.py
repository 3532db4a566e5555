"""`rondo discover`: what a run folder holds, for files of every kind, and that the same run is the same bytes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest
from numpy.typing import NDArray

from rondo.data.labels import OTHER, runs_of
from rondo.many.unfinished import reserved
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import PlantedStream, plant
from tests.cli.running import Command, Outcome, call, refused, tree, waves, write_csv
from tests.report.on_folders import write_report

SEGMENTS = {
    "recording": pl.String,
    "level": pl.String,
    "id": pl.Int32,
    "name": pl.String,
    "start_frame": pl.Int64,
    "end_frame": pl.Int64,
    "start_s": pl.Float64,
    "end_s": pl.Float64,
    "start_time": pl.Datetime("us"),
    "end_time": pl.Datetime("us"),
    "score": pl.Float64,
    "units": pl.String,
}
SUMMARY_KEYS = {
    "schema", "rondo_version", "kind", "method", "seed", "window_length_frames", "step_frames",
    "findings", "evidence", "fitted", "recordings", "units", "unit_merges", "motif_merges", "motifs",
    "motifs_are_units", "rare", "scores", "stream", "failed", "config", "headline",
}  # fmt: skip


@pytest.fixture(scope="module")
def stream() -> PlantedStream:
    return plant(n_frames=9_000, seed=3)


@pytest.fixture(scope="module")
def finished(stream: PlantedStream, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """One run over two recordings of which one has a hole; every test below may look, none may write."""
    folder = tmp_path_factory.mktemp("finished")
    values = np.array(stream.recording.values)
    np.savez(folder / "whole.npz", X=values[:6000], channels=list("abcdef"), rate=50.0, y=stream.motif_truth[:6000])
    values[7000:7100] = np.nan  # two seconds: a boundary
    values[8000:8005] = np.nan  # a tenth: interpolated
    write_csv(folder / "holed.csv", values[6000:], np.arange(3000) / 50)
    outcome = call("discover", folder / "whole.npz", folder / "holed.csv", "--out", folder / "run", "--json")
    return folder / "run", outcome


def every_segment(run: Path) -> pl.DataFrame:
    """Those of the labels, and those of motifs that labels do not show."""
    return pl.concat([pl.read_parquet(path).select(list(SEGMENTS)) for path in sorted(run.glob("*segments.parquet"))])


def labels_in(run: Path, recording: str) -> NDArray[np.int32]:
    return np.load(run / "labels" / f"{recording}.npy")


def test_json_is_one_object_with_the_documented_keys(finished: tuple[Path, Outcome]) -> None:
    run, outcome = finished
    assert outcome.code == 0
    printed = json.loads(outcome.out)
    assert printed.keys() == SUMMARY_KEYS | {"out"}
    assert printed.pop("out") == str(run)
    assert printed == json.loads((run / "summary.json").read_text(encoding="utf-8"))


def test_the_folder_holds_what_it_should(finished: tuple[Path, Outcome]) -> None:
    run, _ = finished
    assert {path.name for path in run.iterdir()} == {
        "labels", "units", "scores", "overview", "model", "segments.csv", "segments.parquet", "entries.csv",
        "summary.json", "report.html",
    }  # fmt: skip
    for name in ("labels", "units"):
        assert {path.name for path in (run / name).iterdir()} == {"whole.npy", "holed.npy"}
    assert not [path for path in run.parent.iterdir() if path.name.startswith(".")]
    assert run.stat().st_mode & 0o777 == (run / "labels").stat().st_mode & 0o777  # not only its owner's


def test_labels_are_one_int32_per_row_also_where_rows_are_missing(finished: tuple[Path, Outcome]) -> None:
    run, _ = finished
    for level in ("labels", "units"):
        for recording, n_frames in (("whole", 6000), ("holed", 3000)):
            track = np.load(run / level / f"{recording}.npy", allow_pickle=False)
            assert (track.dtype, track.shape) == (np.int32, (n_frames,))
            assert track.min() >= OTHER
    assert (labels_in(run, "holed")[1000:1100] == OTHER).all()
    assert (labels_in(run, "holed")[2000:2005] != OTHER).all()


def test_segments_say_what_the_labels_say(finished: tuple[Path, Outcome]) -> None:
    run, _ = finished
    table = pl.read_parquet(run / "segments.parquet")
    assert dict(table.schema) == SEGMENTS
    assert pl.read_csv(run / "segments.csv", schema=SEGMENTS).equals(table)
    assert table["score"].is_between(0, 1).all()
    for recording, n_frames in (("whole", 6000), ("holed", 3000)):
        for level, name in (("motif", "labels"), ("unit", "units")):
            own = table.filter((pl.col("recording") == recording) & (pl.col("level") == level))
            painted = np.full(n_frames, OTHER, np.int32)
            for id, start, end in own.select("id", "start_frame", "end_frame").iter_rows():
                assert (painted[start:end] == OTHER).all()  # half-open, none over another
                painted[start:end] = id
            npt.assert_array_equal(painted, np.load(run / name / f"{recording}.npy"))
            npt.assert_allclose(own["start_s"], own["start_frame"] / 50)
            npt.assert_allclose(own["end_s"], own["end_frame"] / 50)


def test_the_summary_counts_what_the_segments_hold(finished: tuple[Path, Outcome]) -> None:
    run, _ = finished
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    table = every_segment(run)
    for level in ("unit", "motif"):  # a motif has rows of its level, or of its kind where labels show the other kind
        own = table.filter((pl.col("level") == "unit") == (level == "unit"))
        assert {entry["id"]: entry["n_occurrences"] for entry in summary[f"{level}s"]} == dict(
            own["id"].value_counts().iter_rows()
        )
        covered = (own["end_frame"] - own["start_frame"]).sum()
        npt.assert_allclose(sum(entry["share"] for entry in summary[f"{level}s"]), covered / 9000)
    assert [recording["n_gaps"] for recording in summary["recordings"]] == [1, 0]  # by id
    assert summary["recordings"][0]["duration_s"] == pytest.approx(60)


def test_what_was_done_to_the_data_is_said(finished: tuple[Path, Outcome]) -> None:
    run, outcome = finished
    notes = [line for line in outcome.err.splitlines() if line.startswith("note: holed: ")]
    assert any("100 rows" in note for note in notes)
    assert any("missing values interpolated" in note for note in notes)
    assert "missing values interpolated" in (run / "report.html").read_text(encoding="utf-8")


def test_a_report_is_rebuilt_to_the_byte(finished: tuple[Path, Outcome], here: Path, rondo: Command) -> None:
    import shutil

    run = Path(shutil.copytree(finished[0], here / "copy"))
    first = (run / "report.html").read_bytes()
    (run / "report.html").unlink()
    outcome = rondo("report", run)
    assert (outcome.code, outcome.out, outcome.err) == (0, f"report: {run / 'report.html'}\n", "")
    assert (run / "report.html").read_bytes() == first == write_report(run).read_bytes()


@pytest.mark.promise
@pytest.mark.parametrize("arguments", [[], ["--method", "clock"]], ids=["rondo", "clock"])
def test_the_same_seed_gives_the_same_bytes(rondo: Command, here: Path, arguments: list[str]) -> None:
    (here / "in").mkdir()
    for name in ("p", "q"):
        write_csv(here / "in" / f"{name}.csv", waves(seed=ord(name)))
    for out in ("first", "second"):
        assert rondo("discover", "in", "--out", out, *arguments).code == 0
    assert tree(here / "first") == tree(here / "second")


def test_settings_come_from_every_place_that_was_given(rondo: Command, here: Path) -> None:
    write_csv(here / "x.csv", waves())
    (here / "mine.toml").write_text("seed = 5\n[windows]\nlength = 60\n[units]\ndimension = 3\n")
    given = ["--config", "mine.toml", "--set", "units.dimension=2", "--step", "20"]
    outcome = rondo("discover", "x.csv", "--out", "out", "--json", *given)
    summary = json.loads(outcome.out)
    assert (summary["seed"], summary["window_length_frames"], summary["step_frames"]) == (5, 60, 20)
    assert summary["config"]["units"]["dimension"] == 2


def test_words_for_people(rondo: Command, here: Path) -> None:
    write_csv(here / "x.csv", waves())
    outcome = rondo("discover", "x.csv", "--out", "a/b/out", "--window", "50")
    found, *findings, last = outcome.out.splitlines()
    assert found == "1 phrase made of 3 units; 1 phrase comes back clearly in 1,500 frames of 2 channels"
    order = "Some orders of units recur, but not so clearly that labels show them: every unit is its own motif."
    assert order in findings  # three kinds of waves in turn, three times over
    assert any(line.startswith("Not in the labels: one sequence of units comes back") for line in findings)
    assert last == "report: a/b/out/report.html"
    *progress, note = outcome.err.splitlines()
    assert all(line.startswith("[") for line in progress)
    assert note.startswith("note: no column tells the time, so times are counted in rows; give --rate HZ")
    assert "no column tells" not in rondo("discover", "x.csv", "--out", "timed", "--window", "50", "--rate", "50").err
    summary = json.loads((here / "a/b/out/summary.json").read_text(encoding="utf-8"))
    assert findings == summary["findings"]


# ---------------------------------------------------------------- time


@pytest.mark.promise
def test_irregular_clocks_are_labelled_row_by_row(rondo: Command, here: Path) -> None:
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.uniform(0.005, 0.035, 3000))
    times[2000:] += 60.0  # a minute is missing
    write_csv(here / "x.csv", waves(3000), times)
    outcome = rondo("discover", "x.csv", "--out", "out", "--window", "1s")
    assert outcome.code == 0
    assert "rows interpolated onto" in outcome.err
    assert "1 jump in time" in outcome.err
    assert labels_in(here / "out", "x").shape == (3000,)
    table = pl.read_parquet(here / "out" / "segments.parquet").filter(pl.col("level") == "unit")
    assert not ((table["start_frame"] < 2000) & (table["end_frame"] > 2000)).any()
    npt.assert_allclose(table["start_s"], times[table["start_frame"].to_numpy()])
    assert (table["end_s"][:-1] <= table["start_s"][1:]).all()
    assert (table["end_s"] > table["start_s"]).all()


def test_without_a_rate_there_are_no_seconds(rondo: Command, here: Path) -> None:
    np.save(here / "x.npy", waves())
    summary = json.loads(rondo("discover", "x.npy", "--out", "out", "--json").out)
    assert summary["recordings"][0]["rate"] is None
    assert summary["recordings"][0]["duration_s"] is None
    assert summary["units"][0]["mean_duration_s"] is None
    table = pl.read_parquet(here / "out" / "segments.parquet")
    assert dict(table.schema) == SEGMENTS
    assert table["start_s"].is_null().all()
    assert (here / "out" / "segments.csv").read_text().splitlines()[1].count(",,,,,") == 1


# ---------------------------------------------------------------- many recordings


TRAINED = ("--encoder", "ts2vec", "--set", "encoder.iterations=3", "--set", "encoder.hidden_dim=8")
ALIGNED = ("--set", "units.method=unit_align", "--set", "units.init_epochs=2", "--set", "units.max_rounds=2")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")  # two rounds do not settle
def test_what_was_trained_leaves_its_log(rondo: Command, here: Path) -> None:
    write_csv(here / "good.csv", waves())
    assert rondo("discover", "good.csv", "--out", "run", "--set", "motifs.method=none", *TRAINED, *ALIGNED).code == 0
    log = pl.read_csv(here / "run" / "training.csv")
    assert log.columns == ["curve", "step", "value"]
    assert log.filter(pl.col("curve") == "encoder.loss")["step"].to_list() == [0, 1, 2]
    assert set(log["curve"]) > {"units.contrast", "units.geometry", "units.ari_to_previous", "units.n_components"}
    assert log["value"].is_finite().all()
    summary = json.loads((here / "run" / "summary.json").read_text(encoding="utf-8"))
    assert "not looked for" in " ".join(summary["findings"])


def test_the_clock_looks_at_no_data(rondo: Command, here: Path) -> None:
    write_csv(here / "x.csv", waves(1001))
    np.save(here / "y.npy", np.ones((500, 4)))
    outcome = rondo("discover", "x.csv", "y.npy", "--out", "out", "--method", "clock", "--states", "7", "--json")
    summary = json.loads(outcome.out)
    assert (summary["method"], summary["config"]) == ("clock", {"states": 7})
    assert not (here / "out" / "model").exists()
    for recording in ("x", "y"):
        runs = runs_of(labels_in(here / "out", recording))
        assert runs.ids.tolist() == list(range(7)) if recording == "x" else list(range(7, 14))
        assert np.ptp(runs.lengths) <= 1
    assert len(summary["units"]) == 14  # each piece its own entry


@pytest.mark.parametrize("command", ["discover", "label"])
def test_of_two_commands_with_one_folder_the_second_is_refused_at_once(
    rondo: Command, here: Path, model: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    write_csv(here / "a.csv", waves())
    arguments = {"discover": ("a.csv",), "label": (model, "a.csv")}[command]

    def never(*_: object, **__: object) -> None:
        raise AssertionError("it began to work")

    (here / "link").symlink_to(here)
    with reserved(here / "out"), monkeypatch.context() as patch:
        for name in ("fit_predict", "predict"):
            patch.setattr(Rondo, name, never)
        for out in ("out", "link/out"):
            refused(rondo(command, *arguments, "--rate", "50", "--out", out), "another process is writing out")
    assert sorted(path.name for path in here.iterdir()) == ["a.csv", "link"]
    assert rondo(command, *arguments, "--rate", "50", "--out", "out").code == 0
    assert sorted(path.name for path in here.iterdir()) == ["a.csv", "link", "out"]
