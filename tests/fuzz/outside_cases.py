"""Every case by its number: case n is the same on every machine, and is judged in an empty folder of its own."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from tests.fuzz import outside_annotations, outside_commands, outside_files, outside_folders, outside_streams
from tests.fuzz.outside_base import Base, make
from tests.fuzz.outside_checks import Case, digest, faults
from tests.fuzz.warm_process import Outcome, Warm

GROUPS = (outside_files, outside_commands, outside_folders, outside_streams, outside_annotations)
TWICE = ("settings", "outs", "exports", "bare", "edits", "annotated", "piped", "sources")
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


def main() -> None:
    """`python -m tests.fuzz.outside_cases FOLDER FIRST LAST`: judge cases and print what was found."""
    folder, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    warm = Warm()
    base = make(folder / "base", warm)
    total = 0
    for number in range(first, last):
        room = folder / f"{number:05d}"
        shutil.rmtree(room, ignore_errors=True)
        try:
            case, outcome, found = judge(number, room, base, warm)
        except Exception as wrong:  # noqa: BLE001  # a generator that fails must not end the others
            sys.stdout.write(
                f"{number} GENERATOR {FAMILIES[number % len(FAMILIES)].__name__}: {type(wrong).__name__}: {wrong}\n"
            )
            continue
        total += bool(found)
        head = f"{number} {case.name} -> {outcome.code} {outcome.seconds:.1f}s {outcome.peak_mb:.0f}MB"
        message = outcome.stderr.decode(errors="replace").strip().splitlines()[-1:] or [""]
        sys.stdout.write(f"{head} | {message[0][:200]!r}\n" + "".join(f"    ** {fault}\n" for fault in found))
        sys.stdout.flush()
        if not found:
            shutil.rmtree(room, ignore_errors=True)
    sys.stdout.write(f"{last - first} cases, {total} with faults\n")
    warm.close()


if __name__ == "__main__":
    main()
