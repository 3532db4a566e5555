"""Place in the recording: the end of life of engines, not what comes anywhere."""

from __future__ import annotations

import numpy as np
import pytest

from rondo.data.labels import Labels
from rondo.data.recording import Recording
from rondo.evidence.order import Occurrences, place_test
from rondo.model.rondo import Rondo


def of_tracks(tracks: list[Labels]) -> Occurrences:
    return Occurrences.of(tracks, [((0, track.size),) for track in tracks])


def tracks_with(first: list[int], lengths: list[int]) -> list[Labels]:
    """Unit 1 from a window on, unit 0 before."""
    return [(np.arange(n) >= at).astype(np.int32) for at, n in zip(first, lengths, strict=True)]


def test_what_ends_every_recording_passes() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(30, 60, 20).tolist()
    found, where = place_test(of_tracks(tracks_with([n - 8 for n in lengths], lengths)), rng)
    assert max(found.p.values()) <= 0.01
    assert found.seen[1] == 20
    assert where == {0: "start", 1: "end"}


def test_four_recordings_are_too_few() -> None:
    found, where = place_test(of_tracks(tracks_with([20] * 4, [30] * 4)), np.random.default_rng(0))
    assert (found.p, where) == ({}, {})


def test_p_is_conservative_where_place_is_random() -> None:
    rng, p = np.random.default_rng(1), []
    for _ in range(100):
        tracks = []
        for n in rng.integers(30, 60, 8):
            track = np.repeat(rng.integers(0, 3, 30), rng.integers(2, 9, 30))[:n].astype(np.int32)
            tracks.append(np.roll(track, rng.integers(0, n)))
        p.append(min(place_test(of_tracks(tracks), rng)[0].p.values()))
    assert np.mean(np.array(p) <= 0.05) <= 0.12


def engines(seed: int, n: int = 20) -> list[Recording]:
    """Files from start to failure: degradation begins at a random time of life."""
    rng, files = np.random.default_rng(seed), []
    direction = rng.standard_normal(6)
    for i in range(n):
        n_frames = int(rng.integers(130, 260))
        begins = int(rng.uniform(0.4, 0.7) * n_frames)
        worn = np.clip((np.arange(n_frames) - begins) / (n_frames - begins), 0, 1) ** 1.5
        values = rng.standard_normal((n_frames, 6)) + 5 * worn[:, None] * direction
        files.append(Recording(values.astype(np.float32), rate=1.0, id=f"engine{i}"))
    return files


@pytest.mark.parametrize("seed", [1, 2])
def test_the_end_of_life_of_engines_recurs(seed: int) -> None:
    evidence = Rondo(settings={"motifs.method": "none"}).fit(engines(seed)).evidence_
    ends = [entry.reason for entry in evidence.units.values() if entry.reason.kind == "end"]
    assert evidence.recurs and ends
    assert max(reason.figure for reason in ends) >= 18
    assert ends[0].in_words().startswith("at the end of ") and ends[0].in_words().endswith(" of 20 recordings")
