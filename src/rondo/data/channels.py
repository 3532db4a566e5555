"""Which channels a data set has, and whether a recording has them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rondo.config.schema import PreprocessConfig
from rondo.data.recording import Recording
from rondo.data.signal import refuse_lacking, shortened
from rondo.errors import RecordingError, SettingError
from rondo.wording import counted

MANY_CHANNELS = 50  # fewer may well exceed the frames of a short example


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
