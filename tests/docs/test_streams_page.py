"""The page on streams: its walk-through is run with a real broker, and each guarantee names tests that are there."""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from tests.cli.conftest import here as here
from tests.docs.executed_pages import ROOT, run_page

PAGE = ROOT / "docs" / "streams.md"


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.skipif(
    not all(map(shutil.which, ("mosquitto", "mosquitto_pub", "bash", "cmp", "timeout"))),
    reason="the walk-through needs mosquitto and its clients",
)
def test_the_walk_through_runs(here: Path) -> None:
    pytest.importorskip("paho.mqtt")
    try:
        run_page(PAGE, compared=True)
    finally:
        for name in ("stream.pid", "broker.pid"):
            if (here / name).exists():
                _end(int((here / name).read_text()))


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def test_every_guarantee_names_tests_that_are_there() -> None:
    table = PAGE.read_text().partition("## Sources and their guarantees")[2]
    rows = [
        line
        for line in table.partition('"Labelled once"')[0].splitlines()
        if line.startswith("| ") and "---" not in line
    ]
    assert len(rows) == 8, "a header and seven sources"
    for row in rows[1:]:
        named = re.findall(r"`((?:tests/\w+/)?test_\w+\.py)`", row)
        assert named, row
        for name in named:
            assert list(ROOT.glob(f"**/{Path(name).name}")), name
