"""A Markdown extension for the documentation: `$...$` and `$$...$$` become MathML while the site is built.

Browsers draw MathML by themselves, so the pages need no script and no font from elsewhere, and the sources read as
formulas on GitHub. `pymdownx.arithmatex` finds the formulas, `latex2mathml` translates them; a command that it does not
know stops the build instead of standing in the page with its backslash.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*\\[(\[](.*?)\\[)\]]\s*</\1>', re.S)
_UNKNOWN = re.compile(r"<mi>\\")


def to_mathml(latex: str, display: str) -> str:
    """`display` is "inline" or "block"; tests/docs/test_math_markup.py has examples."""
    markup = convert(latex, display=display)
    if _UNKNOWN.search(markup):
        raise ValueError(f"a formula has a command that latex2mathml does not know: {latex.strip()}")
    return markup


class _Formulas(Postprocessor):
    def run(self, text: str) -> str:
        return _FORMULA.sub(lambda found: to_mathml(html.unescape(found[2]), _DISPLAY[found[1]]), text)


_DISPLAY = {"span": "inline", "div": "block"}


class MathMarkup(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  # the name that Markdown calls
        md.registerExtensions(["pymdownx.arithmatex"], {"pymdownx.arithmatex": {"generic": True}})
        md.postprocessors.register(_Formulas(md), "math_markup", 0)  # last, when formulas are back in the text


def makeExtension(**options: Any) -> MathMarkup:  # noqa: N802  # the name that Markdown calls
    return MathMarkup(**options)
