"""EDF, EDF+ and BDF: physiological recordings, read with pyedflib (extra `io`).

Annotations in the file are ground truth or events, not signals, and are never read; nor is the status channel of BDF.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.columns import kept_channels
from rondo.files.extras import distinct_names, marked_head, of_one_rate, optional_library
from rondo.files.reading import Reading, RecordingFormat
from rondo.store.reading import open_regular

EVENT_LABELS = ("EDF Annotations", "BDF Annotations")
"""Of signals that hold no signal, but annotations."""


def read_edf(path: Path, reading: Reading) -> Recording:
    """The signals of one rate in physical units; the others have to be left out, or `rate` says which are meant."""
    head = marked_head(path, 8, lambda head: head in (b"0       ", b"\xffBIOSEMI"), "EDF or BDF file")
    pyedflib = optional_library("pyedflib", "Reading .edf and .bdf")
    _refuse_truncated(path)
    try:
        reader = pyedflib.EdfReader(str(path.resolve()))
    except OSError as error:
        if "discontinuous" in str(error):
            raise RecordingError("it is discontinuous (EDF+D), which pyedflib cannot read; save it as EDF+C") from error
        raise RecordingError(f"pyedflib cannot read it ({error})") from error
    with reader:
        labels = [label.strip() for label in reader.getSignalLabels()]
        status = {"Status"} if head[:1] == b"\xff" else set()
        events = [place for place, label in enumerate(labels) if label in EVENT_LABELS or label in status]
        signals = [place for place in range(len(labels)) if place not in events]
        if not signals:
            raise RecordingError("it holds no signal, only annotations")
        names = distinct_names([labels[place] for place in signals])
        kept, notes = kept_channels(names, reading)
        rates = {place: float(reader.getSampleFrequency(signals[place])) for place in kept}
        kept, own_rate, more = of_one_rate(kept, rates, names, reading.rate)
        values = _values(reader, [signals[place] for place in kept])
    notes += tuple(f"channel '{labels[place]}' left out: it holds events" for place in events) + more
    return Recording(values, own_rate, [names[place] for place in kept], path.stem, notes=notes)


def _refuse_truncated(path: Path) -> None:
    """A file has to be as long as its header says: pyedflib would tell on stdout where it is not."""
    with open_regular(path) as file:
        fixed = file.read(256)
        try:
            n_bytes, n_records, n_signals = int(fixed[184:192]), int(fixed[236:244]), int(fixed[252:256])
            file.seek(256 + 216 * n_signals)
            per_record = sum(int(file.read(8)) for _ in range(n_signals)) * (2 if fixed[:1] == b"0" else 3)
        except ValueError as error:
            raise RecordingError("it is damaged, or truncated: its header cannot be read") from error
    expected, found = n_bytes + n_records * per_record, path.stat().st_size
    if n_records >= 0 and expected != found:  # -1: the recorder was never stopped
        raise RecordingError(f"it is damaged or truncated: its header announces {expected} bytes, {found} are there")


def _values(reader: Any, signals: list[int]) -> np.ndarray[Any, np.dtype[np.float32]]:
    n_frames = {int(reader.getNSamples()[signal]) for signal in signals}
    if len(n_frames) != 1:
        raise RecordingError(f"channels of one rate have unequal lengths, {sorted(n_frames)} frames; it is damaged")
    values = np.empty((n_frames.pop(), len(signals)), dtype=np.float32)
    for channel, signal in enumerate(signals):
        values[:, channel] = reader.readSignal(signal)
    return values


FORMAT = RecordingFormat(
    name="edf", suffixes=(".edf", ".bdf"), read=read_edf, extra="io", help="signals of one rate", order=5
)
