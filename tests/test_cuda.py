"""The GPU finds what the CPU finds: every stage that computes on a device, with the tolerance that holds.

All random numbers are drawn on the CPU, so both see the same ones; sums differ in their order only, and what is trained
agrees to what training makes of that. The default chain computes nothing there.
"""

from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest

from rondo.checks.encoders import planted, windows_of
from rondo.config.settings import MixtureConfig
from rondo.model.rondo import Rondo
from rondo.paper.deep_dpm import fit_autoencoder
from rondo.paper.settings import DirectUnitsConfig, PublishedMixtureConfig, TS2VecConfig, UnitAlignConfig
from rondo.paper.ts2vec import TS2Vec
from rondo.paper.unit_align import fit_unit_align
from rondo.synthetic.streams import plant

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA device here")

DEVICES = ("cpu", "cuda")


def representations(n_windows: int = 400, n_dims: int = 16) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=3, size=(5, n_dims))
    places = np.repeat(rng.integers(0, 5, n_windows // 20), 20)
    return (centres[places] + rng.normal(size=(n_windows, n_dims))).astype(np.float32)


def test_ts2vec() -> None:
    windows = windows_of(planted(900))
    config = TS2VecConfig(output_dim=16, hidden_dim=16, depth=4, iterations=10, batch_size=16)
    cpu, cuda = (TS2Vec(config, 3, device).fit([windows]) for device in DEVICES)
    npt.assert_allclose(cuda.training_log, cpu.training_log, rtol=1e-4)
    npt.assert_allclose(cuda.encode(windows), cpu.encode(windows), atol=1e-3)


def test_autoencoder() -> None:
    z = representations()
    cpu, cuda = (fit_autoencoder(z, MixtureConfig(latent_dim=4), 0, device) for device in DEVICES)
    npt.assert_allclose(cuda.encode(z), cpu.encode(z), atol=1e-3)


def test_unit_align() -> None:
    y = representations()
    mixture = PublishedMixtureConfig(latent_dim=4, component_cap=10)
    config = UnitAlignConfig(init_epochs=3, max_rounds=0, mixture=mixture)
    cpu, cuda = (fit_unit_align(y, ((0, len(y)),), config, 0, device) for device in DEVICES)
    npt.assert_allclose(cuda.embed(y), cpu.embed(y), atol=1e-4)
    npt.assert_allclose([line[1:5] for line in cuda.log], [line[1:5] for line in cpu.log], rtol=1e-3)
    assert cuda.log[0].n_components == cpu.log[0].n_components


def test_whole_fit_gives_the_same_labels_on_nearly_all_frames() -> None:
    recording = plant(n_frames=9_000, seed=3).recording
    units = {"units": DirectUnitsConfig().model_dump(), "motifs.method": "none"}
    cpu, cuda = (Rondo(window=75, settings=units, seed=1, device=device).fit(recording) for device in DEVICES)
    here, there = cpu.predict(recording).units, cuda.predict(recording).units
    assert (here == there).mean() > 0.9
