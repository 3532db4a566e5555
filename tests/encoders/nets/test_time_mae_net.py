from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rondo.paper.time_mae import Attention, Block, Pretext, TimeMAENet, dropout_factors
from tests import naive_time_mae as naive
from tests.naive_time_mae import drawn, generator, loud

# ---------------------------------------------------------------- network


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


def test_at_the_start_the_encoder_is_little_more_than_the_normalised_embedding() -> None:
    net, patches = TimeMAENet(6, 10, 8, 4, 0.1, generator()), drawn(3, 10, 6)
    normalised = torch.nn.functional.layer_norm(net.embedding(patches) + net.position, (8,))
    npt.assert_allclose(net(patches).detach(), normalised.mean(dim=1).detach(), atol=1e-3)


# ---------------------------------------------------------------- randomness


@pytest.mark.parametrize("share", [0.05, 0.1, 0.19, 0.5])
def test_dropout_drops_its_share_and_keeps_the_mean(share: float) -> None:
    factors = dropout_factors((50, 40, 101), share, generator())
    assert set(factors.unique().tolist()) == {0.0, np.float32(1 / (1 - round(share * 65536) / 65536))}
    assert abs(float((factors == 0).float().mean()) - share) < 4 * (share * (1 - share) / 202_000) ** 0.5
    assert abs(float(factors.mean()) - 1) < 0.01
    columns = factors.flatten()[:202_000].view(-1, 4)  # four places come from one draw: none knows another
    assert float((torch.corrcoef(columns.t()) - torch.eye(4)).abs().max()) < 0.02
    npt.assert_array_equal(factors, dropout_factors((50, 40, 101), share, generator()))


@pytest.mark.parametrize("share", [1e-9, 0.999999])
def test_dropout_of_almost_nothing_or_everything_is_finite(share: float) -> None:
    assert torch.isfinite(dropout_factors((7,), share, generator())).all()


def test_two_dropouts_are_one() -> None:
    both = dropout_factors((200_000,), 0.1, generator(1)) * dropout_factors((200_000,), 0.1, generator(2))
    one = dropout_factors((200_000,), 1 - 0.9**2, generator(3))
    assert abs(float((both == 0).float().mean()) - float((one == 0).float().mean())) < 0.005
    npt.assert_allclose(both.max(), one.max(), rtol=1e-4)


def test_codewords_are_drawn_from_the_softmax_of_their_logits() -> None:
    pretext = Pretext(8, 1, generator())
    embedded = drawn(1, 1, 8)
    shares = pretext.tokenizer(embedded).softmax(dim=-1).flatten().detach().numpy()
    n_draws = 40_000
    found = pretext.codewords(embedded.expand(n_draws, 1, 8), generator(1)).flatten().numpy()
    counts = np.bincount(found, minlength=192)
    chi_squared = float(((counts - n_draws * shares) ** 2 / (n_draws * shares)).sum())
    assert abs(chi_squared - 191) < 4 * (2 * 191) ** 0.5
