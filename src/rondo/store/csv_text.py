"""Every csv that Rondo writes: a spreadsheet takes no cell of text for a formula, and Rondo reads the same text back.

Names of entries, recordings and files come from people and from other people's folders. A leading `=`, `+`, `-`, `@`,
tab or line end makes a spreadsheet compute what follows, and some take the full-width signs for the same; a leading
apostrophe makes it text (OWASP, "CSV Injection"). So that reading is the exact inverse, text that begins with
apostrophes and such a sign gets one more.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import polars as pl

    Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)

_SIGNS = r"[=+\-@\t\r\n＝＋－＠]"
_TEMPTING, _MADE_PLAIN = re.compile(f"'*{_SIGNS}"), re.compile(f"'+{_SIGNS}")


def plain_cell(text: str) -> str:
    """
    >>> plain_cell("=1+1"), plain_cell("walk"), plain_cell("'tis"), plain_cell("'=1")
    ("'=1+1", 'walk', "'tis", "''=1")
    """
    return f"'{text}" if _TEMPTING.match(text) else text


def cell_text(cell: str) -> str:
    """The text that `plain_cell` made a cell of.

    >>> cell_text("'=1+1"), cell_text("walk"), cell_text("'tis"), cell_text("''=1")
    ('=1+1', 'walk', "'tis", "'=1")
    """
    return cell[1:] if _MADE_PLAIN.match(cell) else cell


def plain_table(table: Frame) -> Frame:
    """A table whose columns of text are cells of a csv."""
    return _with_text(table, _TEMPTING, lambda text: "'" + text)


def text_table(table: Frame) -> Frame:
    """The table that `plain_table` made cells of."""
    return _with_text(table, _MADE_PLAIN, lambda cell: cell.str.slice(1))


def _with_text(table: Frame, pattern: re.Pattern[str], changed: Callable[[pl.Expr], pl.Expr]) -> Frame:
    import polars as pl

    names = [name for name, kind in table.collect_schema().items() if kind == pl.String]
    found = [pl.col(name).str.contains(f"^{pattern.pattern}") for name in names]
    return table.with_columns(
        pl.when(is_found).then(changed(pl.col(name))).otherwise(pl.col(name)).alias(name)
        for name, is_found in zip(names, found, strict=True)
    )


def csv_of_table(table: pl.DataFrame) -> str:
    """A table with its header."""
    return plain_table(table).write_csv()


def csv_of_rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A header and rows; None is an empty cell."""
    lines = _Lines()
    writer = csv.writer(lines, lineterminator="\r\n")  # or it would write a carriage return in a cell without quotes
    writer.writerow(map(plain_cell, names))
    writer.writerows([plain_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return "".join(lines)


class _Lines(list[str]):
    """What the writer of a csv takes for a file: each row ends with one line feed."""

    def write(self, row: str) -> None:
        self.append(row.removesuffix("\r\n") + "\n")
