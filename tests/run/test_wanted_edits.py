"""What someone wants to be edited: read from JSON, each fault in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rondo.editing.edits import FrameSpan
from rondo.errors import SettingError
from rondo.run.wanted_edits import WantedEdit, read_wanted, wanted_edits

CUT = {"kind": "cut", "level": "motif", "spans": [["day", 15, 15]], "key": "a1"}


def test_an_edit_is_read() -> None:
    assert wanted_edits([CUT]) == [WantedEdit("cut", "motif", spans=(FrameSpan("day", 15, 15),), key="a1")]
    assert WantedEdit.from_json({"kind": "undo", "number": None}).number is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (3, "expected an edit of kind name, merge, split, relabel, boundary, cut, divide, undo, got 'int'"),
        ({"kind": "rename"}, "got 'rename'"),
        ({"kind": ["cut"]}, "got ['cut']"),
        (CUT | {"level": "state"}, "cut: expected the level unit or motif, got 'state'"),
        (CUT | {"spans": []}, "cut: expected 1 span, got 0"),
        (CUT | {"spans": [["day", 1]]}, "cut: expected lists of ids and spans"),
        (CUT | {"spans": [["day", "1", 2]]}, "expected [recording, start frame, end frame]"),
        (CUT | {"spans": 3}, "cut: expected lists of ids and spans"),
        (CUT | {"ids": [1]}, "cut: expected no ids, got [1]"),
        (CUT | {"key": 3}, "cut: expected words as its key, got 3"),
        ({"kind": "merge", "ids": [1]}, "merge: expected 2 ids or more, got [1]"),
        ({"kind": "name", "ids": [True]}, "name: expected 1 id, got [True]"),
        ({"kind": "name", "ids": [-1]}, "name: expected 1 id, got [-1]"),
        ({"kind": "name", "ids": [1], "spans": [["day", 1, 2]]}, "name: expected 0 spans, got 1"),
        ({"kind": "relabel", "ids": [-1]}, "relabel: expected 1 span, got 0"),
        ({"kind": "undo", "number": "2"}, "undo: expected the number of an edit, got '2'"),
    ],
)
def test_what_is_no_edit(fields: Any, message: str) -> None:
    with pytest.raises(SettingError) as refused:
        wanted_edits([fields])
    assert message in str(refused.value) and "\n" not in str(refused.value)


def test_a_list_is_expected() -> None:
    for found in ({"edits": []}, "cut", None):
        with pytest.raises(SettingError, match="list of edits"):
            wanted_edits(found)


def file_of(folder: Path, **changed: Any) -> Path:
    path = folder / "edits.json"
    path.write_text(json.dumps({"format": "rondo-edits", "schema": 1, "run": "abc", "edits": [CUT]} | changed))
    return path


def test_a_file_gives_every_edit_a_key_of_its_own(tmp_path: Path) -> None:
    bare = {name: value for name, value in CUT.items() if name != "key"}
    path = file_of(tmp_path, edits=[CUT, bare, bare])
    keys = [edit["key"] for edit in read_wanted(path, "abc")]
    assert keys[0] == "a1" and len(set(keys)) == 3
    assert [edit["key"] for edit in read_wanted(path, "abc")] == keys


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"run": "other"}, "it holds edits of run other, and this is run abc"),
        ({"schema": 2}, "no file of edits (expected format 'rondo-edits', schema 1)"),
        ({"edits": 3}, "no file of edits"),
        ({"edits": [{"kind": "rename"}]}, "got 'rename'"),
    ],
)
def test_a_file_that_is_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError) as refused:
        read_wanted(file_of(tmp_path, **changed), "abc")
    assert message in str(refused.value)


def test_no_file_and_no_json(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"nothing\.json: cannot be read"):
        read_wanted(tmp_path / "nothing.json", "abc")
    (tmp_path / "edits.json").write_text("[" * 100_000)
    with pytest.raises(SettingError, match="no file of edits"):
        read_wanted(tmp_path / "edits.json", "abc")
