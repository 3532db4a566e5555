"""Freeze what this version writes, for tests/test_frozen.py to read for ever: part of every release.

    python scripts/freeze.py          writes tests/frozen/v<version>/

Everything is run from inside the folder with relative paths, so that no path of a machine is in any file. Pages and
most inputs are left out. What is made, and by which commands, is in tests/frozen/README.md.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.synthetic import Novelty, StreamPlan, plant
from rondo.version import __version__

ROOT = Path(__file__).resolve().parents[1]
RATE, N_STOPPED = 20.0, 600  # of the stopped stream: rows that it has read
QUICK = ("--window", "1s", "--step", "0.3s")  # few windows, for small folders


def freeze(folder: Path) -> None:
    folder.mkdir(parents=True)
    before = Path.cwd()
    os.chdir(folder)
    try:
        for make in (make_inputs, make_runs, make_edits, make_streams, clean):
            make()
    finally:
        os.chdir(before)


def write_csv(path: str, values: NDArray[np.floating]) -> None:
    header = "time," + ",".join(f"c{channel}" for channel in range(values.shape[1]))
    np.savetxt(path, np.c_[np.arange(len(values)) / RATE, values], "%.3f", ",", header=header, comments="")


def rondo(*arguments: str, code: int = 0) -> None:
    done = subprocess.run([sys.executable, "-m", "rondo", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != code:
        sys.exit(f"rondo {' '.join(arguments)}: exit code {done.returncode} where {code} was expected: {done.stderr}")


def make_inputs() -> None:
    new = (Novelty(at=0.66, n_units=3),)
    plan = StreamPlan(RATE, 3, n_units=7, n_motifs=2, unit_s=(1.5, 2.5), noise=0.05, novelty=new, motifs="cycles")
    values = np.asarray(plant(plan, n_frames=3_600, seed=7).recording.values)
    write_csv("one.csv", values[:2_200])
    write_csv("short.csv", values[:900, :2])
    write_csv("day2.csv", values[2_200:3_200])
    Path("many").mkdir()
    for index, name in enumerate(("subject0_day0", "subject0_day1", "subject1_day0")):
        write_csv(f"many/{name}.csv", values[600 * index : 600 * (index + 1), :2])
    Path("many/subject1_empty.csv").write_text("time,c0,c1\n")


def make_runs() -> None:
    rondo("discover", "one.csv", *QUICK, "--out", "one")
    rondo("discover", "many", "--engine", "serial", "--group-by", "subject", *QUICK, "--out", "groups", code=2)
    rondo("label", "one", "day2.csv", "--out", "labelled")


def make_edits() -> None:
    """Names, merges, a split, marks taught, and an edit that was taken back."""
    rondo("discover", "short.csv", *QUICK, "--out", "edited")
    for edit in ("name edited unit:0 rest", "merge edited unit:1 unit:2 unit:3", "split edited unit:3"):
        rondo(*edit.split())
    rondo("name", "edited", "unit:1", "taken back")
    rondo("undo", "edited")
    rows = [line.split(",") for line in Path("edited/segments.csv").read_text().splitlines()]
    names = dict(zip(rows[0], range(len(rows[0])), strict=True))
    spans = [
        [row[names[key]] for key in ("id", "start_s", "end_s")] for row in rows[1:] if row[names["level"]] == "unit"
    ]
    shutil.copytree("edited", "taught")
    first, *others = spans
    other = next(span for span in others if span[0] != first[0])
    lines = [f"short,{start},{end},{name}\n" for name, (_, start, end) in (("here", first), ("there", other))]
    Path("spans.csv").write_text("recording,start_s,end_s,name\n" + "".join(lines))
    rondo("teach", "taught", "spans.csv")


def make_streams() -> None:
    rondo("stream", "one", "--source", "day2.csv", "--out", "finished")
    rondo("name", "finished", "unit:0", "learned on the way")
    lines = Path("day2.csv").read_text().splitlines(keepends=True)
    Path("day2.csv").write_text("".join(lines[: 1 + N_STOPPED]))
    running = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "rondo",
            "--quiet",
            "stream",
            "one",
            "--source",
            "day2.csv",
            "--out",
            "stopped",
            "--follow",
        ]
    )
    while not Path("stopped/labels.csv").exists() or Path("stopped/labels.csv").read_text().count("\n") < 20:
        time.sleep(0.5)
    time.sleep(2)  # the last rows that are there
    running.send_signal(signal.SIGINT)
    running.wait()
    Path("day2.csv").write_text("".join(lines))


def clean() -> None:
    """Without pages, inputs that nothing needs any more, and the machine's name."""
    shutil.rmtree("many")
    for name in ("one.csv", "short.csv", "spans.csv"):
        Path(name).unlink()
    for page in Path().rglob("*.html"):
        page.unlink()
    for path in Path().rglob("health.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"host": "elsewhere"}, indent=1))


if __name__ == "__main__":
    freeze(ROOT / "tests" / "frozen" / f"v{__version__}")
