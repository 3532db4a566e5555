"""Public sets as they are typed: one vocabulary over all recordings, pooled scores, and published rows beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from rondo.data.recording import Recording
from rondo.errors import SettingError
from rondo_bench.experiments.protocols import pooled_scores
from rondo_bench.experiments.rows import read_rows
from rondo_bench.experiments.spec import Method, read_experiment, text_of
from tests.bench.data_sets.published import aioi_clone, aioi_track, written
from tests.cli.running import Command

SENTENCES = ("ao_ie", "ao_ie2", "ie_ao")


class Shared:
    """Labels by a rule that all recordings share, so that a test needs no fit; it keeps what it was given."""

    def __init__(self, given: list[list[str]]) -> None:
        self.given = given

    def fit(self, recordings: Sequence[Recording]) -> Shared:
        self.given.append([own.id for own in recordings])
        return self

    def label_one(self, recording: Recording) -> SimpleNamespace:
        letters, words = (aioi_track(recording.id, level).astype(np.int32) for level in ("letters", "words"))
        letters[:20] = 2  # the first letter is wrong
        return SimpleNamespace(units=letters, motifs=words)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The recordings of each fit."""
    fits: list[list[str]] = []
    monkeypatch.setattr("rondo_bench.experiments.protocols.rondo_of", lambda _: Shared(fits))
    return fits


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return aioi_clone(tmp_path / "aioi_dataset")


def run(rondo: Command, experiment: object, data: Path, *more: object) -> Any:
    return rondo("bench", "run", experiment, "--data", data, "--engine", "serial", "--seeds", 1, "--out", "out", *more)


def test_one_vocabulary_over_all_sentences_is_scored_over_all_frames(
    rondo: Command, here: Path, clone: Path, given: list[list[str]]
) -> None:
    assert run(rondo, "aioi", clone, "--datasets", "aioi_letters,aioi_words").code == 0
    assert given == [list(SENTENCES)] * 2  # all at once
    rows = read_rows(here / "out")
    assert len(rows) == 6 and all(row.is_ok for row in rows)
    truth = np.concatenate([aioi_track(id, "letters") for id in SENTENCES])
    found = truth.copy()
    for start in (0, 80, 160):
        found[start : start + 20] = 2
    for row in rows:
        expected = 100.0 if row.key.data_set == "aioi_words" else 100 * adjusted_rand_score(truth, found)
        assert row.scores["pooled_ari"] == pytest.approx(expected)  # the same in the row of every sentence
    letters = [row.scores["ari"] for row in rows if row.key.data_set == "aioi_letters"]
    assert letters == [pytest.approx(100)] * 3  # each by itself: another number for one letter is no fault
    table = rondo("bench", "table", "aioi", "--out", "out").out
    assert "| method | ARI | AMI | one-to-one | pooled ARI | pooled AMI | pooled one-to-one | covering |" in table
    assert "with one vocabulary learned over all of them" in table and "CLaP" not in table


def test_a_part_of_a_joint_row_is_learned_from_all(
    rondo: Command, here: Path, clone: Path, given: list[list[str]]
) -> None:
    assert run(rondo, "aioi", clone, "--datasets", "aioi_words").code == 0
    rows = here / "out" / "rows.jsonl"
    rows.write_text("".join(rows.read_text().splitlines(keepends=True)[:-1]))
    assert run(rondo, "aioi", clone, "--datasets", "aioi_words").code == 0
    assert given == [list(SENTENCES)] * 2
    assert len(read_rows(here / "out")) == 3


def test_pooled_scores_ask_for_one_meaning_of_a_number() -> None:
    truth = np.array([0, 0, 1, 1])
    assert pooled_scores([(truth, truth), (truth, truth)])["pooled_one_to_one"] == 100
    crossed = pooled_scores([(truth, truth), (truth, 1 - truth)])
    assert crossed["pooled_one_to_one"] == 50
    assert crossed["pooled_ari"] == pytest.approx(100 * adjusted_rand_score([*truth, *truth], [*truth, *(1 - truth)]))


@pytest.fixture
def series(tmp_path: Path) -> Path:
    rows = "".join(f"{row % 7},{row},1,2,{row // 50}\n" for row in range(100))
    written(tmp_path / "Time2State" / "data" / "synthetic_data_for_segmentation" / "test0.csv", rows)
    return tmp_path / "Time2State"


def test_published_rows_stand_beside_ours_and_are_never_run(rondo: Command, here: Path, series: Path) -> None:
    path = here / "mine.toml"
    clock = '[methods.clock]\ntitle = "clock"\nclock = 2\nonce = "blind"\nsource = "ours"\n'
    path.write_text(text_of("synseg") + "\n" + clock)
    assert run(rondo, path, series, "--methods", "clock,time2state").code == 0
    (row,) = read_rows(here / "out")
    assert row.key.method == "clock" and row.scores["nmi"] == pytest.approx(100)
    table = rondo("bench", "table", path, "--out", "out").out
    (line,) = (line for line in table.splitlines() if line.startswith("| Time2State |"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[:5] == ["Time2State", "**85.03**", "–", "–", "**84.07**"]
    assert cells[-4:] == ["–"] * 4  # clock, seeds, seconds, memory
    assert "Rows without seeds are scores as published" in table
    for form in ("latex", "csv"):
        shown = rondo("bench", "table", path, "--out", "out", "--format", form)
        assert shown.code == 0 and "85.03" in shown.out
    assert "Time2State" not in rondo("bench", "table", path, "--out", "out", "--methods", "clock").out


def test_published_scores_are_those_of_the_figure_script() -> None:
    found = {name: own.published.get("synseg") for name, own in read_experiment("synseg").methods.items()}
    assert {name for name, own in found.items() if not own} == {"rondo"}
    for own in filter(None, found.values()):
        assert set(own) == {"ari", "nmi"} and all(0 < value < 100 for value in own.values())


def test_joint_is_a_choice_of_rondo_and_of_its_protocol(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="joint is a choice of Rondo"):
        Method(title="", source="", baseline="hmm", joint=True)
    with pytest.raises(ValueError, match="must have one of preset"):
        Method(title="", source="", preset="default", published={"synseg": {"ari": 1.0}})
    path = tmp_path / "mine.toml"
    path.write_text(text_of("aioi").replace('protocol = "states"', 'protocol = "static"'))
    with pytest.raises(SettingError, match=r"methods.rondo: joint is for the protocol 'states'"):
        read_experiment(str(path))
