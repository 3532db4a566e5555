"""Write docs/reference/, the tables of docs/paper.md and its picture from the code.

    python -m scripts.write_reference       from the root of the repository

The pages are committed, so that they can be read without building anything; `tests/docs/test_reference.py` says when
they are stale.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from scripts.reference import paper
from scripts.reference.api import api_page
from scripts.reference.commands import commands_page
from scripts.reference.paper_chain import paper_chain
from scripts.reference.settings import settings_page

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "settings.md": settings_page,
    "api.md": api_page,
}

PAPER = FOLDER.parent / "paper.md"
PAPER_CHAIN = FOLDER.parent / "pictures" / "paper_chain.svg"
SECTIONS: dict[str, Callable[[], str]] = {
    "hyper-parameters": paper.hyper_parameters,
    "readings": paper.readings,
    "departures": paper.departures,
}
SECTION = re.compile(r"^<!-- written by scripts.write_reference: (\S+) -->\n(.*?)^<!-- end -->$", re.M | re.S)


def with_sections(text: str) -> str:
    """A page with every marked section as it is now."""

    def replaced(found: re.Match[str]) -> str:
        return f"<!-- written by scripts.write_reference: {found[1]} -->\n\n{SECTIONS[found[1]]()}\n\n<!-- end -->"

    return SECTION.sub(replaced, text)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
        print(FOLDER / name)
    PAPER.write_text(with_sections(PAPER.read_text(encoding="utf-8")), encoding="utf-8")
    PAPER_CHAIN.write_text(paper_chain(), encoding="utf-8")
    print(PAPER, PAPER_CHAIN, sep="\n")


if __name__ == "__main__":
    main()
