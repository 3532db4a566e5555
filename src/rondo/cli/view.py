"""`rondo view`: the report of a run on loopback, which follows a stream that goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rondo.cli import options
from rondo.cli.stream import asked_to_stop


def view(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A folder that discover, label or stream wrote."),
    ],
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="Port on loopback; 0: any that is free.")
    ] = 0,
    truth: options.TruthLane = None,
    key: options.TruthKey = None,
    rate: options.TruthRate = None,
) -> None:
    """Show a run in the browser; the page follows a stream as it goes on. Only this machine can reach it.

    Example: rondo view live

    Open the address that is printed. Ctrl-C ends it.
    """
    from rondo.report.contents import Wish
    from rondo.report.serve import PageServer
    from rondo.store.cloud_folder import run_here

    wish = Wish(truth=options.truth_file(truth, key, rate))
    with PageServer(run_here(run), port, wish) as server, asked_to_stop() as stop:
        print(f"open {server.address} (Ctrl-C ends)", flush=True)
        server.timeout = 0.2  # s, until the next look whether someone wants to stop
        while not stop:
            server.handle_request()
