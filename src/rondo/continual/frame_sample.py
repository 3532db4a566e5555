"""FrameSample: frames of a stream, spread evenly over all of it in bounded memory, and the moments of every frame.

Frames are cut into pieces of a few windows, at the same places in any chunks. Every piece counts in the moments. Where
more would be kept than fit, every other one is dropped, and of those to come too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Tensors, check_shapes, owned, owned_by
from rondo.data.moments import ChannelMoments
from rondo.data.recording import Values
from rondo.data.windows import Span, WindowGrid, Windows

_PIECE_LENGTHS = 4  # window lengths of a piece; ours: a path through units needs neighbours
_MOST_VALUES = 1 << 18  # frames x channels kept: 1 MB, ours
_FEWEST_PIECES = 16  # whatever their size, so that they are spread over the stream; ours


class _Piece(NamedTuple):
    """Frames that follow each other; `begins`: they do not follow on those of the piece before."""

    number: int
    begins: bool
    values: Values


class FrameSample:
    """What is kept of a stream so far."""

    def __init__(self, length_frames: int, step_frames: int, n_channels: int, n_recent: int) -> None:
        """`n_recent`: frames of the stretch that are kept whatever happens, the last ones."""
        self._length, self._step = length_frames, step_frames
        self._piece_frames = _PIECE_LENGTHS * length_frames
        self._most = max(_FEWEST_PIECES, _MOST_VALUES // (self._piece_frames * n_channels))
        self._kept: list[_Piece] = []
        self._every = 1  # pieces, of which one is kept
        self._recent = np.zeros((2 * n_recent, n_channels), np.float32)  # in front, so that a chunk is seldom a copy
        self._n_recent, self._most_recent = 0, n_recent
        self._open = np.zeros((self._piece_frames, n_channels), np.float32)
        self._n_open, self._number, self._begins = 0, 0, True
        self._whole = ChannelMoments.none(n_channels)  # of all whole pieces
        self._n_windows, self._n_stretch = 0, 0  # windows of the stretches before, and frames of this one

    @property
    def n_frames(self) -> int:
        """Frames seen."""
        return self._whole.count + self._n_open

    @property
    def n_windows(self) -> int:
        """Windows seen."""
        return self._n_windows + self._windows_in_stretch()

    @property
    def moments(self) -> ChannelMoments:
        """Of all frames seen."""
        return self._whole + ChannelMoments.of_frames(self._open[: self._n_open])

    def begin(self) -> None:
        """The frames to come do not follow on those before."""
        self._close()
        self._n_windows, self._n_stretch, self._begins = self.n_windows, 0, True
        self._n_recent = 0

    def push(self, values: Values) -> None:
        """More frames of the stretch."""
        self._n_stretch += len(values)
        self._remember(values[-self._most_recent :])
        while len(values):
            part = values[: self._piece_frames - self._n_open]
            self._open[self._n_open : self._n_open + len(part)] = part
            self._n_open, values = self._n_open + len(part), values[len(part) :]
            if self._n_open == self._piece_frames:
                self._close()

    def recent(self) -> Values:
        """The last frames of the stretch."""
        return self._recent[max(0, self._n_recent - self._most_recent) : self._n_recent]

    def frames(self) -> tuple[Values, tuple[Span, ...]]:
        """The frames that are kept, laid one after the other, and the spans that follow each other in the stream."""
        pieces = [*self._kept, *self._open_piece()]
        edges = np.cumsum([0, *(len(piece.values) for piece in pieces)]).tolist()
        starts = [
            edge
            for edge, piece, before in zip(edges, pieces, [None, *pieces], strict=False)
            if before is None or piece.begins or piece.number != before.number + 1
        ]
        spans = tuple(zip(starts, [*starts[1:], edges[-1]], strict=True))
        return np.concatenate([self._open[:0], *(piece.values for piece in pieces)]), spans

    def windows(self, values: Values, spans: tuple[Span, ...]) -> Windows:
        """The windows in what `frames` gave, or in the same frames scaled."""
        return Windows(values, WindowGrid(self._length, self._step, len(values), spans))

    def _open_piece(self) -> list[_Piece]:
        is_kept = self._n_open > 0 and self._number % self._every == 0
        return [_Piece(self._number, self._begins, self._open[: self._n_open])] if is_kept else []

    def _windows_in_stretch(self) -> int:
        return max(0, (self._n_stretch - self._length) // self._step + 1)

    def _remember(self, values: Values) -> None:
        if self._n_recent + len(values) > len(self._recent):
            kept = self._recent[self._n_recent - self._most_recent : self._n_recent].copy()
            self._recent[: self._most_recent], self._n_recent = kept, self._most_recent
        self._recent[self._n_recent : self._n_recent + len(values)] = values
        self._n_recent += len(values)

    def _close(self) -> None:
        """The open piece is whole, or its stretch has ended."""
        if not self._n_open:
            return
        self._kept += [piece._replace(values=piece.values.copy()) for piece in self._open_piece()]
        self._whole += ChannelMoments.of_frames(self._open[: self._n_open])
        self._n_open, self._number, self._begins = 0, self._number + 1, False
        if len(self._kept) > self._most:
            self._every *= 2
            self._kept = [piece for piece in self._kept if piece.number % self._every == 0]

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly: arrays and plain JSON."""
        none = self._open[:0]
        tensors: dict[str, NDArray[np.generic]] = {
            "kept": np.concatenate([none, *(piece.values for piece in self._kept)]),
            "recent": self.recent().copy(),
            "open": self._open[: self._n_open].copy(),
        }
        tensors |= owned("whole", {"mean": self._whole.mean, "scatter": self._whole.scatter})
        return tensors, {
            "pieces": [[piece.number, piece.begins, len(piece.values)] for piece in self._kept],
            "every": self._every,
            "number": self._number,
            "begins": self._begins,
            "n_whole": self._whole.count,
            "n_windows": self._n_windows,
            "n_stretch": self._n_stretch,
        }

    def load(self, tensors: Tensors, plain: Mapping[str, Any]) -> None:
        """What `state` gave; this one has only begun."""
        n_channels = self._open.shape[1]
        shapes = {"kept": "kept c", "recent": "recent c", "open": "open c", "whole.mean": "c", "whole.scatter": "c"}
        sizes = check_shapes(tensors, shapes, c=n_channels)
        if (
            sizes["kept"] != sum(n for _, _, n in plain["pieces"])
            or max(sizes["open"] - self._piece_frames + 1, sizes["recent"] - self._most_recent) > 0
        ):
            raise ValueError(f"a sample of {sizes['kept']} frames and an open piece of {sizes['open']}")
        at, kept = 0, np.asarray(tensors["kept"], np.float32)
        for number, begins, n in plain["pieces"]:
            self._kept.append(_Piece(number, begins, kept[at : at + n]))
            at += n
        self._n_open = sizes["open"]
        self._remember(np.asarray(tensors["recent"], np.float32))
        self._open[: self._n_open] = tensors["open"]
        whole = {name: np.asarray(array, np.float64) for name, array in owned_by("whole", tensors).items()}
        self._whole = ChannelMoments(plain["n_whole"], whole["mean"], whole["scatter"])
        self._every, self._number, self._begins = plain["every"], plain["number"], plain["begins"]
        self._n_windows, self._n_stretch = plain["n_windows"], plain["n_stretch"]
