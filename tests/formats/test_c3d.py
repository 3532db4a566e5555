"""C3D files written by ezc3d: markers, analog signals, unseen markers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from tests.formats.reading import read_one, refusal, write

ezc3d = pytest.importorskip("ezc3d", reason="needs ezc3d: pip install 'rondo-ts[io]'")

N_FRAMES = 12


def save_c3d(path: Path, markers: tuple[str, ...] = (), analogs: tuple[str, ...] = (), ratio: int = 1) -> Path:
    """Markers at 100 Hz that move along (i, 10 i, 100 i) + marker; analogs at `ratio` times that."""
    content = ezc3d.c3d()
    content["parameters"]["POINT"]["RATE"]["value"] = [100]
    content["parameters"]["POINT"]["LABELS"]["value"] = list(markers)
    content["parameters"]["ANALOG"]["RATE"]["value"] = [100 * ratio]
    content["parameters"]["ANALOG"]["LABELS"]["value"] = list(analogs)
    content["data"]["points"] = np.ones((4, len(markers), N_FRAMES))
    for number in range(len(markers)):
        content["data"]["points"][:3, number] = np.array([[1], [10], [100]]) * np.arange(N_FRAMES) + number
    content["data"]["analogs"] = np.arange(len(analogs) * N_FRAMES * ratio, dtype=np.float64).reshape(
        1, len(analogs), N_FRAMES * ratio
    )
    content.write(str(path))
    return path


def test_markers(tmp_path: Path) -> None:
    recording = read_one(save_c3d(tmp_path / "walk.c3d", ("LKNE", "RKNE")))
    assert recording.channels == ("LKNE.x", "LKNE.y", "LKNE.z", "RKNE.x", "RKNE.y", "RKNE.z")
    assert (recording.id, recording.rate, recording.n_frames) == ("walk", 100.0, N_FRAMES)
    frames = np.arange(N_FRAMES)[:, None]
    expected = np.concatenate([frames * [1, 10, 100], frames * [1, 10, 100] + 1], axis=1)
    npt.assert_allclose(recording.values, expected, rtol=1e-6)


def test_a_marker_that_was_not_seen_is_nan(tmp_path: Path) -> None:
    path = save_c3d(tmp_path / "a.c3d", ("A", "B"))
    content = ezc3d.c3d(str(path))
    content["data"]["points"][:, 1, 3:5] = np.nan
    content["data"]["meta_points"]["residuals"][0, 1, 3:5] = -1
    content.write(str(tmp_path / "b.c3d"))
    values = read_one(tmp_path / "b.c3d").values
    assert np.isnan(values[3:5, 3:]).all()
    assert np.isnan(values).sum() == 6


def test_analog_signals_join_at_the_same_rate_only(tmp_path: Path) -> None:
    same = read_one(save_c3d(tmp_path / "a.c3d", ("A",), ("Fz", "EMG")))
    assert same.channels == ("A.x", "A.y", "A.z", "Fz", "EMG")
    npt.assert_allclose(same.values[:, 3], np.arange(N_FRAMES))
    path = save_c3d(tmp_path / "b.c3d", ("A",), ("Fz",), ratio=10)
    markers = read_one(path)
    assert markers.channels == ("A.x", "A.y", "A.z")
    assert ["1 analog channel of 1000 Hz" in note for note in markers.notes] == [True]
    analogs = read_one(path, rate=1000)
    assert (analogs.channels, analogs.rate, analogs.n_frames) == (("Fz",), 1000.0, 10 * N_FRAMES)
    npt.assert_allclose(analogs.values[:, 0], np.arange(10 * N_FRAMES))


def test_only_analog_signals_names_and_what_is_left_out(tmp_path: Path) -> None:
    path = save_c3d(tmp_path / "a.c3d", (), ("EMG", "EMG", "Force"))
    assert read_one(path).channels == ("EMG", "EMG (2)", "Force")
    assert read_one(path, leave_out=["EMG"]).channels == ("EMG (2)", "Force")
    empty = save_c3d(tmp_path / "b.c3d")
    refusal(lambda: read_one(empty), naming=empty)


def test_more_markers_than_one_list_of_labels_can_hold(tmp_path: Path) -> None:
    markers = tuple(f"M{number}" for number in range(300))
    recording = read_one(save_c3d(tmp_path / "a.c3d", markers))
    assert recording.channels == tuple(f"{marker}.{axis}" for marker in markers for axis in "xyz")


def test_a_file_that_would_crash_the_library_is_refused(tmp_path: Path) -> None:
    """Some bytes of its header and parameters are others; ezc3d then reads beyond its end."""
    rng = np.random.default_rng(3)
    whole = save_c3d(tmp_path / "whole.c3d", ("A", "B"), ("Fz",)).read_bytes()
    for _ in range(14):  # the fourteenth one crashes ezc3d 1.7
        content = bytearray(whole)
        for _ in range(6):
            content[rng.integers(0, 1500)] = rng.integers(0, 256)
        content[1] = 0x50
    path = write(tmp_path, "bad.c3d", bytes(content))
    assert "damaged" in refusal(lambda: read_one(path), naming=path)
