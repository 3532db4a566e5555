"""Recording -> Signal: rows as they came become frames on a regular grid, by the rules of `rondo.data.preparation`.

A Signal is finite everywhere; what could not be repaired is left out of its `spans`, the contiguous stretches that
windows may use. Frames of which a third or more was predicted are `poor`: labelled, but not learned from. Every repair
adds a note that commands print and reports show, and `to_rows` brings labels back to the rows of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.arrays import Flags, Ints
from rondo.config.settings import PreprocessConfig
from rondo.data.gaps import LOST
from rondo.data.grid import Frames
from rondo.data.labels import runs_of
from rondo.data.preparation import Preparation, RowPlan
from rondo.data.recording import BLOCK, Recording, Values
from rondo.data.windows import Span
from rondo.errors import RecordingError, SettingError
from rondo.wording import counted, duration_in_words, noun, pace_in_words

FEWEST_FRAMES = 16  # of a period where nothing moves
MANY_CHANNELS = 50  # fewer may well exceed the frames of a short example
_MOST_FRAMES = 1 << 18  # of a spectrum, from the beginning of a span: more would say the same


@dataclass(frozen=True, eq=False)
class Signal:
    """Finite values (n_frames, n_channels) on a regular grid, and the spans that windows may use."""

    id: str
    values: Values
    rate: float | None
    channels: tuple[str, ...]
    spans: tuple[Span, ...]
    n_rows: int
    frame_of_row: NDArray[np.int64] | None = None  # None: row i of the file is frame i
    notes: tuple[str, ...] = ()
    silent: tuple[int, ...] = ()  # channels without any value; 0 until what is known of them elsewhere fills them
    n_filled: tuple[int, ...] = ()  # rows in which each channel was predicted; empty: none was
    poor: tuple[Span, ...] = ()  # frames of which too much was predicted to learn from them
    offsets: tuple[float, ...] = ()  # subtracted from the values of each channel; empty: none was

    @property
    def n_frames(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_dims(self) -> int:
        """Channels of a window."""
        return int(self.values.shape[1])

    @property
    def longest_span(self) -> int:
        """Frames of the longest span."""
        return max(stop - start for start, stop in self.spans)

    @property
    def longest_stretch(self) -> Values:
        """The values of the first of the longest spans."""
        start, stop = max(self.spans, key=lambda span: span[1] - span[0])
        return self.values[start:stop]

    @cached_property
    def period_frames(self) -> float:
        """The typical period in its longest span: the power-weighted geometric mean over the spectrum."""
        stretch = self.longest_stretch
        if len(stretch) < 8:
            return float(len(stretch))
        frequency, weight = spectrum(stretch, 1024)
        if weight.sum() <= 0:
            return float(FEWEST_FRAMES)
        return float(np.exp(-(weight * np.log(frequency)).sum() / weight.sum()))

    def to_rows(self, per_frame: ArrayLike) -> NDArray[np.generic]:
        """Bring one number per frame back to one per row of the file: that of the frame nearest in time."""
        track = np.asarray(per_frame)
        if track.shape[:1] != (self.n_frames,):
            raise ValueError(f"expected one number for each of {self.n_frames} frames, got {track.shape}")
        return track if self.frame_of_row is None else track[self.frame_of_row]

    @property
    def row_breaks(self) -> NDArray[np.int64]:
        """Rows at which a new contiguous span begins."""
        starts = np.array([start for start, _ in self.spans], dtype=np.int64)
        if self.frame_of_row is not None:
            starts = np.searchsorted(self.frame_of_row, starts).astype(np.int64)
        return starts[(starts > 0) & (starts < self.n_rows)]


def spectrum(values: Values, most_frames: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Frequencies (cycles per frame, without 0) and the power there, over all channels of one unbroken stretch."""
    seen = values[:_MOST_FRAMES]
    length = min(most_frames, len(seen) // 2)
    power = _welch(seen, length)
    return np.arange(1, power.size) / length, power[1:]


def _welch(values: Values, length: int) -> NDArray[np.float64]:
    """The mean periodogram of pieces that overlap by half, under a Hann window, added over channels.

    As scipy.signal.welch, whose import takes longer than most fits.
    """
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(length) / length)
    power = np.zeros(length // 2 + 1)
    starts = range(0, len(values) - length + 1, length - length // 2)
    for start in starts:
        piece = np.ascontiguousarray(values[start : start + length].T, dtype=np.float64)
        piece -= piece.mean(axis=1, keepdims=True)
        transformed = np.fft.rfft(piece * hann)
        power += (np.square(transformed.real) + np.square(transformed.imag)).sum(axis=0)
    power *= 1 / (np.square(hann).sum() * len(starts))
    power[1 : -1 if length % 2 == 0 else None] *= 2
    return power


def regularise(
    recording: Recording, channels: Sequence[str], config: PreprocessConfig, plan: RowPlan | None = None
) -> Signal:
    """Choose channels, repair gaps or turn them into boundaries, and lay values on a regular grid."""
    plan = plan_of(recording, channels, config) if plan is None else plan
    frames, missing = Preparation.whole(plan, select(recording, channels), recording.timestamps_s)
    stretches = runs_of(2 * np.cumsum(frames.begins) + (0 if frames.lost is None else frames.lost))
    spans = _spans(stretches.starts, stretches.stops, stretches.ids % 2 == 0)
    if not spans:
        absent = np.isnan(select(recording, channels)).mean(axis=0)
        worst = int(absent.argmax())
        raise RecordingError(
            f"recording '{recording.id}': no frame has all {len(channels)} channels (channel '{channels[worst]}' is "
            f"missing in {absent[worst]:.0%} of rows); leave it out (preprocess.channels) or raise preprocess.max_gap"
        )
    is_poor, frame_of_row = _is_poor(frames), frames.frame_of_row
    poor = runs_of(is_poor)
    firsts, pasts = poor.starts, poor.stops
    if frame_of_row is not None:
        firsts, pasts = frame_of_row[firsts], frame_of_row[pasts - 1] + 1
    _, n_lost, n_filled = missing
    has_none = (n_filled > 0) & (n_filled + n_lost == recording.n_frames)
    return Signal(
        recording.id,
        frames.values,
        recording.rate,
        tuple(channels),
        spans,
        recording.n_frames,
        frame_of_row,
        (*recording.notes, *_notes(frames, plan, channels, missing, int(is_poor.sum()))),
        silent=tuple(np.flatnonzero(has_none).tolist()),
        n_filled=tuple(n_filled.tolist()) if n_filled.any() else (),
        poor=_spans(firsts, pasts, poor.ids == 1),
        offsets=plan.offsets,
    )


def _spans(starts: Ints, stops: Ints, kept: Flags) -> tuple[Span, ...]:
    return tuple(zip(starts[kept].tolist(), stops[kept].tolist(), strict=True))


def plan_of(recording: Recording, channels: Sequence[str], config: PreprocessConfig) -> RowPlan:
    """What the whole recording tells about its rows; one that cannot be repaired is refused."""
    values = select(recording, channels)
    n_missing = np.zeros(values.shape[1], dtype=np.int64)
    for start in range(0, values.shape[0], BLOCK):
        absent = np.isnan(values[start : start + BLOCK])
        if absent.any():
            n_missing += absent.sum(axis=0)
    silent = [channels[c] for c in np.flatnonzero(n_missing == recording.n_frames).tolist()]
    if silent and not (config.dropouts == "fill" and len(silent) < len(channels)):
        raise RecordingError(
            f"recording '{recording.id}': no values at all in {noun(len(silent), 'channel')} {shortened(silent)}; "
            f"leave {noun(len(silent), 'it', 'them')} out (preprocess.channels)"
        )
    return RowPlan.of(recording, values, n_missing > 0, config)


def select(recording: Recording, channels: Sequence[str]) -> Values:
    """The values of these channels in this order; not a copy where they are all of them."""
    if tuple(channels) == recording.channels:
        return recording.values
    refuse_lacking(recording, channels)
    return np.take(recording.values, [recording.channels.index(name) for name in channels], axis=1)


def refuse_lacking(recording: Recording, channels: Sequence[str]) -> None:
    """A recording must have the channels that were asked for."""
    lacking = [name for name in channels if name not in recording.channels]
    if lacking:
        raise RecordingError(
            f"recording '{recording.id}' lacks the {noun(len(lacking), 'channel')} {shortened(lacking)}; "
            f"expected {shortened(channels)}, it has {shortened(recording.channels)}; "
            "leave this recording out, or give its columns the same names"
        )


def shortened(names: Sequence[str], most: int = 6) -> str:
    """Names for a message that must stay one line: 'x', 'y' and 1 more."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def _is_poor(frames: Frames) -> Flags:
    """Of each row, whether a third or more was predicted of the channels that the recording has at all.

    On the recordings of `rondo.data.scaling`, with 10 to 30 % of the rows holed, not learning from holed rows changed
    the ARI by +8 where half of the channels or more were silent, by +3 from a third on, by 0 below.
    """
    rows = frames.rows
    if rows.filled is None or rows.flaws is None:
        return np.zeros(rows.clock.size, np.bool_)
    filled = rows.filled[:, ~(rows.filled | (rows.flaws == LOST)[:, None]).all(axis=0)]
    return np.asarray(3 * filled.sum(axis=1) >= filled.shape[1])


def _notes(frames: Frames, plan: RowPlan, channels: Sequence[str], missing: Ints, n_poor: int) -> Iterator[str]:
    """On jumps in time, on missing values, and on rows that were interpolated onto the grid."""
    rows, (n_bridged, n_lost, n_filled) = frames.rows, missing
    max_gap, n_jumps = counted(plan.max_gap, "frame"), int(rows.begins.sum()) - 1
    if plan.rate is not None and n_jumps:
        longest = duration_in_words(np.diff(rows.clock).max() / plan.rate)
        across = noun(n_jumps, "it", "them")
        yield f"{counted(n_jumps, 'jump')} in time (longest {longest}): no window reaches across {across}"
    for name, every in zip(channels, plan.spacing, strict=True):
        if every:
            yield f"channel '{name}' has a value only every {every} rows: interpolated between them"
    bridged = [c for c, every in enumerate(plan.spacing) if n_bridged[c] and not every]
    if bridged:
        values = counted(int(n_bridged[bridged].sum()), "missing value")
        yield f"{values} interpolated (runs up to {max_gap}) in {shortened([channels[c] for c in bridged])}"
    if n_filled.any():
        yield _filled_note(plan, channels, n_filled, rows.clock.size)
    if n_poor:
        lacking = f"{counted(n_poor, 'row')} {noun(n_poor, 'lacks', 'lack')}"
        yield f"{lacking} a third of the channels or more: labelled, never learned from"
    if n_lost.any() and rows.flaws is not None:
        n_rows = int((rows.flaws == LOST).sum())
        gone = shortened([channels[c] for c in np.flatnonzero(n_lost).tolist()])
        in_gaps = f"{counted(n_rows, 'row')} {noun(n_rows, 'lies', 'lie')} in gaps longer than {max_gap}"
        yield f"{in_gaps} (in {gone}): labelled OTHER"
    if plan.rate is not None and frames.anchors:
        steps_s = np.diff(rows.clock)[~rows.begins[1:]] / plan.rate
        yield (
            f"rows come unevenly, every {duration_in_words(steps_s.min())} to {duration_in_words(steps_s.max())}: "
            f"{rows.clock.size} rows interpolated onto {frames.clock.size} frames, {pace_in_words(plan.rate)}"
        )


def _filled_note(plan: RowPlan, channels: Sequence[str], n_filled: Ints, n_rows: int) -> str:
    """Which channels, and how long each was silent, the longest first."""

    def length(n: int) -> str:
        if n == n_rows:
            return "throughout"
        return counted(n, "row") if plan.rate is None else f"for {duration_in_words(n / plan.rate)}"

    longest = [c for c in np.argsort(-n_filled, kind="stable").tolist() if n_filled[c]]
    shown = ", ".join(f"{channels[c]!r} {length(int(n_filled[c]))}" for c in longest[:6])
    more = f" and {len(longest) - 6} more" if len(longest) > 6 else ""
    return f"no values in {shown}{more}: predicted from the other channels (preprocess.dropouts)"


def chosen_channels(recording: Recording, config: PreprocessConfig) -> tuple[str, ...]:
    """The channels that the settings name, or all that the first recording has."""
    for name in config.channels:
        if name not in recording.channels:
            raise SettingError(
                f"preprocess.channels names '{name}', which recording '{recording.id}' does not have; "
                f"it has {shortened(recording.channels)}"
            )
        if config.channels.count(name) > 1:
            raise SettingError(f"preprocess.channels names '{name}' twice; name each channel once")
    return config.channels or recording.channels


def fitting(recording: Recording, channels: tuple[str, ...], config: PreprocessConfig) -> Recording:
    """The recording if it has these channels, with a note on those left out.

    Channels go by name. Columns without names go by position, and there must be as many as expected: which of them
    is too many, nobody knows. Where preprocess.channels names columns, they are chosen by name.
    """
    if recording.is_unnamed and not config.channels and set(recording.channels) != set(channels):
        if set(recording.channels) < set(channels):
            refuse_lacking(recording, channels)
        if recording.n_channels != len(channels):
            raise RecordingError(
                f"recording '{recording.id}' has {recording.n_channels} channels without names, expected "
                f"{len(channels)}: {shortened(channels)}; give the same channels, name them, or leave "
                "a column out of every file (--label-column)"
            )
        return _noted(recording, channels, f"channels without names taken by position as {shortened(channels)}")
    refuse_lacking(recording, channels)
    extra = [name for name in recording.channels if name not in channels]
    if not extra or config.channels:
        return recording
    note = f"{counted(len(extra), 'channel')} left out that the model does not know: {shortened(extra)}"
    return _noted(recording, recording.channels, note)


def refuse_shape(longest: Recording, channels: Sequence[str]) -> None:
    """Asked of the longest: one frame holds nothing, and (channels, frames) would be computed on for ever."""
    if longest.n_frames == 1:
        raise RecordingError(f"recording '{longest.id}' has a single frame, in which nothing can recur; record longer")
    if len(channels) > max(MANY_CHANNELS, longest.n_frames):
        raise RecordingError(
            f"recording '{longest.id}' has {longest.n_frames} frames x {len(channels)} channels; rows are frames and "
            "columns are channels: transpose it, or choose channels (preprocess.channels)"
        )


def _noted(recording: Recording, channels: Sequence[str], note: str) -> Recording:
    name_of = dict(zip(recording.channels, channels, strict=True))
    codes = tuple((name_of[name], code) for name, code in recording.missing_codes if name in name_of)
    return replace(recording.noted(note), channels=tuple(channels), missing_codes=codes)
