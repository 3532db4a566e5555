"""The README as the package index shows it: the index has no file that a relative link could lead to.

A release sets RONDO_LINKS to the address of its commit, as https://github.com/OWNER/NAME: links become absolute. In
any other build their words stay, and pictures are left out.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


def absolute(text: str, repository: str, ref: str) -> str:
    """`text` with every relative link leading to `ref` of a repository on GitHub; without one, to nothing."""

    def linked(found: re.Match[str]) -> str:
        picture, words, path = found.groups()
        if not repository:
            return "" if picture else words
        return f"{picture}[{words}]({repository}/{'raw' if picture else 'blob'}/{ref}/{path})"

    return LINK.sub(linked, text)


class ReadmeHook(MetadataHookInterface):
    """Called by hatchling; pyproject.toml names it."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        repository, ref = os.environ.get("RONDO_LINKS", "").rstrip("/"), f"v{metadata['version']}"
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text, repository, ref)}
