"""A Result becomes one HTML page: overview (signal), summarize (-> dict), render (-> page)."""

from rondo.report.overview import Overview, overview_path, read_overview, signal_overview, write_overview
from rondo.report.render import render, write_page
from rondo.report.summarize import summarize

__all__ = [
    "Overview",
    "overview_path",
    "read_overview",
    "render",
    "signal_overview",
    "summarize",
    "write_overview",
    "write_page",
]
