"""`rondo teach`: a few marked spans, and the rest labelled like them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from rondo.cli import options
from rondo.cli.terminal import print, print_json
from rondo.wording import duration_in_words, moment_in_words

if TYPE_CHECKING:
    from rondo.result import Result


def teach(
    run: options.Run,
    spans: Annotated[
        Path, options.argument("SPANS", "A table (name, start_s, end_s, recording), or annotations of another program.")
    ],
    recordings: Annotated[
        list[Path] | None,
        options.argument("RECORDING", "The files of the run, where they lie elsewhere now."),
    ] = None,
    key: Annotated[str | None, options.option("--key", "NAME", "Track or tier of SPANS.")] = None,
    json: options.Json = False,
) -> None:
    """Mark a few spans with names, and label the rest of the run like them.

    Example: rondo teach run spans.csv

    SPANS has the columns of segments.csv: name, start_s and end_s (or start_frame and end_frame, or dates in start_time
    and end_time), and recording where there are several. Marked frames keep their name; what is like nothing marked
    stays as it was found. Teach again to add marks; `rondo undo` takes the last teaching back. `rondo label` reads
    other recordings with what the model of the run was taught.
    """
    from rondo.edit import teach_run

    taught = teach_run(run, spans, recordings or None, key)
    shares, next_spans = _shares(taught), taught.suggest_spans()
    if json:
        print_json({"taught": shares, "next": next_spans.to_dict("records")})
        return
    width = max(len(row["name"]) for row in shares)
    for row in shares:
        print(f"{row['name']:<{width}}  {row['entry']:<10}  {row['marked']} marked, {row['share']:.0%} of the time")
    print(f"as it was found: {max(0.0, 1 - sum(row['share'] for row in shares)):.0%} of the time")
    if len(next_spans):
        print("mark next:")
    for recording, start, stop, start_s, end_s, why in next_spans.itertuples(index=False):
        when = f"frames {start} to {stop}"
        if start_s == start_s and start_s is not None:
            when = f"{moment_in_words(start_s)} to {moment_in_words(end_s)} ({duration_in_words(end_s - start_s)})"
        print(f"  {recording}: {when}: {why}")
    print(f"updated: labels, segments and report of {run}")


def _shares(result: Result) -> list[dict[str, Any]]:
    """Every name with its entry, marked spans and share of the time."""
    edits = result.run.edits
    teaching = edits.teaching
    assert teaching is not None, "it was taught just now"
    shares = {one.id: one.share for one in result.summary.motifs}
    marked = [span.id for span in teaching.taught if span.marked]
    return [
        {"name": name, "entry": f"motif:{id}", "marked": marked.count(id), "share": shares.get(id, 0.0)}
        for id, name in zip(teaching.ids, teaching.names, strict=True)
    ]
