"""Which windows are known? The radius of units in the latent space, as in the paper, against the nearest exemplar.

    OMP_NUM_THREADS=1 python benchmarks/novelty_gates.py [--page docs/results/streams.md]

A model is fitted on the first fifth of planted streams in which two units appear at 40 % and 60 %. Cells are the shares
of later windows that are accepted: of those that hold one known unit (all should be), and of those that hold a new one
(none should be).
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from numpy.typing import NDArray
from progressive import NEW
from results_page import Table, parse, write_section
from rondo.metrics.continual import INITIAL_PERCENT

from rondo.continual.updater import Updater
from rondo.data.recording import Recording
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import plant
from rondo.units.viterbi import centre_distances
from rondo_bench.experiments.inputs import PLANTED_FRAMES, PLANTED_PLAN

SECTIONS = ("novelty-gates",)
LENGTH, STEP, SEEDS = 75, 18, range(20, 28)
PURE = 0.9  # share of a window that one unit must fill


def accepted(seed: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Of each pure window after the first part: do latents, do exemplars accept it; is it known, is it new."""
    stream = plant(PLANTED_PLAN, n_frames=PLANTED_FRAMES, seed=seed)
    recording, truth = stream.recording, stream.unit_truth
    n_first = recording.n_frames * INITIAL_PERCENT // 100
    settings = {"evidence.surrogates": 0, "preprocess.statistics": "dataset"}
    first = Recording(recording.values[:n_first], rate=recording.rate)
    model = Rondo(LENGTH, STEP, settings=settings).fit(first)
    _, windows = model._windows_of(recording)
    units = model.unit_model_
    representations = units.encoder.encode(windows)
    ratios = (
        centre_distances(units.projection.apply(representations), units.vocabulary.centres) / units.vocabulary.radii
    )
    updater = Updater.begin(units, model.motif_model_, model.config_.continual, (LENGTH, STEP), aligned=True)
    nearest = [updater.units.distances(point).min() for point in representations.astype(np.float64)]
    starts = windows.grid.starts
    classes = truth[starts + LENGTH // 2]
    pure = [(truth[start : start + LENGTH] == own).mean() > PURE for start, own in zip(starts, classes, strict=True)]
    asked = np.array(pure) & (starts >= n_first) & (classes >= 0)
    new = np.isin(classes, NEW["unit"])
    by_latents, by_exemplars = ratios.min(axis=1) <= 1, np.array(nearest) <= updater.buffer.scales.reach
    return by_latents[asked], by_exemplars[asked], ~new[asked], new[asked]


def main() -> None:
    given = parse(argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]), __file__)
    warnings.simplefilter("ignore")
    table = Table("seed", *(f"{kind}, by {gate}" for kind in ("known", "new") for gate in ("latents", "exemplars")))
    for seed in SEEDS:
        by_latents, by_exemplars, known, new = accepted(seed)
        shares = [gate[kind].mean() for kind in (known, new) for gate in (by_latents, by_exemplars)]
        table.add(seed, *(f"{100 * share:.0f} %" for share in shares))
    write_section(given, "novelty-gates", table)


if __name__ == "__main__":
    main()
