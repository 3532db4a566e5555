"""The files of the page: templates, look and scripts in `assets/`, which all end up inside it."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Template

_STYLES = ("report", "panel", "edit")
_SCRIPTS = (
    "plugins", "keeping", "theme", "signal", "patterns", "signal_rows", "axis", "lanes", "timeline", "scores",
    "overview_strip", "listening", "elements", "curves", "occurrences", "panel", "compose", "choosing", "sheet",
    "edit_store", "edit_panel", "edit", "page",
)  # fmt: skip


def style(*, served: bool = False) -> str:
    """The style sheets."""
    return "\n".join(asset(f"{name}.css") for name in (*_STYLES, *(["served"] if served else [])))


def script() -> str:
    """Everything that draws, as one script."""
    return "\n".join(asset(f"{name}.js") for name in _SCRIPTS)


def served_scripts(*, live: bool, media: bool) -> list[str]:
    """What only a page has that can ask a server."""
    return [asset(f"{name}.js") for name, is_there in (("live", live), ("media", media)) if is_there]


def asset(name: str) -> str:
    """A file of `assets/`."""
    return (files("rondo.report") / "assets" / name).read_text(encoding="utf-8")


def page_template() -> Template:
    """The page, with its parts by their file names; what is filled in stays text."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    loader = FunctionLoader(asset)
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, loader=loader).get_template(
        "page.html"
    )
