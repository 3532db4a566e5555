"""What the system refuses to the libraries that write tables is refused in one line."""

from __future__ import annotations

import errno
from pathlib import Path

import polars as pl
import pytest
from polars.exceptions import ComputeError

from rondo.errors import OutputError
from rondo.run.writer import RunWriter


@pytest.mark.parametrize("method", ["write_parquet", "sink_parquet", "sink_csv"])
def test_a_write_that_fails_inside_polars(method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pl.DataFrame({"id": [1, 2]})
    reason = f"underlying IO error: No space left on device (os error {errno.ENOSPC})"

    def fails(*_: object) -> None:
        raise ComputeError(reason)

    monkeypatch.setattr(pl.DataFrame if method == "write_parquet" else pl.LazyFrame, method, fails)
    given = table if method == "write_parquet" else table.lazy()
    with pytest.raises(OutputError, match=r"segments\.\w+: .*No space left"):
        RunWriter(tmp_path)._write_table("segments", given)
    reason = "a fault of ours"
    with pytest.raises(ComputeError, match="a fault of ours"):
        RunWriter(tmp_path)._write_table("segments", given)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
