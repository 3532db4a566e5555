"""FrozenReader: a stream read with the units and motifs of the model, as `label` reads a recording; it learns nothing.

Every window gets the latents, the costs and the penalty of the unit model (`units/model.py`). Its unit is decided
`continual.lag` windows later by the cheapest path then (`units/timeline.py`), where `label` knows all windows to come;
boundaries are found as in a whole recording (`run_frames.py`); motifs are read by the motif model, where units compose
once two more units have begun (`motif_reader.py`). What is new gets the nearest unit, as in `label`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import owned, owned_by
from rondo.config.schema import ContinualConfig
from rondo.continual.motif_reader import Motif, MotifReader
from rondo.continual.reading import Decision, Due, Floats, encoded, straddling_windows
from rondo.continual.run_frames import RunFrames
from rondo.data.windows import Span
from rondo.units.timeline import Viterbi

if TYPE_CHECKING:
    from rondo.motifs.base import Motifs
    from rondo.units.model import UnitModel


class FrozenReader:
    """Windows whose unit, frames or motif are not settled."""

    n_buffered = 0
    own_motifs: Mapping[int, int] = MappingProxyType({})

    def __init__(
        self, units: UnitModel, motifs: Motifs, config: ContinualConfig, grid: tuple[int, int], aligned: bool
    ) -> None:
        """`grid` is length and step of windows in frames; `aligned`: boundaries are found in the signal."""
        self.units = units
        self.length_frames, self.step_frames = grid
        self.viterbi = Viterbi(len(units.vocabulary.ids), units.penalty, config.lag)
        self.frames = RunFrames(units.boundaries if aligned else None, *grid)
        self.motifs = MotifReader(motifs, config, 1.0, straddling_windows(*grid), learns=False)
        self._shown = units.tree.coarsened(np.array(units.vocabulary.ids), units.n_merges).tolist()  # of each column
        self._n_windows = 0
        self._open: deque[Floats] = deque()  # costs of the windows without a unit
        self._decided: deque[Decision] = deque()  # without their frames and motif
        self._spans: deque[Span] = deque()  # of the first of those decided, as in the next line
        self._read: deque[Motif] = deque()

    @property
    def unit_ids(self) -> tuple[int, ...]:
        return self.units.ids

    @property
    def motif_ids(self) -> tuple[int, ...]:
        return self.motifs.ids

    def push(self, window: NDArray[np.float32], start_frame: int) -> Due:
        """One window (n_channels, length); gives the decisions that have become due."""
        self.frames.see(window, start_frame)
        costs = self.units.costs(encoded(self.units.encoder, window))
        self._open.append(costs[0])
        self._decide(self.viterbi.push(costs).tolist())
        return self._due(), []

    def boundary(self, frame: int) -> Due:
        """The stretch ends before this frame: everything open is decided, and nothing is carried over."""
        self._decide(self.viterbi.flush().tolist())
        self._spans.extend(self.frames.end(frame))
        self._read.extend(self.motifs.boundary())
        return self._due(), []

    def _decide(self, columns: Iterable[int]) -> None:
        for column in columns:
            distance = float(self._open.popleft()[column] / self.units.vocabulary.radii[column])
            unit = self._shown[column]
            self._decided.append(Decision(self._n_windows, 0, 0, unit, 0, float(np.exp(-distance)), 0.0))
            self._n_windows += 1
            self._spans.extend(self.frames.push(unit))
            self._read.extend(self.motifs.push(unit))

    def _due(self) -> list[Decision]:
        due: list[Decision] = []
        while self._spans and self._read:
            (start, stop), (motif, score) = self._spans.popleft(), self._read.popleft()
            own = self._decided.popleft()
            due.append(own._replace(start_frame=start, stop_frame=stop, motif=motif, motif_score=score))
        return due

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything that changed since it began, exactly."""
        viterbi, viterbi_plain = self.viterbi.state()
        frames, frames_plain = self.frames.state()
        costs = np.array(self._open, np.float64).reshape(-1, len(self._shown))
        return owned("viterbi", viterbi) | owned("frames", frames) | {"costs": costs}, {
            "viterbi": viterbi_plain,
            "frames": frames_plain,
            "motifs": self.motifs.state(),
            "n_windows": self._n_windows,
            "decided": [list(own) for own in self._decided],
            "spans": [list(span) for span in self._spans],
            "read": [list(motif) for motif in self._read],
        }

    def restored(self, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> FrozenReader:
        """This reader, which has only begun, as it was when it gave that state."""
        self.viterbi = Viterbi.restore(owned_by("viterbi", tensors), plain["viterbi"])
        self.frames.load(owned_by("frames", tensors), plain["frames"])
        self.motifs = self.motifs.restored(plain["motifs"])
        self._open = deque(np.array(tensors["costs"], np.float64))
        self._n_windows = plain["n_windows"]
        self._decided = deque(Decision(*own) for own in plain["decided"])
        self._spans = deque((start, stop) for start, stop in plain["spans"])
        self._read = deque((motif, score) for motif, score in plain["read"])
        return self
