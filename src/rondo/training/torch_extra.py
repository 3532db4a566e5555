"""torch is the extra `nets`: only networks need it, and asking for one without it ends in one line."""

from __future__ import annotations

from importlib.util import find_spec

from rondo.errors import MissingExtraError


def require_torch(what: str | None) -> None:
    """Refuse `what`, which asks for a network, where torch is not installed; None asks for none.

    It is looked for and not imported: that takes seconds, and whoever asks may only be building a method.

    >>> require_torch(None)
    """
    if what is not None and find_spec("torch") is None:
        raise MissingExtraError(what, "torch", "nets")
