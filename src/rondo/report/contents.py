"""What one page holds: which recordings and channels, and how many bytes each gets, so that it opens at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rondo.errors import SettingError
from rondo.report.overview import Overview, least_bytes
from rondo.wording import did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from rondo.run.summary import RecordingSummary, RunSummary

PAGE_BYTES = 15_000_000
_FOR_WORDS = 2_600_000  # of these: tables, scripts, and the occurrences of all entries
_SEGMENT_BYTES = 28  # of a lane, as text
_TEXT = 4 / 3  # bytes as base64
_SCORES_SHARE = 0.07  # of the bytes of a recording: a window speaks for many frames, so scores shrink well

DRAWN_AT_FIRST = 12
"""Recordings, and channels of each, until someone chooses others."""

MAX_CHANNELS_INSIDE = 64
_CODES_KEPT = 1 << 26


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
    """The recordings inside a page, the places of their channels, their bytes, and what to say about the others."""

    recordings: tuple[RecordingSummary, ...]
    channels: Mapping[str, Sequence[int]]
    bytes_of: Mapping[str, int]
    left_out: Sequence[str]

    def signal_bytes(self, recording_id: str) -> int:
        return int((1 - _SCORES_SHARE) * self.bytes_of[recording_id])

    def score_bytes(self, recording_id: str) -> int:
        return int(_SCORES_SHARE * self.bytes_of[recording_id])


def contents_of(run: RunSummary, tables: Sequence[pl.DataFrame], wish: Wish = EVERYTHING) -> Contents:
    """Recordings in their order while their lanes and the least of their signals fit; what is left goes to signals.

    `tables` hold the segments that will be drawn as lanes.
    """
    wanted = [it for it in run.recordings if not wish.recordings or it.id in wish.recordings]
    _check_known("--recordings", wish.recordings, [it.id for it in run.recordings])
    _check_known("--channels", wish.channels, [name for it in wanted for name in it.channels])
    channels = {it.id: _channels(it, wish) for it in wanted}
    lanes = _lane_bytes(tables)
    least = {it.id: int(_TEXT * least_bytes(len(channels[it.id]) + 2)) for it in wanted}
    room, inside = PAGE_BYTES - _FOR_WORDS, list[str]()
    for recording in wanted:
        needs = lanes.get(recording.id, 0) + least[recording.id]
        if inside and needs > room:
            break
        room -= needs
        inside.append(recording.id)
    weights = {it.id: max(1, it.n_frames * len(channels[it.id])) for it in wanted if it.id in inside}
    room, whole = max(0, room), sum(weights.values())
    bytes_of = {id: int((least[id] + room * weight / whole) / _TEXT) for id, weight in weights.items()}
    drawn = tuple(it for it in wanted if it.id in weights)
    return Contents(drawn, channels, bytes_of, _left_out(run, drawn, wanted, channels, wish))


def _channels(recording: RecordingSummary, wish: Wish) -> list[int]:
    wanted = [place for place, name in enumerate(recording.channels) if not wish.channels or name in wish.channels]
    return (wanted or [*range(len(recording.channels))])[:MAX_CHANNELS_INSIDE]


def _check_known(option: str, wanted: Sequence[str], known: Sequence[str]) -> None:
    lost = next((name for name in wanted if name not in known), None)
    if lost is not None:
        there = did_you_mean(lost, known, f"there are {', '.join([*dict.fromkeys(known)][:8])}")
        raise SettingError(f"{option}: the run has no '{lost}'; {there}")


def _lane_bytes(tables: Sequence[pl.DataFrame]) -> dict[str, int]:
    found: dict[str, int] = {}
    for table in tables:
        for id, n_segments in table["recording"].value_counts().iter_rows():
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


class Overviews(Mapping[str, Overview]):
    """The overviews of recordings, made or read when they are asked for; few are held at a time."""

    def __init__(self, recording_ids: Sequence[str], make: Callable[[str], Overview]) -> None:
        self._ids, self._make = tuple(recording_ids), make
        self._held: dict[str, Overview] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, recording_id: str) -> Overview:
        if recording_id not in self._held:
            self._held[recording_id] = self._make(recording_id)
        while len(self._held) > 1 and sum(it.codes.size for it in self._held.values()) > _CODES_KEPT:
            del self._held[next(id for id in self._held if id != recording_id)]
        return self._held[recording_id]
