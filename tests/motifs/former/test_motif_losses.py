from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.paper.motif_former import contrast, pseudo_label_loss, reconstruction_loss
from rondo.paper.unit_align import variance_hinge
from tests import naive_motif_former as naive
from tests.naive_align import gradient

Floats = NDArray[np.float64]
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Twin = Callable[[Floats, list[int]], float]

TAU = 0.5
OTHERS = np.random.default_rng(1).normal(size=(6, 4))
KINDS = np.array([0, 1, 0, 2, 3, 1])
LABELS = np.array([0, 1, 0, -1, 3, -1])

# Each takes descriptors x (6, 4) and weights; the twin takes counts, and repeats what counts more than once.
TWINS: dict[str, tuple[Loss, Twin]] = {
    "reconstruction": (
        lambda x, w: reconstruction_loss(x, torch.from_numpy(OTHERS), w),
        lambda x, n: naive.reconstruction_loss(*naive.repeated(n, x, OTHERS)),
    ),
    "view": (
        lambda x, w: contrast(x, torch.from_numpy(OTHERS), torch.arange(6), w, TAU),
        lambda x, n: naive.contrast(*naive.repeated(n, x, OTHERS), np.repeat(np.arange(6), n).tolist(), TAU),
    ),
    "cross": (
        lambda x, w: contrast(torch.from_numpy(OTHERS), x, torch.from_numpy(KINDS), w, TAU),
        lambda x, n: naive.contrast(*naive.repeated(n, OTHERS, x), np.repeat(KINDS, n).tolist(), TAU),
    ),
    "pseudo": (
        lambda x, w: pseudo_label_loss(x, torch.from_numpy(LABELS), w),
        lambda x, n: naive.pseudo_label_loss(np.repeat(x, n, axis=0), np.repeat(LABELS, n).tolist()),
    ),
    "variance": (variance_hinge, lambda x, n: naive.variance_hinge(np.repeat(x, n, axis=0))),
}


def value_and_gradient(loss: Loss, at: Floats, weights: list[int]) -> tuple[float, Floats]:
    x = torch.tensor(at, requires_grad=True)
    value = loss(x, torch.tensor(weights, dtype=torch.float64))
    value.backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    return float(value.detach()), x.grad.numpy()


@pytest.mark.parametrize("name", TWINS)
@settings(max_examples=3)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 4), min_size=6, max_size=6))
def test_value_and_gradient_are_the_definitions_and_weights_are_repetitions(
    name: str, seed: int, counts: list[int]
) -> None:
    loss, twin = TWINS[name]
    x = 0.5 * np.random.default_rng(seed).normal(size=(6, 4))
    value, slope = value_and_gradient(loss, x, counts)
    npt.assert_allclose(value, twin(x, counts), rtol=1e-9, atol=1e-12)
    # A hinge has no slope at its corner: no dimension of these batches may stand on it.
    if name != "variance" or np.abs(np.repeat(x, counts, axis=0).std(axis=0, ddof=1) - 1).min() > 1e-2:
        npt.assert_allclose(slope, gradient(lambda at: twin(at, counts), x), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n_items", [0, 1, 2])
@pytest.mark.parametrize("name", ["reconstruction", "contrast", "pseudo", "variance"])
def test_finite_whatever_the_batch(name: str, n_items: int) -> None:
    if n_items == 0 and name in ("contrast", "variance"):
        n_items = 1  # a batch has an item; only masked tokens and confident labels may be none
    h = torch.zeros(n_items, 3, requires_grad=True)
    ones = torch.ones(n_items)
    none = torch.full((n_items,), -1)
    losses = {
        "reconstruction": lambda: reconstruction_loss(h, torch.zeros(n_items, 3), ones),
        "contrast": lambda: contrast(h, h, torch.zeros(n_items), ones, 0.1),
        "pseudo": lambda: pseudo_label_loss(h, none, ones),
        "variance": lambda: variance_hinge(h, ones),
    }
    loss = losses[name]()
    loss.backward()  # type: ignore[no-untyped-call]
    assert h.grad is not None
    assert torch.isfinite(h.grad).all()
    npt.assert_allclose(float(loss.detach()), 0.99 if name == "variance" else 0.0, atol=1e-6)


def test_what_is_alike_is_not_pushed_apart() -> None:
    first = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], requires_grad=True)
    alike = contrast(first, first.detach(), torch.tensor([0, 0, 1]), torch.ones(3), 0.1)
    strangers = contrast(first, first.detach(), torch.tensor([0, 1, 2]), torch.ones(3), 0.1)
    assert float(alike.detach()) < 1e-3 < 0.4 < float(strangers.detach())
