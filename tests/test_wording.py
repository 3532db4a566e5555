"""Numbers with their nouns, what two levels hold, and that no message leaves the choice to its reader."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rondo
from rondo.wording import counted, found_in_words, noun


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 stretches"), (1, "1 stretch"), (2, "2 stretches"), (1_000, "1,000 stretches")]
)
def test_one_is_singular_and_all_else_plural(count: int, said: str) -> None:
    assert counted(count, "stretch", "stretches") == said
    assert said.endswith(noun(count, "stretch", "stretches"))


@pytest.mark.parametrize(
    ("counts", "motifs_are_units", "said"),
    [
        ((1, 1), False, "1 unit and 1 motif here"),
        ((1, 1), True, "1 unit here; no motif is longer than a unit"),
        ((9, 9), True, "9 units here; no motif is longer than a unit"),
        ((0, 0), True, "0 units and 0 motifs here"),
    ],
)
def test_motifs_that_are_units_are_not_counted_again(
    counts: tuple[int, int], motifs_are_units: bool, said: str
) -> None:
    assert found_in_words(*counts, motifs_are_units=motifs_are_units, where=" here") == said


def test_no_message_says_this_or_these() -> None:
    """Such as "channel" with an s in brackets: whoever writes the message knows how many there are."""
    folder = Path(rondo.__file__).parent
    found = {
        f"{path.relative_to(folder)}: {line.strip()}"
        for path in folder.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"[\w}:;,] (?!len)[a-z]+\((s|es)\)", line)
    }
    assert found == set()
