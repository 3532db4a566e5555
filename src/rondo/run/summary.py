"""What a run found, typed: summary.json is written from these models and read back by them."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    computed_field,
    model_validator,
)

from rondo.errors import OutputError
from rondo.evidence.verdicts import comes_back
from rondo.forks import refuse_forked
from rondo.store.reading import checked_id, read_regular

SUMMARY, UNFINISHED = "summary.json", "unfinished.json"
_FOLDERS = ("labels", "units", "scores", "overview", "model", "checkpoint")

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
RunKind = Literal["discover", "label", "stream"]


RecordingId = Annotated[str, AfterValidator(checked_id)]


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, populate_by_name=True)


class VocabularyEvidence(_Stored):
    """The evidence for a whole vocabulary."""

    p: Share
    recurs: bool


class EntryEvidenceSummary(_Stored):
    """The evidence for one entry; figures are None where nothing could be compared."""

    verdict: Annotated[str, BeforeValidator(lambda found: "recurs clearly" if found == "recurs" else found)]  # of 0.2.0
    p: Share | None = None
    reason: str = ""
    n_visits: Count | None = None  # occurrences, joined where the recording was elsewhere for less than a window
    recognised: Share | None = None  # of the visits, those that lie nearer to this entry than to any other
    margin: float | None = None  # how much nearer
    like: Count | None = None  # the entry that it is hard to tell from, where it is blurred

    @property
    def comes_back(self) -> bool:
        return comes_back(self.verdict)


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
    """Frames and what the clock of the recording shows there, in seconds; see `rondo.run.clock`."""

    frames: Annotated[tuple[Count, ...], Field(min_length=1)]
    seconds: tuple[float, ...]

    @model_validator(mode="after")
    def _one_for_one(self) -> Self:
        if len(self.frames) != len(self.seconds):
            raise ValueError("as many seconds as frames expected")
        return self


class RecordingSummary(_Stored):
    """One recording of the run; `rate` in Hz, None where it is unknown."""

    id: RecordingId
    source: str
    n_frames: Count
    channels: tuple[str, ...]
    rate: Annotated[float, Field(gt=0)] | None
    duration_s: float | None
    notes: tuple[str, ...]
    share_other: Share
    share_accepted: Share = 1.0
    breaks: tuple[Count, ...] = ()  # frames at which a new contiguous stretch begins
    fit: FitSummary | None = None
    clock: ClockKnots | None = None
    group: str = ""  # whose it is (person, machine), where the run was made with groups

    @computed_field  # type: ignore[prop-decorator]  # mypy: pydantic's own recipe for a property in the JSON
    @property
    def n_gaps(self) -> int:
        """Gaps that no window crosses."""
        return len(self.breaks)


class Exemplar(_Stored):
    """One of the best occurrences of an entry."""

    recording: RecordingId
    start_frame: Count
    end_frame: Count
    start_s: float | None
    score: float


class EntrySummary(_Stored):
    """One unit (`taken_for`) or motif (`kind`, `composition`)."""

    id: Count
    name: str = ""  # what people call it
    absorbed: tuple[Count, ...] = ()  # entries that people have merged into it
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
    evidence: EntryEvidenceSummary | None = None  # None where no test is known for the method
    kind: Literal["", "unit", "phrase", "context"] = ""  # of a motif; "" where the method does not know
    in_labels: bool = True  # False for motifs of the kind that labels do not show
    composition: str = ""
    taken_for: str = ""
    description: str = ""  # what it is, in words (`rondo.analysis.claims`); "" where that was not looked for


class RareStretch(_Stored):
    """A stretch that is unlike the rest, why, and the channels that deviate, in words; see `rondo.analysis.rare`."""

    start_s: float | None
    end_s: float | None
    recording: RecordingId
    start_frame: Count
    end_frame: Count
    level: str
    id: Count
    why: str
    score: float
    channels: tuple[str, ...]


class EntryMerge(_Stored):
    """A step of `rondo.units.vocabulary.MergeTree`; `advised` where merging would help."""

    kept: Count
    absorbed: Count
    confusion: float
    before: float
    after: float
    advised: bool


class Scores(_Stored):
    """An evaluation, in percent (seg_ratio and the counts are none); see `rondo.metrics.scores`."""

    mof: float | None = None
    recall: float | None = None
    f1_10: float | None = None
    f1_25: float | None = None
    f1_50: float | None = None
    edit: float | None = None
    seg_ratio: float | None = None
    ari: float | None = None
    ami: float | None = None
    one_to_one: float | None = None
    n_clusters: float | None = None
    occurrences_per_cluster: float | None = None


class LevelScores(Scores):
    """An evaluation with its data-blind control."""

    clock: Scores
    n_recordings: Count | None = None


class RunScores(_Stored):
    """The evaluations of both levels; they exist where there is a ground truth."""

    units: LevelScores
    motifs: LevelScores


class StreamSummary(_Stored):
    """How far a stream is, counted from its very beginning."""

    finished: bool
    n_rows: Count = 0
    n_windows: Count = 0
    n_accepted: Count = 0  # windows that a unit accepted
    n_buffered: Count = 0  # windows that micro-clusters hold now
    n_promoted: Count = 0
    n_events: Count = 0
    n_skipped_lines: Count = 0
    n_unreadable_cells: Count = 0
    n_skipped_rows: Count = 0  # because of their timestamps
    missing_cells: dict[str, Count] = {}  # of channels: numbers and points that were read as missing
    statistics: str = ""  # by which it is scaled now: "own" or "model"; "" where nothing is chosen
    fit: str = ""  # the verdict on it so far; "" before there are 20 window lengths


class FailedFile(_Stored):
    """A file that could not be read or does not belong to the others; the run went on without it."""

    file: str
    why: str


class RunSummary(_Stored):
    """summary.json."""

    schema_version: Annotated[Literal[2], Field(alias="schema")] = 2
    rondo_version: str
    kind: RunKind = "discover"
    method: str
    seed: int
    window_length_frames: int
    step_frames: int
    findings: tuple[str, ...] = ()  # sentences about the whole run, for people
    evidence: VocabularyEvidence | None = None
    fitted: Profile | None = None  # of the recordings that the model was fitted on, where it reads others
    recordings: Annotated[tuple[RecordingSummary, ...], Field(min_length=1)]
    units: tuple[EntrySummary, ...]
    unit_merges: tuple[EntryMerge, ...] = ()
    motifs: tuple[EntrySummary, ...]
    motif_merges: tuple[EntryMerge, ...] = ()  # down to two motifs; see `rondo.motifs.merging`
    motifs_are_units: bool = False  # under other ids
    rare: tuple[RareStretch, ...] = ()  # the farthest first
    scores: RunScores | None = None
    stream: StreamSummary | None = None
    failed: tuple[FailedFile, ...] = ()  # files without labels
    config: dict[str, Any] = {}

    id_shifts: Annotated[dict[str, int], Field(exclude=True)] = {}
    """What `_one_vocabulary` has added to the ids of each recording; empty for all runs but some of 0.2.0."""

    @model_validator(mode="before")
    @classmethod
    def _one_vocabulary(cls, found: Any) -> Any:
        """Version 0.2.0 could write a vocabulary for each recording: shift ids so that no two recordings share one."""
        if isinstance(found, dict) and found.get("own_vocabularies") and len(found.get("recordings", ())) > 1:
            try:
                return _with_shifted_ids(found)
            except (LookupError, TypeError, AttributeError, ArithmeticError) as error:
                raise ValueError(f"its entries cannot be read ({error!r})") from None
        return found

    @computed_field  # type: ignore[prop-decorator]
    @property
    def headline(self) -> str:
        """The first line of the report: how many entries come back, in how much data."""
        from rondo.run.headline import headline  # which reads this class

        return headline(self)

    @property
    def shown_motifs(self) -> tuple[EntrySummary, ...]:
        """The motifs that labels show."""
        return tuple(one for one in self.motifs if one.in_labels)

    @property
    def unshown_motifs(self) -> tuple[EntrySummary, ...]:
        """The motifs of the other kind."""
        return tuple(one for one in self.motifs if not one.in_labels)

    def recording(self, id: str) -> RecordingSummary | None:
        """The recording of this id, if there is one."""
        return next((one for one in self.recordings if one.id == id), None)

    @property
    def identity(self) -> str:
        """Which run it is: of two with the same one, frames and ids mean the same; edits do not change it."""
        own = self.model_dump(mode="json", include={"rondo_version", "kind", "method", "seed", "config"})
        if self.kind == "stream":  # which grows
            own["recordings"] = [(one.id, one.source) for one in self.recordings]
        else:
            own["recordings"] = [(one.id, one.n_frames, one.breaks) for one in self.recordings]
        return hashlib.sha256(json.dumps(own, sort_keys=True).encode()).hexdigest()[:16]

    def as_json(self) -> dict[str, Any]:
        """What summary.json holds, and `--json` prints."""
        return self.model_dump(mode="json", by_alias=True)


def _with_shifted_ids(stored: dict[str, Any]) -> dict[str, Any]:
    shifts, first = dict[str, int](), 0
    n_frames = {one["id"]: one["n_frames"] for one in stored["recordings"]}
    for recording in n_frames:
        own = [entry for entry in (*stored["units"], *stored["motifs"]) if entry["recording"] == recording]
        shifts[recording] = first
        first += 1 + max((id for entry in own for id in (entry["id"], *entry["absorbed"])), default=-1)

    if first >= 1 << 31:
        raise OverflowError("ids are too large")

    def shifted(entry: dict[str, Any]) -> dict[str, Any]:
        shift = shifts[entry["recording"]]
        return entry | {
            "id": entry["id"] + shift,
            "absorbed": [id + shift for id in entry["absorbed"]],
            "share": entry["share"] * n_frames[entry["recording"]] / sum(n_frames.values()),
            "composition": shifted_units(entry["composition"], shift),
            "taken_for": shifted_units(entry["taken_for"], shift),
        }

    return stored | {
        "units": [shifted(entry) for entry in stored["units"]],
        "motifs": [shifted(entry) for entry in stored["motifs"]],
        "unit_merges": [
            one | {name: one[name] + shifts[one["recording"]] for name in ("kept", "absorbed")}
            for one in stored["unit_merges"]
        ],
        "findings": [one for one in stored["findings"] if not one.startswith("Every recording has a vocabulary of")],
        "id_shifts": shifts,
    }


def shifted_units(names: str, shift: int) -> str:
    """Units of a motif under shifted ids.

    >>> shifted_units("u1 u12", 5)
    'u6 u17'
    """
    return re.sub(r"u(\d+)", lambda unit: f"u{int(unit[1]) + shift}", names)


_MOST_BYTES = 1 << 26  # a recording takes 280 to 550 bytes, an entry about 900
_MOST_VALUES = 1 << 22  # a recording has 20 to 36; the parser takes up to 94 bytes for each


def read_summary(run_dir: Path) -> RunSummary:
    """summary.json of a run folder, checked key by key."""
    refuse_forked()
    path = run_dir / SUMMARY
    if (run_dir / UNFINISHED).exists() and not path.exists():
        raise OutputError(f"{run_dir}: an unfinished run; give the same command again to go on")
    if not run_dir.is_dir():
        raise OutputError(f"{run_dir}: no such folder; give the --out of `rondo discover`, `label` or `stream`")
    try:
        for folder in ("", *_FOLDERS):
            _refuse_links(run_dir / folder)
        text = read_regular(path, _MOST_BYTES)
        if sum(map(text.count, (b"[", b"{", b","))) > _MOST_VALUES:
            raise OSError(errno.EFBIG, f"more than {_MOST_VALUES:,} values", str(path))
        return RunSummary.model_validate_json(text)
    except FileNotFoundError:
        raise OutputError(
            f"{path}: no such file, so the folder holds neither a run nor a stream, or not yet: `rondo discover` puts "
            "a run there when it is whole, `rondo stream` begins at once; a stream of many "
            "devices has one in devices/ for each"
        ) from None
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be read ({error.strerror}); give a folder written by `rondo discover --out`"
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        again = "`rondo discover` again" if where != "schema" else "it again with this version of Rondo"
        raise OutputError(
            f"{path}: {where}: {' '.join(first['msg'].removeprefix('Value error, ').split())}; run {again}"
        ) from None


def _refuse_links(folder: Path) -> None:
    """A run may be someone else's: a link in it would lead to files that nobody has named."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        found = next((entry.name for entry in entries if entry.is_symlink()), None)
        if found is not None:
            raise OutputError(
                f"{folder / found}: a link, expected a file or folder of the run; copy what it leads to here"
            )


def model_place(run_dir: Path) -> Path:
    """The folder of the model and of its edits, whether there are any or not.

    Version 0.2.0 wrote model/<recording>/ for methods that learn each recording separately.
    """
    folder = run_dir / "model"
    if (folder / "manifest.json").exists() or not folder.is_dir():
        return folder
    inside = [each for each in folder.iterdir() if each.is_dir()]
    return inside[0] if len(inside) == 1 else folder
