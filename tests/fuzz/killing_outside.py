"""Kills commands that write, or lets one of their calls fail, and judges what is left.

Every command is run to its end for the reference: what differs between two runs (times of day, durations) is compared
loosely afterwards. A command that ends early must leave every file whole, and the same command given again must give
the reference.
"""

import contextlib
import io
import re
import shutil
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.killing_deeds import Deed
from tests.fuzz.outside_base import Base
from tests.fuzz.outside_checks import strict
from tests.fuzz.warm_process import KILL, Outcome, Warm, stop

MOMENT = re.compile(rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?")
# lines are only added to these; a torn one is cut back when the command goes on
APPENDED = ("labels.csv", "events.jsonl", "rows.csv", "rows.jsonl")
PRIVATE = ("checkpoint/", "health.json", "parts/", "unfinished.json", "sinks/")


State = frozenset[tuple[str, bytes]]


@dataclass
class Reference:
    """What a command leaves when nobody disturbs it, how long it takes, and how many calls it makes to the disk."""

    tree: dict[str, bytes]
    volatile: set[str]
    seconds: float
    n_calls: int
    start: dict[str, bytes]
    completed: set[State] = field(default_factory=set)  # from which the same command is known to give this tree


def tree(work: Path) -> dict[str, bytes]:
    """Every file below a folder, times of day taken out."""
    found = {}
    for path in sorted(work.rglob("*")):
        if path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            text = path.suffix in (".json", ".jsonl", ".html", ".csv", ".boris", ".eaf")
            found[path.relative_to(work).as_posix()] = MOMENT.sub(b"TIME", data) if text else data
    return found


def state(work: Path) -> State:
    """All that another command can see; what is in a draft is seen by nobody, but for a folder that waits there."""
    found = set()
    for path, data in tree(work).items():
        inside = re.sub(r"-\d+-[0-9a-f]{16}\.draft", ".draft", path)
        outer, _, inner = inside.partition(".draft/")
        found.add((f"{outer}.draft", b"") if inner and ".before/" not in inner else (inside, data))
    return frozenset(found)


def set_up(deed: Deed, work: Path, base: Base, warm: Warm) -> None:
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for name in deed.needs:
        base.give(name, work)
    for args in deed.before:
        assert warm.run(args, work, scratch=work.parent / "scratch").code == 0, args
    if deed.prepare:
        deed.prepare(work)


def reference(deed: Deed, work: Path, base: Base, warm: Warm, times: int = 2) -> Reference:
    """Run the command to its end, twice; once where only `deed.varies` differs between two runs."""
    trees, outcomes, start = [], [], {}
    for _ in range(times):
        set_up(deed, work, base, warm)
        start, begun = tree(work), state(work)
        outcome = run(deed, work, warm)
        assert outcome.code == 0, (deed.args, outcome.stderr)
        trees.append(tree(work))
        outcomes.append(outcome)
    first, second = trees[0], trees[-1]
    volatile = {path for path in first.keys() | second.keys() if first.get(path) != second.get(path)}
    volatile |= set(deed.varies)
    return Reference(second, volatile, outcomes[-1].seconds, outcomes[-1].n_calls, start, {begun})


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
    """Kill one run of a command at a random moment; what was found, or None where it ended before that."""
    set_up(deed, work, base, warm)
    share = float(rng.random())

    def during(pid: int, began: float) -> None:
        time.sleep(max(0.0, share * known.seconds - (time.monotonic() - began)))
        stop(pid)

    outcome = run(deed, work, warm, during=during)
    if outcome.code != -9:
        return None
    return f"at {share:.0%} of {known.seconds:.1f} s", after_kill(known, work) + given_again(deed, known, work, warm)


def fail(
    deed: Deed, known: Reference, work: Path, base: Base, warm: Warm, nth: int, error: int
) -> tuple[str, list[str]] | None:
    """Let the n-th call of a command fail, or kill it there; what was found, or None where it has fewer calls."""
    set_up(deed, work, base, warm)
    outcome = run(deed, work, warm, fail_at=nth, error=error)
    if not outcome.failed_call:
        return None
    if outcome.code == 0:  # it could do without
        found = [fault for fault in after_again(known, work) if ".draft" not in fault and ".lock" not in fault]
        return outcome.failed_call, found
    is_read = outcome.failed_call.startswith("open ") and outcome.failed_call.removeprefix("open ") in deed.args
    if outcome.code == 2 and is_read and "o/failed.csv" in tree(work):
        return outcome.failed_call, after_kill(known, work)  # of many files, one that cannot be read is a row
    found, lines = after_kill(known, work), _errors(outcome)
    if error != KILL and (outcome.code != 2 or len(lines) != 1 or b"Traceback" in outcome.stderr):
        found.append(f"medium: exit code {outcome.code}: {' / '.join(lines) or outcome.stderr.decode()[-500:]}")
    return outcome.failed_call, found + given_again(deed, known, work, warm)


def run(deed: Deed, work: Path, warm: Warm, **how: Any) -> Outcome:
    return warm.run(deed.args, work, scratch=work.parent / "scratch", patches=deed.patches, **how)


def given_again(deed: Deed, known: Reference, work: Path, warm: Warm) -> list[str]:
    """What is wrong once the same command is given again; from a state that it has completed before, nothing."""
    left = state(work)
    is_done = all(".lock" in fault for fault in after_again(known, work))
    if left in known.completed or (deed.goes_on and is_done):
        return []
    again = run(deed, work, warm)
    refused = [] if again.code == 0 else _refused(deed, known, work, again)
    found = refused + after_again(known, work)
    if not found:
        known.completed.add(left)
    return found


def _errors(outcome: Outcome) -> list[str]:
    return [line for line in outcome.stderr.decode(errors="replace").splitlines() if line.startswith("error:")]


def _refused(deed: Deed, known: Reference, work: Path, again: Outcome) -> list[str]:
    """The same command said no: fine where the killed one had done everything, and says so in one line."""
    lines = _errors(again)
    if again.code == 2 and len(lines) == 1 and deed.may_refuse and not after_again(known, work):
        return []
    return [f"medium: given again, exit code {again.code}: {' / '.join(lines) or again.stderr.decode()[-300:]}"]
