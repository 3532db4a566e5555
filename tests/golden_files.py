"""The words of commands and notes, one file each in tests/golden: read by people, and compared here.

Tests assert facts; sentences stand in these files alone, so that English is improved at one place. After a change of
words: `pytest tests --update-golden`, and look at the difference before you commit it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "golden"
_HEAD = "=== "
_VARIES = re.compile(r"(?<=about )\d+(?:\.\d+)? (?=(?:s|min|h)\b)|\b\d+(?:\.\d+)? (?=[kMG]B\b)")  # between machines
_RUN_ID = re.compile(r"\brun [0-9a-f]{16}\b")  # a hash of labels, whose last bits vary between CPUs


class Golden:
    """Compares texts with the sections of golden files, or writes them there.

    Parameters
    ----------
    folder : Path
        Of the test: its paths are written without it.
    is_updated : bool
        Whether texts are written instead of compared.
    """

    def __init__(self, folder: Path, is_updated: bool) -> None:
        self._folders = sorted({str(folder), os.path.realpath(folder)}, key=len, reverse=True)
        self._is_updated = is_updated

    def keys(self, name: str) -> list[str]:
        return list(_sections(name))

    def check(self, name: str, key: str, text: str) -> None:
        """That section `key` of tests/golden/NAME.txt is this text, apart from what varies."""
        said = self._plain(text)
        sections = _sections(name)
        if self._is_updated and sections.get(key) != said:
            sections[key] = said
            FOLDER.mkdir(exist_ok=True)
            parts = (f"{_HEAD}{key}\n{part}\n" for key, part in sorted(sections.items()))
            (FOLDER / f"{name}.txt").write_text("\n".join(parts), encoding="utf-8")
            return
        assert said == sections.get(key), f"tests/golden/{name}.txt says otherwise; pytest --update-golden writes it"

    def _plain(self, text: str) -> str:
        for folder in self._folders:
            text = text.replace(f"{folder}/", "").replace(folder, ".")
        return "\n".join(line.rstrip() for line in _VARIES.sub("# ", _RUN_ID.sub("run #", text)).strip().splitlines())


def _sections(name: str) -> dict[str, str]:
    path = FOLDER / f"{name}.txt"
    _, *parts = f"\n{path.read_text(encoding='utf-8') if path.exists() else ''}".split(f"\n{_HEAD}")
    return {head: text.strip("\n") for head, _, text in (part.partition("\n") for part in parts)}


def golden_for(request: pytest.FixtureRequest, folder: Path) -> Golden:
    is_updated = bool(request.config.getoption("--update-golden"))
    if is_updated and hasattr(request.config, "workerinput"):
        pytest.fail("--update-golden writes one file from many tests: run it without -n")
    return Golden(folder, is_updated)
