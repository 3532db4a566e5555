"""Markdown that reads well as it stands and as a page: tables, cells, code."""

from __future__ import annotations

from collections.abc import Sequence

WRITTEN = "<!-- written by scripts.write_reference; change the code, not this page -->"


def page(*blocks: str) -> str:
    return "\n\n".join([WRITTEN, *blocks]) + "\n"


def table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, ("---",) * len(header), *rows])


def cell(text: str) -> str:
    """Prose within a table: a bar would end the cell, an angle bracket begin a tag."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")
