"""The suite of the CLaP paper as it is typed: our rows beside those of stored labels, on a clone made by the test."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rondo.data.recording import Recording
from rondo.errors import SettingError
from rondo.metrics.overlap import Overlap
from rondo.metrics.scores import evaluate
from rondo.metrics.segmentation import change_point_f1, covering
from rondo.metrics.states import state_matching_score, weighted_adjusted_rand
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.run.labelling import Labelling
from rondo_bench.data_sets.read import read_data_set
from rondo_bench.experiments.rows import Row, read_rows
from rondo_bench.experiments.spec import read_experiment, text_of
from tests.bench.data_sets.published import clap_clone, clap_track, write_clap_labels
from tests.cli.running import Command


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return clap_clone(tmp_path / "clone")


def run(rondo: Command, clone: Path, methods: str, *more: object) -> Any:
    chosen = ("--methods", methods, "--data", clone, "--engine", "serial", "--seeds", 1, "--out", "out")
    return rondo("bench", "run", "clap_suite", *chosen, *more)


def row_of(here: Path, data_set: str, recording: str, method: str) -> Row:
    (found,) = (
        row
        for row in read_rows(here / "out")
        if (row.key.data_set, row.key.recording, row.key.method) == (data_set, recording, method)
    )
    return found


@pytest.mark.slow
def test_both_levels_of_the_default_beside_stored_labels(
    rondo: Command, here: Path, clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Rondo.label_one

    def with_a_second_level(self: Rondo, recording: Recording) -> Labelling:
        found = real(self, recording)
        return replace(found, motifs=np.roll(found.units, 50))  # so short a series has none of its own

    monkeypatch.setattr(Rondo, "label_one", with_a_second_level)
    outcome = run(rondo, clone, "rondo,rondo-units,clap,ticc")
    assert outcome.code == 0
    rows = read_rows(here / "out")
    assert len(rows) == 3 * 3 * 4 and all(row.is_ok for row in rows)
    data = read_data_set("skab", clone, only=("Sines",))
    recording, truth = data.recordings[0], data.annotations["Sines"].classes
    labelling = label_one(Rondo(seed=0, device="cpu").fit(recording), recording)
    assert (labelling.motifs != labelling.units).any()
    for method, labels in (("rondo", labelling.motifs), ("rondo-units", labelling.units)):
        own, overlap = row_of(here, "skab", "Sines", method).scores, Overlap.of(truth, labels)
        assert own["ari"] == evaluate({"Sines": (truth, labels)}).average.ari
        assert own["covering"] == 100 * covering(overlap)
        assert own["change_point_f1"] == 100 * change_point_f1(overlap)
        assert own["wari"] == 100 * weighted_adjusted_rand(overlap)
        assert own["sms"] == 100 * state_matching_score(overlap)


def test_stored_labels_are_scored_as_ours_are(rondo: Command, here: Path, clone: Path) -> None:
    assert run(rondo, clone, "clap,ticc", "--datasets", "tssb").code == 0
    late = Overlap.of(clap_track("Sines"), clap_track("Sines", late=20))
    own = row_of(here, "tssb", "Sines", "clap").scores
    assert own["sms"] == pytest.approx(100 * state_matching_score(late)) != 100
    assert own["covering"] == pytest.approx(100 * covering(late))
    assert own["n_clusters"] == 2
    short = row_of(here, "tssb", "Sines", "ticc").scores  # its last label holds to the end
    assert (short["ari"], short["sms"], short["change_point_f1"]) == (100, 100, 100)


def test_segments_and_states_of_a_method_are_scored_apart(rondo: Command, here: Path, clone: Path) -> None:
    wrong = {"found_cps": "[0, 100, 200, 400, 600]", "covering_score": str(round((400 + 200 / 2) / 600, 3))}
    write_clap_labels(clone, "UTSA", "ClaSP2Feat", 0, 0, **wrong)
    assert run(rondo, clone, "clasp2feat", "--datasets", "utsa", "--only", "Sines").code == 0
    own = row_of(here, "utsa", "Sines", "clasp2feat").scores
    assert own["covering"] == pytest.approx(100 * (400 + 200 / 2) / 600)
    assert own["change_point_f1"] == pytest.approx(100 * 2 * 2 / (2 + 3))
    assert own["ari"] == own["wari"] == own["sms"] == 100


def test_any_whole_number_is_a_state(rondo: Command, here: Path, clone: Path) -> None:
    far_apart = np.where(clap_track("Sines") == 0, 5, 5 + (1 << 32))  # the same in 32 bits
    write_clap_labels(clone, "UTSA", "CLaP", 0, 0, found_labels=str(far_apart.tolist()))
    assert run(rondo, clone, "clap", "--datasets", "utsa", "--only", "Sines").code == 0
    assert row_of(here, "utsa", "Sines", "clap").scores["ari"] == 100


def test_labels_that_do_not_give_the_published_scores_have_no_row(rondo: Command, here: Path, clone: Path) -> None:
    write_clap_labels(clone, "TSSB", "CLaP", 20, 0, ami_score="0.5")
    refused = run(rondo, clone, "clap,ticc", "--datasets", "tssb")
    assert refused.code == 2 and "1 of 6 rows failed" in refused.err
    assert "published is 50.0" in row_of(here, "tssb", "Sines", "clap").error
    table = rondo("bench", "table", "clap_suite", "--out", "out").out
    assert "### TSSB: 2 of 75 recordings" in table
    assert "clap failed in 1 row (" in table and "published is 50.0" in table


def test_methods_whose_labels_are_not_at_hand_are_left_out_with_a_note(rondo: Command, here: Path, clone: Path) -> None:
    planned = run(rondo, clone, "clap,hdp-hsmm", "--dry-run")
    assert planned.code == 0
    assert "tssb, hdp-hsmm is left out: its labels are not at hand" in planned.err
    assert {line.split()[1] for line in planned.out.splitlines() if line.startswith("skab")} == {"clap"}
    assert not (here / "out").exists()


def test_a_second_run_has_nothing_to_do_and_the_table_has_every_score(rondo: Command, here: Path, clone: Path) -> None:
    assert run(rondo, clone, "clap,ticc").code == 0
    again = run(rondo, clone, "clap,ticc")
    assert again.code == 0 and "18 rows: 18 there, 0 to run" in again.err
    table = rondo("bench", "table", "clap_suite", "--out", "out").out
    head = "| method | ARI | AMI | one-to-one | covering | F1 of changes | WARI | SMS | clusters |"
    assert table.count(head) == 3
    (line, *_) = (line for line in table.splitlines() if line.startswith("| CLaP |"))
    assert line.endswith("| 1 | – | – |")  # nothing was run: no seconds, no memory
    assert "come out as they published them" in " ".join(table.split())
    for form in ("latex", "csv"):
        assert rondo("bench", "table", "clap_suite", "--out", "out", "--format", form).code == 0


def test_periods_reach_no_row(rondo: Command, here: Path, clone: Path) -> None:
    chosen = ("--datasets", "utsa", "--only", "Steps")
    assert run(rondo, clone, "rondo", *chosen).code == 0
    before = row_of(here, "utsa", "Steps", "rondo").scores
    path = clone / "datasets" / "UTSA" / "desc.txt"
    path.write_text(path.read_text().replace(",10", ",77"))
    (here / "out" / "rows.jsonl").unlink()
    assert run(rondo, clone, "rondo", *chosen).code == 0
    assert row_of(here, "utsa", "Steps", "rondo").scores == before


def test_stored_labels_are_for_their_protocol(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text_of("clap_suite").replace('protocol = "states"', 'protocol = "static"'))
    with pytest.raises(SettingError, match=r"methods.clap: stored labels are for the protocol 'states'"):
        read_experiment(str(path))
