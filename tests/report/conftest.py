"""A browser for the tests of the page: one per module, a fresh page per test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import call, waves, write_csv
from tests.report.browsing import CHROMIUM, PATIENCE_MS, Opened


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Closed with the module: while it runs, nobody else in this process can start an event loop."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed (the extra `test` has it)"
    )
    if CHROMIUM is None:
        pytest.skip("no chromium, chromium-browser or google-chrome on the PATH")
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"], timeout=PATIENCE_MS)
        yield launched
        launched.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Any]:
    """Opens a page by its address; at the end of the test none may have logged or thrown anything."""
    pages: list[Opened] = []

    def open_page(address: str, **options: Any) -> Opened:
        pages.append(Opened(browser, address, **options))
        return pages[-1]

    yield open_page
    for it in pages:
        it.page.close()
        assert not it.trouble


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nine occurrences of three units, each its own motif."""
    folder = tmp_path_factory.mktemp("edited")
    write_csv(folder / "day.csv", waves(1350))
    quick = ("--set", "evidence.surrogates=0", "--set", "encoder.shape_channels=0", "--set", "motifs.method=none")
    window = ("--rate", 50, "--window", 40, "--step", 20)
    done = call("discover", folder / "day.csv", *window, "--out", folder / "run", *quick)
    assert done.code == 0, done.err
    return folder / "run"


@pytest.fixture
def run(fitted: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(fitted, tmp_path / "run"))
