"""`rondo find`: one marked span, and where the like of it occurs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rondo.cli import options
from rondo.cli.terminal import aligned, print, print_json
from rondo.errors import SettingError
from rondo.wording import counted, duration_in_words, moment_in_words

if TYPE_CHECKING:
    from rondo.result import Result

_MOST_SHOWN = 20  # rows; what is suggested is always shown


def find(
    run: options.Run,
    like: Annotated[str, options.option("--like", "SPAN", "RECORDING,START,END; the only RECORDING may be left out.")],
    recordings: Annotated[
        list[Path] | None, options.argument("RECORDING", "The files of the run, where they lie elsewhere now.")
    ] = None,
    name: Annotated[str | None, options.option("--name", "NAME", "Teach the run what is suggested.")] = None,
    json: options.Json = False,
) -> None:
    """Find what is like one marked span, ranked, with a cut that suggests what is the same.

    Example: rondo find run --like walk,3.4,14.7

    START and END are seconds or dates, or frames where the run knows no rate. The score is 1 for the span and 0 for any
    place. `--name` teaches what is suggested as `rondo teach` does: motifs like it get the name, and `rondo undo` takes
    it back.
    """
    from rondo.edit import teach_run
    from rondo.result import Result

    result = Result.load(run)
    found = result.find(*_span(result, like), data=recordings or None, most=_MOST_SHOWN)
    suggested, entry = found[found["suggested"]], None
    if name is not None:
        taught = teach_run(run, suggested.assign(name=name), recordings or None).summary.motifs
        entry = next(f"motif:{one.id}" for one in taught if one.name == " ".join(name.split()))
    if json:
        rows = found.astype(object).where(found.notna(), None).to_dict("records")
        print_json({"found": rows, "entry": entry})
        return
    lines = aligned([_cells(*row) for row in found.itertuples(name=None)], texts=(2, 3, 4))
    lines.insert(len(suggested), f"---- cut: {len(suggested) - 1 or 'nothing'} suggested")
    print("\n".join(lines))
    if entry is not None:
        print(f"{name}: {entry}, {counted(len(suggested), 'span')} marked; `rondo undo {run}` takes it back")


def _span(result: Result, like: str) -> tuple[str, str, str]:
    """The recording, the start and the end of "walk,12.3,15.0"."""
    parts, ids = [part.strip() for part in like.rsplit(",", 2)], [one.id for one in result.recordings]
    if len(parts) == 2 and len(ids) == 1:
        parts = [*ids, *parts]
    if len(parts) != 3:
        raise SettingError(f"--like: expected RECORDING,START,END, as {ids[0]},12.3,15.0; got '{like}'")
    return parts[0], parts[1], parts[2]


def _cells(rank: int, recording: str, start: int, stop: int, start_s: float, end_s: float, *rest: Any) -> list[str]:
    """One row: rank, score, recording, when, entry."""
    when = f"frames {start} to {stop}"
    if start_s == start_s:
        when = f"{moment_in_words(start_s)} to {moment_in_words(end_s)} ({duration_in_words(end_s - start_s)})"
    score, _, entry = rest
    return [str(rank) if rank else "like", f"{score:.2f}", recording, when, entry]
