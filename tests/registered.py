"""Methods that a test adds as an installed package would: by an entry point of the group `rondo.methods`."""

from __future__ import annotations

from pathlib import Path

import pytest


def register(monkeypatch: pytest.MonkeyPatch, folder: Path, **methods: str) -> None:
    """Let a package that declares these methods be found: name = "module:attribute"."""
    about = folder / "tried_methods-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tried-methods\nVersion: 1\n", encoding="utf-8")
    lines = [f"{name} = {place}" for name, place in methods.items()]
    (about / "entry_points.txt").write_text("\n".join(["[rondo.methods]", *lines, ""]), encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
