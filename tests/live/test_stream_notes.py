"""`rondo stream` says what it does to its input, and its labels are as many as the rows it has read."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from rondo.data.recording import Recording
from rondo.errors import RondoWarning
from rondo.live import session
from rondo.model.rondo import Rondo
from tests.cli.running import Command, Outcome, refused, waves, without_wall_clock, write_csv

N_ROWS, RATE = 1_500, 50


def notes(done: Outcome) -> list[str]:
    return [line.removeprefix("note: ") for line in done.err.splitlines() if line.startswith("note: ")]


def sum_of_rows(done: Outcome) -> dict[str, int]:
    """The line at the end that adds up."""
    (found,) = re.findall(r"^([\d,]+) rows read: (.*?)(?:;|$)", done.err, re.MULTILINE)
    parts = {name: int(count.replace(",", "")) for count, name in re.findall(r"([\d,]+) ([a-z ]+)", found[1])}
    assert sum(parts.values()) == int(found[0].replace(",", ""))
    assert set(parts) == {"labelled", "skipped", "in gaps", "of no unit"}
    return parts


REGULAR = np.arange(N_ROWS) / RATE
CLOCKS: dict[str, tuple[np.ndarray | None, int]] = {  # and how many rows are skipped
    "regular": (REGULAR, 0),
    "jittered": (np.cumsum(np.random.default_rng(1).uniform(0.2, 1.8, N_ROWS)) / RATE, 0),
    "gaps": (REGULAR + 0.2 * (np.arange(N_ROWS) >= 300) + 60 * (np.arange(N_ROWS) >= 700), 0),
    "no clock": (None, 0),
    "coarse": (np.floor(REGULAR * 10) / 10, 0),
    "repeated": (np.where((np.arange(N_ROWS) // 50) == 8, REGULAR[399], REGULAR), 50),
    "going back": (REGULAR - 3.0 * ((np.arange(N_ROWS) // 40) == 15), 40),
}


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.parametrize("kind", CLOCKS)
def test_labels_are_as_many_as_rows_and_as_those_of_label(rondo: Command, here: Path, model: Path, kind: str) -> None:
    clock, n_skipped = CLOCKS[kind]
    values = waves(N_ROWS)
    values[200:300] = np.nan  # too long to be bridged
    write_csv(here / "x.csv", values, clock)
    done = rondo("stream", model, "--source", "x.csv", "--out", "live", "--frozen")
    assert done.code == 0, done.err
    assert f"x.npy ({N_ROWS:,} rows," in done.out
    parts = sum_of_rows(done)
    assert (parts["skipped"], parts["in gaps"]) == (n_skipped, 100)
    tracks = {name: np.load(here / "live" / name / "x.npy") for name in ("labels", "units")}
    assert {track.shape for track in tracks.values()} == {(N_ROWS,)}
    assert (tracks["units"] != -1).sum() == parts["labelled"]
    summary = json.loads((here / "live" / "summary.json").read_text())
    assert (summary["recordings"][0]["n_frames"], summary["stream"]["n_rows"]) == (N_ROWS, N_ROWS)
    assert summary["stream"]["n_skipped_rows"] == n_skipped
    rate = ("--rate", RATE) if clock is None else ()
    labelled = rondo("label", model, "x.csv", *rate, "--out", "batch")
    if kind == "going back":
        refused(labelled, "timestamps must increase")
        return
    assert labelled.code == 0, labelled.err
    batch = np.load(here / "batch" / "units" / "x.npy")
    assert batch.shape == (N_ROWS,)
    if not n_skipped:  # `label` sees the whole clock, and spreads rows that repeat a time
        assert (batch == tracks["units"]).mean() > 0.9
    spans = pl.read_csv(here / "live" / "segments.csv").filter(pl.col("level") == "unit")
    for start, stop, unit in spans.select("start_frame", "end_frame", "id").iter_rows():
        assert set(tracks["units"][start:stop]) <= {unit, -1}


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.parametrize("kind", ["jittered", "repeated"])
def test_other_commands_read_the_rows_of_a_stream(rondo: Command, here: Path, model: Path, kind: str) -> None:
    write_csv(here / "x.csv", waves(N_ROWS), CLOCKS[kind][0])
    assert rondo("stream", model, "--source", "x.csv", "--out", "live").code == 0
    units = np.load(here / "live" / "units" / "x.npy")
    (here / "truth.csv").write_text("label\n" + "\n".join(str(unit) for unit in units) + "\n")
    scored = rondo("evaluate", "truth.csv", "live", "--level", "unit", "--json")
    assert scored.code == 0, scored.err
    assert json.loads(scored.out)["mof"] == 100
    first, second, *_ = np.unique(units[units >= 0]).tolist()
    assert rondo("merge", "live", f"unit:{first}", f"unit:{second}").code == 0
    merged = np.load(here / "live" / "units" / "x.npy")
    assert merged.shape == (N_ROWS,) and ((merged == -1) == (units == -1)).all()
    assert len(np.unique(merged)) == len(np.unique(units)) - 1
    assert rondo("export", "live", "--format", "audacity", "--out", "marks").code == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.parametrize("kind", ["jittered", "repeated"])
def test_rows_are_the_same_in_any_chunks_and_after_any_stop(
    rondo: Command, here: Path, model: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_csv(here / "x.csv", waves(N_ROWS), CLOCKS[kind][0])
    assert rondo("stream", model, "--source", "x.csv", "--out", "whole").code == 0
    monkeypatch.setattr(session, "CHUNK_ROWS", 130)
    real, n_steps = session.Session.step, 0

    def stopping(self: session.Session) -> object:
        nonlocal n_steps
        n_steps += 1
        if n_steps in (6, 11):
            raise MemoryError
        return real(self)

    with monkeypatch.context() as patched:
        patched.setattr(session.Session, "step", stopping)
        codes = [rondo("stream", model, "--source", "x.csv", "--out", "out").code for _ in range(3)]
        assert codes == [2, 2, 0]
    whole, out = (without_wall_clock(here / run) for run in ("whole", "out"))
    assert out == whole


@pytest.mark.filterwarnings("default::rondo.errors.RondoWarning")
@pytest.mark.parametrize("options", [(), ("--sink", "-"), ("--quiet",)])
def test_what_happens_to_the_input_is_said(rondo: Command, here: Path, model: Path, options: tuple[str, ...]) -> None:
    times = CLOCKS["repeated"][0] + 100.0 * (np.arange(N_ROWS) >= 900)
    lines = write_csv(here / "x.csv", waves(N_ROWS, n_channels=3), times).read_text().splitlines()
    lines[200:200] = [lines[0], "broken", "broken"]
    lines[310] = lines[310].rpartition(",")[0].rpartition(",")[0] + ",oops,1"
    (here / "x.csv").write_text("\n".join(lines) + "\n")
    done = rondo("stream", model, "--source", "x.csv", "--out", "out", *options)
    assert done.code == 0, done.err
    said = "\n".join(notes(done))
    for words in (
        "x.csv: 1 channel left out",
        "50 rows skipped so far: time missing, repeated",
        "1 cell unreadable so far",
        "3 lines skipped so far, as they hold no row (the last: line 202, expected 4 cells, got 1)",
        "time jumps by",
        "no unit or motif reaches across",
    ):
        assert words in said
    assert len(notes(done)) < 9
    assert sum_of_rows(done)["skipped"] == 50
    assert "3 more lines held no" in done.err
    if "--sink" in options:
        assert all(json.loads(line) for line in done.out.splitlines())


@pytest.mark.usefixtures("fake")
def test_notes_are_counted_and_not_repeated(
    rondo: Command, here: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = write_csv(here / "x.csv", waves(900)).read_text().splitlines()
    for place in range(700, 100, -2):
        lines.insert(place, "broken")
    (here / "x.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(session, "CHUNK_ROWS", 5)
    done = rondo("stream", model, "--source", "x.csv", "--out", "out")
    told = [note for note in notes(done) if "lines skipped" in note or "line skipped" in note]
    assert len(told) < 10
    assert told[-1].startswith("300 lines skipped so far")


def test_a_stream_that_fits_nothing_says_so_and_when_it_fits_again(rondo: Command, here: Path, model: Path) -> None:
    values = np.concatenate([waves(900), 90 * np.random.default_rng(0).normal(size=(2_400, 2)), waves(900)])
    write_csv(here / "x.csv", values, np.arange(len(values)) / RATE)
    done = rondo("stream", model, "--source", "x.csv", "--out", "out")
    raised, over = [line for line in done.err.splitlines() if "nothing-fits" in line]
    since_s = float(re.findall(r"no unit fits since ([\d.]+) s, 30[.\d]* s of data", raised)[0])
    assert abs(since_s - 900 / RATE) <= 40 / RATE and over.startswith("alarm over: x: nothing-fits: a unit fits again")
    assert sum_of_rows(done)["of no unit"] > 2_000


def test_rows_skipped_in_python_are_a_warning(model: Path) -> None:
    chunks = [Recording(waves(100), rate=RATE, channels=("a", "b"), timestamps_s=np.arange(100) / RATE)] * 2
    with pytest.warns(RondoWarning, match="100 rows of the stream"):
        parts = Rondo.load(model).stream(chunks)
        assert list(parts)
    assert parts.result[0].n_frames == 200
    assert (parts.result[0].units[100:] == -1).all()


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.parametrize("wrong", ["9e18", "1e12", "-1e12", "nan"])
def test_one_wrong_timestamp_costs_one_row(rondo: Command, here: Path, model: Path, wrong: str) -> None:
    """9e18 once cost the next 1,000 rows."""
    lines = write_csv(here / "x.csv", waves(N_ROWS), REGULAR).read_text().splitlines()
    lines[701] = wrong + "," + lines[701].partition(",")[2]
    (here / "x.csv").write_text("\n".join(lines) + "\n")
    done = rondo("stream", model, "--source", "x.csv", "--out", "out", "--frozen")
    assert done.code == 0, done.err
    parts = sum_of_rows(done)
    n_lines = int(wrong == "nan")  # a line without a time holds no row
    assert (parts["skipped"], parts["labelled"]) == (1 - n_lines, N_ROWS - 1)
    assert "1 line skipped so far" in done.err if n_lines else "1 row skipped so far" in done.err
    assert "boundary" not in (here / "out" / "events.jsonl").read_text()
