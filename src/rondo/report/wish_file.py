"""What a report was asked to show, kept beside it: a page that is drawn anew, with a new name, shows it again."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, replace
from pathlib import Path

from rondo.errors import InputError, OutputError, RondoWarning
from rondo.report.contents import EVERYTHING, TruthFile, Wish

_NAME = ".report_wish.json"


def keep_wish(run: Path, wish: Wish) -> None:
    """Keep it for the next drawing; a wish for everything needs no keeping."""
    path = run / _NAME
    if wish == EVERYTHING:
        path.unlink(missing_ok=True)
        return
    kept = asdict(wish)
    if wish.truth is not None:  # the next command may be given elsewhere
        kept["truth"]["path"] = str(wish.truth.path.absolute())
    try:
        path.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror}); the report itself is there") from None


def kept_wish(run: Path) -> Wish:
    """What the report of this run was last asked to show."""
    try:
        kept = json.loads((run / _NAME).read_text(encoding="utf-8"))
        truth = kept["truth"] and TruthFile(Path(kept["truth"]["path"]), kept["truth"]["key"], kept["truth"]["rate"])
        return Wish(tuple(kept["recordings"]), tuple(kept["channels"]), truth)
    except (OSError, ValueError, KeyError, TypeError):
        return EVERYTHING


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
