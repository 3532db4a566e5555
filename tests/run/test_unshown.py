"""Both kinds of motif are there, and labels show one: the other follows in every list and table of a result."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from rondo.config.settings import ContinualConfig
from rondo.continual.contexts import reader_of
from rondo.errors import SettingError
from rondo.model.describe import known_ids
from rondo.model.rondo import Rondo
from rondo.motifs.base import MotifKind
from rondo.motifs.composed import ComposedMotifs
from rondo.result import Result
from rondo.run.segments import KINDS
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant
from tests.cli.running import command

CYCLES = plant(StreamPlan(motifs="cycles", n_units=12, n_motifs=3), n_frames=30_000, seed=3).recording


@pytest.fixture(scope="module")
def result() -> Result:
    """Phrases are shown; contexts, in which the same cycle goes round, are found too."""
    return Rondo().fit_predict(CYCLES)


def others(result: Result) -> pd.DataFrame:
    """The rows of motifs that labels do not show."""
    return result.segments[result.segments["level"] == "context"]


@pytest.fixture
def motifs(result: Result) -> ComposedMotifs:
    own = result.model.motif_model_
    assert isinstance(own, ComposedMotifs) and own.shown == "phrase" and len(own.unshown) > 1
    return own


@pytest.mark.slow
def test_they_follow_on_the_motifs_of_the_labels_in_one_list(result: Result, motifs: ComposedMotifs) -> None:
    listed = {one.id: one for one in result.summary.motifs}
    assert tuple(listed) == (*motifs.ids, *motifs.unshown_ids)
    assert set(result.motifs.tolist()) - {-1} <= set(motifs.ids)  # labels are as without them
    for id, one in listed.items():
        assert one.in_labels == (id in motifs.ids) and one.kind == motifs.kind(id)
        assert one.composition == motifs.composition(id)
    assert [one.id for one in result.summary.unshown_motifs] == list(motifs.unshown_ids)
    assert {one.evidence.verdict for one in result.summary.unshown_motifs if one.evidence} == {"recurs clearly"}
    assert {one.kind for one in result.summary.unshown_motifs} == {"context"}
    assert any("; mostly u" in one.composition for one in result.summary.unshown_motifs)  # it goes round
    kinds = Counter(one.kind for one in listed.values())
    assert re.findall(r"\d+ (?:phrase|context)s", repr(result))[:2] == [f"{kinds[one]} {one}s" for one in KINDS]
    assert f"{kinds['context']} contexts come back" in result.findings[0]


def test_their_occurrences_are_a_table(result: Result, motifs: ComposedMotifs) -> None:
    assert set(result.segments["level"]) == {"unit", "motif", "context"}
    table = others(result)
    counts = {one.id: one.n_occurrences for one in result.summary.unshown_motifs}
    assert table["id"].value_counts().to_dict() == counts
    units = result.segments[result.segments["level"] == "unit"]
    first = table.iloc[0]
    inside = units[(units["start_frame"] < first["end_frame"]) & (units["end_frame"] > first["start_frame"])]
    assert first["units"] == " ".join(f"u{id}" for id in inside["id"])
    assert set(result.segments[result.segments["level"] == "motif"]["id"]) <= set(motifs.ids)


@pytest.mark.slow
def test_a_run_folder_keeps_them_and_their_names(
    result: Result, motifs: ComposedMotifs, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    run, rondo = tmp_path / "run", command(capfd)
    result.save(run)
    assert pl.read_csv(run / "segments.csv").height == len(result.segments)
    again = Result.load(run)
    pd.testing.assert_frame_equal(again.segments, result.segments)
    assert np.array_equal(np.load(next((run / "labels").glob("*.npy"))), result.motifs)
    written = json.loads((run / "summary.json").read_text(encoding="utf-8"))["motifs"]
    assert [one["in_labels"] for one in written] == [one.in_labels for one in result.summary.motifs]
    id = motifs.unshown_ids[0]
    assert rondo("name", run, f"motif:{id}", "rowing").code == 0
    named = Result.load(run)
    assert {one.id: one.name for one in named.summary.motifs if one.name} == {id: "rowing"}
    assert set(others(named).loc[others(named)["id"] == id, "name"]) == {"rowing"}
    refused = rondo("merge", run, f"motif:{id}", "motif:0")
    assert refused.code == 2 and f"motif:{id} is" in refused.err
    before = (run / "segments.csv").read_bytes()
    first = others(result).iloc[0]["units"].split()[0]
    other = next(f"u{unit}" for unit in range(12) if f"u{unit}" != first)
    assert rondo("merge", run, first, other).code == 0
    merged = max(int(first[1:]), int(other[1:]))
    assert f"u{merged}" not in " ".join(others(Result.load(run))["units"]).split()
    assert rondo("split", run, f"u{merged}").code == 0
    assert (run / "segments.csv").read_bytes() == before


def test_a_result_in_hand_follows_the_edits_of_its_model(result: Result, motifs: ComposedMotifs) -> None:
    id = motifs.unshown_ids[-1]
    model = copy.copy(result.model).name(f"motif:{id}", "rowing")
    named = replace(result, _read_model=lambda: model).edited()
    assert set(others(named).loc[others(named)["id"] == id, "name"]) == {"rowing"}
    assert {one.id: one.name for one in named.summary.motifs if one.name} == {id: "rowing"}


def test_python_refuses_to_merge_them_and_a_stream_takes_none_of_their_ids(
    result: Result, motifs: ComposedMotifs
) -> None:
    model, id = result.model, motifs.unshown_ids[0]
    with pytest.raises(SettingError, match="cannot be merged"):
        model.merge("motif:0", f"motif:{id}")
    assert known_ids(model).ids["motif"] == (*motifs.ids, *motifs.unshown_ids)
    kinds: tuple[MotifKind, ...] = ("phrase", "context", "unit")
    for shown in kinds:
        every = motifs.showing(shown).with_all_unshown()
        reader = reader_of(every, ContinualConfig(), 500.0, (model.window_length_frames_, model.step_frames_))
        assert reader.add_unit(99) == max(every.unshown_ids) + 1


def test_without_a_second_kind_there_is_no_table(tmp_path: Path) -> None:
    bare = Rondo(settings={"motifs.method": "none"}).fit_predict(CYCLES)
    assert set(bare.segments["level"]) == {"unit", "motif"}
    assert {one.kind for one in bare.summary.motifs} == {"unit"} and all(one.in_labels for one in bare.summary.motifs)
    bare.save(tmp_path / "run")
    pd.testing.assert_frame_equal(Result.load(tmp_path / "run").segments, bare.segments)
