from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest

from rondo_bench.baselines import clap
from rondo_bench.baselines.clap import Kernels, RocketWindows, draw_kernels, features, standardised
from tests import naive_clap as naive


def drawn(n_kernels: int, n_channels: int, length: int, seed: int = 0) -> list[Kernels]:
    return draw_kernels(n_kernels, n_channels, length, np.random.RandomState(seed))


def windows_of(n_windows: int, n_channels: int, length: int) -> RocketWindows:
    return np.random.default_rng(0).normal(size=(n_windows, n_channels, length)).astype(np.float32)


@pytest.mark.parametrize("block", [1, 1 << 22])
@pytest.mark.parametrize(("n_channels", "length"), [(1, 30), (3, 24), (2, 8), (1, 5)])
def test_features_are_those_of_loops(n_channels: int, length: int, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clap, "_BLOCK", block)
    windows, kernels = windows_of(3, n_channels, length), drawn(12, n_channels, length)
    found, column = features(windows, kernels), 0
    for kind in kernels:
        n_kernels = len(kind.biases)
        for k in range(n_kernels):
            for i, window in enumerate(standardised(windows)):
                loop = naive.rocket_features(window, kind.weights[k], kind.biases[k], kind.dilation, kind.padding)
                npt.assert_allclose(found[i, [column + k, column + n_kernels + k]], loop, atol=1e-5)
        column += 2 * n_kernels
    assert column == found.shape[1] == 24
