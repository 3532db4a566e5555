"""Generators and devices."""

from __future__ import annotations

import pytest
import torch

from rondo.arrays import generators
from rondo.device import resolve_device
from rondo.errors import SettingError
from rondo.paper.training import batches, minimise


def test_a_stage_does_not_disturb_the_next() -> None:
    one, two = generators(3, ("units", "motifs")), generators(3, ("units", "motifs"))
    one["units"].random(1000)
    assert one["motifs"].random() == two["motifs"].random()
    assert generators(4, ("units",))["units"].random() != generators(3, ("units",))["units"].random()


def test_cuda_is_refused_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == resolve_device("cpu") == "cpu"
    with pytest.raises(SettingError, match="no CUDA device"):
        resolve_device("cuda")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert resolve_device("auto") == resolve_device("cuda") == "cuda"
    assert resolve_device("auto", for_network=False) == "cpu"
    assert resolve_device("cuda", for_network=False) == "cuda"


def test_minimise_goes_down_and_tells_every_loss() -> None:
    weight = torch.nn.Parameter(torch.tensor(5.0))
    seen: list[int] = []
    losses = minimise(lambda step: (weight - 1) ** 2, torch.optim.SGD([weight], lr=0.1), 20, seen.append)
    assert losses[0] == 16.0
    assert losses == sorted(losses, reverse=True)
    assert seen == list(range(20))


def test_batches_see_every_item_once_an_epoch() -> None:
    generator = torch.Generator().manual_seed(0)
    epochs = list(batches(10, 4, 2, generator))
    assert [batch.numel() for batch in epochs] == [4, 4, 2] * 2
    assert sorted(torch.cat(epochs[:3]).tolist()) == list(range(10))
    assert [b.numel() for b in batches(5, 4, 1, generator)] == [4]  # one item alone makes no batch
