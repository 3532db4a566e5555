"""What a report was asked to show, kept beside it: a page that is drawn anew, with a new name, shows it again."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rondo.errors import InputError, RondoWarning
from rondo.report.contents import EVERYTHING, TruthFile, Wish
from rondo.store.reading import read_regular
from rondo.store.writing import write_json
from rondo.vocabulary.edits import changing

_NAME = ".report_wish.json"
_MOST_BYTES = 1 << 24


def draw_as_wished(run: Path, wish: Wish) -> Path:
    """Write the report of a run, and keep what it was asked to show; nobody gives names meanwhile."""
    from rondo.report.render import write_page
    from rondo.result import Result

    result = Result.load(run)
    with changing(run):
        path = write_page(result, run / "report.html", wish)
        keep_wish(run, wish)
    return path


def keep_wish(run: Path, wish: Wish) -> None:
    """Keep it for the next drawing; a wish for everything needs no keeping."""
    path = run / _NAME
    if wish == EVERYTHING:
        path.unlink(missing_ok=True)
        return
    kept = asdict(wish)
    if wish.truth is not None:
        where = wish.truth.path.absolute()  # the next command may be given elsewhere
        kept["truth"] |= {"path": str(where), "inode": _inode(where)}
    write_json(path, kept, "make room or give permission; the report itself is there")


def kept_wish(run: Path) -> Wish:
    """What the report of this run was last asked to show."""
    try:
        kept = json.loads(read_regular(run / _NAME, _MOST_BYTES))
        return Wish(tuple(kept["recordings"]), tuple(kept["channels"]), _kept_truth(kept["truth"], run))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return EVERYTHING


def _kept_truth(kept: dict[str, Any] | None, run: Path) -> TruthFile | None:
    """The annotations, if they are the file that was given here: a run from someone else could name any file of ours.

    Its number in this file system is what nobody elsewhere can know.
    """
    if kept is None:
        return None
    path = Path(kept["path"])
    if path.exists() and _inode(path) != kept.get("inode"):
        warnings.warn(
            f"the report was drawn without its annotations: {path} is not the file that it was drawn with; "
            f"`rondo report {run} --truth {path}` draws them",
            RondoWarning,
            stacklevel=2,
        )
        return None
    return TruthFile(path, kept["key"], kept["rate"])


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return -1


def draw_again(run: Path) -> None:
    """The report as it was last asked for; without annotations that can no longer be read, and saying so."""
    from rondo.report.render import write_page
    from rondo.result import Result

    wish, result, page = kept_wish(run), Result.load(run), run / "report.html"
    try:
        write_page(result, page, wish)
    except InputError as error:
        if wish.truth is None:
            raise
        write_page(result, page, replace(wish, truth=None))
        warnings.warn(f"the report was drawn without its annotations: {error}", RondoWarning, stacklevel=2)
