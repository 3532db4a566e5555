"""A value of a typed table as text, as a csv would have it."""

from __future__ import annotations

import datetime
import re

_NO_CELL = re.compile(r'[\s"\x00-\x1f]+')  # would end a cell or a line


def cell_text(value: object) -> str:
    """The text of one cell; nothing is "".

    >>> [cell_text(value) for value in (1.0, 0.1, True, "a\\tb", datetime.datetime(2026, 11, 1, 8), None)]
    ['1', '0.1', '1', 'a b', '2026-11-01 08:00:00', '']
    >>> cell_text(datetime.time(8, 5))
    '08:05:00'
    """
    match value:
        case None:
            return ""
        case bool():
            return str(int(value))
        case float() if value.is_integer() and abs(value) < 1e15:
            return str(int(value))
        case datetime.datetime():
            return value.isoformat(" ")
        case datetime.timedelta():
            return repr(value.total_seconds())
        case datetime.date() | datetime.time():
            return value.isoformat()
        case str():
            return _NO_CELL.sub(" ", value).strip()
    return repr(value)
