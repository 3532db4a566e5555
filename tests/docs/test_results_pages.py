"""Numbers of docs/results are written by programs: each table lies in a section that names the program that writes it.

Sections of benchmarks/pages.py are made of stored rows and equal what it prints now. The others show the command that
measured them, the version of Rondo and the date. programs.md is written from tests/corpus (test_formats.py).
"""

from __future__ import annotations

import argparse
import doctest
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from types import ModuleType
from typing import NamedTuple

import pytest

from tests.benchmark_scripts import NAMES, imported
from tests.docs.executed_pages import ROOT

RESULTS = ROOT / "docs" / "results"
PAGES = [path for path in sorted(RESULTS.glob("*.md")) if path.stem != "programs"]
MEASURED = re.compile(r"^Rondo \d+\.\d+\.\d+(\.dev|, \d{4}-\d\d-\d\d)?\.$", re.MULTILINE)
STORED = "benchmarks/pages.py"
BEGIN, END = "<!-- written by benchmarks/a.py: b -->", "<!-- end -->"


class Section(NamedTuple):
    """What one program wrote to one page."""

    page: Path
    program: str
    name: str
    text: str


def _sections() -> Iterator[Section]:
    pattern = re.compile(r"^<!-- written by (\S+): (\S+) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
    for page in PAGES:
        for found in pattern.finditer(page.read_text(encoding="utf-8")):
            yield Section(page, *found.groups())


SECTIONS = list(_sections())


@pytest.fixture(scope="module")
def pages() -> Iterator[ModuleType]:
    with imported("pages") as module:
        yield module


def test_every_table_lies_in_a_section() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for section in (section for section in SECTIONS if section.page == page):
            text = text.replace(section.text, "")
        assert [line for line in text.splitlines() if line.startswith("|")] == [], page.name


def test_pages_and_programs_name_the_same_sections() -> None:
    declared = []
    for name in NAMES:
        with imported(name) as module:
            declared += [(f"benchmarks/{name}.py", section) for section in getattr(module, "SECTIONS", ())]
    assert sorted((section.program, section.name) for section in SECTIONS) == sorted(declared)


@pytest.mark.parametrize(
    "section", [section for section in SECTIONS if section.program != STORED], ids=lambda section: section.name
)
def test_a_measured_section_shows_a_command_that_its_program_takes(section: Section) -> None:
    assert "\n|---|" in section.text
    assert MEASURED.search(section.text)
    shown = re.search(r"^```\n(?:\w+=\S+ )*python (.*)\n```$", section.text, re.MULTILINE)
    assert shown
    program, *words = shlex.split(shown[1])
    assert program == section.program
    with imported(Path(program).stem) as module:
        options = module.parsed(words)
        assert options.command.partition("python ")[2] == shown[1]
        if hasattr(module, "section_of"):
            assert module.section_of(options) == section.name


@pytest.mark.parametrize("name", sorted(section.name for section in SECTIONS if section.program == STORED))
def test_a_section_of_stored_rows_is_what_is_stored(name: str, pages: ModuleType) -> None:
    (section,) = (section for section in SECTIONS if (section.program, section.name) == (STORED, name))
    text = pages.SECTIONS[name]()
    assert section.text.strip() == text, f"run: python benchmarks/pages.py {name}"
    assert "other settings" not in text  # rows were made with the settings of now


def test_the_readme_has_the_table_of_the_page(pages: ModuleType) -> None:
    table = pages.quality_table(*pages.stored_scores())
    assert table in (ROOT / "README.md").read_text(encoding="utf-8"), "run: python benchmarks/pages.py readme"


def test_no_peer_is_ahead_on_average_as_the_readme_says(pages: ModuleType) -> None:
    assert "Rondo on average over" in (ROOT / "README.md").read_text(encoding="utf-8")
    for method, pairs in pages.averages(*pages.stored_scores()).items():
        theirs, ours = (mean(column) for column in zip(*pairs, strict=True))
        assert theirs < ours, method


def test_the_best_peer_has_the_highest_mean_of_three_scores(pages: ModuleType) -> None:
    a, b, c = (dict(zip(pages.SCORES, values, strict=True)) for values in ((50, 50, 50), (90, 40, 30), (99, 99, 99)))
    peers = {"set": {"a": {"y": a}, "b": {"y": b}, "c": {"y2": c}}}
    assert pages.best_of(peers, "set", "y") == ("b", b)
    assert pages.best_of(peers, "another", "y") is None


def _page(folder: Path) -> Path:
    page = folder / "page.md"
    page.write_text(f"# Title\n\nBefore.\n\n{BEGIN}\nold\n{END}\n\n| after |\n", encoding="utf-8")
    return page


def test_only_its_section_is_replaced_and_twice_gives_the_same(tmp_path: Path, pages: ModuleType) -> None:
    page = _page(tmp_path)
    for _ in range(2):
        pages.replace_section(page, "benchmarks/a.py", "b", "new")
        assert page.read_text() == f"# Title\n\nBefore.\n\n{BEGIN}\n\nnew\n\n{END}\n\n| after |\n"


@pytest.mark.parametrize(("program", "name"), [("benchmarks/a.py", "c"), ("benchmarks/b.py", "b")])
def test_a_missing_section_is_an_error(tmp_path: Path, pages: ModuleType, program: str, name: str) -> None:
    page = _page(tmp_path)
    with pytest.raises(SystemExit, match=f"written by {program}: {name} "):
        pages.replace_section(page, program, name, "new")
    assert "old" in page.read_text()


def test_what_is_printed_is_what_is_written(
    tmp_path: Path, pages: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    page, parser = _page(tmp_path), argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int)
    options = pages.parse(parser, "benchmarks/a.py", [str(tmp_path), "--page", str(page), "--seeds", "3"])
    table = pages.Table("set", "ARI")
    table.add("MoCap", 84)
    pages.write_section(options, "b", table)
    text = page.read_text()
    assert capsys.readouterr().out.strip() in text
    assert "python benchmarks/a.py DATA --seeds 3\n" in text
    assert str(tmp_path) not in text
    assert MEASURED.search(text)


def test_the_examples_of_the_module(pages: ModuleType) -> None:
    assert doctest.testmod(pages).failed == 0
