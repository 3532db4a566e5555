"""`rondo stream`: what it writes, how it stops and goes on, and what it refuses."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import numpy.testing as npt
import pytest

from rondo.continual import checkpoint as checkpoint_module
from rondo.continual.journal import read_journal
from rondo.data.recording import Recording
from rondo.live import files, session
from rondo.model.method import relabel
from rondo.model.rondo import Rondo
from tests.cli.killing import Killer
from tests.cli.running import Command, refused, tree, waves, write_csv
from tests.continual.fakes import STEP
from tests.store.left_drafts import dead_pid, draft_name
from tests.systems import needs_posix, needs_proc

N_ROWS = 900


@pytest.fixture
def rows(here: Path) -> Path:
    """Rows with everything that may be wrong with them."""
    path = write_csv(here / "day.csv", waves(N_ROWS, seed=5))
    lines = path.read_text().splitlines()
    lines[10] = "1,2,3"
    lines[200:200] = ["broken"] * 3
    lines[300] = "1,inf"
    lines[700] = "oops,1"
    path.write_text("\n".join(lines) + "\n")
    return path


def written(out: Path) -> dict[str, bytes | None]:
    """All that a run leaves, its checkpoint and what the wall clock has a part in aside."""
    others = ("checkpoint", "sinks", "health.json")
    return {name: content for name, content in tree(out).items() if not name.startswith(others)}


@pytest.mark.usefixtures("fake")
def test_labels_events_arrays_and_summary(rondo: Command, here: Path, rows: Path, model: Path) -> None:
    done = rondo("stream", model, "--source", rows, "--out", "out")
    assert (done.code, done.out.splitlines()[0]) == (0, "labels:  out/labels/day.npy (899 rows, 223 windows)")
    summary = json.loads((here / "out" / "summary.json").read_text())
    counts = ("finished", "n_rows", "n_skipped_lines", "n_unreadable_cells")
    assert {name: summary["stream"][name] for name in counts} == {
        "finished": True,
        "n_rows": N_ROWS - 1,
        "n_skipped_lines": 4,
        "n_unreadable_cells": 2,
    }
    assert [one["n_frames"] for one in summary["recordings"]] == [N_ROWS - 1]
    header, *lines = (here / "out" / "labels.csv").read_text().splitlines()
    assert header == "start_frame,end_frame,start_s,end_s,unit,motif,unit_score,motif_score"
    units, motifs = (np.load(here / "out" / name / "day.npy") for name in ("units", "labels"))
    assert (units.dtype, units.shape, motifs.shape) == (np.int32, (N_ROWS - 1,), (N_ROWS - 1,))
    for line in lines:
        start, stop, start_s, _, unit, motif, *_ = line.split(",")
        assert float(start_s) == int(start) / 50
        assert set(units[int(start) : int(stop)]) == {int(unit)}
        assert set(motifs[int(start) : int(stop)]) == {int(motif)}
    assert (units[len(lines) * STEP :] == -1).all()
    skips = [event.evidence for event in read_journal(here / "out" / "events.jsonl") if event.kind == "skip"]
    assert skips == [
        {"row": 9, "line": 11, "n_lines": 1, "reason": "expected 2 cells, got 3"},
        {"row": 198, "line": 201, "n_lines": 3, "reason": "expected 2 cells, got 1"},
    ]


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("chunk", [7, 10_000])
def test_chunks_do_not_matter(
    rondo: Command, here: Path, rows: Path, model: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rondo("stream", model, "--source", rows, "--out", "out")
    monkeypatch.setattr(session, "CHUNK_ROWS", chunk)
    assert rondo("stream", model, "--source", rows, "--out", "again").code == 0
    assert written(here / "again") == written(here / "out")


@pytest.mark.usefixtures("fake")
def test_a_finished_stream_says_so_and_stays(rondo: Command, here: Path, rows: Path, model: Path) -> None:
    rondo("stream", model, "--source", rows, "--out", "out")
    before = tree(here)
    again = rondo("stream", model, "--source", rows, "--out", "out")
    assert (again.code, "finished already, 899 rows" in again.err) == (0, True)
    assert tree(here) == before


def test_a_frozen_stream_labels_as_label_does_and_stays_frozen(rondo: Command, here: Path, model: Path) -> None:
    write_csv(here / "x.csv", waves(N_ROWS))  # what the model was fitted on, so that both scale alike
    stream = ("stream", model, "--source", "x.csv", "--out", "out")
    assert rondo(*stream, "--frozen").code == 0
    labelled = Rondo.load(model).predict(Recording(waves(N_ROWS), rate=50, channels=("a", "b")))
    assert np.mean(np.load(here / "out" / "units" / "x.npy") == labelled.units) > 0.97
    assert not [event for event in read_journal(here / "out" / "events.jsonl") if event.level != "input"]
    refused(rondo(*stream), "a checkpoint of another mode, expected 'learning', got 'frozen'")
    refused(rondo("label", "out", "x.csv", "--rate", 50, "--out", "again"), "a frozen stream learns nothing")
    assert rondo("name", model, "unit:0", "rest", "--stream", "out").code == 0


def test_a_recording_is_labelled_again_with_what_the_stream_has_learned(
    rondo: Command, here: Path, model: Path
) -> None:
    values = waves(2000, seed=6)
    x = write_csv(here / "x.csv", values)
    assert rondo("stream", model, "--source", x, "--out", "live").code == 0
    before = tree(here / "live")
    done = rondo("label", "live", x, "--rate", 50, "--out", "again")
    assert done.code == 0, done.err
    assert "Read again with" in done.out
    units, issued = (np.load(here / folder / "units" / "x.npy") for folder in ("again", "live"))
    assert units.shape == issued.shape
    assert (units == issued).mean() > 0.7  # the same vocabulary, but no window waits for its label
    assert tree(here / "live") == before
    kept = Rondo.load(here / "again" / "model")  # with the stream, so that it can be asked and fed again
    npt.assert_array_equal(relabel(kept, Recording(values, rate=50, channels=("a", "b"))).units, units)


@pytest.fixture
def killer(here: Path, request: pytest.FixtureRequest) -> Iterator[Killer]:
    with Killer(here, request.param) as killer:
        yield killer


def uninterrupted(killer: Killer, here: Path, *arguments: object) -> tuple[dict[str, bytes | None], float]:
    begun = time.monotonic()
    assert killer.rondo(*arguments, "--out", here / "whole") == 0, killer.err.read_text()
    return written(here / "whole"), time.monotonic() - begun


def kill_until_done(
    killer: Killer, arguments: list[object], rng: np.random.Generator, longest_s: float
) -> tuple[int, float]:
    """Kill at random, start again, until one run comes to its end; how many were killed, and how long that one took."""
    n_kills, begun = 0, time.monotonic()
    while (code := killer.rondo(*arguments, after_s=rng.uniform(0, longest_s))) == -signal.SIGKILL:
        n_kills, begun = n_kills + 1, time.monotonic()
        longest_s *= 1.02  # a run that never gets to its first checkpoint would go on for ever
    assert code == 0, killer.err.read_text()
    return n_kills, time.monotonic() - begun


@needs_posix
@pytest.mark.parametrize(
    ("killer", "n_wanted"),
    [("real", 3), pytest.param("real", 10, marks=pytest.mark.slow), pytest.param("fake", 10, marks=pytest.mark.slow)],
    indirect=["killer"],
)
def test_killed_at_random_and_started_again(killer: Killer, n_wanted: int, here: Path, rows: Path, model: Path) -> None:
    arguments: list[object] = ["stream", model, "--source", rows]
    whole, needed_s = uninterrupted(killer, here, *arguments)
    rng, n_kills = np.random.default_rng(0), 0
    for i in range(50):
        n_killed, took_s = kill_until_done(killer, [*arguments, "--out", here / f"out{i}"], rng, needed_s)
        assert written(here / f"out{i}") == whole
        n_kills, needed_s = n_kills + n_killed, min(needed_s, took_s)  # the first may have met a busier machine
        if n_kills >= n_wanted:
            return
    pytest.fail(f"only {n_kills} of 50 runs were killed before their end")


@pytest.mark.slow
@needs_posix
@pytest.mark.parametrize("killer", ["fake"], indirect=True)
def test_killed_while_it_follows_a_file_that_grows(killer: Killer, here: Path, rows: Path, model: Path) -> None:
    arguments: list[object] = ["stream", model]
    text, growing = rows.read_bytes(), here / "live" / rows.name
    growing.parent.mkdir()
    growing.write_bytes(b"")
    rng, done = np.random.default_rng(1), 0
    for _ in range(6):
        stop = min(len(text), done + int(rng.integers(0, len(text) // 3)))
        with growing.open("ab") as file:
            file.write(text[done:stop])
        done = stop
        order = [*arguments, "--source", growing, "--out", here / "out", "--follow"]
        assert killer.rondo(*order, after_s=rng.uniform(0.1, 0.5)) == -signal.SIGKILL
    growing.write_bytes(text)
    assert killer.rondo(*arguments, "--source", growing, "--out", here / "out") == 0
    whole, _ = uninterrupted(killer, here, *arguments, "--source", growing)
    assert written(here / "out") == whole


@needs_proc
@pytest.mark.usefixtures("fake")
def test_labels_and_events_are_on_the_disk_before_the_checkpoint_that_counts_them(
    rondo: Command, here: Path, rows: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def noted_fsync(descriptor: int) -> None:
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        steps.append(name)
        fsync(descriptor)

    def noted_rename(path: Path, target: Path) -> Path:
        steps.append("-> number" if Path(target).name.isdigit() else "")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "rename", noted_rename)
    monkeypatch.setattr(session, "CHUNK_ROWS", 300)
    assert rondo("stream", model, "--source", rows, "--out", "out").code == 0
    first, *later, last = " ".join(steps).split("-> number")[:-1]
    assert "labels.csv" not in first  # there is a checkpoint before there is anything else
    assert len(later) >= 2
    assert all("labels.csv" in before and "events.jsonl" in before for before in [*later, last])
    assert all(name in last for name in ("day.npy", "summary.json"))


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@needs_posix
@pytest.mark.parametrize("killer", ["fake"], indirect=True)
def test_asked_to_stop(killer: Killer, here: Path, rows: Path, model: Path, number: int) -> None:
    arguments: list[object] = ["stream", model, "--source", rows]
    whole, _ = uninterrupted(killer, here, *arguments)
    order = [*arguments, "--out", here / "out"]
    n_bytes = len((here / "whole" / "labels.csv").read_bytes()) - 200
    nearly_read = (here / "out" / "labels.csv", n_bytes)  # then it reads the last rows, or waits for more
    assert killer.rondo(*order, "--follow", once=nearly_read, signal=number) == 0
    said = killer.err.read_text().splitlines()[-1]
    stopped = re.fullmatch(r"stopped after (8\d\d) rows; run the same command to resume", said)
    assert stopped is not None, said
    assert not json.loads((here / "out" / "summary.json").read_text())["stream"]["finished"]
    assert killer.rondo(*order) == 0
    assert f"resuming after {stopped[1]} rows" in killer.err.read_text()
    assert written(here / "out") == whole


@pytest.mark.slow
@pytest.mark.parametrize("has_clock", [False, True])
def test_a_live_pipe_that_is_started_again_is_a_boundary(here: Path, model: Path, has_clock: bool) -> None:
    command = [sys.executable, "-m", "rondo", "stream", str(model), "--source", "-", "--out", "out"]
    times = np.arange(3_000) / 50 if has_clock else None
    for part in (slice(0, 500), slice(500, 3_000)):
        text = write_csv(here / "part.csv", waves(3_000)[part], None if times is None else times[part])
        run = [*command, "--follow"]
        done = subprocess.run(run, input=text.read_bytes(), capture_output=True, check=False, timeout=300)
        assert done.returncode == 0, done.stderr
    cuts = [event for event in read_journal(here / "out" / "events.jsonl") if event.kind == "gap"]
    assert [(event.frame, event.evidence["rule"], event.evidence["cause"]) for event in cuts] == [
        (500, "boundary", "begun again after a restart; rows sent meanwhile are lost")
    ]
    starts = [int(line.split(",")[0]) for line in (here / "out" / "labels.csv").read_text().splitlines()[1:]]
    assert 500 in starts  # without a boundary windows begin at multiples of 20 after the first
    assert not any(500 < start < 520 for start in starts)


def another_model(here: Path) -> None:
    other = Rondo(window=40, step=20, settings={"evidence": {"surrogates": 0}}, seed=9, device="cpu")
    other.fit(Recording(waves(1200, seed=3), rate=50, channels=("a", "b"))).save(here / "m")


def damaged_checkpoint(here: Path) -> None:
    manifest = next((here / "out" / "checkpoint").glob("*/manifest.json"))
    manifest.write_text(manifest.read_text().replace('"n_rows": 899', '"n_rows": 898'))


def something_else(here: Path) -> None:
    shutil.rmtree(here / "out")
    (here / "out").mkdir()
    (here / "out" / "notes.txt").write_text("mine")


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("disturb", "message"),
    [
        (another_model, "a checkpoint of another model"),
        (damaged_checkpoint, "edited since it was saved"),
        (lambda here: (here / "out" / "labels.csv").write_text("mine\n"), "bytes that the checkpoint counts"),
        (something_else, "it holds 'notes.txt' already"),
    ],
)
def test_a_folder_of_another_run_is_refused_and_stays(
    rondo: Command, here: Path, rows: Path, model: Path, disturb: Callable[[Path], object], message: str
) -> None:
    shutil.copytree(model, here / "m")
    command = ("stream", "m", "--source", rows, "--out", "out")
    assert rondo(*command).code == 0
    disturb(here)
    before = tree(here)
    refused(rondo(*command), message)
    assert tree(here) == before


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("source", "message"),
    [("no.csv", "there is no such file"), ("lacking.csv", "lacks the channel 'b'"), ("empty", "no files")],
)
def test_a_source_that_cannot_be_read_leaves_nothing(
    rondo: Command, here: Path, model: Path, source: str, message: str
) -> None:
    (here / "lacking.csv").write_text("a,c\n1,2\n")
    (here / "empty").mkdir()
    before = tree(here)
    refused(rondo("stream", model, "--source", source, "--out", "out"), message)
    assert tree(here) == before


@pytest.mark.usefixtures("fake")
def test_two_at_once(rondo: Command, here: Path, rows: Path, model: Path) -> None:
    with checkpoint_module.locked(here / "out" / "checkpoint"):
        refused(rondo("stream", model, "--source", rows, "--out", "out"), "another process is writing")


@pytest.mark.usefixtures("fake")
def test_drafts_of_a_run_that_was_killed_are_gone_at_the_end(
    rondo: Command, here: Path, rows: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("stream", model, "--source", rows, "--out", "out")
    with monkeypatch.context() as patched:
        patched.setattr(session.Session, "step", mock.Mock(side_effect=MemoryError))
        assert rondo(*command).code == 2
    for folder in ("overview", "scores", "units", "labels", "."):
        (here / "out" / folder).mkdir(exist_ok=True)
        (here / "out" / folder / draft_name("day.npy", dead_pid())).write_text("half")
    assert rondo(*command).code == 0
    assert not [name for name in tree(here / "out") if name.endswith(".draft")]


@pytest.mark.slow
@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("step", ["write", "fsync"])
@pytest.mark.parametrize("n_good", [0, 2, 8, 34])
def test_a_full_disk_loses_nothing(
    rondo: Command, here: Path, rows: Path, model: Path, step: str, n_good: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("stream", model, "--source", rows)
    monkeypatch.setattr(session, "CHUNK_ROWS", 100)
    assert rondo(*arguments, "--out", "whole").code == 0
    left, real = [n_good], getattr(os, step)

    def full(*given: object) -> object:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*given)

    with monkeypatch.context() as patched:
        patched.setattr(os, step, full)
        outcome = rondo(*arguments, "--out", "out")
    if outcome.code:
        refused(outcome, "No space left on device")
    assert rondo(*arguments, "--out", "out").code == 0
    assert written(here / "out") == written(here / "whole")


@pytest.mark.slow
@pytest.mark.usefixtures("fake")
def test_a_source_that_disappears_loses_nothing(
    rondo: Command, here: Path, rows: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rondo("stream", model, "--source", rows, "--out", "whole").code == 0
    text = rows.read_bytes()
    rows.write_bytes(text[: len(text) // 2])
    real = files.TableFile.is_at

    def gone(self: files.TableFile, path: Path) -> bool:
        path.unlink(missing_ok=True)
        return real(self, path)

    monkeypatch.setattr(files, "PATIENCE_S", 0.2)
    with monkeypatch.context() as patched:
        patched.setattr(files.TableFile, "is_at", gone)
        lost = rondo("stream", model, "--source", rows, "--out", "out", "--follow")
        assert (lost.code, "it has disappeared" in lost.err) == (4, True)
    rows.write_bytes(text)
    again = rondo("stream", model, "--source", rows, "--out", "out")
    assert (again.code, again.err.splitlines()[0][:14]) == (0, "resuming after")
    assert written(here / "out") == written(here / "whole")
