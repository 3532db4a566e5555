"""One list of edits: only ever added to, the same in whatever order merges come, equal to its naive twin."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.data.labels import OTHER
from rondo.editing.edits import FIRST_BY_HAND, Edits, KnownIds
from rondo.editing.edits_file import upgraded
from rondo.editing.kinds import Edit, FrameSpan
from rondo.editing.names import EntryId, known_entry
from rondo.errors import ModelError, SettingError
from tests import naive_edits

IDS = st.integers(0, 7)
LEVELS = st.sampled_from(["unit", "motif"])
SPANS = st.tuples(st.sampled_from(["day", "night"]), st.integers(0, 11), st.integers(1, 6)).map(
    lambda own: FrameSpan(own[0], own[1], min(12, own[1] + own[2]))
)
TRACKS = st.lists(st.integers(OTHER, 7), min_size=12, max_size=12)
BEGINS = st.sets(st.integers(1, 11), max_size=4)
EDITS = st.one_of(
    st.builds(lambda level, ids: Edit("merge", level, tuple(ids)), LEVELS, st.sets(IDS, min_size=2, max_size=4)),
    st.builds(lambda level, id, name: Edit("name", level, (id,), name), LEVELS, IDS, st.sampled_from(["", "a", "b"])),
    st.builds(lambda level, id, spans: Edit("relabel", level, (id,), spans=tuple(spans)), LEVELS,
              st.integers(OTHER, 7), st.lists(SPANS, min_size=1, max_size=3)),
    st.builds(lambda level, name, spans: Edit("relabel", level, (), name, tuple(spans), new=True), LEVELS,
              st.sampled_from(["", "a", "c"]), st.lists(SPANS, min_size=1, max_size=2)),
    st.builds(lambda ids: Edit("coarsen", "motif", groups=(tuple(ids[:2]), tuple(ids[2:])) if ids else ()),
              st.lists(IDS, min_size=4, max_size=8, unique=True) | st.just([])),
    st.builds(lambda of: Edit("undo", of=of), st.integers(0, 12)),
)  # fmt: skip
ALL = tuple(range(8))
APART, PAIRED = KnownIds({"unit": ALL, "motif": ALL}), KnownIds({"unit": ALL, "motif": ALL}, {id: id for id in ALL})


def made(known: KnownIds, wanted: list[Edit]) -> Edits:
    """The history of what could be done."""
    edits = Edits()
    for edit in wanted:
        try:
            edits = edits.added(edit, known)
        except SettingError:
            continue
    return edits


HISTORIES = st.builds(made, st.sampled_from([APART, PAIRED]), st.lists(EDITS, max_size=12))

quick = settings(max_examples=60, deadline=None)


@quick
@given(HISTORIES, LEVELS)
def test_names_and_groups_equal_their_naive_twin(edits: Edits, level: Any) -> None:
    assert list(edits.in_force) == naive_edits.in_force(edits.history)
    for id in (*range(9), FIRST_BY_HAND):
        assert edits.name(level, id) == naive_edits.name(edits.history, level, id)
        assert edits.kept(level, id) == naive_edits.kept(edits.history, level, id)
        group = next((group for group in naive_edits.groups(edits.history, level) if min(group) == id), {id})
        assert {id, *edits.absorbed(level, id)} == group
        assert (id in edits.groups(level)) == (len(group) > 1)
    assert edits.names(level) == {id: name for id in range(1020) if (name := edits.name(level, id))}
    names = [name.casefold() for name in edits._own_names.values()]
    assert len({*names}) >= len(names) / 2  # one per level


@quick
@given(st.lists(st.sets(IDS, min_size=2, max_size=3), min_size=2, max_size=4))
def test_the_order_of_merges_does_not_matter(merges: list[set[int]]) -> None:
    results = set()
    for order in permutations(merges):
        edits = Edits()
        for ids in order:
            edits = edits.merged([EntryId("unit", id) for id in ids])
        results.add(tuple(edits.kept("unit", id) for id in range(8)))
    assert len(results) == 1


@quick
@given(HISTORIES, IDS, st.sampled_from([APART, PAIRED]))
def test_a_split_gives_the_id_back_and_leaves_the_others_together(edits: Edits, id: int, known: KnownIds) -> None:
    kept = edits.kept("unit", id)
    others = {kept, *edits.absorbed("unit", kept)} - {id}
    if not others:
        was_merged = any(edit.kind == "merge" and edit.level == "unit" and id in edit.ids for edit in edits.history)
        if was_merged:
            assert edits.split(EntryId("unit", id), known=known) is edits
        else:
            with pytest.raises(SettingError):
                edits.split(EntryId("unit", id), known=known)
        return
    after = edits.split(EntryId("unit", id), known=known)
    assert after.kept("unit", id) == id and not after.absorbed("unit", id)
    assert {after.kept("unit", other) for other in others} == {min(others)}
    assert after.history[: len(edits.history)] == edits.history
    alone = {id} if known is PAIRED else set()
    for motif in {*ALL} - alone:
        group = {motif, *edits.absorbed("motif", motif)} - alone
        if edits.kept("motif", motif) == motif:
            assert {after.kept("motif", each) for each in group} == {min(group)}


@quick
@given(HISTORIES, st.integers(0, 12))
def test_an_undo_is_as_if_the_edit_had_never_been(edits: Edits, place: int) -> None:
    try:
        after = edits.added(Edit("undo", of=place))
    except SettingError:
        return
    assert after.history[: len(edits.history)] == edits.history  # only ever added to
    if place in edits.undone:
        assert after is edits
        return
    n_before = len([each for each in range(place) if each not in edits.undone and edits.history[each].kind != "undo"])
    assert after.in_force == edits.in_force[:n_before] + edits.in_force[n_before + 1 :]


def test_what_cannot_be_undone() -> None:
    edits = Edits().named("u3", "reach").undo()
    for number in (0, 2, 3, None):
        with pytest.raises(SettingError):
            edits.undo(number)
    taken = edits.named("u4", "Reach")
    assert taken.names("unit") == {4: "Reach"}
    of_stream = Edits().named("u3", "reach").then(Edits().named("u4", "grasp"))
    with pytest.raises(SettingError):
        of_stream.undo(1)
    assert [row["can_undo"] for row in of_stream.rows()] == [False, True]
    undone = of_stream.undo()
    assert undone.names("unit") == {3: "reach"} and [edit.of for edit in undone.own.history] == [-1, 0]


@quick
@given(HISTORIES, LEVELS, st.sampled_from([APART, PAIRED]))
def test_a_new_id_was_never_used(edits: Edits, level: Any, known: KnownIds) -> None:
    after = edits.added(Edit("relabel", level, spans=(FrameSpan("day", 1, 2),), new=True), known)
    (new,) = after.history[-1].ids
    assert new >= FIRST_BY_HAND and new not in {id for edit in edits.history for id in naive_edits.ids_in(edit, level)}
    assert new in after.made_in_force(level) and new not in after.undo().made_in_force(level)
    assert bool(after.history[-1].motifs) == (level == "unit" and known is PAIRED)


def test_both_levels_follow_where_a_unit_is_its_own_motif() -> None:
    span, known = FrameSpan("day", 2, 5), KnownIds({"unit": (3, 5), "motif": (4, 6)}, {3: 4, 5: 6})
    edits = Edits().added(Edit("relabel", "unit", (3,), spans=(span,)), known).merged(["u3", "u5"], known=known)
    edits = edits.added(Edit("relabel", "unit", (OTHER,), spans=(span,)), known)
    edits = edits.added(Edit("relabel", "unit", new=True, spans=(span,)), known).merged(["u3", "u1000"], known=known)
    assert [edit.motifs for edit in edits.history] == [(4,), (4, 6), (OTHER,), (1000,), (4, 1000)]
    assert edits.kept("motif", 1000) == 4 and edits.split("u5", known=known).kept("motif", 6) == 6


def test_names_are_one_of_a_level_and_done_again_nothing_is_added() -> None:
    edits = Edits().named("u3", "reach").merged(["u3", "u7"])
    assert edits.named("unit:3", " reach ") is edits and edits.merged(["u7", "u3"]) is edits
    assert edits.named("m3", "reach").names("motif") == {3: "reach"}
    assert edits.unnamed("u3").named("u4", "Reach").names("unit") == {4: "Reach"}
    grasped = Edits().named("u7", "grasp").merged(["u3", "u7"]).named("u3", "reach")
    assert grasped.name("unit", 7) == "reach" and grasped.split("u7").names("unit") == {3: "reach", 7: "grasp"}
    for name in ("", "  \n", "x" * 81, "u3", "Unit:12", "other", "a\x07b"):
        with pytest.raises(SettingError, match="name"):
            edits.named("unit:1", name)
    for entry in ("3", "unit", "unit:", "unit:-1", "unit:03", "state:3", "unit:3.0", ""):
        with pytest.raises(SettingError, match="unit:3"):
            edits.named(entry, "reach")
    for entries in ([], ["u3"], ["u3", "unit:3"], ["u3", "m4"]):
        with pytest.raises(SettingError, match="one level"):
            edits.merged(entries)
    with pytest.raises(SettingError, match="'reach' is the name of unit:3 already"):
        edits.named("u4", "Reach")


def test_entries_that_are_not_there() -> None:
    known = KnownIds({"unit": (0, 2), "motif": (0, 1)}, unshown=(1,))
    assert known_entry("u2", known.ids) == EntryId("unit", 2)
    wanted = [
        Edit("name", "unit", (1,), "reach"), Edit("merge", "unit", (0, 1)), Edit("merge", "motif", (0, 1)),
        Edit("relabel", "motif", (1,), spans=(FrameSpan("day", 0, 1),)),
    ]  # fmt: skip
    for edit in wanted:
        with pytest.raises(SettingError):
            Edits().added(edit, known)
    assert Edits().added(Edit("name", "motif", (1,), "reach"), known).names("motif") == {1: "reach"}
    with pytest.raises(SettingError, match="unit:7 is part of unit:3"):
        Edits().merged(["u3", "u7"]).named("u7", "reach")


@quick
@given(HISTORIES)
def test_what_is_written_is_read(edits: Edits) -> None:
    assert Edits.from_json(json.loads(json.dumps(edits.as_json())), "edits.json") == edits


@quick
@given(HISTORIES, HISTORIES)
def test_lists_are_joined_and_parted(first: Edits, then: Edits) -> None:
    both = first.then(then)
    assert both.in_force == first.in_force + then.in_force
    assert both.own == then


@quick
@given(HISTORIES, st.sets(IDS))
def test_names_and_merges_of_known_entries_are_carried_over(edits: Edits, known: set[int]) -> None:
    carried = edits.carried()
    assert not carried.relabels and not carried.undone and carried.carried() is carried
    for level in ("unit", "motif"):
        assert not any(edit.ids_of(level) and max(edit.ids_of(level)) >= FIRST_BY_HAND for edit in carried.history)
    own = edits.among({"unit": known})
    assert all({*edit.ids} <= known and edit.level == "unit" and not edit.motifs for edit in own.history)
    if not any(edits.made(level) for level in ("unit", "motif")):
        assert carried.names("unit") == edits.names("unit")
        assert [carried.kept("motif", id) for id in ALL] == [edits.kept("motif", id) for id in ALL]


GOOD = Edits().named("u3", "reach").merged(["u3", "u7"]).as_json()
RELABEL = Edit("relabel", "unit", (3,), spans=(FrameSpan("day", 1, 5),)).as_json()


@pytest.mark.parametrize(
    "found",
    [
        None, [], {}, GOOD | {"schema": 3}, GOOD | {"format": "rondo-model"}, GOOD | {"edits": 3},
        *(GOOD | {"edits": [GOOD["edits"][0] | change]} for change in (
            {"kind": "rename"}, {"level": "state"}, {"ids": [-1]}, {"ids": [True]}, {"ids": []}, {"ids": [1, 2]},
            {"name": "u3"}, {"name": 3}, {"at": 3}, {"kind": "merge"}, {"kind": "merge", "ids": [1, 1], "name": ""},
        )),
        *(GOOD | {"edits": [RELABEL | change]} for change in (
            {"spans": []}, {"spans": [["day", 5, 5]]}, {"spans": [["day", -1, 5]]}, {"spans": [[3, 1, 5]]},
            {"spans": [["day", 1.0, 5]]}, {"spans": [["day", 1]]}, {"ids": [-2]}, {"ids": []}, {"ids": ["new"]},
            {"kind": "cut"}, {"kind": "name"}, {"new": 1}, {"key": 3}, {"key": "x" * 81}, {"of": 3}, {"motifs": ["m"]},
            {"kind": "undo", "spans": [], "ids": [], "of": 0},
        )),
    ],
)  # fmt: skip
def test_what_is_no_list_of_edits(found: Any) -> None:
    with pytest.raises(ModelError, match=r"edits\.json"):
        Edits.from_json(found, "edits.json")


def row(kind: str, level: str, ids: list[int], **more: Any) -> dict[str, Any]:
    return {"kind": kind, "level": level, "ids": ids, "name": "", "at": "", **more}


def test_old_kinds_become_new_ones() -> None:
    spans = [["day", 2, 5]]
    of_model = [
        row("merge", "unit", [1, 2, 3]), row("merge", "motif", [1, 2, 3], follows=True), row("split", "unit", [3]),
        row("split", "motif", [3], follows=True), row("name", "unit", [0], name="rest"), row("undo", "unit", [0], of=4),
        row("undo", "unit", [], of=5), row("merge", "unit", [4, 5]), row("undo", "unit", [4, 5], of=7),
    ]  # fmt: skip
    of_frames = [
        row("relabel", "unit", [1], spans=spans), row("cut", "unit", [], spans=[["day", 2, 2]], follows=True),
        row("divide", "unit", [1, 1000], spans=spans, key="k"),
        row("divide", "motif", [1, 1000], spans=spans, follows=True),
        row("name", "unit", [1000], name="limp", follows=True), row("undo", "unit", [1, 1000], of=2),
        row("undo", "motif", [1, 1000], of=3, follows=True), row("undo", "unit", [1000], of=4, follows=True),
    ]  # fmt: skip
    edits = upgraded([of_model, of_frames])
    for level in ("unit", "motif"):
        assert edits.moved(level) == {2: 1}
    assert edits.names("unit") == {0: "rest"}  # its undo was undone
    assert [(edit.kind, edit.ids, edit.motifs) for edit in edits.relabels] == [("relabel", (1,), ())]
    gone = next(edit for edit in edits.history if edit.new)
    assert (gone.ids, gone.motifs, gone.name, gone.key) == ((1000,), (1000,), "limp", "k")
    assert Edits.from_json(edits.as_json(), "edits.json") == edits
    assert edits.added(Edit("relabel", spans=gone.spans, new=True), APART).history[-1].ids == (1001,)
