"""Headers that are more than one line of names: names over names, and a program's own lines above them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rondo.formats.columns import has_no_name
from rondo.formats.number_cells import is_missing

_END_OF_HEADER = "***End_of_Header***"  # of LabVIEW
_X_VALUE = "X_Value"
_MOST_LINES = 4
_COMMENT = "Comment"  # LabVIEW's last column, whose cells are left away where there is no comment


def n_lines_of_labview(lines: Sequence[str]) -> int:
    """How many lines stand above a table of LabVIEW, which marks their end; 0 in any other file.

    >>> n_lines_of_labview(["LabVIEW Measurement", "***End_of_Header***", "X_Value,Force", "0,1"])
    2
    """
    return max((place + 1 for place, line in enumerate(lines) if line.startswith(_END_OF_HEADER)), default=0)


def labview_clock(line: str) -> str:
    """A line of a table of LabVIEW, in which the column `X_Value` is the time in seconds.

    Each channel may have one of its own (`X_Columns` is `Multi`).

    >>> labview_clock("X_Value,Force"), labview_clock("0.02,1.5")
    ('time (s),Force', '0.02,1.5')
    """
    return line.replace(_X_VALUE, "time (s)") if line.startswith(_X_VALUE) else line


def as_wide(header: tuple[str, ...], rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The header with a name more or less, where lines end in a separator and the header does not, or only it does."""
    if rows and all(len(row) == len(header) + 1 and row[-1] == "" for row in rows):
        return (*header, "")
    if header[-1] in ("", _COMMENT) and rows and all(len(row) == len(header) - 1 for row in rows):
        return header[:-1]
    return header


def stacked_names(
    table: Sequence[Sequence[str]], is_value: Callable[[str], bool]
) -> tuple[tuple[str, ...], int] | None:
    """Names in two or three lines, joined by points, and how many lines they take; None where one line holds them.

    So pandas writes columns with several levels, and spreadsheets a heading over several columns, of which only the
    first cell is filled. The line in which pandas names the index belongs to them.

    >>> stacked_names([["", "left", "left"], ["", "x", "y"], ["0", "1.5", "2"]], str.isdecimal)
    (('', 'left.x', 'left.y'), 2)
    >>> stacked_names([["time", "wrist", ""], ["s", "x", "y"], ["0", "1.5", "2"]], str.isdecimal)
    (('time.s', 'wrist.x', 'wrist.y'), 2)
    >>> stacked_names([["time", "x", "y"], ["s", "g", "g"], ["0", "1.5", "2"]], str.isdecimal)
    """
    n_words = next((place for place, row in enumerate(table[:_MOST_LINES]) if any(map(is_value, row))), _MOST_LINES)
    words = [row for row in table[:n_words] if len(row) == len(table[0])]
    if n_words < 2 or len(words) < n_words or n_words >= len(table) or not _needs_a_second(words[0], words[1]):
        return None
    names = [_joined(parts) for parts in zip(_filled(words[0], words[1]), words[1], strict=True)]
    n_lines = 2
    if n_words > 2 and not _differ(names):
        above = _filled(words[1], words[2])
        names = [_joined(parts) for parts in zip(_filled(words[0], above), above, words[2], strict=True)]
        n_lines = 3
    if n_words > n_lines and words[n_lines][0] and all(map(is_missing, words[n_lines][1:])):
        names[0], n_lines = words[n_lines][0], n_lines + 1
    return (tuple(names), n_lines) if _differ(names) else None


def _needs_a_second(upper: Sequence[str], lower: Sequence[str]) -> bool:
    """Whether names are missing or repeated in the upper line where the lower one has some."""
    both = [(above, below) for above, below in zip(upper[1:], lower[1:], strict=True) if below]
    named = [above for above, _ in both if above]
    return len(both) > 1 and bool(named) and (len(named) < len(both) or not _differ(named))


def _filled(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """The upper line with each name repeated over the empty cells that follow it."""
    found: list[str] = []
    for above, below in zip(upper, lower, strict=True):
        found.append(above or (found[-1] if found and below else ""))
    return found


def _joined(parts: Sequence[str]) -> str:
    return ".".join(part for part in parts if not has_no_name(part))


def _differ(names: Sequence[str]) -> bool:
    named = [name for name in names if name]
    return len(set(named)) == len(named)
