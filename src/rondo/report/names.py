"""The names that people give, shown in a run folder that is there already; its labels stay as they were written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rondo.errors import OutputError
from rondo.report.run_folder import read_run_summary
from rondo.store.reading import read_regular, regular
from rondo.store.writing import whole_file, write_json
from rondo.vocabulary.edit_file import read_edits
from rondo.vocabulary.vocabulary import Level

if TYPE_CHECKING:
    import polars as pl

    from rondo.vocabulary.edits import Edits

_LEVELS: tuple[Level, ...] = ("unit", "motif")
_SEGMENTS, _SHEET, _SUMMARY, _REPORT = "segments.parquet", "segments.csv", "summary.json", "report.html"
_KEPT = "the names are kept beside the model"


def run_around(model: Path) -> Path | None:
    """The run folder that a model lies in: run/model, or run/model/<recording>; None where it lies elsewhere."""
    above = model.absolute().parents
    around = [folder for folder in above[:2] if (folder / _SUMMARY).is_file() and model.absolute() != folder]
    return next((folder for folder in around if (folder / "model").is_dir()), None)


def show_names(run: Path) -> None:
    """Write the names in model/ into segments.csv and .parquet, summary.json and the report."""
    from rondo.report.wish_file import draw_again

    edits_of = _edits_of(run)
    named, summary = _named(_segments(run), run, edits_of), _named_summary(run, edits_of)
    with whole_file(run / _SEGMENTS, _KEPT) as file:
        named.write_parquet(file)
    with whole_file(run / _SHEET, _KEPT) as file:
        named.write_csv(file)
    write_json(run / _SUMMARY, summary, _KEPT)
    draw_again(run)


def lags_behind(run: Path) -> bool:
    """Whether the run folder shows other names than model/ has: `show_names` was stopped before its end."""
    edits_of = _edits_of(run)
    table = _segments(run)
    expected = _names_in(_named(table, run, edits_of))
    return (
        _names_in(table) != expected
        or _names_in(_sheet(run)) != expected
        or _summary(run) != _named_summary(run, edits_of)
        or _is_older(run / _REPORT, run / _SUMMARY)  # which is written just before it
    )


def _edits_of(run: Path) -> Callable[[str], Edits]:
    """The edits of the vocabulary that a recording was read with: one for all, or one each."""
    model = run / "model"
    if (model / "manifest.json").is_file():
        shared = read_edits(model)
        return lambda recording: shared
    return lambda recording: read_edits(model / recording)


def _segments(run: Path) -> pl.DataFrame:
    import polars as pl

    path = run / _SEGMENTS
    try:
        return pl.read_parquet(regular(path))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise OutputError(f"{path}: cannot be read ({str(error).splitlines()[0]}); {_KEPT}") from None


def _sheet(run: Path) -> pl.DataFrame:
    """segments.csv, all of it as text; nothing where it cannot be read."""
    import polars as pl

    try:
        return pl.read_csv(regular(run / _SHEET), infer_schema=False)
    except (OSError, pl.exceptions.PolarsError):
        return pl.DataFrame()


def _named(table: pl.DataFrame, run: Path, edits_of: Callable[[str], Edits]) -> pl.DataFrame:
    """The table with the names that its entries have now."""
    import polars as pl

    rows = [
        (recording.id, level, id, name)
        for recording in read_run_summary(run).recordings
        for level in _LEVELS
        for id, name in edits_of(recording.id).names(level).items()
    ]
    schema = {"recording": pl.String, "level": pl.String, "id": pl.Int32, "name": pl.String}
    names = pl.DataFrame(rows, schema=schema, orient="row")
    bare = table.drop("name", strict=False)
    try:
        named = bare.join(names, on=["recording", "level", "id"], how="left", maintain_order="left")
    except pl.exceptions.PolarsError as error:
        raise OutputError(f"{run / _SEGMENTS}: no table of segments ({str(error).splitlines()[0]}); {_KEPT}") from None
    return named.with_columns(pl.col("name").fill_null(""))


def _names_in(table: pl.DataFrame) -> list[str]:
    return table["name"].fill_null("").to_list() if "name" in table.columns else [""] * table.height


def _summary(run: Path) -> dict[str, Any]:
    path = run / _SUMMARY
    try:
        found: dict[str, Any] = json.loads(read_regular(path))
    except (OSError, ValueError) as error:
        raise OutputError(f"{path}: cannot be read ({error}); {_KEPT}") from None
    return found


def _named_summary(run: Path, edits_of: Callable[[str], Edits]) -> dict[str, Any]:
    """What summary.json says, with the names that its entries have now."""
    summary = _summary(run)
    for level in _LEVELS:
        for entry in summary[f"{level}s"]:
            entry["name"] = edits_of(entry.get("recording", "")).name(level, entry["id"])
    return summary


def _is_older(path: Path, than: Path) -> bool:
    try:
        return path.stat().st_mtime_ns < than.stat().st_mtime_ns
    except FileNotFoundError:  # someone has taken it away
        return False
