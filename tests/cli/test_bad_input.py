"""Bad input: exit code 2, one line on stderr that names what and says what to do, nothing left behind."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from rondo.data.recording import Recording
from rondo.model.rondo import Rondo
from tests.cli.running import Command, tree, waves, write_csv

GOOD = "good.csv"  # 1500 frames, channels a and b, no rate
Maker = Callable[[Path], object]


def text(content: str) -> Maker:
    return lambda path: path.write_text(content, encoding="utf-8")


def raw(content: bytes) -> Maker:
    return lambda path: path.write_bytes(content)


def archive(**arrays: object) -> Maker:
    return lambda path: np.savez(path, **arrays)  # type: ignore[arg-type]


def timed(times: list[float]) -> Maker:
    return lambda path: write_csv(path, waves(len(times)), np.array(times))


NOISE = bytes(np.random.default_rng(0).integers(0, 256, 4000, dtype=np.uint8))
CONSTANT = np.ones((1500, 2))
INFINITE = np.where(np.arange(3000).reshape(1500, 2) == 77, np.inf, waves())

FILES: dict[str, tuple[str, Maker | None, str]] = {
    "missing": ("nope.csv", None, "no such file"),
    "empty": ("x.csv", text(""), "empty"),
    "only blank lines": ("x.csv", text("\n\n\n"), "x.csv"),
    "header only": ("x.csv", text("a,b\n"), "x.csv"),
    "not numbers": ("x.csv", text("a,b\n1,2\n3,fish\n"), "fish"),
    "ragged": ("x.csv", text("a,b\n1,2\n3\n4,5\n"), "line 3"),
    "too many cells": ("x.csv", text("a,b\n1,2\n3,4,5\n"), "line 3"),
    "the same name twice": ("x.csv", text("a,a\n1,2\n3,4\n"), "'a'"),
    "only a clock": ("x.csv", text("time\n1\n2\n"), "x.csv"),
    "binary csv": ("x.csv", raw(NOISE), "x.csv"),
    "nul bytes": ("x.csv", raw(b"a,b\n" + bytes(100)), "x.csv"),
    "binary npz": ("x.npz", raw(NOISE), "x.npz"),
    "binary npy": ("x.npy", raw(NOISE), "x.npy"),
    "binary parquet": ("x.parquet", raw(b"PAR1" + NOISE + b"PAR1"), "x.parquet"),
    "binary hdf5": ("x.h5", raw(NOISE), "x.h5"),
    "truncated npz": ("x.npz", lambda p: (np.savez(p, X=waves()), p.write_bytes(p.read_bytes()[:600])), "x.npz"),
    "wrong key": ("x.npz", archive(Z=waves(), W=waves()), "2 arrays: Z"),
    "object array": ("x.npz", archive(X=np.array([{}, []], dtype=object)), "object"),
    "array of text": ("x.npz", archive(X=np.array([["a", "b"]])), "numbers"),
    "three dimensions": ("x.npz", archive(X=np.zeros((5, 5, 5))), "dimension"),
    "no dimension": ("x.npz", archive(X=np.float64(3)), "dimension"),
    "no frames": ("x.npz", archive(X=np.zeros((0, 3))), "empty"),
    "no channels": ("x.npz", archive(X=np.zeros((100, 0))), "empty"),
    "all NaN": ("x.npz", archive(X=np.full((1500, 2), np.nan)), "NaN"),
    "constant": ("x.npz", archive(X=CONSTANT), "constant"),
    "infinite": ("x.npz", archive(X=INFINITE), "infinite"),
    "infinite in a csv": ("x.csv", text("a,b\n1,2\ninf,4\n"), "infinite"),
    "beyond float32": ("x.csv", text("a,b\n1,2\n1e300,4\n"), "float32"),
    "one frame": ("x.csv", text("a,b\n1,2\n"), "too short: 1 frame in 1 recording"),
    "a page of prose": ("x.txt", text("just some\ntext that\nis none\n"), "no column holds numbers"),
    "bad rate inside": ("x.npz", archive(X=waves(), rate=-5.0), "rate"),
    "unsorted clock": ("x.csv", timed([0, 2, 1, 3]), "sort"),
    "repeated clock": ("x.csv", timed([1, 1, 1, 1]), "in every row"),
    "two rows": ("x.csv", timed([0, 0.02]), "too short"),
    "clock with a hole": ("x.csv", text("time,a\n1,1\n,2\n3,3\n"), "timestamp"),
    "unknown suffix": ("x.xls", raw(NOISE), "save it as .csv"),
    "frames in columns": ("x.npy", lambda path: np.save(path, waves().T[:, :400]), "2 frames x 400 channels"),
    "no suffix": ("x", raw(NOISE), "suffix"),
    "empty folder": ("x", Path.mkdir, "no recordings"),
    "folder of a suffix": ("x.csv", Path.mkdir, "no recordings"),
    "broken link": ("x.csv", lambda path: path.symlink_to("nowhere.csv"), "no such file"),
}  # fmt: skip
if hasattr(os, "mkfifo"):  # not on Windows
    FILES["pipe"] = ("x.csv", os.mkfifo, "regular file")

SETTINGS: dict[str, tuple[list[str], str]] = {
    "window 0": (["--window", "0"], "windows.length"),
    "window -5": (["--window", "-5"], "windows.length"),
    "window of words": (["--window", "long"], "windows.length"),
    "window nan": (["--window", "nan"], "windows.length"),
    "window longer than the recording": (["--window", "5000"], "good"),
    "window of astronomic length": (["--window", "99999999999999999999"], "windows.length"),
    "step 0": (["--step", "0"], "windows.step"),
    "step longer than the window": (["--window", "50", "--step", "51"], "windows.step"),
    "seconds without a rate": (["--window", "2s"], "--rate"),
    "step in seconds without a rate": (["--window", "50", "--step", "1s"], "--rate"),
    "rate 0": (["--rate", "0"], "rate"),
    "rate nan": (["--rate", "nan"], "rate"),
    "rate of words": (["--rate", "fast"], "'fast' is not a number; give the frames per second"),
    "unknown method": (["--method", "autoplate"], "clock"),
    "unknown setting": (["--set", "unitz.dimension=3"], "did you mean"),
    "misspelt setting": (["--set", "units.dimention=3"], "units.dimension"),
    "setting of another way": (["--set", "units.alpha=1.0"], "unit_align"),
    "setting out of range": (["--set", "units.dimension=0"], "units.dimension"),
    "setting of another kind": (["--set", "units.dimension=many"], "units.dimension"),
    "setting without a value": (["--set", "units.dimension"], "section.name=value"),
    "section as a setting": (["--set", "units=3"], "section"),
    "unknown preset": (["--preset", "papers"], "'paper'"),
    "unknown encoder": (["--encoder", "summary_stat"], "did you mean"),
    "encoder without its weights": (["--encoder", "mantis"], "encoder.weights"),
    "no motif lengths": (["--set", "motifs.method=motif_former", "--set", "motifs.lengths=[]"], "motifs.lengths"),
    "motif longer than the recording": (
        ["--set", "motifs.method=motif_former", "--set", "motifs.lengths=[900]"], "motifs.lengths",
    ),
    "motif shorter than two windows": (
        ["--rate", "50", "--window", "50", "--set", "motifs.method=motif_former", "--set", 'motifs.lengths=["100ms"]'],
        "shorter than 2 windows",
    ),
    "motif in seconds without a rate": (
        ["--window", "50", "--set", "motifs.method=motif_former", "--set", 'motifs.lengths=["2s"]'], "--rate",
    ),
    "unknown channel": (["--set", 'preprocess.channels=["a", "q"]'], "'q'"),
    "too many principal axes": (["--set", "preprocess.pca_components=9"], "pca_components"),
    "seed below 0": (["--seed", "-1"], "seed"),
    "seed of words": (["--seed", "lucky"], "--seed"),
    "unknown device": (["--device", "tpu"], "device"),
    "states without the clock": (["--states", "5"], "--states"),
    "no states": (["--method", "clock", "--states", "0"], "--states"),
    "more states than frames": (["--method", "clock", "--states", "2000"], "good.csv"),
    "window with the clock": (["--method", "clock", "--window", "50"], "--window"),
    "settings with the clock": (["--method", "clock", "--set", "seed=1"], "--set"),
    "key of a csv": (["--key", "X"], "good.csv"),
    "unknown label column": (["--label-column", "q"], "'q'"),
    "all columns are labels": (["--label-column", "a", "--label-column", "b"], "good.csv"),
    "missing configuration": (["--config", "nope.toml"], "nope.toml"),
    "configuration that is a folder": (["--config", "."], "--config"),
    "configuration that is no TOML": (["--config", "bad.toml"], "bad.toml"),
    "configuration that is binary": (["--config", "noise.toml"], "noise.toml"),
    "configuration with unknown keys": (["--config", "odd.toml"], "did you mean 'units.dimension'"),
    "unknown option": (["--windows", "3"], "--windows"),
    "option without a value": (["--window"], "--window"),
}  # fmt: skip

COMMANDS: dict[str, tuple[list[str], str]] = {
    "unknown command": (["discovr", "good.csv"], "discovr"),
    "no command": (["good.csv"], "did you mean `rondo discover good.csv --out run`?"),
    "nearly the name of a file": (["discover", "god.csv", "--out", "out"], "did you mean 'good.csv'?"),
    "a folder of folders": (["discover", "deep", "--out", "out"], "folders inside it do: name them, as deep/inner"),
    "a folder of all sorts": (["discover", "sorts", "--out", "out"], "name the files to read and not the folder"),
    "no recording": (["discover", "--out", "out"], "RECORDING"),
    "no folder to write": (["discover", "good.csv"], "'--out': Folder to write"),
    "two recordings of one name": (["discover", "good.csv", "more/good.csv", "--out", "out"], "good"),
    "the same recording twice": (["discover", "good.csv", "./good.csv", "--out", "out"], "good"),
    "recordings of different channels": (["discover", "wide.csv", "good.csv", "--out", "out"], "'c'"),
    "recordings of different rates": (["discover", "hz50.npz", "hz99.npz", "--out", "out"], "hz99"),
    "a rate and none": (["discover", "hz50.npz", "good.csv", "--out", "out"], "good"),
    "label: no model": (["label", "nope", "good.csv", "--out", "out"], "nope"),
    "label: no model inside": (["label", "more", "good.csv", "--out", "out"], "manifest.json"),
    "label: model that is a file": (["label", "good.csv", "good.csv", "--out", "out"], "good.csv"),
    "evaluate: no truth": (["evaluate", "nope.npy", "labels.npy"], "nope.npy"),
    "evaluate: no labels": (["evaluate", "labels.npy", "nope.npy"], "nope.npy"),
    "evaluate: other length": (["evaluate", "labels.npy", "longer.npy"], "longer.npy"),
    "evaluate: file and folder": (["evaluate", "labels.npy", "more"], "folder"),
    "evaluate: folder without labels": (["evaluate", "void", "void"], "void"),
    "evaluate: fractions": (["evaluate", "labels.npy", "fractions.npy"], "whole numbers"),
    "evaluate: unknown key": (["evaluate", "hz50.npz", "labels.npy", "--key", "y9"], "y9"),
    "report: no folder": (["report", "nope"], "nope"),
    "report: no run": (["report", "more"], "rondo discover"),
    "suggest: no file": (["suggest", "nope.csv"], "no such file"),
    "suggest: window longer than the recording": (["suggest", "good.csv", "--set", "windows.length=5000"], "good"),
    "suggest: different rates": (["suggest", "hz50.npz", "hz99.npz"], "hz99"),
    "stability: one seed": (["stability", "good.csv", "--seeds", "1"], "--seeds must be 2 or more"),
    "stability: no file": (["stability", "nope.csv"], "no such file"),
    "usage: no folder": (["usage", "nope"], "rondo discover"),
    "usage: a recording": (["usage", "good.csv"], "good.csv"),
    "usage: csv and json": (["usage", "nope", "--csv", "--json"], "give one"),
    "quiet and verbose": (["--quiet", "--verbose", "demo"], "contradict"),
    "config: unknown preset": (["config", "show", "--preset", "x"], "'paper'"),
    "config: bad setting": (["config", "show", "--set", "a.b=1"], "a"),
    "config: file in the way": (["config", "init", "good.csv"], "good.csv"),
    "config: folder in the way": (["config", "init", "more"], "more"),
    "config: no such folder": (["config", "init", "nope/rondo.toml"], "nope"),
    "datasets: unknown name": (["datasets", "info", "PAMAP"], "did you mean 'pamap2'?"),
    "datasets: far name": (["datasets", "info", "zzz"], "known are mocap"),
    "datasets: no folder": (["datasets", "list", "--data", "nope"], "nope"),
    "datasets: damaged copy": (["datasets", "info", "mocap", "--data", "copies"], "damaged.npz"),
    "demo: seed below 0": (["demo", "--seed", "-1"], "seed"),
    "demo: unknown device": (["demo", "--device", "tpu"], "device"),
}  # fmt: skip

OUTPUTS: dict[str, tuple[str, str]] = {
    "a file": ("good.csv", "not an empty folder"),
    "a folder with something in it": ("more", "not an empty folder"),
    "a folder that holds a run": ("run", "already holds a run"),
    "below a file": ("good.csv/out", "good.csv"),
    "far below a file": ("good.csv/a/b/out", "good.csv"),
    "a link to nowhere": ("dangling", "link"),
    "the current folder": (".", "not an empty folder"),
    "the root of the disk": ("/", "--out"),
    "a name too long": ("x" * 300, "--out"),
    "links in a circle": ("circle/out", "--out"),
}


@pytest.fixture
def stage(here: Path) -> Path:
    """Files that the commands of this page refer to."""
    write_csv(here / GOOD, waves())
    write_csv(here / "wide.csv", waves(n_channels=3))
    np.savez(here / "hz50.npz", X=waves(), rate=50.0, y=np.zeros(1500, int))
    np.savez(here / "hz99.npz", X=waves(), rate=99.0)
    np.save(here / "labels.npy", np.zeros(1500, int))
    np.save(here / "longer.npy", np.zeros(1501, int))
    np.save(here / "fractions.npy", np.full(1500, 0.5))
    (here / "bad.toml").write_text("units = = 3")
    (here / "noise.toml").write_bytes(NOISE)
    (here / "odd.toml").write_text("[units]\ndimention = 3\n")
    for folder in ("more", "run", "void", "copies", "copies/MoCap"):
        (here / folder).mkdir()
    write_csv(here / "more" / GOOD, waves())
    (here / "copies" / "MoCap" / "damaged.npz").write_bytes(NOISE)
    (here / "run" / "summary.json").write_text("{}")
    (here / "deep" / "inner").mkdir(parents=True)
    write_csv(here / "deep" / "inner" / GOOD, waves())
    (here / "sorts").mkdir()
    (here / "sorts" / "protocol.txt").write_text("what\nthis is\n")
    (here / "dangling").symlink_to("nowhere")
    (here / "circle").symlink_to("circle")
    return here


def assert_refused(rondo: Command, folder: Path, arguments: list[str], says: str) -> None:
    before = tree(folder)
    outcome = rondo(*arguments)
    *progress, last = outcome.err.splitlines()
    assert last.startswith("error: ")
    assert says in last
    assert all(line.startswith("[") for line in progress)  # what was going on when it turned out
    assert outcome.code == 2
    assert outcome.out == ""
    assert tree(folder) == before


@pytest.mark.parametrize("case", FILES)
def test_files_that_are_no_recordings(rondo: Command, here: Path, case: str) -> None:
    name, make, says = FILES[case]
    if make is not None:
        make(here / name)
    assert_refused(rondo, here, ["discover", name, "--out", "out"], says)


@pytest.mark.parametrize("case", FILES)
def test_one_bad_file_spoils_the_run_by_name(rondo: Command, here: Path, case: str) -> None:
    name, make, _ = FILES[case]
    write_csv(here / GOOD, waves())
    if make is not None:
        make(here / name)
    assert_refused(rondo, here, ["discover", GOOD, name, "--out", "deep/er/out"], Path(name).stem)


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_that_cannot_be(rondo: Command, stage: Path, case: str) -> None:
    arguments, says = SETTINGS[case]
    assert_refused(rondo, stage, ["discover", GOOD, "--out", "out", *arguments], says)


@pytest.mark.parametrize("case", COMMANDS)
def test_commands_that_cannot_be(rondo: Command, stage: Path, case: str) -> None:
    assert_refused(rondo, stage, *COMMANDS[case])


@pytest.mark.parametrize("case", OUTPUTS)
@pytest.mark.parametrize("arguments", [["discover", GOOD], ["demo"], ["label", "nope", GOOD]], ids=lambda a: a[0])
def test_folders_that_cannot_be_written(rondo: Command, stage: Path, case: str, arguments: list[str]) -> None:
    out, says = OUTPUTS[case]
    assert_refused(rondo, stage, [*arguments, "--out", out], says)


def test_a_folder_without_the_right_to_write(rondo: Command, stage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)  # root may do all
    assert_refused(rondo, stage, ["discover", GOOD, "--out", "new/out"], "not a writable folder")


@pytest.mark.parametrize("writer", ["numpy.save", "polars.DataFrame.write_parquet", "os.fsync"])
def test_a_disk_that_fills_up_leaves_nothing_behind(
    rondo: Command, stage: Path, monkeypatch: pytest.MonkeyPatch, writer: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writer, full)
    assert_refused(rondo, stage, ["discover", GOOD, "--out", "new/er/out", "--window", "50"], "No space left")


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


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["discover", "x.csv", "--out", "out"], "fish"),
        (["discover", "nope.csv", "--out", "out"], "nope.csv"),
        (["discover"], "RECORDING"),
    ],
    ids=["not numbers", "missing", "usage"],
)
def test_the_same_from_a_shell(here: Path, arguments: list[str], says: str) -> None:
    (here / "x.csv").write_text("a,b\n1,2\n3,fish\n")
    before = tree(here)
    done = subprocess.run([sys.executable, "-m", "rondo", *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: ")
    assert says in done.stderr
    assert tree(here) == before


def test_a_reader_that_has_gone_is_no_error(here: Path) -> None:
    shell = f"{sys.executable} -m rondo config show | head -n 1"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=False)
    assert done.stdout.startswith("seed = 0")
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [["config", "show"], ["--version"]], ids=["long", "short"])
def test_a_stdout_that_cannot_be_written_is_said(
    here: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)  # short lines wait in the buffer until the end
    command = [sys.executable, "-m", "rondo", *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: stdout: No space left on device; check the disk and its permissions\n"


# ---------------------------------------------------------------- a model and recordings that do not fit it


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of channels a and b at 50 Hz."""
    folder = tmp_path_factory.mktemp("model") / "model"
    recording = Recording(waves(), 50.0, ("a", "b"))
    Rondo(window=50, settings={"evidence.surrogates": 0}, device="cpu").fit(recording).save(folder)
    return folder


MISFITS: dict[str, tuple[dict[str, object], list[str], str]] = {
    "another rate": ({"rate": 80.0, "channels": ["a", "b"]}, [], "--resample"),
    "a rate too far off": ({"rate": 1.0, "channels": ["a", "b"]}, ["--resample"], "too far"),
    "a channel missing": ({"rate": 50.0, "channels": ["a", "c"]}, [], "lacks the channel 'b'"),
    "too short to learn motifs": ({"X": waves(20), "rate": 50.0, "channels": ["a", "b"]}, ["--refit-motifs"], "window"),
    "seed below 0": ({"rate": 50.0, "channels": ["a", "b"]}, ["--seed", "-1"], "seed"),
    "unknown device": ({"rate": 50.0, "channels": ["a", "b"]}, ["--device", "tpu"], "device"),
}


@pytest.mark.parametrize("case", MISFITS)
def test_recordings_and_options_that_do_not_fit_a_model(rondo: Command, here: Path, model: Path, case: str) -> None:
    arrays, options, says = MISFITS[case]
    archive(**({"X": waves()} | arrays))(here / "x.npz")
    assert_refused(rondo, here, ["label", str(model), "x.npz", "--out", "out", *options], says)


def test_a_model_of_another_schema(rondo: Command, here: Path, model: Path) -> None:
    shutil.copytree(model, here / "model")
    manifest = here / "model" / "manifest.json"
    stored = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(stored | {"schema": 999}))
    write_csv(here / GOOD, waves())
    assert_refused(rondo, here, ["label", "model", GOOD, "--out", "out"], "model schema 999")


def test_what_is_asked_for_is_resampled_and_labelled_on_its_own_rows(rondo: Command, here: Path, model: Path) -> None:
    np.savez(here / "x.npz", X=waves(2400), rate=80.0, channels=["a", "b"])
    for options in ([], ["--refit-motifs", "--seed", "5"]):
        out = f"out{len(options)}"
        outcome = rondo("label", model, "x.npz", "--out", out, "--resample", *options)
        assert outcome.code == 0
        assert "resampled from 80 to 50 Hz" in outcome.err
        assert np.load(here / out / "labels" / "x.npy").shape == (2400,)
    assert Rondo.load(here / "out3" / "model").provenance_["motifs_refit_seed"] == 5
