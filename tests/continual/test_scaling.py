"""A stream chooses its statistics as `label` does by the rows so far, and says whether the model fits."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.continual import scaling
from rondo.continual.journal import Event
from rondo.continual.novelty import PointSets
from rondo.continual.reading import Decision, Move
from rondo.continual.scaling import settled_mean, stretch_of
from rondo.continual.stream import Stream
from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import plant

QUICK: dict[str, Any] = {"evidence.surrogates": 0}
LENGTH, STEP, N_FRAMES = 75, 18, 9_000
GAINS = np.linspace(0.3, 4, 6)
Output = tuple[list[Decision], list[Event]]


@pytest.fixture(scope="module")
def recording() -> Recording:
    return plant(n_frames=N_FRAMES, seed=2).recording


@pytest.fixture(scope="module")
def model(recording: Recording) -> Rondo:
    return Rondo(window=LENGTH, step=STEP, settings=QUICK).fit(recording)


@pytest.fixture(scope="module")
def moved(recording: Recording) -> NDArray[np.float32]:
    """As another sensor would have measured it."""
    return (recording.values * GAINS + 3 * GAINS).astype(np.float32)


def fed(stream: Stream, values: NDArray[np.float32], cuts: list[int]) -> Output:
    reports = [stream.feed(values[start:stop]) for start, stop in pairwise([0, *cuts, len(values)])]
    reports.append(stream.finish())
    return [d for report in reports for d in report.decisions], [e for report in reports for e in report.events]


def units_of(decisions: list[Decision], n_frames: int) -> NDArray[np.int64]:
    units = np.full(n_frames, OTHER, np.int64)
    for own in decisions:
        units[own.start_frame : own.stop_frame] = own.unit
    return units


def of_kind(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event.kind == kind]


@pytest.mark.parametrize("frozen", [True, False])
def test_a_stream_of_another_sensor_comes_to_its_own_statistics(
    model: Rondo, moved: NDArray[np.float32], recording: Recording, frozen: bool
) -> None:
    stream = model.stream(frozen=frozen)
    decisions, events = fed(stream, moved, [])
    (change,) = of_kind(events, "scaling")
    assert (change.level, change.frame, change.evidence["statistics"]) == ("input", 20 * LENGTH, "own")
    assert of_kind(events, "fit")[-1].evidence["verdict"] == "fits"
    assert stream.standing == {"statistics": "own", "fit": "fits"}
    as_fitted, _ = fed(model.stream(frozen=frozen), recording.values, [])
    late = slice(30 * LENGTH, None)
    assert np.mean(units_of(decisions, N_FRAMES)[late] == units_of(as_fitted, N_FRAMES)[late]) > 0.85


def test_a_stream_is_what_label_says_of_the_rows_so_far(model: Rondo, moved: NDArray[np.float32]) -> None:
    """At a look: windows that are not decided are read again, so what comes next is by what `label` knows there."""
    decisions, _ = fed(model.stream(frozen=True), moved, [])
    units, looks, look = units_of(decisions, N_FRAMES), list[int](), 20 * LENGTH
    while look < N_FRAMES:
        looks.append(look)
        look = round(1.1 * look)
    lag, alike = model.config_.continual.lag, list[NDArray[np.bool_]]()
    for at, after in pairwise(looks):
        labelled = model.predict(Recording(moved[:at], 50, model.preprocessor_.channels)).units
        decided = [own for own in decisions if at <= own.window * STEP + LENGTH + lag * STEP < after]
        spans = [(max(own.start_frame, own.window * STEP), min(own.stop_frame, at)) for own in decided]
        rows = np.concatenate([np.arange(*span) for span in spans])
        alike.append(units[rows] == labelled[rows])
    assert len(alike) > 10 and np.mean(np.concatenate(alike)) > 0.95


@pytest.mark.parametrize("frozen", [True, False])
def test_nothing_depends_on_chunks(model: Rondo, moved: NDArray[np.float32], frozen: bool) -> None:
    whole = fed(model.stream(frozen=frozen), moved[:4_000], [])
    assert of_kind(whole[1], "scaling")
    for cuts in ([1, 2, 1_499, 1_500, 1_501, 3_000], [*range(37, 4_000, 37)]):
        assert fed(model.stream(frozen=frozen), moved[:4_000], cuts) == whole


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("at", [1_400, 1_500, 2_050])
def test_it_resumes_exactly(model: Rondo, moved: NDArray[np.float32], frozen: bool, at: int) -> None:
    expected = fed(model.stream(frozen=frozen), moved[:4_000], [at])
    stream = model.stream(frozen=frozen)
    first = stream.feed(moved[:at])
    tensors, plain = stream.state()
    again = Stream.restore(model.stream(frozen=frozen), tensors, json.loads(json.dumps(plain)))
    decisions, events = fed(again, moved[at:4_000], [])
    assert (first.decisions + decisions, first.events + events) == expected


def test_it_resumes_in_its_place_among_several_fitted_recordings(
    recording: Recording, moved: NDArray[np.float32]
) -> None:
    halves = [recording.values[:4_500], 2 * recording.values[4_500:]]
    both = [Recording(own, 50.0, recording.channels, str(i)) for i, own in enumerate(halves)]
    fitted = Rondo(window=LENGTH, step=STEP, settings=QUICK).fit(both)
    stream = fitted.stream(frozen=True)
    stream.feed(moved[:2_050])
    own = stream.scaling
    again = Stream.restore(fitted.stream(frozen=True), *stream.state())
    assert own is not None and own.setting.place is not None
    assert again.scaling is not None and again.scaling.setting.place is not None
    npt.assert_array_equal(again.scaling.setting.place.centres, own.setting.place.centres)
    assert fed(again, moved[2_050:3_000], []) == fed(stream, moved[2_050:3_000], [])


@pytest.mark.parametrize(("n_lengths", "next_look"), [(19, 20), (20, 22), (22, 24.2)])
def test_a_look_is_a_tenth_later_than_the_one_before(
    model: Rondo, moved: NDArray[np.float32], n_lengths: int, next_look: float
) -> None:
    stream = model.stream(frozen=True)
    stream.feed(moved[: n_lengths * LENGTH])
    assert stream.scaling is not None
    assert stream.scaling.state()[1]["next_look"] == pytest.approx(next_look * LENGTH, abs=1)


def test_a_stream_of_0_2_0_resumes_with_the_statistics_of_the_model(model: Rondo, moved: NDArray[np.float32]) -> None:
    stream = model.stream(frozen=True)
    stream.scaling = None
    stream.feed(moved[:1_000])
    tensors, plain = stream.state()
    del plain["reader"]["last"]
    again = Stream.restore(model.stream(frozen=True), tensors, plain)
    assert again.scaling is None and not of_kind(fed(again, moved[1_000:3_000], [])[1], "scaling")
    assert again.standing == {"statistics": "", "fit": ""}


def test_a_known_recording_keeps_typical_statistics(model: Rondo, recording: Recording) -> None:
    stream = model.stream(frozen=True)
    decisions, events = fed(stream, recording.values, [])
    assert not of_kind(events, "scaling") and stream.standing == {"statistics": "model", "fit": "fits"}
    assert np.mean(units_of(decisions, N_FRAMES) == model.predict(recording).units) > 0.98


LEARNED = ("promote", "merge", "refine")


def test_nothing_is_learned_from_what_is_like_nothing_known(model: Rondo) -> None:
    noise = np.random.default_rng(0).normal(size=(N_FRAMES, 6)).astype(np.float32)
    stream = model.stream()
    _, events = fed(stream, noise, [])
    assert of_kind(events, "fit")[-1].evidence["verdict"] == "does not fit"
    assert not [event for event in events if event.kind in LEARNED and event.level == "unit"]
    assert stream.scaling is not None and not stream.scaling.setting.learns


def test_nothing_is_learned_in_the_first_forty_lengths(model: Rondo, recording: Recording) -> None:
    seen = []
    for n_lengths in (39, 43, 100):  # there is a look after 39 lengths, and after 43
        stream = model.stream()
        stream.feed(recording.values[: n_lengths * LENGTH])
        reader: Any = stream.reader
        seen.append(sum(reader.refined))
    assert seen[0] == 0 < seen[2] and seen[1] < 20


def test_new_units_are_promoted_where_the_model_fits_hardly(model: Rondo) -> None:
    values = plant(n_frames=N_FRAMES, seed=9).recording.values  # other units, which come back
    stream = model.stream()
    _, events = fed(stream, values, [])
    assert of_kind(events, "fit")[0].evidence["verdict"] == "does not fit"
    assert stream.scaling is not None and stream.scaling.setting.learns
    assert [event for event in events if event.kind in LEARNED]


def test_a_quarter_that_is_farther_off_stretches_and_new_units_do_not() -> None:
    known = np.linspace(0.3, 1.0, 100)
    assert stretch_of(known) == 1 == stretch_of(np.concatenate([known, np.full(50, 3.0)]))
    assert stretch_of(2 * known) == pytest.approx(2 * np.quantile(known, 0.25) / 0.62)


def farther(model: Rondo, monkeypatch: pytest.MonkeyPatch, times: float) -> None:
    """As if every window lay so much farther from the exemplars."""
    kind = type(model.unit_model_.exemplars)
    strangeness, distances = kind.strangeness, PointSets.distances
    monkeypatch.setattr(kind, "strangeness", lambda own, rows: times * strangeness(own, rows))
    monkeypatch.setattr(PointSets, "distances", lambda own, point: times * distances(own, point))


def test_a_person_who_is_farther_from_all_exemplars_is_labelled_as_label_does(
    model: Rondo, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = plant(n_frames=2 * N_FRAMES, seed=2).recording.values[N_FRAMES:]
    labelled = model.predict(Recording(values, 50, model.preprocessor_.channels)).units
    farther(model, monkeypatch, 2.5)
    late, alike = slice(25 * LENGTH, None), []
    for stretches in (True, False):
        with monkeypatch.context() as patched:
            if not stretches:
                patched.setattr(scaling, "stretch_of", lambda _: 1.0)
            stream = model.stream()
            decisions, _ = fed(stream, values, [])
            assert stream.scaling is not None and (stream.scaling.setting.stretch > 1) == stretches
        alike.append(np.mean(units_of(decisions, N_FRAMES)[late] == labelled[late]))
    assert alike[0] > 0.9 and alike[0] > alike[1] + 0.3, alike


def test_nothing_is_stretched_for_noise(model: Rondo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "fit_of", lambda *_: "fits")  # as white noise does on some data
    stream = model.stream()
    stream.feed(np.random.default_rng(0).normal(size=(N_FRAMES, 6)).astype(np.float32))
    assert stream.scaling is not None and stream.scaling.setting.stretch == 1


def test_the_mean_of_a_stream_settles_from_the_typical_one_to_its_own() -> None:
    usual, own = (
        (np.array([0.0, 5.0, 2.0]), np.array([1.0, 2.0, 0.0])),
        (np.array([1.0, 6.0, 9.0]), np.array([1.0, 2, 0])),
    )

    def share(n_lengths: float, times: float = 1.0) -> float:
        moved = (usual[0] + times * (own[0] - usual[0]), own[1])
        shares = (settled_mean(moved, usual, n_lengths) - usual[0]) / (moved[0] - usual[0])
        assert np.ptp(shares) < 1e-12  # one weight for all channels, also for those that are constant
        return float(shares[0])

    lengths, offsets = [20, 40, 80, 1_000], [0.3, 1, 3, 10]
    assert [share(n) for n in lengths] == sorted(share(n) for n in lengths)
    assert [share(20, times) for times in offsets] == sorted(share(20, times) for times in offsets)
    assert share(20, 0.3) < 0.01 and share(20, 10) > 0.99 and share(100_000) > 0.999
    squared, chance = (1 + 0.25) / 2, 40 / 20
    assert share(20) == pytest.approx(squared**2 / (squared**2 + chance**2))


def test_the_mean_settles_alike_in_any_units_of_the_channels() -> None:
    rng = np.random.default_rng(0)
    own, usual = ((rng.normal(size=4), rng.uniform(1, 2, size=4)) for _ in range(2))
    gain, offset = np.array([1e-3, 2.0, -7.0, 1e3]), rng.normal(size=4)
    other = [(gain * mean + offset, np.abs(gain) * scale) for mean, scale in (own, usual)]
    expected = gain * settled_mean(own, usual, 25) + offset
    npt.assert_allclose(settled_mean(other[0], other[1], 25), expected, rtol=1e-9)


def test_a_mean_without_a_channel_that_varies_is_its_own() -> None:
    own, usual = (np.array([3.0]), np.array([0.0])), (np.array([1.0]), np.array([1.0]))
    npt.assert_array_equal(settled_mean(own, usual, 20), own[0])


def test_after_a_change_units_of_the_model_are_as_fitted(model: Rondo, moved: NDArray[np.float32]) -> None:
    stream = model.stream()
    stream.feed(moved[: 20 * LENGTH - 1])
    reader: Any = stream.reader
    stream.feed(moved[20 * LENGTH - 1 : 20 * LENGTH])
    assert stream.standing["statistics"] == "own"
    begun: Any = model.stream().reader
    for i in range(len(begun.units)):
        npt.assert_array_equal(reader.units.kept(i), begun.units.kept(i))


def test_what_was_gathered_moves_as_windows_do() -> None:
    rng = np.random.default_rng(0)
    old = np.column_stack([rng.normal(size=(50, 2)), np.full(50, 4.0)])
    new = old * [2, -1, 1] + [1, 0, 3]
    npt.assert_allclose(Move.between(old, new).of(old), new, atol=1e-9)
