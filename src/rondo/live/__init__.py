"""`rondo stream`: rows from growing files, pipes and brokers, labelled as they arrive, each exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rondo.live.source import Request, Rows, Skip, Source, SourceKind, open_source, source_kinds

__all__ = ["Request", "Rows", "Skip", "Source", "SourceKind", "open_source", "source_kinds"]


def __getattr__(name: str) -> Any:
    """Import when first used: the command line imports this package to list its commands."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rondo.live import source

    return getattr(source, name)
