"""A page in a real browser, and everything it said or asked for meanwhile."""

from __future__ import annotations

import shutil
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""Debian's, as a rule; playwright's own is not fetched."""

PATIENCE_MS = 180_000
"""Waiting ends when what is waited for is there; playwright's own half minute is too short on a busy machine."""


class Opened:
    """One page. `trouble` holds what it logged or threw, `requests` every address it asked for."""

    def __init__(self, browser: Any, address: str) -> None:
        self.page = browser.new_page(viewport={"width": 1300, "height": 1000})
        self.page.set_default_timeout(PATIENCE_MS)
        self.trouble: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.page.wait_for_function("window.rondoUnpacked")

    def _heard(self, message: Any) -> None:
        if not message.text.startswith("Canvas2D: Multiple readback"):  # of these tests, which look at pixels
            self.trouble.append(message.text)

    def evaluate(self, script: str, argument: object = None) -> Any:
        return self.page.evaluate(script, argument)

    def settle(self) -> None:
        self.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def point(self, frame: float, lane: int) -> tuple[float, float]:
        """Where a frame of a lane is on the screen."""
        return tuple(
            self.evaluate(
                """([frame, lane]) => {
                  const it = rondoPage.timelines[0]
                  it.canvas.scrollIntoView({block: "start"})
                  const box = it.canvas.getBoundingClientRect()
                  return [box.left + it.xOf(frame), box.top + it.lanesTop + 34 * (lane + 0.5)]
                }""",
                [frame, lane],
            )
        )
