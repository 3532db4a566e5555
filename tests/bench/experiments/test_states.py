"""The suite of the CLaP paper and MoCap6: stored labels beside ours, and one vocabulary over all recordings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from rondo.data.recording import Recording
from rondo.errors import SettingError
from rondo_bench.data_sets.motion import MOCAP6_IDS
from rondo_bench.experiments.rows import read_rows
from rondo_bench.experiments.spec import Method, read_experiment, text_of
from tests import naive_metrics as naive
from tests.bench.data_sets.published import clap_clone, clap_track, mocap6_arrays, mocap6_clone, write_clap_labels
from tests.cli.running import Command


def run(rondo: Command, experiment: object, data: Path, *more: object) -> Any:
    return rondo("bench", "run", experiment, "--data", data, "--engine", "serial", "--seeds", 1, "--out", "out", *more)


def test_stored_labels_are_scored_and_nothing_is_run(rondo: Command, here: Path, tmp_path: Path) -> None:
    clone = clap_clone(tmp_path / "classification-label-profile")
    chosen = ("--datasets", "utsa", "--methods", "clap,ticc,e2usd")
    outcome = run(rondo, "clap_suite", clone, *chosen)
    assert outcome.code == 0 and "e2usd is left out" in outcome.err  # the clone has no labels of it
    rows = {(row.key.method, row.key.recording): row for row in read_rows(here / "out")}
    assert len(rows) == 6
    truth, late = clap_track("Sines"), clap_track("Sines", late=20)
    scores = rows["clap", "Sines"].scores
    assert scores["ami"] == pytest.approx(100 * adjusted_mutual_info_score(truth, late))
    assert scores["covering"] == pytest.approx(100 * naive.covering(truth.tolist(), late.tolist()))
    assert rows["ticc", "Sines"].scores["covering"] == rows["ticc", "Sines"].scores["ami"] == pytest.approx(100)
    table = rondo("bench", "table", "clap_suite", "--out", "out").out
    assert "| ARI | AMI | one-to-one | covering |" in table
    (line,) = (line for line in table.splitlines() if line.startswith("| CLaP |"))
    assert [cell.strip() for cell in line.strip("|").split("|")][-2:] == ["–", "–"]  # seconds, memory


def test_stored_labels_that_are_not_those_published_are_a_failed_row(
    rondo: Command, here: Path, tmp_path: Path
) -> None:
    clone = clap_clone(tmp_path / "classification-label-profile")
    write_clap_labels(clone, "UTSA", "CLaP", 20, 0, ami_score="0.1")
    assert run(rondo, "clap_suite", clone, "--datasets", "utsa", "--methods", "clap").code == 2
    status = {row.key.recording: row.status for row in read_rows(here / "out")}
    assert status == {"Sines": "failed", "Steps": "ok", "Alone": "ok"}


class Shared:
    """Labels by a rule that all recordings share, so that a test needs no fit; it keeps what it was given."""

    def __init__(self, given: list[list[str]]) -> None:
        self.given = given

    def fit(self, recordings: Sequence[Recording]) -> Shared:
        self.given.append([own.id for own in recordings])
        return self

    def label_one(self, recording: Recording) -> SimpleNamespace:
        labels = np.repeat(np.array([1, 2], np.int32), 10)
        labels[:5] = 1 + MOCAP6_IDS.index(recording.id) % 3  # another number for a part of it
        return SimpleNamespace(units=labels, motifs=labels)


def test_one_vocabulary_over_all_captures_is_scored_over_all_frames(
    rondo: Command, here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits: list[list[str]] = []
    monkeypatch.setattr("rondo_bench.experiments.protocols.rondo_of", lambda _: Shared(fits))
    monkeypatch.setattr("rondo_bench.experiments.protocols.label_one", lambda model, one: model.label_one(one))
    clone = mocap6_clone(tmp_path / "bnpy")
    assert run(rondo, "mocap6", clone, "--methods", "rondo").code == 0
    rows = read_rows(here / "out")
    assert fits == [list(MOCAP6_IDS)] and len(rows) == 6 and all(row.is_ok for row in rows)
    found = np.concatenate([Shared([]).label_one(Recording(np.ones((20, 1)), id=id)).units for id in MOCAP6_IDS])
    expected = 100 * adjusted_rand_score(mocap6_arrays()["TrueZ"], found)
    assert [row.scores["pooled_ari"] for row in rows] == pytest.approx([expected] * 6)
    table = rondo("bench", "table", "mocap6", "--out", "out").out
    assert "| pooled ARI | pooled AMI |" in table
    kept = here / "out" / "rows.jsonl"  # a part that is missing is learned from all again
    kept.write_text("".join(kept.read_text().splitlines(keepends=True)[:-1]))
    assert run(rondo, "mocap6", clone, "--methods", "rondo").code == 0
    assert fits == [list(MOCAP6_IDS)] * 2 and len(read_rows(here / "out")) == 6


def test_joint_and_stored_are_for_their_protocol(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"joint .*Rondo"):
        Method(title="", source="", baseline="ticc", joint=True)
    with pytest.raises(ValueError, match="preset"):
        Method(title="", source="", preset="default", stored="CLaP")
    for name, method in (("mocap6", "rondo"), ("clap_suite", "clap")):
        path = tmp_path / f"{name}.toml"
        path.write_text(text_of(name).replace('protocol = "states"', 'protocol = "static"'))
        with pytest.raises(SettingError, match=rf"methods.{method}: .*'states'"):
            read_experiment(str(path))
