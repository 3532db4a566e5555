"""In memory, file by file and by two workers: the same run, to the bit; `discover` and `label`, whole and sampled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import rondo
from rondo.data import survey
from rondo.errors import SettingError
from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.run.segments import segments_of
from rondo.synthetic.plan import STANDARD
from rondo.synthetic.streams import plant_subjects
from tests.cli.running import call
from tests.many.sets import QUICK, RATE, assert_same_run, write_set
from tests.systems import needs_posix


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_set(tmp_path_factory.mktemp("set") / "files")


def discover(files: Path, out: Path, *more: object) -> Path:
    done = call("discover", files, "--out", out, *RATE, *QUICK, *more)
    assert done.code == 0, done.err
    return out


@pytest.fixture(scope="module")
def in_memory(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return discover(files, tmp_path_factory.mktemp("memory") / "run")


def test_file_by_file_is_the_run_in_memory(files: Path, in_memory: Path, tmp_path: Path) -> None:
    assert_same_run(in_memory, discover(files, tmp_path / "run", "--engine", "serial"))


@pytest.mark.slow
@needs_posix
def test_two_workers_give_the_run_in_memory(files: Path, in_memory: Path, tmp_path: Path) -> None:
    assert_same_run(in_memory, discover(files, tmp_path / "run", "--engine", "local", "--workers", 2))


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        ("preprocess.statistics=dataset",),
        ("preprocess.statistics=dataset", "preprocess.pca_components=2"),
        ("preprocess.scaling=none",),
    ],
)
def test_with_other_preparation_too(files: Path, tmp_path: Path, settings: tuple[str, ...]) -> None:
    asked = [part for name in settings for part in ("--set", name)]
    one, other = (discover(files, tmp_path / name, *asked, *more) for name, more in WAYS.items())
    for labels in sorted((one / "units").iterdir()):  # axes of a data set are equal to rounding
        np.testing.assert_array_equal(np.load(labels), np.load(other / "units" / labels.name))


WAYS: dict[str, tuple[object, ...]] = {"memory": (), "files": ("--engine", "serial")}


@pytest.mark.slow
def test_a_sample_is_the_same_in_memory_and_file_by_file(
    files: Path, in_memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(survey, "MOST_VALUES", 8_000)
    one, other = (discover(files, tmp_path / name, *more) for name, more in WAYS.items())
    assert_same_run(one, other)
    sample = Rondo.load(one / "model").provenance_["sample"]
    assert sample["n_frames"] <= 2_000 < sample["of"]
    assert "sample" not in Rondo.load(in_memory / "model").provenance_
    assert "fair sample" in " ".join(Result.load(one).findings)


@pytest.mark.slow
@pytest.mark.parametrize("group_by", [(), ("--group-by", "subject")])
def test_a_sample_of_people_with_places_is_the_same(
    group_by: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording that is a group by itself has its place from all of its windows; a named group from its sample."""
    (tmp_path / "people").mkdir()
    for number, stream in enumerate(plant_subjects(replace(STANDARD, style=1.0), 3, n_frames=6_000, seed=0)):
        for half, values in enumerate(np.split(stream.recording.values, 2)):
            np.save(tmp_path / "people" / f"subject{number}_{half}.npy", values)
    monkeypatch.setattr(survey, "MOST_VALUES", 54_000)
    one, other = (discover(tmp_path / "people", tmp_path / name, *group_by, *more) for name, more in WAYS.items())
    model = Rondo.load(one / "model")
    assert model.unit_model_.places is not None and model.provenance_["sample"]["n_frames"] <= 9_000
    assert_same_run(one, other)


@pytest.mark.slow
def test_a_table_without_a_clock_needs_the_period_of_the_longest(files: Path, tmp_path: Path) -> None:
    quick = ("--set", "evidence.surrogates=0")
    for name, more in WAYS.items():
        assert call("discover", files, "--out", tmp_path / name, *quick, *more).code == 0
    assert_same_run(tmp_path / "memory", tmp_path / "files")


@pytest.mark.slow
def test_label_is_the_same_in_memory_and_file_by_file(files: Path, in_memory: Path, tmp_path: Path) -> None:
    for name, more in WAYS.items():
        done = call("label", in_memory, files, "--out", tmp_path / name, *RATE, *more)
        assert done.code == 0, done.err
    assert_same_run(tmp_path / "memory", tmp_path / "files")


@pytest.mark.slow
def test_label_with_entries_that_people_have_merged(files: Path, in_memory: Path, tmp_path: Path) -> None:
    model = Rondo.load(in_memory / "model").name("unit:0", "rest").merge("unit:0", "unit:1")
    model.save(tmp_path / "model")
    for name, more in WAYS.items():
        done = call("label", tmp_path / "model", files, "--out", tmp_path / name, *RATE, *more)
        assert done.code == 0, done.err
    assert (tmp_path / "files" / "found.parquet").exists()
    assert_same_run(tmp_path / "memory", tmp_path / "files")


@pytest.mark.slow
def test_from_python(files: Path, in_memory: Path, tmp_path: Path) -> None:
    asked = {"window": 40, "step": 20, "settings": {"evidence.surrogates": 0}, "rate": 50.0}
    result = rondo.discover(files, out=tmp_path / "one", engine="serial", **asked)
    assert_same_run(in_memory, tmp_path / "one")
    assert result.run.folder == tmp_path / "one" and len(result) == 6
    assert rondo.discover(sorted(files.iterdir()), out=tmp_path / "two", **asked).summary.units == result.summary.units
    for name, model in (("three", result.model), ("four", tmp_path / "one")):
        labelled = rondo.label(model, files, rate=50.0, out=tmp_path / name, engine="serial")
        assert labelled.kind == "label" and len(labelled) == 6
    rondo.label(str(tmp_path / "one" / "model"), files, rate=50.0, out=tmp_path / "five")
    assert_same_run(tmp_path / "three", tmp_path / "four")
    assert_same_run(tmp_path / "three", tmp_path / "five")
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


# Rows and channels that are silent: predicted, predicted and not learned from, and of a channel that is left out.
DROPOUTS = {"filled": (100, 300, [1]), "poor": (400, 500, [1, 2]), "left out": (0, 600, [3])}


@pytest.mark.parametrize("kind", DROPOUTS)
@pytest.mark.parametrize(
    "settings", [pytest.param((), marks=pytest.mark.slow), ("--set", "preprocess.statistics=dataset")]
)
def test_dropouts_are_filled_alike(settings: tuple[str, ...], kind: str, files: Path, tmp_path: Path) -> None:
    (tmp_path / "holed").mkdir()
    for path in sorted(files.iterdir())[:3]:
        values, (start, stop, channels) = np.load(path), DROPOUTS[kind]
        values[start:stop, channels] = np.nan
        np.save(tmp_path / "holed" / path.name, values)
    one, other = (discover(tmp_path / "holed", tmp_path / name, *settings, *more) for name, more in WAYS.items())
    assert_same_run(one, other)
    assert Rondo.load(one / "model").preprocessor_.left_out == (("ch3",) if kind == "left out" else ())
