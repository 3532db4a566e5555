from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.errors import SettingError
from rondo.paper.motif_former import MotifFormerNet, View, corrupted
from rondo.paper.settings import MotifFormerConfig, PublishedMixtureConfig
from rondo.paper.training import settled
from tests import naive_motif_former as naive

SMALL = MotifFormerConfig(
    lengths=(2, 3, 5), model_dim=8, heads=2, mixture=PublishedMixtureConfig(latent_dim=0, component_cap=4)
)
N_UNITS = 4


def network(config: MotifFormerConfig = SMALL, seed: int = 0) -> MotifFormerNet:
    generator = torch.Generator().manual_seed(seed)
    net = MotifFormerNet(torch.randn(N_UNITS, 3, generator=generator), config, generator)
    with torch.no_grad():
        for embedding in (net.cls, net.mask, net.position, net.length):
            embedding.normal_(generator=generator)  # large enough to tell apart what should differ
    return settled(net)


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


@pytest.mark.parametrize("length", [2, 5])
def test_tokens_that_items_share_are_those_of_each_item(length: int) -> None:
    net, generator = network(), torch.Generator().manual_seed(length)
    codes = torch.randint(N_UNITS, (40, length), generator=generator)
    view = corrupted(40, length, 0.4, 0.3, generator)
    descriptors, features = net(codes, view)
    few = [net(codes[i : i + 2], View(*(part[i : i + 2] for part in view))) for i in range(0, 40, 2)]
    npt.assert_allclose(descriptors, torch.cat([own for own, _ in few]), atol=1e-12)
    npt.assert_allclose(features, torch.cat([own for _, own in few]), atol=1e-12)


@pytest.mark.parametrize("n_tokens", [4, 30])
def test_looks_through_a_table_are_looks_one_by_one(n_tokens: int) -> None:
    layer, generator = network().layers[0].requires_grad_(), torch.Generator().manual_seed(n_tokens)
    tokens = torch.randn(n_tokens, 8, dtype=torch.float64, generator=generator).requires_grad_()
    looking = torch.randint(n_tokens, (20,), generator=generator)
    at = torch.stack([torch.randperm(n_tokens, generator=generator)[:3] for _ in looking])
    visible = torch.rand(20, 3, generator=generator) < 0.7
    visible[:, 0] = True
    ways = [attend(tokens, looking, at, visible) for attend in (layer._through_table, layer._one_by_one)]
    learned = [tokens, *(own for part in (layer.query, layer.key, layer.value) for own in part.parameters())]
    slopes = [torch.autograd.grad(seen.square().sum(), learned) for seen in ways]
    torch.testing.assert_close(ways[0], ways[1], rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(slopes[0], slopes[1], rtol=1e-9, atol=1e-10)


def test_units_order_and_length_matter_and_the_batch_does_not() -> None:
    net = network()
    items = torch.tensor([[0, 1, 2], [2, 1, 0], [0, 0, 0], [1, 1, 1]])
    whole = net(items)[0]
    npt.assert_allclose(whole[2:3], net(items[2:3])[0], atol=1e-12)
    described = torch.cat([whole, net(items[:, :2])[0]])
    apart = torch.cdist(described, described) + torch.eye(8)
    assert float(apart.min()) > 1e-3


def test_heads_must_divide_the_width() -> None:
    config = SMALL.model_copy(update={"heads": 3})
    with pytest.raises(SettingError, match=r"model_dim = 8 .*motifs.heads = 3") as caught:
        MotifFormerNet(torch.zeros(2, 3), config, torch.Generator())
    assert "\n" not in str(caught.value)
