"""One version: that of the code, of the build, of the changelog and of the citation."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import rondo

ROOT = Path(__file__).resolve().parents[1]


def test_the_top_of_the_changelog_is_about_this_version() -> None:
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert next(heading for heading in headings if heading != "Unreleased") == rondo.__version__
    assert len(set(headings)) == len(headings)


def test_the_citation_names_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (\S+)$", text, re.MULTILINE) == [rondo.__version__]


def test_the_build_takes_the_version_from_the_code() -> None:
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in built["project"]
    assert "version" in built["project"]["dynamic"]
    stated = (ROOT / built["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    assert re.findall(r'^__version__ = "(.*)"$', stated, re.MULTILINE) == [rondo.__version__]
