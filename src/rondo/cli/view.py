"""`rondo view`: the report of a run on loopback, which follows a stream that goes on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rondo.cli import options
from rondo.cli.terminal import asked_to_stop, print

if TYPE_CHECKING:
    from rondo.view.media import Beside


def view(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A folder that discover, label or stream wrote."),
    ],
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port on loopback; 0: any that is free.")
    ] = 0,
    media: Annotated[
        Path | None, typer.Option("--media", metavar="FILE", help="A film or sound file to play beside the timeline.")
    ] = None,
    offset: Annotated[
        str | None,
        typer.Option(
            "--offset",
            metavar="TIME",
            help="Where in the film the recording starts (2.3s, -500ms, 1min); negative: the film starts later.",
        ),
    ] = None,
    recording: Annotated[
        str | None, typer.Option("--recording", metavar="ID", help="The recording that the film belongs to.")
    ] = None,
    truth: options.TruthLane = None,
    key: options.TruthKey = None,
    rate: options.TruthRate = None,
) -> None:
    """Show a run in the browser; the page follows a stream as it goes on. Only this machine can reach it.

    Example: rondo view run --media film.mp4 --offset 2.3s

    Open the address that is printed: the token in it is new each time. Ctrl-C ends it.
    """
    from rondo.report.contents import Wish
    from rondo.run.bucket import run_here
    from rondo.view.serve import PageServer

    wish = Wish(truth=options.truth_file(truth, key, rate))
    beside = _beside(media, offset, recording)
    with PageServer(run_here(run), port, wish, beside) as server, asked_to_stop() as stop:
        print(f"open {server.address} (Ctrl-C ends)", flush=True)
        server.timeout = 0.2  # s, until the next look whether someone wants to stop
        while not stop:
            server.handle_request()


def _beside(media: Path | None, offset: str | None, recording: str | None) -> Beside | None:
    from rondo.errors import SettingError
    from rondo.view.media import Beside, parse_offset

    if media is not None:
        return Beside(media, 0.0 if offset is None else parse_offset(offset), recording)
    for option, value in (("--offset", offset), ("--recording", recording)):
        if value is not None:
            raise SettingError(f"{option}: it is about --media FILE, which is not given")
    return None
