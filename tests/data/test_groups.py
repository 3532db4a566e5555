"""Groups of recordings by a word, a pattern, a table or a mapping; what has none is refused in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.data.groups import groups_of
from rondo.errors import InputError, SettingError


@pytest.mark.parametrize(
    ("word", "id", "group"),
    [
        ("subject", "subject12_walk", "subject12"),
        ("subject", "walk-subject=A", "subject=A"),
        ("device", "device_07", "device_07"),
        ("sub", "sub-01_ses-02_run-1", "sub-01"),
        ("subject", "subject 3 walk", "subject 3"),
        ("device", "device=3fa9-1", "device=3fa9"),
        ("day", "s1_day=2024-01-31_a", "day=2024-01-31"),
        ("person", "person_müller", "person_müller"),
    ],
)
def test_a_word_is_found_with_its_value(word: str, id: str, group: str) -> None:
    assert groups_of([id], word) == {id: group}


@pytest.mark.parametrize(
    ("word", "id"),
    [("day", "daytime1"), ("subject", "nosubject1"), ("subject", "subjects"), ("subject", "subject"), ("day", "1day2")],
)
def test_a_word_without_a_value_of_its_own_is_not_found(word: str, id: str) -> None:
    with pytest.raises(SettingError, match=f"'{word}' .*'{id}' \\(1 of 1"):
        groups_of([id], word)


def test_folders_count_where_ids_are_silent_and_the_innermost_wins() -> None:
    sources = {
        "a": "s3://bucket/subject=0/subject=3/a.parquet",
        "b": "C:\\study\\subject=4\\b.csv",
    }
    assert groups_of(["a", "b"], "subject", sources) == {"a": "subject=3", "b": "subject=4"}
    assert groups_of(["a", "b"], "subject=([0-9])", sources) == {"a": "0", "b": "4"}  # a pattern takes the first
    # one id that has it is not enough: groups of ids and of folders are never mixed
    mixed = {"subject1": "subject=3/subject1.csv", "b": "subject=4/b.csv"}
    assert groups_of(list(mixed), "subject", mixed) == {"subject1": "subject=3", "b": "subject=4"}
    assert groups_of(["subject1"], "subject", {"subject1": "subject=3/subject1.csv"}) == {"subject1": "subject1"}


def test_the_name_of_the_file_itself_is_no_folder() -> None:
    with pytest.raises(SettingError, match="finds nothing"):
        groups_of(["a"], "subject", {"a": "data/subject=3"})
    with pytest.raises(SettingError, match="finds nothing"):
        groups_of(["a"], "subject", {})


def test_patterns_and_their_first_bracket() -> None:
    ids = ["s1_a", "s2_b"]
    assert groups_of(ids, "s[0-9]") == {"s1_a": "s1", "s2_b": "s2"}
    assert groups_of(ids, "s([0-9])_(.)") == {"s1_a": "1", "s2_b": "2"}
    with pytest.raises(SettingError, match="finds nothing"):
        groups_of(ids, "^(x)?s")
    with pytest.raises(SettingError, match="no regular expression"):
        groups_of(ids, "(")
    with pytest.raises(SettingError, match=r"'s2_b' \(1 of 2 recordings\)"):
        groups_of(ids, "s1_|q")


@pytest.mark.parametrize(("suffix", "comma"), [(".csv", ","), (".TSV", "\t")])
def test_tables(tmp_path: Path, suffix: str, comma: str) -> None:
    table = tmp_path / f"people{suffix}"
    table.write_text(
        f"\ufeffrecording{comma} group {comma}age\na{comma}old {comma}70\nb{comma}young{comma}20\n", "utf-8"
    )
    assert groups_of(["b", "a"], str(table)) == {"b": "young", "a": "old"}
    with pytest.raises(InputError, match=r"'c' \(1 of 2\)"):
        groups_of(["a", "c"], str(table))


def test_tables_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        groups_of(["a"], str(tmp_path / "no.csv"))
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(InputError, match="it is not text"):
        groups_of(["a"], str(tmp_path / "bytes.csv"))
    (tmp_path / "other.csv").write_text("id,group\n")
    with pytest.raises(InputError, match="found id, group"):
        groups_of(["a"], str(tmp_path / "other.csv"))


def test_a_mapping_names_a_group_for_every_recording() -> None:
    assert groups_of(["a", "b"], {"b": "y", "a": "x", "c": "z"}) == {"a": "x", "b": "y"}
    for groups in ({"a": "x"}, {"a": "x", "b": ""}):
        with pytest.raises(SettingError, match=r"recording 'b' \(1 of 2\)"):
            groups_of(["a", "b"], groups)
    assert groups_of(["a", "b"], None) == {"a": "a", "b": "b"}
