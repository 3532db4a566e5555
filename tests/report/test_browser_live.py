"""The page of a stream that goes on, in a real browser: it takes in what is new, and stays as it was otherwise."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from rondo.data.recording import Recording
from rondo.model.rondo import Rondo
from rondo.view.loopback import LoopbackServer
from rondo.view.serve import PageServer
from tests.cli.running import waves
from tests.report.asking import PATIENCE_S, serving
from tests.report.stream_folders import add_decisions, write_stream_folder
from tests.systems import needs_posix

pytestmark = pytest.mark.browser
Watch = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_stream_folder(tmp_path / "live")


@pytest.fixture
def watch(opened: Any) -> Iterator[Watch]:
    """Opens what a server serves; that the page was not loaded again shows in `window.isSame`."""
    with ExitStack() as stack:

        def show(server: LoopbackServer) -> Any:
            page = opened(stack.enter_context(serving(server)).address)
            stack.callback(page.page.close)  # before its server: else it would find that gone
            page.evaluate("window.isSame = true")
            return page

        yield show


def test_what_is_new_is_taken_in_and_everything_else_stays(watch: Watch, folder: Path) -> None:
    page = watch(PageServer(folder))
    page.evaluate("rondoPage.timelines[0].show(100, 300)")
    page.evaluate("rondoPage.choose('unit|u1')")
    page.page.locator(".timeline canvas").last.focus()
    add_decisions(folder, 5)
    page.wait("rondoPage.timelines[0].nFrames === 1250")
    page.wait("document.title && document.querySelector('h1').textContent.includes('25 s')")
    assert page.evaluate("rondoPage.timelines[0].view") == {"start": 100, "end": 300}
    assert page.evaluate("rondoPage.chosen") == "unit|u1"
    assert page.evaluate("document.activeElement === rondoPage.timelines[0].canvas")  # keys go on where they were
    assert page.evaluate("Array.from(rondoPage.timelines[0].lanes[0].ends).at(-1)") == 1250
    assert page.evaluate("window.isSame")


def test_a_page_that_was_old_when_it_came_is_brought_up_to_date(watch: Watch, folder: Path, monkeypatch: Any) -> None:
    """The run goes on between the making of a page and its first question, as it does under load."""
    made: list[str] = []
    page_of = PageServer.page

    def late(self: PageServer) -> str:
        made.append(page_of(self))
        if len(made) == 2:  # the first is that of the check at the start
            add_decisions(folder, 5)
        return made[-1]

    monkeypatch.setattr(PageServer, "page", late)
    page = watch(PageServer(folder))
    page.wait("rondoPage.timelines[0].nFrames === 1250")
    assert page.evaluate("window.isSame")


@pytest.mark.slow
def test_the_view_follows_the_end_until_someone_moves_it(watch: Watch, folder: Path) -> None:
    page = watch(PageServer(folder))
    follow = page.page.get_by_role("button", name="keep the end of the stream in view")
    assert follow.get_attribute("aria-pressed") == "true"
    add_decisions(folder, 5)
    page.wait("rondoPage.timelines[0].nFrames === 1250")
    assert page.evaluate("rondoPage.timelines[0].view") == {"start": 0, "end": 1250}  # less than some minutes: all
    page.evaluate("rondoPage.timelines[0].show(1050, 1250)")
    add_decisions(folder, 5)
    page.wait("rondoPage.timelines[0].view.end === 1500")
    assert page.evaluate("rondoPage.timelines[0].view.start") == 1300
    page.evaluate("rondoPage.timelines[0].show(200, 400)")
    page.wait("document.querySelector('#tools [title^=\"keep the end\"]').getAttribute('aria-pressed') === 'false'")
    add_decisions(folder, 5)
    page.wait("rondoPage.timelines[0].nFrames === 1750")
    assert page.evaluate("rondoPage.timelines[0].view") == {"start": 200, "end": 400}
    follow.click()
    assert page.evaluate("rondoPage.timelines[0].view") == {"start": 1550, "end": 1750}
    assert follow.get_attribute("aria-pressed") == "true"
    add_decisions(folder, 5)
    page.wait("rondoPage.timelines[0].view.end === 2000")


def test_of_a_long_stream_the_last_minutes_are_in_view(watch: Watch, folder: Path) -> None:
    add_decisions(folder, 480)
    page = watch(PageServer(folder))
    assert page.evaluate("rondoPage.timelines[0].view") == {"start": 10_000, "end": 25_000}  # 5 min at 50 Hz
    page.evaluate("rondoPage.timelines[0].show(0, 25000)")
    add_decisions(folder, 2)
    page.wait("rondoPage.timelines[0].nFrames === 25100")
    assert page.evaluate("rondoPage.timelines[0].view") == {"start": 0, "end": 25_100}  # all, as was chosen


def test_health_is_said_and_so_is_the_end(opened: Any, folder: Path) -> None:
    with serving(PageServer(folder)) as server:
        page = opened(server.address)
        page.wait("document.getElementById('live').textContent === 'Live: this page follows the run.'")
        about = {"state": "ok", "written_s": 1.0, "n_devices": 1, "n_rows": 1000, "n_windows": 20, "host": "elsewhere"}
        (folder / "health.json").write_text(json.dumps(about | {"pid": 1}), encoding="utf-8")
        page.wait("document.getElementById('live').textContent.startsWith('Live: dead: nothing written for')")
        (folder / "health.json").write_text(json.dumps(about | {"pid": 1, "state": "finished"}), encoding="utf-8")
        page.wait("document.getElementById('live').textContent === 'Live: finished: 1 device, 1,000 rows, 20 windows.'")
        assert {url.split("?")[0] for url in page.requests} <= {
            f"http://127.0.0.1:{server.server_port}/{name}" for name in ("", "state.json")
        }
    page.wait("document.getElementById('live').textContent.startsWith('The server has ended')")
    page.trouble = [it for it in page.trouble if "ERR_CONNECTION_REFUSED" not in it]


def test_a_table_in_which_someone_is_at_work_stays(watch: Watch, folder: Path) -> None:
    page = watch(PageServer(folder))
    page.evaluate("document.querySelectorAll('main > :not(#stage) details').forEach((it) => { it.open = true })")
    before = page.evaluate("[...document.querySelectorAll('main > :not(#stage) details')].map((it) => it.open)")
    at_work = page.page.locator("#compose button.entry").first
    at_work.focus()
    add_decisions(folder, 5)
    page.wait("rondoPage.timelines[0].nFrames === 1250")
    after = page.evaluate("[...document.querySelectorAll('main > :not(#stage) details')].map((it) => it.open)")
    assert after == before
    assert at_work.evaluate("(it) => it === document.activeElement")
    page.page.locator(".timeline canvas").last.focus()
    add_decisions(folder, 5)
    page.wait("rondoPage.timelines[0].nFrames === 1500")
    page.wait("document.activeElement === rondoPage.timelines[0].canvas")
    assert page.page.locator("#compose .ring svg").count() == 1  # drawn again
    page.page.locator("#compose button.entry").last.click()  # and it can be pressed
    assert page.evaluate("rondoPage.chosen") is not None


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("followed") / "model"
    fitted = Rondo(window=40, step=20, settings={"evidence": {"surrogates": 0}}, device="cpu")
    fitted.fit(Recording(waves(900), rate=50, channels=("a", "b"))).save(folder)
    return folder


@contextmanager
def following(model: Path, source: Path, out: Path) -> Iterator[None]:
    """`rondo stream --follow` in a process of its own, until the block ends."""
    options: list[str | Path] = ["--source", source, "--follow", "--out", out, "--silent", "3s"]
    process = subprocess.Popen([sys.executable, "-m", "rondo", "stream", model, *options], stderr=subprocess.PIPE)
    try:
        end = time.monotonic() + PATIENCE_S
        while not (out / "summary.json").exists():
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_S)


KNOWN_TO = """() => {
  const {signal, nFrames} = rondoPage.timelines[0], level = signal.levels[0]
  let frame = nFrames
  while (level && frame > 0 && (extremesUnder(level, 0, frame - 1, frame), pair[0] === 255)) frame--
  return frame
}"""


@pytest.mark.slow
@needs_posix
def test_a_stream_that_follows_a_file_is_followed(watch: Watch, model: Path, tmp_path: Path) -> None:
    rows, source, out = waves(4000, seed=5), tmp_path / "day.csv", tmp_path / "out"
    source.write_text("a,b\n", encoding="utf-8")

    def add(start: int, stop: int) -> None:
        with source.open("a", encoding="utf-8") as file:
            file.writelines(f"{a:.5f},{b:.5f}\n" for a, b in rows[start:stop])

    add(0, 500)
    with following(model, source, out):
        page = watch(PageServer(out))
        for stop in (1000, 2000, 4000):
            add(stop // 2, stop)
            page.wait("(n) => rondoPage.timelines[0].nFrames > n", stop - 900)  # labels come when they are decided
            page.wait(f"() => ({KNOWN_TO})() === rondoPage.timelines[0].nFrames")  # the signal long before a checkpoint
            page.wait("rondoPage.timelines[0].view.end === rondoPage.timelines[0].nFrames")
        page.wait("document.getElementById('live').textContent.includes('rows')")
        page.wait("document.getElementById('live').textContent.includes('silent')")
    page.wait("document.getElementById('live').textContent.includes('dead: ended')")
    assert page.evaluate("window.isSame")
