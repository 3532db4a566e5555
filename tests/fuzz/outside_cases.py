"""Every case by its number: case n is the same on every machine, and is judged in an empty folder of its own."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tests.fuzz import outside_commands, outside_files, outside_folders, outside_streams
from tests.fuzz.outside_base import Base
from tests.fuzz.outside_checks import Case, digest, faults
from tests.fuzz.warm_process import Outcome, Warm

GROUPS = (outside_files, outside_commands, outside_folders, outside_streams)
TWICE = (
    "written",
    "damaged",
    "settings",
    "outs",
    "exports",
    "bare",
    "edits",
    "harmed",
    "annotated",
    "piped",
    "sources",
)
FAMILIES = [f for group in GROUPS for f in group.FAMILIES for _ in range(1 + (f.__name__ in TWICE))]
SCRIPT = Path(sys.executable).with_name("rondo")


def build(number: int, work: Path, base: Base) -> Case:
    """Case `number`, its files in `work`."""
    place = number % len(FAMILIES)
    family = FAMILIES[place]
    again = FAMILIES[:place].count(family)
    index = (number // len(FAMILIES)) * FAMILIES.count(family) + again
    return family(np.random.default_rng([20, number]), work, base, index)


def _fresh(case: Case, work: Path, environment: dict[str, str]) -> Outcome:
    began = time.monotonic()
    done = subprocess.run(
        [SCRIPT, *case.args],
        cwd=work,
        env=os.environ | environment,
        capture_output=True,
        input=b"".join(case.stdin or ()),
        timeout=300,
    )
    return Outcome(case.args, done.returncode, done.stdout, done.stderr, time.monotonic() - began, 0.0)


def judge(number: int, room: Path, base: Base, warm: Warm) -> tuple[Case, Outcome, list[str]]:
    """Run a case and say what is wrong with how it ended; the folder is removed where nothing is."""
    work, home, beside, hold = (room / name for name in ("work", "home", "beside", "hold"))
    for folder in (work, home, beside, hold):
        folder.mkdir(parents=True)
    (beside / "precious.txt").write_text("precious")
    case = build(number, work, base)
    environment = {"HOME": str(home), "TMPDIR": str(hold), "MPLCONFIGDIR": str(room / "mpl"), **case.environment}
    before = digest(work)
    if any("\0" in arg for arg in case.args):
        case = Case(case.name, tuple(arg.replace("\0", "") for arg in case.args), case.out, may_change=case.may_change)
    outcome = (
        _fresh(case, work, environment)
        if case.fresh
        else warm.run(case.args, work, scratch=room / "scratch", stdin=case.stdin, environment=environment)
    )
    found = faults(case, outcome, work, before, base.labels)
    for folder, name in ((home, "the home folder"), (hold, "the folder of temporary files")):
        if left := sorted(digest(folder)):
            found.append(f"low: left in {name}: {left[:3]}")
    if (
        digest(beside) != {"precious.txt": digest(beside)["precious.txt"]}
        or (beside / "precious.txt").read_text() != "precious"
    ):
        found.append("high: a file beside the working folder was touched")
    if extra := {path.name for path in room.iterdir()} - {"work", "home", "beside", "hold", "mpl", "scratch"}:
        found.append(f"high: made outside the working folder: {sorted(extra)}")
    return case, outcome, found
