"""`rondo bench run`: what is missing is run, failures are kept and tried again, and it says how long it will take."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rondo.errors import RecordingError
from rondo.metrics.scores import evaluate
from rondo_bench.experiments import protocols
from rondo_bench.experiments.rows import Row, open_rows, read_rows
from tests.bench.experiments.made_rows import row
from tests.cli.running import Command


def run(rondo: Command, walks: Path, *more: object) -> Any:
    arguments = ("--datasets", walks, "--methods", "kmeans,clock", "--seeds", 2, "--engine", "serial", "--out", "out")
    return rondo("bench", "run", "static", *arguments, *more)


def stored(here: Path) -> list[Row]:
    return read_rows(here / "out")


@pytest.mark.slow
def test_a_row_for_each_method_recording_and_seed(rondo: Command, here: Path, walks: Path) -> None:
    outcome = run(rondo, walks)
    assert outcome.code == 0
    assert outcome.err.startswith("9 rows: 0 there, 9 to run\n")
    rows = stored(here)
    assert len({own.key for own in rows}) == len(rows) == 9
    assert {(own.key.method, own.key.seed) for own in rows} == {("kmeans", 0), ("kmeans", 1), ("clock", 0)}
    for own in rows:
        assert own.is_ok and own.seconds >= 0 and own.cpu_seconds >= 0 and own.peak_mb > 10
        assert own.counts["n_frames"] == 900 and own.counts["n_true_segments"] == 6
        assert own.versions["numpy"] == np.__version__
    (clock,) = (own for own in rows if own.key.method == "clock" and own.key.recording == "bob_1")
    assert clock.scores == clock.clock and clock.counts["n_segments"] == 20


def test_scores_are_those_of_evaluate(rondo: Command, here: Path, walks: Path) -> None:
    run(rondo, walks, "--only", "ann_1")
    rondo("discover", walks / "ann_1.npz", "--method", "kmeans", "--seed", 1, "--out", "found")
    labels, truth = np.load(here / "found/labels/ann_1.npy"), np.load(walks / "ann_1.npz")["y"]
    (own,) = (own for own in stored(here) if own.key.seed == 1)
    assert own.scores == evaluate({"ann_1": (truth, labels)}).average.as_dict()


@pytest.mark.slow
@pytest.mark.ray
@pytest.mark.timeout(600)
@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'rondo-ts[ray]'")
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore::FutureWarning")
def test_ray_gives_the_same_rows(rondo: Command, here: Path, walks: Path) -> None:
    chosen = ("--datasets", walks, "--methods", "kmeans,clock", "--seeds", 1)
    assert rondo("bench", "run", "static", *chosen, "--engine", "serial", "--out", "one").code == 0
    assert rondo("bench", "run", "static", *chosen, "--engine", "ray", "--workers", 2, "--out", "two").code == 0
    one, two = ({own.key: own for own in read_rows(here / name)} for name in ("one", "two"))
    assert one.keys() == two.keys() and len(one) == 6
    kept = [{key: (own.scores, own.clock, own.counts, own.config) for key, own in rows.items()} for rows in (one, two)]
    assert kept[0] == kept[1]


@pytest.mark.slow
def test_what_another_experiment_has_made_with_the_same_settings_is_not_run_again(
    rondo: Command, here: Path, walks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = ("--datasets", walks, "--seeds", 1, "--engine", "serial", "--out", "out")
    assert rondo("bench", "run", "static", "--methods", "rondo", *chosen).code == 0
    monkeypatch.setattr(protocols, "labels_of", None)  # so that running anything would fail
    outcome = rondo("bench", "run", "ablation", "--methods", "rondo", *chosen)
    assert (outcome.code, outcome.err) == (0, "3 rows: 3 there, 0 to run\n")
    by_experiment = {(own.key.experiment, own.key.recording): own for own in stored(here)}
    assert len(by_experiment) == len(stored(here)) == 6
    for recording in ("ann_1", "ann_2", "bob_1"):
        static, ablation = by_experiment["static", recording], by_experiment["ablation", recording]
        assert (static.scores, static.config, static.seconds) == (ablation.scores, ablation.config, ablation.seconds)
    dry = rondo("bench", "run", "ablation", "--methods", "rondo-without-motifs,rondo", *chosen, "--dry-run")
    assert "6 rows: 3 there, 3 to run" in dry.out


@pytest.mark.slow
def test_a_method_that_raises_is_kept_and_the_rest_goes_on(
    rondo: Command, here: Path, walks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = protocols.labels_of

    def labels_of(task: Any, recordings: Any) -> Any:
        if task.method_name == "kmeans" and task.recordings == ("ann_2",):
            raise RecordingError("nothing\nrecurs here")
        return real(task, recordings)

    monkeypatch.setattr(protocols, "labels_of", labels_of)
    outcome = run(rondo, walks)
    assert outcome.code == 2
    assert "ann_2 kmeans seed 0: nothing" in outcome.err
    assert outcome.err.endswith("--retry runs them again\n")
    failed = [own for own in stored(here) if not own.is_ok]
    assert [(own.key.recording, own.key.seed, own.error) for own in failed] == [
        ("ann_2", seed, "nothing recurs here") for seed in (0, 1)
    ]
    assert len(stored(here)) == 9
    listed = rondo("bench", "rows", "--failed", "--out", "out").out
    assert listed.count("nothing recurs here") == 2 and len(listed.splitlines()) == 3

    monkeypatch.setattr(protocols, "labels_of", real)
    assert "2 failed before (--retry runs" in run(rondo, walks).err
    assert not all(own.is_ok for own in stored(here))
    assert run(rondo, walks, "--retry").code == 0
    assert len(stored(here)) == 9 and all(own.is_ok for own in stored(here))


def test_a_dry_run_says_what_and_how_long_and_writes_nothing(rondo: Command, here: Path, walks: Path) -> None:
    outcome = run(rondo, walks, "--dry-run")
    assert outcome.code == 0
    assert "walks            kmeans                     6  " in outcome.out
    assert "9 rows: 0 there, 9 to run" in outcome.out
    assert not (here / "out").exists()
    with open_rows(here / "out") as store:  # an earlier row took long
        counts = {"n_frames": 900, "n_channels": 2}
        store.add([row("ann_1", "kmeans", 1.0, data_set="walks", seconds=1800.0, counts=counts, fingerprint="other")])
    assert "walks            kmeans                     6  3 h" in run(rondo, walks, "--dry-run").out


def test_what_is_no_number_is_a_failed_row_and_the_rest_goes_on(
    rondo: Command, here: Path, walks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = protocols.Track(np.zeros(900, np.int32), {"promoted": float("nan")})
    real = protocols.tracks_of

    def tracks_of(task: Any, data: Any) -> Any:
        return {"ann_2": odd} if task.recordings == ("ann_2",) else real(task, data)

    monkeypatch.setattr("rondo_bench.experiments.run.tracks_of", tracks_of)
    assert run(rondo, walks, "--methods", "clock").code == 2
    errors = {own.key.recording: own.error for own in stored(here)}
    assert "(promoted)" in errors.pop("ann_2") and errors == {"ann_1": "", "bob_1": ""}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("static", "--datasets", "nowhere/at_all"), "nowhere/at_all"),
        (("static", "--datasets", "mocap"), "where is mocap? Give the folder of data sets with --data"),
        (("statc",), "did you mean 'static'"),
        (("static", "--methods", "tic"), "did you mean 'ticc'"),
        (("static", "--datasets", "planted", "--methods", "clock", "--dry-run", "--engine", "loca"), "mean 'local'"),
    ],
)
def test_a_mistake_is_one_line(rondo: Command, arguments: tuple[str, ...], message: str) -> None:
    outcome = rondo("bench", "run", *arguments)
    assert outcome.code == 2
    assert message in outcome.err and outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "qualitative", "--paper-columns"), "'qualitative' is in no table of the paper"),
        (("run", "tabel1"), "did you mean 'table1'"),
        (("table", "table1", "--paper-columns", "--all-scores"), "leave --all-scores out"),
        (("table", "table1", "--paper-columns", "--format", "csv"), "leave --format csv out"),
    ],
)
def test_a_mistake_about_the_papers_tables_is_one_line(
    rondo: Command, here: Path, arguments: tuple[str, ...], message: str
) -> None:
    outcome = rondo("bench", *arguments)
    assert outcome.code == 2
    assert message in outcome.err and outcome.err.count("\n") == 1


def test_a_table_of_the_paper_is_run_and_printed(rondo: Command, here: Path, walks: Path) -> None:
    chosen = ("--datasets", walks, "--seeds", 1, "--limit", 1, "--engine", "serial", "--out", "out")
    outcome = rondo("bench", "run", "table1", "--methods", "denstream,clock", *chosen)
    assert outcome.code == 0 and "| DenStream |" in outcome.out
    assert {own.key.experiment for own in stored(here)} == {"static"}
    assert outcome.out == rondo("bench", "table", "table1", "--out", "out").out
    in_paper = rondo("bench", "run", "table1", "--methods", "ticc", *chosen, "--paper-columns")
    assert in_paper.code == 0 and "\nTICC & " in in_paper.out and "DenStream" not in in_paper.out
    assert "DenStream" not in rondo("bench", "table", "full", "--paper-columns", "--out", "out").out
    assert rondo("bench", "run", "static", "--methods", "denstream", *chosen).out == ""


def test_show_prints_a_file_that_can_be_run(rondo: Command, here: Path, walks: Path) -> None:
    (here / "mine.toml").write_text(rondo("bench", "show", "static").out)
    (here / "sets.toml").write_text('[walks]\nwindow = 60\nstep = 20\nsource = "ours"\n')
    arguments = ("--datasets", walks, "--methods", "kmeans", "--seeds", 1, "--limit", 1, "--engine", "serial")
    assert rondo("bench", "run", "mine.toml", *arguments, "--sets", "sets.toml", "--out", "out").code == 0
    (own,) = stored(here)
    assert own.key.experiment == "mine"
    assert own.config["windows"] == {"length": 60, "step": 20}
    assert "| k-means of windows |" in rondo("bench", "table", "mine.toml", "--out", "out").out
