"""The pictures and figures of docs/coarseness.md, from public recordings.

    OMP_NUM_THREADS=1 python scripts/coarseness_pictures.py DATA docs/pictures

DATA holds ActRecTut, MoCap6, PTE and TSSB. Each picture is `result.plot` before and after, with the annotations below.
A score is the mean of ARI, AMI and one-to-one in percent; of what is taught, over the frames without a mark.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import rondo
from rondo.data.labels import runs_of
from rondo.metrics import evaluate

Truth = NDArray[np.integer]
Named = Mapping[int, str]
SIZE = (9.0, 1.75)
SPANS_TAUGHT = 2  # of each class, the first ones


def main(data: Path, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    slider(data, out)
    scale(data)
    teaching(data, out)
    finding(data, out)


def read(data: Path, name: str) -> tuple[rondo.Recording, Truth, Named]:
    """A recording, its annotation of each frame, and the names of the classes."""
    about = json.loads((data / name).parent.joinpath("meta.json").read_text(encoding="utf-8"))
    with np.load(data / f"{name}.npz") as stored:
        recording = rondo.Recording(stored["X"], about.get("rate_hz"), id=name.partition("/")[2])
        truth = stored["y"]
    return recording, truth, dict(enumerate(about["classes"]))


def found(recording: rondo.Recording, **settings: object) -> Any:
    return rondo.discover(recording, settings=settings)


def score(truth: Truth, result: Any, kept: NDArray[np.bool_] | None = None) -> str:
    """Of all frames, or of some."""
    kept = np.ones(truth.size, np.bool_) if kept is None else kept
    average = evaluate({"0": (truth[kept], np.asarray(result.motifs)[kept])}).average
    n_motifs = np.unique(np.asarray(result.motifs)).size
    return f"{(average.ari + average.ami + average.one_to_one) / 3:.1f} ({n_motifs} motifs)"


def save(path: Path, results: Mapping[str, Any], truth: Truth, names: Named, **view: Any) -> None:
    """Results by title below each other, with the annotations below each."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "truth.csv"
        file.write_text("\n".join(["label", *(names.get(code, "-") for code in truth.tolist())]), encoding="utf-8")
        pictures = []
        for title, result in results.items():
            drawn = io.BytesIO()
            figure = result.plot(level="motif", truth=file, figsize=SIZE, **({"channels": [0]} | view))
            figure.suptitle(title, x=0.1 / SIZE[0], y=0.96, ha="left", va="top", fontsize=10, weight="bold")
            figure.savefig(drawn, dpi=100)
            pictures.append(Image.open(drawn).convert("RGB"))
    whole = Image.new("RGB", (pictures[0].width, sum(one.height for one in pictures)), "white")
    top = 0
    for one in pictures:
        whole.paste(one, (0, top))
        top += one.height
    whole.quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path, f"{path.stat().st_size / 1000:.0f} kB")


def slider(data: Path, out: Path) -> None:
    recording, truth, names = read(data, "MoCap6/m13_29")
    result = found(recording)
    coarse = result.at(6)
    scores = score(truth, result), score(truth, coarse)
    print("slider, MoCap6 m13_29:", " -> ".join(scores))
    save(out / "slider.png", {f"As found: {scores[0]}": result, f"--to 6: {scores[1]}": coarse}, truth, names)


def scale(data: Path) -> None:
    """Half of a round of each exercise lasts 36 s."""
    for name in ("s1_e1", "s1_e2"):
        recording, truth, _ = read(data, f"PTE/{name}")
        results = found(recording), found(recording, **{"motifs.window": "36s"})
        print(f"--motif-window 36s, PTE {name}:", " -> ".join(score(truth, result) for result in results))


def teaching(data: Path, out: Path) -> None:
    recording, truth, names = read(data, "ActRecTut/subject2_gesture")
    runs, kept, spans = runs_of(truth), np.ones(truth.size, np.bool_), []
    for code in np.unique(runs.ids):
        for at in np.flatnonzero(runs.ids == code)[:SPANS_TAUGHT]:
            start, stop = int(runs.starts[at]), int(runs.stops[at])
            spans.append({"name": names[int(code)], "start_frame": start, "end_frame": stop})
            kept[start:stop] = False
    result = found(recording)
    taught = result.teach(spans)
    scores = score(truth, result, kept), score(truth, taught, kept)
    print(f"teaching, ActRecTut subject2_gesture, {1 - kept.mean():.0%} marked:", " -> ".join(scores))
    titles = f"As found: {scores[0]}", f"Taught: {scores[1]}"
    save(out / "taught.png", dict(zip(titles, (result, taught), strict=True)), truth, names, start="20min", end="22min")


def finding(data: Path, out: Path) -> None:
    """One span of each gesture is marked, the first; a suggestion is right that shares half of the shorter."""
    recording, truth, names = read(data, "ActRecTut/subject1_gesture")
    result, runs, rate = found(recording), runs_of(truth), recording.rate
    for code in np.unique(runs.ids[runs.ids > 0]).tolist():
        own = runs.ids == code
        marked, *others = zip(runs.starts[own].tolist(), runs.stops[own].tolist(), strict=True)
        table = result.find(0, marked[0] / rate, marked[1] / rate)
        table = table[table.suggested]
        frames = list(zip(table.start_frame.tolist(), table.end_frame.tolist(), strict=True))
        new = [span for span in frames if _shared(span, marked) <= 0]
        right = sum(any(_is_hit(span, other) for other in others) for span in new)
        reached = sum(any(_is_hit(span, other) for span in new) for other in others)
        print(f"find, {names[code]}: {len(new)} suggested, {right} right, {reached} of {len(others)} reached")
        if names[code] == "Drink":
            taught = result.teach(table.assign(name="Drink"))
            only = np.where(truth == code, truth, -1)  # other gestures have no name
            title = f"One drink marked: {len(new)} suggested, {right} right"
            save(out / "found.png", {title: taught}, only, names, start="20min", end="24min")


def _shared(one: tuple[int, int], other: tuple[int, int]) -> int:
    return min(one[1], other[1]) - max(one[0], other[0])


def _is_hit(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return 2 * _shared(one, other) >= min(one[1] - one[0], other[1] - other[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
