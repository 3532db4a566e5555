"""Folders of others, with one thing wrong: every command ends well or with one line, and takes no absurd memory."""

from __future__ import annotations

import os
import resource
import shutil
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from rondo.errors import RondoError
from rondo.live import session
from rondo.live.session import Session, SessionPaths
from rondo.model.describe import words_of
from rondo.model.rondo import Rondo
from rondo.result import Result
from tests.cli.running import call, waves, write_csv
from tests.fuzz.folders import copied, picked, spoil
from tests.fuzz.generators import N_CASES
from tests.systems import needs_posix

pytestmark = [needs_posix, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with names and edits, a stream that was stopped halfway, and one that has ended."""
    here = tmp_path_factory.mktemp("fuzz")
    for name, seed in (("x", 0), ("y", 1)):
        write_csv(here / f"{name}.csv", waves(900, seed=seed))
    quick = ("--rate", 50, "--window", 40, "--step", 20, "--set", "evidence.surrogates=19")
    assert call("discover", here / "x.csv", here / "y.csv", "--out", here / "run", *quick).code == 0
    assert call("name", here / "run", "unit:0", "walk").code == 0
    assert call("merge", here / "run", "unit:0", "unit:1").code == 0
    model = here / "run" / "model"
    write_csv(here / "s.csv", waves(1500, seed=6))
    before, session.CHUNK_ROWS = session.CHUNK_ROWS, 100
    with closing(Session(Rondo.load(model), model, _paths(here / "half"))) as stopped:
        for _ in range(9):
            stopped.step()
        stopped.save()
    session.CHUNK_ROWS = before
    assert call("stream", model, "--source", here / "s.csv", "--out", here / "whole").code == 0
    return here


def _paths(out: Path) -> SessionPaths:
    return SessionPaths(str(out.parent / "s.csv"), out)


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    """3 GB more than now: absurd requests are refused by the system, and the test fails."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + (3 << 30), hard))
    yield
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


# ---------------------------------------------------------------- what reads


def command(*arguments: object) -> bool:
    """Whether it ended well; else it said one line."""
    outcome = call("--quiet", *arguments)
    if outcome.code == 0:
        return True
    assert outcome.code == 2, outcome
    errors = [line for line in outcome.err.splitlines() if not line.startswith("note: ")]
    assert len(errors) == 1 and errors[0].startswith("error: ") and len(errors[0]) < 3000, outcome
    assert "not enough memory" not in errors[0], outcome
    return False


def look_at_all(folder: Path) -> bool:
    """The result as a program uses it."""
    try:
        result = Result.load(folder)
        for one in result.recordings:
            labelling = result[one.id]
            assert labelling.units.shape == labelling.motifs.shape
            _ = result.run.overviews[one.id], result.run.scores[one.id]
        _ = (result.run.tables["segments"], result.findings, result._repr_html_(), repr(result), result.model)
    except RondoError as error:
        assert "\n" not in str(error), error
        return False
    return True


def use_model(folder: Path) -> bool:
    try:
        model = Rondo.load(folder)
        model.predict(waves(300))
        assert model._repr_html_() and words_of(model)
    except RondoError as error:
        assert "\n" not in str(error), error
        return False
    return True


READERS: dict[str, list[Callable[[Path, Path], bool]]] = {
    "run": [
        lambda run, here: look_at_all(run),
        lambda run, here: command("report", run),
        lambda run, here: command("usage", run, "--json"),
        lambda run, here: command("usage", run, "--transitions"),
        lambda run, here: command("export", run, "--format", "eaf", "--out", here / "out"),
        lambda run, here: command("export", run, "--format", "label-studio", "--out", here / "out.json"),
        lambda run, here: command("compare", run, here / "good"),
        lambda run, here: command("name", run, "unit:1", "zz"),
        lambda run, here: command("name", run, "--history"),
        lambda run, here: command("undo", run),
        lambda run, here: command("split", run, "unit:0"),
    ],
    "run/model": [
        lambda model, here: use_model(model),
        lambda model, here: command("label", model, here / "y.csv", "--rate", 50, "--out", here / "out"),
        lambda model, here: command("stream", model, "--source", here / "y.csv", "--out", here / "out"),
        lambda model, here: command("name", model, "unit:1", "zz"),
    ],
    "half": [
        lambda out, here: look_at_all(out),
        lambda out, here: command("stream", here / "run/model", "--source", here / "s.csv", "--out", out),
        lambda out, here: command("stream", here / "run/model", "--source", here / "s.csv", "--out", out),
        lambda out, here: command("report", out),
    ],
    "whole": [
        lambda out, here: look_at_all(out),
        lambda out, here: command("report", out),
        lambda out, here: command("export", out, "--format", "csv", "--out", here / "out.csv"),
        lambda out, here: command("usage", out),
        lambda out, here: command("name", out, "unit:1", "zz"),
        lambda out, here: command("stream", here / "run/model", "--source", here / "s.csv", "--out", out),
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("what", READERS)
def test_folders_with_one_thing_wrong(made: Path, tmp_path: Path, what: str) -> None:
    n_cases = N_CASES // 4
    first = int(os.environ.get("RONDO_FUZZ_FIRST", "0"))
    copied(made / "run", tmp_path / "run")
    copied(made / "run", tmp_path / "good")
    for name in ("x.csv", "y.csv", "s.csv"):
        shutil.copy(made / name, tmp_path / name)
    n_well, faults = 0, []
    for seed in range(first, first + n_cases):
        rng = np.random.default_rng(seed)
        folder = copied(made / what, tmp_path / what)
        done = spoil(folder, rng)
        place = picked([*range(len(READERS[what]))], rng)
        try:
            n_well += READERS[what][place](folder, tmp_path)
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a fault; the others are looked for too
            at = traceback.extract_tb(error.__traceback__)[-1]
            faults.append(f"seed {seed} of {what}, reader {place}, {done}: {error!r:.400} ({at.name}:{at.lineno})")
        finally:
            for out in (tmp_path / "out", tmp_path / "out.json", tmp_path / "out.csv"):
                shutil.rmtree(out) if out.is_dir() else out.unlink(missing_ok=True)
    assert not faults, "\n".join(faults[:40])
    assert n_cases < 10 or 0 < n_well < n_cases, "all end alike: that tests little"


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["pipe", "device", "vast"])
@pytest.mark.parametrize("what", ["run", "run/model", "half"])
def test_no_file_is_read_for_ever(made: Path, tmp_path: Path, what: str, kind: str) -> None:
    """M11, of every file that a folder has: a pipe hung, a link to /dev/zero filled the memory."""
    for name in ("y.csv", "s.csv"):
        shutil.copy(made / name, tmp_path / name)
    copied(made / "run", tmp_path / "run")
    files = [path.relative_to(made / what) for path in sorted((made / what).rglob("*")) if path.is_file()]
    for file in files:
        folder = copied(made / what, tmp_path / what)
        (folder / file).unlink()
        if kind == "pipe":
            os.mkfifo(folder / file)
        elif kind == "device":
            (folder / file).symlink_to("/dev/zero")
        else:
            with (folder / file).open("wb") as vast:
                vast.truncate(1 << 40)
        for reader in READERS[what][:2]:
            reader(folder, tmp_path)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
