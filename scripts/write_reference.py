"""Write docs/reference/ from the code: commands, settings and the names of the API.

    python -m scripts.write_reference       from the root of the repository

The pages are committed, so that they can be read without building anything; `tests/docs/test_reference.py` says when
they are stale.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scripts.reference.api import api_page
from scripts.reference.commands import commands_page
from scripts.reference.settings import settings_page

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "reference"
PAGES: dict[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "settings.md": settings_page,
    "api.md": api_page,
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
        print(FOLDER / name)


if __name__ == "__main__":
    main()
