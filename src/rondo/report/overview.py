"""A signal made small enough to keep and to draw: its lowest and highest value per bucket of frames, in 16 bits.

What a screen of a thousand pixels can show of a million frames is the lowest and the highest value per pixel; averages
would hide the bursts that units are made of. A run folder keeps every frame while that takes no more than
`MAX_CODES` numbers, and buckets of 2, 4, 8 … frames beyond. A value is kept as a code,

    code = round((value - low) / (high - low) * TOP_CODE)

with the lowest and highest value of its channel: an error of at most 1/130,000 of the channel's range.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.errors import OutputError
from rondo.store.writing import make_folder, whole_file

MAX_CODES = 1 << 25
"""64 MB before compression, the most that one recording takes in a run folder: 2.8 million frames of 12 channels."""

MISSING = 65535
TOP_CODE = 65279
"""Such that the upper eight bits of a code run from 0 to 254, and 255 is left for what is missing."""

Codes = NDArray[np.uint16]


class Overview(NamedTuple):
    """Bucket i holds the frames [i, i+1) * bucket_frames, the last one what is left of them.

    `codes` (n_buckets, n_channels, 1 or 2): the value of a bucket of one frame, else its lowest and its highest.
    """

    codes: Codes
    bucket_frames: int
    n_frames: int
    low: NDArray[np.float64]  # of each channel; NaN where it has no value at all
    high: NDArray[np.float64]
    channels: tuple[str, ...]

    def coarsened(self, bucket_frames: int) -> Overview:
        """The same signal in larger buckets, a whole number of the present ones each."""
        codes = coarser(self.codes, bucket_frames // self.bucket_frames)
        return self._replace(codes=codes, bucket_frames=max(bucket_frames, self.bucket_frames))

    def only(self, channels: Sequence[int]) -> Overview:
        """The same frames of some channels."""
        own = list(channels)
        names = tuple(self.channels[channel] for channel in own)
        return self._replace(codes=self.codes[:, own], low=self.low[own], high=self.high[own], channels=names)

    def values(self) -> NDArray[np.float32]:
        """What the codes stand for, in their shape; NaN where it is missing."""
        scale = (self.high - self.low) / TOP_CODE
        values = self.low[:, None] + self.codes * scale[:, None]
        return np.where(self.codes == MISSING, np.nan, values).astype(np.float32)


def signal_overview(
    values: ArrayLike,
    channels: Sequence[str],
    max_codes: int = MAX_CODES,
    extent: tuple[float, float] | None = None,
) -> Overview:
    """The overview of `values` (n_frames, n_channels) with at most `max_codes` codes, in linear time.

    NaN frames are left out; a bucket with nothing but NaN in a channel is missing there. Codes run from the lowest to
    the highest value of each channel, or over the `extent` that all of them are known to lie in.

    >>> overview = signal_overview([[1.0], [5.0], [np.nan], [1.0]], ["x"], max_codes=4)
    >>> overview.bucket_frames, overview.values()[..., 0].ravel().tolist()
    (1, [1.0, 5.0, nan, 1.0])
    >>> overview.coarsened(2).values().tolist()
    [[[1.0, 5.0]], [[1.0, 1.0]]]
    """
    frames = np.asarray(values, dtype=np.float32)
    known = np.isfinite(frames)
    low = np.min(frames, axis=0, where=known, initial=np.inf).astype(np.float64)
    high = np.max(frames, axis=0, where=known, initial=-np.inf).astype(np.float64)
    low, high = np.where(np.isfinite(low), low, np.nan), np.where(np.isfinite(high), high, np.nan)
    if extent is not None:
        low, high = (np.full_like(low, end) for end in extent)
    scale = np.divide(TOP_CODE, high - low, out=np.zeros_like(low), where=high > low)
    codes = np.full((*frames.shape, 1), MISSING, dtype=np.uint16)
    for channel in range(frames.shape[1]):  # one at a time: a second copy of a long recording is a lot of memory
        own = known[:, channel]
        codes[own, channel, 0] = np.rint((frames[own, channel] - low[channel]) * scale[channel])
    bucket_frames = 1
    while codes.size > max_codes and bucket_frames < frames.shape[0]:
        codes, bucket_frames = coarser(codes, 2), 2 * bucket_frames
    return Overview(codes, bucket_frames, frames.shape[0], low, high, tuple(channels))


def coarser(codes: NDArray[Any], factor: int) -> NDArray[Any]:
    """Lowest and highest of every `factor` buckets (n, n_channels, 1 or 2); the greatest code of a type is missing."""
    if factor <= 1:
        return codes
    starts = np.arange(0, codes.shape[0], factor)
    lows, highs = codes[..., 0], codes[..., -1]
    missing = np.iinfo(codes.dtype).max
    low = np.minimum.reduceat(lows, starts, axis=0)
    # one up, the missing code becomes the lowest
    high = np.maximum.reduceat(highs + codes.dtype.type(1), starts, axis=0) - codes.dtype.type(1)
    return np.stack([low, np.where(low == missing, missing, high)], axis=-1)


def overview_path(run_dir: Path, recording_id: str) -> Path:
    """Where a run folder keeps the overview of a recording."""
    return run_dir / "overview" / f"{recording_id}.npz"


def write_overview(path: Path, values: ArrayLike, channels: Sequence[str]) -> None:
    """Write the overview of `values` (n_frames, n_channels) to an .npz file."""
    store_overview(path, signal_overview(values, channels))


def store_overview(path: Path, overview: Overview) -> None:
    """Write an overview to an .npz file."""
    named = overview._asdict() | {"channels": np.array(overview.channels, dtype=np.str_)}
    try:
        make_folder(path.parent)
    except OSError as error:
        raise OutputError(f"{path}: the overview cannot be written ({error.strerror}); check the folder") from error
    with whole_file(path, "check the folder") as file:
        np.savez_compressed(file, **named)


def read_overview(path: Path) -> Overview:
    """Read what `write_overview` wrote; nothing in the file is ever executed (no pickles)."""
    try:
        # opened here, because np.load forgets to close what it cannot read
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            overview = Overview(
                stored["codes"].astype(np.uint16, casting="safe"),
                int(stored["bucket_frames"]),
                int(stored["n_frames"]),
                stored["low"].astype(np.float64, casting="safe"),
                stored["high"].astype(np.float64, casting="safe"),
                tuple(str(name) for name in stored["channels"]),
            )
    except FileNotFoundError as error:
        raise OutputError(f"{path}: the overview of this recording is missing; run `rondo discover` again") from error
    # numpy and zipfile have a different word for each way in which an archive can be broken
    except (OSError, ValueError, TypeError, AttributeError, LookupError, EOFError, NotImplementedError,
            RuntimeError, zipfile.BadZipFile, zlib.error) as error:  # fmt: skip
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OutputError(
            f"{path}: expected an .npz overview of this version of Rondo, but {reason}; run `rondo discover` again"
        ) from error
    _check_shapes(overview, path)
    return overview


def _check_shapes(overview: Overview, path: Path) -> None:
    n_channels, bucket = len(overview.channels), overview.bucket_frames
    sound = bucket > 0 and bucket & (bucket - 1) == 0 and overview.n_frames >= 0
    expected = (-(-overview.n_frames // max(bucket, 1)), n_channels, 1 if bucket == 1 else 2)
    if not sound or overview.codes.shape != expected or not overview.low.shape == overview.high.shape == (n_channels,):
        raise OutputError(
            f"{path}: {overview.n_frames} frames in buckets of {bucket} and {n_channels} channels need codes of shape "
            f"{expected}, got {overview.codes.shape}; run `rondo discover` again"
        )
