"""The documentation as a site: it builds without a warning, leads nowhere that does not exist, and asks nobody."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests.docs.links import Page, in_style, is_elsewhere
from tests.report.browsing import CHROMIUM

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
TOOLS = ("zensical", "latex2mathml")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """The build in a copy of the sources, so that the checkout stays as it is."""
    missing = [name for name in TOOLS if find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; pip install 'rondo-ts[docs]'")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    (folder / "scripts").mkdir()
    for name in ("mkdocs.yml", "scripts/math_markup.py"):
        shutil.copy(ROOT / name, folder / name)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    done.args = folder / "site"
    return done


@pytest.fixture(scope="module")
def site(build: subprocess.CompletedProcess[str]) -> Path:
    folder: Path = build.args
    if not folder.is_dir():
        pytest.fail(f"no site was built: {build.stdout}{build.stderr}")
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """All but 404.html, which a server shows wherever somebody got lost: its links begin at the root of the server."""
    return {path.resolve(): Page(path) for path in sorted(site.rglob("*.html")) if path.name != "404.html"}


def test_it_builds_without_a_warning(build: subprocess.CompletedProcess[str]) -> None:
    said = re.sub(r"\x1b\[[0-9;]*m", "", build.stdout + build.stderr)
    assert build.returncode == 0, said
    assert "No issues found" in said


def test_every_page_is_in_the_navigation_and_the_navigation_has_no_other() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (zensical brings it)")
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = list(_leaves(config["nav"]))
    assert sorted(listed) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_a_tab_opens_the_first_page_below_it(site: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed (zensical brings it)")
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    html = (site / "index.html").read_text(encoding="utf-8")
    tabs = re.findall(r'<a href="([^"]+)" class="md-tabs__link">\s*(.*?)\s*</a>', html, re.DOTALL)
    expected = {title: next(_leaves(below)).removesuffix(".md") for item in nav for title, below in item.items()}
    assert {title: address.removeprefix("./").removesuffix(".html") for address, title in tabs} == expected


def test_every_link_anchor_and_picture_is_there(pages: dict[Path, Page]) -> None:
    assert len(pages) > 20
    assert [f"{page.path.name}: {address}" for page in pages.values() for address in _dead(page, pages)] == []


def test_links_of_the_readme_and_its_neighbours_lead_to_files() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        text = re.sub(r"```.*?```", "", (ROOT / name).read_text(encoding="utf-8"), flags=re.DOTALL)
        addresses = [it for it in re.findall(r"\]\(([^)\s]+)\)", text) if not is_elsewhere(it)]
        assert [it for it in addresses if not (ROOT / it.partition("#")[0]).exists()] == []


def test_no_page_or_style_fetches_anything_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    fetched = {f"{page.path.name}: {it}" for page in pages.values() for it in page.fetched if is_elsewhere(it)}
    for style in site.rglob("*.css"):
        fetched |= {f"{style.name}: {it}" for it in in_style(style.read_text(encoding="utf-8")) if is_elsewhere(it)}
    assert fetched == set()


def test_links_to_elsewhere_are_secure_and_few(pages: dict[Path, Page], record_property: Any) -> None:
    """They are listed in the report of the run (`--junit-xml`) and never requested."""
    outside = sorted({it for page in pages.values() for it in page.links if is_elsewhere(it)})
    record_property("links_to_elsewhere", outside)
    assert [it for it in outside if not it.startswith("https://")] == []
    assert len(outside) < 60


def test_formulas_are_drawn_by_the_browser_itself(pages: dict[Path, Page]) -> None:
    method = next(path for path in pages if path.name == "method.html").read_text(encoding="utf-8")
    assert method.count("<math ") > 20
    assert "arithmatex" not in method


@pytest.mark.browser
def test_from_a_disk_the_search_finds_and_no_request_leaves(site: Path) -> None:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on the PATH")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page, asked = browser.new_page(), []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        typed = page.locator("input[aria-label='Search']")
        typed.wait_for(state="attached")  # its script has run, and the button has something to open
        page.get_by_role("button", name="Search").first.click()
        typed.fill("surrogate")
        found = page.get_by_text(re.compile(r"^\d+ results$")).inner_text()
        browser.close()
    assert int(found.split()[0]) >= 3
    assert [address for address in asked if not address.startswith(("file:", "data:", "blob:"))] == []


def _leaves(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for item in nav.values() if isinstance(nav, dict) else nav:
            yield from _leaves(item)


def _dead(page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    """Addresses within the site that lead nowhere: a file that is not there, or a place that its page does not have."""
    for address in [*page.links, *page.fetched]:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path.resolve()
        if target.is_dir():
            target /= "index.html"
        anchors = pages[target].anchors if target in pages else {parts.fragment}
        if not target.is_file() or (parts.fragment and unquote(parts.fragment) not in anchors):
            yield address
