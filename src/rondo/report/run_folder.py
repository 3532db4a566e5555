"""The files of a run folder as `rondo discover` writes them, read and checked; faults are one line each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from rondo.errors import OutputError
from rondo.store.ids import checked_id
from rondo.store.reading import read_regular, regular

if TYPE_CHECKING:
    import polars as pl

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
RecordingId = Annotated[str, AfterValidator(checked_id)]


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class EvidenceSummary(_Stored):
    """What speaks for a whole vocabulary, or (`verdict`) for one entry."""

    p: Share | None
    verdict: str = ""


class Profile(_Stored):
    """Share of windows accepted, and their normalised distance at each quantile."""

    share_accepted: Share
    distance_quantiles: dict[str, float | None]


class FitSummary(Profile):
    """How well the model fits a recording that it was not fitted on."""

    verdict: str
    n_units: Count
    n_units_of_model: Count


class ClockKnots(_Stored):
    """Frames and what the clock of the recording shows there, in seconds; see `rondo.report.wall_clock`."""

    frames: tuple[Count, ...]
    seconds: tuple[float, ...]


class RecordingSummary(_Stored):
    """One recording of the run; `rate` in Hz, None where it is unknown."""

    id: RecordingId
    source: str
    n_frames: Annotated[int, Field(gt=0)]
    channels: Annotated[tuple[str, ...], Field(min_length=1)]
    rate: Annotated[float, Field(gt=0)] | None
    duration_s: float | None
    notes: tuple[str, ...]
    share_other: Share
    n_gaps: Count
    fit: FitSummary | None = None
    clock: ClockKnots | None = None


class Exemplar(_Stored):
    """One of the best occurrences of an entry."""

    recording: RecordingId
    start_frame: Count
    end_frame: Count
    start_s: float | None
    score: float


class EntrySummary(_Stored):
    """One unit (`taken_for`) or motif (`composition`); `recording` where each has its own vocabulary."""

    id: Count
    name: str = ""  # what people call it
    recording: RecordingId | Literal[""] = ""
    n_occurrences: Count
    share: Share
    mean_duration_frames: float
    mean_duration_s: float | None
    p10_duration_frames: float
    p10_duration_s: float | None
    median_duration_frames: float
    median_duration_s: float | None
    p90_duration_frames: float
    p90_duration_s: float | None
    exemplars: tuple[Exemplar, ...]
    evidence: EvidenceSummary | None = None
    composition: str = ""
    taken_for: str = ""


class Scores(_Stored):
    """The part of an evaluation that the page shows, in percent (seg_ratio: a ratio)."""

    ari: float | None
    ami: float | None
    one_to_one: float | None
    mof: float | None
    recall: float | None
    f1_50: float | None
    edit: float | None
    seg_ratio: float | None


class LevelScores(Scores):
    """An evaluation with its data-blind control."""

    clock: Scores


class RunScores(_Stored):
    """The evaluations of both levels; they exist where there is a ground truth."""

    units: LevelScores
    motifs: LevelScores


class RunSummary(_Stored):
    """summary.json."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    rondo_version: str
    method: str
    seed: int
    window_length_frames: int
    step_frames: int
    findings: tuple[str, ...] = ()
    fitted: Profile | None = None
    recordings: Annotated[tuple[RecordingSummary, ...], Field(min_length=1)]
    units: tuple[EntrySummary, ...]
    motifs: tuple[EntrySummary, ...]
    motifs_are_units: bool = False  # under other ids; runs written before this was told count both
    scores: RunScores | None = None


def read_run_summary(run_dir: Path) -> RunSummary:
    """summary.json of a run folder, checked key by key."""
    path = run_dir / "summary.json"
    if (run_dir / "labels.csv").is_file():
        raise OutputError(
            f"{run_dir}: what `rondo stream` wrote, and no run; `rondo label MODEL FILE --out run --stream {run_dir}` "
            "makes one of its recording"
        )
    try:
        return RunSummary.model_validate_json(read_regular(path))
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be read ({error.strerror}); give a folder written by `rondo discover --out`"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise OutputError(
            f"{path}: {where}: {first['msg'].removeprefix('Value error, ')}; run `rondo discover` again"
        ) from error


def read_segments(path: Path, run: RunSummary) -> pl.DataFrame:
    """A segment table as recording, level, id, start_frame, end_frame, score, units, name; null where there is none."""
    import polars as pl

    wanted = {
        "recording": pl.String,
        "level": pl.String,
        "id": pl.Int64,
        "start_frame": pl.Int64,
        "end_frame": pl.Int64,
    }
    try:
        table = pl.read_parquet(regular(path))
        missing = [name for name in wanted if name not in table.columns]
        if missing:
            raise OutputError(f"{path}: the column '{missing[0]}' is missing; run `rondo discover` again")
        present = {"score": pl.Float64, "units": pl.String, "name": pl.String}  # the truth has none of them
        extra = [pl.lit(None, kind).alias(name) for name, kind in present.items() if name not in table.columns]
        table = table.with_columns(extra)
        table = table.select(pl.col(name).cast(kind) for name, kind in (wanted | present).items())
    # a damaged file can also panic inside polars' native code, which is no Exception
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise OutputError(
            f"{path}: cannot be read as a table of segments ({reason}); run `rondo discover` again"
        ) from error
    _check_spans(table, path, run)
    return table.sort("recording", "level", "start_frame")


def _check_spans(table: pl.DataFrame, path: Path, run: RunSummary) -> None:
    import polars as pl

    lengths = pl.DataFrame(
        {"recording": [r.id for r in run.recordings], "n_frames": [r.n_frames for r in run.recordings]}
    )
    known = table.join(lengths, on="recording", how="left").with_row_index("row")
    spans_ok = (pl.col("start_frame") >= 0) & (pl.col("start_frame") < pl.col("end_frame"))
    sound = (
        (spans_ok & (pl.col("end_frame") <= pl.col("n_frames"))).fill_null(False)
        & pl.col("level").is_in(["unit", "motif"]).fill_null(False)
        & pl.col("id").is_not_null()
    )
    bad = known.filter(~sound)
    if bad.height:
        row = bad.row(0, named=True)
        raise OutputError(
            f"{path}: row {row['row']} (recording '{row['recording']}', level '{row['level']}', "
            f"id {row['id']}, frames {row['start_frame']} to {row['end_frame']}) does not fit summary.json; "
            "run `rondo discover` again"
        )
