"""Methods by entry point: a package adds one, and everything that Rondo does with a method works with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

import rondo
from rondo.data.recording import Recording
from rondo.editing.edits import Edits
from rondo.editing.edits_file import read_edits
from rondo.errors import ModelError, SettingError
from rondo.files.inputs import as_recordings
from rondo.files.reading import Reading
from rondo.methods import Options, find_method, method_names, method_of, refuse_idle
from rondo.result import Result, make_result
from rondo.run.labelling import Labelling
from rondo.run.tally import Words
from rondo.store import model_file
from rondo.wording import Progress
from tests.cli.running import Command, call, command, waves, write_csv
from tests.registered import register


@dataclass(frozen=True)
class Threshold:
    """A model: above or below a number."""

    level: float
    edits_: Edits = field(default_factory=Edits)

    def predict(self, recordings: Any, *, rate: float | None = None, resample: bool = False) -> Result:
        given = as_recordings(recordings, Reading(rate=rate))
        return result_of(given, self, kind="label")

    def words(self) -> Words:
        return Words(units={0: "", 1: ""})

    def save(self, folder: str | Path) -> None:
        stored = model_file.Artifact({"method": "threshold"}, {}, {"level": np.array([self.level])})
        model_file.save(Path(folder), stored, edits=self.edits_.as_json() if self.edits_.history else None)


def result_of(recordings: Sequence[Recording], model: Threshold, **more: Any) -> Result:
    labellings = []
    for recording in recordings:
        labels = (recording.values[:, 0] > model.level).astype(np.int32)
        ones, none = np.ones(labels.size, np.float32), np.zeros(0, np.int64)
        times, rate = recording.times_s, recording.rate
        labellings.append(Labelling(recording.id, labels, labels, ones, ones, times, rate, none, 1.0))
    known = {"words": model.words(), "edits": model.edits_}
    return make_result("threshold", recordings, labellings, model=model, **known, **more)


@dataclass(frozen=True)
class ThresholdMethod:
    """Everything that `rondo.methods.Method` asks for, and nothing else."""

    name: str = "threshold"
    help: str = "above or below a share of all values"

    def configure(self, options: Options) -> float:
        refuse_idle(options.beyond(()), f"--method {self.name}")
        unknown = [name for name in options.settings if name != "share"]
        if unknown:
            raise SettingError(f"unknown setting '{unknown[0]}'; threshold has share")
        return float(options.settings.get("share", 0.5))

    def notes(self, recordings: Sequence[Recording], settings: float, *, in_detail: bool = False) -> list[str]:
        return ["this takes no time"] if in_detail else []

    def discover(
        self, recordings: Sequence[Recording], settings: float, seed: int | None, progress: Progress
    ) -> Result:
        progress("thinking", 1, 1)
        values = np.concatenate([recording.values[:, 0] for recording in recordings])
        model = Threshold(float(np.quantile(values, settings)))
        return result_of(
            recordings, model, seed=seed or 0, config={"share": settings}, findings=["It is above or below."]
        )

    def load(self, folder: Path) -> Threshold:
        stored = model_file.load(folder)
        return Threshold(float(stored.tensors["level"][0]), read_edits(folder))

    def words(self, model: Threshold) -> Words:
        return model.words()

    def words_in(self, folder: Path) -> Words:
        return self.load(folder).words()

    def why_no_model(self) -> str:
        return ""


METHOD = ThresholdMethod()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    register(monkeypatch, tmp_path / "site", threshold="tests.test_methods:METHOD")
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "x.csv", waves(600), np.arange(600) / 50)
    write_csv(tmp_path / "y.csv", waves(500, seed=3), np.arange(500) / 50)
    return tmp_path


@pytest.fixture
def rondo_command(capfd: pytest.CaptureFixture[str]) -> Command:
    return command(capfd)


def test_every_method_is_named_and_says_what_it_does() -> None:
    names = method_names()
    assert (names[0], names[-1]) == ("rondo", "clock") and len(set(names)) == len(names) > 10
    for name in names:
        method = find_method(name)
        assert method.name == name
        assert method.help and "\n" not in method.help


@pytest.mark.usefixtures("here")
def test_a_method_of_another_package_is_used_from_python_and_its_model_reads() -> None:
    result = rondo.discover(["x.csv", "y.csv"], method="threshold", settings={"share": 0.25})
    assert (result.method, result.summary.config) == ("threshold", {"share": 0.25})
    assert result.findings == ("It is above or below.",)
    assert result["x"].units.mean() == pytest.approx(0.75, abs=0.05)
    result.save("run")
    loaded = Result.load("run")
    assert isinstance(loaded.model, Threshold) and method_of(Path("run/model")) == "threshold"
    npt.assert_array_equal(loaded.model.predict("y.csv").units, result["y"].units)
    with pytest.raises(SettingError, match=r"--window .*--method threshold"):
        rondo.discover("x.csv", method="threshold", window=3)


@pytest.mark.slow
def test_a_method_of_another_package_works_with_every_command(here: Path, rondo_command: Command) -> None:
    def run(*arguments: object) -> Any:
        done = rondo_command(*arguments)
        assert done.code == 0, done.err
        return done

    assert json.loads(run("discover", "x.csv", "--method", "threshold", "--out", "run", "--json").out)["method"] == (
        "threshold"
    )
    run("label", "run", "y.csv", "--out", "read")
    run("name", "run", "unit:1", "high")
    run("merge", "read", "unit:0", "unit:1")
    assert set(np.load(here / "read/units/y.npy")) == {0}
    run("split", "read", "unit:1")
    assert set(np.load(here / "read/units/y.npy")) == {0, 1}
    np.save(here / "x.npy", (np.arange(600) // 150 % 3).astype(int))
    run("evaluate", "x.npy", "run", "--level", "unit")
    run("compare", "run", "x.npy")
    run("export", "run", "--format", "csv", "--out", "segments.csv")
    assert "high" in (here / "segments.csv").read_text()
    run("usage", "run")
    run("report", "run")
    assert "u1 high" in (here / "run/report.html").read_text()
    again = run("label", "run", "x.csv", "--out", "named")
    assert "2 units" in again.out and "u1 high" in (here / "named/report.html").read_text()
    refused = rondo_command("stream", "run", "--source", "x.csv", "--out", "live")
    assert (refused.code, "method threshold, not" in refused.err) == (2, True)
    near = rondo_command("discover", "x.csv", "--method", "treshold", "--out", "o")
    assert "did you mean 'threshold'?" in near.err


@pytest.mark.parametrize("method", [pytest.param("clock", marks=pytest.mark.slow), "hdbscan"])
def test_states_without_a_model_can_be_named_and_merged(here: Path, rondo_command: Command, method: str) -> None:
    window = () if method == "clock" else ("--window", "50")
    assert rondo_command("discover", "x.csv", "y.csv", "--method", method, "--out", "run", *window).code == 0
    before = {name: np.load(here / f"run/units/{name}.npy") for name in "xy"}
    ids = {name: np.unique(units[units >= 0]).tolist() for name, units in before.items()}
    assert not {*ids["x"]} & {*ids["y"]}
    first, second = ids["y"][:2]
    assert rondo_command("name", "run", f"unit:{second}", "reach").code == 0
    assert rondo_command("merge", "run", f"unit:{first}", f"unit:{second}").code == 0
    units = np.load(here / "run/units/y.npy")
    assert second not in units and first in units and np.array_equal(np.load(here / "run/units/x.npy"), before["x"])
    merged = next(unit for unit in Result.load(here / "run").summary.units if unit.id == first)
    assert (merged.name, merged.absorbed) == ("reach", (second,))
    assert rondo_command("split", "run", f"unit:{second}").code == 0
    assert np.array_equal(np.load(here / "run/units/y.npy"), before["y"])


def test_a_model_of_a_method_that_is_not_installed_is_told(tmp_path: Path) -> None:
    model_file.save(tmp_path / "m", model_file.Artifact({"method": "gone"}, {}, {"x": np.zeros(1)}))
    with pytest.raises(SettingError, match="got 'gone'"):
        find_method(method_of(tmp_path / "m"))
    write_csv(tmp_path / "x.csv", waves(100))
    outcome = call("label", tmp_path / "m", tmp_path / "x.csv", "--out", tmp_path / "o")
    assert outcome.code == 2 and "got 'gone'" in outcome.err


def test_the_clock_keeps_no_model(tmp_path: Path) -> None:
    rondo.discover(waves(600), "clock", settings={"n_states": 4}).save(tmp_path / "run")
    assert Result.load(tmp_path / "run").model is None
    with pytest.raises(ModelError, match="clock cannot read"):
        find_method("clock").load(tmp_path / "run" / "model")
