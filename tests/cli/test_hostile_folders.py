"""Folders that came from someone else: no command writes outside them, reads for ever, or takes an id for a path."""

from __future__ import annotations

import json
import os
import resource
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rondo.data.recording import Recording
from rondo.errors import OutputError
from rondo.model.rondo import Rondo
from tests.cli.running import Command, refused, tree, waves, write_csv


@pytest.fixture
def run(fitted: Path, here: Path) -> Path:
    return Path(shutil.copytree(fitted, here / "run"))


# ------------------------------------------------------------ ids


def with_id(run: Path, id: str) -> None:
    """The run as if its only recording were called so."""
    summary = json.loads((run / "summary.json").read_text())
    summary["recordings"][0]["id"] = id
    for entry in (*summary["units"], *summary["motifs"]):
        for exemplar in entry["exemplars"]:
            exemplar["recording"] = id
    (run / "summary.json").write_text(json.dumps(summary))
    segments = pl.read_parquet(run / "segments.parquet").with_columns(pl.lit(id).alias("recording"))
    segments.write_parquet(run / "segments.parquet")


LEADING_OUTSIDE = {
    "../../x": ("export", "run", "--format", "eaf", "--out", "below/out"),
    "/ABSOLUTE": ("export", "run", "--format", "audacity", "--out", "below/out"),
    "..": ("export", "run", "--format", "csv", "--out", "below/out.csv"),
    "": ("report", "run"),
    "a/b": ("name", "run", "unit:1", "zz"),
    ".": ("usage", "run"),
}


@pytest.mark.parametrize("id", LEADING_OUTSIDE)
def test_no_id_leads_outside(rondo: Command, here: Path, run: Path, id: str) -> None:
    with_id(run, id.replace("ABSOLUTE", str(here / "absolute").lstrip("/")))
    before = tree(here)
    for command in (LEADING_OUTSIDE[id], LEADING_OUTSIDE["../../x"]):
        refused(rondo(*command), "is no name for a file")
    assert tree(here) == before


def test_a_recording_whose_id_leads_outside_is_not_written(here: Path, tmp_path: Path) -> None:
    recording = Recording(waves(900), rate=50, channels=("a", "b"), id="../../x")
    model = Rondo(window=40, step=20, settings={"evidence": {"surrogates": 0}}, device="cpu").fit(recording)
    with pytest.raises(OutputError, match="no name for"):
        model.predict(recording).save(here / "out")
    assert tree(here) == {}


# ------------------------------------------------------------ files that never end


@pytest.fixture
def little_memory() -> Iterator[None]:
    """4 GB more than now: what reads for ever ends, and does not take the machine with it."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + (4 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.timeout(120)
@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("kind", ["pipe", "device", "vast"])
@pytest.mark.parametrize("name", ["model/edits.json", "summary.json", ".report_wish.json"])
def test_files_that_never_end_are_refused_at_once(rondo: Command, run: Path, kind: str, name: str) -> None:
    (run / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(run / name)
    elif kind == "device":
        (run / name).symlink_to("/dev/zero")
    else:
        with (run / name).open("wb") as file:
            file.truncate(1 << 40)
    outcome = rondo("report", "run") if name == "summary.json" else rondo("name", "run", "unit:1", "zz")
    if name == ".report_wish.json":  # a report can be drawn without it
        assert outcome.code == 0, outcome.err
    else:
        refused(outcome, "larger than" if kind == "vast" else "regular file")


def many_rows(path: Path) -> None:
    """A million equal rows, in a file of some kB."""
    table = pl.read_parquet(path.with_name("segments.parquet"))
    table[np.zeros(1_000_000, int)].write_parquet(path)


LISTS = b"[" + b"[]," * 6_000_000 + b"[]]"  # 18 MB, and 560 MB in memory
USAGE, LABEL = ("usage", "run"), ("label", "run/model", "day.csv", "--rate", "50", "--out", "o")
LARGE: dict[str, tuple[Callable[[Path], object], tuple[str, ...], str]] = {
    "segments.parquet": (many_rows, USAGE, "1,000,000 rows"),
    "unshown_segments.parquet": (many_rows, ("report", "run"), "1,000,000 rows"),
    "summary.json": (lambda path: path.write_bytes(LISTS), USAGE, "more than 4,194,304 values"),
    "model/edits.json": (lambda path: path.write_bytes(LISTS), USAGE, "larger than 17 MB"),
    "model/manifest.json": (lambda path: path.write_bytes(2 * LISTS), LABEL, "larger than 34 MB"),
    "model/tensors.safetensors": (lambda path: os.truncate(path, 1 << 29), LABEL, "not a safetensors file"),
}


@pytest.mark.parametrize("name", LARGE)
def test_sizes_are_known_before_a_folder_is_read(rondo: Command, here: Path, run: Path, name: str) -> None:
    make, command, says = LARGE[name]
    make(run / name)
    write_csv(here / "day.csv", waves())
    tracemalloc.start()
    try:
        refused(rondo(*command), says)
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()


# ------------------------------------------------------------ values that no command writes


def with_scores(value: float) -> Callable[[Path], object]:
    def write(run: Path) -> None:
        table = pl.read_parquet(run / "segments.parquet")
        table.with_columns(pl.lit(value).alias("score")).write_parquet(run / "segments.parquet")

    return write


def labels_elsewhere(run: Path) -> None:
    (run / "labels").rename(run.parent / "labels")
    (run / "labels").symlink_to(run.parent / "labels")


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "infinite scores": (with_scores(float("-inf")), "score -inf"),
    "scores that are none": (with_scores(float("nan")), "score nan"),
    "labels elsewhere": (labels_elsewhere, "labels is a link"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_values_are_refused_where_they_lie(rondo: Command, run: Path, name: str) -> None:
    change, says = ODD[name]
    change(run)
    refused(rondo("merge", "run", "unit:0", "unit:1"), "run", says)


def test_edits_of_a_far_year_are_edits(rondo: Command, run: Path) -> None:
    assert rondo("name", "run", "unit:0", "first").code == 0
    stored = json.loads((run / "model" / "edits.json").read_text())
    for edit in stored["edits"]:
        edit["at"] = "9999-12-31T23:59:59+00:00"
    (run / "model" / "edits.json").write_text(json.dumps(stored))
    for command in (("name", "run", "unit:1", "second"), ("merge", "run", "unit:0", "unit:1"), ("undo", "run")):
        assert rondo(*command).code == 0


@pytest.mark.filterwarnings("default::rondo.errors.RondoWarning")
def test_the_report_of_a_foreign_run_reads_no_file_of_mine(rondo: Command, here: Path, run: Path) -> None:
    """A wish that someone else has written names a file here; it is drawn only where this machine wrote the wish."""
    (here / "secret.csv").write_text("label\n" + "salary of 1000\n" * 900)
    wish = {"recordings": [], "channels": [], "truth": {"path": str(here / "secret.csv"), "key": None, "rate": None}}
    (run / ".report_wish.json").write_text(json.dumps(wish))
    outcome = rondo("name", "run", "unit:1", "zz")
    assert outcome.code == 0 and "rondo report" in outcome.err
    assert "salary" not in (run / "report.html").read_text()
