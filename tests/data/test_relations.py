"""Channels that are silent while others go on: predicted, alike in recordings and streams, and always named."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.config.settings import PreprocessConfig
from rondo.data.preparation import Preparation
from rondo.data.recording import Recording
from rondo.data.relations import ChannelFill, ChannelRelations
from rondo.data.scaling import Preprocessor
from rondo.data.signal import regularise

RATE, NAMES = 20.0, ("a", "b", "sum", "alone")
NAN = float("nan")


def related(n_rows: int = 4000, seed: int = 0) -> NDArray[np.float32]:
    """Two channels, their sum with a little noise, far from 0, and one that is related to nothing."""
    rng = np.random.default_rng(seed)
    a, b, alone = rng.normal(size=(3, n_rows))
    return np.stack([a, 5 * b, 100 + a + b + 0.05 * rng.normal(size=n_rows), 7 + alone], axis=1).astype(np.float32)


def silenced(values: NDArray[np.float32], channel: int, start: int, stop: int) -> NDArray[np.float32]:
    holed = values.copy()
    holed[start:stop, channel] = NAN
    return holed


def test_what_is_gone_is_what_the_others_say() -> None:
    values = related()
    fill, gone = ChannelFill(ChannelRelations.of(silenced(values, 2, 0, 1000))), np.zeros(values.shape, np.bool_)
    gone[:1000, 2] = True
    filled = np.where(gone, np.float32(0), values)
    fill.fill(filled, gone)
    npt.assert_array_equal(filled[~gone], values[~gone])
    error = filled[gone] - values[gone]
    assert error.std() < 0.2 * values[:, 2].std()
    gone = np.zeros(values.shape, np.bool_)
    gone[:, 3] = True
    filled = np.where(gone, np.float32(0), values)
    fill.fill(filled, gone)
    npt.assert_allclose(filled[:, 3], 7, atol=0.3)  # of no relation: about its mean


@pytest.mark.parametrize("n_rows", [3, 20])
def test_few_or_constant_rows_are_filled_with_finite_numbers(n_rows: int) -> None:
    values = np.ones((n_rows, 3), np.float32)
    gone = np.zeros(values.shape, np.bool_)
    gone[:, 1] = True
    ChannelFill(ChannelRelations.of(values)).fill(values, gone)
    assert np.isfinite(values).all()


def test_joined_relations_are_those_of_all_rows_together() -> None:
    one, other = related(3000, 1), related(3000, 2)
    joined = ChannelRelations.joined([ChannelRelations.of(one), ChannelRelations.of(other)], 4)
    whole = ChannelRelations.of(np.concatenate([one, other]))
    npt.assert_allclose(joined.mean, whole.mean, atol=1e-6)
    npt.assert_allclose(joined.scale, whole.scale, rtol=1e-3)
    npt.assert_allclose(joined.correlations, whole.correlations, atol=0.02)


def test_a_long_dropout_costs_no_row_and_is_named_with_its_length() -> None:
    values = related()
    holed = Recording(silenced(values, 2, 1000, 3600), RATE, NAMES)
    signal = regularise(holed, NAMES, PreprocessConfig())
    assert signal.spans == ((0, 4000),)
    assert any("'sum' for 2 min 10 s" in note and "preprocess.dropouts" in note for note in signal.notes)
    assert (signal.values[1000:3600, 2] - values[1000:3600, 2]).std() < 0.2 * values[:, 2].std()
    cut = regularise(holed, NAMES, PreprocessConfig(dropouts="cut"))
    assert cut.spans == ((0, 1000), (3600, 4000))


def test_rows_are_lost_only_where_no_channel_is_there_and_poor_where_a_third_is_gone() -> None:
    holed = silenced(silenced(related(), 2, 1000, 2000), 3, 1500, 3000)
    holed[3200:3400] = NAN
    signal = regularise(Recording(holed, RATE, NAMES), NAMES, PreprocessConfig())
    assert signal.spans == ((0, 3200), (3400, 4000))
    assert signal.poor == ((1500, 2000),)  # two of four; one of four before and after
    assert signal.n_filled == (0, 0, 1000, 1500)
    assert any(note.startswith("500 rows lack") for note in signal.notes)


def test_a_channel_without_any_value_makes_no_row_poor() -> None:
    """Nothing in such a recording differs from the rest of it."""
    holed = silenced(silenced(related(), 2, 0, 4000), 3, 1000, 1500)
    signal = regularise(Recording(holed[:, 1:], RATE, NAMES[1:]), NAMES[1:], PreprocessConfig())
    assert signal.silent == (1,)
    assert signal.poor == ((1000, 1500),)  # one of the two that are there
    assert regularise(Recording(holed, RATE, NAMES), NAMES, PreprocessConfig()).poor == ((1000, 1500),)


def test_poor_rows_are_poor_frames_where_rows_come_unevenly() -> None:
    rows = np.delete(np.arange(4000), np.arange(200, 4000, 7))
    holed = silenced(silenced(related(), 2, 1000, 2000), 3, 1000, 2000)[rows]
    recording = Recording(holed, RATE, NAMES, timestamps_s=rows / RATE)
    ((start, stop),) = regularise(recording, NAMES, PreprocessConfig()).poor
    assert abs(start - 1000) <= 1 and abs(stop - 2000) <= 1


@pytest.mark.parametrize("scaling", ["channel", "global"])
def test_a_channel_that_is_silent_throughout_is_predicted_where_other_recordings_have_it(scaling: Any) -> None:
    values, config = related(seed=3), PreprocessConfig(scaling=scaling)
    whole, silent = Recording(related(), RATE, NAMES, "whole"), silenced(values, 2, 0, 4000)
    fitted = Preprocessor.fit([whole], config)
    seen = fitted.apply(Recording(silent, RATE, NAMES, "silent"))
    expected = fitted.apply(Recording(values, RATE, NAMES, "silent"))
    assert any("in 'sum' throughout" in note for note in seen.notes)
    factor = 1 if scaling == "channel" else seen.values[0, 0] / expected.values[0, 0]  # one scale, of what is there
    error = seen.values - factor * expected.values
    assert error[:, 2].std() < 0.2 and abs(error[:, 2].mean()) < 0.1
    npt.assert_allclose(error[:, [0, 1, 3]], 0, atol=1e-6)
    both = Preprocessor.fit([whole, Recording(silent, RATE, NAMES, "silent")], config)
    npt.assert_allclose(both.mean[2], fitted.mean[2], rtol=1e-6)
    npt.assert_allclose(both.scale[2], fitted.scale[2], rtol=2e-3)


def test_a_channel_that_no_recording_has_says_nothing() -> None:
    silent = Recording(silenced(related(), 2, 0, 4000), RATE, NAMES, "silent")
    seen = Preprocessor.fit([silent], PreprocessConfig(channels=NAMES)).apply(silent)
    npt.assert_array_equal(seen.values[:, 2], 0)
    assert any("'sum' throughout" in note for note in seen.notes)


@pytest.mark.parametrize("n_at_once", [1, 7, 4000])
def test_a_stream_fills_as_a_recording_does_and_tells_when_a_channel_falls_silent(n_at_once: int) -> None:
    model = Preprocessor.fit([Recording(related(), RATE, NAMES)], PreprocessConfig())
    holed = silenced(related(400, 5), 2, 100, 300)
    stream = Preparation(model.row_plan(RATE))
    parts = [part for i in range(0, 400, n_at_once) for part in stream.push(holed[i : i + n_at_once])]
    parts += stream.finish()
    frames = np.concatenate([part.values for part in parts])
    expected, gone = holed.copy(), np.isnan(holed)
    expected[gone] = 0
    assert model.relations is not None
    ChannelFill(model.relations).fill(expected, gone)
    npt.assert_array_equal(frames.view(np.uint32), expected.view(np.uint32))
    assert [part.begins for part in parts].count(True) == 1
    told = [(event.frame, event.evidence["cause"], event.evidence["channels"]) for event in stream.take_events()]
    assert told == [(100, "no values", "'sum'"), (300, "values again", "'sum'")]
    assert stream.gaps.missing[2].tolist() == [0, 0, 200, 0]
