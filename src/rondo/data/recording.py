"""Recording: one stored series as it came, before anything is done to it.

Values may hold NaN where a sensor was silent; time is a sampling rate, or one timestamp per frame, or unknown. There
are no labels inside, on purpose: learners cannot import annotations.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.data.precision import narrowed, unmasked
from rondo.errors import RecordingError
from rondo.wording import MOST_ROWS, at_in_words, card, counted, duration_in_words, pace_in_words

if TYPE_CHECKING:
    from rondo.data.body import BodyFrame, BodyPoint

Values = NDArray[np.float32]

_LEAST_RATE, _HIGHEST_RATE = 1e-12, 1e12  # a row in 30,000 years, a row per picosecond: beyond is a mistake
BLOCK = 1 << 13  # rows per block where a temporary as large as the recording would hurt
_MOST_SHORT_STEPS = 0.01  # of all steps, before a note says that the clock jitters


def checked_values(values: ArrayLike) -> Values:
    """Rows and columns of numbers, read-only; not copied where they are float32 and C-contiguous.

    What is masked in a masked array is missing.
    """
    try:
        array = unmasked(values)
    except ValueError as error:  # numpy's word for ragged nesting
        raise RecordingError("rows of unequal length; expected (n_frames, n_channels)") from error
    if array.dtype.kind not in "fiub":
        raise RecordingError(f"expected numbers, got an array of {array.dtype}; convert it or leave the column out")
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise RecordingError(f"expected 2 dimensions (n_frames, n_channels), got {array.ndim} {array.shape}")
    if array.shape[0] == 0 or array.shape[1] == 0:
        raise RecordingError(f"it is empty, {array.shape[0]} frames x {array.shape[1]} channels")
    checked = narrowed(array)
    if checked is array or np.shares_memory(checked, array):
        checked = checked.view()  # the caller keeps the right to write into an own array; ours is read-only
    checked.flags.writeable = False
    return checked


def checked_names(channels: Sequence[str] | None, n_channels: int) -> tuple[str, ...]:
    """A name for each channel, and no name twice; ch0, ch1, ... where nobody has named them."""
    if channels is not None and not isinstance(channels, Iterable):
        raise RecordingError(f"expected names of channels, got {channels!r}; give one name per column")
    names = tuple(str(name) for name in channels or ())
    if not names:
        return tuple(f"ch{i}" for i in range(n_channels))
    if len(names) != n_channels:
        raise RecordingError(f"{len(names)} channel names for {n_channels} channels; give one name per column")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise RecordingError(f"the channel name '{twice}' stands twice; names must differ")
    return names


def refuse_values_nobody_can_use(values: Values, names: Sequence[str]) -> None:
    """Infinities anywhere, or NaN everywhere."""
    any_number = False
    for start in range(0, values.shape[0], BLOCK):
        part = values[start : start + BLOCK]
        finite = np.isfinite(part)
        any_number |= bool(finite.any())
        if not finite.all() and np.isinf(part).any():
            frame, channel = (int(i) for i in np.argwhere(np.isinf(part))[0])
            raise RecordingError(
                f"infinite (or beyond float32) value in frame {start + frame}, channel '{names[channel]}'; "
                "replace it by NaN if the sensor was silent there"
            )
    if not any_number:
        raise RecordingError(f"all {values.size} values are NaN or missing; expected at least one number")


def checked_times(
    timestamps_s: ArrayLike, n_frames: int, name_of: Callable[[int], str] = "frame {}".format
) -> NDArray[np.float64]:
    """Seconds that increase from frame to frame; `name_of` gives the words for a frame in a refusal."""
    given = np.asarray(timestamps_s)
    if given.dtype.kind == "M":
        silent = np.isnat(given)
        given = np.where(silent, np.nan, given.astype("datetime64[us]").astype(np.int64) / 1e6)
    if given.dtype.kind not in "fiu":
        raise RecordingError(f"timestamps must be seconds or datetime64, got an array of {given.dtype}; convert them")
    times = np.array(given, dtype=np.float64)
    if times.shape != (n_frames,):
        raise RecordingError(f"timestamps of shape {times.shape} for {n_frames} frames; give one per frame")
    if not np.isfinite(times).all():
        row = int(np.flatnonzero(~np.isfinite(times))[0])
        raise RecordingError(f"the timestamp of {name_of(row)} is missing or not finite; fill it in or drop the row")
    steps = np.diff(times)
    if (steps <= 0).any():
        row = int(np.flatnonzero(steps <= 0)[0]) + 1
        kind = "repeats" if steps[row - 1] == 0 else "is earlier than"
        usual, or_else = float(np.median(np.abs(steps))), ""
        if (steps <= 0).sum() == 1 and -steps[row - 1] >= 10 * usual:
            is_an_hour = abs(-steps[row - 1] - 3600.0) < 10 * usual
            of_zone = ", or write the zone (+02:00), if it is the end of summer time"
            or_else = of_zone if is_an_hour else ", or cut the file there, if two recordings stand one after the other"
        raise RecordingError(
            f"timestamps must increase, but {name_of(row)} ({at_in_words(times[row])}) {kind} "
            f"the one before ({at_in_words(times[row - 1])}); sort the rows and drop duplicates{or_else}"
        )
    times.flags.writeable = False
    return times


def checked_rate(rate: float | None) -> float | None:
    """The rate as a positive float, or None."""
    try:
        hertz = None if rate is None else float("nan" if isinstance(rate, bool | np.bool_) else rate)
    except (TypeError, ValueError):
        hertz = float("nan")
    if hertz is not None and not (np.isfinite(hertz) and hertz > 0):
        raise RecordingError(f"the rate must be a positive number of Hz, got {rate!r}; give the frames per second")
    if hertz is not None and not _LEAST_RATE <= hertz <= _HIGHEST_RATE:
        bounds = f"between {_LEAST_RATE:g} and {_HIGHEST_RATE:g} Hz"
        raise RecordingError(f"the rate must lie {bounds}, got {hertz:g}; check the rate, or the unit of the clock")
    return hertz


def usual_steps(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Those of the steps from row to row that tell the rate: near the median one, which stands in where none is.

    The median alone is coarse where a clock counts in milliseconds (30 Hz steps by 33, 33, 34 ms) or from 1970 (float64
    then resolves 0.2 us), the mean alone is spoilt by gaps. Lost rows make no step shorter, so where many are short it
    is the clock that jitters, and long steps make up for them.
    """
    median = np.median(steps)
    jitters = (steps < median / 2).mean() > _MOST_SHORT_STEPS
    usual = steps[steps < median * 10] if jitters else steps[(steps > median / 2) & (steps < median * 1.5)]
    return usual if usual.size else np.array([median])


@dataclass(frozen=True, eq=False)
class Recording:
    """A multivariate series: `values` (n_frames, n_channels), read-only, in float32.

    Parameters
    ----------
    values : array
        One row per frame, one column per channel; NaN where a sensor was silent, as where a numpy array is masked.
        Values that are float32 and C-contiguous are not copied. They stay in float64 where float32 would round a
        channel away, such as a latitude that moves by metres.
    rate : float or None
        Frames per second. None takes the usual step of `timestamps_s`; without either, durations are in frames.
    channels : sequence of str or None
        Names of the channels; None names them ch0, ch1, ...
    id : str
        Name of the recording in results and files.
    timestamps_s : array or None
        One strictly increasing time per frame, in seconds or as datetime64.
    notes : sequence of str
        Sentences that results repeat.
    source : str
        Where it was read from, such as the path of its file.
    missing_codes : sequence of (str, float)
        Channel and number for each code that meant "no value" in the file and is NaN here.
    points : sequence of BodyPoint
        The points of a pose among the channels, where the file says which they are.
    body : BodyFrame or None
        The frame in which the channels show a body; None where they are as in the file.

    Raises
    ------
    RecordingError
        If the values are not numbers, are infinite, or are all NaN, or if names, times or rate do not match them.

    Examples
    --------
    >>> recording = Recording([[0.0, 1.0], [0.5, 1.5]], rate=50, channels=("x", "y"), id="day1")
    >>> recording
    Recording('day1', 2 frames x 2 channels, 50 Hz)
    >>> recording.times_s.tolist()
    [0.0, 0.02]
    """

    values: Values
    rate: float | None = None
    channels: tuple[str, ...] = ()
    id: str = "recording"
    timestamps_s: NDArray[np.float64] | None = None
    notes: tuple[str, ...] = ()
    source: str = ""
    missing_codes: tuple[tuple[str, float], ...] = ()
    points: tuple[BodyPoint, ...] = ()
    body: BodyFrame | None = None

    def __init__(
        self,
        values: ArrayLike,
        rate: float | None = None,
        channels: Sequence[str] | None = None,
        id: str = "recording",
        timestamps_s: ArrayLike | None = None,
        notes: Sequence[str] = (),
        source: str = "",
        missing_codes: Sequence[tuple[str, float]] = (),
        points: Sequence[BodyPoint] = (),
        body: BodyFrame | None = None,
    ) -> None:
        try:
            checked = checked_values(values)
            names = checked_names(channels, checked.shape[1])
            refuse_values_nobody_can_use(checked, names)
            times = None if timestamps_s is None else checked_times(timestamps_s, checked.shape[0])
            hertz = checked_rate(rate)
            if hertz is None and times is not None and times.size > 1:
                # Digits beyond the ninth are noise.
                hertz = checked_rate(float(f"{1.0 / usual_steps(np.diff(times)).mean():.9g}"))
        except RecordingError as error:
            raise RecordingError(f"recording '{id}': {error}") from error
        more = (str(id), times, tuple(notes), str(source), tuple(missing_codes), tuple(points), body)
        for field, value in zip(fields(self), (checked, hertz, names, *more), strict=True):
            object.__setattr__(self, field.name, value)

    @property
    def n_frames(self) -> int:
        """The number of frames (rows)."""
        return int(self.values.shape[0])

    @property
    def n_channels(self) -> int:
        """The number of channels (columns)."""
        return int(self.values.shape[1])

    @property
    def times_s(self) -> NDArray[np.float64] | None:
        """The time of each frame in seconds, from the timestamps or the rate; None if neither is known."""
        if self.timestamps_s is not None:
            return self.timestamps_s
        return None if self.rate is None else np.arange(self.n_frames) / self.rate

    @property
    def is_unnamed(self) -> bool:
        """Whether the channels only have default names (ch0, ch1, ...)."""
        return self.channels == checked_names(None, self.n_channels)

    def renamed(self, id: str) -> Recording:
        """Return the same recording under another id; values are shared, not copied.

        Parameters
        ----------
        id : str
            The new id.

        Returns
        -------
        Recording
            The renamed recording.
        """
        return replace(self, id=id)

    def without(self, places: Sequence[int]) -> Recording:
        """Return the same recording without some channels.

        Parameters
        ----------
        places : sequence of int
            Positions of the channels to leave out.

        Returns
        -------
        Recording
            The recording with the other channels.
        """
        kept = [place for place in range(self.n_channels) if place not in places]
        channels = tuple(self.channels[place] for place in kept)
        return replace(self, values=np.ascontiguousarray(self.values[:, kept]), channels=channels)

    def noted(self, *notes: str) -> Recording:
        """Return the same recording with more notes; values are shared, not copied.

        Parameters
        ----------
        *notes : str
            Sentences to add.

        Returns
        -------
        Recording
            The recording with the notes.
        """
        return replace(self, notes=(*self.notes, *notes))

    def read_from(self, source: str | Path) -> Recording:
        """Return the same recording with another source; values are shared, not copied.

        Parameters
        ----------
        source : path
            The file that it was read from.

        Returns
        -------
        Recording
            The recording with this source.
        """
        return replace(self, source=str(source))

    def with_values(self, values: Values, missing_codes: Sequence[tuple[str, float]] = ()) -> Recording:
        """Return the same recording with other values, in which these codes are now NaN.

        Parameters
        ----------
        values : array
            The new values, of the same shape.
        missing_codes : sequence of (str, float)
            Channel and number for each code that was replaced; they are added to those of the recording.

        Returns
        -------
        Recording
            The recording with the new values.

        Raises
        ------
        RecordingError
            If the values cannot be used.
        """
        return replace(self, values=values, missing_codes=(*self.missing_codes, *missing_codes))

    def __repr__(self) -> str:
        clock = "unknown rate" if self.rate is None else pace_in_words(self.rate, "g")
        return f"Recording('{self.id}', {self.n_frames} frames x {counted(self.n_channels, 'channel')}, {clock})"

    def _repr_html_(self) -> str:
        times = self.times_s
        facts: dict[str, object] = {
            "frames": f"{self.n_frames:,}",
            "rate": "unknown" if self.rate is None else pace_in_words(self.rate, "g"),
        }
        if times is not None:
            facts["from first to last frame"] = duration_in_words(float(times[-1] - times[0]))
        if self.notes:
            facts["notes"] = "; ".join(self.notes)
        shown = self.values[:, :MOST_ROWS]
        with warnings.catch_warnings():  # of channels without a single number
            warnings.simplefilter("ignore", RuntimeWarning)
            measures = [np.asarray(of(shown, axis=0), np.float64) for of in (np.nanmin, np.nanmean, np.nanmax)]
        missing = np.isnan(shown).mean(axis=0)
        rows: list[tuple[object, ...]] = [
            (name, *(f"{measure[i]:.4g}" for measure in measures), f"{missing[i]:.1%}")
            for i, name in enumerate(self.channels[:MOST_ROWS])
        ]
        rows += [(name, "", "", "", "") for name in self.channels[MOST_ROWS:]]  # only counted
        return card(f"Recording {self.id}", facts, ("channel", "least", "mean", "most", "missing"), rows)
