"""What a built page refers to: the places it has, the links it makes, and the files a browser fetches to show it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

_LINKS = {"a", "area"}  # followed by people; everything else with an address is fetched by the page itself
_ADDRESSES = ("src", "href", "srcset", "poster", "data", "action")
_ELSEWHERE = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
_IN_STYLE = re.compile(r"url\(\s*['\"]?(.*?)['\"]?\s*\)|@import\s+['\"](.*?)['\"]")


@dataclass
class Page(HTMLParser):
    """`anchors` are places in the page, `links` what people may follow, `fetched` what the browser asks for."""

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if given.get("rel") in ("canonical", "prev", "next", "alternate"):  # said to search engines, not fetched
            return
        addresses = [given[name] for name in _ADDRESSES if name in given]
        (self.links if tag in _LINKS else self.fetched).extend(addresses)
        self.fetched.extend(in_style(given.get("style", "")))


def in_style(css: str) -> list[str]:
    """
    >>> in_style("@import 'a.css'; p {background: url(https://example.org/b.png)}")
    ['a.css', 'https://example.org/b.png']
    """
    return [found[1] or found[2] for found in _IN_STYLE.finditer(css)]


def is_elsewhere(address: str) -> bool:
    """
    >>> [is_elsewhere(it) for it in ("https://a.org", "//a.org/b", "units.html#cost", "data:image/png;base64,AA")]
    [True, True, False, False]
    """
    return _ELSEWHERE.match(address) is not None
