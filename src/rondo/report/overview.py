"""A long signal made small enough to draw: the lowest and highest value of each channel per bucket of frames.

What a screen of a thousand pixels can show of a million frames is the lowest and the highest value per pixel;
averages would hide the bursts that units are made of. A recording keeps one level of such a min-max pyramid.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.errors import OutputError

MAX_BUCKETS = 4000
"""Four buckets per pixel of a wide page, so that a first zoom still shows detail."""

Edges = NDArray[np.int64]
Extremes = NDArray[np.float32]


class Overview(NamedTuple):
    """Bucket i holds the frames [edges[i], edges[i+1]); `low` and `high` are (n_buckets, n_channels)."""

    edges: Edges
    low: Extremes
    high: Extremes
    channels: tuple[str, ...]

    def coarsened(self, max_buckets: int) -> Overview:
        """The same signal in at most `max_buckets` buckets; each new bucket is a union of old ones."""
        groups = _even_edges(self.low.shape[0], max_buckets)
        low, high = _extremes(self.low, self.high, groups)
        return Overview(self.edges[groups], low, high, self.channels)


def signal_overview(values: ArrayLike, max_buckets: int = MAX_BUCKETS) -> tuple[Edges, Extremes, Extremes]:
    """Lowest and highest value per bucket and channel of `values` (n_frames, n_channels), in linear time.

    Returns `edges` (n_buckets+1,), `low` and `high` (n_buckets, n_channels). NaN frames are left out; a
    bucket with nothing but NaN in a channel is NaN there.

    >>> edges, low, high = signal_overview([[1.0], [5.0], [np.nan], [2.0]], max_buckets=2)
    >>> edges.tolist(), low.ravel().tolist(), high.ravel().tolist()
    ([0, 2, 4], [1.0, 2.0], [5.0, 2.0])
    """
    frames = np.asarray(values, dtype=np.float32)
    edges = _even_edges(frames.shape[0], max_buckets)
    low, high = _extremes(frames, frames, edges)
    return edges, low, high


def overview_path(run_dir: Path, recording_id: str) -> Path:
    """Where a run folder keeps the overview of a recording; ids that lead out of the folder are refused."""
    if Path(recording_id).name != recording_id:
        raise OutputError(
            f"{run_dir}: the recording id '{recording_id}' is not a plain file name; rename the recording"
        )
    return run_dir / "overview" / f"{recording_id}.npz"


def write_overview(path: Path, values: ArrayLike, channels: Sequence[str]) -> None:
    """Write the overview of `values` (n_frames, n_channels) to an .npz file: edges, low, high, channels."""
    edges, low, high = signal_overview(values)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, edges=edges, low=low, high=high, channels=np.array(channels, dtype=np.str_))
    except OSError as error:
        raise OutputError(f"{path}: the overview cannot be written ({error.strerror}); check the folder") from error


def read_overview(path: Path) -> Overview:
    """Read what `write_overview` wrote; nothing in the file is ever executed (no pickles)."""
    try:
        # opened here, because np.load forgets to close what it cannot read
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            overview = Overview(
                stored["edges"].astype(np.int64),
                stored["low"].astype(np.float32),
                stored["high"].astype(np.float32),
                tuple(str(name) for name in stored["channels"]),
            )
    except FileNotFoundError as error:
        raise OutputError(f"{path}: the overview of this recording is missing; run `rondo discover` again") from error
    # numpy and zipfile have a different word for each way in which an archive can be broken
    except (OSError, ValueError, TypeError, AttributeError, LookupError, EOFError, NotImplementedError,
            RuntimeError, zipfile.BadZipFile, zlib.error) as error:  # fmt: skip
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OutputError(
            f"{path}: expected an .npz overview with edges, low, high and channels, but {reason}; "
            "run `rondo discover` again"
        ) from error
    _check_shapes(overview, path)
    return overview


def _even_edges(n_items: int, max_buckets: int) -> Edges:
    n_buckets = min(n_items, max_buckets)
    return (np.arange(n_buckets + 1, dtype=np.int64) * n_items) // max(n_buckets, 1)


def _extremes(low: Extremes, high: Extremes, edges: Edges) -> tuple[Extremes, Extremes]:
    if edges.size == 1:
        empty = np.empty((0, low.shape[1]), dtype=np.float32)
        return empty, empty
    # fmin and fmax pass over NaN where there is a number; some platforms flag that as invalid
    with np.errstate(invalid="ignore"):
        return np.fmin.reduceat(low, edges[:-1], axis=0), np.fmax.reduceat(high, edges[:-1], axis=0)


def _check_shapes(overview: Overview, path: Path) -> None:
    expected = (overview.edges.size - 1, len(overview.channels))
    if overview.edges.ndim != 1 or overview.low.shape != expected or overview.high.shape != expected:
        raise OutputError(
            f"{path}: {overview.edges.size} edges and {len(overview.channels)} channels need low and high of "
            f"shape {expected}, got {overview.low.shape}, {overview.high.shape}; run `rondo discover` again"
        )
    if (np.diff(overview.edges) <= 0).any():
        raise OutputError(f"{path}: the bucket edges must increase, but they do not; run `rondo discover` again")
