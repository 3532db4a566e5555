"""Teaching: a few marked spans, the rest labelled like them, by entries or by windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.testing as npt
import pandas as pd
import polars as pl
import pytest

import rondo
from rondo.data.labels import runs_of
from rondo.data.recording import Recording
from rondo.edit import edits_in, teach_run, undo_edit
from rondo.editing.edits import Edits
from rondo.errors import AnnotationError, ModelError, RecordingError, SettingError
from rondo.result import Result
from rondo.run.labelling import Labelling
from rondo.synthetic import StreamPlan, plant

QUICK = {"evidence.surrogates": 0}
Spans = list[dict[str, Any]]
Case = tuple[Recording, np.ndarray[Any, Any], Result]


def spans_in(truth: np.ndarray[Any, Any], n: int = 1) -> Spans:
    """The first whole true segments of every class."""
    runs = runs_of(truth)
    chosen = [at for kind in np.unique(truth[truth >= 0]) for at in np.flatnonzero(runs.ids == kind)[:n]]
    return [
        {"name": f"act {runs.ids[at]}", "start_frame": int(runs.starts[at]), "end_frame": int(runs.stops[at])}
        for at in chosen
    ]


def names_in(labelling: Labelling, result: Result) -> np.ndarray[Any, Any]:
    """The name of every frame."""
    names = result.run.edits.names("motif")
    return np.array([names.get(id, str(id)) for id in labelling.motifs.tolist()])


@pytest.fixture(scope="module")
def phrases() -> Case:
    """A recording whose motifs are found: entries are read."""
    stream = plant(StreamPlan(motifs="own", n_units=16, n_motifs=4), n_frames=20_000, seed=20)
    return stream.recording, stream.motif_truth, rondo.discover(stream.recording)


@pytest.fixture(scope="module")
def contexts() -> Case:
    """A recording of which only units are found, each of them in several activities: windows are read."""
    stream = plant(StreamPlan(motifs="contexts"), n_frames=9_000, seed=20)
    found = rondo.discover(stream.recording, settings=QUICK | {"motifs.method": "none"})
    return stream.recording, stream.motif_truth, found


@pytest.fixture(params=["phrases", "contexts"])
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.getfixturevalue(request.param)
    return found


def test_one_span_a_class_solves_what_units_do_not(contexts: Case) -> None:
    _recording, truth, found = contexts
    taught = found.teach(spans_in(truth))
    before, after = (rondo.evaluate(truth, one).average for one in (found, taught))
    assert before.one_to_one < 60 < 75 < after.one_to_one
    assert after.ari > before.ari + 30


def test_entries_that_tell_the_names_apart_keep_their_borders(phrases: Case) -> None:
    _recording, truth, found = phrases
    taught = found.teach(spans_in(truth))
    assert rondo.evaluate(truth, taught).average.one_to_one > 90
    (edit,) = taught.run.edits.in_force
    marked = np.zeros(taught[0].n_frames, np.bool_)
    for span in taught.run.edits.marks(taught[0].recording_id):
        marked[span.start : span.stop] = True
    for id in np.unique(found.motifs):  # an entry is renamed whole, or stays
        now = np.unique(taught.motifs[(found.motifs == id) & ~marked])
        assert now.size <= 1 and (now.size == 0 or now[0] == id or now[0] in edit.ids)


def test_marked_frames_keep_their_mark_and_all_marked_is_the_marks(case: Case) -> None:
    _recording, truth, found = case
    few = spans_in(truth)
    names = names_in((taught := found.teach(few))[0], taught)
    for span in few:
        assert set(names[span["start_frame"] : span["end_frame"]]) == {span["name"]}
    runs = runs_of(truth)
    whole = [
        {"name": f"class {id}", "start_frame": start, "end_frame": stop}
        for start, stop, id in zip(*(part.tolist() for part in runs), strict=True)
    ]
    everything = found.teach(whole)
    npt.assert_array_equal(names_in(everything[0], everything), [f"class {id}" for id in truth])
    with pytest.raises(AnnotationError, match="every frame was marked"):
        rondo.evaluate(truth, everything)


def test_order_of_spans_and_kind_of_table_change_nothing(case: Case) -> None:
    _recording, truth, found = case
    spans = spans_in(truth, 2)
    expected = found.teach(spans)
    rate = found.recordings[0].rate
    assert rate is not None
    times = [
        {"name": one["name"], "start_s": one["start_frame"] / rate, "end_s": one["end_frame"] / rate} for one in spans
    ]
    for same in (spans[::-1], pd.DataFrame(spans), pl.DataFrame(spans), times):
        npt.assert_array_equal(found.teach(same).motifs, expected.motifs)
    names = {one["name"] for one in spans}
    swapped = dict(zip(sorted(names), sorted(names, reverse=True), strict=True))
    other = found.teach([{**one, "name": swapped[one["name"]]} for one in spans])
    npt.assert_array_equal(other.motifs, expected.motifs)
    before, after = names_in(expected[0], expected), names_in(other[0], other)
    npt.assert_array_equal([swapped.get(name, name) for name in before], after)


def test_the_result_does_not_change_and_marks_add_up(case: Case) -> None:
    _recording, truth, found = case
    before, spans = found.motifs.copy(), spans_in(truth)
    first = found.teach(spans[:2])
    both = first.teach(spans[2:])
    npt.assert_array_equal(found.motifs, before)
    assert found.run.edits == Edits() and found.model.edits_ == Edits()
    assert {one["name"] for one in spans} <= set(both.segments["name"])
    ids = {name: id for id, name in first.run.edits.names("motif").items()}
    assert ids.items() <= {name: id for id, name in both.run.edits.names("motif").items()}.items()
    assert min(ids.values()) >= 1000
    at_once = found.teach(spans)
    npt.assert_array_equal(names_in(both[0], both), names_in(at_once[0], at_once))


def test_saved_loaded_undone_and_read_elsewhere(case: Case, tmp_path: Any) -> None:
    recording, truth, found = case
    taught = found.teach(spans_in(truth))
    run = taught.save(tmp_path / "taught")
    loaded = Result.load(run)
    npt.assert_array_equal(loaded.motifs, taught.motifs)
    pd.testing.assert_frame_equal(loaded.segments, taught.segments)
    again = loaded.model.predict(recording)
    npt.assert_array_equal(again.motifs, taught.model.predict(recording).motifs)
    assert again.kind == "label" and set(again.segments["name"]) >= {"act 0", "act 1"}
    assert not again.run.edits.marks(recording.id)
    elsewhere = Result.load(again.save(tmp_path / "label"))
    npt.assert_array_equal(elsewhere.motifs, again.motifs)
    undo_edit(tmp_path / "label")
    undo_edit(run)
    npt.assert_array_equal(Result.load(tmp_path / "label").motifs, found.model.predict(recording).motifs)
    npt.assert_array_equal(Result.load(run).motifs, found.motifs)
    assert Result.load(run).model.predict(recording).run.edits.teaching is None


def test_a_run_on_disk_is_taught_like_a_result(contexts: Case, tmp_path: Any) -> None:
    recording, truth, found = contexts
    spans = spans_in(truth)
    run = found.save(tmp_path / "run")
    with pytest.raises(RecordingError, match="made from an array"):
        teach_run(run, spans)
    taught = teach_run(run, spans, data=recording)
    npt.assert_array_equal(taught.motifs, found.teach(spans).motifs)
    (row,) = edits_in(run)
    assert row["kind"] == "teach" and "5 marked spans" in row["what"] and "reader" not in row
    with pytest.raises(RecordingError, match="8000 rows"):
        teach_run(run, spans, data=Recording(recording.values[:8_000], 50, id=recording.id))
    assert len(edits_in(run)) == 1


def test_several_recordings_are_one_vocabulary_in_any_order(contexts: Case) -> None:
    recording, truth, _ = contexts
    halves = [
        Recording(recording.values[part], 50, id=id)
        for id, part in (("a", slice(None, 6_000)), ("b", slice(6_000, None)))
    ]
    flat = QUICK | {"motifs.method": "none"}
    spans = [{**one, "recording": "a"} for one in spans_in(truth[:6_000])]
    first, second = (rondo.discover(each, settings=flat).teach(spans) for each in (halves, halves[::-1]))
    for id in ("a", "b"):
        npt.assert_array_equal(first[id].motifs, second[id].motifs)
    assert {"act 0", "act 3"} <= set(first.segments["name"]) and first["b"].motifs.max() >= 1000


def test_what_to_mark_next(contexts: Case) -> None:
    _recording, truth, found = contexts
    untaught = found.suggest_spans(3)
    assert len(untaught) == 3 and untaught["why"].str.contains("has no name").all()
    taught = found.teach(spans_in(truth)).suggest_spans()
    assert taught["why"].str.contains(" or act ").any()
    assert (taught["end_frame"] > taught["start_frame"]).all() and taught["start_s"].notna().all()


def test_frames_relabelled_by_hand_stay(contexts: Case, tmp_path: Any) -> None:
    from rondo.edit import apply_edits

    recording, truth, found = contexts
    run, id = found.save(tmp_path / "run"), recording.id
    apply_edits(run, [{"kind": "relabel", "level": "motif", "ids": [0], "spans": [[id, 8_000, 8_900]]}])
    taught = teach_run(run, spans_in(truth), data=recording)
    assert set(taught.motifs[8_000:8_900].tolist()) == {0}


NAMED = {"name": "reach", "start_frame": 10, "end_frame": 200}
BAD: dict[str, tuple[Any, str]] = {
    "no rows": ([], "no marked span"),
    "no name": ([{"start_frame": 1, "end_frame": 5}], "no column 'name'"),
    "empty name": ([NAMED, NAMED | {"name": " "}], "row 2: the name is empty"),
    "name of an id": ([NAMED | {"name": "m3"}], "taken for an id"),
    "end before start": ([NAMED | {"end_frame": 9}], "ends at 9, and begins at 10"),
    "outside": ([NAMED | {"end_frame": 9_500}], "outside"),
    "no end": ([{"name": "reach", "start_frame": 10}], "no start and end"),
    "no number": ([NAMED | {"end_frame": "soon"}], "got 'soon'"),
    "other recording": ([NAMED | {"recording": "day9"}], "no recording 'day9'"),
    "overlap": ([NAMED, {"name": "walk", "start_frame": 150, "end_frame": 300}], "inside 'reach'"),
    "no table": (7, "expected a path, a table or a list"),
    "no file": ("nowhere.csv", "no such file"),
    "a folder": (".", "not a regular file"),
    "names": ([{"name": f"n{k}", "start_frame": k, "end_frame": k + 1} for k in range(201)], "201 names"),
}


@pytest.mark.parametrize("kind", BAD)
def test_spans_that_cannot_be(contexts: Case, kind: str) -> None:
    spans, message = BAD[kind]
    with pytest.raises((AnnotationError, SettingError), match=message):
        contexts[2].teach(spans)


def test_overlapping_spans_of_one_name_are_one(contexts: Case) -> None:
    _, _, found = contexts
    both = [NAMED, NAMED | {"start_frame": 150, "end_frame": 300}]
    npt.assert_array_equal(found.teach(both).motifs, found.teach([NAMED | {"end_frame": 300}]).motifs)


def test_a_damaged_teaching_is_refused(contexts: Case) -> None:
    from rondo.editing.edits import Edits

    recording, truth, found = contexts
    stored = found.teach(spans_in(truth)).run.edits.as_json()
    assert Edits.from_json(stored, "here").as_json() == stored
    model = found.teach(spans_in(truth)).model
    stored["edits"][0]["reader"] = stored["edits"][0]["reader"][:-100]
    model.edits_ = Edits.from_json(stored, "here")
    with pytest.raises(ModelError, match="teach again"):
        model.predict(recording)
    for field, value in (("names", ["act 0"]), ("taught", [["x", 5, 1, 1000, True]]), ("reader", "")):
        with pytest.raises(ModelError):
            Edits.from_json({**stored, "edits": [{**stored["edits"][0], field: value}]}, "here")
