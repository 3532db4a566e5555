"""The surrogate test of a whole model: what it claims of planted streams and of noise, and what it leaves alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from safetensors.numpy import load_file

from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.evidence.verdicts import EntryEvidence, Evidence
from rondo.model.describe import evidence_words
from rondo.model.folder import config_of
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.store.model_file import Artifact, load, save
from rondo.synthetic.streams import plant, structureless
from tests.evidence.test_verdicts import assert_same

UNTESTED = {"evidence.surrogates": 0}
PLANTED = plant(n_frames=15_000, seed=0).recording


@pytest.fixture(scope="module")
def model() -> Rondo:
    return Rondo(window=75, seed=0).fit(PLANTED)


@pytest.fixture(scope="module")
def untested() -> Rondo:
    return Rondo(window=75, seed=0, settings=UNTESTED).fit(PLANTED)


def verdicts(evidence: Evidence) -> set[str]:
    return {entry.verdict for entry in (*evidence.units.values(), *evidence.motifs.values())}


def test_planted_units_and_motifs_recur(model: Rondo) -> None:
    evidence = model.evidence_
    assert evidence.recurs
    assert (tuple(evidence.units), tuple(sorted(evidence.motifs))) == (model.unit_model_.ids, model.motif_model_.ids)
    composed = {id for id in model.motif_model_.ids if len(model.motif_model_.composition(id).split()) > 1}
    assert len(composed) >= 4  # five were planted
    assert {id for id in composed if evidence.motifs[id].verdict == "recurs clearly"} == composed
    claimed = [entry.verdict == "recurs clearly" for entry in evidence.units.values()]
    assert np.mean(claimed) > 0.7


def test_nothing_is_claimed_in_noise() -> None:
    evidence = Rondo(window=75).fit(structureless(5_000, 4, seed=3)).evidence_
    assert not evidence.recurs
    assert verdicts(evidence) <= {"not shown", "occurs once"}


def test_evidence_changes_no_label_and_repeats(model: Rondo, untested: Rondo) -> None:
    ours, theirs = label_one(model, PLANTED), label_one(untested, PLANTED)
    assert_array_equal(ours.units, theirs.units)
    assert_array_equal(ours.motifs, theirs.motifs)
    part = Recording(PLANTED.values[:3_000], PLANTED.rate)
    first, again, other = (
        Rondo(window=75, seed=seed, settings={"motifs.method": "none"}).fit(part).evidence_ for seed in (0, 0, 1)
    )
    assert_same(first, again)
    assert not np.array_equal(first.by_chance["signal"], other.by_chance["signal"])


def test_without_surrogates_nothing_is_tested_but_occurrences_are_counted(model: Rondo, untested: Rondo) -> None:
    evidence = untested.evidence_
    assert verdicts(evidence) == {"not tested"}
    assert np.isnan(evidence.p)
    for own, others in ((evidence.units, model.evidence_.units), (evidence.motifs, model.evidence_.motifs)):
        assert {id: entry.n_occurrences for id, entry in own.items()} == {
            id: entry.n_occurrences for id, entry in others.items()
        }


def test_a_model_folder_keeps_it_and_older_folders_have_none(model: Rondo, untested: Rondo, tmp_path: Path) -> None:
    for fitted in (model, untested):
        fitted.save(tmp_path / "model")
        assert_same(Rondo.load(tmp_path / "model").evidence_, fitted.evidence_)
    tensors = load_file(tmp_path / "model" / "tensors.safetensors")
    older = {name: tensor for name, tensor in tensors.items() if not name.startswith("evidence.")}
    assert len(older) < len(tensors)
    stored = load(tmp_path / "model")
    config = {name: value for name, value in stored.config.items() if name != "evidence"}
    save(tmp_path / "older", Artifact(config, stored.provenance, older))
    evidence = Rondo.load(tmp_path / "older").evidence_
    assert verdicts(evidence) == {"not tested"}
    assert set(evidence.motifs) == set(model.motif_model_.ids)


def test_motifs_learned_anew_are_asked_about_in_their_own_recordings(untested: Rondo, tmp_path: Path) -> None:
    untested.save(tmp_path / "model")
    transferred = Rondo.load(tmp_path / "model")
    transferred.config_ = transferred.config_.model_copy(update={"evidence": config_of(Rondo()).evidence})
    told: list[str] = []
    noise = structureless(3_000, PLANTED.n_channels, PLANTED.rate or 50.0, seed=1)
    noise = Recording(noise.values, noise.rate, PLANTED.channels)
    transferred.fit_motifs(noise, progress=lambda what, done, total: told.append(what))
    assert "evidence" in told
    assert not transferred.evidence_.recurs
    assert set(transferred.evidence_.units) == set(transferred.unit_model_.ids)
    assert set(transferred.evidence_.motifs) == set(transferred.motif_model_.ids)


def test_recordings_too_short_for_a_test_are_not_tested() -> None:
    short = [Recording(PLANTED.values[i * 900 : i * 900 + 900], PLANTED.rate, id=f"file{i}") for i in range(4)]
    model = Rondo(window=75, seed=0).fit(short)
    evidence = model.evidence_
    assert np.isnan(evidence.p) and not np.isnan(evidence.closeness)
    assert verdicts(evidence) <= {"not tested", "occurs once"}
    several = [entry for entry in evidence.units.values() if entry.n_visits > 1]
    assert several and all(not np.isnan(entry.margin) for entry in several)  # graded all the same
    assert model.motif_model_.unshown_ids == ()


def test_of_a_blurred_entry_the_summary_names_the_other() -> None:
    blurred = EntryEvidence(np.nan, np.nan, 3, "blurred", n_visits=3, recognised=0.5, margin=0.1, like=7)
    entries = {0: blurred, 1: blurred._replace(like=OTHER), 2: blurred._replace(verdict="recurs clearly")}
    words = evidence_words(replace(Evidence.not_tested({}, {}), p=0.01, units=entries), None)
    assert [words["tested"]["unit"][id].like for id in entries] == [7, None, None]
