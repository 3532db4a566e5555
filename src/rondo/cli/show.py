"""`rondo report`, `rondo view` and `rondo export`: a run as a page, in the browser, or for other programs."""

from __future__ import annotations

import os
import sys
import webbrowser
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from rondo.cli import options
from rondo.cli.terminal import asked_to_stop, print, print_json
from rondo.errors import SettingError

if TYPE_CHECKING:
    from rondo.view.media import Beside

_LEVELS = ("unit", "motif", "both", "phrase", "context", "all")


def report(
    run: options.Run,
    compare: Annotated[
        Path | None,
        options.option("--compare", "OTHER", "Another run over the same recordings, shown beside this one."),
    ] = None,
    recordings: Annotated[
        str | None, options.option("--recordings", "A,B", "Draw these alone; without, as many as fit into 12 MB.")
    ] = None,
    channels: Annotated[
        str | None, options.option("--channels", "X,Y", "Draw these alone; without, the first 64.")
    ] = None,
    truth: options.TruthLane = None,
    key: options.TruthKey = None,
    rate: options.TruthRate = None,
) -> None:
    """(Re)build report.html from what the run folder holds; with --compare, compare.html.

    Example: rondo report run --compare run_seed1

    The page is one file that opens without a network. That of a stream, which may be running, shows its journal.
    """
    from rondo.editing.edits_file import changing
    from rondo.report.contents import Wish, keep_wish
    from rondo.report.render import write_page
    from rondo.result import Result
    from rondo.run.bucket import put_beside, run_here

    here = run_here(run)
    wish = Wish(_names(recordings), _names(channels), options.truth_file(truth, key, rate))
    result = Result.load(here)
    if compare is None:
        with changing(here):  # nobody edits names meanwhile
            path = write_page(result, here / "report.html", wish)
            keep_wish(here, wish)
    else:
        path = write_page(result, here / "compare.html", wish, Result.load(compare))
    print(f"report: {put_beside(run, path)}")


def _names(text: str | None) -> tuple[str, ...]:
    """Names with commas between them.

    >>> _names("day1, day2,"), _names(None)
    (('day1', 'day2'), ())
    """
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def view(
    run: options.Run,
    port: Annotated[int, options.option("--port", "N", "Port on loopback; 0: any that is free.", min=0, max=65535)] = 0,
    media: Annotated[
        Path | None, options.option("--media", "FILE", "A film or sound file to play beside the timeline.")
    ] = None,
    offset: Annotated[
        str | None,
        options.option(
            "--offset",
            "TIME",
            "Where in the film the recording starts (2.3s, -500ms, 1min); negative: the film starts later.",
        ),
    ] = None,
    recording: Annotated[
        str | None, options.option("--recording", "ID", "The recording that the film belongs to.")
    ] = None,
    truth: options.TruthLane = None,
    key: options.TruthKey = None,
    rate: options.TruthRate = None,
    no_browser: Annotated[bool, options.switch("--no-browser", "Print the address and open nothing.")] = False,
) -> None:
    """Show a run in the browser; the page follows a stream as it goes on. Only this machine can reach it.

    Example: rondo view run --media film.mp4 --offset 2.3s

    It opens the browser, where there is a screen, and prints the address: the token in it is new each time. Ctrl-C
    ends it.
    """
    from rondo.report.contents import Wish
    from rondo.run.bucket import run_here
    from rondo.view.serve import PageServer

    wish = Wish(truth=options.truth_file(truth, key, rate))
    beside = _beside(media, offset, recording)
    with PageServer(run_here(run), port, wish, beside) as server, asked_to_stop() as stop:
        print(f"open {server.address} (Ctrl-C ends)", flush=True)
        if not no_browser and _has_screen():
            webbrowser.open(server.address)  # it waits for the answers below
        server.timeout = 0.2  # s, until the next look whether someone wants to stop
        while not stop:
            server.handle_request()


def _has_screen() -> bool:
    """Whether a browser can show something: not on a server, where a browser for terminals would be opened."""
    return sys.platform in ("win32", "darwin") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))


def _beside(media: Path | None, offset: str | None, recording: str | None) -> Beside | None:
    from rondo.view.media import Beside, parse_offset

    if media is not None:
        return Beside(media, 0.0 if offset is None else parse_offset(offset), recording)
    for option, value in (("--offset", offset), ("--recording", recording)):
        if value is not None:
            raise SettingError(f"{option}: it is about --media FILE, which is not given")
    return None


def _formats() -> Iterable[str]:
    from rondo.report.export import export_formats

    return export_formats()


def export(
    run: options.Run,
    format: Annotated[str, options.option("--format", "NAME", "{export_formats}.", options.completing_from(_formats))],
    out: Annotated[
        Path, options.option("--out", "PATH", "File to write; for {formats_in_files} also a folder (no suffix).")
    ],
    level: Annotated[
        str,
        options.option("--level", "NAME", "unit, motif, both, phrase, context or all.", options.completing(*_LEVELS)),
    ] = "both",
    recording: Annotated[str | None, options.option("--recording", "ID", "Only this recording of the run.")] = None,
    json: options.Json = False,
) -> None:
    """Write the segments of a run for ELAN, Audacity, Label Studio, or as a table.

    Times are seconds since the first frame; csv and parquet keep the recording's own clock, Label Studio gets frames.

    Example: rondo export run --format eaf --out annotations
    """
    from rondo.result import Result

    written = Result.load(run).export(format, out, level=level, recording=recording)
    if json:
        print_json({"format": format, "files": [str(path) for path in written]})
        return
    for path in written:
        print(f"{format}: {path}")
