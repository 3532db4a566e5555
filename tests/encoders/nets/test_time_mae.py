"""Time-MAE: network, losses and training against loops, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rondo.checks.encoders import planted, windows_of
from rondo.data.windows import Windows
from rondo.errors import ModelError, SettingError
from rondo.paper.settings import TimeMAEConfig
from rondo.paper.time_mae import (
    Attention,
    Block,
    FittedTimeMAE,
    Pretext,
    TimeMAE,
    TimeMAENet,
    channel_scaling,
    dropout_factors,
    losses_of,
    patches_of,
    training_batches,
)
from rondo.paper.training import training_windows
from tests import naive_time_mae as naive
from tests.naive_time_mae import drawn, generator, loud

TINY = TimeMAEConfig(output_dim=8, encoder_layers=2, regressor_layers=1, epochs=2)


def small_settings(*_: object) -> TimeMAEConfig:
    """For the contracts of encoders."""
    return TimeMAEConfig(output_dim=8, encoder_layers=2, regressor_layers=1, epochs=1)


def tiny(**changes: Any) -> TimeMAE:
    return TimeMAE(TINY.model_copy(update=changes))


def contents(windows: Windows) -> Tensor:
    """(n_windows, length, n_channels)"""
    return torch.from_numpy(np.concatenate(list(windows.batches()))).transpose(1, 2)


def scaled_contents(windows: Windows) -> Tensor:
    rows = contents(windows).double().numpy()
    mean, spread = naive.channel_statistics(rows)
    return torch.from_numpy(((rows - mean) / spread).astype(np.float32))


def test_hidden_patches_are_the_same_in_all_windows_change_and_carry_no_gradient() -> None:
    net, pretext = TimeMAENet(6, 10, 8, 2, 0.1, generator()), Pretext(8, 1, generator(1))
    loud(net)
    loud(pretext)
    source, hidden_sets = generator(2), set()
    for _ in range(20):
        patches = drawn(4, 10, 6).requires_grad_()
        sum(losses_of(net, net.blocks, pretext, patches, source)).backward()
        assert patches.grad is not None
        felt = patches.grad.abs().sum(dim=-1) > 0  # (n_windows, n_patches)
        assert bool((felt == felt[:1]).all())
        assert int(felt[0].sum()) == 4
        hidden_sets.add(tuple(felt[0].tolist()))
    assert len(hidden_sets) > 10


@given(
    length=st.integers(1, 9), step=st.integers(1, 5), n_frames=st.integers(9, 40), seed=st.integers(0, 99),
    level=st.sampled_from([0.0, 0.1, 1e6]), constant=st.booleans(),
)  # fmt: skip
def test_a_frame_counts_once_for_every_window_it_is_in(
    length: int, step: int, n_frames: int, seed: int, level: float, constant: bool
) -> None:
    values = planted(n_frames, 3, seed=seed) + np.float32(level)
    if constant:
        values[:, 1] = 0.1
    windows = windows_of(values, length, min(step, length))
    scaling = channel_scaling(training_windows([windows], 1.0))
    mean, spread = naive.channel_statistics(contents(windows).numpy())
    npt.assert_allclose(scaling.mean, mean, rtol=1e-9, atol=1e-9)
    npt.assert_allclose(scaling.spread, spread, rtol=1e-6, atol=1e-12)


@given(length=st.integers(1, 9), patch_frames=st.integers(1, 4), n_channels=st.integers(1, 3))
def test_patches_are_cut_in_order_and_filled_with_zeros(length: int, patch_frames: int, n_channels: int) -> None:
    frames, firsts = drawn(20, n_channels), torch.tensor([0, 7, 3])
    ours = patches_of(frames, firsts, length, patch_frames)
    for patches, first in zip(ours, firsts.tolist(), strict=True):
        twin = naive.patches_by_loops(frames[first : first + length].tolist(), patch_frames)
        npt.assert_allclose(patches, np.array(twin))


def test_losses_are_those_by_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    net, pretext = TimeMAENet(6, 10, 8, 2, 0.1, generator()), Pretext(8, 1, generator(1))
    loud(net)
    loud(pretext)
    kept: dict[str, Any] = {}
    forward, codewords, targets = pretext.forward, pretext.codewords, type(net.blocks).forward

    def keep_predictions(*args: Any) -> Any:
        kept["predicted"], kept["logits"] = result = forward(*args)
        return result

    def keep_codewords(*args: Any) -> Any:
        kept["codewords"] = codewords(*args)
        return kept["codewords"]

    class Momentum(type(net.blocks)):  # type: ignore[misc]
        def forward(self, *args: Any, **named: Any) -> Any:
            kept["targets"] = targets(self, *args, **named)
            return kept["targets"]

    momentum = Momentum(2, 8, 0.1, generator(4))
    monkeypatch.setattr(pretext, "forward", keep_predictions)
    monkeypatch.setattr(pretext, "codewords", keep_codewords)
    representation, codeword = losses_of(net, momentum, pretext, drawn(3, 10, 6), generator(2))
    flat = {name: tensor.detach().double().flatten(0, -2) for name, tensor in kept.items() if name != "codewords"}
    assert not kept["targets"].requires_grad
    assert not kept["codewords"].requires_grad
    error = naive.squared_error_by_loops(flat["predicted"].flatten().tolist(), flat["targets"].flatten().tolist())
    npt.assert_allclose(representation.item(), error, rtol=1e-5)
    entropy = naive.smoothed_cross_entropy_by_loops(flat["logits"].tolist(), kept["codewords"].flatten().tolist(), 0.2)
    npt.assert_allclose(codeword.item(), entropy, rtol=1e-5)


@pytest.mark.parametrize(("length", "patch_frames", "dropout"), [(16, 2, 0.1), (15, 4, 0.3), (9, 1, 0.0)])
def test_training_is_the_published_one_step_by_step(length: int, patch_frames: int, dropout: float) -> None:
    changes = {"epochs": 3, "batch_size": 20, "patch_frames": patch_frames, "dropout": dropout, "regressor_layers": 2}
    config = TINY.model_copy(update={**changes, "learning_rate": 1e-2})
    windows = windows_of(planted(), length=length)
    fitted = TimeMAE(config, seed=3).fit([windows])
    source, n_patches = generator(3), -(-length // patch_frames)
    net = TimeMAENet(3 * patch_frames, n_patches, 8, 2, dropout, source)
    pretext = Pretext(8, 2, source)
    steps = training_batches(len(windows), n_patches, config, source)
    assert len(steps) == len(fitted.training_log) > 9
    weights, log = naive.train(
        net.state_dict(), pretext.state_dict(), scaled_contents(windows), steps, patch_frames, dropout, 1e-2, source
    )
    npt.assert_allclose(np.array(fitted.training_log), np.array(log), rtol=1e-3)
    for name, weight in fitted.net.state_dict().items():
        npt.assert_allclose(weight, weights[name], atol=2e-3, err_msg=name)
    twin = naive.representations(weights, scaled_contents(windows), patch_frames)
    npt.assert_allclose(fitted.encode(windows), twin, atol=2e-3)


def test_training_takes_both_losses_down() -> None:
    windows = windows_of(planted(600))
    log = np.array(tiny(epochs=15, batch_size=16, learning_rate=5e-3).fit([windows]).training_log)
    first, last = log[:10].mean(axis=0), log[-10:].mean(axis=0)
    assert last[0] < 0.6 * first[0]
    assert last[1] < np.log(192) < first[1]  # better than guessing, at last
    npt.assert_allclose(log[:, 2], 5 * log[:, 0] + log[:, 1], rtol=1e-5)


@pytest.mark.parametrize(("length", "n_steps"), [(1, 0), (2, 0), (3, 2), (4, 2)])
def test_windows_of_one_patch_are_encoded_untrained(length: int, n_steps: int) -> None:
    windows = windows_of(planted(40), length=length, step=1)
    fitted = tiny().fit([windows])
    assert len(fitted.training_log) == n_steps
    assert len(np.unique(fitted.encode(windows), axis=0)) == len(windows)


def test_a_lost_loss_is_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"step 2 of 4 .*learning_rate = 1e\+30") as e:
        tiny(learning_rate=1e30, epochs=4).fit([windows_of(planted(100))])
    assert "\n" not in str(e.value)


def test_windows_of_another_length_are_refused_by_name() -> None:
    fitted = tiny().fit([windows_of(planted())])
    assert fitted.encode(windows_of(planted(), length=15)).shape[1] == 8  # as many patches, the last one filled up
    with pytest.raises(SettingError, match=r"8 patches, .*10 patches"):
        fitted.encode(windows_of(planted(), length=20))


def fitted_on(n_channels: int = 3) -> FittedTimeMAE:
    return tiny().fit([windows_of(planted(n_channels=n_channels))])


def test_an_untrained_encoder_comes_back() -> None:
    fitted = tiny(epochs=0).fit([windows_of(planted())])
    assert tiny().restore(fitted.tensors()).training_log == ()


@pytest.mark.parametrize(
    "name",
    ["embedding.weight", "position", "blocks.1.attention_gain", "channel_mean", "channel_spread", "training_log"],
)
def test_a_missing_tensor_is_named(name: str) -> None:
    tensors = {key: value for key, value in fitted_on().tensors().items() if key != name}
    with pytest.raises(ModelError, match=f"tensor '{name}' is missing"):
        tiny().restore(tensors)


def test_tensors_of_other_settings_are_refused() -> None:
    with pytest.raises(ModelError, match=r"'position' is \(8, 8\), .*\(8, 12\)"):
        tiny(output_dim=12).restore(fitted_on().tensors())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_cpu_and_cuda_agree() -> None:
    """Same draws on both; sums differ in order only, which AdamW enlarges where a gradient is nearly nothing."""
    config, windows = (
        TINY.model_copy(update={"output_dim": 16, "epochs": 5, "batch_size": 32}),
        windows_of(planted(800)),
    )
    cpu, cuda = (TimeMAE(config, seed=2, device=device).fit([windows]) for device in ("cpu", "cuda"))
    npt.assert_allclose(np.array(cuda.training_log), np.array(cpu.training_log), rtol=1e-4)
    npt.assert_allclose(cuda.encode(windows), cpu.encode(windows), atol=1e-4)
    restored = TimeMAE(config).restore(cuda.tensors())
    npt.assert_allclose(restored.encode(windows), cuda.encode(windows), atol=1e-5)


@settings(max_examples=15)
@given(n=st.integers(1, 4), m=st.integers(1, 4), noisy=st.booleans(), seed=st.integers(0, 99))
def test_attention_is_attention_by_loops(n: int, m: int, noisy: bool, seed: int) -> None:
    attention = Attention(8, 0.4, generator(seed)).double()
    x, memory = drawn(2, n, 8, seed=seed).double(), drawn(2, m, 8, seed=seed + 100).double()
    ours = attention(x, memory, generator(5) if noisy else None).detach()
    factors = dropout_factors((2, 4, n, m), 0.4, generator(5)) if noisy else [None, None]
    weights = {f"a.{name}": weight.detach() for name, weight in attention.named_parameters()}
    for window in range(2):
        twin = naive.attention_by_loops(weights, "a", x[window], memory[window], factors[window])
        npt.assert_allclose(ours[window], twin, rtol=1e-9, atol=1e-9)


@settings(max_examples=10)
@given(n=st.integers(1, 4), m=st.integers(1, 4), seed=st.integers(0, 99))
def test_block_is_a_block_by_loops(n: int, m: int, seed: int) -> None:
    block = Block(8, 0.1, generator(seed))
    loud(block, seed)
    block.double()
    x, memory = drawn(2, n, 8, seed=seed).double(), drawn(2, m, 8, seed=seed + 100).double()
    weights = {f"b.{name}": weight.detach() for name, weight in block.named_parameters()}
    for window in range(2):
        twin = naive.block_by_loops(weights, "b", x[window], memory[window])
        npt.assert_allclose(block(x, memory, None)[window].detach(), twin, rtol=1e-6, atol=1e-6)


def test_tokens_that_are_asked_do_not_ask_each_other() -> None:
    pretext = Pretext(8, 2, generator())
    loud(pretext)
    visible, position = drawn(3, 4, 8), drawn(5, 8, seed=1)
    together = pretext.blocks((pretext.mask_token + position)[None], visible)
    for i in range(5):
        alone = pretext.blocks((pretext.mask_token + position[i : i + 1])[None], visible)
        npt.assert_allclose(together[:, i : i + 1].detach(), alone.detach(), atol=1e-5)


def test_weights_start_as_published() -> None:
    net, pretext = TimeMAENet(8, 500, 64, 4, 0.1, generator()), Pretext(64, 2, generator())
    sizes = {"query": (64, 64), "widen": (64, 256), "narrow": (256, 64), "tokenizer": (64, 192)}
    for name, weight in [*net.named_parameters(), *pretext.named_parameters()]:
        values = weight.detach()
        layer, kind = name.split(".")[-2:] if "." in name else ("", name)
        if "gain" in kind:
            assert float(values) == np.float32(1e-8)
        elif layer == "embedding":
            assert float(values.abs().max()) <= 8**-0.5
        elif kind == "bias":
            assert bool((values == (0.0 if "norm" in layer else np.float32(0.1))).all()), name
        elif layer in sizes:
            assert abs(float(values.std()) / (2 / sum(sizes[layer])) ** 0.5 - 1) < 0.05, name
        elif kind == "position":
            assert abs(float(values.std()) - 1) < 0.02
    assert float(pretext.mask_token.detach().abs().max()) > 1


@pytest.mark.parametrize("share", [0.05, 0.1, 0.19, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(share: float) -> None:
    factors = dropout_factors((50, 40, 101), share, generator())
    assert set(factors.unique().tolist()) == {0.0, np.float32(1 / (1 - round(share * 65536) / 65536))}
    assert abs(float((factors == 0).float().mean()) - share) < 4 * (share * (1 - share) / 202_000) ** 0.5
    assert abs(float(factors.mean()) - 1) < 0.01
    columns = factors.flatten()[:202_000].view(-1, 4)  # four places come from one draw: none knows another
    assert float((torch.corrcoef(columns.t()) - torch.eye(4)).abs().max()) < 0.02
    npt.assert_array_equal(factors, dropout_factors((50, 40, 101), share, generator()))


def test_codewords_are_drawn_from_the_softmax_of_their_logits() -> None:
    pretext = Pretext(8, 1, generator())
    embedded = drawn(1, 1, 8)
    shares = pretext.tokenizer(embedded).softmax(dim=-1).flatten().detach().numpy()
    n_draws = 40_000
    found = pretext.codewords(embedded.expand(n_draws, 1, 8), generator(1)).flatten().numpy()
    counts = np.bincount(found, minlength=192)
    chi_squared = float(((counts - n_draws * shares) ** 2 / (n_draws * shares)).sum())
    assert abs(chi_squared - 191) < 4 * (2 * 191) ** 0.5
