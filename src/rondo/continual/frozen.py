"""FrozenReader: a stream read with the units and motifs of the model, as `label` reads a recording; it learns nothing.

Every window gets the latents, the costs and the penalty of the unit model (`units/model.py`). Its unit is decided
`continual.lag` windows later by the cheapest path then (`units/viterbi.py`), where `label` knows all windows to come;
boundaries are found as in a whole recording (`frames.py`); motifs are read by the motif model, where units compose
once two more units have begun (`phrases.py`). Windows too far from their unit are OTHER, as in `label`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, owned_by
from rondo.config.settings import ContinualConfig
from rondo.continual.contexts import reader_of
from rondo.continual.frames import RunFrames
from rondo.continual.phrases import Motif
from rondo.continual.reading import DEFAULT_RULE, Decision, Due, Setting, State, encoded, joined_states
from rondo.data.labels import OTHER
from rondo.data.windows import Span, StreamWindow
from rondo.errors import ModelError
from rondo.units.viterbi import Viterbi, is_foreign

if TYPE_CHECKING:
    from rondo.data.windows import Windows
    from rondo.motifs.base import Motifs
    from rondo.units.model import UnitModel
    from rondo.units.places import Place


class FrozenReader:
    """Windows whose unit, frames or motif are not settled."""

    rule = DEFAULT_RULE
    learns = True  # from no window, whatever it is set to
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
        self.motifs = reader_of(motifs, config, 1.0, grid, learns=False)
        self._shown = units.tree.coarsened(np.array(units.vocabulary.ids), units.n_merges).tolist()  # of each column
        self._n_windows = 0
        self._open: deque[Floats] = deque()  # costs of the windows without a unit
        self._strange: deque[float] = deque()  # their distances to the nearest exemplar
        self._decided: deque[Decision] = deque()  # without their frames and motif
        self._spans: deque[Span] = deque()  # of the first of those decided, as in the next line
        self._read: deque[Motif] = deque()
        self._place: Place | None = None
        self._lag, self._last_start = config.lag, 0  # the frame at which the last window begins
        self._last_column: int | None = None  # of the last window of the stretch that has a unit

    @property
    def unit_ids(self) -> tuple[int, ...]:
        return self.units.ids

    @property
    def motif_ids(self) -> tuple[int, ...]:
        return self.motifs.ids

    def push(self, window: NDArray[np.float32], start_frame: int) -> Due:
        self.frames.see(window, start_frame)
        self._last_start = start_frame
        representation = self.units.at_home(encoded(self.units.encoder, window), self._place)
        costs = self.units.costs(representation, self._place)
        self._open.append(costs[0])
        self._strange.append(float(self.units.exemplars.strangeness(representation)[0]))
        self._decide(self.viterbi.push(costs).tolist())
        return self._due(), []

    def push_all(self, windows: Sequence[StreamWindow]) -> Iterable[Due]:
        return (self.push(*window) for window in windows)

    @property
    def reach_frames(self) -> int:
        return self.frames.reach_frames + (self._lag + 1) * self.step_frames + self.length_frames

    def settle(self, setting: Setting) -> None:
        self._place, recent = setting.place, setting.recent
        self.frames.settle(setting.boundaries or self.units.boundaries, recent)
        if recent is None or not self._open:
            return
        n = min(len(self._open), recent.n_windows(self._last_start, self.step_frames))
        starts = [self._last_start - i * self.step_frames for i in reversed(range(n))]
        read = self.units.encoder.encode(recent.windows(starts, self.length_frames))
        representations = self.units.at_home(read, self._place)
        strange = self.units.exemplars.strangeness(representations).tolist()
        n_before = len(self._open) - n
        self._open = deque([*islice(self._open, n_before), *self.units.costs(representations, self._place)])
        self._strange = deque([*islice(self._strange, n_before), *strange])
        self.viterbi.begin_again(self._last_column)
        self.viterbi.push(np.stack(self._open))

    def boundary(self, frame: int) -> Due:
        self._decide(self.viterbi.flush().tolist())
        self._last_column = None
        self._spans.extend(self.frames.end(frame))
        self._read.extend(self.motifs.boundary())
        return self._due(), []

    def _decide(self, columns: Iterable[int]) -> None:
        for column in columns:
            distance = float(self._open.popleft()[column] / self.units.vocabulary.radii[column])
            unit, self._last_column = self._shown[column], column
            foreign = is_foreign(np.array([distance]), np.array([self._strange.popleft()]))[0]
            label, score = (OTHER, 0.0) if foreign else (unit, float(np.exp(-distance)))
            self._decided.append(Decision(self._n_windows, 0, 0, label, 0, score, 0.0))
            self._n_windows += 1
            self._spans.extend(self.frames.push(unit))
            self._read.extend(self.motifs.push(unit))

    def _due(self) -> list[Decision]:
        due: list[Decision] = []
        while self._spans and self._read:
            (start, stop), (motif, score) = self._spans.popleft(), self._read.popleft()
            own = self._decided.popleft()
            if own.unit == OTHER:
                motif, score = OTHER, 0.0
            due.append(own._replace(start_frame=start, stop_frame=stop, motif=motif, motif_score=score))
        return due

    def timelines(self, windows: Windows) -> NoReturn:
        """A model reads a recording itself."""
        raise ModelError("a frozen stream learns nothing, so there is nothing to read with; use the model itself")

    def state(self) -> State:
        tensors, plain = joined_states({"viterbi": self.viterbi, "frames": self.frames, "motifs": self.motifs})
        costs = np.array(self._open, np.float64).reshape(-1, len(self._shown))
        return tensors | {"costs": costs}, plain | {
            "strange": list(self._strange),
            "n_windows": self._n_windows,
            "last": [self._last_start, self._last_column],
            "decided": [list(own) for own in self._decided],
            "spans": [list(span) for span in self._spans],
            "read": [list(motif) for motif in self._read],
        }

    def restored(self, tensors: Mapping[str, NDArray[np.generic]], plain: Mapping[str, Any]) -> FrozenReader:
        self.viterbi = Viterbi.restore(owned_by("viterbi", tensors), plain["viterbi"])
        self.frames.load(owned_by("frames", tensors), plain["frames"])
        self.motifs = self.motifs.restored(owned_by("motifs", tensors), plain["motifs"])
        self._open = deque(np.array(tensors["costs"], np.float64))
        self._strange = deque(plain["strange"])
        self._n_windows = plain["n_windows"]
        self._last_start, self._last_column = plain.get("last", (0, None))  # 0.2.0 had none, and no need of it
        self._decided = deque(Decision(*own) for own in plain["decided"])
        self._spans = deque((start, stop) for start, stop in plain["spans"])
        self._read = deque((motif, score) for motif, score in plain["read"])
        return self
