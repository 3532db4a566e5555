"""The Content-Security-Policy: scripts of Rondo run, and nothing that came with the data does."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from rondo.report.render import content_policy
from tests.report.browsing import PATIENCE_MS, wait_in
from tests.report.on_folders import write_report
from tests.report.run_folders import write_run_folder

PAGE = """<!DOCTYPE html><html><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}"></head>
<body><p style="color: rgb(1, 2, 3)">text</p><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
<script type="application/json" id="data">{{"n": 3}}</script>
<script>{script}</script>{injected}<script>{last}</script></body></html>"""
SCRIPT = "window.ran = JSON.parse(document.getElementById('data').textContent).n // é"
LAST = "window.done = true"


def rules_of(policy: str) -> dict[str, str]:
    return {rule.partition(" ")[0]: rule.partition(" ")[2] for rule in policy.split("; ")}


def test_nothing_is_allowed_that_is_not_named() -> None:
    rules = rules_of(content_policy([SCRIPT, SCRIPT, LAST], live=False, media=False))
    hashes = [base64.b64encode(hashlib.sha256(it.encode()).digest()).decode() for it in (SCRIPT, LAST)]
    assert rules == {
        "default-src": "'none'",
        "script-src": " ".join(f"'sha256-{it}'" for it in hashes),
        "style-src": "'unsafe-inline'",
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


@pytest.mark.parametrize(("live", "media"), [(False, False), (True, False), (True, True)])
def test_a_page_asks_its_own_server_at_most(live: bool, media: bool) -> None:
    rules = rules_of(content_policy([], live=live, media=media))
    assert rules.get("connect-src") == ("'self'" if live else None)
    assert rules.get("media-src") == ("'self'" if media else None)
    assert rules["script-src"] == "'none'"


@pytest.mark.browser
@pytest.mark.parametrize(
    "injected",
    [
        "<script>window.hacked = 1</script>",
        "<img src=x onerror='window.hacked = 1'>",
        "<svg onload='window.hacked = 1'></svg>",
        "<script src='data:text/javascript,window.hacked = 1'></script>",
        "<iframe srcdoc='<script>parent.hacked = 1</script>'></iframe>",
        "<base href='https://example.org/'><script src='x.js'></script>",
        "<script>eval('window.hacked = 1')</script>",
    ],
)
def test_what_comes_with_the_data_does_not_run(browser: Any, tmp_path: Path, injected: str) -> None:
    policy = content_policy([SCRIPT, LAST], live=False, media=False)
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(policy=policy, script=SCRIPT, injected=injected, last=LAST), encoding="utf-8")
    page = browser.new_page()
    page.set_default_timeout(PATIENCE_MS)
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(path.as_uri())
    page.wait_for_function("window.done")
    assert page.evaluate("[window.ran, window.hacked ?? null]") == [3, None]
    assert page.evaluate("getComputedStyle(document.querySelector('p')).color") == "rgb(1, 2, 3)"
    assert any("Content Security Policy" in text for text in refused)
    page.close()


@pytest.mark.browser
def test_a_real_page_runs_its_own_scripts_and_no_other(browser: Any, tmp_path: Path) -> None:
    """As if a name had broken out of its place."""
    report = write_report(write_run_folder(tmp_path / "run", n_frames=600))
    text = report.read_text(encoding="utf-8")
    bad = (
        "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'><a href='javascript:hacked = 1'>x</a>"
    )
    report.write_text(text.replace("<main>", f"<main>{bad}", 1), encoding="utf-8")
    page = browser.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(report.as_uri())
    wait_in(page, "window.rondoUnpacked")
    page.locator("main > a").click()
    assert page.evaluate("[window.hacked ?? null, rondoPage.drawn.length]") == [None, 1]
    assert sum("following Content Security Policy" in it for it in refused) >= 3
    page.close()
