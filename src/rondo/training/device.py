"""The device that torch computes on. torch is the extra `nets`: only networks need it."""

from __future__ import annotations

from importlib.util import find_spec

from rondo.errors import MissingExtraError, SettingError


def require_torch(what: str | None) -> None:
    """Refuse `what`, which asks for a network, where torch is not installed; None asks for none.

    It is looked for and not imported: that takes seconds, and whoever asks may only be building a method.

    >>> require_torch(None)
    """
    if what is not None and find_spec("torch") is None:
        raise MissingExtraError(what, "torch", "nets")


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
