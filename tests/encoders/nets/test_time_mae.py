from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from rondo.config.settings import resolve
from rondo.data.windows import Windows
from rondo.encoders.base import build_encoder
from rondo.errors import ModelError, SettingError
from rondo.paper.settings import TimeMAEConfig
from rondo.paper.time_mae import (
    FittedTimeMAE,
    Pretext,
    TimeMAE,
    TimeMAENet,
    channel_scaling,
    losses_of,
    n_hidden,
    patches_of,
    training_batches,
)
from rondo.paper.training import training_windows
from rondo.store import model_file
from tests import naive_time_mae as naive
from tests.contracts import planted, windows_of
from tests.naive_time_mae import drawn, generator, loud
from tests.rounding import assert_equal_but_for_rounding

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


def test_the_configuration_builds_it() -> None:
    assert build_encoder(TINY, seed=3) == TimeMAE(TINY, seed=3)


# ---------------------------------------------------------------- hidden patches


@pytest.mark.parametrize(("n_patches", "hidden"), [(128, 76), (100, 60), (45, 27), (15, 9), (3, 1), (2, 1), (1, 0)])
def test_three_fifths_are_hidden_and_one_patch_at_least_is_seen(n_patches: int, hidden: int) -> None:
    assert n_hidden(n_patches) == hidden < n_patches


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


# ---------------------------------------------------------------- input


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


def test_representations_do_not_depend_on_level_and_scale_of_channels() -> None:
    values = planted(seed=3)
    moved = values * np.float32([1, 4, 0.25]) + np.float32([0, 2, -1])
    one, other = windows_of(values), windows_of(moved)
    npt.assert_allclose(tiny().fit([one]).encode(one), tiny().fit([other]).encode(other), atol=1e-3)


# ---------------------------------------------------------------- losses and training


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


@pytest.mark.parametrize(
    ("n_windows", "sizes"),
    [(1, [1]), (2, [2]), (4, [4]), (5, [5]), (6, [5]), (7, [5, 2]), (10, [5, 5]), (12, [5, 5, 2])],
)
def test_an_epoch_sees_every_window_once(n_windows: int, sizes: list[int]) -> None:
    config = TINY.model_copy(update={"batch_size": 5, "epochs": 3})
    steps = training_batches(n_windows, 8, config, generator())
    assert [len(step) for step in steps] == 3 * sizes
    assert torch.cat(list(steps[: len(sizes)])).unique().numel() == sum(sizes)


@pytest.mark.parametrize(("length", "n_steps"), [(1, 0), (2, 0), (3, 2), (4, 2)])
def test_windows_of_one_patch_are_encoded_untrained(length: int, n_steps: int) -> None:
    windows = windows_of(planted(40), length=length, step=1)
    fitted = tiny().fit([windows])
    assert len(fitted.training_log) == n_steps
    assert len(np.unique(fitted.encode(windows), axis=0)) == len(windows)


def test_one_window_is_trained_on() -> None:
    windows = windows_of(planted(16))
    fitted = tiny(epochs=3).fit([windows])
    assert len(fitted.training_log) == 3
    assert not np.array_equal(fitted.encode(windows), tiny(epochs=0).fit([windows]).encode(windows))


def test_no_epochs_leave_the_weights_as_drawn() -> None:
    fitted = TimeMAE(TINY.model_copy(update={"epochs": 0}), seed=4).fit([windows_of(planted())])
    assert fitted.training_log == ()
    for name, weight in TimeMAENet(6, 8, 8, 2, 0.1, generator(4)).state_dict().items():
        npt.assert_array_equal(fitted.net.state_dict()[name], weight, err_msg=name)


def test_seeds_differ_and_global_randomness_is_neither_used_nor_disturbed() -> None:
    windows = windows_of(planted())
    before, numpy_before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = TimeMAE(TINY, seed=1).fit([windows]).encode(windows)
    assert torch.equal(torch.random.get_rng_state(), before)
    npt.assert_array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002
    assert not np.allclose(first, TimeMAE(TINY, seed=2).fit([windows]).encode(windows))


# ---------------------------------------------------------------- refusals


def test_a_lost_loss_is_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"step 2 of 4 .*learning_rate = 1e\+30") as e:
        tiny(learning_rate=1e30, epochs=4).fit([windows_of(planted(100))])
    assert "\n" not in str(e.value)


def test_values_that_are_not_finite_are_refused() -> None:
    values = planted()
    values[100] = np.nan
    with pytest.raises(SettingError, match=r"step 1 .*not finite"):
        tiny().fit([windows_of(values)])


def test_heads_share_the_output() -> None:
    with pytest.raises(SettingError, match=r"'encoder\.output_dim' .* 4, got 66") as caught:
        resolve(overrides={"encoder.name": "time_mae", "encoder.output_dim": 66})
    assert "\n" not in str(caught.value)


def test_windows_of_another_length_are_refused_by_name() -> None:
    fitted = tiny().fit([windows_of(planted())])
    assert fitted.encode(windows_of(planted(), length=15)).shape[1] == 8  # as many patches, the last one filled up
    with pytest.raises(SettingError, match=r"8 patches, .*10 patches"):
        fitted.encode(windows_of(planted(), length=20))


# ---------------------------------------------------------------- a share of the stream


def test_training_on_a_share_does_not_see_the_rest() -> None:
    values = planted(400)
    changed = values.copy()
    changed[200:] = 100 * planted(200, seed=5)
    half, other = (tiny(fit_share=0.5).fit([windows_of(v)]) for v in (values, changed))
    npt.assert_array_equal(half.encode(windows_of(values)), other.encode(windows_of(values)))
    whole = tiny().fit([windows_of(values)])
    assert not np.allclose(whole.encode(windows_of(values)), half.encode(windows_of(values)))


def test_the_share_of_a_stream_is_the_stream_that_ends_there() -> None:
    windows, values = windows_of(planted(400)), planted(400)
    half, first_half = tiny(fit_share=0.5).fit([windows]), tiny().fit([windows_of(values[:200])])
    npt.assert_array_equal(half.encode(windows), first_half.encode(windows))


def test_a_share_without_a_window_is_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"encoder\.fit_share = 0\.05 .* 16 frames, .* 15 of 300; raise"):
        tiny(fit_share=0.05).fit([windows_of(planted())])


# ---------------------------------------------------------------- keeping


def fitted_on(n_channels: int = 3) -> FittedTimeMAE:
    return tiny().fit([windows_of(planted(n_channels=n_channels))])


def test_a_saved_encoder_comes_back_to_the_bit(tmp_path: Path) -> None:
    windows, fitted = windows_of(planted()), fitted_on()
    model_file.save(tmp_path / "model", model_file.Artifact({}, {}, fitted.tensors()))
    restored = tiny().restore(model_file.load(tmp_path / "model").tensors)
    npt.assert_array_equal(restored.encode(windows), fitted.encode(windows))
    assert restored.training_log == fitted.training_log
    assert all(step.total > step.codeword > 0 for step in restored.training_log)


def test_an_untrained_encoder_comes_back() -> None:
    fitted = tiny(epochs=0).fit([windows_of(planted())])
    assert tiny().restore(fitted.tensors()).training_log == ()


def test_tensors_are_copies() -> None:
    windows, fitted = windows_of(planted()), fitted_on()
    before = fitted.encode(windows)
    for tensor in fitted.tensors().values():
        np.asarray(tensor)[...] = 0
    npt.assert_array_equal(fitted.encode(windows), before)


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


@pytest.mark.parametrize("length", [1, 16, 90])
def test_a_window_has_one_representation_wherever_it_stands(length: int) -> None:
    values = planted(40 + length, 5)
    windows = windows_of(values, length=length, step=1)
    fitted = TimeMAE(TimeMAEConfig(epochs=0)).fit([windows])
    loud(fitted.net)
    whole = fitted.encode(windows)
    for first in range(0, 40, 7):
        later = fitted.encode(windows_of(values[first:], length=length, step=1))
        assert_equal_but_for_rounding(later, whole[first:])


# ---------------------------------------------------------------- GPU


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
