"""The other commands: demo, label, evaluate, config, datasets, help; and how fast `rondo` answers."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
import typer

from rondo.cli.main import app
from rondo.config.settings import RondoConfig
from rondo.examples import exercise_marks, exercises
from rondo.metrics.meaning import shared_scores
from rondo.metrics.scores import evaluate
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import PlantedStream, plant_subjects
from rondo.version import __version__
from tests.cli.running import Command, call, tree, waves

HEAVY = ("torch", "numpy", "scipy", "sklearn", "polars", "pandas", "bokeh", "pydantic")


@pytest.fixture(scope="module")
def subjects() -> list[PlantedStream]:
    return plant_subjects(n_frames=6_000, n_subjects=2, seed=1)


@pytest.fixture(scope="module")
def fitted(subjects: list[PlantedStream], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the recordings of two subjects and the run of the first; tests may look, none may write."""
    folder = tmp_path_factory.mktemp("fitted")
    for name, stream in zip(("one", "two"), subjects, strict=True):
        np.savez(
            folder / f"{name}.npz", X=stream.recording.values, rate=50.0, y=stream.motif_truth, y2=stream.unit_truth
        )
    assert call("discover", folder / "one.npz", "--out", folder / "run").code == 0
    return folder


# ---------------------------------------------------------------- label


def test_labelling_keeps_the_vocabulary(rondo: Command, here: Path, fitted: Path) -> None:
    outcome = rondo("label", fitted / "run", fitted / "one.npz", fitted / "two.npz", "--out", "out", "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out)["out"] == "out"
    npt.assert_array_equal(np.load(here / "out/labels/one.npy"), np.load(fitted / "run/labels/one.npy"))
    known = set(Rondo.load(fitted / "run" / "model").unit_model_.vocabulary.ids)
    assert set(np.load(here / "out/units/two.npy").tolist()) <= known
    assert tree(here / "out" / "model") == tree(fitted / "run" / "model")


def test_a_model_that_does_not_fit_is_said(rondo: Command, here: Path, fitted: Path) -> None:
    rng = np.random.default_rng(0)
    np.savez(here / "noise.npz", X=rng.normal(size=(3000, 6)), rate=50.0)
    outcome = rondo("label", fitted / "run", "noise.npz", "--out", "out")
    assert outcome.code == 0
    assert "may not fit" in outcome.err
    assert "noise: the model" in outcome.out


def test_whether_the_model_fits_is_said_everywhere(rondo: Command, here: Path, fitted: Path) -> None:
    np.savez(here / "short.npz", X=waves(20, n_channels=6), rate=50.0)  # too short for a window
    outcome = rondo("label", fitted / "run", fitted / "one.npz", fitted / "two.npz", "short.npz", "--out", "out")
    summary = json.loads((here / "out" / "summary.json").read_text(encoding="utf-8"))
    same, short, other = (recording["fit"] for recording in summary["recordings"])
    assert {name: same[name] for name in summary["fitted"]} == summary["fitted"]  # it was fitted on this one
    assert same["distance_quantiles"].keys() == {"0.05", "0.25", "0.5", "0.75", "0.95"}
    assert (same["verdict"], short["verdict"], short["n_units"]) == ("fits", "does not fit", 0)
    assert other["distance_quantiles"]["0.5"] > same["distance_quantiles"]["0.5"]
    told = [line for line in outcome.out.splitlines() if ": the model " in line]
    assert [line.split(":")[0] for line in told] == ["one", "short", "two"]
    share = f"{100 * same['share_accepted']:.0f} %"
    assert told[0].startswith(f"one: the model fits: {share} of windows accepted (fitted: {share}), ")
    assert "model was fitted" in outcome.out
    assert "Does the model fit?" in (here / "out" / "report.html").read_text(encoding="utf-8")


def test_a_model_without_a_sound_profile(rondo: Command, here: Path, fitted: Path) -> None:
    for name, stored, code in (("older", None, 0), ("damaged", {"share_accepted": "much"}, 2)):
        model, folder = Rondo.load(fitted / "run" / "model"), here / name
        assert model.provenance_["fit_profile"]["share_accepted"] > 0.9
        model.provenance_ |= {"fit_profile": stored}
        model.save(folder)
        outcome = rondo("label", folder, fitted / "two.npz", "--out", f"{name}-out")
        assert outcome.code == code
        assert ("fit_profile should hold" in outcome.err.splitlines()[-1]) == (code == 2)


# ---------------------------------------------------------------- evaluate


@pytest.mark.parametrize("key", [None, "y2"])
def test_truth_may_lie_in_the_recording(rondo: Command, fitted: Path, key: str | None) -> None:
    arguments = ["evaluate", fitted / "one.npz", fitted / "run/labels/one.npy", *(["--key", key] if key else [])]
    scores = json.loads(rondo(*arguments, "--json").out)
    with np.load(fitted / "one.npz") as stored:
        truth = stored[key or "y"]
    assert scores == evaluate({"one": (truth, np.load(fitted / "run/labels/one.npy"))}).as_dict()
    table = rondo(*arguments).out.splitlines()
    assert [line.split()[0] for line in table[:3]] == ["ARI", "labels", "clock"]
    assert table[1].split()[1] == f"{scores['ari']:.2f}"


def test_a_run_folder_is_scored_as_its_labels_are(rondo: Command, here: Path, fitted: Path) -> None:
    (here / "truth").mkdir()
    np.save(here / "truth" / "one.npy", np.arange(6000) // 1000)
    expected = rondo("evaluate", "truth", fitted / "run" / "labels", "--json")
    assert rondo("evaluate", "truth", fitted / "run", "--json") == expected
    assert rondo("evaluate", "truth", fitted / "run", "--level", "unit").code == 0
    outcome = rondo("evaluate", "truth", fitted / "run" / "labels", "--level", "unit")
    assert (outcome.code, outcome.out) == (2, "") and "leave it out" in outcome.err


def test_a_vocabulary_of_several_people_is_scored_as_such(rondo: Command, here: Path, fitted: Path) -> None:
    (here / "truth").mkdir()
    for name in ("one", "two"):
        with np.load(fitted / f"{name}.npz") as stored:
            np.save(here / "truth" / f"{name}.npy", stored["y2"])
    assert rondo("label", fitted / "run", fitted / "one.npz", fitted / "two.npz", "--out", "out").code == 0
    truth, labels = ({id: np.load(f"{folder}/{id}.npy") for id in ("one", "two")} for folder in ("truth", "out/units"))
    expected = shared_scores(truth, labels).as_dict()
    found = rondo("evaluate", "truth", "out", "--level", "unit", "--json").out
    assert json.loads(found)["shared"] == expected
    assert rondo("evaluate", "truth", "out/units", "--json").out == found
    lines = rondo("evaluate", "truth", "out/units").out.splitlines()
    assert lines[-2] == (
        f"one vocabulary for 2 groups: per-person ARI {expected['per_person_ari']:.2f}, "
        f"pooled ARI {expected['pooled_ari']:.2f}, meaning {expected['meaning']:.2f}"
    )
    (here / "out" / "units").rename(here / "alone")  # nobody knows now whether ids mean the same in both
    assert "shared" not in json.loads(rondo("evaluate", "truth", "alone", "--json").out)
    assert json.loads(rondo("evaluate", "truth", "alone", "--group-by", ".*", "--json").out)["shared"] == expected
    assert rondo("evaluate", "truth", "alone", "--group-by", "person").code == 2


def test_labels_that_are_names_are_the_same_in_all_files(rondo: Command, here: Path) -> None:
    for folder in ("truth", "labels"):
        (here / folder).mkdir()
    for id, names in (("a", "xxyy"), ("b", "yyzz")):
        (here / "truth" / f"{id}.csv").write_text("y\n" + "".join(f"{name}\n" for name in names))
        (here / "labels" / f"{id}.csv").write_text("y\n" + "".join(f"u{name}\n" for name in names))
    outcome = rondo("evaluate", "truth", "labels", "--group-by", ".*", "--json")
    assert json.loads(outcome.out)["shared"]["meaning"] == 50.0  # y is y for both, x and z are of one alone


# ---------------------------------------------------------------- demo


def test_the_demo_discovers_scores_and_shows(rondo: Command, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rondo.cli.demo.N_FRAMES", 9_000)
    outcome = rondo("demo", "--seed", "2")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0] == "planted: 8 units and 5 motifs in 3 minutes"
    assert lines[-1] == "report:  rondo-demo/report.html"
    assert all(line.startswith("[") for line in outcome.err.splitlines())
    again = rondo("demo", "--seed", "2", "--out", "other", "--json")
    summary = json.loads(again.out)
    assert summary["scores"].keys() == {"units", "motifs"}
    assert summary["seed"] == 2
    assert "true motifs" in (here / "other" / "report.html").read_text(encoding="utf-8")
    assert tree(here / "other") == tree(here / "rondo-demo")
    assert rondo("demo").code == 2  # it is there already


def test_the_demo_on_a_real_recording_names_what_it_finds(rondo: Command, here: Path) -> None:
    outcome = rondo("demo", "--real")
    assert outcome.code == 0, outcome.err
    names = re.findall(r"m\d+ ([a-z ]+)", outcome.out.partition("named:")[2].partition("\n")[0])
    assert sorted(names) == ["correct", "fast", "low amplitude", "rest"]
    labels = np.load(here / "rondo-demo/labels/exercises.npy")
    scores = evaluate({"exercises": (exercise_marks(exercises()), labels)}).average
    assert scores.ari > 75  # 92 when it was chosen, for being clear
    assert "low amplitude" in (here / "rondo-demo/report.html").read_text(encoding="utf-8")
    assert json.loads(rondo("demo", "--real", "--json", "--out", "again").out)["recordings"][0]["n_frames"] == 5_949


# ---------------------------------------------------------------- config and datasets


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_settings_are_shown_and_written_as_they_are(rondo: Command, here: Path, preset: str) -> None:
    shown = rondo("config", "show", "--preset", preset, "--set", "seed=7")
    as_json = json.loads(rondo("config", "show", "--preset", preset, "--set", "seed=7", "--json").out)
    assert rondo("config", "init", "--preset", preset, "--set", "seed=7").out == "wrote rondo.toml\n"
    assert (here / "rondo.toml").read_text(encoding="utf-8") == shown.out
    assert RondoConfig.model_validate(tomllib.loads(shown.out)) == RondoConfig.model_validate(as_json)
    assert rondo("config", "show", "--config", "rondo.toml").out == shown.out
    refused = rondo("config", "init")
    assert (refused.code, refused.out) == (2, "")
    assert "exists already" in refused.err


def test_data_sets_and_their_copies(rondo: Command, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = here / "data" / "MoCap"
    copy.mkdir(parents=True)
    np.savez(copy / "amc_86_01.npz", X=waves(n_channels=4))
    rows = json.loads(rondo("datasets", "list", "--data", "data", "--json").out)
    assert {row["name"]: row["local_recordings"] for row in rows if row["local_recordings"]} == {"mocap": 1}
    table = rondo("datasets", "list").out.splitlines()
    assert [line.split()[0] for line in table[1:]] == [row["name"] for row in rows]
    assert all(line.endswith("-") for line in table[1:])
    monkeypatch.setenv("RONDO_DATA", "data")
    facts = json.loads(rondo("datasets", "info", "MoCap", "--json").out)
    assert facts["local"] == {"n_recordings": 1, "n_frames": 1500}
    assert "differs from what" in rondo("datasets", "info", "mocap").out
    assert "local copy: none" in rondo("datasets", "info", "USC-HAD").out


# ---------------------------------------------------------------- help and start


def _commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, *path, name)


def test_help_explains_every_command_and_option_with_an_example(rondo: Command) -> None:
    for path, command in _commands(typer.main.get_command(app)):
        outcome = rondo(*path, "--help")
        called, is_group = " ".join(("rondo", *path)), hasattr(command, "commands")
        assert (outcome.code, outcome.err) == (0, ""), path
        assert f"Usage: {called} " in outcome.out
        assert is_group or " ".join(outcome.out.split()).count(called) >= 2, path
        assert [parameter.name for parameter in command.params if not parameter.help] == [], path
        if is_group:  # bare, it shows what could follow
            assert rondo(*path) == outcome


def test_every_command_and_long_lists_of_options_stand_under_headings() -> None:
    command = typer.main.get_command(app)
    headings = {name: own.rich_help_panel for name, own in command.commands.items()}  # type: ignore[attr-defined]
    assert None not in headings.values() and {"Find", "Look", "Edit", "Stream", "Benchmark"} <= set(headings.values())
    options = [one for one in command.commands["discover"].params if one.opts[0].startswith("--")]  # type: ignore[attr-defined]
    alone = [one.opts[0] for one in options if one.rich_help_panel is None]  # type: ignore[attr-defined]
    assert set(alone) <= {"--out", "--json"}


def test_version(rondo: Command) -> None:
    assert rondo("--version") == (0, f"rondo {__version__}\n", "")


def test_help_waits_for_no_library() -> None:
    program = f"""
import sys
from rondo.cli.main import run
try:
    run(["--help"])
except SystemExit:
    print(*sorted(set({HEAVY}) & sys.modules.keys()), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "discover" in done.stdout
    assert done.stderr.split() == []


def test_fast_takes_the_suggested_windows_alone(rondo: Command, here: Path) -> None:
    np.savez(here / "walk.npz", X=waves(1_500, n_channels=4), rate=50.0)
    assert rondo("discover", "walk.npz", "--out", "run", "--fast").code == 0
    model = Rondo.load(here / "run" / "model")
    alone = Rondo(settings={"windows.scales": 1}).fit(str(here / "walk.npz"))
    assert model.config_.windows.scales == 1
    assert model.window_length_frames_ == alone.window_length_frames_
    assert rondo("discover", "walk.npz", "--out", "other", "--fast", "--method", "clock").code == 2
