"""C3D: motion capture, read with ezc3d (extra `io`). Events in the file are never read.

Marker trajectories become channels `LABEL.x`, `LABEL.y`, `LABEL.z`, NaN where a marker was not seen. Analog signals
(force plates, EMG) usually have a higher rate: they join the markers at the same rate, and stand alone where there are
no markers or where `rate` asks for theirs.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.columns import kept_channels
from rondo.files.crash_guard import refuse_fatal
from rondo.files.extras import distinct_names, marked_head, optional_library
from rondo.files.reading import Reading, RecordingFormat
from rondo.store.reading import open_regular
from rondo.wording import counted, noun

_MARK = 0x50  # the second byte of every C3D file
_BLOCK = 512
_INTEL = 84  # the kind of processor that most files are written for; others order their bytes in other ways


class _Group(NamedTuple):
    kind: str
    rate: float
    names: list[str]
    values: NDArray[np.float32]  # (n_frames, n_channels)


def read_c3d(path: Path, reading: Reading) -> Recording:
    """Markers, analog signals, or both where they share a rate.

    ezc3d ends the process where a file stops too early, so its size is checked before. Other damage can do that too, or
    keep it busy without end: so the file is tried in a child first.
    """
    marked_head(path, 8, lambda head: head[1:2] == bytes([_MARK]), "C3D file")
    ezc3d = optional_library("ezc3d", "Reading .c3d")
    _refuse_truncated(path)
    refuse_fatal(path, "ezc3d", "ezc3d.c3d(path)")
    content = ezc3d.c3d(str(path.resolve()))
    points = np.asarray(content["data"]["points"])[:3]  # (x y z 1, n_markers, n_frames)
    values = points.transpose(2, 1, 0).reshape(points.shape[2], -1).astype(np.float32)
    names = [f"{label}.{axis}" for label in _labels(content, "POINT", points.shape[1]) for axis in "xyz"]
    signals = np.asarray(content["data"]["analogs"])[0]  # (n_signals, n_frames)
    labels = _labels(content, "ANALOG", signals.shape[0])
    groups = [
        _Group("marker", _rate(content, "POINT"), names, values),
        _Group("analog", _rate(content, "ANALOG"), labels, signals.T.astype(np.float32)),
    ]
    groups = [group for group in groups if group.values.size]
    if not groups:
        raise RecordingError("it holds neither markers nor analog signals")
    chosen = [group for group in groups if group.rate == reading.rate] or groups[:1]
    if reading.rate is None and len(groups) == 2 and groups[0].rate == groups[1].rate:
        chosen = groups
    notes = tuple(
        f"{counted(len(group.names), f'{group.kind} channel')} of {group.rate:g} Hz left out: one recording has one "
        f"rate; give the rate {group.rate:g} to read {noun(len(group.names), 'it', 'them')}"
        for group in groups
        if group not in chosen
    )
    file_rate = chosen[0].rate
    if reading.rate not in (None, file_rate):
        notes += (f"the file's own rate of {file_rate:g} Hz left aside",)
    names = distinct_names([name for group in chosen for name in group.names])
    values = np.concatenate([group.values for group in chosen], axis=1)
    kept, more = kept_channels(names, reading)
    hertz = reading.rate if reading.rate is not None else file_rate
    return Recording(values[:, kept], hertz or None, [names[i] for i in kept], path.stem, notes=more + notes)


def _refuse_truncated(path: Path) -> None:
    """The blocks of parameters, and the frames that the header announces, have to be there."""
    size = path.stat().st_size
    with open_regular(path) as file:
        head = file.read(_BLOCK)
        file.seek((max(head[0], 1) - 1) * _BLOCK)
        described = file.read(4)
    if len(head) < _BLOCK or len(described) < 4:
        raise RecordingError(f"it is truncated: {size} bytes hold no C3D header and parameters")
    needed = (head[0] - 1 + described[2]) * _BLOCK
    if described[3] == _INTEL:
        n_markers, n_analogs, first, last = struct.unpack("<4H", head[2:10])
        (scale,), (data_block,) = struct.unpack("<f", head[12:16]), struct.unpack("<H", head[16:18])
        n_frames = last - first + 1 if first <= last < 0xFFFF else 0  # longer trials keep their length elsewhere
        per_frame = (4 * n_markers + n_analogs) * (4 if scale < 0 else 2)
        needed = max(needed, (data_block - 1) * _BLOCK + n_frames * per_frame)
    if size < needed:
        raise RecordingError(f"it is truncated: its header announces {needed} bytes, but {size} are there")


def _labels(content: Any, group: str, count: int) -> list[str]:
    """LABELS holds at most 255 names; LABELS2, LABELS3 … hold the next."""
    parameters = content["parameters"][group]
    parts = ["LABELS", *(f"LABELS{number}" for number in range(2, 2 + count // 255))]
    found = [str(name) for part in parts if part in parameters for name in parameters[part]["value"]]
    return distinct_names([*found, *[""] * count][:count])


def _rate(content: Any, group: str) -> float:
    stored = content["parameters"][group]["RATE"]["value"]
    return float(stored[0]) if len(stored) else 0.0


FORMAT = RecordingFormat(
    name="c3d", suffixes=(".c3d",), read=read_c3d, extra="io", help="markers, or analog signals", order=6
)
