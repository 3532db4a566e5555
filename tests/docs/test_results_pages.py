"""Numbers of docs/results are written by programs: each table lies in a section that names the program that writes it.

Other pages are written whole: those with rows beside them (NAME.csv) by `rondo bench table`, quality.md by
benchmarks/quality_page.py (test_quality.py), programs.md from tests/corpus (test_formats.py).
"""

from __future__ import annotations

import argparse
import ast
import doctest
import importlib
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest

from tests.docs.executed_pages import ROOT

RESULTS, BENCHMARKS = ROOT / "docs" / "results", ROOT / "benchmarks"
WHOLE = ("quality", "programs")
MEASURED = re.compile(r"^Rondo \d+\.\d+\.\d+(\.dev|, \d{4}-\d\d-\d\d)?\.$", re.MULTILINE)
STORED = re.compile(r"^From the rows of `(docs/results/\w+\.csv)`\.$", re.MULTILINE)
BEGIN, END = "<!-- written by benchmarks/a.py: b -->", "<!-- end -->"


class Section(NamedTuple):
    """What one program wrote to one page."""

    page: Path
    program: str
    name: str
    text: str

    @property
    def command(self) -> str:
        """The command that it shows, without settings of the environment."""
        shown = re.search(r"^```\n(?:\w+=\S+ )*(python .*)\n```$", self.text, re.MULTILINE)
        assert shown, f"{self.page.name}: {self.name} shows no command"
        return shown[1]


@pytest.fixture
def results_page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return _imported("results_page", monkeypatch)


def _imported(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")  # which some programs set when they are imported; undone after the test
    monkeypatch.syspath_prepend(BENCHMARKS)
    for path in BENCHMARKS.glob("*.py"):
        monkeypatch.delitem(sys.modules, path.stem, raising=False)
    return importlib.import_module(name)


def _pages() -> list[Path]:
    """The pages in which programs write sections."""
    written_whole = {path.stem for path in RESULTS.glob("*.csv")} | set(WHOLE)
    return [path for path in sorted(RESULTS.glob("*.md")) if path.stem not in written_whole]


def _sections() -> Iterator[Section]:
    pattern = re.compile(r"^<!-- written by (\S+): (\S+) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
    for page in _pages():
        for found in pattern.finditer(page.read_text(encoding="utf-8")):
            yield Section(page, *found.groups())


SECTIONS = list(_sections())


def _declared(program: Path) -> list[str]:
    """`SECTIONS` of a program, read without running it."""
    for node in ast.parse(program.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["SECTIONS"]:
            return list(ast.literal_eval(node.value))
    return []


# ---------------------------------------------------------------- pages


def test_every_table_lies_in_a_section() -> None:
    for page in _pages():
        text = page.read_text(encoding="utf-8")
        for section in (section for section in SECTIONS if section.page == page):
            text = text.replace(section.text, "")
        assert not re.search(r"^\|", text, re.MULTILINE), page.name


def test_pages_and_programs_name_the_same_sections() -> None:
    on_pages = sorted((section.program, section.name) for section in SECTIONS)
    programs = [(f"benchmarks/{path.name}", path) for path in BENCHMARKS.glob("*.py")]
    assert on_pages == sorted((name, section) for name, path in programs for section in _declared(path))


def test_a_section_has_a_table_and_says_where_it_is_from() -> None:
    for section in SECTIONS:
        stored = STORED.search(section.text)
        assert "\n|---|" in section.text, section
        assert (ROOT / stored[1]).is_file() if stored else MEASURED.search(section.text), section


class Parsed(Exception):  # noqa: N818
    """Ends a program where it would begin to measure."""


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: f"{section.page.stem}-{section.name}")
def test_a_command_is_one_that_its_program_takes(section: Section, monkeypatch: pytest.MonkeyPatch) -> None:
    python, program, *words = shlex.split(section.command)
    assert (python, program) == ("python", section.program)
    try:
        module = _imported(Path(program).stem, monkeypatch)
    except ModuleNotFoundError as error:
        pytest.skip(f"{error.name} is not installed")
    given: list[argparse.Namespace] = []
    plain = module.parse

    def parse(parser: argparse.ArgumentParser, file: str, arguments: Sequence[str] | None = None) -> None:
        given.append(plain(parser, file, arguments))
        raise Parsed

    monkeypatch.setattr(module, "parse", parse)
    monkeypatch.setattr(sys, "argv", [program, *words])
    with pytest.raises(Parsed):
        module.main()
    assert given[0].command.partition("python ")[2] == section.command.partition("python ")[2]


@pytest.mark.parametrize("name", _declared(BENCHMARKS / "stored_tables.py"))
def test_a_table_of_stored_rows_is_what_is_stored(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    section = next(section for section in SECTIONS if section.name == name)
    table, _ = _imported("stored_tables", monkeypatch).TABLES[name]
    page = section.page.relative_to(ROOT)
    assert str(table()) in section.text, f"run: python benchmarks/stored_tables.py {name} --page {page}"


# ---------------------------------------------------------------- the module


def _page(folder: Path, middle: str = "old\n") -> Path:
    page = folder / "page.md"
    page.write_text(f"# Title\n\nBefore.\n\n{BEGIN}\n{middle}{END}\n\n| after |\n", encoding="utf-8")
    return page


def test_only_its_section_is_replaced_and_twice_gives_the_same_page(tmp_path: Path, results_page: ModuleType) -> None:
    page = _page(tmp_path)
    for _ in range(2):
        results_page.replace_section(page, "benchmarks/a.py", "b", "| x |")
        assert page.read_text() == f"# Title\n\nBefore.\n\n{BEGIN}\n\n| x |\n\n{END}\n\n| after |\n"


def test_a_section_that_is_missing_or_does_not_end_is_an_error(tmp_path: Path, results_page: ModuleType) -> None:
    for text, program, name in (
        (f"{BEGIN}\nold\n{END}\n", "benchmarks/a.py", "c"),
        (f"{BEGIN}\nold\n{END}\n", "benchmarks/b.py", "b"),
        (f"{BEGIN}\nold\n", "benchmarks/a.py", "b"),
    ):
        (tmp_path / "page.md").write_text(text)
        with pytest.raises(SystemExit, match=f"{program}: {name}"):
            results_page.replace_section(tmp_path / "page.md", program, name, "new")
        assert (tmp_path / "page.md").read_text() == text


def test_what_is_printed_is_what_is_written(
    tmp_path: Path, results_page: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    page, parser = _page(tmp_path), argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int)
    typed = [str(tmp_path), "--page", str(page), "--seeds", "3"]
    given = results_page.parse(parser, "/somewhere/benchmarks/a.py", typed)
    table = results_page.Table("set", "ARI")
    table.add("MoCap", 84)
    results_page.write_section(given, "b", table)
    text = page.read_text()
    assert capsys.readouterr().out.strip() in text
    assert "python benchmarks/a.py DATA --seeds 3\n" in text
    assert str(tmp_path) not in text
    assert MEASURED.search(text)


def test_without_a_page_nothing_is_written(tmp_path: Path, results_page: ModuleType) -> None:
    page = _page(tmp_path)
    given = results_page.parse(argparse.ArgumentParser(), "benchmarks/a.py", [])
    results_page.write_section(given, "b", "new")
    assert "old" in page.read_text()


def test_a_row_longer_than_the_head_is_an_error(results_page: ModuleType) -> None:
    with pytest.raises(ValueError, match="3 cells"):
        results_page.Table("a", "b").add(1, 2, 3)


def test_the_examples_of_the_module(results_page: ModuleType) -> None:
    assert doctest.testmod(results_page).failed == 0
