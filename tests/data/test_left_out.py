"""Channels that are silent for more than a quarter of the rows: left out, named, and not asked for again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.config.settings import PreprocessConfig
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor, surveys_of
from rondo.data.survey import without
from rondo.model.fit import plan_fit
from rondo.model.folder import config_of
from rondo.model.rondo import Rondo
from tests.cli.running import waves

RATE, NAMES = 50.0, ("a", "b", "c", "d")
QUICK = {"windows.length": 40, "windows.step": 20, "evidence.surrogates": 0}


def recording(*holes: tuple[int, int, list[int]], n_frames: int = 1_600, seed: int = 0) -> Recording:
    values = waves(n_frames, 4, seed=seed).astype(np.float32)
    for start, stop, channels in holes:
        values[start:stop, channels] = np.nan
    return Recording(values, RATE, NAMES, f"r{seed}")


def left_out(*recordings: Recording, config: PreprocessConfig | None = None) -> tuple[str, ...]:
    return surveys_of(recordings, config or PreprocessConfig())[0].left_out


def units_of(model: Rondo, given: Recording) -> NDArray[np.int32]:
    return model.predict(given)[0].units


@pytest.mark.parametrize(("n_silent", "expected"), [(400, ()), (401, ("b",))])
def test_more_than_a_quarter_of_the_rows(n_silent: int, expected: tuple[str, ...]) -> None:
    assert left_out(recording((100, 100 + n_silent, [1]))) == expected


def test_rows_count_over_all_recordings_that_have_the_channel() -> None:
    holed = recording((0, 600, [1]))
    assert left_out(holed) == ("b",)
    assert left_out(holed, recording(seed=1)) == ()
    assert left_out(holed, recording((0, 1_600, [1]), seed=1)) == ("b",)  # it has none of it
    assert left_out(recording((0, 1_600, [1])), recording(seed=1)) == ()  # predicted from what the other tells
    assert left_out(recording((0, 1_600, [1])), recording((0, 1_600, [1]), seed=1)) == ("b",)


def test_channels_that_are_named_are_kept_and_one_always_is() -> None:
    holed = recording((0, 800, [0, 1]), (800, 1_600, [2, 3]))
    assert left_out(holed) == ()
    most = recording((0, 800, [0, 1, 2]))
    assert left_out(most) == ("a", "b", "c")
    assert left_out(most, config=PreprocessConfig(channels=NAMES)) == ()
    assert left_out(recording((0, 800, [1])), config=PreprocessConfig(dropouts="cut")) == ()


def test_it_is_as_if_the_other_channels_had_been_named(tmp_path: Path) -> None:
    holed = recording((0, 800, [0, 2]))
    model = Rondo(settings=QUICK)
    found = model.fit_predict(holed)[0]
    by_hand = Rondo(settings=QUICK | {"preprocess.channels": ("b", "d")})
    npt.assert_array_equal(found.units, by_hand.fit_predict(holed)[0].units)
    assert model.config_ == by_hand.config_
    says = (
        "2 channels left out, silent for more than a quarter of the rows that were learned from: 'a', 'c'; "
        "to keep them, name all channels to use (preprocess.channels)"
    )
    assert says in found.notes
    model.save(tmp_path / "model")
    stored = Rondo.load(tmp_path / "model")
    whole = recording(seed=3)
    assert says in stored.predict(whole)[0].notes
    npt.assert_array_equal(units_of(stored, whole), units_of(by_hand, whole))
    without_them = Recording(whole.values[:, [1, 3]], RATE, ("b", "d"), "r3")
    assert not stored.predict(without_them)[0].notes
    npt.assert_array_equal(units_of(stored, without_them), units_of(by_hand, whole))


def test_a_channel_without_any_value_is_left_out_of_a_lone_recording() -> None:
    silent = recording((0, 1_600, [1]))
    found = Rondo(settings=QUICK).fit_predict(silent)
    assert any("1 channel left out" in note and "'b'" in note for note in found[0].notes)
    sound = Recording(silent.values[:, [0, 2, 3]], RATE, ("a", "c", "d"), silent.id)
    npt.assert_array_equal(found.units, Rondo(settings=QUICK).fit_predict(sound).units)


def test_columns_without_names_are_labelled_too() -> None:
    holed = Recording(recording((0, 800, [0, 2])).values, RATE)
    model = Rondo(settings=QUICK).fit(holed)
    assert len(model.preprocessor_.channels) == 2
    assert units_of(model, Recording(recording(seed=3).values, RATE)).size == 1_600


def test_a_stream_has_the_channels_that_are_left() -> None:
    model = Rondo(settings=QUICK).fit(recording((0, 800, [0, 2])))
    rows = recording(seed=3).values[:, [1, 3]]
    assert sum(len(part.segments) for part in model.stream([rows])) > 0


def test_poor_rows_are_labelled_and_not_learned_from() -> None:
    """What the two channels say there is of no matter to the model, but to the labels."""
    config = config_of(Rondo(settings=QUICK))
    holed = recording((800, 1_000, [0, 2]))
    channels, surveys = surveys_of([holed], config.preprocess)
    plan = plan_fit(channels, surveys, config, {}.__getitem__)
    assert plan.stretches == (((0, 800), (1_000, 1_600)),)
    assert plan.n_learned_from == plan.n_sound == 1_400
    model = Rondo(settings=QUICK)
    assert (model.fit_predict(holed)[0].units[800:1_000] >= 0).all()
    assert "sample" not in model.provenance_


def test_where_little_would_be_left_all_is_learned_from() -> None:
    config = config_of(Rondo(settings=QUICK))
    holes = [(start, start + 40, [c, (c + 1) % 4]) for c, start in zip([0, 2] * 10, range(0, 1_600, 80), strict=True)]
    holed = recording(*holes)
    channels, surveys = surveys_of([holed], config.preprocess)
    assert channels.left_out == () and len(surveys[0].sound) == 20
    plan = plan_fit(channels, surveys, config, {}.__getitem__)
    assert plan.stretches == (((0, 1_600),),)


def test_what_is_taken_out_of_spans() -> None:
    assert without([(0, 10)], []) == ((0, 10),)
    assert without([(0, 10), (10, 20)], [(0, 10)]) == ((10, 20),)
    assert without([(0, 10)], [(0, 3), (9, 12)]) == ((3, 9),)


def test_relations_are_those_of_the_channels_that_are_left() -> None:
    holed = recording((0, 800, [0, 2]), (1_000, 1_200, [1]))
    fitted = Preprocessor.fit([holed], PreprocessConfig())
    assert fitted.relations is not None and fitted.relations.mean.size == 2
    assert np.isfinite(fitted.apply(holed).values).all()
