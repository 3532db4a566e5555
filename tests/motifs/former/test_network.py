from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.config.settings import MixtureConfig
from rondo.errors import SettingError
from rondo.paper.motif_former import MotifFormerNet, View, corrupted
from rondo.paper.settings import MotifFormerConfig
from rondo.paper.training import settled
from tests import naive_motif_former as naive

SMALL = MotifFormerConfig(
    lengths=(2, 3, 5), model_dim=8, heads=2, mixture=MixtureConfig(covariance="diagonal", component_cap=4)
)
N_UNITS = 4


def network(config: MotifFormerConfig = SMALL, seed: int = 0) -> MotifFormerNet:
    generator = torch.Generator().manual_seed(seed)
    net = MotifFormerNet(torch.randn(N_UNITS, 3, generator=generator), config, generator)
    with torch.no_grad():
        for embedding in (net.cls, net.mask, net.position, net.length):
            embedding.normal_(generator=generator)  # large enough to tell apart what should differ
    return settled(net)


# ---------------------------------------------------------------- views


@given(st.integers(1, 20), st.integers(1, 10), st.floats(0, 0.99), st.floats(0, 0.99), st.integers(0, 1000))
def test_one_token_stays_and_none_is_masked_and_dropped(
    n_items: int, length: int, mask: float, drop: float, seed: int
) -> None:
    view = corrupted(n_items, length, mask, drop, torch.Generator().manual_seed(seed))
    assert view.masked.shape == view.dropped.shape == (n_items, length)
    assert not (view.masked & view.dropped).any()
    assert not (view.masked | view.dropped).all(dim=1).any()


def test_corruption_is_as_frequent_as_asked() -> None:
    view = corrupted(20_000, 10, 0.15, 0.10, torch.Generator().manual_seed(0))
    npt.assert_allclose(view.masked.float().mean(), 0.15, atol=0.003)
    npt.assert_allclose(view.dropped.float().mean(), 0.10, atol=0.003)
    assert not any(part.any() for part in corrupted(50, 10, 0.0, 0.0, torch.Generator().manual_seed(0)))


def test_views_come_from_the_generator() -> None:
    first, again = (corrupted(9, 5, 0.3, 0.3, torch.Generator().manual_seed(1)) for _ in range(2))
    generator = torch.Generator().manual_seed(1)
    one, two = (corrupted(9, 5, 0.3, 0.3, generator) for _ in range(2))
    assert torch.equal(first.masked, again.masked)
    assert torch.equal(first.masked, one.masked)
    assert not torch.equal(one.masked, two.masked)


# ---------------------------------------------------------------- the network


@pytest.mark.parametrize("layers", [1, 2])
@settings(max_examples=15)
@given(st.sampled_from([2, 3, 5]), st.integers(0, 1000))
def test_outputs_by_the_definition(layers: int, length: int, seed: int) -> None:
    net = network(SMALL.model_copy(update={"layers": layers}))
    weights = {name: tensor.numpy() for name, tensor in net.state_dict().items()}
    generator = torch.Generator().manual_seed(seed)
    codes = torch.randint(N_UNITS, (3, length), generator=generator)
    view = corrupted(3, length, 0.4, 0.3, generator)
    descriptors, features = (out.numpy() for out in net(codes, view))
    expected = [
        naive.outputs(row, mask.nonzero()[0].tolist(), drop.nonzero()[0].tolist(), weights, heads=2)
        for row, mask, drop in zip(codes.tolist(), view.masked.numpy(), view.dropped.numpy(), strict=True)
    ]
    npt.assert_allclose(descriptors, [out[0] for out in expected], atol=1e-9)
    of_masked = [out[int(p) + 1] for out, mask in zip(expected, view.masked, strict=True) for p in mask.nonzero()]
    npt.assert_allclose(features, np.reshape(of_masked, (-1, 8)), atol=1e-9)


def test_hidden_units_leave_no_trace() -> None:
    net = network()
    masked, dropped = torch.tensor([[False, True, False]]), torch.tensor([[False, False, True]])
    for view in (View(masked, dropped), View(dropped, masked)):
        seen = [net(torch.tensor([[0, b, c]]), view) for b in range(3) for c in range(3)]
        for h, features in seen[1:]:
            npt.assert_allclose(h, seen[0][0], atol=1e-12)
            npt.assert_allclose(features, seen[0][1], atol=1e-12)


def test_untouched_view_is_the_item_itself() -> None:
    net, codes, nothing = network(), torch.tensor([[0, 1, 2], [3, 3, 3]]), torch.zeros(2, 3, dtype=torch.bool)
    npt.assert_allclose(net(codes, View(nothing, nothing))[0], net(codes)[0], atol=1e-12)
    assert net(codes)[1].shape == (0, 8)


def test_units_order_and_length_matter_and_the_batch_does_not() -> None:
    net = network()
    items = torch.tensor([[0, 1, 2], [2, 1, 0], [0, 0, 0], [1, 1, 1]])
    whole = net(items)[0]
    npt.assert_allclose(whole[2:3], net(items[2:3])[0], atol=1e-12)
    described = torch.cat([whole, net(items[:, :2])[0]])
    apart = torch.cdist(described, described) + torch.eye(8)
    assert float(apart.min()) > 1e-3


def test_weights_come_from_the_generator() -> None:
    first, again, other = (network(seed=seed).state_dict() for seed in (0, 0, 1))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["project.weight"], other["project.weight"])


def test_heads_must_divide_the_width() -> None:
    config = SMALL.model_copy(update={"heads": 3})
    with pytest.raises(SettingError, match=r"model_dim = 8 .*motifs.heads = 3") as caught:
        MotifFormerNet(torch.zeros(2, 3), config, torch.Generator())
    assert "\n" not in str(caught.value)
