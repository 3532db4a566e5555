"""The catalogue of public data sets: names as people write them, copies where people keep them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.errors import SettingError
from rondo_bench.data_sets.catalogue import DATA_SETS, find_data_set, folders_of


@pytest.mark.parametrize("written", ["usc_had", "USC-HAD", "usc had", "UscHad"])
def test_names_are_found_however_they_are_written(written: str) -> None:
    assert find_data_set(written).name == "usc_had"


@pytest.mark.parametrize(
    ("written", "hint"),
    [("pamap", "did you mean 'pamap2'?"), ("Drive-Acts", "did you mean 'drive_act'?"), ("", "known are mocap")],
)
def test_unknown_names_are_refused_with_what_was_meant(written: str, hint: str) -> None:
    with pytest.raises(SettingError) as refused:
        find_data_set(written)
    assert hint in str(refused.value)


def test_facts_are_plausible() -> None:
    assert len({one.name for one in DATA_SETS}) == len(DATA_SETS)
    for one in DATA_SETS:
        assert find_data_set(one.name) is one
        if one.window == "auto" or one.step == "auto":
            assert one.window == one.step
        else:
            assert 0 < one.step <= one.window <= one.n_frames / one.n_recordings
        assert one.n_classes > 1


def test_folders_are_found_under_any_spelling(tmp_path: Path) -> None:
    mocap = find_data_set("mocap")
    assert folders_of(mocap, tmp_path) == []
    for name in ("MoCap", "mo-cap", "MoCap_old"):
        (tmp_path / name).mkdir()
    (tmp_path / "mocap").touch()  # a file
    assert folders_of(mocap, tmp_path) == [tmp_path / "MoCap", tmp_path / "mo-cap"]
