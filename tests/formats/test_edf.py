"""EDF files written by pyedflib: values, rates, names; annotations never become channels."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest

from tests.formats.reading import read_one, refusal, write

pyedflib = pytest.importorskip("pyedflib", reason="needs pyedflib: pip install 'rondo-ts[io]'")


def save_edf(path: Path, signals: dict[str, tuple[float, np.ndarray]], *, annotated: bool = False) -> Path:
    """A file with these channels, each (rate, values) within ±100 units; `name#2` is stored as `name`."""
    kind = pyedflib.FILETYPE_BDFPLUS if path.suffix == ".bdf" else pyedflib.FILETYPE_EDFPLUS
    headers = [
        {
            "label": name.split("#")[0], "dimension": "uV", "sample_frequency": rate, "physical_min": -100.0,
            "physical_max": 100.0, "digital_min": -32768, "digital_max": 32767, "transducer": "", "prefilter": "",
        }
        for name, (rate, _) in signals.items()
    ]  # fmt: skip
    with warnings.catch_warnings(), pyedflib.EdfWriter(str(path), len(signals), file_type=kind) as writer:
        warnings.simplefilter("ignore")
        writer.setSignalHeaders(headers)
        writer.writeSamples([np.ascontiguousarray(values, dtype=np.float64) for _, values in signals.values()])
        if annotated:
            writer.writeAnnotation(0.5, 1.0, "seizure")
    return path


def wave(rate: float, seconds: int = 3, pace: float = 1.0) -> np.ndarray:
    return 80 * np.sin(2 * np.pi * pace * np.arange(int(rate * seconds)) / rate)


@pytest.mark.parametrize("suffix", [".edf", ".bdf", ".EDF"])
def test_values_rate_and_names(tmp_path: Path, suffix: str) -> None:
    signals: dict[str, Any] = {"EEG Fpz-Cz": (100, wave(100)), "T": (100, wave(100, pace=2))}
    recording = read_one(save_edf(tmp_path / f"night{suffix}", signals, annotated=True))
    assert (recording.id, recording.rate, recording.n_frames) == ("night", 100.0, 300)
    assert recording.channels == ("EEG Fpz-Cz", "T")  # the annotation is none of them, and 'T' is no clock
    for channel, (_, values) in enumerate(signals.values()):
        npt.assert_allclose(recording.values[:, channel], values, atol=200 / 65535)
    assert recording.timestamps_s is None and recording.notes == ()


def test_the_status_channel_of_bdf_holds_events(tmp_path: Path) -> None:
    signals = {"A1": (100, wave(100)), "Status": (100, wave(100))}
    recording = read_one(save_edf(tmp_path / "a.bdf", signals))
    assert recording.channels == ("A1",)
    assert ["channel 'Status' left out" in note for note in recording.notes] == [True]
    assert read_one(save_edf(tmp_path / "b.edf", signals)).channels == ("A1", "Status")


def test_channels_of_several_rates(tmp_path: Path) -> None:
    signals = {"EEG": (100, wave(100)), "EOG": (100, wave(100)), "Temp": (1, wave(1)), "label": (1, wave(1))}
    path = save_edf(tmp_path / "a.edf", signals)
    said = refusal(lambda: read_one(path), naming=path)
    assert "100 Hz: EEG, EOG; 1 Hz" in said
    fast = read_one(path, rate=100)
    assert (fast.channels, fast.rate, fast.n_frames) == (("EEG", "EOG"), 100.0, 300)
    assert "rate left out: Temp" in "\n".join(fast.notes)
    assert any("'label' left out" in note for note in fast.notes)
    slow = read_one(path, leave_out=["EEG", "EOG"])
    assert (slow.channels, slow.rate, slow.n_frames) == (("Temp",), 1.0, 3)
    refusal(lambda: read_one(path, rate=50), naming=path)


def test_the_same_name_twice_and_a_rate_of_ones_own(tmp_path: Path) -> None:
    path = save_edf(tmp_path / "a.edf", {"EMG": (10, wave(10)), "EMG#2": (10, wave(10, pace=3))})
    recording = read_one(path, rate=20)
    assert (recording.channels, recording.rate) == (("EMG", "EMG (2)"), 20.0)
    assert ["file's own rate of 10" in note for note in recording.notes] == [True]
    said = refusal(lambda: read_one(path, leave_out=["EMG", "EMG (2)"]), naming=path)
    assert "no channel is left" in said
    said = refusal(lambda: read_one(path, leave_out=["ECG"]), naming=path)
    assert "no channel 'ECG'" in said


def test_files_that_are_damaged(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    whole = save_edf(tmp_path / "a.edf", {"EEG": (100, wave(100))}).read_bytes()
    for content in (whole[:-100], whole + b"more"):
        path = write(tmp_path, "b.edf", content)
        assert "its header announces" in refusal(lambda path=path: read_one(path), naming=path)
    assert capfd.readouterr().out == ""  # where pyedflib would complain


def test_a_discontinuous_file_is_refused_by_name(tmp_path: Path) -> None:
    path = save_edf(tmp_path / "a.edf", {"EEG": (100, wave(100))})
    content = path.read_bytes()
    assert content[192:197] == b"EDF+C"
    path.write_bytes(content[:192] + b"EDF+D" + content[197:])
    assert "discontinuous (EDF+D)" in refusal(lambda: read_one(path), naming=path)
