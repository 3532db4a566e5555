"""A frozen stream: the labels of `predict`, some windows later, and nothing learned."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.continual import frames
from rondo.continual.reading import Decision
from rondo.continual.stream import Stream
from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.errors import ModelError
from rondo.files.read import read_recording
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import PlantedStream, plant

QUICK: dict[str, Any] = {"evidence.surrogates": 0}
LENGTH, STEP = 75, 18
N_FRAMES = LENGTH + STEP * 650  # the last window ends with the recording


@pytest.fixture(scope="module")
def planted() -> PlantedStream:
    return plant(n_frames=N_FRAMES, seed=2)


@pytest.fixture(scope="module")
def model(planted: PlantedStream) -> Rondo:
    return Rondo(window=LENGTH, step=STEP, motif_window=294, settings=QUICK).fit(planted.recording)


def fed(stream: Stream, values: NDArray[np.float32], cuts: list[int]) -> list[Decision]:
    reports = [stream.feed(values[start:stop]) for start, stop in pairwise([0, *sorted(cuts), len(values)])]
    reports.append(stream.finish())
    assert all(event.level == "input" for report in reports for event in report.events)
    return [decision for report in reports for decision in report.decisions]


def tracks(decisions: list[Decision], n_frames: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Unit and motif of each frame."""
    units, motifs = (np.full(n_frames, OTHER, np.int32) for _ in range(2))
    for own in decisions:
        assert own.stop_frame > own.start_frame
        units[own.start_frame : own.stop_frame], motifs[own.start_frame : own.stop_frame] = own.unit, own.motif
    return units, motifs


def waiting(model: Rondo, lag: int) -> Rondo:
    """The same model with another look-ahead."""
    own = Rondo()
    vars(own).update(vars(model))
    continual = model.config_.continual.model_copy(update={"lag": lag})
    own.config_ = model.config_.model_copy(update={"continual": continual})
    return own


def by_model(model: Rondo) -> Rondo:
    """The same model, without a choice of statistics: the reader by itself."""
    own = Rondo()
    vars(own).update(vars(model) | {"preprocessor_": replace(model.preprocessor_, typical=None)})
    return own


def test_it_labels_as_predict_does(model: Rondo, planted: PlantedStream) -> None:
    expected = model.predict(planted.recording)
    units, motifs = tracks(fed(model.stream(frozen=True), planted.recording.values, [5_000]), N_FRAMES)
    assert np.mean(units == expected.units) > 0.99
    assert model.motif_model_.composed and np.mean(motifs == expected.motifs) > 0.99
    learning, _ = tracks(fed_learning(model, planted), N_FRAMES)
    assert np.mean(units == expected.units) > np.mean(learning == expected.units)


def fed_learning(model: Rondo, planted: PlantedStream) -> list[Decision]:
    stream = model.stream()
    return stream.feed(planted.recording.values).decisions + stream.finish().decisions


def test_with_an_endless_look_ahead_it_is_predict(
    model: Rondo, planted: PlantedStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "_REACH_LENGTHS", 1_000)
    decisions = fed(waiting(by_model(model), 10_000).stream(frozen=True), planted.recording.values, [])
    expected = by_model(model).predict(planted.recording)[0]
    units, _ = tracks(decisions, N_FRAMES)
    npt.assert_array_equal(units, expected.units)
    scores = np.repeat([own.unit_score for own in decisions], [own.stop_frame - own.start_frame for own in decisions])
    npt.assert_allclose(scores, expected.unit_scores, rtol=1e-3)


def test_every_stretch_is_labelled_by_itself(model: Rondo, planted: PlantedStream) -> None:
    values = planted.recording.values[:3_000].copy()
    values[1_000:1_200] = np.nan
    units, _ = tracks(fed(model.stream(frozen=True), values, [777]), 3_000)
    assert (units[1_000:1_200] == OTHER).all()
    for part in (slice(0, 1_000), slice(1_200, 3_000)):
        alone, _ = tracks(fed(model.stream(frozen=True), values[part], []), part.stop - part.start)
        npt.assert_array_equal(units[part], alone)
        assert not (alone == OTHER).any()


def test_it_resumes_exactly_wherever_it_stops(model: Rondo, planted: PlantedStream) -> None:
    values = planted.recording.values[:4_000]
    expected = fed(model.stream(frozen=True), values, list(range(97, 4_000, 97)))
    stream, decisions, waits = model.stream(frozen=True), list[Decision](), set[str]()
    for start in range(0, 4_000, 97):
        decisions += stream.feed(values[start : start + 97]).decisions
        tensors, plain = stream.state()
        waits |= {name for name in ("spans", "read", "decided", "strange") if plain["reader"][name]}
        stream = Stream.restore(model.stream(frozen=True), tensors, json.loads(json.dumps(plain)))
    assert decisions + stream.finish().decisions == expected
    assert waits >= {"decided", "strange"} and waits & {"spans", "read"}


def test_it_learns_nothing_and_says_so(model: Rondo, planted: PlantedStream) -> None:
    stream = model.stream(frozen=True)
    strange = planted.recording.values[:4_000] + np.random.default_rng(0).normal(scale=5, size=(4_000, 6))
    decisions = fed(stream, strange.astype(np.float32), [])
    assert {own.unit for own in decisions} <= {OTHER, *model.unit_model_.ids}
    assert set(model.unit_model_.ids) == set(stream.reader.unit_ids)
    assert {own.motif for own in decisions} <= {OTHER, *model.motif_model_.ids}
    assert stream.n_buffered == 0 and stream.reader.motif_ids == tuple(model.motif_model_.ids)
    with pytest.raises(ModelError, match="frozen stream learns nothing"):
        stream.timelines(None)  # type: ignore[arg-type]


def test_slow_sensors_and_other_clocks_are_read(planted: PlantedStream) -> None:
    """What the preparation does to rows, it does to a frozen stream too: labels are those of `predict`."""
    values = planted.recording.values[:6_000].copy()
    values[np.arange(6_000) % 40 > 0, 0] = np.nan  # slower than the others
    times = np.delete(np.arange(6_000), np.arange(50, 6_000, 97)) / 50
    recording = Recording(np.delete(values, np.arange(50, 6_000, 97), axis=0), 50, timestamps_s=times)
    model = Rondo(window=LENGTH, step=STEP, settings=QUICK).fit(recording)
    stream = model.stream(frozen=True)
    decisions = stream.feed(recording.values, times).decisions + stream.finish().decisions
    expected = model.predict(recording)
    units, _ = tracks(decisions, 6_000)
    rows = np.delete(np.arange(6_000), np.arange(50, 6_000, 97))
    assert np.mean(units[rows] == expected.units) > 0.97


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["ActRecTut/subject1_walk", "OpenPack/U0102-S0500", "OpenPack/U0209-S0500", "MoCap/amc_86_01"]
)
def test_on_real_recordings_it_agrees_with_predict(data_dir: Path, name: str) -> None:
    recording = read_recording(data_dir / f"{name}.npz")
    fitted = Rondo(settings=QUICK).fit(recording)
    for model, least in ((by_model(fitted), 0.98), (fitted, 0.95)):  # its own statistics are those of the rows so far
        units, motifs = tracks(fed(model.stream(frozen=True), recording.values, []), recording.n_frames)
        expected = model.predict(recording)
        assert np.mean(units == expected.units) > least
        assert np.mean(motifs == expected.motifs) > least
