"""Units moved to other recordings: the rule itself against a slow twin, and what must not change."""

from __future__ import annotations

from copy import copy
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from scipy.linalg import expm

from rondo.data.recording import Recording
from rondo.data.windows import Windows
from rondo.errors import RecordingError
from rondo.metrics.scores import evaluate
from rondo.model.rondo import Rondo
from rondo.model.transfer import distances_moved, moved_to
from rondo.synthetic.streams import PlantedStream, plant
from rondo.units.model import UnitModel
from rondo.units.viterbi import decode

QUICK = {"evidence.surrogates": 0}


@pytest.fixture(scope="module")
def stream() -> PlantedStream:
    return plant(n_frames=24_000, seed=0)


@pytest.fixture(scope="module")
def model(stream: PlantedStream) -> Rondo:
    return Rondo(window="1.5s", settings=QUICK).fit(first_half(stream))


def first_half(stream: PlantedStream) -> Recording:
    return Recording(stream.recording.values[:12_000], stream.recording.rate)


def turned(stream: PlantedStream, angle: float) -> Recording:
    """The second half, as a sensor that sits askew would have it."""
    values = stream.recording.values[12_000:]
    skew = np.random.default_rng(5).normal(size=(values.shape[1],) * 2)
    skew = (skew - skew.T) / 2
    return Recording(values @ expm(angle * skew / np.linalg.norm(skew, 2)), stream.recording.rate)


def windows_of(model: Rondo, *recordings: Recording) -> list[Windows]:
    return [model._windows_of(recording)[1] for recording in recordings]


def one_step_naively(model: UnitModel, windows: Windows, ids: list[int]) -> dict[int, np.ndarray]:
    """Where each unit goes, window by window: 3 window lengths at its fitted centre, and what reads as it."""
    latents = model.projection.apply(model.encoder.encode(windows))
    weight = windows.grid.step_frames / windows.grid.length_frames
    centres = {}
    for unit, centre in zip(model.vocabulary.ids, model.vocabulary.centres, strict=True):
        total, summed = 3.0, 3.0 * centre
        for latent, id in zip(latents, ids, strict=True):
            if id == unit:
                total, summed = total + weight, summed + weight * latent
        centres[unit] = summed / total
    return centres


def test_a_moved_unit_is_the_mean_of_its_past_and_of_what_reads_as_it(model: Rondo, stream: PlantedStream) -> None:
    (windows,) = windows_of(model, turned(stream, 0.3))
    moved = moved_to(model.unit_model_, [windows])
    ids = decode(
        moved.projection.apply(moved.encoder.encode(windows)),
        windows.grid.window_spans,
        moved.vocabulary,
        moved.penalty,
    ).ids
    expected = one_step_naively(model.unit_model_, windows, ids.tolist())  # it has settled: one step more is no step
    npt.assert_allclose(moved.vocabulary.centres, [expected[id] for id in moved.vocabulary.ids], atol=1e-9)


def test_moving_helps_where_the_sensor_sits_askew(model: Rondo, stream: PlantedStream) -> None:
    other, truth = turned(stream, 1.0), stream.unit_truth[12_000:]
    labels = [model.predict(other).units, copy(model).adapt(other).predict(other).units]
    as_fitted, moved = (evaluate({"x": (truth, each)}).as_dict()["ari"] for each in labels)
    assert moved > as_fitted + 1


def test_ids_radii_and_support_stay(model: Rondo, stream: PlantedStream) -> None:
    before = model.unit_model_
    after = moved_to(before, windows_of(model, turned(stream, 0.5)))
    assert after.ids == before.ids
    for name, tensor in before.vocabulary.tensors().items():
        if name not in {"centres", "prototypes"}:
            npt.assert_array_equal(after.vocabulary.tensors()[name], tensor, err_msg=name)
    for part in ("encoder", "projection", "exemplars", "tree"):
        assert getattr(after, part) is getattr(before, part)


def test_a_unit_that_does_not_occur_stays_where_it_is(model: Rondo, stream: PlantedStream) -> None:
    alike = Recording(np.tile(stream.recording.values[600:900], (8, 1)), stream.recording.rate)
    windows = windows_of(model, alike)
    moved = distances_moved(model.unit_model_, after := moved_to(model.unit_model_, windows))
    seen = set(after.timeline(windows[0]).ids.tolist())
    assert seen < set(moved)
    assert {id for id, radii in moved.items() if radii == 0} == set(moved) - seen


# ---------------------------------------------------------------- through the door


def test_adapt_keeps_motifs_and_names_and_says_where_units_went(stream: PlantedStream, tmp_path: Path) -> None:
    model = Rondo(window="1.5s", settings=QUICK).fit(first_half(stream))
    model.name(f"unit:{model.unit_model_.ids[0]}", "reach")
    motifs, ids = model.motif_model_, model.unit_model_.ids
    other = turned(stream, 0.3).renamed("askew")
    model.adapt(other)
    assert model.motif_model_ is motifs
    assert model.unit_model_.ids == ids
    assert [recording["id"] for recording in model.provenance_["units_adapted_to"]] == ["askew"]
    assert set(model.provenance_["units_moved_by_radii"]) == {str(id) for id in ids}
    assert model.edits_.names("unit")[ids[0]] == "reach"
    model.save(tmp_path / "model")
    loaded = Rondo.load(tmp_path / "model")
    for level in ("units", "motifs"):
        npt.assert_array_equal(getattr(loaded.predict(other), level), getattr(model.predict(other), level))


def test_adapting_tests_the_evidence_in_what_was_adapted_to(stream: PlantedStream) -> None:
    model = Rondo(window="1.5s", settings={"evidence.surrogates": 19}).fit(first_half(stream))
    before = model.evidence_
    model.adapt(turned(stream, 0.3))
    assert model.evidence_ is not before
    assert model.evidence_.recurs


def test_nothing_changes_when_adapting_fails(model: Rondo, stream: PlantedStream) -> None:
    units, provenance = model.unit_model_, model.provenance_
    with pytest.raises(RecordingError, match="long enough"):
        model.adapt(Recording(stream.recording.values[:20], 50))
    assert model.unit_model_ is units
    assert model.provenance_ is provenance
