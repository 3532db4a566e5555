"""The labels that methods gave TSSB, UTSA and SKAB in the CLaP paper, as its repository stores them.

`experiments/state_detection/TSSB_CLaP.csv.gz` has a line for each series (`dataset`): `found_labels`, a number for each
frame; `found_cps`, where segments begin; `ami_score` and `covering_score`, as published, from 0 to 1, among others.

The labels of TICC end where its last window begins; here the last one holds to the end. Segments may be more than the
runs of the labels, where neighbours have the same state; covering is published for segments.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.errors import AnnotationError
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_mutual_information
from rondo.metrics.segmentation import covering
from rondo_bench.data_sets.catalogue import CLAP

TOLERANCE = 0.1  # percent; scores are stored with three decimals, of 1
_FOLDER = Path("experiments") / "state_detection"
_COLUMNS = ("dataset", "found_cps", "found_labels", "covering_score", "ami_score")

Track = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class StoredLabels:
    """What a method gave one series: a state for each frame, and the number of its segment."""

    states: Track
    segments: Track


def find_labels(data_set: str, method: str, data: Path | None) -> Path | None:
    """The file of a method on a data set in the clone that --data names, lies in or holds; None without one."""
    if data is None:
        return None
    name = f"{data_set.upper()}_{method}.csv.gz"
    places = (data, data.absolute().parent, *sorted(data.glob(f"{CLAP}*")))
    return next((path for place in places if (path := place / _FOLDER / name).is_file()), None)


def read_labels(path: Path, id: str, truth: Track) -> StoredLabels:
    """The labels of one series; refused unless AMI and covering against `truth` are what was published for them."""
    line = _lines(path).get(id)
    if line is None:
        raise AnnotationError(f"{path}: there is no line of '{id}'; get the file again")
    try:
        states, changes = (np.asarray(json.loads(line[name]), dtype=np.int64) for name in ("found_labels", "found_cps"))
        said = {"AMI": 100 * float(line["ami_score"]), "covering": 100 * float(line["covering_score"])}
    except (ValueError, TypeError, OverflowError):
        raise AnnotationError(f"{path}: labels or scores of '{id}' are no numbers; get the file again") from None
    if not (states.ndim == changes.ndim == 1 and 0 < states.size <= truth.size):
        raise AnnotationError(f"{path}: '{id}' has {states.size} labels for {truth.size} frames; get the file again")
    segments = np.searchsorted(np.unique(changes[changes > 0]), np.arange(truth.size), side="right")
    found = {
        "AMI": 100 * adjusted_mutual_information(Overlap.of(truth[: states.size], states)),
        "covering": 100 * covering(Overlap.of(truth, segments)),
    }
    for score, value in found.items():
        if not abs(value - said[score]) <= TOLERANCE:
            raise AnnotationError(
                f"{path}: {score} of '{id}' comes out as {value:.1f}, published is {said[score]:.1f}: labels and "
                "series are not those of the paper; take both from one clone"
            )
    return StoredLabels(np.pad(states, (0, truth.size - states.size), mode="edge"), segments)


@lru_cache(maxsize=4)  # a run asks for one series at a time, of a few methods
def _lines(path: Path) -> dict[str, dict[str, str]]:
    import polars as pl

    try:
        table = pl.read_csv(path.read_bytes(), infer_schema=False)
    except (OSError, EOFError, zlib.error, pl.exceptions.PolarsError) as error:
        raise AnnotationError(f"{path}: cannot be read ({str(error).splitlines()[0]}); get the file again") from None
    missing = [name for name in _COLUMNS if name not in table.columns]
    if missing:
        raise AnnotationError(f"{path}: it has no column '{missing[0]}', only {', '.join(table.columns)}")
    return {line["dataset"]: line for line in table.select(_COLUMNS).iter_rows(named=True)}
