"""The stream keeps coming: labels as rows arrive, vocabularies that refine and grow, every change in a journal."""

from __future__ import annotations

from rondo.continual.journal import Event

__all__ = ["Event"]
