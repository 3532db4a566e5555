"""Recording: one stored series as it came, before anything is done to it.

Values may hold NaN where a sensor was silent; time is a sampling rate, or one timestamp per frame, or
unknown. There are no labels inside, on purpose: annotations live in `rondo.formats.annotations`, which learners
cannot import. What is *done* to a recording (gaps, scaling, windows) is done by `rondo.data.preprocess`, and
said there.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.data.recording_checks import (
    checked_names,
    checked_times,
    checked_values,
    names_by_position,
    rate_of,
    refuse_values_nobody_can_use,
)
from rondo.data.recording_checks import checked_rate as checked_rate
from rondo.errors import RecordingError
from rondo.html_card import MOST_ROWS, card
from rondo.store.urls import as_location
from rondo.times import duration_in_words
from rondo.wording import counted

Values = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Recording:
    """A multivariate series: `values` (n_frames, n_channels) in float32, read-only.

    Parameters
    ----------
    values : array
        One row per frame, one column per channel; NaN where a sensor was silent. Values that are float32 and
        C-contiguous are not copied.
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
    ) -> None:
        try:
            checked = checked_values(values)
            names = checked_names(channels, checked.shape[1])
            refuse_values_nobody_can_use(checked, names)
            times = None if timestamps_s is None else checked_times(timestamps_s, checked.shape[0])
            hertz = checked_rate(rate)
            if hertz is None and times is not None and times.size > 1:
                hertz = checked_rate(rate_of(times))
        except RecordingError as error:
            raise RecordingError(f"recording '{id}': {error}") from error
        store = object.__setattr__
        store(self, "values", checked)
        store(self, "rate", hertz)
        store(self, "channels", names)
        store(self, "id", str(id))
        store(self, "timestamps_s", times)
        store(self, "notes", tuple(notes))
        store(self, "source", str(source))
        store(self, "missing_codes", tuple(missing_codes))

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
        return self.channels == names_by_position(self.n_channels)

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

        Examples
        --------
        >>> Recording([0.0, 1.0], rate=1).renamed("day2").id
        'day2'
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

        Examples
        --------
        >>> Recording([[0.0, 1.0]], channels=("x", "y")).without([0]).channels
        ('y',)
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

        Examples
        --------
        >>> Recording([0.0, 1.0]).noted("worn on the left wrist").notes
        ('worn on the left wrist',)
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

        Examples
        --------
        >>> Recording([0.0, 1.0]).read_from("day1.csv").source
        'day1.csv'
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

    def resampled(self, rate: float) -> Recording:
        """Return the same recording at another rate, filtered against aliasing; see `rondo.data.resample`.

        Parameters
        ----------
        rate : float
            Frames per second.

        Returns
        -------
        Recording
            The resampled recording.

        Raises
        ------
        RecordingError
            If the recording has no rate, or the new rate cannot be used.

        Examples
        --------
        >>> wave = Recording(np.sin(np.arange(400) / 20), rate=100)
        >>> wave.resampled(25)
        Recording('recording', 100 frames x 1 channel, 25 Hz)
        """
        from rondo.data.resample import resample_recording

        return resample_recording(self, rate)

    def __repr__(self) -> str:
        clock = "unknown rate" if self.rate is None else f"{self.rate:g} Hz"
        return f"Recording('{self.id}', {self.n_frames} frames x {counted(self.n_channels, 'channel')}, {clock})"

    def _repr_html_(self) -> str:
        times = self.times_s
        facts: dict[str, object] = {
            "frames": f"{self.n_frames:,}",
            "rate": "unknown" if self.rate is None else f"{self.rate:g} Hz",
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

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        rate: float | None = None,
        key: str | None = None,
        label_columns: Sequence[str] = (),
        keep_columns: Sequence[str] = (),
    ) -> Recording:
        """Read a file of any format that Rondo reads: `rondo.formats.files.suffixes()` lists the suffixes.

        Parameters
        ----------
        path : path or URL
            The file.
        rate : float or None
            Frames per second, for a file without a clock.
        key : str or None
            The array, stream or sheet, in a file that holds several.
        label_columns : sequence of str
            Columns that are not channels.
        keep_columns : sequence of str
            Columns that are channels, although their names or values look like labels, ids or counters.

        Returns
        -------
        Recording
            The recording; its id is the name of the file without the suffix.

        Raises
        ------
        RecordingError
            If the file cannot be read; the message names it.
        """
        from rondo.formats.files import read_recording
        from rondo.formats.kept_columns import with_kept

        found = read_recording(path, rate=rate, key=key, label_columns=with_kept(label_columns, keep_columns))
        return found.read_from(as_location(path))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        rate: float | None = None,
        id: str = "recording",
        label_columns: Sequence[str] = (),
        keep_columns: Sequence[str] = (),
    ) -> Recording:
        """Take a pandas, polars or pyarrow table: one row per frame, one column per channel, and optionally a clock.

        Parameters
        ----------
        frame : table
            The table.
        rate : float or None
            Frames per second, for a table without a clock.
        id : str
            Name of the recording.
        label_columns : sequence of str
            Columns that are not channels.
        keep_columns : sequence of str
            Columns that are channels, although their names or values look like labels, ids or counters.

        Returns
        -------
        Recording
            The recording.

        Raises
        ------
        RecordingError
            If the table has no channel, or a column cannot be used.

        Examples
        --------
        >>> import polars as pl
        >>> Recording.from_frame(pl.DataFrame({"x": [0.5, 0.25, 1.0], "y": [1.5, 1.0, 0.5]}), rate=50)
        Recording('recording', 3 frames x 2 channels, 50 Hz)
        """
        from rondo.formats.files import from_frame
        from rondo.formats.kept_columns import with_kept

        return from_frame(frame, rate=rate, id=id, label_columns=with_kept(label_columns, keep_columns))
