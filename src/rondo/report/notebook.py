"""How a Result shows itself in a notebook: the finding, the entries as tables, and the calls that draw and write more.

No script runs in it and nothing is loaded: notebooks that are mailed, committed or opened in an editor show the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from rondo.report.lanes import look_of
from rondo.report.panel import about_entry
from rondo.run.headline import motifs_by_kind
from rondo.wording import MOST_ROWS, noun

if TYPE_CHECKING:
    from rondo.result import Result
    from rondo.run.summary import EntrySummary
    from rondo.units.vocabulary import Level

_MOST_FINDINGS = 4
_HEADER = ("what it is", "occurrences", "share", "lasts", "comes back", "made of")
_LEFT = ' style="text-align:left"'
_PALE = ' style="opacity:.8"'


def result_card(result: Result, finding: str) -> str:
    """HTML of a few kilobytes, however many recordings and entries there are."""
    findings = "".join(f"<div{_PALE}>{escape(sentence)}</div>" for sentence in result.findings[:_MOST_FINDINGS])
    head = f"<div><b>{escape(finding)}</b></div>{findings}"
    run = result.summary
    motifs = [(kind, own) for kind, own in motifs_by_kind(run).items() if kind != "motif" or not run.motifs_are_units]
    tables = "".join(_table(f"{kind}s", "motif", own) for kind, own in motifs)
    tables += _table("units", "unit", result.summary.units)  # next to each other where there is room
    first = next(iter(f"{level}:{entry.id}" for level, entry in result.entries), "")
    calls = {'result.report("report.html")': "writes the whole page", "result.plot()": "draws a figure"}
    calls |= {f'result.plot_entry("{first}")': "one entry"} if first else {}
    words = ", ".join(f"<code>{escape(call)}</code> {word}" for call, word in calls.items())
    hints = f"<div{_PALE}>{words}</div>"
    tables = f'<div style="display:flex;flex-wrap:wrap;gap:0 28px;align-items:flex-start">{tables}</div>'
    return f'<div style="max-width:920px;line-height:1.45">{head}{tables}{hints}</div>'


def _table(heading: str, level: Level, entries: Sequence[EntrySummary]) -> str:
    """The entries with the largest share of time, in their order."""
    if not entries:
        return ""
    largest = sorted(entries, key=lambda entry: -entry.share)[:MOST_ROWS]
    header = ("", heading, *_HEADER[: 6 if level == "motif" else 5])
    head = "".join(f"<th{_LEFT}>{name}</th>" for name in header)
    rows = "".join(_row(level, entry) for entry in entries if entry in largest)
    left = len(entries) - len(largest)
    more = f"<div{_PALE}>and {left:,} more {noun(left, level)}</div>" if left else ""
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}</div>"


def _row(level: Level, entry: EntrySummary) -> str:
    about = about_entry(level, entry)
    cells = [
        about["name"],
        about["description"],
        f"{about['n']:,}",
        about["share"],
        about["lasts"],
        about["recurs"],
        *([entry.composition] * (level == "motif")),
    ]
    told = "".join(f"<td{_LEFT}>{escape(str(cell))}</td>" for cell in cells)
    style = "display:inline-block;width:.8em;height:.8em;border-radius:2px"
    swatch = f'<span style="{style};background:{look_of(level, entry.id).colour}"></span>'
    return f"<tr><td>{swatch}</td>{told}</tr>"
