"""Surveys say what a fit needs: moments, scales, channels that are left out, and a fair sample of what is too much."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.config.settings import PreprocessConfig, resolve
from rondo.data.moments import ChannelMoments
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor, surveys_of
from rondo.data.signal import Signal
from rondo.data.survey import Survey, copies_in, fair_sample, most_frames, n_taken, stretch_frames, taken, without
from rondo.data.window_lengths import choose_scales
from rondo.data.windows import Span
from rondo.model.fit import plan_fit
from rondo.model.folder import config_of
from rondo.model.rondo import Rondo
from tests.cli.running import waves


def recordings(n: int = 3, rate: float | None = 50.0) -> list[Recording]:
    found = []
    for i in range(n):
        values = waves(800 + 300 * i, 4, seed=i) * (i + 1) + 5 * i
        values[100:180] = np.nan
        found.append(Recording(values, rate, id=f"r{i}"))
    return found


def _from(recordings: Sequence[Recording]) -> Callable[[Preprocessor, str], Signal]:
    """What prepares the one of these recordings that has an id."""
    by_id = {own.id: own for own in recordings}
    return lambda preprocessor, id: preprocessor.apply(by_id[id])


def test_a_copy_is_found_under_any_name_and_in_any_order_and_is_not_learned_from() -> None:
    one, two = recordings(2)
    almost = one.values.copy()
    almost[7, 1] += 1e-3
    every = [one, two, one.renamed("copy"), one.with_values(almost).renamed("almost"), two.renamed("zz")]
    config = config_of(Rondo(window=40, step=20))
    for chosen in (every, every[::-1]):
        channels, surveys = surveys_of(chosen, config.preprocess)
        assert copies_in(surveys) == {"r0": "copy", "zz": "r1"}
        plan = plan_fit(channels, surveys, config, _from(chosen))
        learned = {survey.id for survey, stretches in zip(surveys, plan.stretches, strict=True) if stretches}
        assert learned == {"copy", "almost", "r1"}


@given(st.lists(st.integers(1, 40), min_size=1, max_size=5), st.sampled_from([0.0, 1e6]), st.booleans())
def test_joined_moments_are_those_of_all_frames(lengths: list[int], offset: float, products: bool) -> None:
    rng = np.random.default_rng(len(lengths))
    parts = [(rng.normal(size=(n, 3)) + offset).astype(np.float32) for n in lengths]
    signals = [Signal("s", own, None, ("x", "y", "z"), ((0, len(own)),), len(own)) for own in parts]
    joined = ChannelMoments.joined((ChannelMoments.of(own, products=products) for own in signals), 3, products=products)
    whole = np.concatenate(parts).astype(np.float64)
    centred = whole - whole.mean(axis=0)
    assert joined.count == len(whole)
    npt.assert_allclose(joined.mean, whole.mean(axis=0), rtol=1e-12)
    npt.assert_allclose(joined.scatter, centred.T @ centred if products else (centred**2).sum(axis=0), atol=1e-6)
    npt.assert_allclose(joined.squares, (centred**2).sum(axis=0), atol=1e-6)


def test_a_survey_comes_back_from_json_to_the_last_digit() -> None:
    for survey in surveys_of(recordings(), PreprocessConfig(pca_components=2))[1]:
        back = Survey.from_json(json.loads(json.dumps(survey.as_json())))
        apart = {"moments": None, "deviations": None, "relations": None}
        assert vars(back) | apart == vars(survey) | apart
        assert survey.relations is not None and back.relations is not None
        npt.assert_array_equal(back.relations.correlations, survey.relations.correlations)
        npt.assert_array_equal(back.moments.mean, survey.moments.mean)
        npt.assert_array_equal(back.moments.scatter, survey.moments.scatter)


@pytest.mark.parametrize("rate", [50.0, 4.0, None])
def test_scales_from_surveys_are_those_of_the_signals(rate: float | None) -> None:
    given_ = recordings(rate=rate)
    config = resolve()
    channels, surveys = surveys_of(given_, config.preprocess)
    asked: list[str] = []

    def prepared(preprocessor: Preprocessor, id: str) -> Signal:
        asked.append(id)
        return _from(given_)(preprocessor, id)

    plan = plan_fit(channels, surveys, config, prepared)
    fitted = Preprocessor.fit(given_, config.preprocess)
    assert plan.scales == choose_scales([fitted.apply(own) for own in given_], config)
    assert set(asked) == {"r2"}  # only the longest is read again, and only for its period
    assert plan.stretches == tuple(survey.spans for survey in surveys)


def test_part_of_a_signal_is_scaled_by_the_moments_of_the_whole() -> None:
    (recording,) = recordings(1)
    config = PreprocessConfig()
    channels, (survey,) = surveys_of([recording], config)
    fitted = Preprocessor.of_surveys(channels, [survey], config)
    whole = fitted.apply(recording)
    raw = Preprocessor.fit([recording], config.model_copy(update={"scaling": "none"})).apply(recording)
    part = Signal("r0", raw.values[200:300], 50.0, channels.names, ((0, 100),), 100)
    npt.assert_array_equal(fitted.seen(part, survey.moments).values, whole.values[200:300])


# ---------------------------------------------------------------- a fair sample


@st.composite
def spans_of_several(draw: st.DrawFn) -> list[list[Span]]:
    """Recordings of a few spans each, with gaps between some of them; one may have none at all."""
    found = []
    for _ in range(draw(st.integers(1, 6))):
        at, own = 0, []
        for _ in range(draw(st.integers(0, 4))):
            at += draw(st.integers(0, 5))
            length = draw(st.integers(1, 60))
            own.append((at, at + length))
            at += length
        found.append(own)
    return found


def frames_in(stretches: list[tuple[Span, ...]]) -> list[tuple[int, int]]:
    """Recording and frame of everything that was taken."""
    return [(i, f) for i, own in enumerate(stretches) for start, stop in own for f in range(start, stop)]


@given(spans_of_several(), st.integers(1, 40), st.integers(1, 200), st.integers(0, 2**32))
def test_the_budget_is_kept_and_only_usable_frames_are_taken_once(
    spans: list[list[Span]], stretch: int, most: int, seed: int
) -> None:
    stretch = min(stretch, most)
    found = fair_sample(spans, stretch, most, np.random.default_rng(seed))
    chosen, usable = frames_in(found), frames_in([tuple(own) for own in spans])
    assert len(chosen) == len(set(chosen)) <= max(most, 0)
    assert set(chosen) <= set(usable)
    if len(usable) <= most:
        assert found == [tuple(own) for own in spans]
    for own, whole in zip(found, spans, strict=True):  # a stretch never reaches over the end of a span
        assert all(any(a <= start and stop <= b for a, b in whole) for start, stop in own)


@settings(max_examples=15)
@given(spans_of_several(), st.integers(1, 20))
def test_every_frame_has_the_same_chance(spans: list[list[Span]], stretch: int) -> None:
    usable = frames_in([tuple(own) for own in spans])
    most = max(stretch, len(usable) // 3)
    if len(usable) <= most:
        return
    n_draws, rng = 600, np.random.default_rng(0)
    counts = dict.fromkeys(usable, 0)
    for _ in range(n_draws):
        for frame in frames_in(fair_sample(spans, stretch, most, rng)):
            counts[frame] += 1
    n_pieces = -(-len(usable) // stretch)
    chance = 1 / -(-n_pieces // (most // stretch))
    deviation = np.sqrt(chance * (1 - chance) / n_draws)
    npt.assert_allclose(np.array([*counts.values()]) / n_draws, chance, atol=6 * deviation + 1e-9)


def test_recordings_of_one_length_are_met_at_different_places() -> None:
    """Every k-th piece from one start would meet each of them at its beginning, or never."""
    found = fair_sample([[(0, 1000)]] * 40, 100, 4_000, np.random.default_rng(0))
    places = {start for own in found for start, _ in own}
    assert len(places) > 5
    assert sum(map(bool, found)) > 25


def test_pieces_that_follow_each_other_are_one_stretch_and_spans_stay_apart() -> None:
    both = fair_sample([[(0, 30)], [(0, 15), (15, 30)]], 10, 59, np.random.default_rng(1))
    assert frames_in(both)
    for own in both:
        assert all(first[1] < second[0] or first[1] in (0, 15) for first, second in pairwise(own))


def test_what_is_taken_is_the_very_signal_where_all_of_it_is() -> None:
    values = np.arange(20, dtype=np.float32)[:, None]
    signal = Signal("a", values, None, ("x",), ((0, 5), (8, 20)), 20)
    assert taken(signal, signal.spans) is signal
    part = taken(signal, [(1, 3), (10, 14)])
    assert part.values[:, 0].tolist() == [1, 2, 10, 11, 12, 13]
    assert part.spans == ((0, 2), (2, 6))
    assert n_taken(20, signal.spans, signal.spans) == 20
    assert n_taken(20, signal.spans, [(1, 3), (10, 14)]) == part.n_frames
    assert taken(signal, []).n_frames == 0


@pytest.mark.parametrize(("n_dims", "step", "most"), [(9, 18, 2_359_296), (9, 100, 3_728_270), (3, 1, 131_072)])
def test_values_and_windows_are_both_bounded(n_dims: int, step: int, most: int) -> None:
    assert most_frames(n_dims, step) == most
    assert 1 <= stretch_frames(300, most) <= most


# ---------------------------------------------------------------- channels that are silent for too long


RATE, NAMES = 50.0, ("a", "b", "c", "d")
QUICK = {"windows.length": 40, "windows.step": 20, "evidence.surrogates": 0}


def holed_recording(*holes: tuple[int, int, list[int]], n_frames: int = 1_600, seed: int = 0) -> Recording:
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
    assert left_out(holed_recording((100, 100 + n_silent, [1]))) == expected


def test_rows_count_over_all_recordings_that_have_the_channel() -> None:
    holed = holed_recording((0, 600, [1]))
    assert left_out(holed) == ("b",)
    assert left_out(holed, holed_recording(seed=1)) == ()
    assert left_out(holed, holed_recording((0, 1_600, [1]), seed=1)) == ("b",)  # it has none of it
    silent = holed_recording((0, 1_600, [1]))
    assert left_out(silent, holed_recording(seed=1)) == ()  # predicted from what the other tells
    assert left_out(silent, holed_recording((0, 1_600, [1]), seed=1)) == ("b",)


def test_channels_that_are_named_are_kept_and_one_always_is() -> None:
    holed = holed_recording((0, 800, [0, 1]), (800, 1_600, [2, 3]))
    assert left_out(holed) == ()
    most = holed_recording((0, 800, [0, 1, 2]))
    assert left_out(most) == ("a", "b", "c")
    assert left_out(most, config=PreprocessConfig(channels=NAMES)) == ()
    assert left_out(holed_recording((0, 800, [1])), config=PreprocessConfig(dropouts="cut")) == ()


def test_it_is_as_if_the_other_channels_had_been_named(tmp_path: Path) -> None:
    holed = holed_recording((0, 800, [0, 2]))
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
    whole = holed_recording(seed=3)
    assert says in stored.predict(whole)[0].notes
    npt.assert_array_equal(units_of(stored, whole), units_of(by_hand, whole))
    without_them = Recording(whole.values[:, [1, 3]], RATE, ("b", "d"), "r3")
    assert not stored.predict(without_them)[0].notes
    npt.assert_array_equal(units_of(stored, without_them), units_of(by_hand, whole))


def test_a_channel_without_any_value_is_left_out_of_a_lone_recording() -> None:
    silent = holed_recording((0, 1_600, [1]))
    found = Rondo(settings=QUICK).fit_predict(silent)
    assert any("1 channel left out" in note and "'b'" in note for note in found[0].notes)
    sound = Recording(silent.values[:, [0, 2, 3]], RATE, ("a", "c", "d"), silent.id)
    npt.assert_array_equal(found.units, Rondo(settings=QUICK).fit_predict(sound).units)


def test_a_stream_has_the_channels_that_are_left() -> None:
    model = Rondo(settings=QUICK).fit(holed_recording((0, 800, [0, 2])))
    rows = holed_recording(seed=3).values[:, [1, 3]]
    assert sum(len(part.segments) for part in model.stream([rows])) > 0


def test_poor_rows_are_labelled_and_not_learned_from() -> None:
    """What the two channels say there is of no matter to the model, but to the labels."""
    config = config_of(Rondo(settings=QUICK))
    holed = holed_recording((800, 1_000, [0, 2]))
    channels, surveys = surveys_of([holed], config.preprocess)
    plan = plan_fit(channels, surveys, config, _from([holed]))
    assert plan.stretches == (((0, 800), (1_000, 1_600)),)
    assert plan.n_learned_from == plan.n_sound == 1_400
    model = Rondo(settings=QUICK)
    assert (model.fit_predict(holed)[0].units[800:1_000] >= 0).all()
    assert "sample" not in model.provenance_


def test_where_little_would_be_left_all_is_learned_from() -> None:
    config = config_of(Rondo(settings=QUICK))
    holes = [(start, start + 40, [c, (c + 1) % 4]) for c, start in zip([0, 2] * 10, range(0, 1_600, 80), strict=True)]
    holed = holed_recording(*holes)
    channels, surveys = surveys_of([holed], config.preprocess)
    assert channels.left_out == () and len(surveys[0].sound) == 20
    plan = plan_fit(channels, surveys, config, _from([holed]))
    assert plan.stretches == (((0, 1_600),),)


def test_what_is_taken_out_of_spans() -> None:
    assert without([(0, 10)], []) == ((0, 10),)
    assert without([(0, 10), (10, 20)], [(0, 10)]) == ((10, 20),)
    assert without([(0, 10)], [(0, 3), (9, 12)]) == ((3, 9),)
