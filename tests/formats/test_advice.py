"""What a refusal or a note proposes works when it is tried, once."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rondo
from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.reading import Reading
from tests.formats.reading import read_one

N = 96
_OPTION = re.compile(r"--(split-by|pivot|label-column|keep-column) ('[^']*'|\"[^\"]*\")")
_SETTING = {"label-column": "leave_out", "keep-column": "keep", "split-by": "split_by", "pivot": "pivot"}


def options_in(message: str) -> list[dict[str, Any]]:
    """Each option that a message proposes, as Python takes it.

    >>> options_in("x; --split-by 'time' cuts, --label-column 'a b' leaves out")
    [{'split_by': 'time'}, {'leave_out': ['a b']}]
    """
    found = [(_SETTING[name], shlex.split(value)) for name, value in _OPTION.findall(message)]
    return [{setting: value if setting in ("leave_out", "keep") else value[0]} for setting, value in found]


def _signal(n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(rng.normal(size=(n, 2)).round(3), columns=["x", "y"])


def _block(who: str, start: float = 0.0) -> pd.DataFrame:
    made = _signal()
    made.insert(0, "person", who)
    made.insert(0, "time", start + np.arange(N) / 10)
    return made


def _meter() -> pd.DataFrame:
    """Days in any order: neither the day of the week nor its kind tells recordings apart."""
    times = pd.date_range("2026-01-01", periods=14 * N, freq="15min")
    made = _signal(14 * N).assign(date=times.strftime("%Y-%m-%d %H:%M"), day=times.day_name(), kind="weekday")
    made.loc[times.dayofweek > 4, "kind"] = "weekend"
    days = (0, 9, 3, 1, 2, 12, 4, 5, 6, 7, 8, 10, 11, 13)
    order = np.concatenate([np.arange(day * N, (day + 1) * N) for day in days])
    return made.loc[order]


REFUSED: dict[str, Callable[[], pd.DataFrame]] = {
    "one person after the other": lambda: pd.concat([_block("a"), _block("b"), _block("c")]),
    "persons at each time": lambda: pd.concat([_block("a"), _block("b")]).sort_values("time", kind="stable"),
    "persons between each other's times": lambda: pd.concat([_block("a"), _block("b", 0.03)]).sort_values("time"),
    "one reading of a person per row": lambda: (
        pd.concat([_block("a"), _block("b", 0.03)]).sort_values("time").drop(columns="y")
    ),
    "one reading per row, at places": lambda: (
        _block("a").drop(columns="person").melt("time", var_name="where", value_name="bar").sort_values("time")
    ),
    "a clock started again": lambda: pd.concat([_block("a"), _block("a")]).drop(columns="person"),
    "days in any order": _meter,
    "a column of units": lambda: _block("a").assign(
        y=lambda made: made["y"].astype(str).where(made.index != 70, "3 V")
    ),
    "a column without a name": lambda: _block("a").drop(columns="person").assign(**{"": np.arange(N) % 7 * 1.5}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_every_option_that_a_refusal_proposes_works(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    REFUSED[name]().to_csv(path, index=False)
    with pytest.raises(RecordingError) as refused:
        rondo.read(path)
    proposed = options_in(str(refused.value))
    assert proposed
    for option in proposed:
        found = rondo.read(path, Reading(**option))
        parts = [found] if isinstance(found, Recording) else found
        assert sum(part.n_frames for part in parts) >= N


def test_the_line_of_a_clock_is_that_of_the_file_in_a_part_too(tmp_path: Path) -> None:
    made = pd.concat([_block("a"), _block("b")]).reset_index(drop=True)
    made.loc[N + 40 : N + 60, "time"] = 0.5
    made.sort_values("person", ascending=False, kind="stable").to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(RecordingError, match=r"line 42 \(0\.5 s\) is earlier"):
        rondo.read(tmp_path / "a.csv", Reading(split_by="person"))
    made.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(RecordingError, match=rf"line {N + 42} \(0\.5 s\) is earlier"):
        rondo.read(tmp_path / "a.csv", Reading(split_by="person"))


def test_the_options_of_a_note_can_be_copied(tmp_path: Path) -> None:
    made = _block("a").drop(columns="person").assign(rssi=-60 - np.arange(N) % 7)
    made["State timer (s)"] = np.arange(N) % 19
    made.to_csv(tmp_path / "a.csv", index=False)
    found = read_one(tmp_path / "a.csv")
    assert found.channels == ("x", "y")
    (note,) = [note for note in found.notes if "bookkeeping" in note]
    words = shlex.split(note.partition(": --")[2].join(["--", ""]))
    assert words[::2] == ["--keep-column"] * 2
    assert read_one(tmp_path / "a.csv", keep=words[1::2]).channels == ("x", "y", "rssi", "State timer (s)")
