"""Formulas in the documentation become MathML, wherever they stand, and a command that is not known stops the build."""

from __future__ import annotations

import pytest

markdown = pytest.importorskip("markdown", reason="Markdown is not installed (the extra `docs` has it)")
pytest.importorskip("latex2mathml", reason="latex2mathml is not installed (the extra `docs` has it)")


def html(text: str) -> str:
    return str(markdown.markdown(text, extensions=["tables", "pymdownx.superfences", "scripts.math_markup"]))


def test_a_formula_in_a_line_and_one_of_its_own() -> None:
    page = html("The ratio $r < 1$ is small.\n\n$$\n\\frac{d}{r}\n$$\n")
    assert page.count('display="inline"') == page.count('display="block"') == 1
    assert "<mi>r</mi><mo>&#x0003C;</mo><mn>1</mn>" in page
    assert "<mfrac>" in page
    assert "$" not in page


def test_a_formula_in_a_table() -> None:
    assert html("| a | b |\n|---|---|\n| $x_i$ | 2 |\n").count("<msub>") == 1


def test_code_and_prices_are_no_formulas() -> None:
    page = html("`$x$` costs $5 or $10.\n\n```\n$ rondo demo\n$ ls\n```\n")
    assert "<math" not in page
    assert "$ rondo demo" in page


def test_an_unknown_command_is_an_error_that_shows_the_formula() -> None:
    with pytest.raises(ValueError, match=r"not know: \\nonsense x"):
        html(r"$\nonsense x$")
