"""The prose of the documentation: short, and free of phrases that the first version leaned on."""

from __future__ import annotations

import re
from pathlib import Path

from scripts.write_reference import SECTION
from tests.docs.executed_pages import ROOT

PHRASES = (
    "all of that is said", "that chose nothing", "chose nothing", "who is taken for whom", "says which window suits",
    "which window suits a recording, and what a run will cost", "takes every component for different from every other",
    "no more than chance would have it", "would have it", "are then values and no movements",
    "stand for themselves and so say", "honest by construction", "anew", "is said", "are said", "is told", "are told",
)  # fmt: skip
MOST_WORDS = 28_950
BUDGETS = {
    "README.md": 900,
    "CONTRIBUTING.md": 1_400,
    "docs/index.md": 150,
    "docs/start.md": 1_040,
    "docs/animals.md": 700,
    "docs/files.md": 2_600,
    "docs/paper.md": 900,
    "docs/method.md": 3_600,
    "docs/benchmark.md": 2_350,
    "docs/architecture.md": 800,
    "docs/comparison.md": 1_000,
    "docs/limits.md": 950,
    "docs/report.md": 2_200,
    "docs/judging.md": 1_900,
    "docs/recipes.md": 1_300,
    "docs/notebooks/notebooks.md": 160,
    "docs/streams.md": 3_350,
    "docs/operations.md": 600,
    "docs/promises.md": 600,
    "docs/many.md": 1_600,
    "docs/coarseness.md": 750,
    "docs/plants.md": 700,
    "docs/tutorials/live_stream.md": 900,
    "docs/tutorials/wearable.md": 1_100,
    "docs/tutorials/motion_capture.md": 900,
}


def pages_of_the_site() -> list[str]:
    """README and the pages written by hand; programs write docs/reference, docs/results and marked sections."""
    found = [
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "docs" / "tutorials").glob("*.md"),
        ROOT / "docs/notebooks/notebooks.md",
    ]
    return ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in found)]


def text_of(page: str) -> str:
    text = SECTION.sub("", (ROOT / page).read_text(encoding="utf-8"))
    return text.partition("\n## ")[2].partition("\n## ")[0] if page == "CHANGELOG.md" else text  # its top section


def phrases_in(text: str) -> list[str]:
    """
    >>> phrases_in("All of that\\nis said, and begun anew.")
    ['all of that is said', 'anew', 'is said']
    """
    words = " ".join(text.lower().split())
    return [phrase for phrase in PHRASES if re.search(rf"\b{phrase}\b", words)]


def test_no_page_has_a_phrase_of_the_first_version() -> None:
    pages = [*pages_of_the_site(), "CONTRIBUTING.md", "CHANGELOG.md"]
    assert {page: found for page in pages if (found := phrases_in(text_of(page)))} == {}


def test_no_source_file_has_one_either() -> None:
    files = [*(ROOT / "src").rglob("*.py")]
    assert {file.stem: found for file in files if (found := phrases_in(file.read_text(encoding="utf-8")))} == {}


def test_pages_and_the_site_keep_their_budgets() -> None:
    assert [page for page, most in BUDGETS.items() if len(text_of(page).split()) > most] == []
    assert sum(len(text_of(page).split()) for page in pages_of_the_site()) <= MOST_WORDS


def test_files_that_are_named_for_contributors_are_there() -> None:
    named = re.findall(r"`((?:rondo|rondo_bench|tests|scripts|benchmarks)/[\w./*]+)`", text_of("CONTRIBUTING.md"))
    assert len(named) >= 25
    folders = (ROOT, ROOT / "src")
    assert [name for name in named if not any(_holds(folder, name) for folder in folders)] == []


def _holds(folder: Path, name: str) -> bool:
    return any(folder.glob(name.replace("NAME", "*")))
