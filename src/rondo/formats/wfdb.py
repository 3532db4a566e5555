"""WFDB, the records of PhysioNet: a header (`100.hea`) and the files of samples that it names (`100.dat`).

Read from the published description (`wfdb_header`, `wfdb_samples`): the package `wfdb` needs aiohttp, requests,
matplotlib and a library of sounds. Signals that share a file and a rate are interleaved frame by frame. A sample is
(number - baseline) / gain in physical units, NaN where its format says that it is missing; skewed signals are brought
into line. The clock is the rate, from the start that the header names, if it names one. Nothing is read but files
directly in the folder of the header. Annotations (`100.atr`) are labels and never read.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.formats.edf import EVENT_LABELS
from rondo.formats.expected_memory import refuse_large_array
from rondo.formats.io_extra import kept_channels, of_one_rate, told_apart
from rondo.formats.recording_format import RecordingFormat
from rondo.formats.wfdb_header import RecordHeader, SignalLine, read_header
from rondo.formats.wfdb_samples import Samples, missing_sample, n_bytes, n_samples, unpacked

_NO_FILE = "~"  # of signals that a layout has, and this segment has not


def read_wfdb(path: Path, *, rate: float | None, label_columns: Sequence[str] = ()) -> Recording:
    """The signals of one rate; the others have to be left out, or `rate` says which are meant."""
    header = read_header(path)
    names = told_apart([signal.text for signal in header.signals])
    absent = {place: "has no samples" for place, signal in enumerate(header.signals) if signal.file == _NO_FILE}
    absent |= {place: "holds events" for place, signal in enumerate(header.signals) if signal.text in EVENT_LABELS}
    places = [place for place in range(len(names)) if place not in absent]
    if not places:
        raise RecordingError("none of its signals has samples; expected at least one")
    chosen, notes = kept_channels([names[place] for place in places], label_columns)
    kept = [places[place] for place in chosen]
    rates = {place: header.rate * header.signals[place].per_frame for place in kept}
    kept, own_rate, more = of_one_rate(kept, rates, names, rate)
    values, wrong = _values(path, header, kept)
    notes += more + (("its header ends within a line: it may be cut short",) if header.ends_within_a_line else ())
    notes += tuple(f"channel '{names[place]}' left out: it {why}" for place, why in absent.items())
    notes += tuple(f"channel '{names[place]}': its checksum is another; the file may be damaged" for place in wrong)
    channels = [names[place] for place in kept]
    if header.began_s is None or rate is not None:
        return Recording(values, own_rate, channels, path.stem, notes=notes)
    times = header.began_s + np.arange(len(values)) / own_rate
    return Recording(values, own_rate, channels, path.stem, times, notes)


def expected_shape(path: Path) -> tuple[int, int]:
    """Frames of the fastest signal, and signals, by the header and the sizes of the files that it names."""
    header = read_header(path)
    signals = [signal for signal in header.signals if signal.file != _NO_FILE]
    n_frames = header.n_frames or _frames_there(_data_file(path, signals[:1]), signals)
    return n_frames * max(signal.per_frame for signal in signals), len(signals)


def _values(path: Path, header: RecordHeader, kept: Sequence[int]) -> tuple[NDArray[np.float32], list[int]]:
    """The kept signals in physical units, and which of them have another checksum than the header says."""
    groups = [list(group) for _, group in groupby(enumerate(header.signals), lambda item: item[1].file)]
    groups = [group for group in groups if group[0][1].file != _NO_FILE and {place for place, _ in group} & set(kept)]
    files = [_data_file(path, [signal for _, signal in group]) for group in groups]
    if len(set(files)) < len(files):
        raise RecordingError("signals of one file do not follow each other in it; the header is damaged")
    there = [_frames_there(file, [signal for _, signal in group]) for file, group in zip(files, groups, strict=True)]
    n_frames = min(there) if header.n_frames is None else header.n_frames
    short = next((file for file, found in zip(files, there, strict=True) if found < n_frames), None)
    if short is not None:
        raise RecordingError(f"'{short.name}' is truncated: {min(there)} of {n_frames} frames are there")
    per_frame = header.signals[kept[0]].per_frame
    refuse_large_array(n_frames * per_frame, len(kept))
    values = np.empty((n_frames * per_frame, len(kept)), np.float32)
    wrong = []
    for file, group in zip(files, groups, strict=True):
        frames = _frames(file, [signal for _, signal in group], n_frames)
        stop = 0
        for place, signal in group:
            start, stop = stop, stop + signal.per_frame
            if place in kept:
                samples = _of_signal(frames[:, start:stop], signal)
                values[:, list(kept).index(place)] = _physical(samples, signal)
                wrong += [] if _agrees(samples, signal) else [place]
    return values, sorted(wrong)


def _data_file(path: Path, group: Sequence[SignalLine]) -> Path:
    """The file of some signals: one of the header's own folder, and no link to elsewhere."""
    name = group[0].file
    if any(sign in name for sign in "/\\:") or name in (".", ".."):
        raise RecordingError(f"it names the file {name!r}; only files in its own folder are read: put it there")
    file = path.parent / name
    if not file.exists():
        raise RecordingError(f"its samples are in '{name}', which is not in the same folder; put it there")
    if file.resolve().parent != path.parent.resolve() or not file.is_file():
        raise RecordingError(
            f"'{name}' is no file of the same folder, but a link to elsewhere; put the file itself there"
        )
    if len({(signal.format, signal.offset) for signal in group}) > 1:
        raise RecordingError(f"signals in '{name}' have different formats or offsets; the header is damaged")
    return file


def _frames_there(file: Path, group: Sequence[SignalLine]) -> int:
    size = max(0, file.stat().st_size - group[0].offset)
    return n_samples(group[0].format, size) // sum(signal.per_frame for signal in group)


def _frames(file: Path, group: Sequence[SignalLine], n_frames: int) -> Samples:
    """Samples by frame, those of the first signal first."""
    wide = sum(signal.per_frame for signal in group)
    with file.open("rb") as opened:
        opened.seek(group[0].offset)
        content = opened.read(n_bytes(group[0].format, n_frames * wide))
    return unpacked(group[0].format, content)[: n_frames * wide].reshape(n_frames, wide)


def _of_signal(frames: Samples, signal: SignalLine) -> Samples:
    """In the order of time; format 8 holds differences."""
    samples = frames.reshape(-1)
    return samples if signal.format != 8 else signal.first + np.cumsum(samples, dtype=np.int32)


def _physical(samples: Samples, signal: SignalLine) -> NDArray[np.float64]:
    physical = (samples.astype(np.float64) - signal.baseline) / signal.gain
    missing = missing_sample(signal.format)
    if missing is not None:
        physical[samples == missing] = np.nan
    n_before = min(signal.skew * signal.per_frame, physical.size)
    if n_before:
        physical = np.concatenate([physical[n_before:], np.full(n_before, np.nan)])
    return physical


def _agrees(samples: Samples, signal: SignalLine) -> bool:
    """Whether the sum of the samples is that of the header, of which 16 bits are kept; 0 may mean unknown."""
    return not signal.checksum or (int(samples.sum(dtype=np.int64)) - signal.checksum) % 2**16 == 0


FORMAT = RecordingFormat(
    name="wfdb",
    suffixes=(".hea",),
    read=read_wfdb,
    help="WFDB (PhysioNet): signals of one rate, from the `.dat` in the same folder",
    order=3,
)
