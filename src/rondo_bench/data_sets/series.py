"""TSSB, UTSA and SKAB as the CLaP paper (arXiv 2504.01783) has them: series in which states follow each other.

github.com/ermshaua/classification-label-profile, BSD-3. Give --data the clone, its folder `datasets`, or the folder
that holds the clone. Of the folders `datasets/TSSB` (75 series), `UTSA` (32) and `SKAB` (34) each has two files of
lines between commas, one for each series, and the series:

    desc.txt         name, period, then the row at which each segment but the first begins
    properties.txt   name, then the state of each segment; in TSSB `true`, a label cut and a rate stand between, and a
                     state is its number divided by label cut + 1, rounded down
    NAME.txt         one number in a row (TSSB, UTSA), or
    data.npz         an array (n_frames, n_channels) for each name (SKAB, 8 channels)

States are numbers, local to a series; no rate is given. The period is annotation, which some methods of the paper
were given: nothing here reads it.

The labels that methods gave these series in the CLaP paper lie in the same clone:
`experiments/state_detection/TSSB_CLaP.csv.gz` has a line for each series (`dataset`): `found_labels`, a number for each
frame; `found_cps`, where segments begin; `ami_score` and `covering_score`, as published, from 0 to 1, among others. The
labels of TICC end where its last window begins; here the last one holds to the end. Segments may be more than the runs
of the labels, where neighbours have the same state; covering is published for segments.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError, RecordingError
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_mutual_information
from rondo_bench.data_sets.catalogue import CLAP
from rondo_bench.data_sets.tables import Reader, read_numbers
from rondo_bench.metrics.published import covering

_SEGMENTS, _STATES, _ARRAYS = "desc.txt", "properties.txt", "data.npz"
_BEFORE_CHANGES, _BEFORE_STATES, _BEFORE_STATES_OF_TSSB = 2, 1, 4  # columns


def find_clap_suite(folder: Path) -> list[Path]:
    """NAME.txt of the series that are described, or data.npz/NAME for an array in that file."""
    if not ((folder / _SEGMENTS).is_file() and (folder / _STATES).is_file()):
        return []
    names = [row[0] for row in _rows(folder / _SEGMENTS) if row[0] == Path(row[0]).name]
    has_arrays = (folder / _ARRAYS).is_file()
    paths = [(folder / f"{name}.txt", folder / _ARRAYS / name) for name in names]
    return [text if text.is_file() else array for text, array in paths if text.is_file() or has_arrays]


def clap_suite_id(path: Path) -> str:
    """`Cane` for UTSA/Cane.txt, `SKAB_other_1` for SKAB/data.npz/SKAB_other_1."""
    return path.name.removesuffix(".txt")


def read_clap_suite(path: Path) -> Recording:
    """One series, without its states and without its period."""
    if path.parent.name != _ARRAYS:
        return Recording(read_numbers(path, 1, [0], "the CLaP paper's data sets"), id=clap_suite_id(path))
    try:
        with np.load(path.parent, allow_pickle=False) as arrays:
            values = arrays[path.name]
    except KeyError:
        raise RecordingError(f"{path.parent}: it has no array '{path.name}', which {_SEGMENTS} names") from None
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise RecordingError(f"{path.parent}: '{path.name}' cannot be read ({error}); get the file again") from None
    return Recording(values, id=path.name)


def clap_suite_annotation(path: Path) -> Annotation:
    folder = path.parents[1] if path.parent.name == _ARRAYS else path.parent
    id, n_frames = clap_suite_id(path), read_clap_suite(path).n_frames
    changes = _whole_numbers(folder / _SEGMENTS, id, _row_of(folder / _SEGMENTS, id)[_BEFORE_CHANGES:])
    bounds = [0, *changes, n_frames]
    if any(start >= stop for start, stop in pairwise(bounds)):
        raise AnnotationError(
            f"{folder / _SEGMENTS}: segments of '{id}' begin at {changes}, expected rising numbers below its "
            f"{n_frames} rows; get the file again"
        )
    states = _states(folder / _STATES, id)
    if len(states) != len(changes) + 1:
        raise AnnotationError(
            f"{folder / _STATES}: '{id}' has {len(states)} states, in {_SEGMENTS} {len(changes) + 1} segments"
        )
    return Annotation(np.repeat(states, np.diff(bounds)), id=id)


def _states(path: Path, id: str) -> list[int]:
    row = _row_of(path, id)
    if len(row) > 1 and row[1] in ("true", "false"):
        (label_cut,) = _whole_numbers(path, id, row[2:3]) or (0,)
        return [state // (label_cut + 1) for state in _whole_numbers(path, id, row[_BEFORE_STATES_OF_TSSB:])]
    return _whole_numbers(path, id, row[_BEFORE_STATES:])


def _rows(path: Path) -> list[list[str]]:
    """The cells of each line; a line may end in a comma, which has no cell behind it."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise AnnotationError(f"{path}: cannot be read ({error.strerror})") from None
    return [[cell.strip() for cell in line.rstrip(", ").split(",")] for line in lines if line.strip(", ")]


def _row_of(path: Path, id: str) -> list[str]:
    row = next((row for row in _rows(path) if row[0] == id), None)
    if row is None:
        raise AnnotationError(f"{path}: there is no line of '{id}'; get the file again")
    return row


def _whole_numbers(path: Path, id: str, cells: list[str]) -> list[int]:
    odd = next((cell for cell in cells if not cell.isdecimal()), None)
    if odd is not None:
        raise AnnotationError(f"{path}: '{id}' has '{odd}' where a whole number is expected; get the file again")
    return [int(cell) for cell in cells]


_READER = Reader(find_clap_suite, read_clap_suite, clap_suite_annotation, clap_suite_id, comes_first=True)
READERS = dict.fromkeys(("tssb", "utsa", "skab"), _READER)


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
