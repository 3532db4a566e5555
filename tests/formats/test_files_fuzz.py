"""Text tables as they may be: what is written comes back, blocks change nothing, ragged rows are found."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import numpy.testing as npt
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rondo.errors import RecordingError
from rondo.files.read import read_recording
from rondo.files.reading import Reading
from tests import naive_files as naive
from tests.formats.reading import read_in_blocks, refusal

few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
many = settings(few, max_examples=120)


floats = st.floats(width=32, allow_infinity=False)
tables = st.tuples(st.integers(1, 12), st.integers(1, 5)).flatmap(
    lambda shape: hnp.arrays(np.float32, shape, elements=floats)
)
separators = st.sampled_from([",", ";", "\t"])
line_ends = st.sampled_from(["\n", "\r\n"])


def written(values: np.ndarray, separator: str, line_end: str, missing: str) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator=line_end)
    writer.writerow([f"channel {i}" for i in range(values.shape[1])])
    for row in values:
        writer.writerow([missing if np.isnan(value) else str(value) for value in row])
    return text.getvalue().encode()


@many
@given(
    values=tables,
    separator=separators,
    line_end=line_ends,
    missing=st.sampled_from(["", "nan", "NA", "null"]),
)
def test_what_is_written_comes_back(
    tmp_path: Path, values: np.ndarray, separator: str, line_end: str, missing: str
) -> None:
    (tmp_path / "a.csv").write_bytes(written(values, separator, line_end, missing))
    if np.isnan(values).all():
        refusal(lambda: read_recording(tmp_path / "a.csv"), naming=tmp_path)
        return
    recording = read_recording(tmp_path / "a.csv")
    kept = np.flatnonzero(~np.isnan(values).all(axis=0))  # a column without a value is left out
    npt.assert_array_equal(recording.values.astype(np.float32), values[:, kept])
    assert recording.channels == tuple(f"channel {i}" for i in kept)


@few
@given(values=tables, separator=separators, line_end=line_ends, tail=st.sampled_from(["", "\n", "\r\n\n"]))
def test_blocks_of_every_size_give_what_the_whole_file_gives(
    tmp_path: Path, values: np.ndarray, separator: str, line_end: str, tail: str
) -> None:
    content = written(np.nan_to_num(values), separator, line_end, "")
    (tmp_path / "a.csv").write_bytes(content + tail.encode())
    names, expected = naive.read_csv(content, separator)
    for block_bytes in {1, 2, 3, 5, 8, 13, len(content) // 2, len(content) - 1, len(content), len(content) + 1}:
        recording = read_in_blocks(tmp_path / "a.csv", max(1, block_bytes))
        npt.assert_array_equal(recording.values.astype(np.float32), expected)
        assert recording.channels == tuple(names)


@many
@given(rows=st.lists(st.lists(st.sampled_from(["1", "2.5", "", '"3"', '"4,5"']), min_size=1, max_size=4), min_size=1))
def test_ragged_rows_are_found_wherever_they_are(tmp_path: Path, rows: list[list[str]]) -> None:
    """Quoted separators and short rows next to long ones, in a column that is left out and beside it.

    A row may lack its last cell, as that is left out.
    """
    content = ("label,x,label\n" + "".join(",".join(row) + "\n" for row in rows)).encode()
    (tmp_path / "a.csv").write_bytes(content)
    rows_with_cells = [row for row in rows if len(row) > 1 or any(row)]
    ends_in_separators = bool(rows_with_cells) and all(len(row) == 4 and row[3] == "" for row in rows_with_cells)
    sound = naive.is_rectangular(content) or ends_in_separators or all(len(row) in (2, 3) for row in rows_with_cells)
    numeric = sound and all("," not in row[1] for row in rows if any(row) or len(row) > 1)
    try:
        recording = read_recording(tmp_path / "a.csv", Reading(leave_out=["label"]))
    except RecordingError as error:
        assert not numeric or "all" in str(error) or "no rows" in str(error)
    else:
        assert sound
        assert recording.n_channels == 1
