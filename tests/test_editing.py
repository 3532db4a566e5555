"""A model that people have edited: its labels and names follow, what it has learned does not."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.continual.checkpoint import fingerprint
from rondo.data.recording import Recording
from rondo.editing.edits import Edits
from rondo.editing.edits_file import write_edits
from rondo.model.describe import known_ids, own_motifs
from rondo.model.method import edits_with, relabel
from rondo.model.rondo import Rondo
from rondo.run.shown import kept_ids
from tests.cli.running import waves

DAY = Recording(waves(900), rate=50, channels=("a", "b"))
OTHER_DAY = Recording(waves(700, seed=4), rate=50, channels=("a", "b"))


QUICK = {"evidence.surrogates": 0, "encoder.shape_channels": 0}  # shapes split these short windows


@pytest.fixture(scope="module")
def fitted() -> Rondo:
    """Every unit is its own motif."""
    return Rondo(window=40, step=20, settings=QUICK | {"motifs.method": "none"}, device="cpu").fit(DAY)


@pytest.fixture
def model(fitted: Rondo) -> Rondo:
    return copy.copy(fitted)


def test_labels_and_segments_follow_the_edits(model: Rondo) -> None:
    before = model.predict(OTHER_DAY)
    model.merge("unit:0", "unit:2").name("unit:0", "reach").name("motif:1", "pick up")
    after = model.predict(OTHER_DAY)
    assert {0, 1, 2} <= set(before.units.tolist())
    npt.assert_array_equal(after.units, np.where(before.units == 2, 0, before.units))
    npt.assert_array_equal(after.motifs, np.where(before.motifs == 2, 0, before.motifs))  # every unit is its own
    npt.assert_array_equal(after[0].unit_scores, before[0].unit_scores)
    named = {(row["level"], row["id"]): row["name"] for row in after.run.tables["segments"].iter_rows(named=True)}
    assert named == {
        ("unit", 0): "reach", ("unit", 1): "", ("motif", 0): "", ("motif", 1): "pick up",
    }  # fmt: skip
    assert "u2" not in " ".join(after.segments["units"])
    assert set(before.segments["name"]) == {""}
    apart = model.split("unit:2").predict(OTHER_DAY)
    npt.assert_array_equal(apart.units, before.units)
    npt.assert_array_equal(apart.motifs, before.motifs)


def test_motifs_of_composed_models_are_merged_apart(model: Rondo) -> None:
    assert own_motifs(model) == {0: 0, 1: 1, 2: 2}
    composed = Rondo(window=40, step=20, settings=QUICK, device="cpu").fit(DAY)
    assert composed.motif_model_.composed and own_motifs(composed) == {}
    before = composed.predict(OTHER_DAY)
    assert composed.merge("unit:0", "unit:2").edits_.groups("motif") == ()
    after = composed.predict(OTHER_DAY)
    npt.assert_array_equal(after.units, np.where(before.units == 2, 0, before.units))
    npt.assert_array_equal(after.motifs, before.motifs)


def test_a_unit_that_a_stream_has_added_is_merged_with_its_motif(model: Rondo) -> None:
    model.partial_fit(OTHER_DAY.values[:350])
    motif = model.stream_.reader.motifs.add_unit(3)  # as a promotion does
    model.stream_.reader.motifs.add_unit(9)
    assert own_motifs(model)[9] == motif + 1
    known = known_ids(model)
    units = (*known.ids["unit"], 3, 9)
    model.edits_ = model.edits_.merged(["unit:3", "unit:9"], known=known._replace(ids={**known.ids, "unit": units}))
    assert model.edits_.kept("motif", motif + 1) == motif


def test_edits_are_saved_loaded_and_replaced(model: Rondo, tmp_path: Path) -> None:
    model.save(tmp_path / "m")
    assert not (tmp_path / "m" / "edits.json").exists()
    before = fingerprint(tmp_path / "m")
    model.name("unit:1", "reach é").merge("motif:0", "motif:2").save(tmp_path / "m")
    assert fingerprint(tmp_path / "m") == before  # the model is the same, so a stream of it goes on
    again = Rondo.load(tmp_path / "m")
    assert again.edits_ == model.edits_
    npt.assert_array_equal(again.predict(OTHER_DAY).motifs, model.predict(OTHER_DAY).motifs)
    again.save(tmp_path / "again")
    assert [(p.name, p.read_bytes()) for p in sorted((tmp_path / "again").iterdir())] == [
        (p.name, p.read_bytes()) for p in sorted((tmp_path / "m").iterdir())
    ]
    Rondo.load(tmp_path / "m").fit(DAY).save(tmp_path / "m")  # a new fit has new entries
    assert not (tmp_path / "m" / "edits.json").exists()


def test_motifs_that_were_learned_anew_have_no_names_and_units_keep_theirs(model: Rondo) -> None:
    model.name("unit:1", "reach").name("motif:1", "pick up").merge("unit:0", "unit:2").fit_motifs(OTHER_DAY)
    assert (model.edits_.names("unit"), model.edits_.names("motif")) == ({1: "reach"}, {})
    assert model.edits_.absorbed("unit", 0) == (2,)
    assert model.edits_.absorbed("motif", 0) == (2,)  # units again, each its own motif


def test_a_stream_goes_on_as_it_would_and_its_labels_follow(model: Rondo, tmp_path: Path) -> None:
    plain, half = copy.copy(model), 350
    expected = [plain.partial_fit(OTHER_DAY.values[:half]), plain.partial_fit(OTHER_DAY.values[half:])]
    first = model.partial_fit(OTHER_DAY.values[:half])
    assert first == expected[0]
    model.name("unit:1", "reach").merge("unit:0", "unit:2").save(tmp_path / "m")
    model = Rondo.load(tmp_path / "m")  # in the middle of its stream
    second = model.partial_fit(OTHER_DAY.values[half:])
    assert second.events == expected[1].events
    assert {2} <= {own.unit for own in expected[1].decisions}
    assert [
        own._replace(unit=0, motif=0) if own.unit == 2 else own for own in expected[1].decisions
    ] == second.decisions
    assert model.edits_.name("unit", 1) == "reach"
    for own, other in zip(model.stream_.state()[0].values(), plain.stream_.state()[0].values(), strict=True):
        npt.assert_array_equal(own, other)  # the learner has not noticed
    npt.assert_array_equal(relabel(model, OTHER_DAY).units, kept_ids({2: 0}, relabel(plain, OTHER_DAY).units))


def test_a_session_knows_the_edits_of_the_model_and_its_own_but_none_of_another_stream(
    model: Rondo, tmp_path: Path
) -> None:
    model.edits_ = Edits().named("unit:1", "reach").named("unit:50", "limp")  # which a stream of the model has learned
    assert edits_with(model, tmp_path).names("unit") == {1: "reach"}
    write_edits(tmp_path, Edits().named("unit:50", "stumble").merged(["unit:0", "unit:1"]))
    both = edits_with(model, tmp_path)
    assert both.names("unit") == {0: "reach", 1: "reach", 50: "stumble"}
