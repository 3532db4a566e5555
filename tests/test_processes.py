"""Results, models and errors in other processes: what is pickled comes back equal, and no forked process waits."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.testing as npt
import pandas.testing as pdt
import pytest

import rondo
from rondo import errors
from rondo.data.recording import Recording
from rondo.errors import MissingExtraError, RondoError, not_fitted
from rondo.result import Result
from tests.cli.running import waves
from tests.systems import needs_posix

SETTINGS = {"evidence.surrogates": 0}


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Recording(waves(1500), 50, ("a", "b"), "day1")


@pytest.fixture(scope="module")
def found(recording: Recording) -> Result:
    return rondo.discover(recording, window=40, settings=SETTINGS)


def stored(found: Result, folder: Path) -> Result:
    found.save(folder / "run")
    return Result.load(folder / "run")


def streamed(found: Result) -> Result:
    stream = found.model.stream(iter([waves(700, seed=3)]))
    assert list(stream)
    return stream.result


KINDS: dict[str, Callable[[Result, Recording, Path], Result]] = {
    "discovered": lambda found, recording, folder: found,
    "labelled": lambda found, recording, folder: found.model.predict(recording),
    "streamed": lambda found, recording, folder: streamed(found),
    "stored": lambda found, recording, folder: stored(found, folder),
    "edited": lambda found, recording, folder: found.edited(),
    "clock": lambda found, recording, folder: rondo.discover(recording, "clock", settings={"n_states": 3}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_comes_back_equal(found: Result, recording: Recording, tmp_path: Path, kind: str) -> None:
    before = KINDS[kind](found, recording, tmp_path)
    after = pickle.loads(pickle.dumps(before))
    assert after.summary == before.summary and after.events == before.events and repr(after) == repr(before)
    for name in ("segments", "labels"):
        pdt.assert_frame_equal(getattr(after, name), getattr(before, name))
    for track in ("units", "motifs"):
        npt.assert_array_equal(getattr(after, track), getattr(before, track))
    assert after.report(tmp_path / "after.html").read_bytes() == before.report(tmp_path / "before.html").read_bytes()
    assert (after.model is None) == (before.model is None)
    if before.model is not None:
        npt.assert_array_equal(after.model.predict(recording).units, before.model.predict(recording).units)


def test_a_stored_result_needs_its_folder_no_longer(found: Result, tmp_path: Path) -> None:
    pickled = pickle.dumps(stored(found, tmp_path))
    (tmp_path / "run").rename(tmp_path / "elsewhere")
    npt.assert_array_equal(pickle.loads(pickled).units, found.units)


CLASSES = [thing for thing in vars(errors).values() if isinstance(thing, type) and issubclass(thing, RondoError)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_comes_back_as_it_was(kind: type[RondoError]) -> None:
    before = kind("Result.plot", "matplotlib", "plot") if kind is MissingExtraError else kind("what is wrong")
    after = pickle.loads(pickle.dumps(before))
    assert (type(after), str(after), after.args) == (kind, str(before), before.args)


def test_the_error_that_is_one_of_scikit_learn_too_comes_back() -> None:
    before = not_fitted("fit it first")
    after = pickle.loads(pickle.dumps(before))
    assert (type(after).__mro__[1:], str(after)) == (type(before).__mro__[1:], "fit it first")


# ------------------------------------------------------------ forked processes

FORKS = """
import multiprocessing, sys, warnings
import numpy as np
import rondo
warnings.simplefilter("ignore")
values = np.load(sys.argv[1])
def discover(seed):
    return rondo.discover(values, window=40, rate=50, settings={"evidence.surrogates": 0}, seed=seed).units.tolist()
context = multiprocessing.get_context("fork")
before = context.Pool(2)
here = discover(0)
print(before.map_async(discover, [0, 0]).get(100) == [here, here])
result = rondo.discover(values, window=40, rate=50, settings={"evidence.surrogates": 0})
def kind_of(use):
    try:
        USES[use]()
    except rondo.errors.RondoError as error:
        return f"{type(error).__name__} {len(str(error).splitlines())}"
    return "done"
USES = {
    "discover": lambda: discover(0),
    "read": lambda: rondo.read(sys.argv[2], rate=50),
    "label": lambda: result.model.predict(values),
    "stream": lambda: list(result.model.stream(iter([values]))),
    "segments": lambda: result.segments,
    "usage": lambda: result.usage(),
    "transitions": lambda: result.transitions(),
    "report": lambda: result.report(sys.argv[2] + ".html"),
    "plot": lambda: result.plot(),
    "plot_entry": lambda: result.plot_entry("unit:0"),
    "export": lambda: result.export("csv", sys.argv[2] + ".csv"),
    "save": lambda: result.save(sys.argv[2] + ".run"),
    "edited": lambda: result.edited(),
    "load": lambda: rondo.Result.load(sys.argv[2] + ".run"),
    "model": lambda: rondo.Rondo.load(sys.argv[2] + ".run/model"),
}
with context.Pool(2) as after:
    print(set(after.map_async(kind_of, USES).get(100)))
    try:
        after.map_async(discover, [0, 1]).get(100)
    except rondo.errors.RondoError as error:
        print(error)
"""


@needs_posix
@pytest.mark.slow
def test_a_forked_process_works_or_refuses_in_one_line(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", waves(1500))
    command = [sys.executable, "-c", FORKS, str(tmp_path / "x.npy"), str(tmp_path / "x.npy")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    works, kinds, said = done.stdout.splitlines()
    assert (works, kinds) == ("True", "{'ForkedError 1'}"), done
    assert "spawn" in said
