"""Where rows come from while a stream goes on: a growing file, a folder of files, standard input, a recording."""

from __future__ import annotations

from rondo.live.base import Request, Rows, Skip, Source, SourceKind, open_source, source_kinds

__all__ = ["Request", "Rows", "Skip", "Source", "SourceKind", "open_source", "source_kinds"]
