"""`model.predict(paths, out=…)`: labels go to a run folder as files are done, and only the folder comes back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rondo.many.driver import label_many
from rondo.many.way import Asked as Asked
from rondo.many.way import files_to_read, warn_of_failed
from rondo.result import Result
from rondo.store.writing import check_free

if TYPE_CHECKING:
    from rondo.model import Rondo


def predict_into(
    model: Rondo, recordings: Any, out: str | Path | None, asked: Asked, *, rate: float | None, resample: bool
) -> Result:
    """Label recordings and write the run folder: file by file where they are many, or where an engine is asked for."""
    many = files_to_read(recordings, out, asked, rate=rate)
    if many is not None and out is not None:
        warn_of_failed(label_many(many, model, out, resample=resample))
        return Result.load(out)
    if out is not None:
        check_free(Path(out))
    result = model.predict(recordings, rate=rate, resample=resample, group_by=asked.group_by)
    if out is not None:
        result.save(out)
    return result
