"""How objects show themselves in a notebook: a title, some facts, a small table. Everything is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

MOST_ROWS = 12
"""Of a table in a notebook: it is a glance, not a report."""


def card(
    title: str, facts: Mapping[str, object], header: Sequence[str] = (), rows: Iterable[Sequence[object]] = ()
) -> str:
    """HTML of a title, facts by name, and a table; rows beyond MOST_ROWS are counted, not shown.

    >>> card("<day>", {"rate": "50 Hz"})
    '<div><b>&lt;day&gt;</b><div>rate: 50 Hz</div></div>'
    """
    told = "".join(f"<div>{escape(name)}: {escape(str(value))}</div>" for name, value in facts.items())
    return f"<div><b>{escape(title)}</b>{told}{_table(header, list(rows))}</div>"


def _table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows[:MOST_ROWS]
    )
    left_out = len(rows) - MOST_ROWS
    more = f"<div>and {left_out} more</div>" if left_out > 0 else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"
