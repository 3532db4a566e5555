"""The report as a browser shows it, headless and without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from rondo.report import write_report
from tests.report.run_folders import write_run_folder

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on the PATH"),
]

PROBE = """<script>setTimeout(() => {
  const canvases = [...document.querySelectorAll(".timeline canvas")]
  const inked = canvases.filter((c) => new Set(new Uint32Array(
    c.getContext("2d").getImageData(0, 0, c.width, c.height).data.buffer)).size > 10)
  document.body.dataset.canvases = inked.length
  document.body.dataset.requests = performance.getEntriesByType("resource").length
  const button = document.querySelector("button.exemplar")
  button.click()
  const {start, end} = rondoPage.timelines[Number(button.dataset.timeline)].view
  document.body.dataset.moved = start === Number(button.dataset.from) && end === Number(button.dataset.to) ? 1 : 0
}, 2000)</script></body>"""


def opened(page: Path, profile: Path) -> tuple[str, str]:
    """The DOM after the page has settled, and what the browser logged meanwhile."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}", "--window-size=1400,1600",
            "--virtual-time-budget=4000", "--enable-logging=stderr", "--v=0", "--dump-dom", page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout, done.stderr


@pytest.mark.parametrize(
    ("recording_ids", "channels"),
    [(("day1", "day2"), ("x", "y", "z")), (('<b>&"',), ("</script><b>", "$$\\frac{1}{2}$$"))],
)
def test_every_timeline_is_drawn_without_errors_or_requests(
    tmp_path: Path, recording_ids: tuple[str, ...], channels: tuple[str, ...]
) -> None:
    report = write_report(write_run_folder(tmp_path / "run", recording_ids=recording_ids, channels=channels))
    probed = tmp_path / "probed.html"
    probed.write_text(report.read_text(encoding="utf-8").replace("</body>", PROBE), encoding="utf-8")
    dom, log = opened(probed, tmp_path / "profile")
    found = dict(re.findall(r'data-(canvases|requests|moved)="(\d+)"', dom))
    assert found == {"canvases": str(len(recording_ids)), "requests": "0", "moved": "1"}  # to the exemplar pressed
    assert not [line for line in log.splitlines() if "CONSOLE" in line]
