"""The device that torch computes on, and how many threads compute.

torch is the extra `nets`: only networks need it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for BLAS, and for torch where a network has loaded it; as before afterwards.

    For many small matrices: more threads mostly wait for each other (the evidence of a fit took 2.8 s on 4 threads and
    6.7 s on 16), and sums would depend on how many there are.
    """
    from threadpoolctl import threadpool_limits

    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 0
    if torch:
        torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        if torch:
            torch.set_num_threads(before)
