"""What a user would take instead: other people's packages on the same recordings, in the same run as Rondo.

    pip install . claspy stumpy ruptures hmmlearn "tsseg[torch,accelerators]"
    OMP_NUM_THREADS=1 python benchmarks/bench_peers.py DATA [--datasets mocap …] [--tools …] [--limit 180] [--keep DIR]
    OMP_NUM_THREADS=1 python benchmarks/bench_peers.py DATA --page docs/results/peers.md

DATA is the folder of data sets. Packages that are not installed are named and left out. Every tool has the defaults of
its own documentation, one seed, one thread, and the values that Rondo's preparation gives (gaps filled, each channel
scaled by itself); where it asks for a window, it gets the one that Rondo has on that data set. Nothing is chosen by
labels, but a tool that cannot run without being told a number is told the true one, and its row says so.

Change points are no states. Tools that find only those (stumpy, ruptures) are completed by a recipe: segments are
described by the mean and deviation of each channel and clustered by k-means, their number chosen by silhouette.

A tool has a process of its own on each data set, and is stopped where one recording takes more than --limit seconds of
CPU or 8 GiB. One whose cost is quadratic is not tried where its time on shorter recordings says that it would be: the
estimate stands in its place. Libraries are loaded and compiled before the clock starts. Memory is the most that the
process held while it labelled, libraries and the recording included. Scores are means over recordings, for tools that
finished all of them; Rondo has two rows, its units and its motifs. --keep keeps what was found, and a second run takes
it from there.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from platform import python_version

os.environ.setdefault("OMP_NUM_THREADS", "1")  # CPU time of one thread, set before numpy and torch are loaded
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np
from numpy.typing import ArrayLike, NDArray
from results_page import Table, parse, write_section

from rondo.config.settings import PreprocessConfig
from rondo.data.labels import Labels, runs_of
from rondo.data.recording import Recording
from rondo.data.scaling import Preprocessor
from rondo.data.windows import WindowGrid
from rondo.many.pool import forget_peak, peak_mb
from rondo.metrics.scores import clock_labels, evaluate
from rondo.model.rondo import Rondo
from rondo.run.labelling import Labelling
from rondo_bench.experiments.inputs import read_some, recording_ids
from rondo_bench.experiments.spec import read_data_sets
from rondo_bench.experiments.summary import title_of

Matrix = NDArray[np.float64]

SECTIONS = ("packages",)
SUBSETS = {"usc_had": 2}  # recordings of 200,000 frames, of which the first two are run
MOST_STATES = 20  # tried by recipes that choose a number
MEMORY_GIB = 8
N_WARMING = 1_000  # frames of a first run, which loads and compiles libraries


@dataclass(frozen=True)
class Given:
    """What a tool is given: the prepared values, the window of the data set, and what it may have to be told."""

    recording: Recording
    values: Matrix
    window: int
    step: int
    n_states: int
    n_segments: int


@dataclass(frozen=True)
class Tool:
    """One row: how labels are got, the package it needs, and what it is told that others find out.

    `segments_only` marks a tool that numbers segments, which the recipe turns into states; `quadratic` one whose time
    grows with the square of the number of frames, which makes it worth an estimate before it is tried.
    """

    title: str
    label: Callable[[Given], ArrayLike]
    package: str = ""
    told: str = ""
    segments_only: bool = False
    quadratic: bool = False


# ---------------------------------------------------------------- tools


def rondo(given: Given) -> Labelling:
    return Rondo(window=given.window, step=given.step, seed=0).fit(given.recording).predict(given.recording)


def claspy_clap(given: Given) -> ArrayLike:
    from claspy.state_detection import AgglomerativeCLaPDetection

    return AgglomerativeCLaPDetection(n_jobs=1).fit_predict(given.values)


def stumpy_fluss(given: Given) -> ArrayLike:
    """Regimes of the arc curve, which is of one channel, averaged over channels."""
    import stumpy

    curves = []
    for channel in given.values.T:
        profile = stumpy.stump(np.ascontiguousarray(channel), m=given.window)
        curves.append(stumpy.fluss(profile[:, 1].astype(np.int64), L=given.window, n_regimes=2)[0])
    curve, cuts = np.mean(curves, axis=0), []
    while len(cuts) < given.n_segments - 1 and curve.min() < 1.0:
        cuts.append(int(curve.argmin()))
        curve[max(0, cuts[-1] - 5 * given.window) : cuts[-1] + 5 * given.window] = 1.0  # its own exclusion factor
    return numbered(cuts, given)


def ruptures_frames(given: Given) -> ArrayLike:
    import ruptures

    found = ruptures.KernelCPD(kernel="rbf", min_size=given.window).fit(given.values).predict(pen=10)
    return numbered(found[:-1], given)


def ruptures_windows(given: Given) -> ArrayLike:
    import ruptures

    found = ruptures.KernelCPD(kernel="rbf").fit(standardised(window_statistics(given))).predict(pen=10)
    segment_of_window = np.searchsorted(found[:-1], np.arange(grid_of(given).n_windows), side="right")
    return grid_of(given).project(segment_of_window, "centre")


def tsseg(detector: str, settings: Callable[[Given], dict[str, int]]) -> Callable[[Given], ArrayLike]:
    def label(given: Given) -> ArrayLike:
        return getattr(import_module("tsseg.algorithms"), detector)(**settings(given)).fit_predict(given.values)

    return label


def windows_of(given: Given) -> dict[str, int]:
    return {"window_size": given.window, "step": given.step}


def kmeans_windows(given: Given) -> ArrayLike:
    return grid_of(given).project(best_kmeans(standardised(window_statistics(given))), "centre")


def hmm_windows(given: Given) -> ArrayLike:
    from hmmlearn.hmm import GaussianHMM

    rows = standardised(window_statistics(given))
    fits = [GaussianHMM(k, n_iter=100, random_state=0).fit(rows) for k in range(2, MOST_STATES + 1)]
    sound = [fit for fit in fits if np.isfinite(fit.startprob_).all()]  # with many states some fits break down
    return grid_of(given).project(min(sound, key=lambda fit: fit.bic(rows)).predict(rows), "centre")


TOOLS = {
    "rondo-units": Tool("Rondo, units", lambda given: rondo(given).units),
    "rondo-motifs": Tool("Rondo, motifs", lambda given: rondo(given).motifs),
    "kmeans": Tool("scikit-learn: k-means of windows", kmeans_windows),
    "hmm": Tool("hmmlearn: HMM of windows", hmm_windows, "hmmlearn"),
    "clap": Tool("claspy: CLaP", claspy_clap, "claspy", quadratic=True),
    "fluss": Tool("stumpy: FLUSS + recipe", stumpy_fluss, "stumpy", "number of segments", True, quadratic=True),
    "ruptures": Tool("ruptures: KernelCPD of frames + recipe", ruptures_frames, "ruptures", "", True),
    "ruptures-windows": Tool("ruptures: KernelCPD of windows + recipe", ruptures_windows, "ruptures", "", True),
    "hdp-hsmm": Tool("tsseg: HDP-HSMM", tsseg("HdpHsmmDetector", lambda given: {}), "tsseg"),
    "gaussian-hmm": Tool(
        "tsseg: Gaussian HMM", tsseg("GaussianHMMDetector", lambda given: {"random_state": 0}), "tsseg"
    ),
    "time2state": Tool("tsseg: Time2State", tsseg("Time2StateDetector", windows_of), "tsseg"),
    "e2usd": Tool("tsseg: E2USD", tsseg("E2USDDetector", windows_of), "tsseg"),
}


# ---------------------------------------------------------------- recipes


def grid_of(given: Given) -> WindowGrid:
    return WindowGrid(given.window, given.step, len(given.values), ((0, len(given.values)),))


def window_statistics(given: Given) -> Matrix:
    """Mean and deviation of each channel in each window."""
    return statistics_of(given.values, [(start, start + given.window) for start in grid_of(given).starts])


def statistics_of(values: Matrix, spans: Sequence[tuple[int, int]]) -> Matrix:
    parts = [values[start:stop] for start, stop in spans]
    return np.array([np.concatenate([part.mean(axis=0), part.std(axis=0)]) for part in parts])


def standardised(rows: Matrix) -> Matrix:
    spread = rows.std(axis=0)
    return (rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def numbered(cuts: Sequence[int], given: Given) -> NDArray[np.int64]:
    """The number of its segment for each frame, from the frames at which a new one begins."""
    return np.searchsorted(np.sort(cuts), np.arange(len(given.values)), side="right")


def states_of(segments: ArrayLike, given: Given) -> NDArray[np.int32]:
    """The recipe: segments -> states."""
    runs = runs_of(segments)
    spans = list(zip(runs.starts, runs.stops, strict=True))
    return np.repeat(best_kmeans(standardised(statistics_of(given.values, spans))), runs.lengths)


def best_kmeans(rows: Matrix) -> NDArray[np.int32]:
    """k-means with the number of clusters, from 2, that has the best silhouette; fewer than 3 rows are one each."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    if len(rows) < 3:
        return np.arange(len(rows), dtype=np.int32)
    numbers = range(2, min(MOST_STATES, len(rows) - 1) + 1)
    found = [KMeans(k, n_init=10, random_state=0).fit_predict(rows) for k in numbers]
    usable = [labels for labels in found if len(np.unique(labels)) > 1]
    if not usable:
        return np.zeros(len(rows), dtype=np.int32)
    return np.asarray(max(usable, key=lambda labels: silhouette_score(rows, labels)), dtype=np.int32)


# ---------------------------------------------------------------- one run, in a process of its own


def measure(name: str, data_set: str, recording_ids: Sequence[str], given: argparse.Namespace) -> None:
    """One tool on these recordings in turn, each under the limit; labels and CPU seconds go to files."""
    import resource

    warnings.simplefilter("ignore")
    tool = TOOLS[name]
    for i, id in enumerate(recording_ids):
        own, _ = read_given(data_set, id, given.data)
        if i == 0:
            tool.label(warming(own.values.shape[1]))
        if tool.package == "tsseg":
            seed_tsseg()
        end = int(time.process_time() + given.limit) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_GIB << 30, resource.RLIM_INFINITY))
        forget_peak()
        before = time.process_time()
        segments = np.asarray(tool.label(own))
        states = states_of(segments, own) if tool.segments_only else segments
        seconds = time.process_time() - before
        found = {"states": states, "segments": segments, "seconds": seconds, "peak_mb": peak_mb() or np.nan}
        np.savez(kept_at(given.keep, data_set, id, name), **found)


def seed_tsseg() -> None:
    """Its detectors draw from the generators of numpy and torch; other tools are measured without torch."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002


def kept_at(folder: Path, data_set: str, recording_id: str, name: str) -> Path:
    return folder / f"{data_set}-{recording_id}-{name}.npz"


def read_given(data_set: str, recording_id: str, data: Path) -> tuple[Given, Labels]:
    """What a tool is given, and the truth, which only scores and rows marked as told see."""
    of_set = read_data_sets()[data_set]
    read = read_some(data_set, data, (recording_id,), of_set)
    recording, truth = read.recordings[0], read.annotations[recording_id].classes
    prepared = Preprocessor.fit([recording], PreprocessConfig()).apply(recording)
    if prepared.n_frames != recording.n_frames:
        raise SystemExit(f"{recording_id} is not on a regular grid: its frames are not those that are scored")
    window, step = int(of_set.window), int(of_set.step)
    told = len(np.unique(truth)), len(runs_of(truth).starts)
    return Given(recording, prepared.values.astype(np.float64), window, step, *told), truth


def warming(n_channels: int) -> Given:
    """Two stretches that nobody can miss: claspy refuses a series in which it finds no change."""
    frames = np.arange(N_WARMING)
    phases = np.where(frames < N_WARMING // 2, frames / 20, frames / 50)[:, None] + np.linspace(0, 1, n_channels)
    noise = np.random.default_rng(0).normal(0, 0.1, (N_WARMING, n_channels))
    values = np.where(frames < N_WARMING // 2, 1, 3)[:, None] * np.sin(2 * np.pi * phases) + noise
    return Given(Recording(values, id="warming"), values, 50, 25, 2, 2)


# ---------------------------------------------------------------- all runs


Size = tuple[int, int]  # frames, channels


@dataclass(frozen=True)
class Outcome:
    """What one tool found in all recordings of a set, its CPU seconds and most memory; or why it did not."""

    states: Mapping[str, Labels]
    segments: Mapping[str, Labels]
    seconds: Mapping[str, float]
    peak_mb: float = np.nan
    why_not: str = ""


def outcome_of(
    name: str, data_set: str, sizes: Mapping[str, Size], times: dict[Size, float], given: argparse.Namespace
) -> Outcome:
    """One tool on all recordings of a set, the shortest first; `times` gathers seconds by size."""
    paths = {id: kept_at(given.keep, data_set, id, name) for id in sorted(sizes, key=lambda id: sizes[id])}
    estimate = max(estimated(times, size) for size in sizes.values()) if TOOLS[name].quadratic else 0.0
    todo = [id for id, path in paths.items() if not path.is_file()]
    if todo and estimate > given.limit:
        return Outcome(
            {}, {}, {}, why_not=f"not tried: about {estimate / 60:.0f} min, by its time on shorter recordings"
        )
    reason = _run(name, data_set, todo, given) if todo else ""
    kept = {id: dict(np.load(path)) for id, path in paths.items() if path.is_file()}
    seconds = {id: float(own["seconds"]) for id, own in kept.items()}
    times |= {sizes[id]: seconds[id] for id in seconds}
    if len(kept) < len(paths):
        failed = next(id for id in paths if id not in kept)
        size = "{:,} frames of {} channels".format(*sizes[failed])
        return Outcome({}, {}, {}, why_not=f"{reason} on {failed} ({size})")
    states, segments = ({id: own[which] for id, own in kept.items()} for which in ("states", "segments"))
    return Outcome(states, segments, seconds, max(float(own["peak_mb"]) for own in kept.values()))


def estimated(times: Mapping[Size, float], size: Size) -> float:
    """Seconds of a recording by those of others: each channel takes a + b · frames²."""
    if len(times) < 2:
        return 0.0
    per_channel = [seconds / channels for (_, channels), seconds in times.items()]
    b, a = np.polyfit([float(frames) ** 2 for frames, _ in times], per_channel, 1)
    return float(size[1] * (a + b * float(size[0]) ** 2))


def _run(name: str, data_set: str, recordings: Sequence[str], given: argparse.Namespace) -> str:
    """Start the process; why it did not finish, or nothing."""
    print(f"{data_set}: {name} …", file=sys.stderr, flush=True)
    command = [sys.executable, __file__, str(given.data), "--limit", str(given.limit), "--keep", str(given.keep)]
    done = subprocess.run([*command, "--measure", name, data_set, *recordings], capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    if done.returncode == -signal.SIGXCPU:
        return f"stopped after {given.limit:.0f} s"
    last = (done.stderr.strip().splitlines() or [f"signal {-done.returncode}"])[-1]
    return f"stopped at {MEMORY_GIB} GiB" if "MemoryError" in last else last


def covering(truth: Labels, labels: Labels) -> float:
    """How well predicted segments cover true ones: Σ |A| · max over predicted B of |A ∩ B| / |A ∪ B|, by length, x 100.

    van den Burg & Williams 2020. Only change points count, not what segments are called.

    >>> round(covering(np.array([0, 0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 2, 2])))
    67
    """
    true, found = runs_of(truth), runs_of(labels)
    best = []
    for start, stop in zip(true.starts, true.stops, strict=True):
        shared = np.minimum(stop, found.stops) - np.maximum(start, found.starts)
        united = np.maximum(stop, found.stops) - np.minimum(start, found.starts)
        best.append((stop - start) * (np.maximum(shared, 0) / united).max())
    return 100 * float(np.sum(best)) / len(truth)


def cells_of(tool: Tool, outcome: Outcome, truths: Mapping[str, Labels], of_rondo: float) -> list[str]:
    """One row of the table, but for the data set."""
    title = f"{tool.title} (given: {tool.told})" if tool.told else tool.title
    if outcome.why_not:
        return [title, outcome.why_not]
    scores = evaluate({id: (truths[id], own) for id, own in outcome.states.items()})
    own, clock = scores.average, scores.clock
    covers = np.mean([covering(truths[id], found) for id, found in outcome.segments.items()])
    ticks = {id: clock_labels(len(found), len(runs_of(found).starts)) for id, found in outcome.segments.items()}
    ticking = np.mean([covering(truths[id], found) for id, found in ticks.items()])
    seconds = sum(outcome.seconds.values())
    return [
        title,
        f"{own.ari:.1f} / {own.ami:.1f} / {own.one_to_one:.1f}",
        f"{clock.ari:.1f} / {clock.ami:.1f} / {clock.one_to_one:.1f}",
        f"{covers:.1f} ({ticking:.1f})",
        f"{own.n_clusters:.1f}",
        f"{own.seg_ratio:.2f}",
        f"{seconds / len(truths):.1f} ({f'{seconds / of_rondo:.1f}' if of_rondo else '–'})",
        f"{outcome.peak_mb:,.0f} MB",
    ]


def table_of(given: argparse.Namespace, names: Sequence[str]) -> Table:
    """All tools on all sets."""
    scores = ("ARI / AMI / one-to-one", "clock", "covering (clock)", "states", "SegRatio")
    table = Table("data", "tool", *scores, "CPU s (x Rondo)", "peak memory")
    times: dict[str, dict[Size, float]] = {name: {} for name in names}
    for data_set in given.datasets:
        ids = recording_ids(data_set, given.data)[: given.recordings or SUBSETS.get(data_set)]
        read = {id: read_given(data_set, id, given.data) for id in ids}
        sizes = {id: own.values.shape for id, (own, _) in read.items()}
        truths, of_rondo = {id: truth for id, (_, truth) in read.items()}, 0.0
        for name in names:
            outcome = outcome_of(name, data_set, sizes, times[name], given)
            of_rondo = sum(outcome.seconds.values()) if name == "rondo-units" else of_rondo
            title = f"{title_of(data_set, read_data_sets())} ({len(ids)})"
            table.add(title, *cells_of(TOOLS[name], outcome, truths, of_rondo))
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, help="the folder of data sets")
    parser.add_argument("--datasets", nargs="+", default=["mocap", "actrectut", "openpack", "usc_had"])
    parser.add_argument("--tools", nargs="+", default=list(TOOLS), choices=list(TOOLS))
    parser.add_argument("--recordings", type=int, help="of each set, instead of all (USC-HAD: two)")
    parser.add_argument("--limit", type=float, default=180.0, help="CPU seconds of one run")
    parser.add_argument("--keep", type=Path, help="folder of labels, taken from there where they are")
    parser.add_argument("--measure", nargs="+", help=argparse.SUPPRESS)
    given = parse(parser, __file__, arguments)
    if given.measure:
        name, data_set, *ids = given.measure
        return measure(name, data_set, ids, given)
    packages = sorted({TOOLS[name].package for name in given.tools} - {""})
    missing = [package for package in packages if find_spec(package) is None]
    for package in missing:
        print(f"{package} is not installed and left out: pip install {package}", file=sys.stderr)
    used = ["numpy", "scikit-learn", *(package for package in packages if package not in missing)]
    versions = ", ".join(f"{package} {version(package)}" for package in used) + f", Python {python_version()}."
    print(versions, end="\n\n")
    with tempfile.TemporaryDirectory() as spare:
        given.keep = given.keep or Path(spare)
        given.keep.mkdir(parents=True, exist_ok=True)
        table = table_of(given, [name for name in given.tools if TOOLS[name].package not in missing])
    write_section(given, "packages", versions, table)
    return None


if __name__ == "__main__":
    main()
