from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from rondo.checks.encoders import planted, windows_of
from rondo.checks.rounding import assert_equal_but_for_rounding
from rondo.data.windows import Windows
from rondo.errors import ModelError, SettingError
from rondo.paper.settings import TS2VecConfig
from rondo.paper.ts2vec import (
    FittedTS2Vec,
    TrainingStep,
    TS2Vec,
    TS2VecNet,
    contrast,
    hierarchical_contrast,
    training_steps,
)
from tests import naive_ts2vec as naive

TINY = TS2VecConfig(output_dim=8, iterations=2, hidden_dim=8, depth=4)


def small_settings(*_: object) -> TS2VecConfig:
    """For the contracts of encoders."""
    return TS2VecConfig(output_dim=8, hidden_dim=8, depth=4, iterations=2)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def drawn(*shape: int, seed: int = 0, scale: float = 1.0) -> Tensor:
    return (scale * torch.randn(shape, generator=generator(seed))).requires_grad_()


def net_of(config: TS2VecConfig, n_channels: int, seed: int = 0) -> TS2VecNet:
    net = TS2VecNet(n_channels, config.hidden_dim, config.depth, config.output_dim)
    net.fill(generator(seed))
    return net


def batch_major(z: Tensor) -> Tensor:
    return z.transpose(0, 1)


def contents(windows: Windows) -> Tensor:
    """(n_windows, length, n_channels)"""
    return torch.from_numpy(np.concatenate(list(windows.batches()))).transpose(1, 2)


@given(n_groups=st.integers(1, 4), m=st.integers(1, 5), n_dims=st.integers(1, 4), seed=st.integers(0, 99))
def test_contrast_is_the_mean_of_softmax_losses_by_loops(n_groups: int, m: int, n_dims: int, seed: int) -> None:
    groups = drawn(n_groups, 2 * m, n_dims, seed=seed)
    by_loops = naive.contrast_by_loops(groups.detach().double().tolist())
    npt.assert_allclose(contrast(groups).item(), by_loops, rtol=1e-5, atol=1e-6)


@given(
    n_frames=st.integers(1, 9),
    n_windows=st.integers(1, 5),
    n_dims=st.integers(1, 6),
    scale=st.sampled_from([0.1, 1.0, 4.0]),
    seed=st.integers(0, 99),
)
def test_hierarchical_contrast_has_value_and_gradient_of_its_twin(
    n_frames: int, n_windows: int, n_dims: int, scale: float, seed: int
) -> None:
    one, other = (drawn(n_frames, n_windows, n_dims, seed=seed + i, scale=scale) for i in (0, 100))
    ours = hierarchical_contrast(one, other)
    twin = naive.hierarchical_contrast(batch_major(one), batch_major(other))
    npt.assert_allclose(ours.item(), twin.item(), rtol=1e-5, atol=1e-6)
    if n_frames == n_windows == 1:  # nothing is compared with anything
        assert not any(grad.any() for grad in gradients(ours, [one, other]))
    else:
        for mine, theirs in zip(gradients(ours, [one, other]), gradients(twin, [one, other]), strict=True):
            npt.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-5)


def gradients(loss: Tensor, inputs: Sequence[Tensor]) -> list[Any]:
    return [grad.numpy() for grad in torch.autograd.grad(loss, list(inputs))]


def test_contrast_is_the_same_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = drawn(7, 6, 3)
    whole = contrast(groups)
    in_one = gradients(whole, [groups])[0]
    monkeypatch.setitem(contrast.__globals__["_CELLS_AT_ONCE"], "cpu", 2 * 6 * 6)
    pieces = contrast(groups)
    npt.assert_allclose(pieces.item(), whole.item(), rtol=1e-6)
    npt.assert_allclose(gradients(pieces, [groups])[0], in_one, atol=1e-7)


def test_equal_frames_give_the_gradient_to_the_first_as_published() -> None:
    one, other = (drawn(1, 3, 2, seed=i).detach().repeat(6, 1, 1).requires_grad_() for i in (0, 1))
    ours = hierarchical_contrast(one, other)
    twin = naive.hierarchical_contrast(batch_major(one), batch_major(other))
    for mine, theirs in zip(gradients(ours, [one, other]), gradients(twin, [one, other]), strict=True):
        npt.assert_allclose(mine, theirs, atol=1e-5)


@given(n_frames=st.integers(1, 40), n_windows=st.integers(1, 4), n_channels=st.integers(1, 3), data=st.data())
def test_network_is_full_dilated_convolutions(
    n_frames: int, n_windows: int, n_channels: int, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, n_frames - 1))
    kept = slice(first, data.draw(st.integers(first + 1, n_frames)))
    net = net_of(TINY, n_channels)
    x = drawn(n_frames, n_windows, n_channels).detach()
    masked = torch.rand((n_frames, n_windows), generator=generator(1)) < 0.5
    weights = dict(net.named_parameters())
    ours = net(x, masked, kept)
    twin = naive.outputs(weights, batch_major(x), masked.t())[:, kept]
    npt.assert_allclose(ours.detach(), batch_major(twin).detach(), rtol=1e-5, atol=1e-5)
    factor = drawn(*ours.shape, seed=2).detach()
    mine = gradients((ours * factor).sum(), list(weights.values()))
    theirs = gradients((batch_major(twin) * factor).sum(), list(weights.values()))
    for name, a, b in zip(weights, mine, theirs, strict=True):
        npt.assert_allclose(a, b, rtol=1e-4, atol=1e-5 * max(1.0, float(np.abs(b).max())), err_msg=name)


@given(n_frames=st.integers(1, 40), n_windows=st.integers(1, 5), n_channels=st.integers(1, 3))
def test_what_encodes_is_the_maximum_over_full_dilated_convolutions(
    n_frames: int, n_windows: int, n_channels: int
) -> None:
    net = net_of(TINY, n_channels)
    x = drawn(n_windows, n_frames, n_channels).detach()
    twin = naive.representations(net.state_dict(), x)
    npt.assert_allclose(net.pooled(x), twin, rtol=1e-5, atol=1e-5)


def test_weights_start_uniform_within_the_root_of_their_fan_in() -> None:
    net = net_of(TS2VecConfig(), 4)
    for name, weight in net.named_parameters():
        layer = net.get_parameter(name.replace("bias", "weight"))
        bound = (layer.shape[0] * layer.shape[1]) ** -0.5
        assert float(weight.detach().abs().max()) <= bound, name
        if weight.numel() > 1000:
            assert abs(float(weight.detach().std()) * 3**0.5 / bound - 1) < 0.05, name


def test_crops_overlap_stay_inside_and_fill_the_window() -> None:
    length, n_windows = 9, 10
    config = TINY.model_copy(update={"iterations": 300, "batch_size": 4})
    kept, frames, starts = set(), set(), set()
    for step in training_steps(n_windows, length, config, generator()):
        one, other = step.views
        for view in step.views:
            first = view.start + step.shifts
            assert int(first.min()) >= 0
            assert int(first.max()) + len(view.masked) <= length
            frames.add(len(view.masked))
            starts.update(first.tolist())
            n_kept, n_rows, n_dims = view.dropout.shape
            assert len(range(len(view.masked))[view.kept]) == n_kept
            assert (n_rows, n_dims) == (4, config.output_dim)
        spans = [range(v.start, v.start + len(v.masked))[v.kept] for v in step.views]
        assert spans[0] == spans[1]  # the same frames of the window
        assert one.start <= other.start
        kept.add(len(spans[0]))
        assert step.batch.unique().numel() == 4
    assert kept == set(range(2, length + 1)) == frames
    assert starts == set(range(length - 1))


def test_half_of_the_frames_are_masked_and_a_tenth_of_the_outputs_dropped() -> None:
    config = TINY.model_copy(update={"iterations": 40})
    views = [view for step in training_steps(64, 50, config, generator()) for view in step.views]
    masked = torch.cat([view.masked.float().flatten() for view in views])
    dropout = torch.cat([view.dropout.flatten() for view in views])
    assert abs(float(masked.mean()) - 0.5) < 0.01
    assert abs(float((dropout == 0).float().mean()) - 0.1) < 0.01
    assert abs(float(dropout.mean()) - 1) < 0.01


def test_training_is_the_published_one_step_by_step() -> None:
    config = TINY.model_copy(update={"iterations": 5, "batch_size": 6, "output_dim": 5})
    windows = windows_of(planted())
    fitted = TS2Vec(config, seed=3).fit([windows])
    source = generator(3)
    net = TS2VecNet(3, config.hidden_dim, config.depth, config.output_dim)
    net.fill(source)
    steps: list[TrainingStep] = list(training_steps(len(windows), 16, config, source))
    weights, losses = naive.train(net.state_dict(), contents(windows), steps, config.learning_rate)
    npt.assert_allclose(fitted.training_log, losses, rtol=1e-5)
    for name, weight in fitted.net.state_dict().items():
        npt.assert_allclose(weight, weights[name], atol=1e-5, err_msg=name)
    npt.assert_allclose(fitted.encode(windows), naive.representations(weights, contents(windows)), atol=1e-4)


def test_training_takes_the_loss_down() -> None:
    config = TINY.model_copy(update={"iterations": 25, "learning_rate": 1e-2, "batch_size": 16})
    windows = windows_of(planted(), length=32)
    fitted = TS2Vec(config).fit([windows])
    assert len(fitted.training_log) == 25
    fresh = list(training_steps(len(windows), 32, config, generator(99)))[:10]

    def loss(net: TS2VecNet) -> float:
        return float(np.mean([naive.loss_of_step(net.state_dict(), contents(windows), step) for step in fresh]))

    assert loss(fitted.net) < 0.95 * loss(net_of(config, 3))


def test_seeds_differ_and_global_randomness_is_neither_used_nor_disturbed() -> None:
    windows = windows_of(planted())
    before, numpy_before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = TS2Vec(TINY, seed=1).fit([windows]).encode(windows)
    assert torch.equal(torch.random.get_rng_state(), before)
    npt.assert_array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002
    assert not np.allclose(first, TS2Vec(TINY, seed=2).fit([windows]).encode(windows))


def test_values_beyond_single_precision_are_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"as large as 1\.?\d*e\+3\d.*preprocess\.scaling = 'channel'") as caught:
        TS2Vec(TINY).fit([windows_of(np.sin(np.arange(90.0))[:, None] * 1e30)])
    assert "\n" not in str(caught.value)


def shared(share: float, **changes: Any) -> TS2Vec:
    return TS2Vec(TINY.model_copy(update={"fit_share": share, **changes}))


def test_training_on_a_share_does_not_see_the_rest() -> None:
    values = planted(400)
    changed = values.copy()
    changed[200:] = planted(200, seed=5)
    half, other = (shared(0.5).fit([windows_of(v)]) for v in (values, changed))
    npt.assert_array_equal(half.encode(windows_of(values)), other.encode(windows_of(values)))
    whole = TS2Vec(TINY).fit([windows_of(values)])
    assert not np.allclose(whole.encode(windows_of(values)), half.encode(windows_of(values)))


def test_the_share_of_a_stream_is_the_stream_that_ends_there() -> None:
    values = planted(400)
    windows = windows_of(values)
    half, first_half = shared(0.5).fit([windows]), TS2Vec(TINY).fit([windows_of(values[:200])])
    npt.assert_array_equal(half.encode(windows), first_half.encode(windows))
    recordings = [windows_of(values[:150]), windows_of(values[150:])]
    ends_inside = shared(0.5).fit(recordings)
    by_hand = TS2Vec(TINY).fit([windows_of(values[:150]), windows_of(values[150:200])])
    npt.assert_array_equal(ends_inside.encode(windows), by_hand.encode(windows))


def test_a_share_without_a_window_is_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"encoder\.fit_share = 0\.05 .* 16 frames, .* 15 of 300; raise"):
        shared(0.05).fit([windows_of(planted())])


def fitted_on(n_channels: int = 3) -> FittedTS2Vec:
    return TS2Vec(TINY).fit([windows_of(planted(n_channels=n_channels))])


def test_tensors_are_copies() -> None:
    windows, fitted = windows_of(planted()), fitted_on()
    before = fitted.encode(windows)
    for tensor in fitted.tensors().values():
        np.asarray(tensor)[...] = 0
    npt.assert_array_equal(fitted.encode(windows), before)


@pytest.mark.parametrize("name", ["entry.weight", "blocks.2.first.bias", "training_log"])
def test_a_missing_tensor_is_named(name: str) -> None:
    tensors = {key: value for key, value in fitted_on().tensors().items() if key != name}
    with pytest.raises(ModelError, match=f"tensor '{name}' is missing"):
        TS2Vec(TINY).restore(tensors)


def test_tensors_of_other_settings_are_refused() -> None:
    wider = TS2Vec(TINY.model_copy(update={"output_dim": 9}))
    with pytest.raises(ModelError, match=r"'blocks\.4\.first\.weight' .*\(3, 8, 8\), .*\(3, 8, 9\)"):
        wider.restore(fitted_on().tensors())


@pytest.mark.parametrize("length", [1, 16, 90])
def test_a_window_has_one_representation_wherever_it_stands(length: int) -> None:
    config = TS2VecConfig(iterations=0)
    values = planted(40 + length, 5)
    windows = windows_of(values, length=length, step=1)
    fitted = TS2Vec(config).fit([windows])
    whole = fitted.encode(windows)
    for first in range(0, 40, 3):
        later = fitted.encode(windows_of(values[first:], length=length, step=1))
        assert_equal_but_for_rounding(later, whole[first:])
        alone = windows_of(values[first : first + length], length=length, step=1)
        assert_equal_but_for_rounding(fitted.encode(alone), whole[first : first + 1])
