"""`rondo discover --method` and `rondo label`, for methods other than Rondo: settings, findings, and cost."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

from rondo.data.labels import OTHER, Labels
from rondo.data.recording import Recording
from rondo.data.signal import Signal
from rondo.wording import Progress, silent
from rondo_bench.baselines.baseline import (
    BaselineMethod,
    BaselineSettings,
    baseline_names,
    build_baseline,
    label_recording,
)
from tests.bench.baselines.test_contracts import TINY
from tests.cli.running import Command, waves, write_csv
from tests.golden_files import Golden
from tests.registered import register

KMEANS = ("--method", "kmeans", "--window", "50", "--states", "3")
QUICK = ("kmeans", "hdbscan")  # one that reads other recordings, one that does not; others only nightly
HDBSCAN = ("--method", "hdbscan", "--window", "50")


def labels_in(run: Path, recording: str) -> Any:
    return np.load(run / "labels" / f"{recording}.npy")


def settings(overrides: dict[str, Any]) -> list[str]:
    return [word for name, value in overrides.items() for word in ("--set", f"{name}={value}")]


# ---------------------------------------------------------------- discover


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in baseline_names()]
)
def test_every_method_writes_a_run_folder(rondo: Command, here: Path, name: str) -> None:
    values = waves(600)
    write_csv(here / "x.csv", values)
    outcome = rondo(
        "discover", "x.csv", "--out", "run", "--json", "--method", name, "--seed", "1", *settings(TINY[name])
    )
    assert outcome.code == 0, outcome.err
    summary = json.loads(outcome.out)
    assert (summary["method"], summary["seed"]) == (name, 1)
    baseline = build_baseline(name, TINY[name])
    assert summary["config"] == baseline.config.model_dump(mode="json")
    expected = label_recording(Recording(values, channels=["a", "b"]), baseline, np.random.default_rng(1))
    npt.assert_array_equal(labels_in(here / "run", "x"), expected)
    npt.assert_array_equal(np.load(here / "run" / "units" / "x.npy"), expected)
    assert (here / "run" / "report.html").is_file()
    assert not (here / "run" / "model").exists()
    assert {entry["id"] for entry in summary["units"]} == set(expected.tolist()) - {OTHER}


def test_help_names_every_method(rondo: Command) -> None:
    words = " ".join(rondo("discover", "--help").out.replace("│", " ").split())
    assert {"rondo", "clock", *baseline_names()} <= set(re.findall(r"\w+", words))
    told = {name for name in baseline_names() if "n_states" in type(build_baseline(name).config).model_fields}
    (line,) = re.findall(r"Number of states, for (.*?); of pieces, for clock", words)
    assert set(re.findall(r"\w+", line)) - {"and"} == told


def test_docs_name_every_method_and_what_it_needs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "benchmark.md").read_text(encoding="utf-8")
    text = page.partition("\n## Other methods\n")[2].partition("\n## ")[0]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| `")]
    for name in baseline_names():
        has_states = "n_states" in type(build_baseline(name).config).model_fields
        told = next(cells[2] for cells in rows if f"`{name}`" in cells[0])
        assert ("number of states" in told) == has_states, name


def test_a_method_without_windows_takes_none(rondo: Command, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_csv(here / "x.csv", waves())
    register(monkeypatch, here / "site", framewise="tests.cli.test_methods:FRAMEWISE")
    for option in ("--window", "--step"):
        outcome = rondo("discover", "x.csv", "--out", "out", "--method", "framewise", option, "50")
        assert (outcome.code, f"{option} has no effect" in outcome.err) == (2, True)
    summary = json.loads(rondo("discover", "x.csv", "--out", "out", "--json", "--method", "framewise").out)
    assert (summary["window_length_frames"], summary["step_frames"]) == (1, 1)


@pytest.mark.slow
def test_findings_say_what_was_not_done(rondo: Command, here: Path, golden: Golden) -> None:
    for name in ("p", "q"):
        write_csv(here / f"{name}.csv", waves(seed=ord(name)))
    runs = {"given": KMEANS, "default": ("--method", "kmeans"), "found": HDBSCAN}
    said = []
    for out, options in runs.items():
        summary = json.loads(rondo("discover", "p.csv", "q.csv", "--out", out, "--json", *options).out)
        said.append("\n".join([f"{out}:", *summary["findings"]]))
        assert summary["evidence"] is None
        labels = [set(np.load(here / out / "units" / f"{name}.npy").tolist()) - {-1} for name in ("p", "q")]
        assert not labels[0] & labels[1] and labels[0] | labels[1] == {entry["id"] for entry in summary["units"]}
    golden.check("discover", "findings of other methods", "\n".join(said))


def test_a_recording_does_not_depend_on_those_beside_it(rondo: Command, here: Path) -> None:
    write_csv(here / "p.csv", waves(seed=1))
    write_csv(here / "q.csv", waves(n_channels=3, seed=2))  # other channels are no matter: nothing is shared
    assert rondo("discover", "q.csv", "p.csv", "--out", "both", *KMEANS).code == 0
    assert rondo("discover", "q.csv", "--out", "one", *KMEANS).code == 0
    shift = np.unique(labels_in(here / "both", "p")).size  # no two recordings share an id
    npt.assert_array_equal(labels_in(here / "both", "q"), labels_in(here / "one", "q") + shift)


def test_a_method_that_joins_recordings_gets_them_all(
    rondo: Command, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("p", "q"):
        write_csv(here / f"{name}.csv", waves(seed=ord(name)))
    register(monkeypatch, here / "site", joining="tests.cli.test_methods:JOINING")
    summary = json.loads(rondo("discover", "p.csv", "q.csv", "--out", "out", "--json", "--method", "joining").out)
    assert [(entry["id"], entry["n_occurrences"]) for entry in summary["units"]] == [(0, 1), (1, 1)]
    assert "states are the same" in " ".join(summary["findings"])
    assert not (here / "out" / "model").exists()


# ---------------------------------------------------------------- label


@pytest.mark.parametrize("method", ["kmeans", "clock"])
def test_no_other_recording_is_labelled_with_a_run_of_another_method(rondo: Command, here: Path, method: str) -> None:
    write_csv(here / "x.csv", waves())
    assert rondo("discover", "x.csv", "--out", "run", "--method", method).code == 0
    outcome = rondo("label", "run", "x.csv", "--out", "read")
    assert (outcome.code, outcome.out) == (2, "")
    (line,) = outcome.err.splitlines()
    assert line.startswith(f"error: run: {method} cannot ")


# ---------------------------------------------------------------- stand-ins


@dataclass(frozen=True)
class Framewise:
    """States by the sign of the first channel."""

    config: BaselineSettings = field(default_factory=BaselineSettings)

    def fit_predict(self, signal: Signal, rng: np.random.Generator, progress: Progress = silent) -> Labels:
        return np.asarray(signal.values[:, 0] > 0, dtype=np.int32)


@dataclass(frozen=True)
class Joining(Framewise):
    """Each recording a state, the second before the first."""

    def fit_predict_many(
        self, signals: Sequence[Signal], rng: np.random.Generator, progress: Progress = silent
    ) -> list[Labels]:
        return [np.full(signal.n_frames, 9 - number, dtype=np.int32) for number, signal in enumerate(signals)]


FRAMEWISE = BaselineMethod("framewise", Framewise, "the sign of the first channel")
JOINING = BaselineMethod("joining", Joining, "one state for each recording")
