"""Speed of single parts, next to a plain way of doing the same where there is one.

    OMP_NUM_THREADS=1 python benchmarks/speed.py parts [NAME …] [--memory]   ratios, best of three, CPU s
    OMP_NUM_THREADS=1 python benchmarks/speed.py stream [--windows 1000000] [--encoders summary_stats ts2vec]
        [--page docs/results/streams.md]
    OMP_NUM_THREADS=1 python benchmarks/speed.py engines [--engines serial local joblib ray] [--tasks 2000]

`parts` compares Viterbi smoothing with the textbook recursion, window votes with votes per frame, the mixture with
scikit-learn's from the same start, metrics with scikit-learn on frames, reading files with pandas and numpy, fit and
predict with a scikit-learn pipeline, TS2Vec with the published formulation; phrases, planting and rows of a stream are
timed alone. Both sides are checked to give the same result where they should.

`stream`: 9 channels at 100 Hz, windows of 2 s every second, chunks of 100 rows; then the update path alone, with points
that wander between known units and something new now and then. Wanted: 2,000 windows/s without encoding, p99 under
20 ms, memory flat over a million windows, 50 times real time with TS2Vec. `engines`: start, each task and end of an
engine with work that does nothing; `joblib` is joblib.Parallel with loky, one task at a time, for comparison.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pages import Table, parse, write_section

from rondo import Recording, Rondo
from rondo.config.settings import ComposedMotifsConfig, MixtureConfig, PreprocessConfig
from rondo.continual.updater import Updater
from rondo.data.preparation import Preparation
from rondo.data.scaling import Preprocessor
from rondo.data.windows import Windower, WindowGrid, Windows
from rondo.many.engines import ENGINES, engine_of
from rondo.many.pool import attempt, peak_mb
from rondo.metrics import evaluate
from rondo.motifs.discover import fit_phrases
from rondo.synthetic import Gaps, Novelty, StreamPlan, plant
from rondo.units.mixture import fit_mixture
from rondo.units.viterbi import Timeline, smooth

SECTIONS = ("one-stream", "engines")
ROOT = Path(__file__).resolve().parents[1]

Work = Callable[[], Any]
Case = tuple[str, Work, Work | None, Callable[[Any, Any], bool] | None]  # title, run, beside, same result


def case(title: str, run: Work, beside: Work | None = None, same: Callable[[Any, Any], bool] | None = None) -> Case:
    return title, run, beside, same


def measured(run: Work, memory: bool, n_runs: int = 3) -> tuple[Any, float, str]:
    """The result, CPU seconds (best of several) and, where wanted, the traced peak in another run."""
    seconds, peak = [], ""
    for _ in range(n_runs):
        began = time.process_time()
        result = run()
        seconds.append(time.process_time() - began)
    if memory:
        tracemalloc.start()
        run()
        peak = f"{tracemalloc.get_traced_memory()[1] / 1e6:.0f} MB"
        tracemalloc.stop()
    return result, min(seconds), peak


# ---------------------------------------------------------------- parts


def viterbi() -> Iterator[Case]:
    def textbook(costs: NDArray[np.float64], penalty: float) -> NDArray[np.int64]:
        n_windows, n_entries = costs.shape
        total, came_from = costs[0].copy(), np.empty((n_windows, n_entries), dtype=np.int64)
        for t in range(1, n_windows):
            through = total[:, None] + penalty * (1 - np.eye(n_entries))
            came_from[t], total = through.argmin(axis=0), through.min(axis=0) + costs[t]
        path = np.empty(n_windows, dtype=np.int64)
        path[-1] = total.argmin()
        for t in range(n_windows - 1, 0, -1):
            path[t - 1] = came_from[t, path[t]]
        return path

    for n, k, penalty in ((14_000, 30, 0.0), (14_000, 30, 1.0), (14_000, 30, 10.0), (1_000, 8, 1.0)):
        costs = np.random.default_rng(0).random((n, k))
        title = f"{n:,} windows, {k} entries, penalty {penalty:g}; textbook"
        yield case(
            title, lambda c=costs, p=penalty: smooth(c, p), lambda c=costs, p=penalty: textbook(c, p), np.array_equal
        )


def windows() -> Iterator[Case]:
    grid = WindowGrid(256, 50, 5_000_000, ((0, 5_000_000),))
    labels = np.random.default_rng(0).integers(0, 30, grid.n_windows)

    def votes_per_frame() -> NDArray[np.int64]:
        votes = np.zeros((grid.n_frames + 1, 30), dtype=np.int32)
        np.add.at(votes, (grid.starts, labels), 1)
        np.add.at(votes, (grid.starts + grid.length_frames, labels), -1)
        return np.cumsum(votes, axis=0, out=votes)[:-1].argmax(axis=1)

    yield case(
        "vote, 5,000,000 frames, 30 labels; votes per frame", lambda: grid.project(labels, "vote"), votes_per_frame
    )
    for rule in ("centre", "start"):
        yield case(f"{rule}, 5,000,000 frames", lambda rule=rule: grid.project(labels, rule))


def mixture() -> Iterator[Case]:
    from sklearn.mixture import BayesianGaussianMixture

    class Peer(BayesianGaussianMixture):
        """scikit-learn's mixture from the same responsibilities."""

        def _initialize_parameters(self, X: Any, random_state: object, xp: object = None) -> None:
            self._initialize(X, self.responsibilities)

    rng = np.random.default_rng(0)
    for n, n_dims, k, shape in ((4_000, 32, 30, "full"), (14_000, 4, 20, "full"), (4_000, 32, 30, "diagonal")):
        centres = rng.normal(0, 3, (k // 2, n_dims))
        x = centres[rng.integers(len(centres), size=n)] + rng.normal(size=(n, n_dims))
        start = rng.dirichlet(np.full(k, 0.3), size=n)
        config = MixtureConfig(covariance=shape, max_iterations=20, tolerance=1e-300, min_weight=0.0)
        kind = {"covariance_type": {"diagonal": "diag"}.get(shape, shape), "max_iter": 20, "tol": 1e-300}
        prior = {"weight_concentration_prior_type": "dirichlet_process", "weight_concentration_prior": 1.0}

        def ours(x: Any = x, start: Any = start, config: Any = config) -> Any:
            return fit_mixture(x, config, np.random.default_rng(0), start=start).posterior(x)

        def theirs(x: Any = x, start: Any = start, settings: Any = kind | prior) -> Any:
            peer = Peer(n_components=start.shape[1], **settings)
            peer.responsibilities = start
            return peer.fit(x).predict_proba(x)

        title = f"{n:,} points, {n_dims} dimensions, {k} components, {shape}; scikit-learn"
        yield case(title, ours, theirs, lambda one, other: np.allclose(one, other, atol=1e-3))


def metrics() -> Iterator[Case]:
    from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

    rng, n_frames = np.random.default_rng(0), 3_000_000

    def track(n_runs: int, n_ids: int) -> NDArray[np.int64]:
        starts = np.concatenate([[0], np.sort(rng.choice(n_frames - 1, n_runs - 1, replace=False)) + 1])
        return np.repeat(np.cumsum(rng.integers(1, n_ids, size=n_runs)) % n_ids, np.diff(starts, append=n_frames))

    for n_classes, n_clusters in ((12, 30), (60, 3_000)):
        pair = track(5_000, n_classes), track(20_000, n_clusters)
        yield case(
            f"all scores and the clock, {n_classes} classes, {n_clusters} clusters; ARI and AMI by scikit-learn",
            lambda pair=pair: evaluate({"long": pair}),
            lambda pair=pair: (adjusted_rand_score(*pair), adjusted_mutual_info_score(*pair)),
        )


def files() -> Iterator[Case]:
    import pandas as pd

    from rondo import read

    values = np.random.default_rng(0).normal(size=(500_000, 30))
    with tempfile.TemporaryDirectory() as folder:
        csv, npz = Path(folder) / "long.csv", Path(folder) / "long.npz"
        pd.DataFrame(values, columns=[f"c{i}" for i in range(30)]).to_csv(csv, index=False, float_format="%.4f")
        np.savez(npz, X=values)
        size = "500,000 frames x 30"
        yield case(f".csv, {size}; pandas", lambda: read(csv), lambda: pd.read_csv(csv).to_numpy(dtype=np.float32))
        yield case(f".npz, {size}; numpy", lambda: read(npz), lambda: np.load(npz)["X"].astype(np.float32))


def discover() -> Iterator[Case]:
    from sklearn.decomposition import PCA
    from sklearn.mixture import BayesianGaussianMixture
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    def pipeline(recording: Recording) -> NDArray[np.int32]:
        grid = WindowGrid(75, 18, recording.n_frames, ((0, recording.n_frames),))
        batches = Windows(recording.values, grid).batches()
        statistics = np.concatenate([np.hstack([batch.mean(axis=2), batch.std(axis=2)]) for batch in batches])
        mixture = BayesianGaussianMixture(n_components=20, covariance_type="full", max_iter=500, random_state=0)
        return grid.project(make_pipeline(StandardScaler(), PCA(0.95), mixture).fit_predict(statistics))

    for times in (1, 2, 4):
        recording = plant(StreamPlan(n_channels=9), n_frames=times * 90_000, seed=0).recording
        title = f"fit and predict, {recording.n_frames:,} frames; PCA and mixture by scikit-learn"
        yield case(title, lambda r=recording: Rondo(75, 18).fit_predict(r), lambda r=recording: pipeline(r))


def ts2vec(n_iterations: int = 30) -> Iterator[Case]:
    import torch

    from rondo.paper.settings import TS2VecConfig
    from rondo.paper.ts2vec import TS2Vec, TS2VecNet, training_steps

    sys.path.insert(0, str(ROOT))
    from tests.naive_ts2vec import train

    torch.set_num_threads(1)
    config, n_frames = TS2VecConfig(iterations=n_iterations), 256 + 207 * 50  # as the second MoCap recording
    values = plant(StreamPlan(n_channels=4), n_frames=n_frames, seed=0).recording.values
    standard = ((values - values.mean(axis=0)) / values.std(axis=0)).astype(np.float32)
    cut = Windows(standard, WindowGrid(256, 50, n_frames, ((0, n_frames),)))

    def plainly() -> list[float]:
        generator = torch.Generator().manual_seed(0)
        net = TS2VecNet(4, config.hidden_dim, config.depth, config.output_dim)
        net.fill(generator)
        steps = training_steps(len(cut), 256, config, generator)
        contents = torch.from_numpy(np.concatenate(list(cut.batches()))).transpose(1, 2).contiguous()
        return train(net.state_dict(), contents, steps, config.learning_rate)[1]

    title = f"training, {n_iterations} iterations; full dilated convolutions"
    alike = lambda ours, plain: np.allclose(ours[:10], plain[:10], rtol=1e-3)  # noqa: E731
    yield case(title, lambda: TS2Vec(config).fit([cut]).training_log, plainly, alike)


def phrases() -> Iterator[Case]:
    def runs_of(n_runs: int) -> Timeline:
        rng, units = np.random.default_rng(0), [0]
        while len(units) < n_runs:
            chosen = ((1, 2, 3), (4, 5, 6, 7), (2, 8, 5))[rng.integers(3)]
            units += [*(unit for unit in chosen if rng.random() > 0.1), 0]
        ids = np.repeat(np.array(units[:n_runs], dtype=np.int32), rng.integers(2, 9, n_runs))
        return Timeline(ids, np.full(ids.size, 0.5), ((0, ids.size),))

    for n_runs in (300, 1_000, 3_000, 20_000):
        timeline = runs_of(n_runs)
        fit = lambda t=timeline: fit_phrases([t], range(9), ComposedMotifsConfig(), np.random.default_rng(0))  # noqa: E731
        model = fit()
        yield case(f"search, {n_runs:,} runs", fit)
        yield case(f"reading, {n_runs:,} runs", lambda m=model, t=timeline: m.timeline(t))


def planting() -> Iterator[Case]:
    eventful = StreamPlan(drift=0.3, novelty=(Novelty(0.5),), n_one_offs=5, gaps=Gaps(20, 20))
    plans = {"standard": StreamPlan(), "eventful": eventful, "30 channels": StreamPlan(n_channels=30)}
    for name, plan in plans.items():
        yield case(f"a million frames, {name}", lambda plan=plan: plant(plan, n_frames=1_000_000))


def rows() -> Iterator[Case]:
    rng, rate = np.random.default_rng(0), 100.0
    clean = rng.normal(size=(100_000, 9)).astype(np.float32)
    slow, times = clean.copy(), np.arange(len(clean)) / rate
    slow[np.arange(len(clean)) % 100 > 0, 0] = np.nan  # a heart rate each second
    model = Preprocessor.fit([Recording(slow, rate=rate)], PreprocessConfig(statistics="dataset"))

    def feed(values: NDArray[np.float32], clock: NDArray[np.float64] | None, n_rows: int) -> int:
        preparation, windower, n_windows = Preparation(model.row_plan(rate)), Windower(256, 50, 9), 0
        for start in range(0, len(values), n_rows):
            part = slice(start, start + n_rows)
            for own in preparation.push(values[part], None if clock is None else clock[part]):
                seen = model.seen_by_model(own.values)
                n_windows += sum(1 for _ in windower.push(seen, own.first_frame, begins=own.begins))
            preparation.take_events()
        return n_windows

    irregular = np.sort(times + rng.uniform(-0.008, 0.008, len(clean)))
    kinds = {"no clock": (clean, None), "clock": (clean, times), "slow sensor": (slow, times)}
    for name, (values, clock) in (kinds | {"interpolated": (clean, irregular)}).items():
        for n_rows in (100, 1):
            yield case(f"100,000 rows, {name}, {n_rows} at a time", lambda v=values, c=clock, n=n_rows: feed(v, c, n))


PARTS: dict[str, Callable[[], Iterator[Case]]] = {
    own.__name__: own for own in (viterbi, windows, mixture, metrics, files, discover, ts2vec, phrases, planting, rows)
}


def parts(options: argparse.Namespace) -> None:
    table = Table("part", "case; beside", "ours", "peak", "beside", "peak", "beside / ours")
    for name in options.names or PARTS:
        for title, run, beside, same in PARTS[name]():
            ours, seconds, peak = measured(run, options.memory)
            cells = [f"{seconds:.3g} s", peak]
            if beside is not None:
                theirs, their_s, their_peak = measured(beside, options.memory)
                if same is not None and not same(ours, theirs):
                    raise SystemExit(f"{name}, {title}: the two results differ")
                cells += [f"{their_s:.3g} s", their_peak, f"{their_s / seconds:.1f}"]
            table.add(name, title, *cells)


# ---------------------------------------------------------------- a stream


def update_path(model: Rondo, n_windows: int) -> list[str]:
    """Points at exemplars of the units, one unit after another, and every so often at a place that is new."""
    exemplars, rng = model.unit_model_.exemplars, np.random.default_rng(0)
    updater = Updater(model.unit_model_, model.motif_model_, model.config_.continual, (200, 100), aligned=True)
    blocks = updater.issue.blocks(np.zeros((9, 200), np.float32))
    spread = 0.1 * exemplars.radius / np.sqrt(exemplars.points.shape[1])
    new = rng.normal(size=(3, exemplars.points.shape[1])) * 3 * exemplars.radius
    lasting, each, memory = 0, np.zeros(n_windows), []
    for number in range(n_windows):
        if not lasting:
            lasting, places = int(rng.integers(4, 20)), new if number % 1_000 < 20 else exemplars.points
            place = places[rng.integers(len(places))]
        point = place + rng.normal(scale=spread, size=place.size)
        lasting -= 1
        began = time.process_time()
        updater.push_point(point, number * 100, blocks)
        each[number] = time.process_time() - began
        if number and number % (n_windows // 4) == 0:
            memory.append(peak_mb() or 0.0)
    state, plain = updater.state()
    size = sum(tensor.nbytes for tensor in state.values()) + len(json.dumps(plain))
    times = f"median {1e3 * np.median(each):.2f} ms, p99 {1e3 * np.quantile(each, 0.99):.1f} ms of a window"
    grown = f"state {size / 1e6:.1f} MB; process +{memory[-1] - memory[0]:.0f} MB from the first to the last quarter"
    return [f"update path alone, {n_windows:,} windows", f"{1 / each.mean():,.0f} windows/s", times, grown]


def stream(options: argparse.Namespace) -> None:
    plan, table = StreamPlan(rate=100.0, n_channels=9), Table("what", "speed", "per step", "memory")
    for encoder in options.encoders:
        trained = encoder == "ts2vec"
        settings = {"evidence.surrogates": 0} | ({"encoder.iterations": 5} if trained else {})
        model = Rondo(200, 100, encoder, settings=settings).fit(plant(plan, n_frames=60_000, seed=0).recording)
        values = plant(plan, n_frames=60_000 if trained else 360_000, seed=1).recording.values
        for frozen in (False, True):
            live, seconds = model.stream(frozen=frozen), []
            for start in range(0, len(values), 100):
                began = time.process_time()
                live.feed(values[start : start + 100])
                seconds.append(time.process_time() - began)
            speed = f"{len(values) / 100 / sum(seconds):,.0f} times real time"
            title = f"whole stream, {encoder}, {'frozen' if frozen else 'learning'}"
            table.add(title, speed, f"p99 {1e3 * np.quantile(seconds, 0.99):.1f} ms of a chunk")
        if encoder == options.encoders[0]:  # the path is the same for all
            table.add(*update_path(model, options.windows))
    write_section(options, "one-stream", table)


# ---------------------------------------------------------------- engines


def nothing(task: int) -> int:
    """The work: what is left is the cost of the engine."""
    return task


def results_of(name: str, n_workers: int, n_tasks: int) -> Iterator[Any]:
    from speed import nothing  # by the name under which a worker can import it

    if name != "joblib":
        yield from engine_of(name, n_workers).run(nothing, range(n_tasks))
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    run = Parallel(n_workers, backend="loky", batch_size=1, return_as="generator_unordered")
    yield from run(delayed(attempt)(nothing, index, index) for index in range(n_tasks))
    get_reusable_executor().shutdown(wait=True)


def engines(options: argparse.Namespace) -> None:
    load = f"{options.tasks:,} tasks, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}."
    print(load, end="\n\n")
    table = Table("engine", "to the first result", "each task after that", "to the end", "memory of a worker")
    for name in options.engines:
        for n_workers in options.workers if name != "serial" else [1]:
            began, moments, peaks = time.perf_counter(), [], [0.0]
            for done in results_of(name, n_workers, options.tasks):
                moments.append(time.perf_counter())
                peaks.append(done.peak_mb or 0.0)
            first, last, end = moments[0], moments[-1], time.perf_counter()
            each = 1e3 * (last - first) / (options.tasks - 1)
            times = f"{first - began:.1f} s", f"{each:.2f} ms", f"{end - last:.1f} s", f"{max(peaks):.0f} MB"
            table.add(f"{name}, {n_workers} worker{'s' * (n_workers > 1)}", *times)
    write_section(options, "engines", load, table)


WHAT = {"parts": parts, "stream": stream, "engines": engines}


def parsed(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("names", nargs="*", choices=(*PARTS, []), metavar="NAME", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--memory", action="store_true", help="parts: trace memory too, which is slow")
    parser.add_argument("--windows", type=int, default=1_000_000, help="stream: of the update path")
    parser.add_argument("--encoders", nargs="+", default=["summary_stats"])
    parser.add_argument("--engines", nargs="+", choices=[*ENGINES, "joblib"], default=["serial", "local"])
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    return parse(parser, __file__, arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    options = parsed(arguments)
    warnings.simplefilter("ignore")
    WHAT[options.what](options)


if __name__ == "__main__":
    main()
