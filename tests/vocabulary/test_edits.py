"""Edits of people: applied to labels, added only, and the same in whatever order merges come."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.data.labels import OTHER
from rondo.editing.edits import FIRST_BY_HAND, Edit, Edits, FrameSpan, LevelTrack
from rondo.editing.names import EntryId, known_entry
from rondo.errors import ModelError, SettingError
from tests import naive_edits

IDS = st.integers(0, 7)
LEVELS = st.sampled_from(["unit", "motif"])
LABELS = st.lists(st.integers(OTHER, 9), max_size=30)
EDITS = st.one_of(
    st.builds(
        lambda level, ids: Edit("merge", level, tuple(sorted(ids))), LEVELS, st.sets(IDS, min_size=2, max_size=4)
    ),
    st.builds(lambda level, id: Edit("split", level, (id,)), LEVELS, IDS),
    st.builds(lambda level, id, name: Edit("name", level, (id,), name), LEVELS, IDS, st.sampled_from(["", "a", "b"])),
)


def with_undos(steps: list[Edit | int]) -> Edits:
    """A history in which a number takes back an edit before it, also another undo."""
    history: list[Edit] = []
    for step in steps:
        if isinstance(step, Edit):
            history.append(step)
        elif history:
            of = step % len(history)
            history.append(Edit("undo", history[of].level, history[of].ids, of=of))
    return Edits(tuple(history))


HISTORIES = st.lists(EDITS | st.integers(0, 20), max_size=9).map(with_undos)

quick = settings(max_examples=60, deadline=None)


def array(labels: list[int]) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.array(labels, dtype=np.int32)


# ---------------------------------------------------------------- what follows from the list


@quick
@given(HISTORIES, LEVELS, LABELS)
def test_edits_equal_their_naive_twin(edits: Edits, level: Any, labels: list[int]) -> None:
    assert edits.apply(level, array(labels)).tolist() == naive_edits.applied(edits.history, level, labels)
    for id in range(9):
        assert edits.name(level, id) == naive_edits.name(edits.history, level, id)
        group = next((group for group in naive_edits.groups(edits.history, level) if min(group) == id), {id})
        assert {id, *edits.absorbed(level, id)} == group
        assert (id in edits.groups(level)) == (len(group) > 1)
    assert edits.names(level) == {id: edits.name(level, id) for id in range(9) if edits.name(level, id)}


@quick
@given(HISTORIES, LEVELS, LABELS)
def test_applied_twice_is_applied_once(edits: Edits, level: Any, labels: list[int]) -> None:
    once = edits.apply(level, array(labels))
    npt.assert_array_equal(edits.apply(level, once), once)
    assert once.dtype == np.int32


@quick
@given(HISTORIES, LEVELS, LABELS)
def test_no_id_is_made_up_and_other_stays_other(edits: Edits, level: Any, labels: list[int]) -> None:
    edited = edits.apply(level, array(labels)).tolist()
    mentioned = {id for edit in edits.history if edit.level == level for id in edit.ids}
    for before, after in zip(labels, edited, strict=True):
        assert after == before or (after in mentioned and after < before)  # the older one of those that were merged
        assert (before == OTHER) == (after == OTHER)


@quick
@given(st.lists(st.sets(IDS, min_size=2, max_size=3), min_size=2, max_size=4), LABELS)
def test_the_order_of_merges_does_not_matter(merges: list[set[int]], labels: list[int]) -> None:
    results = set()
    for order in permutations(merges):
        edits = Edits()
        for ids in order:
            edits = edits.merged([EntryId("unit", id) for id in ids])
        results.add(tuple(edits.apply("unit", array(labels)).tolist()))
    assert len(results) == 1


@quick
@given(HISTORIES, IDS)
def test_a_split_gives_the_id_back_and_leaves_the_others_together(edits: Edits, id: int) -> None:
    kept = edits.kept("unit", id)
    others = {kept, *edits.absorbed("unit", kept)} - {id}
    if not others:
        if any(edit.kind == "split" and edit.ids == (id,) and edit.level == "unit" for edit in edits.in_force):
            assert edits.split(EntryId("unit", id)) is edits  # done already
            return
        with pytest.raises(SettingError, match="not merged with anything"):
            edits.split(EntryId("unit", id))
        return
    after = edits.split(EntryId("unit", id))
    assert after.kept("unit", id) == id and not after.absorbed("unit", id)
    assert {after.kept("unit", other) for other in others} == {min(others)}
    assert after.history[:-1] == edits.history


def test_a_split_that_was_made_is_not_made_again_and_one_that_was_undone_is() -> None:
    merged = Edits().merged(["u1", "u2"])
    split = merged.split("u2")
    assert split.split("u2") is split
    assert split.undone(1).split("u2").kept("unit", 2) == 2
    with pytest.raises(SettingError, match="not merged with anything"):
        merged.undone(0).split("u2")


def test_the_levels_are_apart() -> None:
    edits = Edits().merged(["u1", "u2"]).named("motif:2", "reach")
    assert edits.apply("motif", array([1, 2])).tolist() == [1, 2]
    assert (edits.names("unit"), edits.names("motif")) == ({}, {2: "reach"})


def test_labels_without_merges_are_not_copied() -> None:
    labels = array([1, 2])
    assert Edits().named("u1", "reach").apply("unit", labels) is labels


# ---------------------------------------------------------------- names


def test_a_group_has_the_name_of_its_oldest_named_entry_and_each_gets_its_own_back() -> None:
    edits = Edits().named("u7", "grasp").merged(["u3", "u7"])
    assert edits.name("unit", 3) == edits.name("unit", 7) == "grasp"
    renamed = edits.named("u3", "reach")
    assert renamed.name("unit", 7) == "reach"
    assert renamed.split("u7").names("unit") == {3: "reach", 7: "grasp"}


def test_done_again_nothing_is_added() -> None:
    edits = Edits().named("u3", "reach").merged(["u3", "u7"])
    assert edits.named("unit:3", " reach ") is edits
    assert edits.merged(["u7", "u3"]) is edits
    assert edits.unnamed("u3").unnamed("u3").history[-1] == Edit("name", "unit", (3,))


def test_a_name_that_is_taken_can_be_had_once_it_was_taken_away() -> None:
    edits = Edits().named("u3", "reach")
    assert edits.named("m3", "reach").names("motif") == {3: "reach"}
    with pytest.raises(SettingError, match=r"'reach' .*unit:3"):
        edits.named("u4", "Reach")
    assert edits.unnamed("u3").named("u4", "Reach").names("unit") == {4: "Reach"}


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "empty"), ("  \n", "empty"), ("x" * 81, "81 characters"), ("u3", "taken for an id"),
     ("Unit:12", "taken for an id"), ("other", "taken for an id"), ("a\x07b", "cannot be printed")],
)  # fmt: skip
def test_what_is_no_name(name: str, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Edits().named("unit:1", name)


@pytest.mark.parametrize("entry", ["3", "unit", "unit:", "unit:-1", "unit:03", "state:3", "unit:3.0", ""])
def test_what_is_no_entry(entry: str) -> None:
    with pytest.raises(SettingError, match="entry as unit:3"):
        Edits().named(entry, "reach")


def test_an_entry_that_was_merged_away_is_not_named() -> None:
    with pytest.raises(SettingError, match=r"unit:7 .*unit:3"):
        Edits().merged(["u3", "u7"]).named("u7", "reach")


@pytest.mark.parametrize("entries", [[], ["u3"], ["u3", "unit:3"], ["u3", "m4"]])
def test_what_cannot_be_merged(entries: list[str]) -> None:
    with pytest.raises(SettingError, match="more different entries"):
        Edits().merged(entries)


def test_entries_that_are_not_there() -> None:
    assert known_entry("u2", {"unit": (0, 2), "motif": ()}) == EntryId("unit", 2)
    with pytest.raises(SettingError, match=r"unit:1 .*unit:0 to unit:2"):
        known_entry("unit:1", {"unit": (0, 2), "motif": ()})
    with pytest.raises(SettingError, match="model has no motif"):
        known_entry("motif:1", {"unit": (0, 2), "motif": ()})


# ---------------------------------------------------------------- kept, and put together


@quick
@given(HISTORIES)
def test_what_is_written_is_read(edits: Edits) -> None:
    assert Edits.from_json(json.loads(json.dumps(edits.as_json())), "edits.json") == edits


@quick
@given(HISTORIES, HISTORIES, LABELS)
def test_later_edits_come_after(first: Edits, then: Edits, labels: list[int]) -> None:
    both = first.then(then).apply("unit", array(labels)).tolist()
    assert both == naive_edits.applied([*first.in_force, *then.in_force], "unit", labels)


@quick
@given(HISTORIES, st.sets(IDS), LABELS)
def test_edits_about_other_entries_are_left_out(edits: Edits, known: set[int], labels: list[int]) -> None:
    own = edits.among({"unit": known})
    assert all(set(edit.ids) <= known and edit.level == "unit" for edit in own.history)
    strangers = [label for label in labels if label not in known]
    assert own.apply("unit", array(strangers)).tolist() == strangers
    assert Edits.from_json(own.as_json(), "edits.json") == own
    assert edits.among({"unit": range(9), "motif": range(9)}) == edits


# ---------------------------------------------------------------- undo


@quick
@given(HISTORIES, st.integers(0, 20))
def test_an_undo_is_as_if_it_had_never_been_and_its_undo_brings_it_back(edits: Edits, which: int) -> None:
    assert list(edits.in_force) == naive_edits.in_force(edits.history)
    if not edits.history:
        return
    place = which % len(edits.history)
    try:
        undone = edits.undone(place)
    except SettingError as error:
        assert "be the name of" in str(error)  # an undo would give one name to two
        return
    assert undone.history[: len(edits.history)] == edits.history  # only ever added to
    if edits.is_undone[place]:
        assert undone == edits
        return
    assert undone.is_undone[place]
    if edits.history[place].kind != "undo":
        without = [
            edit
            for i, edit in enumerate(edits.history)
            if edit.kind != "undo" and not edits.is_undone[i] and i != place
        ]
        assert list(undone.in_force) == without
    again = Edits((*undone.history, Edit("undo", "unit", of=len(undone.history) - 1)))
    assert again.in_force == edits.in_force


def test_what_was_made_together_is_undone_together() -> None:
    edits = Edits().named("u1", "reach").merged(["u3", "u7"], own_motifs={3: 3, 7: 7}).named("u2", "grasp")
    for place in (1, 2):
        undone = edits.undone(place)
        assert (undone.groups("unit"), undone.groups("motif")) == ((), ())
        assert undone.names("unit") == {1: "reach", 2: "grasp"}
        assert undone.undone(len(undone.history) - 1).groups("motif") == (3,)


def test_a_name_that_was_given_to_another_does_not_come_back() -> None:
    edits = Edits().named("u3", "reach")
    taken = edits.undone(0).named("u4", "Reach")
    with pytest.raises(SettingError, match="unit:3 and unit:4"):
        taken.undone(1)
    with pytest.raises(SettingError, match="no edit 9 "):
        edits.undone(9)


# ---------------------------------------------------------------- spans


SPANS = st.tuples(st.sampled_from(["day", "night"]), st.integers(0, 11), st.integers(1, 6)).map(
    lambda own: FrameSpan(own[0], own[1], min(12, own[1] + own[2]))
)
SPAN_EDITS = st.one_of(
    st.builds(lambda level, id, spans: Edit("relabel", level, (id,), spans=tuple(spans)), LEVELS,
              st.integers(OTHER, 7), st.lists(SPANS, min_size=1, max_size=2)),
    st.builds(lambda level, id, spans: Edit("divide", level, (id, id + 1000), spans=tuple(spans)), LEVELS, IDS,
              st.lists(SPANS, min_size=1, max_size=3)),
    st.builds(lambda level, at: Edit("cut", level, spans=(FrameSpan("day", at, at),)), LEVELS, st.integers(1, 11)),
)  # fmt: skip
TRACKS = st.lists(st.integers(OTHER, 7), min_size=12, max_size=12)
BEGINS = st.sets(st.integers(1, 11), max_size=4)
ALL_HISTORIES = st.lists(SPAN_EDITS | EDITS | st.integers(0, 20), max_size=9).map(with_undos)


def shown(edits: Edits, level: Any, labels: list[int], begins: set[int]) -> tuple[list[int], set[int]]:
    track = LevelTrack(array(labels), np.array(sorted(begins), np.int64)).painted(edits.strokes(level, "day"))
    return edits.apply(level, track.labels).tolist(), set(track.begins.tolist())


@quick
@given(ALL_HISTORIES, LEVELS, TRACKS, BEGINS)
def test_painted_frames_equal_their_naive_twin(edits: Edits, level: Any, labels: list[int], begins: set[int]) -> None:
    track, starts = naive_edits.painted(edits.history, level, "day", labels, begins)
    assert shown(edits, level, labels, begins) == (naive_edits.applied(edits.history, level, track), starts)
    assert edits.touched == {span.recording for edit in naive_edits.in_force(edits.history) for span in edit.spans}


@quick
@given(ALL_HISTORIES, LEVELS, TRACKS, BEGINS)
def test_painted_twice_is_painted_once(edits: Edits, level: Any, labels: list[int], begins: set[int]) -> None:
    once = shown(edits, level, labels, begins)
    assert shown(edits, level, *once) == once


@quick
@given(st.lists(SPAN_EDITS, max_size=4), st.lists(EDITS, max_size=4), LEVELS, TRACKS, st.randoms())
def test_spans_and_merges_may_come_in_any_order(
    spans: list[Edit], merges: list[Edit], level: Any, labels: list[int], random: Any
) -> None:
    places = sorted(random.sample(range(len(spans) + len(merges)), len(spans)))
    mixed = [spans[places.index(i)] if i in places else None for i in range(len(spans) + len(merges))]
    rest = iter(merges)
    interleaved = Edits(tuple(next(rest) if edit is None else edit for edit in mixed))
    assert shown(interleaved, level, labels, set()) == shown(Edits((*spans, *merges)), level, labels, set())


@quick
@given(ALL_HISTORIES)
def test_span_edits_are_written_and_read(edits: Edits) -> None:
    assert Edits.from_json(json.loads(json.dumps(edits.as_json())), "edits.json") == edits


@quick
@given(ALL_HISTORIES, ALL_HISTORIES)
def test_lists_are_joined_and_parted(first: Edits, then: Edits) -> None:
    both = first.then(then)
    assert both.in_force == first.in_force + then.in_force
    assert both.since(len(first.history)) == then


@quick
@given(ALL_HISTORIES, st.sets(st.integers(0, 2000), max_size=4), LEVELS)
def test_a_new_id_was_never_used(edits: Edits, known: set[int], level: Any) -> None:
    new = edits.fresh_id(level, known)
    assert new >= FIRST_BY_HAND and new > max(known, default=0)
    assert all(new > id for edit in edits.history if edit.level == level for id in edit.ids)


def test_both_levels_follow_where_a_unit_is_its_own_motif() -> None:
    own, span = {3: 4}, FrameSpan("day", 2, 5)
    edits = Edits().relabelled(EntryId("unit", 3), [span], own_motifs=own).cut("unit", "day", 4, both=True)
    edits = edits.divided_off(EntryId("unit", 3), [span], {"unit": [3], "motif": [4]}, own_motifs=own)
    assert [(edit.kind, edit.level, edit.ids) for edit in edits.history] == [
        ("relabel", "unit", (3,)), ("relabel", "motif", (4,)), ("cut", "unit", ()), ("cut", "motif", ()),
        ("divide", "unit", (3, 1000)), ("divide", "motif", (4, 1000)),
    ]  # fmt: skip
    assert edits.divided_motifs() == {1000: 1000} and edits.divided("motif") == {1000: 4}
    other = Edits().relabelled(EntryId("unit", OTHER), [span], own_motifs=own)
    assert [edit.ids for edit in other.history] == [(OTHER,), (OTHER,)]
    assert edits.undone(5).made_by_hand("unit") == () and edits.undone(5).fresh_id("unit", [3]) == 1001


@pytest.mark.parametrize(
    "change",
    [
        {"spans": []}, {"spans": [["day", 5, 5]]}, {"spans": [["day", -1, 5]]}, {"spans": [[3, 1, 5]]},
        {"spans": [["day", 1.0, 5]]}, {"spans": [["day", 1]]}, {"ids": [-2]}, {"ids": []}, {"kind": "cut", "ids": []},
        {"kind": "divide"}, {"kind": "name", "name": "reach"}, {"follows": 1}, {"key": 3}, {"key": "x" * 81},
        {"of": 3}, {"kind": "undo", "spans": [], "of": 0},
    ],
)  # fmt: skip
def test_what_is_no_span_edit(change: dict[str, Any]) -> None:
    good = Edits().relabelled(EntryId("unit", 3), [FrameSpan("day", 1, 5)]).as_json()
    with pytest.raises(ModelError, match=r"edits\.json: not a list"):
        Edits.from_json(good | {"edits": [good["edits"][0] | change]}, "edits.json")


GOOD = Edits().named("u3", "reach").merged(["u3", "u7"]).as_json()


@pytest.mark.parametrize(
    "found",
    [
        None,
        [],
        {},
        GOOD | {"schema": 2},
        GOOD | {"format": "rondo-model"},
        GOOD | {"edits": 3},
        *(
            GOOD | {"edits": [GOOD["edits"][0] | change]}
            for change in (
                {"kind": "rename"}, {"level": "state"}, {"ids": [-1]}, {"ids": [True]}, {"ids": []}, {"ids": [1, 2]},
                {"name": "u3"}, {"name": 3}, {"at": 3}, {"kind": "merge"}, {"kind": "merge", "ids": [1, 1]},
            )
        ),
    ],
)  # fmt: skip
def test_what_is_no_list_of_edits(found: Any) -> None:
    with pytest.raises(ModelError, match=r"edits\.json: not a list"):
        Edits.from_json(found, "edits.json")
