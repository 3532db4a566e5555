"""OTHER where nothing fits: one rule for fit, label and frozen stream."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import plant
from rondo.units.viterbi import FARTHEST, STRANGEST

QUICK = {"evidence.surrogates": 0}
BURST = slice(3_000, 4_000)  # 20 s
INSIDE = slice(3_075, 3_925)  # windows beyond hold something else too


@pytest.fixture(scope="module")
def clean() -> Recording:
    return plant(n_frames=9_000, seed=1).recording


@pytest.fixture(scope="module")
def burst(clean: Recording) -> Recording:
    """The same with 20 s of violent movement, ten times as large as the rest."""
    values = clean.values.copy()
    noise = np.random.default_rng(0).standard_normal((1_000, values.shape[1]))
    values[BURST] = values.mean(axis=0) + 10 * values.std(axis=0) * noise
    return Recording(values, clean.rate, clean.channels)


@pytest.fixture(scope="module")
def model(clean: Recording) -> Rondo:
    return Rondo(window=75, settings=QUICK).fit(clean)


def streamed(model: Rondo, values: NDArray[np.float32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    stream, units, motifs = model.stream(frozen=True), *(np.full(len(values), OTHER, np.int32) for _ in range(2))
    for own in stream.feed(values).decisions + stream.finish().decisions:
        units[own.start_frame : own.stop_frame], motifs[own.start_frame : own.stop_frame] = own.unit, own.motif
    return units, motifs


def test_a_violent_burst_is_other_when_labelled(model: Rondo, clean: Recording, burst: Recording) -> None:
    found = model.predict(burst)[0]
    assert (found.units[INSIDE] == OTHER).all()
    assert (found.motifs[found.units == OTHER] == OTHER).all()
    assert (found.unit_scores[INSIDE] == 0).all()
    assert (model.predict(clean)[0].units != OTHER).all()


def test_a_frozen_stream_says_the_same(model: Rondo, burst: Recording) -> None:
    units, motifs = streamed(model, burst.values)
    expected = model.predict(burst)[0].units
    assert (units[INSIDE] == OTHER).all() and (motifs[INSIDE] == OTHER).all()
    assert np.mean((units == OTHER) == (expected == OTHER)) > 0.99


def test_where_it_is_fitted_the_burst_is_never_called_anything_else(burst: Recording) -> None:
    units = Rondo(window=75, settings=QUICK).fit_predict(burst)[0].units
    elsewhere = np.delete(units, np.arange(BURST.start - 75, BURST.stop + 75))
    assert not set(units[INSIDE].tolist()) & set(elsewhere.tolist()) - {OTHER}


def test_windows_far_from_their_unit_are_other_in_the_fit(burst: Recording) -> None:
    """With one unit for everything the burst is rest, by far the worst of it."""
    settings = QUICK | {"units.mixture.component_cap": 1}
    model = Rondo(window=75, settings=settings)
    found = model.fit_predict(Recording(np.tile(burst.values, (4, 1))[: 4 * 9_000], burst.rate))[0]
    timeline = model.unit_model_.timeline(model._windows_of(Recording(burst.values, burst.rate))[1])
    assert set(found.units.tolist()) <= {0, OTHER}
    assert (timeline.labels == OTHER).sum() == (
        (timeline.distances > FARTHEST) | (timeline.strangeness > STRANGEST)
    ).sum()
