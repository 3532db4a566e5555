"""Whether a change moves any bit of what Rondo writes: hashes of runs, before and after.

    python scripts/same_bits.py --write before.json               before a change: run everything, store the hashes
    python scripts/same_bits.py before.json                       after it: list what differs; exit code 1 if any does
    python scripts/same_bits.py before.json --only "planted csv"  some of the inputs; may be repeated

It runs `discover`, `label`, `stream` and edits on six inputs, and many files one by one, as users do: by commands and
by files in the folders that they write, so that it outlives every move inside the package. Each piece has a hash of its
own: labels, units, every column of a table, every key of summary.json, every tensor. A key that is added on purpose is
one line and hides nothing else.

Bits differ between processors and versions of numpy: the stored file is for one machine, is not committed and is no
test. MoCap is read from the folder RONDO_DATA, or from shared/data beside the checkout, and skipped where there is
none. It takes two minutes of one core.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

Hashes = dict[str, str]  # of pieces
Table = NDArray[np.float64]

RATE = 50.0
VOLATILE = {"rondo_version", "packages", "python", "manifest_sha256", "tensors_sha256", "at", "written_s", "wall_s"}
CORE_COLUMNS = ("recording", "level", "id", "start_frame", "end_frame")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
IN_PYTHON = """
import rondo
result = rondo.discover("fit.npz", rate=50.0)
result.save("python")
result.model.predict("new.npz", rate=50.0).save("python predict")
"""


class Input(NamedTuple):
    """What to fit on and what to label, with the options that both commands need."""

    fit: str
    new: str
    stream: str
    options: tuple[str, ...] = ()


def digest(value: object) -> str:
    """Of an array by its type, shape and bytes; of anything else by its JSON, without what changes from run to run."""
    if isinstance(value, np.ndarray):
        content = f"{value.dtype} {value.shape} ".encode() + np.ascontiguousarray(value).tobytes()
    else:
        content = json.dumps(steady(value), sort_keys=True).encode()
    return hashlib.sha256(content).hexdigest()[:16]


def steady(value: object) -> object:
    """The same without times, versions and checksums of files."""
    if isinstance(value, Mapping):
        return {key: steady(each) for key, each in value.items() if key not in VOLATILE}
    return [steady(each) for each in value] if isinstance(value, list | tuple) else value


def by_key(title: str, rows: Iterable[Mapping[str, object]]) -> Hashes:
    """One hash per key, over all rows."""
    rows = list(rows)
    keys = sorted({key for row in rows for key in row} - VOLATILE)
    return {f"{title}: rows": digest(len(rows))} | {
        f"{title}: {key}": digest([row.get(key) for row in rows]) for key in keys
    }


def of_json(title: str, content: Mapping[str, Any]) -> Hashes:
    """One hash per key, and per key of the rows where a value is a list of them."""
    hashes: Hashes = {}
    for key, value in content.items():
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
            hashes |= by_key(f"{title} {key}", value)
        elif isinstance(value, dict) and value:
            hashes |= {f"{title} {key}: {name}": digest(each) for name, each in value.items() if name not in VOLATILE}
        elif key not in VOLATILE:
            hashes[f"{title} {key}"] = digest(value)
    return hashes


def of_folder(folder: Path) -> Hashes:
    """The pieces of a run, a stream or a model, whatever of it is there."""
    hashes: Hashes = {}
    for level in ("labels", "units"):
        for path in sorted((folder / level).glob("**/*.npy")):
            hashes[f"{level} of {path.stem}"] = digest(np.load(path).astype(np.int64))
    for path in sorted((folder / "scores").glob("**/*.npz")):
        with np.load(path) as arrays:
            hashes |= {f"scores of {path.stem}: {name}": digest(arrays[name]) for name in arrays.files}
    for name in ("segments.csv", "labels.csv", "rows.csv", "failed.csv"):
        if (folder / name).exists():
            rows = list(csv.DictReader((folder / name).read_text().splitlines()))
            if name.endswith("segments.csv"):
                hashes[f"{name}: core"] = digest([[row.get(column) for column in CORE_COLUMNS] for row in rows])
            hashes |= by_key(name, rows)
    if (folder / "events.jsonl").exists():
        hashes |= by_key("events.jsonl", map(json.loads, (folder / "events.jsonl").read_text().splitlines()))
    if (folder / "summary.json").exists():
        hashes |= of_json("summary", json.loads((folder / "summary.json").read_text()))
    for path in (folder / "edits.json", folder / "model/edits.json"):
        if path.exists():
            hashes |= of_json(f"{path.relative_to(folder)}", json.loads(path.read_text()))
    for path in sorted((folder / "model").glob("**/*.safetensors")):
        hashes |= {f"tensor {path.parent.name}/{name}": digest(tensor) for name, tensor in load_file(path).items()}
    for path in sorted((folder / "model").glob("**/manifest.json")):
        hashes |= of_json(f"manifest of {path.parent.name}", json.loads(path.read_text()))
    return hashes


def write_table(path: str, values: Table, clock: Table | None = None, **columns: list[str]) -> None:
    """A csv with a time column and others; NaN is an empty cell."""
    clock = np.arange(len(values)) / RATE if clock is None else clock
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", *columns, *(f"c{channel}" for channel in range(values.shape[1]))])
        for index, row in enumerate(values):
            cells = ("" if np.isnan(cell) else f"{cell:.5f}" for cell in row)
            writer.writerow([f"{clock[index]:.3f}", *(column[index] for column in columns.values()), *cells])


def planted(seed: int, n_frames: int = 12_000, **plan: Any) -> Table:
    """A planted stream; in its last third there is something new."""
    from rondo.synthetic.plan import Novelty, StreamPlan
    from rondo.synthetic.streams import plant

    novelty = (Novelty(at=0.65),)
    return np.array(plant(StreamPlan(novelty=novelty, **plan), n_frames=n_frames, seed=seed).recording.values)


def planted_csv() -> Input:
    values = planted(2)
    write_table("fit.csv", values[:8_000])
    write_table("new.csv", values[8_000:])
    return Input("fit.csv", "new.csv", "new.csv")


def planted_npz() -> Input:
    values = planted(5, n_channels=2)  # few channels are compared by shape
    np.savez("fit.npz", X=values[:8_000])
    np.savez("new.npz", X=values[8_000:])
    return Input("fit.npz", "new.npz", "new.npz", ("--rate", "50"))


def mocap() -> Input | None:
    folder = Path(os.environ.get("RONDO_DATA") or Path(__file__).resolve().parents[2] / "shared/data")
    for found in (folder, Path(__file__).resolve().parents[3] / "shared/data"):  # a work tree lies one folder deeper
        if (found / "MoCap/amc_86_01.npz").exists():
            for name, of in (("fit", "amc_86_01"), ("new", "amc_86_07")):
                with np.load(found / f"MoCap/{of}.npz") as arrays:
                    np.savez(f"{name}.npz", X=arrays["X"])
            return Input("fit.npz", "new.npz", "new.npz", ("--rate", "120"))
    return None


def pose() -> Input:
    """As DeepLabCut writes it: three rows of header, x, y and likelihood of each point, some points lost."""
    values = 300 + 40 * planted(7, n_channels=8)
    rng = np.random.default_rng(7)
    points = ("nose", "tail", "left", "right")
    for name, rows in (("fit.csv", values[:8_000]), ("new.csv", values[8_000:])):
        sure = np.where(rng.random((len(rows), 4)) < 0.02, 0.1, 0.99)
        table = np.concatenate([np.c_[rows[:, 2 * of : 2 * of + 2], sure[:, of]] for of in range(4)], axis=1)
        header = [
            ["scorer", *["DLC"] * 12],
            ["bodyparts", *(point for point in points for _ in range(3))],
            ["coords", *["x", "y", "likelihood"] * 4],
        ]
        lines = [",".join(words) for words in header]
        lines += [",".join([str(frame), *(f"{cell:.3f}" for cell in row)]) for frame, row in enumerate(table)]
        Path(name).write_text("\n".join(lines) + "\n")
    return Input("fit.csv", "new.csv", "new.csv", ("--rate", "50"))


def holes() -> Input:
    """Empty cells, lost rows, a channel that is silent for a while, a code of missing values, a column of words."""
    values, clock = planted(11), np.arange(12_000) / RATE
    rng = np.random.default_rng(11)
    values[rng.random(values.shape) < 0.01] = np.nan
    values[3_000:3_200, 1] = np.nan
    values[9_500:9_540] = np.nan
    values[rng.integers(0, 12_000, 60), 3] = -9999.0
    kept = np.ones(12_000, bool)
    for start, stop in ((2_000, 2_003), (5_000, 5_400), (10_000, 10_300)):
        kept[start:stop] = False
    for name, part in (("fit.csv", slice(0, 8_000)), ("new.csv", slice(8_000, None))):
        rows, times = values[part][kept[part]], clock[part][kept[part]]
        write_table(name, rows, times, activity=["walk" if second % 20 < 10 else "sit" for second in times])
    return Input("fit.csv", "new.csv", "new.csv")


def split_table() -> Input:
    values = planted(13)
    subjects = [f"s{index // 3_000}" for index in range(12_000)]
    clock = np.arange(12_000) % 3_000 / RATE
    write_table("fit.csv", values[:9_000], clock[:9_000], subject=subjects[:9_000])
    write_table("new.csv", values[9_000:], clock[9_000:], subject=subjects[9_000:])
    return Input("fit.csv", "new.csv", "new.csv", ("--split-by", "subject"))


INPUTS: dict[str, Callable[[], Input | None]] = {
    "planted csv": planted_csv,
    "planted npz": planted_npz,
    "MoCap": mocap,
    "pose": pose,
    "holes": holes,
    "split table": split_table,
}


def rondo(*arguments: str) -> tuple[int, str]:
    """The exit code of a command and what it wrote to stderr."""
    return python("-m", "rondo", "--quiet", *arguments)


def python(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=os.environ | ONE_THREAD, check=False
    )
    return done.returncode, done.stderr


def hashed(command: str, folder: str, *arguments: str) -> dict[str, Hashes]:
    """What a command leaves in its folder; one that fails is said, so that nobody compares nothing with nothing."""
    code, errors = python(*arguments) if arguments[0] == "-c" else rondo(*arguments)
    if code:
        print(f"  {command}: exit code {code}: {errors.strip().splitlines()[-1:]}")
    return {command: {"exit code": str(code)} | of_folder(Path(folder))}


def edited(recording: str) -> dict[str, Hashes]:
    """A name, a merge, frames of another unit by a file of edits, and both kinds taken back."""
    hashes = hashed("name", "run", "name", "run", "unit:0", "rest")
    hashes |= hashed("merge", "run", "merge", "run", "unit:1", "unit:2")
    edits = [{"kind": "relabel", "level": "unit", "ids": [0], "spans": [[recording, 700, 900]]}]
    content = {"format": "rondo-edits", "schema": 1, "run": "?", "edits": edits}
    Path("edits.json").write_text(json.dumps(content))
    named = re.search(r"this is run (\w+)", rondo("apply", "run", "edits.json")[1])  # it refuses edits of another run
    Path("edits.json").write_text(json.dumps(content | {"run": named[1] if named else ""}))
    hashes |= hashed("apply", "run", "apply", "run", "edits.json")
    hashes |= hashed("undo apply", "run", "undo", "run")
    return hashes | hashed("undo merge", "run", "undo", "run", "2")


def of_input(make: Callable[[], Input | None]) -> dict[str, Hashes] | None:
    """All commands on one input, in this folder."""
    given = make()
    if given is None:
        return None
    files = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in sorted(Path().iterdir())}
    if given.fit.endswith("npz"):  # which hold the time of writing
        files = {name: digest(np.load(name)["X"]) for name in files}
    hashes: dict[str, Hashes] = {"input": files}
    hashes |= hashed("discover", "run", "discover", given.fit, *given.options, "--out", "run")
    hashes |= hashed("label", "labelled", "label", "run", given.new, *given.options, "--out", "labelled")
    hashes |= hashed("stream", "live", "stream", "run", "--source", given.stream, "--out", "live")
    if make is planted_npz:
        hashes |= hashed("python", "python", "-c", IN_PYTHON)
        hashes["python predict"] = of_folder(Path("python predict"))
    if make is planted_csv:
        hashes |= hashed("frozen", "frozen", "stream", "run", "--source", "new.csv", "--out", "frozen", "--frozen")
    recordings = sorted(path.stem for path in Path("run/units").glob("*.npy"))
    return hashes | edited(recordings[0] if recordings else "fit")


def of_many() -> dict[str, Hashes]:
    """A folder of files: together, one by one, with groups, each for itself; one of them cannot be read."""
    values = planted(17, 13_000)
    Path("many").mkdir()
    Path("new").mkdir()
    for index in range(4):
        part = values[index * 2_500 : (index + 1) * 2_500 + 100 * index]
        write_table(f"many/subject{index % 2}_day{index}.csv", part)
    write_table("new/subject2_day0.csv", values[10_000:11_500])
    write_table("new/subject2_day1.csv", values[11_500:])
    tables = sorted(path for folder in ("many", "new") for path in Path(folder).iterdir())
    hashes = {"input": {str(path): hashlib.sha256(path.read_bytes()).hexdigest()[:16] for path in tables}}
    hashes |= hashed("discover together", "together", "discover", "many", "--out", "together")
    groups = ("--group-by", "subject")
    Path("many/subject1_broken.csv").write_text("time,c0\n")
    serial = ("--engine", "serial")
    hashes |= hashed("discover one by one", "run", "discover", "many", *serial, "--out", "run")
    hashes |= hashed("discover groups", "groups", "discover", "many", *serial, *groups, "--out", "groups")
    hashes |= hashed("label one by one", "labelled", "label", "groups", "new", *serial, *groups, "--out", "labelled")
    return hashes | edited("subject0_day0")


def all_hashes(only: list[str]) -> dict[str, dict[str, Hashes]]:
    """Of all inputs, each in a folder of its own that is removed afterwards."""
    hashes: dict[str, dict[str, Hashes]] = {}
    start, home = time.process_time(), Path.cwd()
    makers = {name: lambda make=make: of_input(make) for name, make in INPUTS.items()} | {"many files": of_many}
    for name, make in makers.items():
        if only and name not in only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)  # all paths are relative: none is in a file
            try:
                done = make()
            finally:
                os.chdir(home)
        if done is None:
            print(f"{name}: skipped, no recordings (RONDO_DATA)")
            continue
        hashes[name] = done
        print(f"{name}: {len(done)} commands, {sum(map(len, done.values()))} pieces")
    times = os.times()
    print(f"{time.process_time() - start + times.children_user + times.children_system:.0f} s of CPU time")
    return hashes


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """One line per kind of piece of each command; a command that ran only once is all gone, or all new."""
    lines: list[str] = []
    for input_ in after:
        for command in {**before.get(input_, {}), **after[input_]}:
            old, new = before.get(input_, {}).get(command, {}), after[input_].get(command, {})
            changed: dict[str, list[str]] = {}
            for piece in {**old, **new}:
                if old.get(piece) != new.get(piece):
                    what = "gone" if piece not in new else "new" if piece not in old else "differs"
                    kind, mark, name = (*re.split("(: |/)", piece, maxsplit=1), "", "")[:3]
                    changed.setdefault(f"{what}: {kind}{mark}", []).append(name)
            lines += [f"{input_}, {command}: {kind}{', '.join(names)}" for kind, names in changed.items()]
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="where the hashes are stored")
    parser.add_argument("--write", action="store_true", help="store instead of compare")
    parser.add_argument("--only", action="append", default=[], metavar="INPUT", help="; ".join([*INPUTS, "many files"]))
    given = parser.parse_args()
    before = {} if given.write else json.loads(given.file.read_text())
    hashes = all_hashes(given.only)
    if given.write:
        given.file.write_text(json.dumps(hashes, indent=1) + "\n")
        return 0
    lines = differences(before, hashes)
    print("\n".join(lines))
    print(f"{len(lines)} kinds of pieces differ" if lines else "the same bits")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
