"""Cells of csv files that a spreadsheet would take for a formula, made plain text.

Names of entries, recordings and files come from people and from other people's folders. A leading `=`, `+`, `-`, `@`,
tab or carriage return makes a spreadsheet compute what follows; a leading apostrophe makes it text (OWASP, "CSV
Injection").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def plain_cell(text: str) -> str:
    """
    >>> plain_cell("=1+1"), plain_cell("walk"), plain_cell("")
    ("'=1+1", 'walk', '')
    """
    return f"'{text}" if text.startswith(_FORMULA) else text


def plain_table(table: pl.DataFrame) -> pl.DataFrame:
    """A table whose columns of text hold no formulas."""
    import polars as pl

    text = [name for name, dtype in table.schema.items() if dtype == pl.String]
    return table.with_columns(
        pl.when(pl.col(name).str.contains(r"^[=+\-@\t\r]")).then("'" + pl.col(name)).otherwise(pl.col(name)).alias(name)
        for name in text
    )
