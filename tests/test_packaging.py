"""What other ways of installing say agrees with pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import jinja2
import pytest

import rondo

ROOT = Path(__file__).resolve().parents[1]
BUILT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
RECIPE = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")


def test_the_conda_recipe_asks_for_what_pip_asks_for() -> None:
    listed = re.search(r"^  run:\n((?:    - .*\n)+)", RECIPE, re.MULTILINE)
    assert listed is not None
    asked = [line.removeprefix("    - ").replace(" ", "") for line in listed[1].splitlines()]
    assert asked == [f"python{BUILT['project']['requires-python']}", *BUILT["project"]["dependencies"]]


def test_the_conda_recipe_has_the_command() -> None:
    for name, target in BUILT["project"]["scripts"].items():
        assert f"    - {name} = {target}\n" in RECIPE


def test_the_conda_recipe_renders_to_this_version() -> None:
    """As conda-build renders it: Jinja first, then YAML."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (zensical brings it)")

    def load_file_regex(load_file: str, regex_pattern: str, from_recipe_dir: bool) -> re.Match[str] | None:
        return re.search(regex_pattern, (ROOT / load_file).read_text(encoding="utf-8"))

    text = jinja2.Environment().from_string(RECIPE).render(load_file_regex=load_file_regex, PYTHON="python")
    recipe = yaml.safe_load(text)
    assert recipe["package"] == {"name": BUILT["project"]["name"], "version": rondo.__version__}
    assert recipe["requirements"]["host"] == [
        f"python {BUILT['project']['requires-python']}",
        "pip",
        "hatchling >=1.21",
    ]
    assert BUILT["build-system"]["requires"] == ["hatchling>=1.21"]
    assert recipe["about"]["license_file"] in {path.name for path in ROOT.iterdir()}


def test_the_source_distribution_has_every_page_and_folder_of_the_project() -> None:
    listed = {name.removeprefix("/") for name in BUILT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]}
    assert [name for name in sorted(listed) if not (ROOT / name).exists()] == []
    pages = {path.name for path in ROOT.glob("*.md")}
    assert pages | {"LICENSE", "CITATION.cff", "conftest.py", "constraints.txt", "mkdocs.yml"} <= listed
    assert {"src", "tests", "docs", "scripts", "benchmarks", "packaging"} <= listed
