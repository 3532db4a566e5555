"""How the folders beside this file were made. They are not made again: what an old version wrote must stay readable.

    python tests/frozen/make.py FOLDER        with the version that is to be frozen installed

Everything is run from inside FOLDER with relative paths, so that no path of a machine is in any file. Reports are left
out: `rondo report` writes them again.

    one.csv       rondo discover one.csv --out one         all with the windows below; one/model is a model folder, too
    many/*.csv    rondo discover many --engine serial --group-by subject --out groups      and failed.csv
                  rondo discover many/subject0_day0.csv many/subject1_day0.csv --per-recording --out apart
    short.csv     rondo discover short.csv --out edited, then every kind of edit: `rondo name`, `merge`, `split`,
                  `rondo apply edited wanted.json` (relabel, boundary, cut, divide) and `rondo undo`
    day2.csv      rondo label one day2.csv --out labelled
                  rondo stream one --source day2.csv --out finished, then a name for a unit that it has learned
                  rondo stream one --source day2.csv --out stopped --follow, interrupted when only some rows were there
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.synthetic.plan import Novelty, StreamPlan
from rondo.synthetic.streams import plant

RATE = 20.0
N_STOPPED = 600  # rows that the stopped stream has read
WINDOWS = ("--window", "1s", "--step", "0.3s")  # few of them, for small folders


def write_csv(path: str, values: NDArray[np.floating]) -> None:
    header = "time," + ",".join(f"c{channel}" for channel in range(values.shape[1]))
    clock = np.arange(len(values)) / RATE
    np.savetxt(path, np.c_[clock, values], "%.3f", ",", header=header, comments="")


def rondo(*arguments: str, code: int = 0) -> str:
    done = subprocess.run([sys.executable, "-m", "rondo", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == code, (arguments, done.returncode, done.stderr)
    return done.stdout + done.stderr


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
    rondo("discover", "one.csv", *WINDOWS, "--out", "one")
    grouped = ("--engine", "serial", "--group-by", "subject")
    rondo("discover", "many", *grouped, *WINDOWS, "--out", "groups", code=2)  # a file failed
    two = ("many/subject0_day0.csv", "many/subject1_day0.csv")
    rondo("discover", *two, "--per-recording", *WINDOWS, "--out", "apart")
    rondo("name", "apart", "unit:0", "rest", "--recording", "subject1_day0")
    rondo("label", "one", "day2.csv", "--out", "labelled")


def make_edits() -> None:
    """Every kind that there is, in the list of the model and in that of the run."""
    rondo("discover", "short.csv", *WINDOWS, "--out", "edited")
    rondo("name", "edited", "unit:0", "rest")
    rondo("name", "edited", "motif:0", "pause")
    rondo("merge", "edited", "unit:1", "unit:2", "unit:3")
    rondo("split", "edited", "unit:3")
    rows = [line.split(",") for line in Path("edited/segments.csv").read_text().splitlines()[1:]]
    spans = [(int(row[2]), int(row[4]), int(row[5])) for row in rows if row[1] == "unit"]
    (_, start, stop), (_, _, after), (divided, *far), (_, early, late) = spans[1], spans[2], spans[5], spans[7]
    edits = [
        {"kind": "relabel", "level": "unit", "ids": [0], "spans": [["short", start + 4, start + 12]]},
        {"kind": "relabel", "level": "motif", "ids": [-1], "spans": [["short", 0, 20]]},
        {"kind": "boundary", "level": "unit", "spans": [["short", stop, (stop + after) // 2]]},
        {"kind": "divide", "level": "unit", "ids": [divided], "spans": [["short", *far]], "name": "limp"},
        {"kind": "cut", "level": "unit", "spans": [["short", (early + late) // 2, (early + late) // 2]]},
        {"kind": "name", "level": "unit", "ids": [4], "name": "taken back"},
    ]
    wanted = {"format": "rondo-edits", "schema": 1, "run": "?", "edits": edits}
    Path("wanted.json").write_text(json.dumps(wanted, indent=1))
    about = re.search(r"this is run (\w+)", rondo("apply", "edited", "wanted.json", code=2))
    assert about
    Path("wanted.json").write_text(json.dumps(wanted | {"run": about[1]}, indent=1))
    rondo("apply", "edited", "wanted.json")
    rondo("undo", "edited")


def make_streams() -> None:
    rondo("stream", "one", "--source", "day2.csv", "--out", "finished")
    rondo("name", "finished", "unit:5", "learned on the way")
    lines = Path("day2.csv").read_text().splitlines(keepends=True)
    Path("day2.csv").write_text("".join(lines[: 1 + N_STOPPED]))
    command = ["stream", "one", "--source", "day2.csv", "--out", "stopped", "--follow", "--every", "20"]
    running = subprocess.Popen([sys.executable, "-m", "rondo", *command])
    while not Path("stopped/labels.csv").exists() or Path("stopped/labels.csv").read_text().count("\n") < 20:
        time.sleep(0.5)
    time.sleep(2)  # the last rows that are there
    running.send_signal(signal.SIGINT)
    assert running.wait() == 0
    Path("day2.csv").write_text("".join(lines))


def clean() -> None:
    """Without pages, inputs that nothing needs any more, and the machine's name."""
    shutil.rmtree("many")
    for name in ("one.csv", "short.csv"):
        Path(name).unlink()
    for page in Path().rglob("*.html"):
        page.unlink()
    for path in Path().rglob("health.json"):
        health = json.loads(path.read_text())
        path.write_text(json.dumps(health | {"host": "elsewhere"}, indent=1))


if __name__ == "__main__":
    Path(sys.argv[1]).mkdir(parents=True)
    os.chdir(sys.argv[1])
    for make in (make_inputs, make_runs, make_edits, make_streams, clean):
        make()
