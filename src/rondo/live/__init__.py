"""Where rows come from while a stream goes on: a growing file, a folder of files, standard input."""

from __future__ import annotations

from rondo.live.base import Rows, Skip, Source, open_source

__all__ = ["Rows", "Skip", "Source", "open_source"]
