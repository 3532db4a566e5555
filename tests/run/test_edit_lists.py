"""The lists of a run: where an edit goes, the number it has, and the way back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.editing.edits import FIRST_BY_HAND, Edits, FrameSpan
from rondo.editing.names import EntryId
from rondo.errors import SettingError
from rondo.run.edit_lists import EditLists

NEW = EntryId("unit", FIRST_BY_HAND)
SPAN = FrameSpan("day", 3, 9)


def divided() -> EditLists:
    lists = EditLists()
    return lists.grown(lists.whole.divided_off(EntryId("unit", 3), [SPAN], {"unit": [0, 3]}, lists.now()))


def kinds(edits: Edits) -> list[str]:
    return [edit.kind for edit in edits.history]


def test_names_and_merges_go_to_the_vocabulary_and_frames_to_the_run() -> None:
    lists = divided()
    lists = lists.grown(lists.whole.named("u3", "reach", lists.now()))
    lists = lists.grown(lists.whole.merged(["u0", "u3"], lists.now()))
    lists = lists.grown(lists.whole.named(NEW, "limp", lists.now()))  # it exists in this run only
    assert (kinds(lists.own), kinds(lists.of_run)) == (["name", "merge"], ["divide", "name"])
    assert [row.edit.kind for row in lists.history()] == ["divide", "name", "merge", "name"]  # as they were made
    assert [row.number for row in lists.history()] == [1, 2, 3, 4]


def test_what_would_show_otherwise_in_the_vocabulary_goes_to_the_run() -> None:
    lists = divided()
    lists = lists.grown(lists.whole.merged(["u0", "u3"], lists.now()))
    lists = lists.grown(lists.whole.merged(["u3", NEW], lists.now()))
    split = lists.whole.split("u3", lists.now())  # read before the merge with NEW, it would leave u3 with NEW
    lists = lists.grown(split)
    assert lists.whole.shows_as(split) and lists.whole.absorbed("unit", 0) == (NEW.id,)
    assert kinds(lists.own) == ["merge"]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("name"), st.sampled_from([0, 1, 3, NEW.id]), st.sampled_from("abc")),
        st.tuples(st.just("merge"), st.sampled_from([0, 1, 3, NEW.id]), st.sampled_from([0, 1, 3, NEW.id])),
        st.tuples(st.just("split"), st.sampled_from([0, 1, 3, NEW.id]), st.none()),
        st.tuples(st.just("undo"), st.integers(1, 12), st.none()),
    ),
    max_size=9,
)


def taken(lists: EditLists, step: tuple[str, int, Any]) -> EditLists:
    kind, id, other = step
    if kind == "undo":
        return lists.undone(id)
    whole, at, entry = lists.whole, lists.now(), EntryId("unit", id)
    if kind == "name":
        return lists.grown(whole.named(entry, other, at))
    return lists.grown(whole.split(entry, at) if kind == "split" else whole.merged([entry, EntryId("unit", other)], at))


@given(STEPS)
def test_a_list_chosen_for_an_edit_shows_what_was_wanted_and_numbers_stay(steps: list[tuple[str, int, Any]]) -> None:
    lists = divided()
    for step in steps:
        before = lists.history()
        try:
            after = taken(lists, step)
        except SettingError:
            continue
        rows = after.history()
        assert [row.edit for row in rows[: len(before)]] == [row.edit for row in before]
        if step[0] == "merge":
            assert after.whole.kept("unit", step[1]) == after.whole.kept("unit", step[2])
        if step[0] == "split":
            assert after.whole.kept("unit", step[1]) == step[1] and not after.whole.absorbed("unit", step[1])
        if step[0] == "name":
            assert after.whole.name("unit", step[1]) == step[2]
        if step[0] == "undo":
            assert rows[step[1] - 1].is_undone
        assert not any(edit.ids and NEW.id in edit.ids for edit in after.own.history)
        lists = after


def test_the_last_edit_in_force_is_undone_first() -> None:
    lists = divided()
    lists = lists.grown(lists.whole.named("u3", "reach", lists.now()))
    lists = lists.undone()
    assert [row.is_undone for row in lists.history()] == [False, True, False]
    lists = lists.undone()
    assert not lists.whole.touched
    with pytest.raises(SettingError, match="nothing to undo"):
        lists.undone()
    lists = lists.undone(3)  # the undo of the name
    assert lists.whole.names("unit") == {3: "reach"}
    assert lists.history()[2].as_json() | {"at": ""} == {
        "kind": "undo", "level": "unit", "ids": [3], "name": "", "at": "", "of": 0, "number": 3,
        "what": "edit 2 undone", "undone": True, "undoes": 2, "can_undo": False,
    }  # fmt: skip


def test_what_cannot_be_undone() -> None:
    lists = EditLists(given=Edits().named("u3", "reach", "2024-01-01T00:00:00+00:00"))
    with pytest.raises(SettingError, match=r"edit 1 \(unit:3 named 'reach'\)"):
        lists.undone(1)
    with pytest.raises(SettingError, match=r"no edit 2, .*1 to 1"):
        lists.undone(2)
    with pytest.raises(SettingError, match="no edits yet"):
        EditLists().undone(1)


def test_times_always_go_on() -> None:
    ahead = EditLists(own=Edits().named("u1", "reach", "2999-01-01T00:00:00+00:00"))
    later = ahead.grown(ahead.whole.named("u2", "grasp", ahead.now()))
    assert [row.edit.name for row in later.history()] == ["reach", "grasp"]
    assert later.now() > later.history()[-1].edit.at > "2999"
    nobody_knows = replace(ahead, own=Edits().named("u1", "reach", "once"))
    assert nobody_knows.history()[0].number == 1
