"""SynSeg: 100 synthetic series of four channels, 20,000 rows and five states that return, made for Time2State.

`data/synthetic_data_for_segmentation/test0.csv` ... of github.com/Lab-ANT/Time2State (MIT licence). Give --data the
clone, or the folder that holds the clone. A row has four numbers and the state, between commas, without a header.
States are numbers, local to a series; no rate is given.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError, RecordingError

_N_CHANNELS = 4
_NAME = re.compile(r"test(\d+)")


def find_files(folder: Path) -> list[Path]:
    """test0.csv, test1.csv, ... in the order of their numbers."""
    found = {path: match for path in folder.glob("test*.csv") if (match := _NAME.fullmatch(path.stem))}
    return sorted(found, key=lambda path: int(found[path][1]))


def read_recording(path: Path) -> Recording:
    """One series, without its states."""
    return Recording(_numbers(path)[:, :_N_CHANNELS], id=path.stem)


def read_annotation(path: Path) -> Annotation:
    """The state of each row."""
    states = _numbers(path)[:, _N_CHANNELS]
    odd = np.flatnonzero(~((states >= 0) & (states == np.floor(states))))
    if odd.size:
        raise AnnotationError(
            f"{path}: row {odd[0] + 1} has {states[odd[0]]:g} where the number of a state is expected; "
            "give the file as it is published"
        )
    return Annotation(states.astype(np.int64), id=path.stem)


def _numbers(path: Path) -> NDArray[np.float64]:
    import polars as pl

    expected = f"expected {_N_CHANNELS + 1} numbers between commas in a row, as in SynSeg"
    try:
        table = pl.read_csv(path.read_bytes(), has_header=False, infer_schema=False).cast(pl.Float64)
    except (OSError, pl.exceptions.PolarsError) as error:
        cause = next(iter(str(error).splitlines()), "")
        raise RecordingError(f"{path}: {expected} ({cause}); give the file as it is published") from None
    if table.width != _N_CHANNELS + 1:
        raise RecordingError(f"{path}: {expected}, got {table.width}; give the file as it is published")
    return np.asarray(table.to_numpy(), dtype=np.float64)
