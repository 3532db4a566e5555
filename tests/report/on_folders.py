"""What the report does with a Result, for the folder of a run: as the commands do it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rondo.analysis import usage as report_usage
from rondo.data.grid import FrameClock
from rondo.report import compare as report_compare
from rondo.report.contents import EVERYTHING, Wish
from rondo.report.render import write_page
from rondo.report.summarize import summarize as report_summarize
from rondo.result import Result
from rondo.run.clock import clock_of


def summarize(folder: Path, wish: Wish = EVERYTHING) -> dict[str, Any]:
    return report_summarize(Result.load(folder), wish)


def compare(folder: Path, other: Path, wish: Wish = EVERYTHING) -> dict[str, Any]:
    return report_compare.compare(Result.load(folder), Result.load(other), wish)


def write_report(folder: Path, other: Path | None = None, wish: Wish = EVERYTHING) -> Path:
    page = folder / ("report.html" if other is None else "compare.html")
    return write_page(Result.load(folder), page, wish, None if other is None else Result.load(other))


def export_run(folder: Path, format: str, out: Path, level: str = "both", recording: str | None = None) -> list[Path]:
    return Result.load(folder).export(format, out, level=level, recording=recording)


def usage_of_run(folder: Path, groups: Mapping[str, str] | None = None) -> list[report_usage.Usage]:
    return report_usage.usage_of(Result.load(folder), groups)


def groups_of(folder: Path, by: str) -> dict[str, str]:
    found = report_usage.groups_of_run(Result.load(folder), by)
    assert found is not None
    return found


def clock_in_run(folder: Path, recording: str) -> FrameClock | None:
    return clock_of(Result.load(folder), recording)
