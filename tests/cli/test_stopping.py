"""Stopped in the middle: the run folder is whole or absent, and Ctrl-C and SIGTERM leave nothing at all."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

from rondo.synthetic.streams import plant
from tests.cli.running import tree, waves, write_csv
from tests.systems import LISTENING_PYTHON, needs_posix

pytestmark = needs_posix

# a run that stops for ten minutes when half of its folder is written
STUCK = """
import sys, time
import rondo.run.writer
from rondo.cli.main import run

def stuck(*_):
    print("half", file=sys.stderr, flush=True)
    for _ in range(12_000):  # in short naps: a signal that comes just before a sleep is seen only after it
        time.sleep(0.05)

rondo.run.writer.write_json = stuck
run(sys.argv[1:])
"""


# a signal that comes while the command line is imported, as of someone who types Ctrl-C at once
STOPPED_EARLY = """
import os, sys
sys.path = {path}

class Stop:
    def find_spec(self, name, *_):
        if name == "{module}":
            os.kill(os.getpid(), {number})

sys.meta_path.insert(0, Stop())
sys.argv = ["rondo", "--version"]
from rondo.__main__ import run
assert not {{"typing", "numpy", "typer", "pathlib"}} & {{*sys.modules}}, "slow imports while nobody listens"
run()
"""


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([*LISTENING_PYTHON, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(child: subprocess.Popen[str], line: str) -> None:
    assert child.stderr is not None
    while (said := child.stderr.readline()) and line not in said:
        pass
    assert said, f"the command ended before it said '{line}'"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_asked_to_stop_while_writing(here: Path, number: signal.Signals, code: int) -> None:
    write_csv(here / "x.csv", waves())
    before = tree(here)
    child = started("-c", STUCK, "discover", "x.csv", "--out", "new/out", "--method", "clock")
    wait_for(child, "half")
    assert (here / "new").is_dir()
    child.send_signal(number)
    out, err = child.communicate(timeout=300)
    assert (child.returncode, out, err) == (code, "", "stopped\n")
    assert tree(here) == before


@pytest.mark.promise
@pytest.mark.parametrize("module", ["rondo.cli.main", "typer", "rondo.cli.show", "rondo_bench.cli"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_asked_to_stop_while_importing(module: str, number: signal.Signals, code: int) -> None:
    child = started("-S", "-c", STOPPED_EARLY.format(path=sys.path, module=module, number=int(number)))
    assert (*child.communicate(timeout=300), child.returncode) == ("", "stopped\n", code)


IGNORED = """
import os, signal
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
from rondo.cli.main import _stoppable
from rondo.cli.terminal import asked_to_stop
with _stoppable(), asked_to_stop() as stop:
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGTERM)
assert not stop
assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
"""


def test_signals_that_were_ignored_at_the_start_stay_ignored() -> None:
    """As nohup and the `&` of a script leave them."""
    child = started("-c", IGNORED)
    assert (*child.communicate(timeout=300), child.returncode) == ("", "", 0)


def test_the_command_listens_before_it_imports() -> None:
    script = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]["scripts"]["rondo"]
    assert script == "rondo.__main__:run"


@pytest.mark.slow
def test_asked_to_stop_while_learning(here: Path) -> None:
    np.save(here / "x.npy", plant(n_frames=12_000, seed=0).recording.values)
    before = tree(here)
    child = started("-m", "rondo", "discover", "x.npy", "--out", "out")
    wait_for(child, "] units")
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=300)
    assert (child.returncode, out, err.splitlines()[-1]) == (143, "", "stopped")
    assert tree(here) == before


@pytest.mark.slow
def test_killed_at_any_moment(here: Path) -> None:
    np.save(here / "x.npy", plant(n_frames=12_000, seed=0).recording.values)
    begun = time.monotonic()
    child = started("-m", "rondo", "discover", "x.npy", "--out", "whole")
    child.communicate()
    needed_s = time.monotonic() - begun
    whole = set(tree(here / "whole"))
    for i, share in enumerate(np.linspace(0.5, 1.05, 4)):
        child = started("-m", "rondo", "discover", "x.npy", "--out", f"out{i}")
        try:
            child.wait(timeout=share * needed_s)
        except subprocess.TimeoutExpired:
            child.kill()
        child.communicate()
        out = here / f"out{i}"
        assert not out.exists() or set(tree(out)) == whole
