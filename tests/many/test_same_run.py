"""In memory, file by file, and file by file after the plug was pulled: the same run, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rondo
from rondo.cli.main import app
from rondo.data import survey
from rondo.errors import SettingError
from rondo.many import tasks
from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.run.segments import segments_of
from rondo.synthetic.plan import STANDARD
from rondo.synthetic.streams import plant_subjects
from tests.cli.running import call
from tests.many.sets import QUICK, RATE, Labeller, Pulled, assert_same_run, write_set
from tests.systems import needs_posix

SERIAL = ("--engine", "serial")
DATASET = ("--set", "preprocess.statistics=dataset")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_set(tmp_path_factory.mktemp("set") / "files")


@pytest.fixture(scope="module")
def in_memory(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ran("discover", files, "--out", tmp_path_factory.mktemp("memory") / "run", *RATE, *QUICK)


def ran(*command: object) -> Path:
    done = call(*command)
    assert done.code == 0, done.err
    return Path(str(command[command.index("--out") + 1]))


def in_three_ways(folder: Path, patch: pytest.MonkeyPatch, *command: object) -> Path:
    """The folder of a run that is the same in all three."""
    in_memory = ran(*command, "--out", folder / "memory")
    assert_same_run(in_memory, ran(*command, "--out", folder / "files", *SERIAL))
    patch.setattr(tasks, "BATCH_FILES", 1)
    labeller, resumed = Labeller(patch, stop_after=2), [*command, "--out", folder / "resumed", *SERIAL]
    with pytest.raises(Pulled):
        app(args=[str(word) for word in resumed], standalone_mode=False)
    labelled = list(labeller.read)
    labeller.stop_after = None
    assert_same_run(in_memory, ran(*resumed))
    assert len(labelled) == 2 and len(labeller.read) == len(set(labeller.read))  # what has a part is not read again
    return in_memory


def people(files: Path, folder: Path) -> Path:
    """Two recordings of each of three people, who differ."""
    folder.mkdir()
    for number, stream in enumerate(plant_subjects(replace(STANDARD, style=1.0), 3, n_frames=6_000, seed=0)):
        for half, values in enumerate(np.split(stream.recording.values, 2)):
            np.save(folder / f"subject{number}_{half}.npy", values)
    return folder


def silent(start: int, stop: int, *channels: int) -> Callable[[Path, Path], Path]:
    """Three files in which these channels say nothing for a while."""

    def make(files: Path, folder: Path) -> Path:
        folder.mkdir()
        for path in sorted(files.iterdir())[:3]:
            values = np.load(path)
            values[start:stop, channels] = np.nan
            np.save(folder / path.name, values)
        return folder

    return make


def copied(files: Path, folder: Path) -> Path:
    """Two files, one of them under two names."""
    folder.mkdir()
    for name, original in (("a", "day0"), ("b", "day2"), ("c", "day0")):
        np.save(folder / f"{name}.npy", np.load(files / f"{original}.npy"))
    return folder


CASES: dict[str, tuple[Callable[[Path, Path], Path], tuple[str, ...], int | None]] = {
    "plain": (lambda files, folder: files, (*RATE, *QUICK), None),
    "no clock": (lambda files, folder: files, ("--set", "evidence.surrogates=0"), None),
    "a sample": (lambda files, folder: files, (*RATE, *QUICK), 8_000),
    "a sample of people": (people, (*RATE, *QUICK), 54_000),
    "a sample of groups": (people, (*RATE, *QUICK, "--group-by", "subject"), 54_000),
    "a copy": (copied, (*RATE, *QUICK), None),
    "predicted": (silent(100, 300, 1), (*RATE, *QUICK, *DATASET), None),
    "predicted, not learned from": (silent(400, 500, 1, 2), (*RATE, *QUICK, *DATASET), None),
    "left out": (silent(0, 600, 3), (*RATE, *QUICK, *DATASET), None),
    "left out, each scaled": (silent(0, 600, 3), (*RATE, *QUICK), None),
}


@pytest.mark.promise
@pytest.mark.parametrize(
    "case", [case if case in ("plain", "left out") else pytest.param(case, marks=pytest.mark.slow) for case in CASES]
)
def test_discover_is_the_same(case: str, files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make, options, most_values = CASES[case]
    if most_values is not None:
        monkeypatch.setattr(survey, "MOST_VALUES", most_values)
    run = in_three_ways(tmp_path, monkeypatch, "discover", make(files, tmp_path / "made"), *options)
    model = Rondo.load(run / "model")
    assert model.preprocessor_.left_out == (("ch3",) if case.startswith("left out") else ())
    assert ("sample" in model.provenance_) == (most_values is not None)
    assert most_values is None or 4 * model.provenance_["sample"]["n_frames"] <= most_values
    assert case != "a sample of groups" or model.unit_model_.places is not None


@pytest.mark.slow
@pytest.mark.parametrize("is_edited", [False, True])
def test_label_is_the_same(
    is_edited: bool, files: Path, in_memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Rondo.load(in_memory / "model")
    if is_edited:
        model = model.name("unit:0", "rest").merge("unit:0", "unit:1")
    model.save(tmp_path / "model")
    run = in_three_ways(tmp_path, monkeypatch, "label", tmp_path / "model", files, *RATE)
    assert (run / "found.parquet").exists() == is_edited


@pytest.mark.slow
@needs_posix
def test_two_workers_give_the_run_in_memory(files: Path, in_memory: Path, tmp_path: Path) -> None:
    local = ("--engine", "local", "--workers", 2)
    assert_same_run(in_memory, ran("discover", files, "--out", tmp_path / "run", *RATE, *QUICK, *local))


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["preprocess.pca_components=2", "preprocess.scaling=none"])
def test_labels_are_the_same_with_other_preparation(setting: str, files: Path, tmp_path: Path) -> None:
    command = ("discover", files, *RATE, *QUICK, *DATASET, "--set", setting)
    one, other = ran(*command, "--out", tmp_path / "memory"), ran(*command, "--out", tmp_path / "files", *SERIAL)
    for labels in sorted((one / "units").iterdir()):  # axes of a data set are equal to rounding
        np.testing.assert_array_equal(np.load(labels), np.load(other / "units" / labels.name))


@pytest.mark.slow
def test_from_python(files: Path, in_memory: Path, tmp_path: Path) -> None:
    asked = {"window": 40, "settings": {"windows.step": 20, "evidence.surrogates": 0}, "rate": 50.0}
    result = rondo.discover(files, out=tmp_path / "one", engine="serial", **asked)
    assert_same_run(in_memory, tmp_path / "one")
    assert result.run.folder == tmp_path / "one" and len(result) == 6
    for name, model in (("two", result.model), ("three", tmp_path / "one")):
        labelled = rondo.label(model, files, rate=50.0, out=tmp_path / name, engine="serial")
        assert labelled.kind == "label" and len(labelled) == 6
    assert_same_run(tmp_path / "two", tmp_path / "three")
    with pytest.raises(SettingError, match="give out="):
        rondo.discover(files, engine="serial", **asked)


def test_a_run_that_is_read_in_parts_draws_the_same_page(
    in_memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rondo.run.segments._MANY_RECORDINGS", 2)
    in_parts = Result.load(in_memory)
    in_parts.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes() == (in_memory / "report.html").read_bytes()
    assert segments_of(in_parts, ["day2"])["recording"].unique().to_list() == ["day2"]
