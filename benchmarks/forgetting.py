"""Where a stream forgets: recall of old classes with and without the null class, and the stream beside `label`.

    OMP_NUM_THREADS=1 python benchmarks/forgetting.py DATA [--sets actrectut openpack usc_had planted] [--each]
        [--page docs/results/streams.md]

The progressive experiment of `rondo bench run continual`. M_f is the fall of the recall of classes seen in the first
20 %; `no null` leaves out class 0. `label` is the same model on the whole recording, in the scale of the stream; its
first 20 % are those of the fit. `--each` adds every recording.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from results_page import Table, parse, write_section

from rondo.data.labels import runs_of
from rondo.data.recording import Recording
from rondo.metrics.continual import INITIAL_PERCENT
from rondo.metrics.overlap import Overlap, class_of_cluster
from rondo.metrics.scores import evaluate
from rondo.metrics.segmental import recall_of_classes
from rondo.model.folder import from_config
from rondo.model.label import label_one
from rondo.model.rondo import Rondo
from rondo_bench.experiments.configured import rondo_for
from rondo_bench.experiments.continual import follow
from rondo_bench.experiments.inputs import read_some, recording_ids
from rondo_bench.experiments.spec import read_data_sets, read_experiment
from rondo_bench.experiments.summary import title_of

SECTIONS = ("forgetting",)


def falls(truth: NDArray[np.int64], labels: NDArray[np.int32]) -> tuple[float, float]:
    """M_f of all old classes, and of all but class 0."""
    overlap = Overlap.of(truth, labels, "")
    mapping = class_of_cluster(overlap)
    before = recall_of_classes(overlap.prefix(truth.size * INITIAL_PERCENT // 100), mapping)
    fall = 100 * (before - recall_of_classes(overlap, mapping)[: before.size])
    old = list(dict.fromkeys(runs_of(truth).ids.tolist()))[: before.size]
    named = [own for own, of_class in zip(fall, old, strict=True) if of_class != 0]
    return float(fall.mean()), float(np.mean(named))


def labelled(model: Rondo, recording: Recording, n_first: int) -> NDArray[np.int32]:
    """Units by `label`, scaled as the stream is."""
    first = Recording(recording.values[:n_first], recording.rate, recording.channels, recording.id)
    units = [label_one(model, first).units]
    own = model.preprocessor_
    model.preprocessor_ = replace(own, config=own.config.model_copy(update={"statistics": "dataset"}))
    units.append(label_one(model, recording).units[n_first:])
    return np.concatenate(units)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", nargs="+", default=["actrectut", "openpack", "usc_had", "planted"])
    parser.add_argument("--each", action="store_true", help="every recording, not only the mean of its set")
    given = parse(parser, __file__)
    warnings.simplefilter("ignore")
    table = Table("set", "M_f", "without null", "ARI, stream", "ARI, `label`")
    for name in given.sets:
        of_set, rows = read_data_sets()[name], []
        config = rondo_for(read_experiment("continual").methods["rondo"], name, of_set, "continual")
        streams = read_some(name, given.data, recording_ids(name, given.data), of_set)
        for recording in streams.recordings:
            truth, model = streams.annotations[recording.id].classes, from_config(Rondo, config)
            labels = follow(model, recording, "unit").labels
            whole = labelled(model, recording, recording.n_frames * INITIAL_PERCENT // 100)
            scores = [evaluate({"": (truth, own)}).average.as_dict()["ari"] for own in (labels, whole)]
            rows.append([*falls(truth, labels), *scores])
            if given.each:
                table.add(recording.id, *(f"{value:.1f}" for value in rows[-1]))
        title = f"{title_of(name, read_data_sets())} ({len(rows)})"
        table.add(title, *(f"{value:.1f}" for value in np.mean(rows, axis=0)))
    write_section(given, "forgetting", table)


if __name__ == "__main__":
    main()
