"""`rondo.label`: a model or its folder, recordings in memory, and what it refuses; files are in tests/many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

import rondo
from rondo.errors import NotFittedError, OutputError, SettingError
from rondo.model.method import relabel
from rondo.model.rondo import Rondo
from rondo.result import Result
from rondo.synthetic.streams import plant

QUICK = {"window": "1.5s", "settings": {"evidence.surrogates": 0}}


@pytest.fixture(scope="module")
def result() -> Result:
    return rondo.discover(plant(n_frames=6_000, seed=1).recording, **QUICK)


@pytest.fixture(scope="module")
def other() -> rondo.Recording:
    return plant(n_frames=4_000, seed=1).recording


def test_a_model_its_folder_and_its_run_label_alike(result: Result, other: rondo.Recording, tmp_path: Path) -> None:
    result.save(tmp_path / "run")
    expected = result.model.predict(other)
    for model in (result.model, tmp_path / "run", str(tmp_path / "run" / "model")):
        labelled = rondo.label(model, other)
        npt.assert_array_equal(labelled.units, expected.units)
        npt.assert_array_equal(labelled.motifs, expected.motifs)
    rondo.label(tmp_path / "run", other, out=tmp_path / "labelled")
    npt.assert_array_equal(Result.load(tmp_path / "labelled").units, expected.units)
    with pytest.raises(OutputError, match="already holds a run"):
        rondo.label(tmp_path / "run", other, out=tmp_path / "labelled")


def test_the_model_that_is_given_stays_as_it_is(result: Result, other: rondo.Recording) -> None:
    units, motifs = result.model.unit_model_, result.model.motif_model_
    moved = rondo.label(result.model, other, adapt=True, refit_motifs=True)
    assert result.model.unit_model_ is units and result.model.motif_model_ is motifs
    assert moved.model.unit_model_ is not units and moved.model.motif_model_ is not motifs
    assert "units_adapted_to" in moved.model.provenance_ and "units_adapted_to" not in result.model.provenance_


def test_the_folder_of_a_stream_is_read_as_the_stream_has_grown_it(
    result: Result, other: rondo.Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result.save(tmp_path / "run")
    grown = Rondo.load(tmp_path / "run" / "model")
    grown.partial_fit(other.values)
    monkeypatch.setattr("rondo.discovery.load_model", lambda folder: grown)
    monkeypatch.setattr("rondo.discovery.has_checkpoint", lambda folder: folder == tmp_path / "run" / "checkpoint")
    npt.assert_array_equal(rondo.label(tmp_path / "run", other).units, relabel(grown, other).units)
    np.save(tmp_path / "other.npy", other.values)
    with pytest.raises(SettingError, match="model reads all recordings"):
        rondo.label(tmp_path / "run", tmp_path / "other.npy", out=tmp_path / "labelled", engine="serial")


def test_what_cannot_be_is_refused(result: Result, other: rondo.Recording, tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="not fitted yet"):
        rondo.label(Rondo(), other)
    with pytest.raises(SettingError, match="give paths"):
        rondo.label(result.model, other, out=tmp_path / "run", engine="serial")
    np.save(tmp_path / "other.npy", other.values)
    with pytest.raises(SettingError, match="--adapt learns"):
        rondo.label(result.model, tmp_path / "other.npy", adapt=True, out=tmp_path / "run", engine="serial")
