"""A film and a sound beside a timeline, in a real browser: in step, sought by a press, moved by keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from rondo.view.media import Beside
from rondo.view.serve import PageServer
from tests.report.asking import serving
from tests.report.films import BLUE, GREEN, RED, write_film
from tests.report.run_folders import write_run_folder

pytestmark = pytest.mark.browser

COLOUR = """() => {
  const canvas = Object.assign(document.createElement("canvas"), {width: 1, height: 1})
  const pen = canvas.getContext("2d")
  pen.drawImage(rondoMedia.player, 0, 0, 1, 1)
  const [red, green, blue] = pen.getImageData(0, 0, 1, 1).data
  return red > 100 ? "red" : green > 100 ? "green" : blue > 100 ? "blue" : "black"
}"""
SHOWS = f"(colour) => !rondoMedia.player.seeking && ({COLOUR})() === colour"
LINE = """() => {
  const {line, timeline} = rondoMedia, [at, from] = [line, timeline.canvas].map((it) => it.getBoundingClientRect().left)
  return line.hidden ? null : timeline.frameAt(at + 1 - from)
}"""

Show = Callable[..., Any]


@pytest.fixture
def beside(opened: Any, tmp_path: Path) -> Iterator[Show]:
    """Opens the page of a run of 10 s at 50 Hz with a file beside it."""
    with ExitStack() as stack:
        run = write_run_folder(tmp_path / "run", n_frames=500)

        def show(path: Path, offset_s: float = 0.0) -> Any:
            server = stack.enter_context(serving(PageServer(run, beside=Beside(path, offset_s))))
            page = opened(server.address)
            stack.callback(page.page.close)  # before its server: else it would find that gone
            assert all(url.startswith(f"http://127.0.0.1:{server.server_port}/") for url in page.requests)
            return page

        yield show


@pytest.fixture
def film(tmp_path: Path) -> Path:
    """Red for four seconds, green for four, blue for four."""
    return write_film(tmp_path / "film.webm", [RED] * 40 + [GREEN] * 40 + [BLUE] * 40)


def loaded(page: Any) -> None:
    page.page.wait_for_function("rondoMedia.player.readyState >= 2")


def press(page: Any, frame: float) -> None:
    """In the signal, where nothing is chosen by it."""
    script = """(frame) => { const {canvas} = rondoMedia.timeline, box = canvas.getBoundingClientRect()
      return [box.left + rondoMedia.timeline.xOf(frame), box.top + 20] }"""
    page.page.mouse.click(*page.evaluate(script, frame))


def test_a_press_in_the_timeline_seeks_and_the_picture_follows(beside: Show, film: Path) -> None:
    page = beside(film, 2.0)
    loaded(page)
    assert page.evaluate("[rondoMedia.player.tagName, rondoMedia.player.duration]") == ["VIDEO", 12]
    assert page.page.locator("#media-offset").inner_text().endswith("(--offset 2s)")
    assert page.evaluate(LINE) is None  # the recording has not begun
    for frame, colour in ((320, "blue"), (50, "red"), (150, "green")):
        press(page, frame)
        assert page.evaluate("rondoMedia.player.currentTime") == pytest.approx(frame / 50 + 2, abs=0.03)
        assert page.evaluate(LINE) == pytest.approx(frame, abs=2)
        page.page.wait_for_function(SHOWS, arg=colour)
    page.evaluate("rondoMedia.timeline.show(100, 200)")
    page.settle()
    assert page.evaluate(LINE) == pytest.approx(150, abs=2)  # the line stays at its frame when the view moves
    page.evaluate("rondoMedia.timeline.show(300, 400)")
    page.settle()
    assert page.evaluate(LINE) is None


def test_a_drag_does_not_seek_and_a_chosen_segment_does(beside: Show, film: Path) -> None:
    page = beside(film)
    loaded(page)
    page.evaluate("rondoMedia.timeline.show(100, 300)")
    x, y = page.evaluate(
        "(() => { const b = rondoMedia.timeline.canvas.getBoundingClientRect(); return [b.left + 400, b.top + 20] })()"
    )
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x + 80, y, steps=4)
    page.page.mouse.up()
    assert page.evaluate("rondoMedia.timeline.view.start") < 100
    assert page.evaluate("rondoMedia.player.currentTime") == 0
    page.page.locator(".timeline canvas").last.focus()
    for key in ("ArrowDown", ".", "Enter"):  # with keys, to the start of a segment
        page.page.keyboard.press(key)
    start = page.evaluate("rondoMedia.timeline.cursor.lane.starts[rondoMedia.timeline.cursor.place]")
    assert start > 0
    assert page.evaluate("rondoMedia.player.currentTime") == pytest.approx(start / 50, abs=0.03)


def test_it_plays_and_the_view_goes_along(beside: Show, film: Path) -> None:
    page = beside(film)
    loaded(page)
    page.evaluate("rondoMedia.timeline.show(100, 150)")
    press(page, 145)
    page.page.keyboard.press("p")
    page.page.wait_for_function("rondoMedia.timeline.view.start > 120")  # the line came to the end of the view
    assert page.evaluate("rondoMedia.player.paused") is False
    page.page.keyboard.press("p")
    assert page.evaluate("rondoMedia.player.paused") is True
    frame = page.evaluate("rondoMedia.player.currentTime") * 50
    assert page.evaluate(LINE) == pytest.approx(frame, abs=2)


def test_where_the_recording_starts_is_moved_by_keys_buttons_and_a_press(beside: Show, film: Path) -> None:
    page = beside(film, -0.5)
    loaded(page)
    for key in ("]", "}", "["):
        page.page.keyboard.press(key)
    page.page.get_by_role("button", name="the recording starts 0.1 s later in the film").click()
    assert page.evaluate("rondoMedia.offset") == 0.6
    assert "(--offset 0.6s)" in page.page.locator("#media-offset").inner_text()
    page.evaluate("rondoMedia.player.currentTime = 5")
    page.page.locator("#media button", has_text="align").click()
    press(page, 100)  # what the film shows at 5 s
    assert page.evaluate("rondoMedia.offset") == pytest.approx(3.0, abs=0.03)
    assert page.evaluate("rondoMedia.player.currentTime") == 5
    assert page.evaluate(LINE) == pytest.approx(100, abs=2)
    press(page, 150)
    assert page.evaluate("rondoMedia.player.currentTime") == pytest.approx(6, abs=0.05)  # a press seeks again


def test_what_the_browser_cannot_play_is_one_line(beside: Show, tmp_path: Path) -> None:
    path = tmp_path / "<b>film.avi"
    path.write_bytes(b"RIFF....AVI LIST" + bytes(1000))
    page = beside(path)
    page.page.wait_for_selector("#media .failed:visible")
    assert page.page.locator("#media .failed").inner_text() == (
        "This browser cannot play <b>film.avi. Convert it: ffmpeg -i <b>film.avi <b>film-web.mp4"
    )


def test_a_file_that_changes_is_loaded_again(beside: Show, film: Path) -> None:
    page = beside(film)
    loaded(page)
    press(page, 50)
    page.page.wait_for_function(SHOWS, arg="red")
    page.page.wait_for_function("rondoMedia.tag !== undefined")
    write_film(film, [BLUE] * 90)
    page.page.wait_for_function(SHOWS, arg="blue")
    assert page.evaluate("rondoMedia.player.currentTime") == pytest.approx(1.0, abs=0.03)
    assert page.evaluate("rondoMedia.player.duration") == 9
