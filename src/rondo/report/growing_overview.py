"""The overview of a signal that keeps coming: lowest and highest value per bucket of frames, in bounded memory.

Buckets hold one frame at first. When there are more than fit, two and two are joined, again and again; so the overview
of a stream depends on its frames alone, and not on how they came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Values
from rondo.report.overview import MISSING, TOP_CODE, Overview

_MOST_NUMBERS = 1 << 18  # of lowest values, and as many of highest: 2 MB
_FEWEST_BUCKETS = 1024


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
            self._low, self._high = _paired(self._low, np.fmin), _paired(self._high, np.fmax)
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
        shape = (n_buckets, len(self.channels))
        both = np.full((*shape, 2), np.nan)
        kept = min(n_buckets, len(self._low))
        both[:kept, :, 0], both[:kept, :, 1] = self._low[:kept], self._high[:kept]
        known = np.isfinite(both)
        low = np.min(both, axis=(0, 2), where=known, initial=np.inf)
        high = np.max(both, axis=(0, 2), where=known, initial=-np.inf)
        low, high = np.where(np.isfinite(low), low, np.nan), np.where(np.isfinite(high), high, np.nan)
        scale = np.divide(TOP_CODE, high - low, out=np.zeros_like(low), where=high > low)
        codes = np.full(both.shape, MISSING, np.uint16)
        codes[known] = np.rint((both - low[:, None]) * scale[:, None])[known]
        codes = codes[..., :1] if self.bucket_frames == 1 else codes
        return Overview(codes, self.bucket_frames, n_frames, low, high, self.channels)

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly."""
        return {"low": self._low, "high": self._high}, {"bucket_frames": self.bucket_frames, "n_frames": self.n_frames}

    def restore(self, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self._low, self._high = (np.asarray(tensors[name], np.float32) for name in ("low", "high"))
        self.bucket_frames, self.n_frames = int(plain["bucket_frames"]), int(plain["n_frames"])


def _paired(buckets: Values, join: np.ufunc) -> Values:
    """Two and two buckets as one; the last may be alone."""
    return join.reduceat(buckets, np.arange(0, len(buckets), 2), axis=0) if len(buckets) else buckets


def cut_to(overview: Overview, n_frames: int) -> Overview:
    """The same for a stream that has gone on since, or is not decided so far: more frames missing, or fewer frames."""
    n_buckets = -(-n_frames // overview.bucket_frames)
    codes = overview.codes[:n_buckets]
    missing = np.full((n_buckets - len(codes), *codes.shape[1:]), MISSING, codes.dtype)
    return overview._replace(codes=np.concatenate([codes, missing]), n_frames=n_frames)
