"""`rondo report` with its options, and `rondo view`: a page on loopback until someone presses Ctrl-C."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.cli.running import Command
from tests.report.run_folders import write_run_folder
from tests.report.stream_folders import write_stream_folder
from tests.systems import LISTENING_PYTHON, needs_posix


def test_report_of_a_run_of_a_stream_and_of_two_runs(rondo: Command, here: Path) -> None:
    write_run_folder(here / "a")
    write_run_folder(here / "b")
    write_stream_folder(here / "live")
    assert rondo("report", "a") == (0, "report: a/report.html\n", "")
    assert rondo("report", "live") == (0, "report: live/report.html\n", "")
    assert rondo("report", "a", "--compare", "b") == (0, "report: a/compare.html\n", "")
    (here / "truth.txt").write_text("1\t2\tsit\n", encoding="utf-8")  # seconds, as Audacity writes them
    assert rondo("report", "live", "--truth", "truth.txt").code == 0
    assert "nothing was learned" in (here / "live/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("screen", "options", "opens"), [({"DISPLAY": ":9"}, (), 1), ({}, (), 0), ({"DISPLAY": ":9"}, ("--no-browser",), 0)]
)
@needs_posix
def test_view_opens_the_browser_where_there_is_a_screen(
    here: Path, rondo: Command, monkeypatch: pytest.MonkeyPatch, screen: dict[str, str], options: tuple[str, ...],
    opens: int,
) -> None:  # fmt: skip
    write_run_folder(here / "run")
    opened: list[str] = []
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in screen.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("rondo.cli.show.asked_to_stop", lambda: nullcontext([True]))
    outcome = rondo("view", "run", *options)
    assert outcome.code == 0 and opened == [outcome.out.split()[1]] * opens


@pytest.mark.promise
@needs_posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_view_serves_until_it_is_stopped(here: Path, number: signal.Signals) -> None:
    write_stream_folder(here / "live")
    (here / "truth.txt").write_text("1\t2\tsit\n", encoding="utf-8")
    child = subprocess.Popen(
        [*LISTENING_PYTHON, "-m", "rondo", "view", "--no-browser", "live", "--truth", "truth.txt"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    said = child.stdout.readline()
    assert said.startswith("open http://127.0.0.1:")
    address, token = said.split()[1].split("?token=")
    with urllib.request.urlopen(f"{address}state.json?token={token}", timeout=300) as answer:
        assert "state" in json.load(answer)
    with urllib.request.urlopen(said.split()[1], timeout=300) as answer:
        page = answer.read()
        assert b"Rondo stream" in page and b'"annotation"' in page
    child.send_signal(number)
    out, err = child.communicate(timeout=300)
    assert (child.returncode, out, err) == (0, "", "")
