"""What one page holds: which recordings and channels, and how many bytes each gets, so that it opens at once.

What a report was asked to show is kept beside it: a page that is drawn again, with a new name, shows the same.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rondo.editing.edits import changing
from rondo.errors import InputError, RondoWarning, SettingError
from rondo.run.overview import MOST_DRAWN, least_bytes
from rondo.store.folder import write_json
from rondo.store.reading import read_regular
from rondo.wording import counted, did_you_mean

if TYPE_CHECKING:
    from rondo.run.summary import RecordingSummary, RunSummary

PAGE_BYTES = 12_000_000
_FOR_WORDS, _FOR_ENTRY, _MOST_FOR_WORDS = 500_000, 40_000, 2_600_000
"""Of these: tables and scripts, what is shown of each entry, and the most that both take."""
_SEGMENT_BYTES = 28  # of a lane, as text
_TEXT = 4 / 3  # bytes as base64
_SCORES_SHARE = 0.04  # of the bytes of a recording: a window speaks for many frames, so scores shrink well

DRAWN_AT_FIRST = 12
"""Recordings, and channels of each, until someone chooses others."""

MAX_CHANNELS_INSIDE = 64
_NAME = ".report_wish.json"
_MOST_BYTES = 1 << 24


@dataclass(frozen=True)
class TruthFile:
    """A file or folder of classes per frame or of annotations, as `rondo evaluate` takes them.

    `key` names its array, column or track; `rate` is for annotations in seconds where the run knows none.
    """

    path: Path
    key: str | None = None
    rate: float | None = None


@dataclass(frozen=True)
class Wish:
    """What to draw: recordings and channels by name, all that fit where none is named; and annotations."""

    recordings: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    truth: TruthFile | None = None  # what people have annotated, for a lane of its own


EVERYTHING = Wish()


@dataclass(frozen=True)
class Contents:
    """The recordings inside a page, the places of their channels, their bytes, and what to say about the others.

    A recording without bytes has lanes and no signal.
    """

    recordings: tuple[RecordingSummary, ...]
    channels: Mapping[str, Sequence[int]]
    bytes_of: Mapping[str, int]
    left_out: Sequence[str]

    def signal_bytes(self, recording_id: str) -> int:
        return int((1 - _SCORES_SHARE) * self.bytes_of[recording_id])

    def score_bytes(self, recording_id: str) -> int:
        return int(_SCORES_SHARE * self.bytes_of[recording_id])


def contents_of(run: RunSummary, n_segments: Sequence[Mapping[str, int]], wish: Wish = EVERYTHING) -> Contents:
    """Recordings in their order while their lanes fit, and signals while the least of them does; signals get the rest.

    `n_segments`: of each recording, for each table whose segments will be drawn as lanes.
    """
    wanted = [it for it in run.recordings if not wish.recordings or it.id in wish.recordings]
    _check_known("--recordings", wish.recordings, [it.id for it in run.recordings])
    _check_known("--channels", wish.channels, [name for it in wanted for name in it.channels])
    channels = {it.id: _channels(it, wish) for it in wanted}
    lanes = _lane_bytes(n_segments)
    least = {it.id: int(_TEXT * least_bytes(len(channels[it.id]) + 2, it.n_frames)) for it in wanted}
    n_entries = len(run.units) + len(run.shown_motifs)
    room = PAGE_BYTES - min(_FOR_WORDS + _FOR_ENTRY * n_entries, _MOST_FOR_WORDS)
    n_inside, room = _fitting([lanes.get(it.id, 0) for it in wanted[:MOST_DRAWN]], room)
    drawn = tuple(wanted[:n_inside])
    n_signals, room = _fitting([least[it.id] for it in drawn], room)
    weights = {it.id: max(1, it.n_frames * len(channels[it.id])) for it in drawn[:n_signals]}
    whole = sum(weights.values())
    bytes_of = {id: int((least[id] + room * weight / whole) / _TEXT) for id, weight in weights.items()}
    told = [*_left_out(run, drawn, wanted, channels, wish), *_without_signal(drawn, n_signals)]
    return Contents(drawn, channels, {it.id: bytes_of.get(it.id, 0) for it in drawn}, told)


def _fitting(needs: Sequence[int], room: int) -> tuple[int, int]:
    """How many, from the first on and that one in any case, fit; and the room that is left."""
    n = 0
    for need in needs:
        if n and need > room:
            break
        n, room = n + 1, max(0, room - need)
    return n, room


def _without_signal(drawn: Sequence[RecordingSummary], n_signals: int) -> list[str]:
    rest = [it.id for it in drawn[n_signals:]]
    if not rest:
        return []
    return [
        f"The signals of {counted(len(rest), 'recording')} are not inside this page, for a page is kept under "
        f"{PAGE_BYTES // 1_000_000} MB; with them: rondo report RUN --recordings {','.join(rest[:2])}."
    ]


def _channels(recording: RecordingSummary, wish: Wish) -> list[int]:
    wanted = [place for place, name in enumerate(recording.channels) if not wish.channels or name in wish.channels]
    return (wanted or [*range(len(recording.channels))])[:MAX_CHANNELS_INSIDE]


def _check_known(option: str, wanted: Sequence[str], known: Sequence[str]) -> None:
    lost = next((name for name in wanted if name not in known), None)
    if lost is not None:
        there = did_you_mean(lost, known, f"there are {', '.join([*dict.fromkeys(known)][:8])}")
        raise SettingError(f"{option}: the run has no '{lost}'; {there}")


def _lane_bytes(tables: Sequence[Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for table in tables:
        for id, n_segments in table.items():
            found[id] = found.get(id, 1000) + _SEGMENT_BYTES * n_segments
    return found


def _left_out(
    run: RunSummary,
    drawn: Sequence[RecordingSummary],
    wanted: Sequence[RecordingSummary],
    channels: Mapping[str, Sequence[int]],
    wish: Wish,
) -> list[str]:
    """What the page does not hold, and how to get it."""
    told = []
    bound = f"a page is kept under {PAGE_BYTES // 1_000_000} MB"
    if len(drawn) < len(wanted):
        rest = ",".join(it.id for it in wanted[len(drawn) : len(drawn) + 2])
        told.append(
            f"{len(drawn)} of {len(run.recordings)} recordings are inside this page, for {bound}; the others by name: "
            f"rondo report RUN --recordings {rest}. The tables count all of them."
        )
    elif len(drawn) < len(run.recordings):
        told.append(
            f"{len(drawn)} of {len(run.recordings)} recordings are inside this page, as was asked for; all that fit: "
            "rondo report RUN. The tables count all of them."
        )
    most = max(drawn, key=lambda it: len(it.channels) - len(channels[it.id]))
    lost = [name for place, name in enumerate(most.channels) if place not in channels[most.id]]
    if lost and not wish.channels:
        told.append(
            f"{len(channels[most.id])} of {len(most.channels)} channels are inside this page, for {bound}; others by "
            f"name: rondo report RUN --channels {','.join(lost[:2])}."
        )
    elif lost:
        told.append(
            f"{len(channels[most.id])} of {len(most.channels)} channels are inside this page, as was asked for; all "
            "that fit: rondo report RUN."
        )
    return told


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
