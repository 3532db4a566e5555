"""A signal made small enough to keep and to draw: its lowest and highest value per bucket of frames, in 16 bits.

A run folder keeps every frame while that takes no more than `MAX_CODES` numbers, and buckets of 2, 4, 8 … frames
beyond; averages would hide the bursts that units are made of. A value is kept as a code,

    code = round((value - low) / (high - low) * TOP_CODE)

with the lowest and highest value of its channel: an error of at most 1/130,000 of the channel's range. The overview of
a stream grows in bounded memory: when there are more buckets than fit, two and two are joined.

A page holds a coarse level, drawn at once, and a fine one, unpacked when someone zooms in, in the upper eight bits of
the codes. The fine level is written as differences along time and deflated; the finest that fits the budget is taken.
"""

from __future__ import annotations

import base64
import io
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.data.recording import Values
from rondo.errors import OutputError
from rondo.store.reading import UNREADABLE, read_archive

if TYPE_CHECKING:
    from rondo.run.labelling import Labelling


MAX_CODES = 1 << 25
"""64 MB before compression, the most that one recording takes in a run folder: 2.8 million frames of 12 channels."""

MISSING = 65535
TOP_CODE = 65279
"""Such that the upper eight bits of a code run from 0 to 254, and 255 is left for what is missing."""

Codes = NDArray[np.uint16]
_MOST_NUMBERS = 1 << 18  # of lowest values, and as many of highest: 2 MB
_VALUES_AT_ONCE = 1 << 16  # of a signal, turned into codes: half a MB
_FEWEST_BUCKETS = 1024
MOST_DRAWN = 1000
"""Recordings of a run that its page can draw."""
COARSE_BUCKETS = 4096
"""Two to four per pixel of a wide page."""
LEAST_BUCKETS = 256
"""What a recording gets of the budget at least; a bucket for three pixels still shows where something happens."""


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
    """The overview of `values` (n_frames, n_channels) with at most `max_codes` codes.

    NaN frames are left out; a bucket with nothing but NaN in a channel is missing there. Codes run from the lowest to
    the highest value of each channel, or over the `extent` that all of them are known to lie in.

    >>> overview = signal_overview([[1.0], [5.0], [np.nan], [1.0]], ["x"], max_codes=4)
    >>> overview.bucket_frames, overview.values()[..., 0].ravel().tolist()
    (1, [1.0, 5.0, nan, 1.0])
    >>> overview.coarsened(2).values().tolist()
    [[[1.0, 5.0]], [[1.0, 1.0]]]
    """
    frames = np.asarray(values)
    frames = frames if frames.dtype == np.float64 else frames.astype(np.float32, copy=False)
    low, high = _extent(frames)
    if np.isinf(low).any() or np.isinf(high).any():
        frames = np.where(np.isinf(frames), frames.dtype.type(np.nan), frames)
        low, high = _extent(frames)
    if extent is not None:
        low, high = (np.full_like(low, end) for end in extent)
    n_codes, bucket_frames = frames.size, 1  # one code for each frame, two for each bucket of several
    while n_codes > max_codes and bucket_frames < len(frames):
        bucket_frames *= 2
        n_codes = 2 * -(-len(frames) // bucket_frames) * frames.shape[1]
    buckets = [frames]
    if bucket_frames > 1:  # rounding keeps the order: the lowest and the highest value have the lowest and highest code
        starts = np.arange(0, len(frames), bucket_frames)
        buckets = [join.reduceat(frames, starts, axis=0) for join in (np.fmin, np.fmax)]
    codes = np.stack([_codes_of(ends, low, high) for ends in buckets], axis=-1)
    return Overview(codes, bucket_frames, frames.shape[0], low, high, tuple(channels))


def _extent(frames: NDArray[np.floating]) -> list[NDArray[np.float64]]:
    """The lowest and the highest value of each channel; NaN where it has none."""
    return [np.asarray(end.reduce(frames, axis=0, initial=np.nan), np.float64) for end in (np.fmin, np.fmax)]


def _codes_of(values: Values, low: NDArray[np.float64], high: NDArray[np.float64]) -> Codes:
    """Some frames at a time: a second copy of a long recording is a lot of memory."""
    scale = np.divide(TOP_CODE, high - low, out=np.zeros_like(low), where=high > low)
    codes, size = np.empty(values.shape, np.uint16), max(1, _VALUES_AT_ONCE // max(1, values.shape[1]))
    for first in range(0, len(values), size):
        frames = values[first : first + size]
        codes[first : first + size] = np.where(np.isnan(frames), MISSING, np.rint((frames - low) * scale))
    return codes


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


def stored_overview(overview: Overview) -> bytes:
    """The content of an .npz file that holds the overview."""
    return _archive(**overview._asdict() | {"channels": np.array(overview.channels, dtype=np.str_)})


def _archive(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def read_overview(path: Path) -> Overview:
    """Read what `stored_overview` made; nothing in the file is ever executed (no pickles)."""
    try:
        stored = read_archive(path, Overview._fields)
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
    except UNREADABLE as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OutputError(
            f"{path}: expected an .npz overview of this version of Rondo, but {reason}; run `rondo discover` again"
        ) from error
    n_channels, bucket = len(overview.channels), overview.bucket_frames
    sound = bucket > 0 and bucket & (bucket - 1) == 0 and overview.n_frames >= 0
    expected = (-(-overview.n_frames // max(bucket, 1)), n_channels, 1 if bucket == 1 else 2)
    if not sound or overview.codes.shape != expected or not overview.low.shape == overview.high.shape == (n_channels,):
        raise OutputError(
            f"{path}: {overview.n_frames} frames in buckets of {bucket} and {n_channels} channels need codes of shape "
            f"{expected}, got {overview.codes.shape}; run `rondo discover` again"
        )
    return overview


class GrowingOverview:
    """Frames go in, an Overview comes out at any time."""

    def __init__(self, channels: Sequence[str]) -> None:
        self.channels = tuple(channels)
        room = max(_FEWEST_BUCKETS, _MOST_NUMBERS // max(1, len(self.channels)))
        self.most_buckets = 1 << (room.bit_length() - 1)
        self.bucket_frames, self.n_frames = 1, 0
        self._low = np.full((0, len(self.channels)), np.nan, np.float32)  # of each bucket; NaN where nothing is known
        self._high = self._low

    def add(self, first_frame: int, values: Values) -> None:
        """Frames (n_frames, n_channels) that begin at `first_frame`; those between are missing."""
        if not len(values):
            return
        while first_frame + len(values) > self.most_buckets * self.bucket_frames:
            if len(self._low):
                pairs = np.arange(0, len(self._low), 2)  # the last bucket may be alone
                self._low, self._high = np.fmin.reduceat(self._low, pairs), np.fmax.reduceat(self._high, pairs)
            self.bucket_frames *= 2
        self.n_frames = max(self.n_frames, first_frame + len(values))
        n_buckets = -(-self.n_frames // self.bucket_frames)
        more = np.full((n_buckets - len(self._low), len(self.channels)), np.nan, np.float32)
        self._low, self._high = np.concatenate([self._low, more]), np.concatenate([self._high, more])
        places = np.arange(first_frame, first_frame + len(values)) // self.bucket_frames
        firsts = np.flatnonzero(np.diff(places, prepend=-1))
        buckets = places[firsts]
        self._low[buckets] = np.fmin(self._low[buckets], np.fmin.reduceat(values, firsts, axis=0))
        self._high[buckets] = np.fmax(self._high[buckets], np.fmax.reduceat(values, firsts, axis=0))

    def overview(self, n_frames: int) -> Overview:
        """Of the first so many frames; those that have not come are missing."""
        n_buckets = -(-n_frames // self.bucket_frames)
        ends = [np.where(np.isfinite(end), end, np.nan)[:n_buckets] for end in (self._low, self._high)]
        low, high = _extent(np.concatenate(ends))
        codes = np.stack([_codes_of(end, low, high) for end in ends[: 1 if self.bucket_frames == 1 else 2]], axis=-1)
        return cut_to(Overview(codes, self.bucket_frames, n_frames, low, high, self.channels), n_frames)

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly."""
        return {"low": self._low, "high": self._high}, {"bucket_frames": self.bucket_frames, "n_frames": self.n_frames}

    def restore(self, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self._low, self._high = (np.asarray(tensors[name], np.float32) for name in ("low", "high"))
        self.bucket_frames, self.n_frames = int(plain["bucket_frames"]), int(plain["n_frames"])


def cut_to(overview: Overview, n_frames: int) -> Overview:
    """The same for a stream that has gone on since, or is not decided so far: more frames missing, or fewer frames."""
    n_buckets = -(-n_frames // overview.bucket_frames)
    codes = overview.codes[:n_buckets]
    missing = np.full((n_buckets - len(codes), *codes.shape[1:]), MISSING, codes.dtype)
    return overview._replace(codes=np.concatenate([codes, missing]), n_frames=n_frames)


def least_bytes(n_channels: int, n_frames: int) -> int:
    """What a recording takes in a page however little there is to spare."""
    return 2 * min(LEAST_BUCKETS, n_frames) * n_channels


def base64_of(values: NDArray[Any]) -> str:
    """Bytes of an array, little-endian, as text."""
    return base64.b64encode(values.astype(values.dtype.newbyteorder("<")).tobytes()).decode()


def packed(overview: Overview, budget_bytes: int) -> dict[str, Any]:
    """`coarse` and `fine` (None where coarse is the finest that fits), both with their bucket_frames."""
    codes = (overview.codes >> 8).astype(np.uint8)
    step = _coarse_step(codes, budget_bytes // 2)
    coarse = coarser(codes, step)
    fine = _fine(codes, overview.bucket_frames, step, budget_bytes - coarse.size)
    if fine is None:  # then there is more for the coarse one
        step = _coarse_step(codes, budget_bytes)
        coarse = coarser(codes, step)
    return {"coarse": _level(coarse, overview.bucket_frames * step, base64_of(_by_channel(coarse))), "fine": fine}


def _coarse_step(codes: NDArray[np.uint8], budget_bytes: int) -> int:
    """How many frames a bucket needs so that a level is no more than a page shows at once, and within the budget."""
    step = 1
    while True:
        n_buckets = -(-codes.shape[0] // step)
        size = n_buckets * codes.shape[1] * (2 if step > 1 else codes.shape[2])
        if n_buckets <= LEAST_BUCKETS or (n_buckets <= COARSE_BUCKETS and size <= budget_bytes):
            return step
        step *= 2


def _fine(codes: NDArray[np.uint8], bucket: int, step: int, budget_bytes: int) -> dict[str, Any] | None:
    """The finest level below buckets of `step` that fits, as differences along time."""
    while step > 1:
        if codes.size <= 4 * budget_bytes:  # real signals do not shrink more
            differences = np.diff(_by_channel(codes), axis=-1, prepend=np.uint8(0))
            deflated = zlib.compress(differences.tobytes(), 6)
            if len(deflated) <= budget_bytes:
                return _level(codes, bucket, base64.b64encode(deflated).decode())
        # lowest and highest of two frames are as many numbers as the frames themselves
        factor = 4 if codes.shape[2] == 1 else 2
        codes, bucket, step = coarser(codes, factor), bucket * factor, step // factor
    return None


def _level(codes: NDArray[np.uint8], bucket_frames: int, data: str) -> dict[str, Any]:
    return {"bucket_frames": bucket_frames, "n_buckets": codes.shape[0], "width": codes.shape[2], "data": data}


def _by_channel(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """One channel after the other, in each all lowest values before all highest."""
    return np.ascontiguousarray(codes.transpose(1, 2, 0))


Scores = NDArray[np.float32]


class FrameScores(NamedTuple):
    """One score in [0, 1] per frame and level; 0 where the label is OTHER.

    That of a unit is exp(-r), r the distance of the window to the centre of its unit over the radius of that unit, or
    in a stream to the nearest exemplar, in reaches: how typical a window is, not how likely its label is right. That of
    a motif is the length of its phrase over length plus differences, 1 where the occurrence is exact.
    """

    units: Scores
    motifs: Scores

    @property
    def tell_something(self) -> bool:
        """A method without scores gives every label a 1."""
        return any(bool(((track > 0) & (track < 1)).any()) for track in self)


def told_scores(labelling: Labelling) -> FrameScores | None:
    """The scores of a labelling; None where they tell nothing."""
    scores = FrameScores(labelling.unit_scores, labelling.motif_scores)
    return scores if scores.tell_something else None


def scores_path(run_dir: Path, recording_id: str) -> Path:
    """Where a run folder keeps the scores of a recording, if its method has any."""
    return run_dir / "scores" / f"{recording_id}.npz"


def stored_scores(scores: FrameScores) -> bytes:
    """The content of an .npz file that holds the scores as float32: `unit` and `motif`."""
    return _archive(unit=scores.units.astype(np.float32), motif=scores.motifs.astype(np.float32))


def read_scores(path: Path, n_frames: int) -> FrameScores | None:
    """Read what `stored_scores` made; None where there is no such file, as in older runs."""
    if not path.exists():
        return None
    try:
        stored = read_archive(path, ("unit", "motif"), 2 * 8 * n_frames)
        scores = FrameScores(stored["unit"].astype(np.float32), stored["motif"].astype(np.float32))
    except UNREADABLE as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OutputError(f"{path}: expected an .npz with the scores of every frame, but {reason}; remove it") from None
    if any(track.shape != (n_frames,) for track in scores):
        raise OutputError(f"{path}: expected one score for each of {n_frames} frames; remove it")
    return scores


def score_rows(runs: Mapping[str, FrameScores | None], budget_bytes: int) -> dict[str, Any]:
    """What the page draws of the scores of each run by its name, as of a signal that runs from 0 to 1.

    Motifs have a row only where they say more than units.
    """
    rows: dict[str, tuple[str, Scores]] = {}
    for run, scores in runs.items():
        if scores is not None:
            rows[f"unit score {run}".rstrip()] = "unit", scores.units
            if not np.array_equal(scores.units, scores.motifs):
                rows[f"motif score {run}".rstrip()] = "motif", scores.motifs
    if not rows:
        return {"channels": [], "kinds": [], "coarse": None, "fine": None}
    tracks = np.stack([track for _, track in rows.values()], axis=1)
    levels = packed(signal_overview(tracks, [*rows], extent=(0.0, 1.0)), budget_bytes)
    return {"channels": [*rows], "kinds": [kind for kind, _ in rows.values()], **levels}
