"""XDF files, written chunk by chunk as the format is specified (pyxdf only reads): streams, clocks, events."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import numpy as np
import numpy.testing as npt
import pytest

from tests.formats.reading import read_one, refusal

pytest.importorskip("pyxdf", reason="needs pyxdf: pip install 'rondo-ts[io]'")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Stream(NamedTuple):
    """One stream of XDF; `values` is (n_frames, n_channels), or a list of words for markers."""

    name: str
    kind: str
    rate: float
    times: np.ndarray
    values: np.ndarray | list[str]
    labels: tuple[str, ...] = ()


def save_xdf(path: Path, *streams: Stream) -> Path:
    chunks = [_chunk(1, b'<?xml version="1.0"?><info><version>1.0</version></info>')]
    for number, stream in enumerate(streams, start=1):
        id = struct.pack("<I", number)
        text = isinstance(stream.values, list)
        n_channels = 1 if isinstance(stream.values, list) else stream.values.shape[1]
        described = "".join(f"<channel><label>{escape(label)}</label></channel>" for label in stream.labels)
        header = (
            f'<?xml version="1.0"?><info><name>{escape(stream.name)}</name><type>{stream.kind}</type>'
            f"<channel_count>{n_channels}</channel_count><nominal_srate>{stream.rate}</nominal_srate>"
            f"<channel_format>{'string' if text else 'float32'}</channel_format>"
            f"<created_at>0</created_at><desc><channels>{described}</channels></desc></info>"
        )
        samples = b"".join(
            b"\x08" + struct.pack("<d", time) + _sample(values)
            for time, values in zip(stream.times, stream.values, strict=True)
        )
        count = b"\x04" + struct.pack("<I", len(stream.times))
        footer = f"<info><sample_count>{len(stream.times)}</sample_count></info>".encode()
        chunks += [_chunk(2, id + header.encode()), _chunk(3, id + count + samples), _chunk(6, id + footer)]
    path.write_bytes(b"XDF:" + b"".join(chunks))
    return path


def _chunk(tag: int, content: bytes) -> bytes:
    return b"\x04" + struct.pack("<IH", len(content) + 2, tag) + content


def _sample(values: np.ndarray | str) -> bytes:
    if isinstance(values, str):
        return b"\x04" + struct.pack("<I", len(values.encode())) + values.encode()
    return np.asarray(values, "<f4").tobytes()


TIMES = 5000.0 + np.arange(200) / 50
VALUES = np.random.default_rng(0).normal(size=(200, 2)).astype(np.float32)
SIGNAL = Stream("imu", "IMU", 50, TIMES, VALUES, ("x", "y"))
MARKERS = Stream("task", "Markers", 0, TIMES[:2], ["go", "stop"])


def test_the_only_signal_is_the_recording_and_events_are_not(tmp_path: Path) -> None:
    numbers = Stream("keys", "Events", 0, TIMES[:3], np.ones((3, 1)))
    triggers = Stream("trigger", "Markers", 50, TIMES, np.ones((200, 1)))
    recording = read_one(save_xdf(tmp_path / "lsl.xdf", MARKERS, SIGNAL, numbers, triggers))
    assert (recording.id, recording.channels, recording.n_frames) == ("lsl", ("x", "y"), 200)
    npt.assert_array_equal(recording.values, VALUES)
    assert recording.times_s is not None and recording.rate is not None
    npt.assert_allclose(recording.times_s, TIMES, atol=1e-6)
    npt.assert_allclose(recording.rate, 50, rtol=1e-6)
    assert ["out: 'task', 'keys', 'trigger'" in note for note in recording.notes] == [True]


def test_one_of_several_streams_by_its_name(tmp_path: Path) -> None:
    other = Stream("eeg", "EEG", 100, 5000.0 + np.arange(100) / 100, np.ones((100, 1)) * np.arange(100)[:, None])
    path = save_xdf(tmp_path / "a.xdf", SIGNAL, other, MARKERS)
    said = refusal(lambda: read_one(path), naming=path)
    assert "2 streams ('imu', 'eeg')" in said
    eeg = read_one(path, key="eeg")
    assert (eeg.channels, eeg.n_frames) == (("ch0",), 100)
    assert "no stream 'task'" in refusal(lambda: read_one(path, key="task"), naming=path)
    only = save_xdf(tmp_path / "b.xdf", MARKERS)
    assert "no stream holds" in refusal(lambda: read_one(only), naming=only)


def test_a_stream_that_was_silent_has_a_gap_in_its_clock(tmp_path: Path) -> None:
    times = TIMES + np.where(np.arange(200) >= 120, 7.0, 0.0)
    recording = read_one(save_xdf(tmp_path / "a.xdf", SIGNAL._replace(times=times)))
    assert recording.times_s is not None
    steps = np.diff(recording.times_s)
    assert int(np.argmax(steps)) == 119
    npt.assert_allclose(steps[119], 7.02, atol=1e-3)
    npt.assert_allclose(np.delete(steps, 119), 0.02, atol=1e-3)


def test_a_given_rate_is_the_clock(tmp_path: Path) -> None:
    recording = read_one(save_xdf(tmp_path / "a.xdf", SIGNAL), rate=25, leave_out=["y"])
    assert (recording.channels, recording.rate, recording.timestamps_s) == (("x",), 25.0, None)
    assert ["given rate of 25 Hz" in note for note in recording.notes] == [True]
