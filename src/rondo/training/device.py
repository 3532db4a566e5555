"""The device that torch computes on."""

from __future__ import annotations

from rondo.errors import SettingError


def resolve_device(device: str) -> str:
    """'auto' becomes 'cuda' where torch finds one, else 'cpu'; asking for a missing device is an error."""
    if device == "cpu":
        return device
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if device == "cuda":
        raise SettingError("device = 'cuda', but torch finds no CUDA device here; use device = 'auto' or 'cpu'")
    return "cpu"
