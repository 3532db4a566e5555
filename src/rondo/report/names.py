"""The names that people give, shown in a run folder that is there already; its labels stay as they were written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rondo.errors import OutputError
from rondo.vocabulary.edit_file import read_edits
from rondo.vocabulary.vocabulary import Level

if TYPE_CHECKING:
    from rondo.vocabulary.edits import Edits

_LEVELS: tuple[Level, ...] = ("unit", "motif")


def run_around(model: Path) -> Path | None:
    """The run folder that a model lies in: run/model, or run/model/<recording>; None where it lies elsewhere."""
    above = model.absolute().parents
    around = [folder for folder in above[:2] if (folder / "summary.json").is_file() and model.absolute() != folder]
    return next((folder for folder in around if (folder / "model").is_dir()), None)


def show_names(run: Path) -> None:
    """Write the names in model/ into segments.csv and .parquet, summary.json and the report."""
    from rondo.report.wish_file import draw_again

    edits_of = _edits_of(run)
    _name_segments(run, edits_of)
    _name_entries(run, edits_of)
    draw_again(run)


def _edits_of(run: Path) -> Callable[[str], Edits]:
    """The edits of the vocabulary that a recording was read with: one for all, or one each."""
    model = run / "model"
    if (model / "manifest.json").is_file():
        shared = read_edits(model)
        return lambda recording: shared
    return lambda recording: read_edits(model / recording)


def _name_segments(run: Path, edits_of: Callable[[str], Edits]) -> None:
    import polars as pl

    path = run / "segments.parquet"
    try:
        table = pl.read_parquet(path)
        recordings = table["recording"].unique(maintain_order=True).to_list()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise OutputError(f"{path}: cannot be read ({str(error).splitlines()[0]}); the names are kept") from None
    rows = [
        (recording, level, id, name)
        for recording in recordings
        for level in _LEVELS
        for id, name in edits_of(recording).names(level).items()
    ]
    schema = {"recording": pl.String, "level": pl.String, "id": pl.Int32, "name": pl.String}
    names = pl.DataFrame(rows, schema=schema, orient="row")
    bare = table.drop("name", strict=False)
    named = bare.join(names, on=["recording", "level", "id"], how="left", maintain_order="left")
    named = named.with_columns(pl.col("name").fill_null(""))
    with _replacing(path) as draft:
        named.write_parquet(draft)
    with _replacing(run / "segments.csv") as draft:
        named.write_csv(draft)


def _name_entries(run: Path, edits_of: Callable[[str], Edits]) -> None:
    path = run / "summary.json"
    try:
        summary: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot be read ({error}); the names are kept") from None
    for level in _LEVELS:
        for entry in summary[f"{level}s"]:
            entry["name"] = edits_of(entry.get("recording", "")).name(level, entry["id"])
    with _replacing(path) as draft:
        draft.write_text(json.dumps(summary, indent=1, allow_nan=False), encoding="utf-8")


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A draft beside the file that takes its name when it is whole."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written ({error.strerror or error}); the names are kept beside the model"
        ) from None
    finally:
        draft.unlink(missing_ok=True)
