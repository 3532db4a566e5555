"""Regular spacing: a fridge has it, random onsets have not."""

from __future__ import annotations

import numpy as np
import pytest

from rondo.data.recording import Recording
from rondo.evidence.order import Occurrences, spacing_test
from rondo.model.rondo import Rondo


def with_onsets(onsets: list[int], n_windows: int) -> Occurrences:
    labels = np.zeros(n_windows, np.int32)
    for onset in onsets:
        labels[onset : onset + 3] = 1
    return Occurrences.of([labels], [((0, n_windows),)])


def fridge(seed: int) -> Recording:
    """A day, one value a minute: cycles of 29 to 38 min that begin about every 150 min."""
    rng = np.random.default_rng(seed)
    power, at = 0.1 * rng.standard_normal(1440), int(rng.integers(0, 90))
    while at < 1440:
        power[at : at + rng.integers(29, 39)] += 1.0
        at += int(rng.normal(150, 5))
    return Recording(power[:, None].astype(np.float32), rate=1 / 60)


def test_regular_onsets_pass_and_two_that_were_missed_are_forgiven() -> None:
    onsets = list(range(5, 300, 30))
    found = spacing_test(with_onsets(onsets, 310))
    assert found.p[1] < 1e-4
    assert found.seen[1] == 30
    assert spacing_test(with_onsets(onsets[:3] + onsets[4:], 310)).p[1] < 0.01


def test_fewer_than_four_intervals_are_not_judged() -> None:
    assert 1 not in spacing_test(with_onsets([5, 35, 65, 95], 110)).p


@pytest.mark.parametrize(("shape", "n"), [(1.0, 12), (2.0, 40), (4.0, 8), (4.0, 100)])
def test_p_is_conservative_on_irregular_onsets(shape: float, n: int) -> None:
    rng = np.random.default_rng(n)
    p = []
    for _ in range(300):
        intervals = np.maximum(4, np.round(rng.gamma(shape, 100 / shape, n))).astype(int)
        onsets = np.cumsum(intervals).tolist()
        p.append(spacing_test(with_onsets(onsets, onsets[-1] + 5)).p[1])
    assert np.mean(np.array(p) <= 0.05) <= 0.08


def test_a_fridge_that_cycles_nine_times_recurs() -> None:
    evidence = Rondo(window="20min", settings={"motifs.method": "none"}).fit(fridge(0)).evidence_
    shown = [entry for entry in evidence.units.values() if entry.verdict == "recurs"]
    assert evidence.recurs and shown
    spaced = [entry.reason for entry in shown if entry.reason.kind == "spacing"]
    assert spaced
    assert spaced[0].figure == pytest.approx(150, abs=10)
    assert "regular intervals of about 2" in spaced[0].in_words(1 / 60)
