"""The reference pages are what the code says now, and complete."""

from __future__ import annotations

import re

import pytest
import typer

import rondo
from rondo.cli.main import app
from rondo_bench.baselines.baseline import baseline_names, build_baseline
from scripts.reference.paper import unlisted
from scripts.reference.paper_chain import paper_chain
from scripts.write_reference import FOLDER, PAGES, PAPER, PAPER_CHAIN, SECTION, SECTIONS, with_sections


@pytest.mark.parametrize("name", PAGES)
def test_the_committed_page_is_not_stale(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name](), "run: python -m scripts.write_reference"


def test_the_tables_and_the_picture_of_the_paper_are_not_stale() -> None:
    text = PAPER.read_text(encoding="utf-8")
    assert sorted(found[1] for found in SECTION.finditer(text)) == sorted(SECTIONS)
    assert text == with_sections(text), "run: python -m scripts.write_reference"
    assert PAPER_CHAIN.read_text(encoding="utf-8") == paper_chain(), "run: python -m scripts.write_reference"


def test_every_choice_of_ours_in_the_papers_chain_is_a_reading_or_a_departure() -> None:
    assert unlisted() == [], "name them in scripts/reference/paper.toml"


def test_no_other_page_lies_beside_them() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(PAGES)


def test_every_command_has_a_section_with_an_example() -> None:
    page = PAGES["commands.md"]()
    for path in _commands(typer.main.get_command(app), "rondo"):
        section = re.search(rf"^#+ {path}\n(.*?)(?=^#+ |\Z)", page, re.MULTILINE | re.DOTALL)
        assert section is not None, path
        assert f"```\n{path}" in section[1], path


def test_every_baseline_stands_with_its_own_settings() -> None:
    page = PAGES["settings.md"]()
    for name in baseline_names():
        section = page.partition(f"\n### {name}\n")[2].partition("\n### ")[0]
        own = [key for key, field in type(build_baseline(name).config).model_fields.items() if field.description]
        assert own
        assert [key for key in own if f"| `{key}` |" not in section] == []


def test_everything_that_is_learned_is_explained() -> None:
    rows = re.findall(r"^\| `(\w+_)` \| .*? \| (.*?) \|$", PAGES["api.md"](), re.MULTILINE)
    learned = {name for name in rondo.Rondo.__annotations__ if name.endswith("_")}
    assert {name for name, about in rows if len(about.split()) > 3} == learned


def _commands(group: typer.core.TyperGroup, path: str) -> list[str]:
    found = []
    for name, command in group.commands.items():
        inner = _commands(command, f"{path} {name}") if hasattr(command, "commands") else [f"{path} {name}"]
        found.extend(inner)
    return found
