"""A Result becomes one HTML page: summarize (-> dict), render (-> page)."""

from rondo.report.render import render, write_page
from rondo.report.summarize import summarize

__all__ = ["render", "summarize", "write_page"]
