"""Track: named spans on one axis of time; how one is chosen from a file and laid on the frames of a recording."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rondo.data.grid import FrameClock
from rondo.errors import AnnotationError, RondoWarning
from rondo.wording import quoted

Axis = Literal["frames", "seconds", "clock"]
"""Frame numbers; seconds since the first frame; or readings of the recording's own clock."""

NO_CLASS = "(none)"
"""The class of frames that no annotation covers."""


@dataclass(frozen=True)
class NamedSpan:
    """One annotation: [start, stop) on the axis of its track."""

    start: float
    stop: float
    name: str


@dataclass(frozen=True)
class Track:
    """Spans that may not overlap. `recording` is "" where the file does not say what was annotated.

    `stop_is_inside`: the last moment of a span still belongs to it, as where spans are drawn from sample to sample.
    `only_by_name`: it comments on another track of its file, and is chosen only where it is asked for.
    """

    spans: tuple[NamedSpan, ...]
    name: str = ""
    recording: str = ""
    axis: Axis = "seconds"
    stop_is_inside: bool = False
    only_by_name: bool = False


def choose_track(
    tracks: Sequence[Track], key: str | None, recording: str, path: Path, *, is_only: bool = True
) -> Track:
    """The track called `key`, of `recording` where the file tells recordings apart; the only one needs no name.

    `is_only`: no other recording is looked for in this file, so what it holds can be about this one alone.
    """
    candidates = [track for track in tracks if track.recording == recording or (is_only and not track.recording)]
    if not candidates and is_only and len({track.recording for track in tracks}) == 1:
        candidates = list(tracks)  # one recording under another name: there is no choice
    if not candidates:
        known = quoted(sorted({track.recording or "(no name)" for track in tracks}))
        raise AnnotationError(f"'{path}': nothing there about recording '{recording}', only about {known}; rename one")
    named = [track for track in candidates if (not track.only_by_name if key is None else track.name == key)]
    if len(named) == 1:
        return named[0]
    names = quoted([track.name or "(no name)" for track in candidates])
    if not named and key is not None:
        raise AnnotationError(f"'{path}': no track '{key}', it has {names}; name one with --key")
    raise AnnotationError(f"'{path}': which of its tracks is the truth? It has {names}; name one with --key")


def on_frames(track: Track, n_frames: int, clock: FrameClock | None, path: Path) -> NDArray[np.str_]:
    """The class name of each frame, NO_CLASS where there is no annotation.

    Spans drawn by hand may meet in one frame: there the later one holds. Spans that overlap by more are refused,
    since a frame has one class.
    """
    starts, stops = frame_spans(track, clock, path)
    names = np.array([span.name for span in track.spans], dtype=np.str_)
    order = np.argsort(starts, kind="stable")
    starts, stops, names = starts[order], stops[order], names[order]
    reach = np.maximum.accumulate(stops)[:-1]
    deep = np.flatnonzero((reach > starts[1:] + 1) & (names[1:] != names[:-1]))
    if deep.size:
        later = int(deep[0]) + 1
        raise AnnotationError(
            f"'{path}': '{names[later]}' begins at frame {starts[later]}, inside '{names[later - 1]}'; "
            "a frame has one class, so put them on two tracks and name one with --key"
        )
    if (starts >= n_frames).all() or (stops <= 0).all():
        raise AnnotationError(
            f"'{path}': no annotation lies within the {n_frames} frames of the recording, the first begins at frame "
            f"{starts[0]}; check the rate"
        )
    if stops.max() > n_frames + 1 or starts.min() < -1:
        said = f"annotations run from frame {starts.min()} to {stops.max()}, the recording has {n_frames}; cut there"
        warnings.warn(f"{path}: {said}", RondoWarning, stacklevel=3)
    classes = np.full(n_frames, NO_CLASS, dtype=np.result_type(names.dtype, np.array(NO_CLASS).dtype))
    for start, stop, name in zip(starts.clip(0), stops.clip(0), names, strict=True):
        classes[start:stop] = name
    return classes


def left_out(n_points: int, what: str, path: Path) -> None:
    """Say that moments without duration were skipped: they are no class of any frame."""
    if n_points:
        warnings.warn(f"{path}: {n_points} {what} left out, they have no duration", RondoWarning, stacklevel=3)


def frame_spans(track: Track, clock: FrameClock | None, path: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts = np.array([span.start for span in track.spans], dtype=np.float64)
    stops = np.array([span.stop for span in track.spans], dtype=np.float64)
    if not (np.isfinite(starts).all() and np.isfinite(stops).all()):
        raise AnnotationError(f"'{path}': a time is not finite; correct it")
    backwards = np.flatnonzero(stops < starts)
    if backwards.size:
        span = track.spans[int(backwards[0])]
        raise AnnotationError(f"'{path}': '{span.name}' ends at {span.stop:g}, before it begins at {span.start:g}")
    if track.axis == "frames":
        first, past = np.rint(starts).astype(np.int64), np.rint(stops).astype(np.int64)
    elif clock is None:
        raise AnnotationError(
            f"'{path}': its times are seconds, but the rate of the recording is not known; give --rate HZ, "
            "or labels inside a run folder that knows it"
        )
    else:
        origin = clock.start_s if track.axis == "seconds" else 0.0
        first, past = clock.frames_at(starts + origin), clock.frames_at(stops + origin)
    return first, past + int(track.stop_is_inside)
