"""A stored recording is replayed as a stream: the rows of `read_recording`, in the channels of the model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest

from rondo.errors import ModelError, RecordingError, RondoWarning
from rondo.files.read import read_recording
from rondo.live.source import Request, open_source, source_kind
from tests.formats.reading import save_h5
from tests.live.feeding import read_to_end

CHANNELS = ("a", "b")
VALUES = np.random.default_rng(0).normal(size=(150, 2)).astype(np.float32)
TIMES = np.arange(150) / 50


def stored(folder: Path, suffix: str) -> Path:
    path = folder / f"walk{suffix}"
    table = pl.DataFrame({"time": TIMES, "a": VALUES[:, 0], "b": VALUES[:, 1]})
    if suffix == ".parquet":
        table.write_parquet(path)
    elif suffix == ".npz":
        np.savez(path, X=VALUES, time=TIMES, channels=np.array(CHANNELS))
    elif suffix == ".npy":
        np.save(path, VALUES)
    elif suffix == ".h5":
        save_h5(path, X=VALUES, time=TIMES, channels=np.array(CHANNELS, "S"))
    else:  # text in UTF-16, as spreadsheets write it
        path.write_bytes(table.write_csv(separator="\t").encode("utf-16"))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".h5", ".txt"])
def test_rows_are_those_of_the_recording(tmp_path: Path, suffix: str) -> None:
    path = stored(tmp_path, suffix)
    assert source_kind(str(path)) == ("recorded file", "walk")
    recording = read_recording(path)
    found = read_to_end(open_source(str(path), Request(CHANNELS, rate=50.0)), 7)
    npt.assert_array_equal(found.values, recording.values)
    npt.assert_array_equal(found.times_s, recording.timestamps_s)


def test_channels_go_by_name_else_by_position(tmp_path: Path) -> None:
    path = stored(tmp_path, ".npz")
    with pytest.warns(RondoWarning, match=r"walk\.npz: 1 channel .*'a'"):
        found = read_to_end(open_source(str(path), Request(("b",))))
    npt.assert_array_equal(found.values, VALUES[:, 1:])
    with pytest.warns(RondoWarning, match="position as 'a', 'b'"):
        found = read_to_end(open_source(str(stored(tmp_path, ".npy")), Request(CHANNELS)))
    npt.assert_array_equal(found.values, VALUES)
    with pytest.raises(RecordingError, match=r"walk\.npz: .*'c'; expected 'a', 'c'"):
        open_source(str(path), Request(("a", "c")))


def test_channels_that_look_like_codes_are_kept_where_the_model_has_them(tmp_path: Path) -> None:
    codes = np.repeat([0.0, 3.0, 1.0, 3.0, 0.0, 7.0], 100)
    np.save(tmp_path / "a.npy", np.stack([np.sin(np.arange(600)), codes], axis=1))
    assert read_recording(tmp_path / "a.npy").channels == ("ch0",)
    assert read_to_end(open_source(str(tmp_path / "a.npy"), Request(("ch0", "ch1")))).values.shape == (600, 2)
    with pytest.warns(RondoWarning, match="as labels do|by position"):
        assert read_to_end(open_source(str(tmp_path / "a.npy"), Request(("x",)))).values.shape == (600, 1)


def test_a_file_that_changed_is_refused(tmp_path: Path) -> None:
    path = stored(tmp_path, ".npz")
    source = open_source(str(path), Request(CHANNELS))
    source.read(10)
    bookmark = source.bookmark()
    np.savez(path, X=VALUES + 1, time=TIMES, channels=np.array(CHANNELS))
    with pytest.raises(ModelError, match=r"walk\.npz: changed since"):
        open_source(str(path), Request(CHANNELS, bookmark=bookmark))


def test_a_table_below_statistics_is_read_whole(tmp_path: Path) -> None:
    statistics = "".join(f'"REST","{i}","{i * 1.5}"\n' for i in range(80))
    rows = pl.DataFrame({"time": TIMES, "a": VALUES[:, 0], "b": VALUES[:, 1]}).write_csv()
    path = tmp_path / "walk.csv"
    path.write_text(f'"--- Statistics ---"\n"Type","Number","Mean"\n{statistics}"--- Epochs ---"\n{rows}')
    assert source_kind(str(path)) == ("recorded file", "walk")
    with pytest.warns(RondoWarning, match="table begins below"):
        found = read_to_end(open_source(str(path), Request(CHANNELS, rate=50.0)))
    npt.assert_array_equal(found.values, read_recording(path).values)
    path.write_text(rows)
    assert source_kind(str(path))[0] != "recorded file"  # it may grow
