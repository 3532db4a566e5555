"""What may be asked of every command by someone who knows the documentation only.

Exit codes, one line of error, outputs that are whole and agree, and no traces anywhere else.
"""

import csv
import hashlib
import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.warm_process import Outcome

MEMORY_MB = 3000
PROGRESS = re.compile(r"^\[\d+/\d+\] ")
CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]")
STREAM_LINE = re.compile(r"^[\d,]+ rows?\b|^nothing came|rows? read|finished already")


@dataclass(frozen=True)
class Case:
    """One command, and what is known of how it must end."""

    name: str
    args: tuple[str, ...]
    out: str | None = None  # what --out names, looked at after the command
    writes: str = ""  # "run" or "stream": out holds one afterwards; "" for anything else
    expect: str = "either"  # "ok", "refused" or "either"
    rows: int | None = None  # of the file that was given
    same: bool = False  # the labels are those of the reference recording
    codes: tuple[int, ...] = (0, 2)
    may_change: tuple[str, ...] = ()  # folders that the command edits in place
    stdin: Sequence[bytes] | None = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    fresh: bool = False  # as a process of its own, by the `rondo` script


def digest(root: Path) -> dict[str, str]:
    """Every path below a folder with a digest of what is there."""
    found = {}
    for path in root.rglob("*"):
        key = path.relative_to(root).as_posix()
        if path.is_symlink():
            found[key] = f"link {path.readlink()}"
        elif path.is_file():
            found[key] = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        else:
            found[key] = "folder" if path.is_dir() else "special"
    return found


def strict(text: str | bytes) -> Any:
    """JSON as other programs read it: no NaN, no Infinity."""

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


def faults(case: Case, outcome: Outcome, work: Path, before: dict[str, str], labels: np.ndarray | None) -> list[str]:
    """What is wrong with the outcome of a case; the first word is the class."""
    found = list(_ending(case, outcome))
    after = digest(work)
    found += _touched(case, outcome, before, after)
    if outcome.code == 0 and not outcome.timed_out:
        if case.expect == "refused":
            found.append("medium: accepted what cannot be read")
        if "--json" in case.args:
            found += _json_lines(outcome.stdout)
        if case.out is not None and case.writes:
            found += folder_faults(work / case.out, case.writes, case.rows, labels if case.same else None)
    elif outcome.code == 2 and case.expect == "ok":
        found.append("medium: refused what the documentation promises: " + _error(outcome))
    return found


def _error(outcome: Outcome) -> str:
    lines = outcome.stderr.decode(errors="replace").splitlines()
    return next((line for line in lines if line.startswith("error:")), "(no error line)")


def _ending(case: Case, outcome: Outcome) -> list[str]:
    found = []
    text = outcome.stderr.decode(errors="replace")
    if outcome.timed_out:
        return ["medium: hangs"]
    if outcome.code not in case.codes:
        found.append(f"medium: exit code {outcome.code}")
    if "Traceback (most" in text or "Traceback (most" in outcome.stdout.decode(errors="replace"):
        found.append("medium: traceback: " + text.strip().splitlines()[-1])
    if outcome.peak_mb > MEMORY_MB:
        found.append(f"medium: {outcome.peak_mb:.0f} MB of memory")
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("error:")]
    if outcome.code == 2 and len(errors) != 1 and "health" not in case.args[:1]:
        found.append(f"low: {len(errors)} error lines with exit code 2")
    if outcome.code == 0 and errors:
        found.append("medium: an error line with exit code 0: " + errors[0])
    if any(len(line) > 1500 for line in errors):
        found.append("low: an error line of more than 1500 characters")
    known = ("error:", "note:", "warning:", "alarm:")
    odd = [line for line in lines if not (line.startswith(known) or PROGRESS.match(line) or STREAM_LINE.search(line))]
    if odd and "Traceback" not in text:
        found.append(f"low: odd line on stderr: {odd[0]!r}")
    for name, data in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if bad := CONTROL.search(data):
            found.append(f"medium: control byte {bad.group()!r} on {name}")
    return found


def _touched(case: Case, outcome: Outcome, before: dict[str, str], after: dict[str, str]) -> list[str]:
    found = []
    inside = tuple(os.path.normpath(name) for name in case.may_change + ((case.out,) if case.out else ()))

    def allowed(path: str) -> bool:
        return any(path == name or path.startswith(name + "/") or name.startswith(path + "/") for name in inside)

    changed = [path for path in before if path in after and after[path] != before[path]]
    gone = [path for path in before if path not in after]
    new = [path for path in after if path not in before]
    for what, paths in (("changed", changed), ("removed", gone), ("made", new)):
        if outside := [path for path in paths if not allowed(path)]:
            found.append(f"high: {what} outside its --out: {outside[:3]}")
    if outcome.code == 2 and case.writes != "stream" and not any("failed.csv" in path for path in new):
        kept = case.may_change
        left = [path for path in changed + gone + new if not any(path.startswith(name) for name in kept)]
        if left:
            found.append(f"medium: left behind with exit code 2: {left[:3]}")
    asked = tuple(name for name in inside if "/." in f"/{name}")  # a hidden file that the command line names
    hidden = [path for path in new if ".draft" in path or re.search(r"(^|/)\.(?!\.|report_wish)", path)]
    drafts = [path for path in hidden if path not in asked]
    if drafts:
        found.append(f"low: drafts left: {drafts[:3]}")
    return found


def _json_lines(stdout: bytes) -> list[str]:
    try:
        strict(stdout)
    except ValueError as wrong:
        try:
            for line in stdout.splitlines():
                strict(line)
        except ValueError:
            return [f"medium: --json printed no JSON: {wrong}"]
    return []


def folder_faults(out: Path, kind: str, rows: int | None = None, labels: np.ndarray | None = None) -> list[str]:
    """Whether a run or stream folder is whole and its parts agree."""
    try:
        summary = strict((out / "summary.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as wrong:
        return [f"medium: summary.json: {wrong}"]
    found = []
    page = out / "report.html"
    if not page.is_file() or not page.read_text(encoding="utf-8").rstrip().endswith("</html>"):
        found.append("medium: report.html is not whole")
    paint = _segments(out)
    ids = [recording["id"] for recording in summary["recordings"]]
    if len(set(ids)) != len(ids):
        found.append("medium: two recordings have one id")
    for level, folder in (("motif", "labels"), ("unit", "units")):
        stored = {path.stem: path for path in (out / folder).glob("*.npy")}
        if len(stored) != len(ids):
            found.append(f"medium: {len(ids)} recordings, {len(stored)} files in {folder}/")
        for recording in summary["recordings"]:
            path = stored.get(recording["id"]) or (next(iter(stored.values())) if len(stored) == 1 else None)
            if path is None:
                continue
            array = np.load(path, allow_pickle=False)
            found += _agree(array, recording, level, paint, rows, _skipped(out, len(array)))
            if labels is not None and level == "motif" and not np.array_equal(array, labels):
                found.append("medium: other labels than the same numbers in another file have")
    return found


def _segments(out: Path) -> dict[tuple[str, str], list[tuple[int, int, int]]]:
    paint: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    text = (out / "segments.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(io.StringIO(text, newline="")):
        span = (int(row["start_frame"]), int(row["end_frame"]), int(row["id"]))
        paint.setdefault((row["recording"], row["level"]), []).append(span)
    return paint


def _skipped(out: Path, n_rows: int) -> np.ndarray:
    """Rows that a stream has skipped, by its rows.csv: they are OTHER, also inside a segment."""
    skipped = np.zeros(n_rows, dtype=bool)
    path = out / "rows.csv"
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()) if path.is_file() else ():
        skipped[int(row["row"]) :] = row["what"] == "skipped"
    return skipped


def _agree(
    array: np.ndarray,
    recording: dict[str, Any],
    level: str,
    paint: dict[Any, Any],
    rows: int | None,
    skipped: np.ndarray,
) -> list[str]:
    found = []
    if array.ndim != 1 or array.dtype.kind != "i":
        return [f"medium: {level} labels are {array.dtype} of shape {array.shape}"]
    if rows is not None and len(array) != rows:
        found.append(f"medium: {len(array)} labels for {rows} rows")
    if len(array) != recording["n_frames"]:
        found.append(f"medium: {len(array)} labels, n_frames says {recording['n_frames']}")
    drawn = np.full(len(array), -1, dtype=array.dtype)
    last = 0
    names = [key for key in paint if key[1] == level and key[0].lstrip("'") == str(recording["id"]).lstrip("'")]
    for start, end, entry in sorted(paint[names[0]] if names else []):
        if not last <= start < end <= len(array):
            found.append(f"medium: segment {start} to {end} of {len(array)} frames after {last}")
        drawn[start:end] = entry
        last = end
    drawn[skipped] = -1
    if not np.array_equal(drawn, array):
        found.append(f"medium: segments and {level} labels differ in {int((drawn != array).sum())} frames")
    return found
