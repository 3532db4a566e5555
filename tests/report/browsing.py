"""A page in a real browser, and everything it said or asked for meanwhile."""

from __future__ import annotations

import re
import shutil
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
"""Debian's, as a rule; playwright's own is not fetched."""

PATIENCE_MS = 180_000
"""Waiting ends when what is waited for is there; playwright's own half minute is too short on a busy machine."""


class Opened:
    """One page. `trouble` holds what it logged or threw, `requests` every address it asked for."""

    def __init__(self, browser: Any, address: str, width: int = 1300, height: int = 1000, **options: Any) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": height}, **options)
        self.page.set_default_timeout(PATIENCE_MS)
        self.page.wait_for_function = self.wait  # playwright's own evaluates strings later on, which the policy forbids
        self.trouble: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.wait("window.rondoUnpacked")

    def _heard(self, message: Any) -> None:
        if not message.text.startswith("Canvas2D: Multiple readback"):  # of these tests, which look at pixels
            self.trouble.append(message.text)

    def evaluate(self, script: str, argument: object = None) -> Any:
        return self.page.evaluate(script, argument)

    def wait(self, condition: str, arg: object = None) -> None:
        """Until an expression, or a function of an argument, is true; also over a reload of the page."""
        wait_in(self.page, condition, arg)

    def settle(self) -> None:
        self.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")

    def point(self, frame: float, lane: int) -> tuple[float, float]:
        """Where a frame of a lane is on the screen: in the block or the row of the segment that lies there."""
        return tuple(
            self.evaluate(
                """([frame, place]) => {
                  const it = rondoPage.timelines[0], lane = it.lanes[place]
                  it.canvas.scrollIntoView({block: "start"})
                  const box = it.canvas.getBoundingClientRect(), own = it.boxOf(lane, firstEndingAfter(lane, frame))
                  return [box.left + it.xOf(frame), box.top + (own.top + own.bottom) / 2]
                }""",
                [frame, lane],
            )
        )


def wait_in(frame: Any, condition: str, arg: object = None) -> None:
    """Until a condition holds in a page or a frame of one."""
    function = condition if re.match(r"\s*\([^)]*\)\s*=>", condition) else f"() => ({condition})"
    script = f"""([arg, patience]) => new Promise((done, fail) => {{
      const holds = {function}, until = Date.now() + patience
      const look = () => {{
        if (holds(arg)) return done(true)
        if (Date.now() > until) return fail(new Error("it does not come to hold"))
        setTimeout(look, 10)
      }}
      look()
    }})"""
    while True:
        try:
            frame.evaluate(script, [arg, PATIENCE_MS])
            return
        except Exception as error:  # playwright has no name of its own for a page that was loaded again meanwhile
            if "navigation" not in str(error):
                raise AssertionError(f"{condition}: {error}") from error
