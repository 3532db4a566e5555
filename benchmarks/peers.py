"""Other methods on the same recordings: packages as a user would run them, and the baselines of `rondo_bench`.

    pip install . claspy stumpy ruptures hmmlearn "tsseg[torch,accelerators]"
    OMP_NUM_THREADS=1 python benchmarks/peers.py packages DATA [--sets mocap …] [--tools …] [--limit 180] [--keep DIR]
    OMP_NUM_THREADS=1 python benchmarks/peers.py levels DATA --cache FILE   fit what FILE does not hold yet
    python benchmarks/peers.py levels DATA --cache FILE --store             then replace peers.json by what FILE holds

`packages`: every tool has the defaults of its documentation, one seed, one thread, and the values that Rondo prepares
(gaps filled, each channel scaled); where it needs a window it gets Rondo's for the set. Nothing is chosen by labels; a
tool that needs a number gets the true one, and its row says so. Tools that find only change points (stumpy, ruptures)
are completed by a recipe: segments are described by mean and deviation of each channel and clustered by k-means, their
number chosen by silhouette. A tool has one process per set and is stopped where a recording takes more than --limit
CPU seconds or 8 GiB; a quadratic tool is not tried where its time on shorter recordings predicts that. Libraries are
loaded before the clock starts; memory is the peak of the process. Scores are means over recordings, for tools that
finished all of them. --keep keeps labels, and a second run starts from there.

`levels`: the baselines of `rondo discover --method` on the recordings and annotations of guard.py, default settings,
one seed. A method that cuts windows runs twice, with the two windows that Rondo chooses (`kmeans, short` and `kmeans,
long`). A method that cannot be fitted to a recording has no row for the set. AutoPlait and CLaP are left out above
25,000 frames. Two sets are taken from stored rows of `rondo bench` (`TABLES`). `pages.py quality` writes the page.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from platform import python_version

os.environ.setdefault("OMP_NUM_THREADS", "1")  # CPU time of one thread, set before numpy and torch are loaded
os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import numpy as np
from guard import SETS, STORED, Fit, Row, append, cached_rows, read, scores_of
from guard import recording_ids as guard_ids
from numpy.typing import ArrayLike, NDArray
from pages import SCORES, Table, program, stored_rows, write_section

from rondo import Labelling, Recording, Rondo
from rondo.config.settings import PreprocessConfig, RondoConfig
from rondo.data.labels import Labels, runs_of
from rondo.data.scaling import Preprocessor
from rondo.data.window_lengths import choose_scales
from rondo.data.windows import WindowGrid
from rondo.errors import RondoError
from rondo.many.engine import forget_peak, peak_mb
from rondo.metrics import clock_labels, evaluate
from rondo.metrics.overlap import Overlap
from rondo_bench.baselines.baseline import build_baseline, label_recording
from rondo_bench.experiments.inputs import read_some, recording_ids
from rondo_bench.experiments.spec import read_data_sets
from rondo_bench.experiments.summary import title_of
from rondo_bench.metrics.published import covering

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
    return np.searchsorted(np.sort(cuts), np.arange(len(given.values)), side="right")


def ruptures_windows(given: Given) -> ArrayLike:
    import ruptures

    found = ruptures.KernelCPD(kernel="rbf").fit(standardised(window_statistics(given))).predict(pen=10)
    segment_of_window = np.searchsorted(found[:-1], np.arange(grid_of(given).n_windows), side="right")
    return grid_of(given).project(segment_of_window, "centre")


def tsseg_hdp_hsmm(given: Given) -> ArrayLike:
    return import_module("tsseg.algorithms").HdpHsmmDetector().fit_predict(given.values)


def tsseg_e2usd(given: Given) -> ArrayLike:
    detector = import_module("tsseg.algorithms").E2USDDetector(window_size=given.window, step=given.step)
    return detector.fit_predict(given.values)


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
    "ruptures-windows": Tool("ruptures: KernelCPD of windows + recipe", ruptures_windows, "ruptures", "", True),
    "hdp-hsmm": Tool("tsseg: HDP-HSMM", tsseg_hdp_hsmm, "tsseg"),
    "e2usd": Tool("tsseg: E2USD", tsseg_e2usd, "tsseg"),
}


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
    values = prepared.values.astype(np.float64)
    return Given(recording, values, window, step, len(runs_of(truth).starts)), truth


def warming(n_channels: int) -> Given:
    """Two stretches that nobody can miss: claspy refuses a series in which it finds no change."""
    frames = np.arange(N_WARMING)
    phases = np.where(frames < N_WARMING // 2, frames / 20, frames / 50)[:, None] + np.linspace(0, 1, n_channels)
    noise = np.random.default_rng(0).normal(0, 0.1, (N_WARMING, n_channels))
    values = np.where(frames < N_WARMING // 2, 1, 3)[:, None] * np.sin(2 * np.pi * phases) + noise
    return Given(Recording(values, id="warming"), values, 50, 25, 2)


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
    command = [sys.executable, __file__, "packages", given.data, "--limit", str(given.limit), "--keep", given.keep]
    done = subprocess.run([*command, "--measure", name, data_set, *recordings], capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    if done.returncode == -signal.SIGXCPU:
        return f"stopped after {given.limit:.0f} s"
    last = (done.stderr.strip().splitlines() or [f"signal {-done.returncode}"])[-1]
    return f"stopped at {MEMORY_GIB} GiB" if "MemoryError" in last else last


def cells_of(tool: Tool, outcome: Outcome, truths: Mapping[str, Labels], of_rondo: float) -> list[str]:
    """One row of the table, but for the data set."""
    title = f"{tool.title} (given: {tool.told})" if tool.told else tool.title
    if outcome.why_not:
        return [title, outcome.why_not]
    scores = evaluate({id: (truths[id], own) for id, own in outcome.states.items()})
    own, clock = scores.average, scores.clock
    ticks = {id: clock_labels(len(found), len(runs_of(found).starts)) for id, found in outcome.segments.items()}
    covers, ticking = (
        100 * np.mean([covering(Overlap.of(truths[id], found)) for id, found in labels.items()])
        for labels in (outcome.segments, ticks)
    )
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
    for data_set in given.sets or ("mocap", "actrectut", "openpack", "usc_had"):
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


def packages(options: argparse.Namespace) -> None:
    if options.measure:
        name, data_set, *ids = options.measure
        return measure(name, data_set, ids, options)
    wanted = sorted({TOOLS[name].package for name in options.tools} - {""})
    missing = [package for package in wanted if find_spec(package) is None]
    for package in missing:
        print(f"{package} is not installed and left out: pip install {package}", file=sys.stderr)
    used = ["numpy", "scikit-learn", *(package for package in wanted if package not in missing)]
    versions = ", ".join(f"{package} {version(package)}" for package in used) + f", Python {python_version()}."
    print(versions, end="\n\n")
    with tempfile.TemporaryDirectory() as spare:
        options.keep = options.keep or Path(spare)
        options.keep.mkdir(parents=True, exist_ok=True)
        table = table_of(options, [name for name in options.tools if TOOLS[name].package not in missing])
    return write_section(options, "packages", versions, table)


PEERS = STORED.with_name("peers.json")
BASELINES = [
    f"{name}, {window}" for name in ("kmeans", "hdbscan", "time2state", "e2usd") for window in ("short", "long")
]
BASELINES += ["ticc", "autoplait", "clap"]
FRAMES = {"autoplait": 25_000, "clap": 25_000}  # at most: minutes of one core
TABLES = {"USC-HAD": ("static", "usc_had"), "TSSB": ("clap_suite", "tssb")}  # windows of the paper; labels of CLaP's
SEED = 0


def scored(data: Path, fit: Fit, method: str) -> Row:
    """One method on one recording; without `pairs` where it could not be fitted."""
    warnings.simplefilter("ignore")  # notes on the data, the same in every run
    recording, annotations = read(data, fit)
    name, _, window = method.partition(", ")
    row: Row = fit._asdict() | {"way": method}
    if len(recording.values) > FRAMES.get(name, len(recording.values)):
        return row | {"why": f"more than {FRAMES[name]:,} frames"}
    start = time.process_time()
    try:
        baseline = build_baseline(name, scale_of(recording, window) if window else {})
        labels = label_recording(recording, baseline, np.random.default_rng(SEED))
    except (RondoError, ValueError) as error:
        return row | {"why": str(error)}
    pairs = {track: scores_of(truth, labels) for track, truth in annotations.items()}
    return row | {"pairs": pairs, "cpu_s": round(time.process_time() - start, 2)}


def scale_of(recording: Recording, window: str) -> dict[str, int]:
    """The window of Rondo's units or of its motifs, and a step of a quarter."""
    config = RondoConfig()
    scales = choose_scales([Preprocessor.fit([recording], config.preprocess).apply(recording)], config)
    length = scales.unit_frames if window == "short" else scales.motif_frames
    return {"windows.length": length, "windows.step": max(1, length // 4)}


def summarise(rows: Sequence[Row]) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """Mean scores of every method by set and annotation, where it was fitted to all recordings of the set."""
    n_recordings = {name: own["n_recordings"] for name, own in json.loads(STORED.read_text(encoding="utf-8")).items()}
    found = {name: dict(from_table(*table)) for name, table in TABLES.items()}
    for name in (name for name in SETS if name not in TABLES):
        for method in BASELINES:
            done = [row["pairs"] for row in rows if (row["set"], row["way"]) == (name, method) and "pairs" in row]
            if len(done) == n_recordings[name]:
                tracks = {track: means([pairs[track] for pairs in done]) for track in done[0]}
                found.setdefault(name, {})[method] = tracks
    return found


def from_table(experiment: str, data_set: str) -> Iterator[tuple[str, dict[str, dict[str, float]]]]:
    """Means over recordings and seeds of the methods of a stored table, without Rondo and the clock."""
    for (method, name), rows in stored_rows(experiment).items():
        if name == data_set and method.partition("-")[0] not in ("rondo", "clock"):
            yield method, {"y": means(rows)}


def means(rows: Sequence[Mapping[str, str | float]]) -> dict[str, float]:
    return {key: round(float(np.mean([float(row[key]) for row in rows])), 3) for key in SCORES}


def levels(options: argparse.Namespace) -> None:
    if options.cache is None:
        raise SystemExit("levels: expected --cache FILE")
    known = {(fit, method) for method in BASELINES for fit in cached_rows(options.cache, method)}
    for name in options.sets or sorted(set(SETS) - set(TABLES)):
        for fit in (Fit(name, id, SEED) for id in guard_ids(options.data, name)):
            for method in (method for method in BASELINES if (fit, method) not in known):
                append(options.cache, {"source": method} | scored(options.data, fit, method))
                print(*fit, method, file=sys.stderr)
    if options.store:
        rows = [row for method in BASELINES for row in cached_rows(options.cache, method).values()]
        PEERS.write_text(json.dumps(summarise(rows), indent=1) + "\n", encoding="utf-8")


ARGUMENTS = (
    ("data", {"type": Path, "help": "the folder of data sets"}),
    ("--sets", {"nargs": "+", "help": "some data sets instead of all"}),
    ("--tools", {"nargs": "+", "default": list(TOOLS), "choices": list(TOOLS)}),
    ("--recordings", {"type": int, "help": "of each set, instead of all (USC-HAD: two)"}),
    ("--limit", {"type": float, "default": 180.0, "help": "CPU seconds of one run"}),
    ("--keep", {"type": Path, "help": "folder of labels of packages, to continue from"}),
    ("--measure", {"nargs": "+", "help": argparse.SUPPRESS}),
    ("--cache", {"type": Path, "help": "file of finished fits of levels, to continue from"}),
    ("--store", {"action": "store_true", "help": "levels: replace peers.json by what the cache holds"}),
)
parsed, main = program(__file__, __doc__, {"packages": packages, "levels": levels}, ARGUMENTS)

if __name__ == "__main__":
    main()
