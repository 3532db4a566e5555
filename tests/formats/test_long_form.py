"""Tables in long form: whatever the order of the rows, and however few of them are written, the same recording."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rondo
from rondo.data.recording import Recording
from rondo.errors import SettingError
from rondo.files.long_form import Reports, pivoted
from rondo.files.reading import Reading
from tests.formats.reading import read_one, refusal, write

N = 200
RNG = np.random.default_rng(3)
WIDE = {"flow": RNG.normal(size=N).round(3), "level": np.repeat(RNG.normal(size=N // 10), 10).round(3)}
WIDE["valve"] = (np.arange(N) // 25 % 2).astype(float)


def long_table(start: str = "2026-11-15 20:31:00") -> pd.DataFrame:
    wide = pd.DataFrame({"timestamp": pd.date_range(start, periods=N, freq="10s")} | WIDE)
    return wide.melt("timestamp", var_name="tag", value_name="value")


def on_change(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["value"] != table.groupby("tag")["value"].shift()]


def same(found: Recording, *names: str) -> None:
    assert found.channels == (names or tuple(sorted(WIDE)))
    npt.assert_allclose(found.values, np.stack([WIDE[name] for name in found.channels], axis=1), rtol=1e-6)
    assert found.rate == pytest.approx(0.1)


ORDERS = {
    "by time": lambda table: table.sort_values(["timestamp", "tag"]),
    "by tag": lambda table: table,
    "newest first": lambda table: table.sort_values("timestamp", ascending=False),
    "shuffled": lambda table: table.sample(frac=1, random_state=1),
    "on change": lambda table: on_change(table).sort_values("timestamp"),
    "on change, shuffled": lambda table: on_change(table).sample(frac=1, random_state=2),
}


@pytest.mark.parametrize("order", ORDERS)
def test_any_order_of_rows_is_the_same_recording(order: str, tmp_path: Path) -> None:
    table = ORDERS[order](long_table())
    table.to_csv(tmp_path / "a.csv", index=False)
    pl.from_pandas(table.astype({"tag": str})).write_parquet(tmp_path / "a.parquet") if find_spec("pyarrow") else None
    table.to_json(tmp_path / "a.jsonl", orient="records", lines=True, date_format="iso")
    for path in sorted(tmp_path.iterdir()):
        found = read_one(path)
        same(found)
        assert "pivoted by column 'tag'" in found.notes[0]
    frame = rondo.read(table)
    assert isinstance(frame, Recording)
    same(frame)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 60), st.integers(-9, 9)), min_size=5, max_size=60))
def test_each_frame_has_the_last_value_of_each_tag(rows: list[tuple[int, int, int]]) -> None:
    """Against a loop over the reports."""
    latest = {(tag, time): float(value) for tag, time, value in rows}
    tags, times, values = zip(*((f"t{tag}", float(time), value) for (tag, time), value in latest.items()), strict=True)
    reports = Reports(np.array(times), tags, np.array(values)[:, None], np.zeros((len(tags), 1), np.bool_), ("value",))
    wide = pivoted(reports, "tag", Reading(rate=1.0))
    for channel, name in enumerate(wide.channels):
        own = sorted((time, value) for time, tag, value in zip(times, tags, values, strict=True) if tag == name)
        for frame, at in enumerate(wide.times):
            before = [value for time, value in own if time <= at]
            assert wide.values[frame, channel] == (before[-1] if before else own[0][1])


def test_bad_readings_are_missing_until_the_next_good_one(tmp_path: Path) -> None:
    table = long_table().sort_values(["timestamp", "tag"]).assign(quality=192)
    flow = table.index[table["tag"] == "flow"]
    table.loc[flow[20:23], "quality"] = 0
    path = tmp_path / "a.csv"
    table.to_csv(path, index=False)
    found = read_one(path)
    assert np.flatnonzero(np.isnan(found.values[:, 0])).tolist() == [20, 21, 22]
    assert "3 readings of bad quality missing" in found.notes
    words = table.drop(columns="quality").astype({"value": object})
    words.loc[flow[20:23], "value"] = "Bad Input"
    words.to_csv(path, index=False)
    found = read_one(path)
    assert np.flatnonzero(np.isnan(found.values[:, 0])).tolist() == [20, 21, 22]
    assert "3 readings that are no number missing" in found.notes


def test_a_tag_of_words_is_left_out(tmp_path: Path) -> None:
    table = long_table().astype({"value": object})
    table.loc[table["tag"] == "valve", "value"] = "open"
    table.to_csv(tmp_path / "a.csv", index=False)
    found = read_one(tmp_path / "a.csv")
    same(found, "flow", "level")
    assert "tag left out, as it has text: valve" in found.notes


def test_pivot_takes_any_name_and_several_values(tmp_path: Path) -> None:
    table = long_table().rename(columns={"tag": "where", "value": "bar"}).assign(kelvin=lambda made: made["bar"] + 273)
    table.sort_values("timestamp", kind="stable").to_csv(tmp_path / "a.csv", index=False)
    assert "--split-by 'where'" in refusal(lambda: read_one(tmp_path / "a.csv"), naming=tmp_path / "a.csv")
    found = read_one(tmp_path / "a.csv", pivot="where")
    assert found.channels[:2] == ("flow.bar", "flow.kelvin")
    assert "no column 'tga'" in refusal(lambda: read_one(tmp_path / "a.csv", pivot="tga"), naming=tmp_path / "a.csv")
    with pytest.raises(SettingError, match="--session"):
        Reading(pivot="where", session=True)


def test_a_rate_sets_the_grid(tmp_path: Path) -> None:
    long_table().to_csv(tmp_path / "a.csv", index=False)
    found = read_one(tmp_path / "a.csv", rate=0.05)
    assert (found.rate, found.n_frames) == (0.05, N // 2)
    npt.assert_allclose(found.values[:, 0], WIDE["flow"][::2], rtol=1e-6)


def test_a_silence_of_all_tags_stays_a_gap(tmp_path: Path) -> None:
    both = pd.concat([long_table(), long_table("2026-11-18 00:00:00")])
    on_change(both).to_csv(tmp_path / "a.csv", index=False)
    found = read_one(tmp_path / "a.csv")
    assert found.timestamps_s is not None
    steps = np.diff(found.timestamps_s)
    assert (steps > 86_400).sum() == 1
    assert 2 * N <= found.n_frames < 3 * N + 200


@pytest.mark.parametrize("text", ["time,tag,x,y\n0,a,1,2\n1,a,2,3\n2,b,1,3\n", "time,value\n0,1\n1,2\n2,5\n"])
def test_other_tables_are_not_pivoted(text: str, tmp_path: Path) -> None:
    assert not any("long form" in note for note in read_one(write(tmp_path, "a.csv", text)).notes)
