"""A browser for the tests of the page: one per module, a fresh page per test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

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
