"""What a page needs to know to be edited: which run it shows, and what people have changed in it so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rondo.result import Result


def edit_data(result: Result) -> dict[str, Any]:
    """`run` is the identity that a file of edits names; `edits` the history without its times: a page that is drawn
    again is the same. `frames` is False where only names and merges can be changed: a stream goes on.
    """
    from rondo.run.edit_lists import EditLists, read_lists  # brings pydantic, which importing the report does without

    run, stream = result.summary, result.summary.stream
    # one that is not written yet has the edits that its labels are shown under
    lists = EditLists(own=result[0].edits) if result.folder is None else read_lists(result.folder, run)
    rows = [row.as_json() for row in lists.history()]
    return {
        "run": run.identity,
        "edits": [{name: value for name, value in row.items() if name != "at"} for row in rows],
        "frames": stream is None or stream.finished,
    }
