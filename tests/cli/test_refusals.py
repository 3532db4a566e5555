"""Bad input: exit code 2, one line on stderr that names what and says what to do, nothing left behind."""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer

from rondo.cli.main import app
from rondo.model.rondo import Rondo
from rondo.result import Result
from tests.cli.running import Command, tree, waves, write_csv
from tests.golden_files import Golden
from tests.report.export.made_runs import Made, write_made_run
from tests.report.run_folders import write_run_folder

GOOD = "good.csv"  # 1500 frames, channels a and b, no rate
NOISE = bytes(np.random.default_rng(0).integers(0, 256, 4000, dtype=np.uint8))
LINES = Path(__file__).with_name("refusals.txt").read_text(encoding="utf-8").splitlines()
REFUSED = [line.rsplit("  # ", 1) for line in LINES if "  # " in line]
FIRST_WORDS = sorted({line.split()[0] for line, _ in REFUSED})


def refused(rondo: Command, folder: Path, *arguments: object, names: str) -> str:
    """The line of error of a command that changes nothing."""
    before = tree(folder)
    outcome = rondo(*arguments)
    *others, last = outcome.err.splitlines() or [""]
    assert (outcome.code, outcome.out, last[:7]) == (2, "", "error: "), (arguments, outcome)
    assert all(line.startswith(("[", "note: ")) for line in others), outcome.err  # what was going on when it turned out
    assert names in last, arguments
    assert tree(folder) == before, arguments
    return last


@pytest.fixture
def stage(here: Path, flat_run: Path) -> Path:
    """Files and runs that the command lines of refusals.txt refer to."""
    write_csv(here / GOOD, waves())
    write_csv(here / "broad.csv", waves(n_channels=3))
    np.savez(here / "hz50.npz", X=waves(), rate=50.0, y=np.zeros(1500, int))
    np.savez(here / "hz99.npz", X=waves(), rate=99.0)
    for name, labels in (("labels", np.zeros(1500, int)), ("longer", np.zeros(1501, int))):
        np.save(here / f"{name}.npy", labels)
    np.save(here / "fractions.npy", np.full(1500, 0.5))
    (here / "bad.toml").write_text("units = = 3")
    (here / "noise.toml").write_bytes(NOISE)
    (here / "odd.toml").write_text("[units]\ndimention = 3\n")
    for folder in ("more", "void", "copies/MoCap", "deep/inner", "sorts", "truth"):
        (here / folder).mkdir(parents=True)
    for folder in ("more", "deep/inner"):
        write_csv(here / folder / GOOD, waves())
    (here / "copies" / "MoCap" / "damaged.npz").write_bytes(NOISE)
    (here / "sorts" / "protocol.txt").write_text("what\nthis is\n")
    (here / "dangling").symlink_to("nowhere")
    (here / "circle").symlink_to("circle")
    for name in ("a", "b"):
        pl.DataFrame({"y": ["walk", "sit"] * 5}).write_csv(here / "truth" / f"{name}.csv")
    part = Made([0, 0, 1, 1, 2, 2, 0, 0, 1, 1], [5, 5, 5, 5, -1, -1, 6, 6, 6, 6], 20.0)
    write_made_run(here / "pair", {"a": part, "b": part})
    write_run_folder(here / "a")
    write_run_folder(here / "short", n_frames=500)
    (here / "truth.txt").write_text("1\t2\tsit\n")
    for name in ("run", "other"):
        shutil.copytree(flat_run, here / name)
    edits = [{"kind": "name", "ids": [id], "name": name} for id, name in ((1, "reach"), (99, "fly"))]
    identity = Result.load(here / "run").summary.identity
    content = {"format": "rondo-edits", "schema": 1, "run": identity, "edits": edits}
    (here / "edits.json").write_text(json.dumps(content))
    summary = json.loads((here / "other" / "summary.json").read_text())
    (here / "other" / "summary.json").write_text(json.dumps(summary | {"seed": 7}))
    return here


@pytest.mark.promise
@pytest.mark.parametrize("first", FIRST_WORDS)
def test_command_lines_that_cannot_be(rondo: Command, stage: Path, golden: Golden, first: str) -> None:
    assert rondo("name", "run", "unit:0", "grasp").code == 0
    lines = [(line, names) for line, names in REFUSED if line.split()[0] == first]
    words = {line: refused(rondo, stage, *shlex.split(line), names=names) for line, names in lines}
    text = "\n".join(f"$ rondo {line}\n{said}" for line, said in words.items())
    golden.check(first if first in typer.main.get_command(app).commands else "rondo", f"refused {first}", text)


# ------------------------------------------------------------ files

Maker = Callable[[Path], object]


def text(content: str) -> Maker:
    return lambda path: path.write_text(content, encoding="utf-8")


def raw(content: bytes) -> Maker:
    return lambda path: path.write_bytes(content)


def archive(**arrays: object) -> Maker:
    return lambda path: np.savez(path, **arrays)  # type: ignore[arg-type]


def timed(times: list[float]) -> Maker:
    return lambda path: write_csv(path, waves(len(times)), np.array(times))


FILES: dict[str, tuple[str, Maker | None]] = {
    "missing": ("nope.csv", None),
    "empty": ("x.csv", text("")),
    "only blank lines": ("x.csv", text("\n\n\n")),
    "header only": ("x.csv", text("a,b\n")),
    "not numbers": ("x.csv", text("a,b\n1,2\n3,fish\n")),
    "ragged": ("x.csv", text("a,b\n1,2\n3\n4,5\n")),
    "too many cells": ("x.csv", text("a,b\n1,2\n3,4,5\n")),
    "the same name twice": ("x.csv", text("a,a\n1,2\n3,4\n")),
    "only a clock": ("x.csv", text("time\n1\n2\n")),
    "binary csv": ("x.csv", raw(NOISE)),
    "nul bytes": ("x.csv", raw(b"a,b\n" + bytes(100))),
    "binary npz": ("x.npz", raw(NOISE)),
    "binary npy": ("x.npy", raw(NOISE)),
    "binary parquet": ("x.parquet", raw(b"PAR1" + NOISE + b"PAR1")),
    "binary hdf5": ("x.h5", raw(NOISE)),
    "truncated npz": ("x.npz", lambda p: (np.savez(p, X=waves()), p.write_bytes(p.read_bytes()[:600]))),
    "wrong key": ("x.npz", archive(Z=waves(), W=waves())),
    "object array": ("x.npz", archive(X=np.array([{}, []], dtype=object))),
    "array of text": ("x.npz", archive(X=np.array([["a", "b"]]))),
    "three dimensions": ("x.npz", archive(X=np.zeros((5, 5, 5)))),
    "no dimension": ("x.npz", archive(X=np.float64(3))),
    "no frames": ("x.npz", archive(X=np.zeros((0, 3)))),
    "no channels": ("x.npz", archive(X=np.zeros((100, 0)))),
    "all NaN": ("x.npz", archive(X=np.full((1500, 2), np.nan))),
    "constant": ("x.npz", archive(X=np.ones((1500, 2)))),
    "infinite": ("x.npz", archive(X=np.where(np.arange(3000).reshape(1500, 2) == 77, np.inf, waves()))),
    "infinite in a csv": ("x.csv", text("a,b\n1,2\ninf,4\n")),
    "beyond float32": ("x.csv", text("a,b\n1,2\n1e300,4\n")),
    "one frame": ("x.csv", text("a,b\n1,2\n")),
    "a page of prose": ("x.txt", text("just some\ntext that\nis none\n")),
    "bad rate inside": ("x.npz", archive(X=waves(), rate=-5.0)),
    "unsorted clock": ("x.csv", timed([0, 2, 1, 3])),
    "repeated clock": ("x.csv", timed([1, 1, 1, 1])),
    "two rows": ("x.csv", timed([0, 0.02])),
    "clock with a hole": ("x.csv", text("time,a\n1,1\n,2\n3,3\n")),
    "unknown suffix": ("x.xls", raw(NOISE)),
    "frames in columns": ("x.npy", lambda path: np.save(path, waves().T[:, :400])),
    "no suffix": ("x", raw(NOISE)),
    "empty folder": ("x", Path.mkdir),
    "folder of a suffix": ("x.csv", Path.mkdir),
    "broken link": ("x.csv", lambda path: path.symlink_to("nowhere.csv")),
    "name that is not UTF-8": (os.fsdecode(b"bad\xff.csv"), text("x\n" + "1.5\n2.5\n" * 20)),
}  # fmt: skip
BESIDE = ("missing", "empty", "not numbers", "binary npz", "constant", "unknown suffix", "empty folder")
if hasattr(os, "mkfifo"):  # not on Windows
    FILES["pipe"] = ("x.csv", os.mkfifo)


@pytest.mark.promise
def test_files_that_are_no_recordings(rondo: Command, here: Path, golden: Golden) -> None:
    """Alone, and some beside a good one: then the file is named."""
    write_csv(here / GOOD, waves())
    said = []
    for case, (name, make) in FILES.items():
        path = here / name
        if make is not None:
            make(path)
        said.append(f"{case}:\n" + refused(rondo, here, "discover", name, "--out", "out", names=""))
        if case in BESIDE:
            refused(rondo, here, "discover", GOOD, name, "--out", "deep/er/out", names=Path(name).stem)
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    golden.check("discover", "files that are no recordings", "\n".join(said))


# ------------------------------------------------------------ disks, pipes and processes


@pytest.mark.parametrize("arguments", [["demo"], ["label", "nope", GOOD]], ids=lambda a: a[0])
def test_folders_that_cannot_be_written(rondo: Command, stage: Path, arguments: list[str]) -> None:
    for out in (GOOD, "more", "run", f"{GOOD}/a/b/out", "dangling", ".", "/", "x" * 300, "circle/out"):
        refused(rondo, stage, *arguments, "--out", out, names="--out")


def test_a_folder_without_the_right_to_write(rondo: Command, stage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)  # root may do all
    refused(rondo, stage, "discover", GOOD, "--out", "new/out", names="--out")


@pytest.mark.promise
@pytest.mark.parametrize("writer", ["numpy.save", "polars.DataFrame.write_parquet", "os.fsync"])
def test_a_disk_that_fills_up_leaves_nothing_behind(
    rondo: Command, here: Path, monkeypatch: pytest.MonkeyPatch, writer: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write_csv(here / GOOD, waves())
    monkeypatch.setattr(writer, full)
    refused(rondo, here, "discover", GOOD, "--out", "new/er/out", "--window", "50", names="No space left")


def test_a_bug_that_shows_while_writing_leaves_nothing_behind(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    from rondo.cli.main import run

    write_csv(here / GOOD, waves())
    monkeypatch.setattr("rondo.run.writer.write_json", broken)
    before = tree(here)
    with pytest.raises(ZeroDivisionError):
        run(["discover", GOOD, "--out", "new/out", "--window", "50"])
    assert tree(here) == before


@pytest.mark.promise
def test_the_same_from_a_shell(here: Path) -> None:
    (here / "x.csv").write_text("a,b\n1,2\n3,fish\n")
    before = tree(here)
    for arguments, names in ((["discover", "x.csv", "--out", "out"], "fish"), (["discover"], "RECORDING")):
        done = subprocess.run([sys.executable, "-m", "rondo", *arguments], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith("error: ") and names in done.stderr
    assert tree(here) == before


def test_a_reader_that_has_gone_is_no_error(here: Path) -> None:
    shell = f"{sys.executable} -m rondo config show | head -n 1"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert (done.stdout.split()[0], done.stderr) == ("seed", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [["config", "show"], ["--version"]], ids=["long", "short"])
def test_a_stdout_that_cannot_be_written(here: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # short lines wait in the buffer until the end
    command = [sys.executable, "-m", "rondo", *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: stdout: ")


# ------------------------------------------------------------ a model and recordings that do not fit it

TWO = {"X": waves(), "rate": 50.0, "channels": ["a", "b"]}
MISFITS: list[tuple[dict[str, object], list[str], str]] = [
    (TWO | {"rate": 80.0}, [], "--resample"),
    (TWO | {"rate": 1.0}, ["--resample"], "1 Hz"),
    (TWO | {"channels": ["a", "c"]}, [], "'b'"),
    (TWO | {"X": waves(20)}, ["--refit-motifs"], "window"),
    (TWO, ["--seed", "-1"], "seed"),
    (TWO, ["--device", "tpu"], "device"),
]


def test_recordings_and_options_that_do_not_fit_a_model(
    rondo: Command, here: Path, small_run: Path, golden: Golden
) -> None:
    said = []
    for arrays, options, names in MISFITS:
        archive(**arrays)(here / "x.npz")
        said.append(refused(rondo, here, "label", small_run, "x.npz", "--out", "out", *options, names=names))
    shutil.copytree(small_run / "model", here / "model")
    stored = json.loads((here / "model" / "manifest.json").read_text())
    (here / "model" / "manifest.json").write_text(json.dumps(stored | {"schema": 999}))
    said.append(refused(rondo, here, "label", "model", "x.npz", "--out", "out", names="999"))
    golden.check("label", "recordings that do not fit", "\n".join(said))


def test_a_recording_is_resampled_and_labelled_on_its_own_rows(rondo: Command, here: Path, small_run: Path) -> None:
    np.savez(here / "x.npz", X=waves(2400), rate=80.0, channels=["a", "b"])
    for options in ([], ["--refit-motifs", "--seed", "5"]):
        out = f"out{len(options)}"
        outcome = rondo("label", small_run, "x.npz", "--out", out, "--resample", *options)
        assert outcome.code == 0 and "80 to 50 Hz" in outcome.err
        assert np.load(here / out / "labels" / "x.npy").shape == (2400,)
    assert Rondo.load(here / "out3" / "model").provenance_["motifs_refit_seed"] == 5
