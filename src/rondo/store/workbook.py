"""Excel workbooks (.xlsx), written with xlsxwriter (extra `xlsx`): text stays text, and nothing in them computes."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rondo.errors import MissingExtraError, OutputError

Sheet = tuple[Sequence[str], Iterable[Sequence[Any]]]  # the header, and rows
_MOST_ROWS, _MOST_CHARACTERS = 1_048_576, 32_767  # of a sheet, and of a cell, in Excel
_MADE_AT = datetime(2000, 1, 1)  # in every workbook: the same content gives the same file
_OPTIONS = {
    "in_memory": True,
    "strings_to_formulas": False,
    "strings_to_urls": False,
    "default_date_format": "yyyy-mm-dd hh:mm:ss.000",
    "remove_timezone": True,
}


def workbook(sheets: Mapping[str, Sheet]) -> bytes:
    """A workbook with a sheet for each table, in order; None and NaN are empty cells."""
    try:
        import xlsxwriter
    except ImportError:
        raise MissingExtraError("Writing .xlsx", "xlsxwriter", "xlsx") from None
    file = io.BytesIO()
    book = xlsxwriter.Workbook(file, _OPTIONS)
    book.set_properties({"created": _MADE_AT})
    bold = book.add_format({"bold": True})
    for name, (header, rows) in sheets.items():
        sheet = book.add_worksheet(name)
        sheet.freeze_panes(1, 0)
        for column, title in enumerate(header):
            sheet.write_string(0, column, title, bold)
        for number, row in enumerate(rows, start=1):
            if number >= _MOST_ROWS:
                raise OutputError(
                    f"a sheet of Excel holds {_MOST_ROWS:,} rows, '{name}' has more; write csv or parquet"
                )
            for column, cell in enumerate(row):
                if isinstance(cell, str) and len(cell) > _MOST_CHARACTERS:
                    most = f"a cell of Excel holds {_MOST_CHARACTERS:,} characters"
                    raise OutputError(f"{most}, row {number} of '{name}' has {len(cell):,}; write csv or parquet")
                if cell is not None and not (isinstance(cell, float) and not math.isfinite(cell)):
                    sheet.write(number, column, cell)
        sheet.autofit()
    book.close()
    return file.getvalue()
