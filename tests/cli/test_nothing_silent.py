"""`rondo stream` says what it does to its input, and its labels are as many as the rows it has read."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from rondo import Recording, Rondo
from rondo.continual.journal import read_journal
from rondo.errors import RondoWarning
from rondo.live import outputs, session
from tests.cli.running import Command, Outcome, tree, waves, write_csv
from tests.continual.fakes import FakeStream
from tests.systems import needs_posix

N_ROWS, RATE = 1_500, 50


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model that knows the channels a and b."""
    folder = tmp_path_factory.mktemp("silent") / "model"
    fitted = Rondo(window=40, step=20, settings={"evidence": {"surrogates": 0}}, device="cpu")
    fitted.fit(Recording(waves(900), rate=RATE, channels=("a", "b"))).save(folder)
    return folder


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "stream_of", FakeStream.of)


def notes(done: Outcome) -> list[str]:
    return [line.removeprefix("note: ") for line in done.err.splitlines() if line.startswith("note: ")]


def sum_of_rows(done: Outcome) -> dict[str, int]:
    """The line at the end that adds up."""
    (found,) = re.findall(r"^([\d,]+) rows read: (.*?)(?:;|$)", done.err, re.MULTILINE)
    parts = {name: int(count.replace(",", "")) for count, name in re.findall(r"([\d,]+) ([a-z ]+)", found[1])}
    assert sum(parts.values()) == int(found[0].replace(",", ""))
    assert set(parts) == {"labelled", "skipped", "in gaps", "of no unit"}
    return parts


OF_WALL_CLOCK = ("checkpoint", "health.json", "alarms.jsonl")


def refused(done: Outcome, *words: str) -> None:
    said = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert (done.code, done.out, len(said)) == (2, "", 1), done.err
    assert all(word in said[0] for word in words), said[0]


# ------------------------------------------------------------ as many labels as rows


def regular(rng: np.random.Generator) -> np.ndarray:
    return np.arange(N_ROWS) / RATE


def jittered(rng: np.random.Generator) -> np.ndarray:
    return np.cumsum(rng.uniform(0.2, 1.8, N_ROWS)) / RATE


def with_gaps(rng: np.random.Generator) -> np.ndarray:
    times = regular(rng)
    for row, seconds in ((300, 0.2), (700, 60.0), (1_100, 3_600.0)):
        times[row:] += seconds
    return times


def repeated(rng: np.random.Generator) -> np.ndarray:
    times = regular(rng)
    times[400:450] = times[399]
    return times


def going_back(rng: np.random.Generator) -> np.ndarray:
    times = regular(rng)
    times[600:640] -= 3.0
    return times


def coarse(rng: np.random.Generator) -> np.ndarray:
    return np.floor(regular(rng) * 10) / 10


CLOCKS: dict[str, tuple[Callable[[np.random.Generator], np.ndarray] | None, int]] = {
    "regular": (regular, 0),
    "jittered": (jittered, 0),
    "gaps": (with_gaps, 0),
    "no clock": (None, 0),
    "coarse": (coarse, 0),
    "repeated": (repeated, 50),
    "going back": (going_back, 40),
}


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.parametrize("kind", CLOCKS)
def test_labels_are_as_many_as_rows_and_as_those_of_label(rondo: Command, here: Path, model: Path, kind: str) -> None:
    clock, n_skipped = CLOCKS[kind]
    values = waves(N_ROWS)
    values[200:300] = np.nan  # too long to be bridged
    write_csv(here / "x.csv", values, None if clock is None else clock(np.random.default_rng(1)))
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
    rate = () if clock else ("--rate", RATE)
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
    clock = CLOCKS[kind][0]
    assert clock is not None
    write_csv(here / "x.csv", waves(N_ROWS), clock(np.random.default_rng(1)))
    assert rondo("stream", model, "--source", "x.csv", "--out", "live").code == 0
    units = np.load(here / "live" / "units" / "x.npy")
    (here / "truth.csv").write_text("label\n" + "\n".join(str(unit) for unit in units) + "\n")
    scored = rondo("evaluate", "truth.csv", "live/units/x.npy")
    assert scored.code == 0, scored.err
    ids = [int(unit) for unit in np.unique(units[units >= 0])]
    assert len(ids) > 1
    assert rondo("merge", "live", f"unit:{ids[0]}", f"unit:{ids[1]}").code == 0
    merged = np.load(here / "live" / "units" / "x.npy")
    assert merged.shape == (N_ROWS,)
    assert ((merged == -1) == (units == -1)).all()
    assert rondo("export", "live", "--format", "audacity", "--out", "marks").code == 0


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.parametrize("kind", ["jittered", "repeated"])
def test_rows_are_the_same_in_any_chunks_and_after_any_stop(
    rondo: Command, here: Path, model: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = CLOCKS[kind][0]
    assert clock is not None
    write_csv(here / "x.csv", waves(N_ROWS), clock(np.random.default_rng(1)))
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
        codes = [rondo("stream", model, "--source", "x.csv", "--out", "out", "--every", 1).code for _ in range(3)]
        assert codes == [2, 2, 0]
    whole, out = (
        {name: content for name, content in tree(here / run).items() if not name.startswith(OF_WALL_CLOCK)}
        for run in ("whole", "out")
    )
    assert out == whole


# ------------------------------------------------------------ said as it happens


@pytest.mark.filterwarnings("default::rondo.errors.RondoWarning")
@pytest.mark.parametrize("options", [(), ("--json",), ("--quiet",)])
def test_what_happens_to_the_input_is_said(rondo: Command, here: Path, model: Path, options: tuple[str, ...]) -> None:
    times = repeated(np.random.default_rng(0))
    times[900:] += 100.0
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
    assert "; 3 more lines held no row" in done.err
    if options == ("--json",):
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


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
def test_two_opening_lines_of_an_e4_are_no_data(rondo: Command, here: Path) -> None:
    began, rate = 1_700_000_000.0, 32.0
    fitted = Rondo(window=40, step=20, settings={"evidence": {"surrogates": 0}}, device="cpu")
    fitted.fit(Recording(waves(900, 3), rate=rate, channels=("ch0", "ch1", "ch2"))).save(here / "model")
    opening = f"{began},{began},{began}\n{rate},{rate},{rate}\n"
    rows = "".join(f"{a},{b},{c}\n" for a, b, c in waves(700, 3, seed=4).round(4).tolist())
    (here / "ACC.csv").write_text(opening + rows)
    done = rondo("stream", "model", "--source", "ACC.csv", "--out", "out")
    assert done.code == 0, done.err
    assert np.load(here / "out" / "units" / "ACC.npy").shape == (700,)
    first = (here / "out" / "labels.csv").read_text().splitlines()[1].split(",")
    assert float(first[2]) == began
    (here / "ACC.csv").write_text(opening.replace("32.0", "64.0") + rows)
    refused(rondo("stream", "model", "--source", "ACC.csv", "--out", "other"), "it has 64 Hz, the model has 32 Hz")


def test_rows_skipped_in_python_are_a_warning(model: Path) -> None:
    chunks = [Recording(waves(100), rate=RATE, channels=("a", "b"), timestamps_s=np.arange(100) / RATE)] * 2
    with pytest.warns(RondoWarning, match="100 rows of the stream skipped so far"):
        parts = Rondo.load(model).stream(chunks)
        assert list(parts)
    assert parts.result[0].n_frames == 200
    assert (parts.result[0].units[100:] == -1).all()


# ------------------------------------------------------------ the wrong rate, the wrong channels


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".jsonl"])
def test_another_rate_is_refused_and_leaves_nothing(rondo: Command, here: Path, model: Path, suffix: str) -> None:
    path = write_csv(here / "x.csv", waves(400), np.arange(400) / 25)
    if suffix == ".npz":
        np.savez(here / "x.npz", X=waves(400), time=np.arange(400) / 25, channels=np.array(["a", "b"]))
    elif suffix == ".jsonl":
        pl.read_csv(path).write_ndjson(here / "x.jsonl")
    before = tree(here)
    done = rondo("stream", model, "--source", f"x{suffix}", "--out", "out")
    refused(done, "25 Hz", "the model has 50 Hz", "`rondo label --resample`")
    assert tree(here) == before


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.parametrize(
    ("times", "name", "hint"),
    [
        (np.arange(400) * 20.0, "time", "milliseconds? then name the column 'time_ms'"),
        (np.arange(400) / RATE, "time_ms", "seconds? then name the column 'time_s'"),
    ],
)
def test_a_clock_in_another_unit_is_refused_with_a_hint(
    rondo: Command, here: Path, model: Path, times: np.ndarray, name: str, hint: str
) -> None:
    write_csv(here / "x.csv", waves(400), times)
    text = (here / "x.csv").read_text()
    (here / "x.csv").write_text(text.replace("time,", f"{name},", 1))
    refused(rondo("stream", model, "--source", "x.csv", "--out", "out"), "the model has 50 Hz", hint)


@needs_posix
def test_another_rate_on_a_pipe_is_refused_too(here: Path, model: Path) -> None:
    text = write_csv(here / "x.csv", waves(400), np.arange(400) / 25).read_bytes()
    command = [sys.executable, "-m", "rondo", "stream", str(model), "--source", "-", "--out", "out", "--follow"]
    done = subprocess.run(command, input=text, capture_output=True, check=False, timeout=300)
    assert done.returncode == 2
    assert b"25 Hz by their clock, the model has 50 Hz" in done.stderr


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
def test_a_rate_that_changes_on_the_way_is_a_boundary(rondo: Command, here: Path, model: Path) -> None:
    steps = np.concatenate([np.full(1_000, 1 / 50), np.full(1_000, 1 / 25), np.full(1_000, 1 / 50)])
    write_csv(here / "x.csv", waves(3_000), np.cumsum(steps))
    done = rondo("stream", model, "--source", "x.csv", "--out", "out")
    assert done.code == 0, done.err
    cuts = [e.evidence["cause"] for e in read_journal(here / "out" / "events.jsonl") if e.evidence.get("cause")]
    expected = ["rows now come at 25 Hz, the model has 50 Hz", "rows come at the 50 Hz of the model again"]
    assert [cause for cause in cuts if str(cause).startswith("rows ")] == expected
    assert "rows now come at 25 Hz" in done.err
    assert np.load(here / "out" / "units" / "x.npy").shape == (3_000,)


@pytest.mark.usefixtures("fake")
@pytest.mark.filterwarnings("default::rondo.errors.RondoWarning")
def test_channels_go_by_name(rondo: Command, here: Path, model: Path) -> None:
    a, b = waves(300).T
    columns = {"missing": {"a": a}, "renamed": {"a": a, "bb": b}}
    for name, own in columns.items():
        pl.DataFrame(own).write_csv(here / f"{name}.csv")
        refused(rondo("stream", model, "--source", f"{name}.csv", "--out", "out"), "lacks the channel 'b'")
    same = {"x": {"a": a, "b": b}, "reordered": {"b": b, "a": a}, "extra": {"z": b, "b": b, "a": a}}
    for name, own in same.items():
        (here / name).mkdir()
        pl.DataFrame(own).write_csv(here / name / "x.csv")
        done = rondo("stream", model, "--source", here / name / "x.csv", "--out", f"out {name}")
        assert done.code == 0
        assert ("1 channel left out" in done.err) == (name == "extra")
    tracks = [(here / f"out {name}" / "labels.csv").read_bytes() for name in same]
    assert tracks[0] == tracks[1] == tracks[2]


# ------------------------------------------------------------ faults


def in_background(command: list[str], here: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 300
    while not holds():
        assert process.poll() is None and time.monotonic() < end, process.communicate(timeout=60)
        time.sleep(0.05)


@pytest.mark.slow
@needs_posix
@pytest.mark.parametrize("what", ["labels.csv", "the folder", "another file"])
def test_an_output_that_is_gone_while_the_source_is_silent(here: Path, model: Path, what: str) -> None:
    """M3: it was not noticed; the run ended well, and could not be resumed."""
    write_csv(here / "x.csv", waves(900))
    command = [sys.executable, "-m", "rondo", "stream", str(model), "--source", "x.csv", "--out", "out", "--follow"]
    process = in_background(command, here)
    labels, kept = here / "out" / "labels.csv", here / "kept"
    until(lambda: labels.exists() and labels.stat().st_size > 200, process)
    if what == "the folder":
        (here / "out").rename(kept)
    else:
        labels.rename(kept)
    if what == "another file":
        labels.write_text("mine\n")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 2
    (said,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert "was removed, replaced or cut while the stream was writing it; put it back as it was" in said
    if what == "the folder":
        assert not (here / "out").exists()  # nor is it made again, with half of what it should hold
    kept.rename(here / "out" if what == "the folder" else labels)
    done = subprocess.run(command[:-1], cwd=here, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert np.load(here / "out" / "units" / "x.npy").shape == (900,)


@pytest.mark.usefixtures("fake")
def test_an_output_that_is_gone_is_noticed_before_the_next_checkpoint(
    rondo: Command, here: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M3, without waiting: a checkpoint that counts labels which nobody has is never written."""
    write_csv(here / "x.csv", waves(900))
    monkeypatch.setattr(session, "CHUNK_ROWS", 100)
    monkeypatch.setattr(outputs, "_SECONDS_BETWEEN_LOOKS", 1e9)
    real, n_steps = session.Session.step, 0

    def losing(self: session.Session) -> object:
        nonlocal n_steps
        n_steps += 1
        if n_steps == 4:
            shutil.rmtree(here / "out")
        return real(self)

    monkeypatch.setattr(session.Session, "step", losing)
    refused(rondo("stream", model, "--source", "x.csv", "--out", "out", "--every", 1), "begin again")
    assert not (here / "out").exists()


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("n_new", [10, 300])
def test_a_file_rotated_to_one_that_lacks_a_channel(
    rondo: Command, here: Path, model: Path, n_new: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M4: a traceback, and 900 rows lost for good; with fewer than 64 lines the head is awaited first."""
    values = waves(900 + 300, seed=3)
    path = write_csv(here / "x.csv", values[:900])
    write_csv(here / "mended.csv", values[900:])
    lacking = write_csv(here / "lacking.csv", values[900:, :1]).read_text().splitlines(keepends=True)
    command = ("stream", model, "--source", "x.csv", "--out", "out", "--follow", "--every", 10)
    real, n_idle = session.Session.step, 0

    def rotating(self: session.Session) -> object:
        nonlocal n_idle
        written = real(self)
        n_idle += written is None
        if written is None and n_idle == 2:
            path.rename(here / "x.1.csv")
            path.write_text("".join(lacking[:n_new]))
        elif written is None and n_idle == 6:
            path.write_text(path.read_text() + "".join(lacking[n_new:]))
        return written

    with monkeypatch.context() as patched:
        patched.setattr(session.Session, "step", rotating)
        refused(rondo(*command), "x.csv: it lacks the channel 'b'")
    shutil.copy(here / "mended.csv", path)
    done = finished_after(rondo, command, monkeypatch, n_rows=1_200)
    assert done.code == 0, done.err
    assert "going on after 900 rows" in done.err
    labels = (here / "out" / "labels.csv").read_text().splitlines()
    assert int(labels[-1].split(",")[1]) > 1_150
    assert not [e for e in read_journal(here / "out" / "events.jsonl") if e.kind == "gap"]  # rotation is no boundary


def finished_after(
    rondo: Command, command: tuple[object, ...], monkeypatch: pytest.MonkeyPatch, n_rows: int
) -> Outcome:
    """A stream that follows its source until so many rows have come, then is asked to stop."""
    real = session.Session.step

    def stopping(self: session.Session) -> object:
        written = real(self)
        if written is None and self.counters.n_rows >= n_rows:
            os.kill(os.getpid(), 15)
        return written

    with monkeypatch.context() as patched:
        patched.setattr(session.Session, "step", stopping)
        return rondo(*command)


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("n_good", [0, 1])
def test_a_full_disk_at_the_end(
    rondo: Command, here: Path, model: Path, n_good: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M5: SIGBUS, as a sparse file was mapped; that none is, `tests/live/test_outputs.py` shows with a small limit."""
    write_csv(here / "x.csv", waves(900))
    assert rondo("stream", model, "--source", "x.csv", "--out", "whole").code == 0
    real, n_written = outputs._write_track, 0

    def full(*given: Any) -> None:
        nonlocal n_written
        n_written += 1
        if n_written > n_good:
            given[0].write(bytes(100))
            raise OSError(errno.ENOSPC, "No space left on device")
        real(*given)

    with monkeypatch.context() as patched:
        patched.setattr(outputs, "_write_track", full)
        done = rondo("stream", model, "--source", "x.csv", "--out", "out")
    refused(done, "x.npy: cannot be written (No space left on device)", "start the same command again")
    assert rondo("stream", model, "--source", "x.csv", "--out", "out").code == 0
    whole, out = (
        {name: content for name, content in tree(here / run).items() if not name.startswith(OF_WALL_CLOCK)}
        for run in ("whole", "out")
    )
    assert out == whole


@pytest.mark.slow
@pytest.mark.usefixtures("fake")
def test_a_file_truncated_while_it_is_read(
    rondo: Command, here: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M6: "finished", with 23,326 of 59,396 rows and no word about the others."""
    text = write_csv(here / "x.csv", np.abs(waves(30_000)) / 9).read_bytes()
    assert rondo("stream", model, "--source", "x.csv", "--out", "whole").code == 0
    real, n_steps = session.Session.step, 0

    def truncating(self: session.Session) -> object:
        nonlocal n_steps
        n_steps += 1
        if n_steps == 5:
            os.truncate(here / "x.csv", len(text) // 2)
        return real(self)

    with monkeypatch.context() as patched:
        patched.setattr(session.Session, "step", truncating)
        done = rondo("stream", model, "--source", "x.csv", "--out", "out")
    refused(done, "it became shorter while it was read", "put the whole file back")
    (here / "x.csv").write_bytes(text)
    assert rondo("stream", model, "--source", "x.csv", "--out", "out").code == 0
    assert (here / "out" / "labels.csv").read_bytes() == (here / "whole" / "labels.csv").read_bytes()


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.parametrize("wrong", ["9e18", "1e12", "-1e12", "nan"])
def test_one_wrong_timestamp_costs_one_row(rondo: Command, here: Path, model: Path, wrong: str) -> None:
    """M10: 9e18 cost the next 1,000 rows."""
    lines = write_csv(here / "x.csv", waves(N_ROWS), regular(np.random.default_rng(0))).read_text().splitlines()
    lines[701] = wrong + "," + lines[701].partition(",")[2]
    (here / "x.csv").write_text("\n".join(lines) + "\n")
    done = rondo("stream", model, "--source", "x.csv", "--out", "out", "--frozen")
    assert done.code == 0, done.err
    parts = sum_of_rows(done)
    n_lines = int(wrong == "nan")  # a line without a time holds no row
    assert (parts["skipped"], parts["labelled"]) == (1 - n_lines, N_ROWS - 1)
    assert "1 line skipped so far" in done.err if n_lines else "1 row skipped so far" in done.err
    assert "boundary" not in (here / "out" / "events.jsonl").read_text()


@pytest.mark.usefixtures("fake")
def test_two_streams_with_one_folder_and_two_checkpoints(rondo: Command, here: Path, model: Path) -> None:
    from rondo.live.one_writer import only_writer

    write_csv(here / "x.csv", waves(100))
    with only_writer(here / "out", here / "first"):
        done = rondo("stream", model, "--source", "x.csv", "--out", "out", "--checkpoint", "second")
        refused(done, "out: another stream is writing into this folder")
    assert rondo("stream", model, "--source", "x.csv", "--out", "out", "--checkpoint", "second").code == 0
    assert not list((here / "out").glob(".*"))


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_an_empty_pipe_says_that_nothing_came(here: Path, model: Path, options: list[str]) -> None:
    command = [sys.executable, "-m", "rondo", "stream", str(model), "--source", "-", "--out", "out", *options]
    for _ in range(2):
        done = subprocess.run(command, input="", capture_output=True, text=True, check=False, timeout=300)
        assert (done.returncode, done.stdout) == (0, "")
        assert "nothing came from standard input: no rows, so nothing is labelled" in done.stderr
        assert "finished" not in done.stderr
    text = write_csv(here / "x.csv", waves(300)).read_text()
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert np.load(here / "out" / "units" / "stdin.npy").shape == (300,)


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    "content", [b"\x00\x01\x02" * 500, b"a,b\n" + b"\x00" * 3000 + b"\n1,2\n", b"a,b\n" + b"9" * 200_000 + b",1\n"]
)
def test_a_binary_file_is_refused_in_one_line(rondo: Command, here: Path, model: Path, content: bytes) -> None:
    (here / "x.csv").write_bytes(content)
    refused(rondo("stream", model, "--source", "x.csv", "--out", "out"), "x.csv: ")
