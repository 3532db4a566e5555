"""torch is the extra `nets`: only networks need it, and asking for one without it ends in one line."""

from __future__ import annotations

from importlib import import_module

from rondo.errors import MissingExtraError


def require_torch(what: str | None) -> None:
    """Refuse `what`, which asks for a network, where torch is not installed; None asks for none.

    >>> require_torch(None)
    """
    if what is None:
        return
    try:
        import_module("torch")
    except ModuleNotFoundError as error:  # a torch that is there but broken says itself what is wrong
        if error.name != "torch":
            raise
        raise MissingExtraError(what, "torch", "nets") from error
