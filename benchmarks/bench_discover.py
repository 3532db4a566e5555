"""Whole fit and predict of planted streams, and what one would otherwise write with scikit-learn, on the same windows.

    OMP_NUM_THREADS=1 python benchmarks/bench_discover.py

The peer standardises means and deviations of each window, reduces them by PCA and fits a Bayesian Gaussian mixture of
20 full components. Wanted: time that grows linearly with the stream, and memory that stays near the stream itself.
"""

from __future__ import annotations

import resource
import time
import warnings

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import BayesianGaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rondo.data.recording import Recording
from rondo.data.windows import WindowGrid, Windows
from rondo.errors import RondoWarning
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_mutual_information
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import PlantedStream, plant

N_FRAMES, N_CHANNELS = 90_000, 9
TIMES = (1, 2, 4)
WINDOW, STEP = 75, 18


def peer_labels(recording: Recording) -> NDArray[np.int32]:
    """Frame labels of a scikit-learn pipeline, by the same windows and the same vote."""
    grid = WindowGrid(WINDOW, STEP, recording.n_frames, ((0, recording.n_frames),))
    batches = Windows(recording.values, grid).batches()
    statistics = np.concatenate([np.hstack([batch.mean(axis=2), batch.std(axis=2)]) for batch in batches])
    mixture = BayesianGaussianMixture(n_components=20, covariance_type="full", max_iter=500, random_state=0)
    return grid.project(make_pipeline(StandardScaler(), PCA(0.95), mixture).fit_predict(statistics))


def agreement(stream: PlantedStream, labels: NDArray[np.int32]) -> float:
    return 100 * adjusted_mutual_information(Overlap.of(stream.unit_truth, labels))


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", RondoWarning)
    Rondo(window=WINDOW, step=STEP).fit(plant(n_frames=3_000).recording)  # imports
    print("    frames        fit    predict   peak memory   unit AMI   scikit-learn   its AMI   scikit-learn / ours")
    for times in TIMES:
        stream = plant(StreamPlan(n_channels=N_CHANNELS), n_frames=times * N_FRAMES, seed=0)
        start = time.perf_counter()
        model = Rondo(window=WINDOW, step=STEP).fit(stream.recording)
        fitted = time.perf_counter()
        labelling = label_one(model, stream.recording)
        read = time.perf_counter()
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        again = time.perf_counter()
        theirs = peer_labels(stream.recording)
        peer_s = time.perf_counter() - again
        print(
            f"{stream.recording.n_frames:>10,} {fitted - start:>8.2f} s {read - fitted:>8.2f} s {peak_mb:>10.0f} MB "
            f"{agreement(stream, labelling.units):>10.1f} {peer_s:>12.2f} s {agreement(stream, theirs):>9.1f} "
            f"{peer_s / (read - start):>17.1f} x"
        )


if __name__ == "__main__":
    main()
