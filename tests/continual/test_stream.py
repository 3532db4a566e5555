from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.continual import frame_sample
from rondo.continual.journal import Event
from rondo.continual.reading import Decision, encoded
from rondo.continual.stream import Stream, rule_of
from rondo.data.labels import OTHER
from rondo.data.recording import Recording
from rondo.errors import ModelError, NotFittedError, RecordingError, SettingError
from rondo.model.describe import fitted_ids
from rondo.model.method import relabel
from rondo.model.rondo import Rondo
from rondo.store import model_file
from rondo.synthetic.streams import PlantedStream
from rondo.units.viterbi import Viterbi

QUICK = {"evidence.surrogates": 0}
NEW_UNIT = 8
Output = tuple[list[Decision], list[Event]]


@pytest.fixture(scope="module")
def planted(novel_stream: PlantedStream) -> PlantedStream:
    return novel_stream


@pytest.fixture(scope="module")
def model(stream_model: Rondo) -> Rondo:
    return copy.copy(stream_model)


@pytest.fixture(scope="module")
def rest(planted: PlantedStream) -> np.ndarray:
    return planted.recording.values[8_000:]


def fed(stream: Stream, values: np.ndarray, cuts: Sequence[int]) -> Output:
    decisions: list[Decision] = []
    events: list[Event] = []
    for start, stop in pairwise([0, *cuts, len(values)]):
        report = stream.feed(values[start:stop])
        decisions += report.decisions
        events += report.events
    report = stream.finish()
    return decisions + report.decisions, events + report.events


def stopped(model: Rondo, stream: Stream) -> Stream:
    """Written down, and read by another process."""
    tensors, plain = stream.state()
    copied: dict[str, Any] = {name: tensor.copy() for name, tensor in tensors.items()}
    return Stream.restore(model.stream(), copied, json.loads(json.dumps(plain)))


def test_a_unit_that_recurs_is_promoted_and_one_that_does_not_is_not(
    model: Rondo, planted: PlantedStream, rest: np.ndarray
) -> None:
    decisions, events = fed(model.stream(), rest, [])
    promoted = [event for event in events if (event.kind, event.level) == ("promote", "unit")]
    assert len(promoted) == 1
    (unit,) = promoted[0].ids
    assert unit not in model.unit_model_.ids and unit >= model.unit_model_.vocabulary.next_id
    own = [decision for decision in decisions if decision.unit == unit]
    assert own and min(decision.window for decision in own) >= promoted[0].evidence["first_window"]
    truth = planted.unit_truth[8_000:]
    centres = [min(decision.start_frame + 9, truth.size - 1) for decision in own]
    assert np.mean(truth[centres] == NEW_UNIT) > 0.7
    assert all(decision.motif not in model.motif_model_.ids for decision in own if decision.unit_score)


@pytest.mark.slow
@settings(max_examples=8)
@given(at=st.integers(0, 6_000), again=st.integers(0, 6_000))
def test_saved_and_loaded_the_model_follows_its_stream_as_if_never_saved(
    model: Rondo, rest: np.ndarray, tmp_path_factory: pytest.TempPathFactory, at: int, again: int
) -> None:
    values = rest[:6_000].copy()
    values[2_990:3_200] = np.nan  # rows that wait, and a boundary
    values[500::700, 2] = np.nan
    cuts = [0, *sorted([at, again]), len(values)]
    plain = model.stream()
    expected = [plain.feed(values[start:stop]) for start, stop in pairwise(cuts)]
    follower, folder, found = unstreamed(model), tmp_path_factory.mktemp("model") / "model", []
    for start, stop in pairwise(cuts):
        found.append(follower.partial_fit(values[start:stop]))
        follower.save(folder)
        follower = Rondo.load(folder)
    assert found == expected
    assert follower.stream_.finish() == plain.finish()
    assert_same_state(follower.stream_, plain)


def unstreamed(model: Rondo) -> Rondo:
    """A model of its own that follows no stream."""
    own = copy.copy(model)
    vars(own).pop("stream_", None)
    return own


def assert_same_state(some: Stream, other: Stream) -> None:
    for own, another in zip(some.state()[0].values(), other.state()[0].values(), strict=True):
        npt.assert_array_equal(own, another)
    assert json.dumps(some.state()[1]) == json.dumps(other.state()[1])


@pytest.mark.parametrize("damage", ["tensor", "kind", "plain", "window", "units", "encoder", "not a mapping"])
def test_a_stream_in_a_model_folder_that_does_not_fit_is_refused_in_one_line(
    model: Rondo, rest: np.ndarray, tmp_path: Path, damage: str
) -> None:
    follower = unstreamed(model)
    follower.partial_fit(rest[:1_000])
    follower.save(tmp_path / "model")
    stored = model_file.load(tmp_path / "model")
    tensors, stream = dict(stored.tensors), stored.provenance["stream"]
    match damage:
        case "tensor":
            del tensors["stream.reader.units.points"]
        case "kind":
            stream["tensors"]["windower.kept"][1][0] += 1
        case "plain":
            del stream["plain"]["preparation"]["origin_s"]
        case "window":
            tensors["stream.windower.kept"] = np.zeros((200, 3), np.uint32)
        case "units":
            stream["plain"]["reader"]["units"]["n_dims"] += 1
        case "encoder":  # as of another encoder, and otherwise whole
            points = tensors["stream.reader.units.points"]
            tensors["stream.reader.units.points"] = np.ascontiguousarray(points[:, :-1])
            stream["tensors"]["reader.units.points"][1][1] -= 1
            stream["plain"]["reader"]["units"]["n_dims"] -= 1
        case _:
            stored.provenance["stream"] = "here"
    model_file.save(tmp_path / "model", model_file.Artifact(stored.config, stored.provenance, tensors))
    with pytest.raises(ModelError, match="not fit together") as refused:
        Rondo.load(tmp_path / "model")
    assert "\n" not in str(refused.value)


# ------------------------------------------------------------ read again


@pytest.fixture(scope="module")
def grown(model: Rondo, rest: np.ndarray) -> tuple[Rondo, Output]:
    """A model whose stream has promoted a unit, and what the stream has issued."""
    follower = unstreamed(model)
    report = follower.partial_fit(rest)
    return follower, (report.decisions, report.events)


def test_read_anew_a_unit_is_known_from_the_start(
    grown: tuple[Rondo, Output], planted: PlantedStream, rest: np.ndarray
) -> None:
    follower, (decisions, events) = grown
    (unit,) = next(event.ids for event in events if (event.kind, event.level) == ("promote", "unit"))
    issued = np.full(len(rest), OTHER)
    for decision in decisions:
        issued[decision.start_frame : decision.stop_frame] = decision.unit
    again = relabel(follower, Recording(rest, rate=50, id="rest"))[0]
    truth = planted.unit_truth[8_000:] == NEW_UNIT
    first = int(np.flatnonzero(truth)[0])
    before = slice(first, int(np.flatnonzero(issued == unit)[0]))  # it had come, and was not known yet
    recall = [(labels[before] == unit)[truth[before]].mean() for labels in (issued, again.units)]
    assert recall[0] == 0 and recall[1] > 0.5
    assert np.mean(truth[again.units == unit]) > 0.7
    assert (again.recording_id, again.units.shape) == ("rest", (len(rest),))
    assert set(again.units.tolist()) <= {OTHER, *follower.stream_.reader.units.ids}
    assert (again.unit_scores[again.units == OTHER] == 0).all()
    own = again.motifs[again.units == unit]
    assert np.mean(np.isin(own, follower.motif_model_.ids)) < 0.1


def test_a_unit_of_the_stream_is_named_and_merged_and_no_other_stream_knows(
    grown: tuple[Rondo, Output], rest: np.ndarray, tmp_path: Path
) -> None:
    follower, (_, events) = unstreamed(grown[0]), grown[1]
    (unit,) = next(event.ids for event in events if (event.kind, event.level) == ("promote", "unit"))
    with pytest.raises(SettingError, match=f"no unit:{unit}"):
        follower.name(f"unit:{unit}", "limp")
    follower.stream_ = grown[0].stream_
    before = relabel(follower, rest[:3_000]).units
    motif = follower.stream_.reader.motifs.own[unit]
    follower.name(f"unit:{unit}", "limp").name(f"motif:{motif}", "limping").merge("unit:0", f"unit:{unit}")
    follower.save(tmp_path / "m")
    kept = Rondo.load(tmp_path / "m")
    assert (kept.edits_.name("unit", 0), kept.edits_.name("motif", motif)) == ("limp", "limping")
    npt.assert_array_equal(relabel(kept, rest[:3_000]).units, np.where(before == unit, 0, before))
    assert kept.stream_.reader.next_id == grown[0].stream_.reader.next_id > unit  # ids go on from where they were
    assert kept.edits_.among(fitted_ids(kept)).history == ()  # for a new stream, whose unit of that id is another


def test_reading_anew_changes_neither_stream_nor_model(
    grown: tuple[Rondo, Output], model: Rondo, rest: np.ndarray
) -> None:
    follower, _ = grown
    before, twin = follower.predict(rest[:3_000]), stopped(model, follower.stream_)
    some, other = relabel(follower, [rest[:3_000], rest[5_000:8_000]])
    npt.assert_array_equal(relabel(follower, rest[:3_000]).units, some.units)
    assert other.recording_id == "recording1"
    assert_same_state(follower.stream_, twin)
    npt.assert_array_equal(follower.predict(rest[:3_000]).units, before.units)


def test_units_read_anew_are_those_of_a_stream_that_waits_for_the_end(
    grown: tuple[Rondo, Output], rest: np.ndarray
) -> None:
    """A slow twin: the Viterbi of the stream with a lag longer than the recording."""
    values, updater = rest[:4_000].copy(), grown[0].stream_.reader
    noise = np.random.default_rng(0).normal(size=(1_600, values.shape[1]))
    values[1_000:2_600] += noise * np.linspace(0, 2, 1_600)[:, None]  # from near every unit to far from all
    signal, windows = grown[0]._windows_of(Recording(values), by_model=True)
    viterbi = Viterbi(len(updater.units) + 1, updater.viterbi.penalty, lag=len(windows))
    for number in range(len(windows)):
        (point,) = encoded(updater.encoder, signal.values[number * 18 : number * 18 + 75].T).astype(np.float64)
        costs = np.append(1.0, updater.units.distances(point) / updater.reaches())
        costs[1 : 1 + updater.n_fitted] += updater.excess.of(point[None])[0]
        viterbi.push(costs[None])
    expected = np.array([OTHER, *updater.units.ids])[viterbi.flush()]
    units, motifs = grown[0].stream_.timelines(windows)
    npt.assert_array_equal(units.ids, expected)
    assert 10 < (expected == OTHER).sum() < 100
    labelling = relabel(grown[0], values)[0]
    assert (labelling.units[2_200:2_500] == OTHER).all() and not labelling.unit_scores[2_200:2_500].any()
    assert motifs.ids.shape == expected.shape == motifs.begins.shape


def test_gaps_bounds_and_too_few_rows_read_anew(grown: tuple[Rondo, Output], rest: np.ndarray) -> None:
    follower, _ = grown
    values = rest[:3_000].copy()
    values[1_000:1_200] = np.nan
    parts = [relabel(follower, values[:1_000]), relabel(follower, values[1_200:])]
    again = relabel(follower, values)
    npt.assert_array_equal(again.units[:1_000], parts[0].units)
    npt.assert_array_equal(again.units[1_200:], parts[1].units)
    npt.assert_array_equal(again.motifs[1_200:], parts[1].motifs)
    assert (again.units[1_000:1_200] == OTHER).all()
    assert (relabel(follower, rest[:30]).units == OTHER).all()


def test_nothing_is_read_anew_without_a_stream(model: Rondo, rest: np.ndarray) -> None:
    with pytest.raises(NotFittedError, match="follows no stream yet"):
        relabel(unstreamed(model), rest)


# ------------------------------------------------------------ an input that begins again


@pytest.mark.parametrize("has_clock", [False, True])
def test_an_input_that_begins_anew_is_a_boundary(model: Rondo, rest: np.ndarray, has_clock: bool) -> None:
    times = [np.arange(2_000) / 50 if has_clock else None, np.arange(2_000, 4_000) / 50 if has_clock else None]
    stream = model.stream()
    first, cut = stream.feed(rest[:2_000], times[0]), stream.cut("begun again")
    second, last = stream.feed(rest[2_000:4_000], times[1]), stream.finish()
    alone, _ = fed(model.stream(), rest[:2_000], [])
    before, after = first.decisions + cut.decisions, second.decisions + last.decisions
    assert [own._replace(start_s=None) for own in before] == [own._replace(start_s=None) for own in alone]
    assert (after[0].start_frame, after[-1].stop_frame) == (2_000, 4_000)
    gaps = [event for report in (first, cut, second, last) for event in report.events if event.kind == "gap"]
    assert [(event.frame, event.evidence) for event in gaps] == [(2_000, {"rule": "boundary", "cause": "begun again"})]


def test_a_burst_is_never_promoted(model: Rondo, rest: np.ndarray) -> None:
    values = rest[:6_000].copy()
    noise = np.random.default_rng(0).normal(scale=2, size=(1_500, values.shape[1]))
    values[2_000:3_500] += noise.astype(np.float32)
    stream = model.stream()
    decisions, events = fed(stream, values, [])
    assert not [event for event in events if event.kind in ("promote", "merge")]
    inside = [decision.unit for decision in decisions if 2_200 < decision.start_frame < 3_300]
    assert np.mean(np.array(inside) == OTHER) > 0.9
    assert stream.reader.buffer.clusters
    assert 0 < stream.n_buffered == sum(stream.reader.buffer.sets.seen) <= 1_500 // 18 + 5
    assert model.stream().n_buffered == 0


def test_decisions_cover_every_stretch_that_holds_a_window(model: Rondo, rest: np.ndarray) -> None:
    values = rest[:3_000].copy()
    values[1_000:1_100] = np.nan
    values[1_150:1_250] = np.nan  # between the gaps there is room for no window
    decisions, _ = fed(model.stream(), values, [700])
    windows = [decision.window for decision in decisions]
    assert windows == sorted(set(windows)) and all(0 <= decision.unit_score <= 1 for decision in decisions)
    covered = np.zeros(3_000, dtype=int)
    for decision in decisions:
        covered[decision.start_frame : decision.stop_frame] += 1
    expected = np.ones(3_000, dtype=int)
    expected[1_000:1_250] = 0
    npt.assert_array_equal(covered, expected)


def test_decisions_and_events_have_the_time_of_the_data(model: Rondo, rest: np.ndarray) -> None:
    times = 1e9 + np.arange(4_000) / 50
    times[2_000:] += 3_600  # an hour later
    stream = model.stream()
    reports = [stream.feed(rest[:4_000], times), stream.finish()]
    decisions = [decision for report in reports for decision in report.decisions]
    starts = np.array([decision.start_frame for decision in decisions])
    offset_s = [decision.start_s - 1e9 - decision.start_frame / 50 for decision in decisions]  # type: ignore[operator]
    npt.assert_allclose(offset_s, np.where(starts < 2_000, 0, 3_600), atol=1e-3)
    gaps = [event for report in reports for event in report.events if event.kind == "gap"]
    assert gaps and all(event.time_s is not None for event in gaps)


def test_memory_does_not_grow(model: Rondo, rest: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame_sample, "_MOST_VALUES", 1 << 14)  # so that it is reached here
    stream = model.stream()
    sizes = []
    for _ in range(4):
        stream.feed(rest[:6_000])
        tensors, plain = stream.state()
        sizes.append((sum(tensor.nbytes for tensor in tensors.values()), len(json.dumps(plain))))
    most = max(nbytes for nbytes, _ in sizes[1:])
    assert most < 1.2 * sizes[1][0] + 200_000
    assert max(length for _, length in sizes) < 20_000


def test_partial_fit_is_the_stream_and_leaves_the_model(model: Rondo, rest: np.ndarray) -> None:
    expected = model.stream()
    before = {name: tensor.copy() for name, tensor in model.unit_model_.tensors().items()}
    for part in np.split(rest[:4_000], 4):
        assert model.partial_fit(Recording(part, rate=50)) == expected.feed(part)
    for name, tensor in model.unit_model_.tensors().items():
        npt.assert_array_equal(tensor, before[name])
    del model.stream_


def test_a_new_fit_begins_a_new_stream(planted: PlantedStream, rest: np.ndarray) -> None:
    first = Recording(planted.recording.values[:4_000], rate=50)
    fitted = Rondo(window=75, step=18, settings=QUICK).fit(first)
    fitted.partial_fit(rest[:500])
    assert fitted.fit(first).partial_fit(rest[:500]) == fitted.stream().feed(rest[:500])
    assert fitted.fit_motifs(first).partial_fit(rest[:500]) == fitted.stream().feed(rest[:500])


def test_chunks_go_by_name_may_be_missing_throughout_and_keep_the_rate(model: Rondo, rest: np.ndarray) -> None:
    names = model.preprocessor_.channels
    turned = Recording(rest[:500, ::-1], rate=50, channels=names[::-1])
    expected = model.stream()
    assert model.partial_fit(turned) == expected.feed(rest[:500])
    nothing = np.full((100, len(names)), np.nan, np.float32)
    assert model.partial_fit(nothing) == expected.feed(nothing)
    with pytest.raises(RecordingError, match="50 Hz"):
        model.partial_fit(Recording(rest[:100], rate=20))
    del model.stream_


def test_windows_that_hold_a_fault_teach_nothing(
    model: Rondo, rest: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = rest[:4_000].copy()
    values[1_000:2_000, 0] = values[1_000, 0]
    stream = model.stream()
    push_all, taught = stream.reader.push_all, dict[int, bool]()

    def seen(windows: Any) -> Any:
        for window, due in zip(windows, push_all(windows), strict=True):
            taught[window.start_frame] = stream.reader.learns
            yield due

    monkeypatch.setattr(stream.reader, "push_all", seen)
    events = fed(stream, values, [1_700])[1]
    begun, over = (event.frame for event in events if event.evidence.get("rule") == "stuck")
    length = stream.reader.length_frames
    assert 1_000 < begun < 2_000 < over and any(begun < start < over for start in taught)
    assert taught == {start: start >= over or start + length <= begun for start in taught}


@pytest.mark.parametrize("name", ["length", "step"])
def test_a_state_of_other_windows_is_refused(model: Rondo, rest: np.ndarray, name: str) -> None:
    stream = model.stream()
    stream.feed(rest[:500])
    tensors, plain = stream.state()
    with pytest.raises(ValueError, match="windows of"):
        Stream.restore(model.stream(), tensors, plain | {"windower": plain["windower"] | {name: 7}})


def test_a_state_names_a_rule_that_is_not_the_default(model: Rondo, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = model.stream(frozen=True)
    assert rule_of(stream.state()[1]) == stream.reader.rule
    monkeypatch.setattr(stream.reader, "rule", "published")
    assert rule_of(stream.state()[1]) == "published"
