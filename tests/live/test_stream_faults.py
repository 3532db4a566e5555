"""`rondo stream` refuses what its model cannot read, and loses nothing where files, disks or pipes fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from rondo.continual.journal import read_journal
from rondo.errors import OutputError
from rondo.live import growing_run as outputs
from rondo.live import session
from rondo.live.session import Session, SessionPaths
from rondo.model.rondo import Rondo
from rondo.run.rows import RowFrames, RowPlaces
from tests.cli.running import Command, Outcome, refused, tree, waves, write_csv

RATE = 50


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_another_rate_is_refused_and_leaves_nothing(rondo: Command, here: Path, model: Path, suffix: str) -> None:
    write_csv(here / "x.csv", waves(400), np.arange(400) / 25)
    np.savez(here / "x.npz", X=waves(400), time=np.arange(400) / 25, channels=np.array(["a", "b"]))
    before = tree(here)
    done = rondo("stream", model, "--source", f"x{suffix}", "--out", "out")
    refused(done, "25 Hz", "the model has 50 Hz", "`rondo label --resample`")
    assert tree(here) == before


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
def test_a_rate_that_changes_on_the_way_is_a_boundary(rondo: Command, here: Path, model: Path) -> None:
    steps = np.concatenate([np.full(1_000, 1 / 50), np.full(1_000, 1 / 25), np.full(1_000, 1 / 50)])
    write_csv(here / "x.csv", waves(3_000), np.cumsum(steps))
    done = rondo("stream", model, "--source", "x.csv", "--out", "out")
    assert done.code == 0, done.err
    cuts = [e.evidence["cause"] for e in read_journal(here / "out" / "events.jsonl") if e.evidence.get("cause")]
    expected = ["rows now come at 25 Hz, the model has 50 Hz", "rows come at the 50 Hz of the model again"]
    assert [cause for cause in cuts if str(cause).startswith("rows ")] == expected
    assert "rows now come at 25" in done.err
    assert np.load(here / "out" / "units" / "x.npy").shape == (3_000,)


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("what", ["labels.csv", "the folder", "another file"])
def test_an_output_that_is_gone_while_the_source_is_silent(
    here: Path, model: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "_SECONDS_BETWEEN_LOOKS", 0.0)
    place = SessionPaths(str(write_csv(here / "x.csv", waves(900))), here / "out", follow=True)
    gone, kept = here / "out" / ("" if what == "the folder" else "labels.csv"), here / "kept"
    with closing(Session(Rondo.load(model), model, place)) as stream:
        while stream.step() is not None:
            pass
        stream.save()
        gone.rename(kept)
        if what == "another file":
            gone.write_text("mine\n")
        with pytest.raises(OutputError, match="removed, replaced or cut"):
            stream.step()
    assert (here / "out").exists() == (what != "the folder")  # nor is it made again, with half of what it should hold
    kept.rename(gone)
    with closing(Session(Rondo.load(model), model, place)) as stream:
        assert stream.counters.n_rows == 900


@pytest.mark.usefixtures("fake")
def test_labels_that_are_cut_in_place_are_noticed_before_the_next_line(
    rondo: Command, here: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As logrotate does with copytruncate: no zero bytes are written where lines were, and the error is short."""
    monkeypatch.setattr(session, "CHUNK_ROWS", 100)
    write_csv(here / "x.csv", waves(900))
    place = SessionPaths("x.csv", here / "out")
    with closing(Session(Rondo.load(model), model, place)) as stream:
        for _ in range(5):
            stream.step()
        os.truncate(here / "out" / "labels.csv", 0)
        with pytest.raises(OutputError, match="removed, replaced or cut"):
            while stream.step() is not None:
                pass
    assert (here / "out" / "labels.csv").read_bytes() == b""
    for content in (b"\0" * 5_700 + b"\n", b"start_frame\n" + b"\0" * 5_700 + b"\n"):
        (here / "out" / "labels.csv").write_bytes(content)
        done = rondo("usage", "out")
        refused(done, "labels.csv")
        assert len(done.err) < 500


ROWS_OF_NONE = (
    "0,0", "x,0,frame", "0,0,else", f"{'9' * 23},0,frame", f"{'9' * 5_000},0,frame", "0,-2,frame", "-3,0,frame",
    f"0,{1 << 62},frame", "5,5,frame\n5,6,gap", f"-{'9' * 23},0,frame", "nan,0,frame", "²,0,frame",
)  # fmt: skip


@pytest.mark.parametrize("line", ROWS_OF_NONE, ids=range(len(ROWS_OF_NONE)))
def test_rows_that_are_none_are_refused_in_one_line(here: Path, line: str) -> None:
    (here / "rows.csv").write_text(f"row,frame,what\n{line}\n", encoding="utf-8")
    with pytest.raises(OutputError, match=r"rows\.csv: expected the rows") as found:
        RowFrames.read(here)
    assert len(str(found.value)) < 300


@pytest.mark.parametrize("places", [[0, "x"], [0, "x", "frame"], [0, 0, "else"], [-1, 0, "gap"], [0, 1 << 62, "gap"]])
def test_places_that_are_none_are_refused(places: list[object]) -> None:
    with pytest.raises(ValueError, match=r"places|unpack"):
        RowPlaces().load(places)


@pytest.mark.usefixtures("fake")
def test_an_output_that_is_gone_is_noticed_before_the_next_checkpoint(
    rondo: Command, here: Path, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint that counts labels which nobody has is never written."""
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
    refused(rondo("stream", model, "--source", "x.csv", "--out", "out"), "choose another --out")
    assert not (here / "out").exists()


@pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")
@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize("n_new", [10, 300])
def test_a_file_rotated_to_one_that_lacks_a_channel(
    rondo: Command, here: Path, model: Path, n_new: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost; with fewer than 64 lines the head is awaited first."""
    values = waves(900 + 300, seed=3)
    path = write_csv(here / "x.csv", values[:900])
    write_csv(here / "mended.csv", values[900:])
    lacking = write_csv(here / "lacking.csv", values[900:, :1]).read_text().splitlines(keepends=True)
    command = ("stream", model, "--source", "x.csv", "--out", "out", "--follow")
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
    assert "resuming after 900 rows" in done.err
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


@pytest.mark.slow
def test_an_empty_pipe_says_that_nothing_came(here: Path, model: Path) -> None:
    def piped(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rondo", "stream", str(model), "--source", "-", "--out", "out", *options]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    for options in ((), ("--sink", "-")):
        done = piped("", *options)
        assert (done.returncode, done.stdout) == (0, "")
        assert "standard input: no rows" in done.stderr and "finished" not in done.stderr
    done = piped(write_csv(here / "x.csv", waves(300)).read_text())
    assert done.returncode == 0, done.stderr
    assert np.load(here / "out" / "units" / "stdin.npy").shape == (300,)


@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    "content", [b"\x00\x01\x02" * 500, b"a,b\n" + b"\x00" * 3000 + b"\n1,2\n", b"a,b\n" + b"9" * 200_000 + b",1\n"]
)
def test_a_binary_file_is_refused_in_one_line(rondo: Command, here: Path, model: Path, content: bytes) -> None:
    (here / "x.csv").write_bytes(content)
    refused(rondo("stream", model, "--source", "x.csv", "--out", "out"), "x.csv: ")
