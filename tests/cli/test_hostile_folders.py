"""Folders that came from someone else: no command writes outside them, reads for ever, or takes an id for a path."""

from __future__ import annotations

import json
import os
import re
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
    if name == ".report_wish.json" and kind != "device":  # a report can be drawn without it
        assert outcome.code == 0, outcome.err
    else:
        refused(outcome, {"vast": "larger than", "pipe": "regular file", "device": "a link"}[kind])


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


@pytest.mark.parametrize(("clock", "says"), [(([], []), "clock.frames"), (([0, 9], [0.5]), "as many seconds")])
def test_odd_clocks_are_refused(rondo: Command, run: Path, clock: tuple[list[int], list[float]], says: str) -> None:
    summary = json.loads((run / "summary.json").read_text())
    summary["recordings"][0]["clock"] = dict(zip(("frames", "seconds"), clock, strict=True))
    (run / "summary.json").write_text(json.dumps(summary))
    for command in ("report", "usage"):
        refused(rondo(command, "run"), "run", says)


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


# ------------------------------------------------------------ numbers that are none


@pytest.mark.parametrize("column", ["score", "start_s", "end_frame", "start_frame", "id"])
@pytest.mark.parametrize("value", [float("-inf"), float("nan"), -(10**9), 10**12])
def test_odd_numbers_in_segments_end_no_edit_with_a_traceback(
    rondo: Command, run: Path, column: str, value: float
) -> None:
    table = pl.read_parquet(run / "segments.parquet")
    values = pl.Series(column, [value, *table[column].to_list()[1:]], dtype=pl.Float64, strict=False)
    kind = table.schema[column] if np.isfinite(value) and value < 1 << 31 else pl.Float64
    table.with_columns(values.cast(kind, strict=False)).write_parquet(run / "segments.parquet")
    for command in (("merge", "run", "unit:0", "unit:1"), ("usage", "run"), ("name", "run", "unit:1", "zz")):
        done = rondo(*command)
        assert done.code in (0, 2), done.err
        assert done.err.count("error: ") == (done.code == 2)
        if command[0] == "merge" and column == "score" and not np.isfinite(value):
            refused(done, "run", f"score {value}")


@pytest.mark.parametrize("ids", [[0, 10**30], [0, 2**31], [0, 2**63], [0, -(10**30)]])
@pytest.mark.parametrize("kind", ["merge", "name"])
def test_odd_ids_in_edits_end_no_command_with_a_traceback(rondo: Command, run: Path, kind: str, ids: list[int]) -> None:
    edit = {"kind": kind, "level": "unit", "ids": ids if kind == "merge" else ids[1:], "name": "zz" * (kind == "name")}
    content = {"format": "rondo-edits", "schema": 2, "edits": [edit]}
    (run / "model" / "edits.json").write_text(json.dumps(content))
    for command in (("usage", "run"), ("name", "run", "unit:1", "yy"), ("report", "run"), ("undo", "run")):
        done = rondo(*command)
        assert done.code in (0, 2), done.err


# ------------------------------------------------------------ links


OF_A_RUN = ("model", "labels", "units", "overview", "summary.json", "segments.parquet", "found.parquet",
            "truth.parquet", "labels/day.npy", "model/manifest.json", "model/tensors.safetensors", "model/edits.json",
            "model/notes.txt", ".edits.json.lock", ".undo.json", "checkpoint", "report.html")  # fmt: skip
COMMANDS = (
    ("name", "run", "unit:1", "zz"),
    ("merge", "run", "unit:0", "unit:1"),
    ("undo", "run"),
    ("usage", "run"),
    ("report", "run"),
    ("export", "run", "--format", "csv", "--out", "out.csv"),
)


def replaced_by_a_link(here: Path, name: str) -> None:
    """What is there lies outside now, with all its content, so that only the link is wrong."""
    place, outside = here / "run" / name, here / "outside"
    outside.mkdir()
    if place.exists():
        place.rename(outside / place.name)
    place.symlink_to(outside / place.name)


@pytest.mark.parametrize("name", OF_A_RUN)
def test_a_link_in_a_run_leads_no_command_outside(rondo: Command, here: Path, run: Path, name: str) -> None:
    replaced_by_a_link(here, name)
    before = tree(here)
    for command in COMMANDS:
        refused(rondo(*command), "a link")
    assert tree(here) == before


@pytest.mark.parametrize("name", ["manifest.json", "tensors.safetensors", "notes.txt", "edits.json"])
def test_a_link_in_a_model_is_not_read(rondo: Command, here: Path, run: Path, name: str) -> None:
    """A stream and `label` would put a copy of what it leads to into their own folders."""
    shutil.copytree(run / "model", here / "theirs")
    write_csv(here / "day.csv", waves(900))
    (here / "secret").write_text("mine")
    (here / "theirs" / name).unlink(missing_ok=True)
    (here / "theirs" / name).symlink_to("../secret")
    before = tree(here)
    refused(rondo("label", "theirs", "day.csv", "--out", "out"), "a link")
    refused(rondo("stream", "theirs", "--source", "day.csv", "--out", "out"), "a link")
    refused(rondo("name", "theirs", "unit:1", "zz"), "a link")
    assert tree(here) == before


def test_a_model_that_someone_names_by_a_link_is_that_model(rondo: Command, here: Path, run: Path) -> None:
    (here / "mine").symlink_to("run/model")
    assert rondo("name", "mine", "unit:1", "zz").code == 0
    assert "zz" in (run / "model" / "edits.json").read_text()


def test_a_run_without_a_model_makes_none_behind_a_link(rondo: Command, here: Path) -> None:
    write_csv(here / "day.csv", waves(900))
    assert rondo("discover", "day.csv", "--method", "clock", "--out", "run").code == 0
    (here / "project").mkdir()
    (here / "run" / "model").symlink_to("../project")
    refused(rondo("name", "run", "unit:1", "zz"), "a link")
    assert [*(here / "project").iterdir()] == []


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    "name", ["checkpoint", "model", "labels.csv", "rows.csv", "events.jsonl", "overview", "checkpoint/{number}"]
)
def test_a_link_in_a_stream_leads_nowhere(rondo: Command, here: Path, run: Path, halfway: Path, name: str) -> None:
    shutil.copytree(halfway, here / "theirs")
    (number,) = (path.name for path in (here / "theirs" / "checkpoint").iterdir() if path.name.isdigit())
    place = here / "theirs" / name.format(number=number)
    shutil.move(place, here / "outside")
    place.symlink_to(here / "outside")
    before = tree(here)
    for command in (
        ("stream", run / "model", "--source", "x.csv", "--out", "theirs"),
        ("name", "theirs", "unit:1", "zz"),
        ("name", run / "model", "unit:1", "zz", "--stream", "theirs"),
    ):
        done = rondo(*command)
        assert done.code == 2 and "Traceback" not in done.err, done.err
    assert tree(here) == before


@pytest.mark.usefixtures("fake")
def test_the_next_checkpoint_is_made_behind_no_link(rondo: Command, here: Path, run: Path, halfway: Path) -> None:
    (number,) = (path.name for path in (halfway / "checkpoint").iterdir() if path.name.isdigit())
    (halfway / "checkpoint" / f"{int(number) + 1:06d}").symlink_to(here / "outside")
    done = rondo("stream", run / "model", "--source", "x.csv", "--out", halfway)
    assert not (here / "outside").exists(), done


def test_the_tests_that_the_security_policy_names_are_there() -> None:
    root = Path(__file__).parents[2]
    named = re.findall(r"`((?:tests/[\w/]+/)?test_\w+\.py)`", (root / "SECURITY.md").read_text(encoding="utf-8"))
    assert len(named) > 6
    assert [name for name in named if not list((root / "tests").rglob(Path(name).name))] == []
