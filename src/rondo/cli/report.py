"""`rondo report`: build report.html of a run folder again, alone or beside another run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rondo.cli import options
from rondo.cli.terminal import print


def report(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A folder that discover, label or stream wrote."),
    ],
    compare: Annotated[
        Path | None,
        typer.Option("--compare", metavar="OTHER", help="Another run over the same recordings, shown beside this one."),
    ] = None,
    recordings: Annotated[
        str | None,
        typer.Option("--recordings", metavar="A,B", help="Draw these alone; without, as many as fit into 12 MB."),
    ] = None,
    channels: Annotated[
        str | None, typer.Option("--channels", metavar="X,Y", help="Draw these alone; without, the first 64.")
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
    if compare is None:
        result = Result.load(here)
        with changing(here):  # nobody edits names meanwhile
            path = write_page(result, here / "report.html", wish)
            keep_wish(here, wish)
    else:
        path = write_page(Result.load(here), here / "compare.html", wish, Result.load(compare))
    print(f"report: {put_beside(run, path)}")


def _names(text: str | None) -> tuple[str, ...]:
    """Names with commas between them.

    >>> _names("day1, day2,"), _names(None)
    (('day1', 'day2'), ())
    """
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())
