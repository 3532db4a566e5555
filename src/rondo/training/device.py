"""The device that torch computes on."""

from __future__ import annotations

from rondo.errors import SettingError
from rondo.training.torch_extra import require_torch


def resolve_device(device: str, *, for_network: bool = True) -> str:
    """'auto' becomes 'cuda' where torch finds one, else 'cpu'; asking for a missing device is an error.

    Without a network to compute there, 'auto' is 'cpu', and torch is not loaded to find out.
    """
    if device == "cpu" or (device == "auto" and not for_network):
        return "cpu"
    require_torch(f"device = '{device}'")
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if device == "cuda":
        raise SettingError("device = 'cuda', but torch finds no CUDA device here; use device = 'auto' or 'cpu'")
    return "cpu"
