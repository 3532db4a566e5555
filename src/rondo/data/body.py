"""BodyFrame: points of a pose -> channels of the body: posture in its own frame, speed and turning.

The frame has its origin in one point; its axis leads to another. Of every other point the channels say how far it lies
along the axis and across it, in body lengths; in 3D also how far above the origin. Wherever the body is in the arena,
however it is turned and how large the picture is, they are the same. The body moves by `body.forward`,
`body.sideways` (body lengths per second) and `body.turning` (radians per second), over the last tenth of a second.

Rows are read one after the other: a channel depends on its row and the few before it, so a stored recording is a stream
with one chunk. The body length alone is of the whole recording; a stream takes that of the model.

In 3D bodies turn about the vertical only: to rear is behaviour. The vertical is the axis along which the body as a
whole moves least.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.arrays import Floats, Tensors, check_shapes
from rondo.data.recording import Recording, Values
from rondo.errors import RecordingError, SettingError
from rondo.wording import counted, near_match

Pose = Literal["centred", "arena", "both"]
FORWARD, SIDEWAYS, TURNING = MOTION = ("body.forward", "body.sideways", "body.turning")
AXES = ("along", "across", "up")
"""Endings of the channels of a point; the origin, which has none, is 0."""

LAG_S = 0.1  # 6 frames at 60 Hz: of 3, 6, 9 and 12 the best agreement with posture and movement on B-SOiD's two clips
_LAG_ROWS = 3  # where the rate is unknown
_BREAK_S, _BREAK_ROWS = 0.5, 2.5  # a longer step in time is a break: nothing moved across it
_FEWEST_KNOWN = 2  # points over which a posture can be laid
_ROWS_COMPARED = 2_000  # of a recording, to choose the axis
_FRONT = ("nose", "snout", "head", "beak", "mouth", "rostrum", "face")
_BACK = ("tail", "butt", "rump", "abdomen", "hip", "caudal")
_SIDED = 0.8  # of the length to a left or right point: the axis is in the middle where a point is nearly as far
_LOOSE = ("tailtip", "tailend", "tailmid", "tailcent", "endtail", "tiptail", "midtail")  # they swing: no axis


class BodyPoint(NamedTuple):
    """A point of a pose, and the columns of its coordinates."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class BodyFrame:
    """The points of a body, and the two that carry its frame."""

    points: tuple[BodyPoint, ...]
    origin: str
    tip: str
    length: float  # from origin to tip, in the unit of the file
    with_place: bool = False  # and the coordinates of the origin
    vertical: int | None = None  # the axis that is up, in 3D
    posture: tuple[tuple[float, ...], ...] = ()  # where each point usually lies in the frame, in body lengths

    @property
    def ends(self) -> tuple[int, int]:
        """The places of origin and tip among the points."""
        names = [point.name for point in self.points]
        return names.index(self.origin), names.index(self.tip)

    def upright(self, values: NDArray[np.floating]) -> Floats:
        """Columns of points as (n_rows, n_points, n_axes), the vertical last."""
        rows = np.asarray(values, np.float64).reshape(len(values), len(self.points), len(self.points[0].columns))
        order = [axis for axis in range(rows.shape[2]) if axis != self.vertical]
        return rows[:, :, [*order, *([] if self.vertical is None else [self.vertical])]]

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that are read."""
        return tuple(column for point in self.points for column in point.columns)

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that they become."""
        kinds = AXES if self.vertical is not None else AXES[:2]
        posture = [
            f"{point.name}.{kind}"
            for point in self.points
            for kind in kinds
            if point.name != self.origin and (point.name, kind) != (self.tip, "across")
        ]
        place = [f"place.{axis}" for axis in "xyz"[: len(self.points[0].columns)]] if self.with_place else []
        return (*posture, *MOTION, *place)

    @property
    def note(self) -> str:
        """One line for people."""
        place = ", and its place" if self.with_place else ""
        return (
            f"{counted(len(self.points), 'point')} as a body: origin {self.origin}, axis to {self.tip}, length "
            f"{self.length:.3g}; channels are posture, speed and turning{place}; --body chooses other points, "
            "--pose arena keeps places"
        )

    def as_json(self) -> dict[str, Any]:
        """Plain values that `from_json` reads back."""
        points = [[point.name, list(point.columns)] for point in self.points]
        return asdict(self) | {"points": points, "posture": [[*map(_or_none, own)] for own in self.posture]}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> BodyFrame:
        """What `as_json` gave; ValueError where it does not fit together."""
        points = tuple(BodyPoint(str(name), tuple(map(str, columns))) for name, columns in stored["points"])
        frame = cls(**{**stored, "points": points})
        nowhere = float("nan")
        posture = tuple(tuple(nowhere if at is None else float(at) for at in own) for own in frame.posture)
        n_axes, names = {len(point.columns) for point in points}, {point.name for point in points}
        fits = {frame.origin, frame.tip} <= names and frame.origin != frame.tip and frame.length > 0
        fits &= (n_axes, frame.vertical) in (({2}, None), ({3}, 0), ({3}, 1), ({3}, 2))
        fits &= not posture or (len(posture) == len(points) and {len(own) for own in posture} == n_axes)
        if not fits:
            raise ValueError("the body does not fit its points")
        return replace(frame, posture=posture)


class BodyRows:
    """Rows of points -> rows of body channels, in chunks of any size; the last few rows are kept for speeds.

    Columns that follow on those of the points follow on those of the body, as they are.
    """

    def __init__(self, frame: BodyFrame, rate: float | None) -> None:
        self.frame, self.rate = frame, rate
        self.lag = _LAG_ROWS if rate is None else max(1, round(LAG_S * rate))
        self._kept = np.zeros((0, 5))  # time, middle of the axis (2), direction of the axis (2)

    def push(self, values: NDArray[np.floating], times_s: Floats | None) -> Values:
        """The body in these rows, whose first columns are the sources of the frame."""
        frame, n_sources = self.frame, len(self.frame.sources)
        points = frame.upright(values[:, :n_sources])
        origin, tip = frame.ends
        start, end = _ends_in(points, frame)
        along = _direction(end - start)
        seen = (points - start[:, None]) / frame.length
        columns = []
        for place in range(len(frame.points)):
            if place == origin:
                continue
            columns.append((seen[:, place, :2] * along).sum(axis=1))
            columns += [] if place == tip else [_cross(along, seen[:, place])]
            columns += [] if frame.vertical is None else [seen[:, place, 2]]
        seen_ends = points[:, frame.ends, :2]  # no speed is taken from a point that was only laid
        middle, axis = seen_ends.mean(axis=1), _direction(seen_ends[:, 1] - seen_ends[:, 0])
        columns += self._motion(middle, axis, times_s)
        place = n_sources // len(frame.points) * origin
        columns += [*values[:, place : place + points.shape[2]].T] if frame.with_place else []
        return np.column_stack([*columns, values[:, n_sources:]]).astype(np.float32)

    def _motion(self, middle: Floats, along: Floats, times_s: Floats | None) -> list[Floats]:
        """Forward, sideways and turning, since the row a tenth of a second ago; fewer rows where a stretch begins."""
        n_kept, clock = len(self._kept), np.full(len(middle), np.nan) if times_s is None else times_s
        rows = np.concatenate([self._kept, np.column_stack([clock, middle, along])])
        place = np.arange(len(rows))
        begins = place == 0
        if times_s is not None and self.rate is not None:
            step = np.diff(rows[:, 0])
            begins[1:] = ~((step > 0) & (step < max(_BREAK_S, _BREAK_ROWS / self.rate)))
        since = np.maximum(place - self.lag, np.maximum.accumulate(np.where(begins, place, 0)))
        now, then = rows[n_kept:], rows[since[n_kept:]]
        elapsed = (place - since)[n_kept:].astype(np.float64)
        if self.rate is not None:
            elapsed = elapsed / self.rate if times_s is None else now[:, 0] - then[:, 0]
        elapsed[since[n_kept:] == place[n_kept:]] = 1.0  # nothing has moved since itself
        moved = (now[:, 1:3] - then[:, 1:3]) / (self.frame.length * elapsed[:, None])
        turned = np.arctan2(_cross(then[:, 3:], now[:, 3:]), (then[:, 3:] * now[:, 3:]).sum(axis=1)) / elapsed
        self._kept = rows[max(since[-1] if len(rows) else 0, len(rows) - self.lag) :]
        return [(moved * now[:, 3:]).sum(axis=1), _cross(now[:, 3:], moved), turned]

    def begin(self) -> None:
        """The rows to come do not follow on those before."""
        self._kept = self._kept[:0]

    def state(self) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any]]:
        """Everything, exactly."""
        return {"kept": self._kept}, {}

    def load(self, tensors: Tensors) -> None:
        """What `state` gave."""
        check_shapes(tensors, {"kept": "rows 5"})
        self._kept = np.asarray(tensors["kept"], np.float64)


def _ends_in(points: Floats, frame: BodyFrame) -> tuple[Floats, Floats]:
    """Origin and tip; where the tracker lost one, where the usual posture has it when laid over the points it sees."""
    ends = points[:, frame.ends, :].copy()
    lost = np.flatnonzero(np.isnan(ends).any(axis=(1, 2)))
    if lost.size and frame.posture:
        usual = np.array(frame.posture) * frame.length
        known = np.asarray(np.isfinite(points[lost] + usual).all(axis=2))
        n = known.sum(axis=1)[:, None]
        with np.errstate(invalid="ignore", divide="ignore"):  # none is known: NaN is the right answer
            middle = np.where(known[..., None], points[lost], 0).sum(axis=1) / n
            usual_middle = np.where(known[..., None], usual, 0).sum(axis=1) / n
        there = np.where(known[..., None], points[lost] - middle[:, None], 0)
        here = np.where(known[..., None], usual - usual_middle[:, None], 0)
        angle = np.arctan2(_cross(here, there).sum(axis=1), (here[..., :2] * there[..., :2]).sum(axis=(1, 2)))
        angle[n[:, 0] < _FEWEST_KNOWN] = np.nan
        cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
        off = usual[list(frame.ends)] - usual_middle[:, None]
        laid = middle[:, None] + off
        laid[..., 0] = middle[:, :1] + cosine * off[..., 0] - sine * off[..., 1]
        laid[..., 1] = middle[:, 1:2] + sine * off[..., 0] + cosine * off[..., 1]
        ends[lost] = np.where(np.isnan(ends[lost]).any(axis=2, keepdims=True), laid, ends[lost])
    return ends[:, 0], ends[:, 1]


def _or_none(number: float) -> float | None:
    return number if np.isfinite(number) else None


def _direction(axis: Floats) -> Floats:
    """Unit vectors in the plane; NaN where both ends are in one place."""
    with np.errstate(invalid="ignore", divide="ignore"):
        along = axis[:, :2] / np.linalg.norm(axis[:, :2], axis=1)[:, None]
    along[~np.isfinite(along).all(axis=1)] = np.nan
    return np.asarray(along)


def _cross(one: Floats, other: Floats) -> Floats:
    return np.asarray(one[..., 0] * other[..., 1] - one[..., 1] * other[..., 0])


def as_body(recording: Recording, frame: BodyFrame) -> Recording:
    """The recording in the channels of the body, and those that are no point; its own length is the body length.

    A point that it lacks is missing throughout; one that carries the frame is refused.
    """
    there = {name: place for place, name in enumerate(recording.channels)}
    lacking = [point.name for point in frame.points if not set(point.columns) <= there.keys()]
    if needed := [name for name in (frame.origin, frame.tip) if name in lacking]:
        raise RecordingError(
            f"recording '{recording.id}' lacks the point '{needed[0]}', and its body reaches from {frame.origin} to "
            f"{frame.tip}; give recordings with both, or fit a model with --body ORIGIN,TIP of points that all have"
        )
    own = {column for point in (*frame.points, *recording.points) for column in point.columns}
    others = [name for name in recording.channels if name not in own]
    rows = np.full((recording.n_frames, len(frame.sources) + len(others)), np.nan)
    for place, column in enumerate((*frame.sources, *others)):
        if column in there:
            rows[:, place] = recording.values[:, there[column]]
    frame = replace(frame, length=_length(recording.id, rows[:, : len(frame.sources)], frame))
    values = BodyRows(frame, recording.rate).push(rows, recording.timestamps_s)
    notes = [f"point '{name}' is not in this recording" for name in lacking]
    return replace(
        recording, values=values, channels=(*frame.channels, *others), points=(), body=frame, missing_codes=()
    ).noted(*notes, frame.note)


def _length(id: str, rows: Floats, frame: BodyFrame) -> float:
    ends = frame.upright(rows)[:, frame.ends, :2]
    lengths = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
    known = lengths[np.isfinite(lengths)]
    found = float(np.median(known)) if known.size else 0.0
    if not found > 0:
        raise RecordingError(
            f"recording '{id}': its points '{frame.origin}' and '{frame.tip}' are never seen apart in one row; choose "
            "others (--body ORIGIN,TIP), or keep places (--pose arena)"
        )
    return found


def chosen_body(recording: Recording, pose: Pose, names: Sequence[str] = ()) -> BodyFrame:
    """The frame of the body in a recording of points; `names`: origin and tip, chosen by the data where there are none.

    Of all pairs, those two lie farthest apart even where they come nearest, and are seen together; points of the left
    or right count less. The tip is the front by its name, or else the end towards which the body moves.
    """
    points = recording.points
    place_of = {name: place for place, name in enumerate(recording.channels)}
    every = max(1, recording.n_frames // _ROWS_COMPARED)
    each = [recording.values[::every, [place_of[name] for name in point.columns]] for point in points]
    rows: Floats = np.stack(each, axis=1).astype(np.float64)
    vertical = _vertical(rows) if rows.shape[2] == 3 else None
    flat = rows[:, :, [axis for axis in range(rows.shape[2]) if axis != vertical]]
    if names:
        origin, tip = (_named(name, points) for name in names)
    else:
        origin, tip = _axis(flat, [point.name for point in points])
    frame = BodyFrame(points, points[origin].name, points[tip].name, 1.0, pose == "both", vertical)
    values: Floats = rows.reshape(len(rows), -1)
    return _with_posture(replace(frame, length=_length(recording.id, values, frame)), values)


def _with_posture(frame: BodyFrame, values: Floats) -> BodyFrame:
    """With the median place of each point in the rows in which origin and tip are seen."""
    points = frame.upright(values)
    start, end = (points[:, place] for place in frame.ends)
    along, seen = _direction(end - start), (points - start[:, None]) / frame.length
    turned = np.stack([(seen[..., :2] * along[:, None]).sum(axis=2), _cross(along[:, None], seen)], axis=2)
    known = np.concatenate([turned, seen[..., 2:]], axis=2)
    posture = []
    for place in range(len(frame.points)):
        own = known[np.isfinite(known[:, place]).all(axis=1), place]
        posture.append(tuple(np.median(own, axis=0).tolist()) if len(own) else (float("nan"),) * known.shape[2])
    return replace(frame, posture=tuple(posture))


def _named(name: str, points: Sequence[BodyPoint]) -> int:
    known = [point.name for point in points]
    if name not in known:
        near = near_match(name, known)
        hint = f"did you mean '{near}'?" if near else f"its points are {', '.join(known[:12])}"
        raise SettingError(f"--body names '{name}', which is no point of the recordings; {hint}")
    return known.index(name)


def _vertical(rows: Floats) -> int:
    """The axis along which the middle of all points moves least."""
    known = rows[np.isfinite(rows).all(axis=(1, 2))].mean(axis=1)
    return int(np.argmin(np.ptp(np.quantile(known, (0.05, 0.95), axis=0), axis=0))) if len(known) else 2


def _axis(flat: Floats, names: Sequence[str]) -> tuple[int, int]:
    """Origin and tip."""
    firm = [place for place, name in enumerate(names) if not any(word in _letters(name) for word in _LOOSE)]
    spans = {pair: _span(flat[:, pair[0]] - flat[:, pair[1]]) for pair in combinations(firm, 2)}
    if not spans:
        spans = dict.fromkeys(combinations(range(len(names)), 2), 0.0)
    spans = {pair: span * _SIDED ** sum(_is_sided(names[place]) for place in pair) for pair, span in spans.items()}
    one, other = max(spans, key=lambda pair: (spans[pair], -pair[0], -pair[1]))
    ahead: float = _ahead(names[other]) - _ahead(names[one])
    if not ahead:
        axis, middle = flat[:, other] - flat[:, one], (flat[:, other] + flat[:, one]) / 2
        ahead = float(np.nansum(np.diff(middle, axis=0) * axis[:-1]))
    return (one, other) if ahead >= 0 else (other, one)


def _span(apart: Floats) -> float:
    """How far apart two points are at least, nine times of ten, and how often both are seen."""
    lengths = np.linalg.norm(apart, axis=1)
    known = lengths[np.isfinite(lengths)]
    return float(np.quantile(known, 0.1)) * known.size / lengths.size if known.size else 0.0


def _is_sided(name: str) -> bool:
    return any(word in _letters(name) for word in ("left", "right"))


def _letters(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalpha())


def _ahead(name: str) -> int:
    words = _letters(name)
    return any(word in words for word in _FRONT) - any(word in words for word in _BACK)


def mean_body(bodies: Sequence[BodyFrame]) -> BodyFrame | None:
    """The frame of several recordings, with their median length; None where they show no bodies."""
    if not bodies:
        return None
    return replace(bodies[0], length=float(np.median([body.length for body in bodies])))
