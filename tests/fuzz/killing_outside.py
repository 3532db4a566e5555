"""Kills commands that write, at random moments and before single changes of the disk, and judges what is left.

Every command is run to its end twice for the reference: what differs between the two (times of day, durations) is
compared loosely afterwards. A killed run must leave every file whole, and the same command given again must give the
reference.
"""

import contextlib
import io
import re
import shutil
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tests.fuzz.killing_deeds import Deed
from tests.fuzz.outside_base import Base
from tests.fuzz.outside_checks import strict
from tests.fuzz.warm_process import Outcome, Warm, stop

MOMENT = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?")
# lines are only added to these; a torn one is cut back when the command goes on
APPENDED = ("labels.csv", "events.jsonl", "rows.csv", "rows.jsonl")
PRIVATE = ("checkpoint/", "health.json", "parts/", "unfinished.json", "sinks/")


@dataclass
class Reference:
    """What a command leaves when nobody kills it, how long it takes, and how often it changes the disk."""

    tree: dict[str, bytes]
    volatile: set[str]
    seconds: float
    changes: int
    start: dict[str, bytes] = field(default_factory=dict)


def tree(work: Path) -> dict[str, bytes]:
    """Every file below a folder, times of day taken out."""
    found = {}
    for path in sorted(work.rglob("*")):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            text = path.suffix in (".json", ".jsonl", ".html", ".csv", ".boris", ".eaf")
            found[path.relative_to(work).as_posix()] = MOMENT.sub(b"TIME", data) if text else data
    return found


def set_up(deed: Deed, work: Path, base: Base, warm: Warm) -> None:
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for name in deed.needs:
        base.give(name, work)
    for args in deed.before:
        assert warm.run(args, work, scratch=work.parent / "scratch").code == 0, args
    if deed.prepare:
        deed.prepare(work)


def reference(deed: Deed, work: Path, base: Base, warm: Warm) -> Reference:
    """Run the command to its end, twice."""
    trees, outcomes, start = [], [], {}
    for _ in range(2):
        set_up(deed, work, base, warm)
        start = tree(work)
        outcome = warm.run(deed.args, work, scratch=work.parent / "scratch")
        assert outcome.code == 0, (deed.args, outcome.stderr)
        trees.append(tree(work))
        outcomes.append(outcome)
    first, second = trees
    volatile = {path for path in first.keys() | second.keys() if first.get(path) != second.get(path)}
    return Reference(second, volatile, outcomes[1].seconds, min(o.changes for o in outcomes), start)


def torn(path: str, data: bytes) -> str | None:
    """Why a file is not whole, as far as its own format tells."""
    name = path.rsplit("/", 1)[-1]
    if not data:
        return None if name in APPENDED or name.endswith("lock") else "empty"
    ends = {(".html", ".eaf", ".svg", ".xml"): b">", (".parquet",): b"PAR1"}
    for suffixes, end in ends.items():
        if name.endswith(suffixes) and name not in APPENDED and not data.rstrip(b"\n ").endswith(end.strip()):
            return "cut"
    try:
        if name.endswith((".json", ".boris")):
            strict(data)
        elif name.endswith((".npy", ".npz")):
            with contextlib.closing(io.BytesIO(data)) as opened:
                np.load(opened, allow_pickle=False)
    except (ValueError, OSError, zipfile.BadZipFile) as wrong:
        return str(wrong)
    return "cut" if name.endswith(".csv") and name not in APPENDED and not data.endswith(b"\n") else None


def _is_private(path: str) -> bool:
    return any(f"/{word}" in f"/{path}" for word in PRIVATE)


def after_kill(known: Reference, work: Path) -> list[str]:
    """What must hold of the folder of a killed command: every file is whole, old or new, and none is gone."""
    left = tree(work)
    found = [
        f"medium: {path} is not whole: {why}"
        for path, data in left.items()
        if "/." not in f"/{path}" and (why := torn(path, data))
    ]
    found += [f"high: {path} is gone" for path in known.start if path not in left and path in known.tree]
    for path, data in left.items():
        if path not in known.start or _is_private(path) or path in known.volatile:
            continue
        if data not in (known.start[path], known.tree.get(path)):
            found.append(f"high: {path} is neither as before nor as the whole command leaves it")
    return found


def after_again(known: Reference, work: Path) -> list[str]:
    """What must hold once the same command was given again: the reference, nothing more, nothing less."""
    left = tree(work)
    found = []
    for path in sorted(left.keys() | known.tree.keys()):
        if _is_private(path):
            if ".draft" in path:
                found.append(f"low: left over: {path}")
        elif path not in left:
            found.append(f"medium: {path} is missing after the same command again")
        elif path not in known.tree:
            found.append(f"low: left over: {path}")
        elif path in known.volatile and left[path].count(b"\n") != known.tree[path].count(b"\n"):
            found.append(f"medium: {path} has other lines than that of a run that was not killed")
        elif path not in known.volatile and left[path] != known.tree[path]:
            found.append(f"medium: {path} differs from that of a run that was not killed")
    return found


def kill(
    deed: Deed, known: Reference, work: Path, base: Base, warm: Warm, rng: np.random.Generator
) -> tuple[str, list[str]] | None:
    """Kill one run of a command; what was found, or None where it ended before it could be killed."""
    set_up(deed, work, base, warm)
    scratch = work.parent / "scratch"
    by_change = bool(rng.random() < 0.5) and known.changes > 0
    if by_change:
        at = int(rng.integers(1, known.changes + 1))
        outcome, how = warm.run(deed.args, work, scratch=scratch, kill_at=at), f"before change {at} of {known.changes}"
    else:
        share = float(rng.random())

        def during(pid: int, began: float) -> None:
            time.sleep(max(0.0, share * known.seconds - (time.monotonic() - began)))
            stop(pid)

        outcome, how = (
            warm.run(deed.args, work, scratch=scratch, during=during),
            f"at {share:.0%} of {known.seconds:.1f} s",
        )
    if outcome.code != -9:
        return None
    found = after_kill(known, work)
    again = warm.run(deed.args, work, scratch=scratch)
    if again.code != 0:
        found += _refused(deed, known, work, warm, again)
    found += after_again(known, work)
    return how, found


def _refused(deed: Deed, known: Reference, work: Path, warm: Warm, again: Outcome) -> list[str]:
    """The same command said no: fine where the killed one had done everything, and says so in one line."""
    lines = [line for line in again.stderr.decode().splitlines() if line.startswith("error:")]
    if again.code == 2 and len(lines) == 1 and deed.may_refuse and not after_again(known, work):
        return []
    return [f"medium: given again, exit code {again.code}: {' / '.join(lines) or again.stderr.decode()[-300:]}"]
