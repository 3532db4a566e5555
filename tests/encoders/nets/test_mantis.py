from __future__ import annotations

import hashlib
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional

from rondo.checks.encoders import planted, windows_of
from rondo.checks.rounding import assert_equal_but_for_rounding
from rondo.errors import ModelError, SettingError
from rondo.paper.mantis import Architecture, FittedMantis, Mantis, MantisNet, resized
from rondo.paper.settings import MantisConfig
from rondo.store import model_file
from tests import naive_mantis as naive
from tests.systems import needs_closed_files, needs_posix

TINY = {
    "hidden_dim": 8,
    "num_patches": 4,
    "kernel_size": 5,
    "hidden_dim_scalar_enc": 3,
    "transf_depth": 3,
    "transf_num_heads": 2,
    "transf_mlp_dim": 6,
    "transf_dim_head": 4,
}
SIZES = Architecture(**TINY)  # type: ignore[arg-type]


def drawn(seed: int = 0, sizes: Architecture = SIZES, n_layers: int = 3) -> MantisNet:
    """A network whose weights come from a generator of their own."""
    net = MantisNet(sizes, n_layers).requires_grad_(False)
    generator = torch.Generator().manual_seed(seed)
    for name, weight in net.named_parameters():
        centre = 1.0 if "norm" in name and not name.endswith("bias") else 0.0
        weight.copy_(centre + 0.5 * torch.randn(weight.shape, generator=generator))
    return net


def published(folder: Path, seed: int = 0, **changes: Any) -> Path:
    """A folder such as the published one: sizes, other settings, all layers, and a head that only training needs."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {**TINY, "scalar_scales": None, "device": "cuda", "return_transf_layer": -1, **changes}
    (folder / "config.json").write_text(json.dumps(config))
    weights = drawn(seed).state_dict()
    save_file({**weights, "prj.0.weight": torch.ones(8)}, folder / "model.safetensors")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(tmp_path_factory.mktemp("weights"))


def mantis(folder: Path, **changes: Any) -> Mantis:
    return Mantis(MantisConfig(weights=str(folder), **{"input_frames": 16, "layer_index": 1, **changes}))


def fitted(folder: Path, **changes: Any) -> FittedMantis:
    return mantis(folder, **changes).fit([])


def small_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MantisConfig:
    """For the contracts of encoders."""
    monkeypatch.setitem(resized.__globals__["_SERIES_AT_ONCE"], "cpu", 256)  # a small network spends its time on calls
    return mantis(published(tmp_path), layer_index=0).config


@given(length=st.integers(1, 40), n_frames=st.integers(1, 40), seed=st.integers(0, 99))
def test_resizing_is_linear_interpolation_by_loops_and_by_torch(length: int, n_frames: int, seed: int) -> None:
    series = torch.randn((2, length), generator=torch.Generator().manual_seed(seed))
    ours = resized(series, n_frames)
    npt.assert_allclose(ours, [naive.resized(one.tolist(), n_frames) for one in series], atol=1e-6)
    by_torch = functional.interpolate(series[:, None].double(), n_frames, mode="linear", align_corners=False)[:, 0]
    npt.assert_allclose(ours, by_torch, atol=1e-6)


@settings(max_examples=15)
@given(n_patches=st.integers(1, 5), per_patch=st.integers(2, 6), reach=st.integers(0, 8), seed=st.integers(0, 99))
def test_tokens_are_their_twin(n_patches: int, per_patch: int, reach: int, seed: int) -> None:
    """Also where the convolution sees more than the series, and more frames than it has outputs."""
    sizes = Architecture(**{**TINY, "num_patches": n_patches, "kernel_size": 2 * reach + 1})  # type: ignore[arg-type]
    net = drawn(seed, sizes)
    series = planted(n_patches * per_patch, 2, seed).T
    ours = net.tokgen_unit(torch.tensor(series))
    weights = naive.spelled_out(net.state_dict())
    twin = [naive.tokens(weights, one.astype(np.float64), n_patches, 1.1) for one in series]
    npt.assert_allclose(ours, twin, atol=1e-4)


@settings(max_examples=8)
@given(n_layers=st.integers(1, 3), seed=st.integers(0, 99))
def test_network_is_its_twin(n_layers: int, seed: int) -> None:
    net = drawn(seed, n_layers=n_layers)
    series = planted(24, 2, seed).T
    weights = naive.spelled_out(net.state_dict())
    twin = [naive.outputs(weights, one.astype(np.float64), 4, 2, n_layers) for one in series]
    npt.assert_allclose(net(torch.tensor(series)), twin, rtol=1e-4, atol=1e-3)


def reference_windows() -> NDArray[np.float32]:
    t = np.arange(100)[:, None]
    waves = np.sin(t * [0.11, 0.37, 0.9]) * [1, 3, 0.2]
    return (waves + [0, 2, -1] + 0.01 * t * [1, 0, -1]).astype(np.float32)


def test_full_size_gives_the_numbers_of_the_published_package(tmp_path: Path) -> None:
    """Those of mantis-tsfm 1.1.0, MantisV2(return_transf_layer=2, output_token="combined"), torch 2.13 on a CPU, with
    the weights of `naive.planted` in the order of their names, each channel resized by torch's interpolate."""
    state = MantisNet(Architecture(), 3).state_dict()
    weights = {name: naive.planted(name, state[name].shape, i) for i, name in enumerate(sorted(state))}
    save_file({name: torch.tensor(w).float() for name, w in weights.items()}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text("{}")
    encoder = Mantis(MantisConfig(weights=str(tmp_path))).fit([])
    (encoded,) = encoder.encode(windows_of(reference_windows(), length=100, step=100))
    assert encoded.shape == (512,)
    npt.assert_allclose(
        encoded[[0, 1, 100, 255, 256, 257, 400, 511]],
        [-0.159808, -7.95666, -0.215867, 0.738601, 2.5451, -7.55676, -0.391303, 2.27992],
        atol=1e-4,
    )
    npt.assert_allclose(np.linalg.norm(encoded), 66.0405, atol=1e-3)
    everywhere = windows_of(np.tile(reference_windows(), (13, 1)), length=100, step=100)  # 39 series, three batches
    assert_equal_but_for_rounding(encoder.encode(everywhere), np.tile(encoded, (13, 1)))
    assert sum(w.numel() for w in encoder.net.parameters()) == 2_147_840  # published: 2,214,144 with the training head


def test_a_window_is_the_mean_of_its_channels_resized_and_encoded_by_the_twin(folder: Path) -> None:
    values = planted(21, 3)
    weights = naive.spelled_out(load_file(folder / "model.safetensors"))
    series = [np.array(naive.resized(channel.tolist(), 16)) for channel in values.T]
    twin = np.mean([naive.outputs(weights, one, 4, 2, 2) for one in series], axis=0)
    encoded = fitted(folder).encode(windows_of(values, length=21))
    assert (encoded.shape, encoded.dtype) == ((1, 16), np.float32)
    npt.assert_allclose(encoded[0], twin, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(("layer_index", "n_layers"), [(0, 1), (1, 2), (2, 3)])
def test_the_network_is_cut_after_the_layer_asked_for(folder: Path, layer_index: int, n_layers: int) -> None:
    encoder = fitted(folder, layer_index=layer_index)
    names = {name for name in encoder.tensors() if ".layers." in name}
    assert {int(name.split(".")[3]) for name in names} == set(range(n_layers))
    whole = drawn()
    series = torch.tensor(planted(16, 1).T)
    tokens = whole.tokgen_unit(series)
    tokens = torch.cat([tokens, whole.transf_unit.cls_token.expand(1, 1, -1)], dim=1)
    for layer in list(whole.transf_unit.transformer["layers"].children())[:n_layers]:
        tokens = layer(tokens, whole.transf_unit.turns)
    expected = torch.cat([tokens[:, -1], tokens[:, :-1].mean(dim=1)], dim=1)
    npt.assert_allclose(encoder.encode(windows_of(planted(16, 1))), expected, atol=1e-5)


@pytest.mark.parametrize("level", [0.0, -7.3, 123456.7])
def test_a_constant_window_is_encoded_as_one_without_shape(folder: Path, level: float) -> None:
    """Rounding of its mean, divided by a spread of nothing, must not pass for a signal."""
    weights = naive.spelled_out(load_file(folder / "model.safetensors"))
    twin = naive.outputs(weights, np.full(16, np.float32(level), np.float64), 4, 2, 2)
    encoded = fitted(folder).encode(windows_of(np.full((37, 3), level), length=37))
    npt.assert_allclose(encoded[0], twin, rtol=1e-4, atol=1e-3)


def test_fitting_learns_nothing_and_says_so(folder: Path) -> None:
    windows, other = windows_of(planted()), windows_of(planted(seed=5))
    one, two = mantis(folder).fit([windows]), mantis(folder).fit([other])
    assert_equal_but_for_rounding(one.encode(windows), two.encode(windows))
    assert not np.allclose(one.encode(windows), one.encode(other))


def test_memory_does_not_grow_with_the_number_of_windows(folder: Path) -> None:
    encoder = fitted(folder)

    def peak(n_frames: int) -> int:
        windows = windows_of(planted(n_frames, 3), length=64, step=4)
        encoder.encode(windows)
        tracemalloc.start()
        encoder.encode(windows)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(1600) - peak(400) < 2 * 300 * 16 * 4 + 20_000  # the representations, twice, and little else


def test_values_beyond_single_precision_are_refused_by_name(folder: Path) -> None:
    with pytest.raises(SettingError, match=r"large as 1e\+30: .*preprocess\.scaling = 'channel'") as caught:
        fitted(folder).encode(windows_of(np.where(np.arange(90)[:, None] % 7 < 3, 1e30, -1e30)))
    assert "\n" not in str(caught.value)


def test_a_saved_encoder_needs_no_folder(tmp_path: Path) -> None:
    weights = published(tmp_path / "weights")
    windows, encoder = windows_of(planted()), fitted(weights)
    model_file.save(tmp_path / "model", model_file.Artifact({}, {}, encoder.tensors()))
    checksum = hashlib.sha256((weights / "model.safetensors").read_bytes()).hexdigest()
    for name in ("config.json", "model.safetensors"):
        (weights / name).unlink()
    restored = mantis(weights).restore(model_file.load(tmp_path / "model").tensors)
    assert_equal_but_for_rounding(restored.encode(windows), encoder.encode(windows))
    assert restored.weights_sha256 == encoder.weights_sha256 == checksum
    assert restored.sizes == SIZES


@pytest.mark.parametrize("name", ["transf_unit.cls_token", "architecture", "weights_sha256"])
def test_a_missing_tensor_is_named(folder: Path, name: str) -> None:
    tensors = {key: value for key, value in fitted(folder).tensors().items() if key != name}
    with pytest.raises(ModelError, match=f"tensor '{name}' is missing"):
        mantis(folder).restore(tensors)


def test_damaged_tensors_are_refused(folder: Path) -> None:
    tensors = dict(fitted(folder).tensors())
    with pytest.raises(ModelError, match="'architecture' is damaged") as caught:
        mantis(folder).restore({**tensors, "architecture": np.arange(9, dtype=np.uint8)})
    assert "\n" not in str(caught.value)
    with pytest.raises(ModelError, match=r"'transf_unit.cls_token' is \(9,\), its settings"):
        mantis(folder).restore({**tensors, "transf_unit.cls_token": np.zeros(9, np.float32)})


def refused(encoder: Mantis) -> str:
    with pytest.raises(SettingError) as caught:
        encoder.fit([windows_of(planted())])
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_without_the_setting_the_way_to_the_weights_is_told() -> None:
    says = refused(Mantis(MantisConfig()))
    assert all(name in says for name in ("config.json", "model.safetensors", "MantisV2", "--set encoder.weights="))


@pytest.mark.parametrize("missing", [["config.json"], ["model.safetensors"], ["config.json", "model.safetensors"]])
def test_missing_files_are_named(tmp_path: Path, missing: list[str]) -> None:
    published(tmp_path)
    for name in missing:
        (tmp_path / name).unlink()
    says = refused(mantis(tmp_path))
    assert f"encoder.weights = {str(tmp_path)!r}" in says and f"download {' and '.join(missing)} from" in says


@needs_posix
def test_pipes_and_folders_are_no_files(tmp_path: Path) -> None:
    published(tmp_path)
    (tmp_path / "config.json").unlink()
    os.mkfifo(tmp_path / "config.json")
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "model.safetensors").mkdir()
    assert "config.json and no model.safetensors" in refused(mantis(tmp_path))


@needs_closed_files
@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_unreadable_files_are_refused(tmp_path: Path, name: str) -> None:
    (published(tmp_path) / name).chmod(0)
    assert f"{name}: cannot be read" in refused(mantis(tmp_path))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "Invalid JSON: EOF"),
        (b"\xff\xfe", "Invalid JSON"),
        (b'{"hidden_dim": 8', "Invalid JSON: EOF"),
        (b"[1, 2]", "Input should be an object"),
        (b'{"hidden_dim": "8"}', "hidden_dim: Input should be a valid integer"),
        (b'{"num_patches": 0}', "num_patches: Input should be greater than or equal to 1"),
        (b'{"hidden_dim": 100000000}', "hidden_dim: Input should be less than or equal to 4096"),
        (b'{"scalar_scales": [1, -1]}', "scalar_scales: 1: Input should be greater than 0"),
        (b'{"epsilon_scalar_enc": 1.0}', "epsilon_scalar_enc: Input should be greater than 1"),
        (b'{"kernel_size": 40}', "kernel_size must be odd, got 40"),
        (b'{"transf_dim_head": 128}', "transf_num_heads times an even transf_dim_head, got 256, 8 and 128"),
        (b'{"transf_num_heads": 256, "transf_dim_head": 1}', "an even transf_dim_head, got 256, 256 and 1"),
    ],
)
def test_a_damaged_or_foreign_config_is_refused(tmp_path: Path, content: bytes, complaint: str) -> None:
    (published(tmp_path) / "config.json").write_bytes(content)
    says = refused(mantis(tmp_path))
    assert complaint in says
    assert f"{tmp_path / 'config.json'}: does not describe" in says
    assert "download config.json and model.safetensors" in says


def without(name: str) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    return lambda weights: {key: value for key, value in weights.items() if key != name}


def replaced(name: str, tensor: Tensor) -> Callable[[dict[str, Tensor]], dict[str, Tensor]]:
    return lambda weights: {**weights, name: tensor}


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (without("transf_unit.cls_token"), "tensor 'transf_unit.cls_token' is missing"),
        (
            replaced("transf_unit.cls_token", torch.zeros(4)),
            "tensor 'transf_unit.cls_token' is (4,), config.json makes it (8,)",
        ),
        (
            replaced("transf_unit.cls_token", torch.full((8,), torch.nan)),
            "tensor 'transf_unit.cls_token' has values that are not finite",
        ),
    ],
)
def test_weights_that_do_not_fit_are_refused(
    tmp_path: Path, change: Callable[[dict[str, Tensor]], dict[str, Tensor]], complaint: str
) -> None:
    path = published(tmp_path) / "model.safetensors"
    save_file(change(load_file(path)), path)
    assert f"{path}: {complaint}; download" in refused(mantis(tmp_path))


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_damaged_weights_are_refused(tmp_path: Path, keep: int) -> None:
    path = published(tmp_path) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    says = refused(mantis(tmp_path))
    assert f"{path}: not a whole safetensors" in says
    assert "download" in says


def test_pickled_weights_are_not_read(tmp_path: Path) -> None:
    path = published(tmp_path) / "model.safetensors"
    torch.save(load_file(path), path)
    assert "whole safetensors file" in refused(mantis(tmp_path))


def test_half_precision_weights_are_taken(tmp_path: Path) -> None:
    path = published(tmp_path) / "model.safetensors"
    save_file({name: weight.bfloat16() for name, weight in load_file(path).items()}, path)
    encoder = fitted(tmp_path)
    assert {str(weight.dtype) for weight in encoder.net.state_dict().values()} == {"torch.float32"}
    assert np.isfinite(encoder.encode(windows_of(planted()))).all()


def test_a_layer_that_is_not_there_is_refused(folder: Path) -> None:
    assert f"encoder.layer_index = 3: the network in {folder}" in refused(mantis(folder, layer_index=3))


@pytest.mark.parametrize("n_frames", [2, 4, 18])
def test_an_input_that_does_not_cut_into_patches_is_refused(folder: Path, n_frames: int) -> None:
    says = refused(mantis(folder, input_frames=n_frames))
    assert f"encoder.input_frames = {n_frames} " in says and "multiple of 4" in says
