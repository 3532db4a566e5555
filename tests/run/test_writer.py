"""Which files a run folder gets, when, and with what in them; what the system refuses is refused in one line."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import numpy.testing as npt
import polars as pl
import pytest
from polars.exceptions import ComputeError

from rondo.data.recording import Recording
from rondo.discovery import discover
from rondo.edit import apply_edits
from rondo.errors import OutputError
from rondo.result import Result
from rondo.run.overview import FrameScores, signal_overview
from rondo.run.summary import FailedFile
from rondo.run.writer import RunWriter, found_table
from tests.cli.running import tree

SOME = np.array([0.5, 0.0], np.float32)
TABLE = pl.DataFrame({"id": [1, 2]})


@pytest.fixture(scope="module")
def result() -> Result:
    """Two recordings of which a method without scores makes pieces."""
    rows = np.random.default_rng(0).normal(size=(300, 2))
    return discover([Recording(rows, 50.0, id=id) for id in ("day", "night")], "clock")


def test_the_files_of_a_recording(tmp_path: Path, result: Result) -> None:
    writer, overview = RunWriter(tmp_path), signal_overview([[1.0], [2.0]], ["x"])
    writer.add("day", overview, FrameScores(SOME, SOME), result["day"])
    writer.add("night", overview, FrameScores(np.ones(2, np.float32), np.ones(2, np.float32)))
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.np?")}
    assert files == {"labels/day.npy", "units/day.npy", "overview/day.npz", "overview/night.npz", "scores/day.npz"}
    npt.assert_array_equal(np.load(tmp_path / "labels" / "day.npy"), result["day"].motifs)
    npt.assert_array_equal(np.load(tmp_path / "units" / "day.npy"), result["day"].units)


@pytest.mark.parametrize("is_lazy", [False, True])
def test_the_tables_of_a_run(tmp_path: Path, result: Result, is_lazy: bool) -> None:
    for name in ("unshown_segments.csv", "unshown_segments.parquet"):
        (tmp_path / name).touch()  # of version 0.2.0
    segments = result.run.tables["segments"]
    unshown = segments[:1].with_columns(kind=pl.lit("phrase"))
    tables = {"segments": segments, "unshown_segments": unshown, "found": TABLE, "truth": TABLE, "training": TABLE}
    if is_lazy:
        tables = {name: table if name == "training" else table.lazy() for name, table in tables.items()}
    summary = result.summary.model_copy(update={"failed": (FailedFile(file="x.csv", why="it, too"),)})
    there: list[set[str]] = []
    RunWriter(tmp_path).close(summary, tables, lambda page: there.append({*tree(tmp_path), page.name}))
    names = {
        "segments.csv",
        "segments.parquet",
        "found.parquet",
        "truth.parquet",
        "training.csv",
        "failed.csv",
        "entries.csv",
    }
    assert there == [names | {"report.html"}]
    assert tree(tmp_path).keys() == names | {"summary.json"}
    stored = pl.read_parquet(tmp_path / "segments.parquet")
    assert stored["level"].to_list() == [*segments["level"], "phrase"]
    assert pl.read_csv(tmp_path / "segments.csv", schema=stored.schema).equals(stored)
    assert (tmp_path / "failed.csv").read_text() == 'file,why\nx.csv,"it, too"\n'
    assert (tmp_path / "training.csv").read_text() == "id\n1\n2\n"


def test_edits_change_the_files_they_concern(tmp_path: Path, result: Result) -> None:
    run = Path(result.save(tmp_path / "run"))
    drafts = [run / name / f".day.{0:08x}-1-{0:016x}.draft" for name in ("labels", "units")]
    for draft in drafts:
        draft.touch()
        os.utime(draft, (0, 0))  # left long ago
    before = {path: path.stat().st_ino for path in run.rglob("*.npy")}
    limps: list[dict[str, object]] = [{"kind": "relabel", "level": "unit", "ids": ["new"], "spans": [["day", 0, 9]]}]
    apply_edits(run, limps)
    assert {path.stem for path, inode in before.items() if path.stat().st_ino != inode} == {"day"}
    assert np.load(run / "units" / "day.npy")[:10].tolist() == [1000] * 9 + [result["day"].units[9]]
    assert not any(draft.exists() for draft in drafts)
    found = pl.read_parquet(run / "found.parquet")
    assert found.equals(result.run.tables["segments"])
    apply_edits(run, [limps[0] | {"spans": [["night", 0, 9]]}])
    assert pl.read_parquet(run / "found.parquet").equals(found)


def test_labels_that_are_gone_or_others_are_written_again(tmp_path: Path, result: Result) -> None:
    run = Path(result.save(tmp_path / "run"))
    (run / "labels" / "night.npy").unlink()
    np.save(run / "units" / "day.npy", np.zeros(300, np.int32))
    RunWriter(run).show(result.run)
    npt.assert_array_equal(np.load(run / "labels" / "night.npy"), result["night"].motifs)
    npt.assert_array_equal(np.load(run / "units" / "day.npy"), result["day"].units)
    assert found_table(result.run) is None and not (run / "found.parquet").exists()


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
