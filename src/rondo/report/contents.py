"""What a page holds: which recordings and channels, and how many bytes each gets, so that the page opens at once.

The choice of recordings, channels and annotations is stored next to the report: a page drawn again shows the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rondo.errors import RondoWarning, SettingError
from rondo.run.overview import MOST_DRAWN, least_bytes
from rondo.store.folder import write_json
from rondo.store.reading import read_json
from rondo.wording import counted, did_you_mean, quoted

if TYPE_CHECKING:
    from rondo.run.summary import RecordingSummary, RunSummary

PAGE_BYTES = 12_000_000
_TEXT_BYTES, _ENTRY_BYTES, _MOST_TEXT_BYTES = 500_000, 40_000, 2_600_000
"""Of the page: tables and scripts, the panel of each entry, and the most that both take."""
_SEGMENT_BYTES = 28  # of a lane, as text
_LANES_BYTES = 1800  # of the text beside the lanes of a recording; measured on the page of 1,000 recordings
_BASE64 = 4 / 3
SCORES_SHARE = 0.04  # of the bytes of a recording: one score covers many frames

DRAWN_AT_FIRST = 12
"""Recordings, and channels of each, drawn before anyone chooses others."""
MAX_CHANNELS_INSIDE = 64
_WISH_FILE = ".report_wish.json"


class TruthFile(NamedTuple):
    """A file or folder of classes per frame or of annotations, as `rondo evaluate` takes them.

    `key` names its array, column or track; `rate` is for annotations in seconds if the run has no rate.
    """

    path: Path
    key: str | None = None
    rate: float | None = None


class Wish(NamedTuple):
    """What to draw: recordings and channels by name (none: as many as fit), and annotations as a lane."""

    recordings: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    truth: TruthFile | None = None


EVERYTHING = Wish()


def in_file_order(recordings: Sequence[RecordingSummary]) -> dict[str, Sequence[int]]:
    """Every channel, in its place."""
    return {it.id: range(len(it.channels)) for it in recordings}


class Contents(NamedTuple):
    """The recordings of a page, the indices of their channels, their bytes, and notes on what is left out.

    A recording with 0 bytes has lanes and no signal.
    """

    recordings: tuple[RecordingSummary, ...]
    channels: Mapping[str, Sequence[int]]
    bytes_of: Mapping[str, int]
    left_out: Sequence[str]


def contents_of(
    run: RunSummary,
    n_segments: Sequence[Mapping[str, int]],
    wish: Wish = EVERYTHING,
    in_order: Callable[[Sequence[RecordingSummary]], Mapping[str, Sequence[int]]] = in_file_order,
) -> Contents:
    """Take recordings in order while their lanes fit, then signals at their smallest; signals share the rest.

    `n_segments`: for each table that is drawn as lanes, the number of segments of each recording. `in_order`: the
    channels of recordings in the order in which they are drawn, without those that show nothing.
    """
    wanted = [it for it in run.recordings if not wish.recordings or it.id in wish.recordings]
    _check_known("--recordings", wish.recordings, [it.id for it in run.recordings])
    _check_known("--channels", wish.channels, [name for it in wanted for name in it.channels])
    order = in_order(wanted[:MOST_DRAWN])
    channels = {}
    for it in wanted:
        named = [index for index, name in enumerate(it.channels) if name in wish.channels]
        channels[it.id] = (named or order.get(it.id, range(len(it.channels))))[:MAX_CHANNELS_INSIDE]
    counts = {it.id: [table[it.id] for table in n_segments if it.id in table] for it in wanted}
    lanes = {id: _LANES_BYTES + _SEGMENT_BYTES * sum(each) if each else 0 for id, each in counts.items()}
    least = {it.id: int(_BASE64 * least_bytes(len(channels[it.id]) + 2, it.n_frames)) for it in wanted}
    n_entries = len(run.units) + len(run.motifs)
    room = PAGE_BYTES - min(_TEXT_BYTES + _ENTRY_BYTES * n_entries, _MOST_TEXT_BYTES)
    n_inside, room = _fitting([lanes[it.id] for it in wanted[:MOST_DRAWN]], room)
    drawn = tuple(wanted[:n_inside])
    n_signals, room = _fitting([least[it.id] for it in drawn], room)
    weights = {it.id: max(1, it.n_frames * len(channels[it.id])) for it in drawn[:n_signals]}
    total = sum(weights.values())
    bytes_of = {id: int((least[id] + room * weight / total) / _BASE64) for id, weight in weights.items()}
    notes = _left_out(run, drawn, len(wanted), wanted[n_inside : n_inside + 2], channels, wish, order)
    if unsigned := [it.id for it in drawn[n_signals:]]:
        notes.append(
            f"The signals of {counted(len(unsigned), 'recording')} are not inside this page, for {_BOUND}; with "
            f"them: rondo report RUN --recordings {','.join(unsigned[:2])}."
        )
    return Contents(drawn, channels, {it.id: bytes_of.get(it.id, 0) for it in drawn}, notes)


def _constant(drawn: Sequence[RecordingSummary], order: Mapping[str, Sequence[int]]) -> list[str]:
    """Channels that no recording draws."""
    names = {it.id: [it.channels[place] for place in order[it.id]] for it in drawn}
    shown = {name for own in names.values() for name in own}
    return [name for name in dict.fromkeys(name for it in drawn for name in it.channels) if name not in shown]


def _fitting(needs: Sequence[int], room: int) -> tuple[int, int]:
    """How many fit, in order and at least the first; and the room that is left."""
    n = 0
    for need in needs:
        if n and need > room:
            break
        n, room = n + 1, max(0, room - need)
    return n, room


def _check_known(option: str, wanted: Sequence[str], known: Sequence[str]) -> None:
    unknown = next((name for name in wanted if name not in known), None)
    if unknown is not None:
        hint = did_you_mean(unknown, known, f"there are {', '.join([*dict.fromkeys(known)][:8])}")
        raise SettingError(f"{option}: the run has no '{unknown}'; {hint}")


_CHOSEN = "as was asked for; all that fit: rondo report RUN"
_BOUND = f"a page is kept under {PAGE_BYTES // 1_000_000} MB"


def _left_out(
    run: RunSummary,
    drawn: Sequence[RecordingSummary],
    n_wanted: int,
    next_ones: Sequence[RecordingSummary],
    channels: Mapping[str, Sequence[int]],
    wish: Wish,
    order: Mapping[str, Sequence[int]],
) -> list[str]:
    """Sentences: what the page does not hold, and how to get it."""
    notes = []
    if len(drawn) < len(run.recordings):
        names = ",".join(it.id for it in next_ones)
        by_name = f"for {_BOUND}; the others by name: rondo report RUN --recordings {names}"
        why = by_name if len(drawn) < n_wanted else _CHOSEN
        notes.append(
            f"{len(drawn)} of {len(run.recordings)} recordings are inside this page, {why}. The tables count all of "
            "them."
        )
    most = max(drawn, key=lambda it: len(it.channels) - len(channels[it.id]))
    constant = [] if wish.channels else _constant(drawn, order)
    missing = [
        name for index, name in enumerate(most.channels) if index not in channels[most.id] and name not in constant
    ]
    if missing:
        by_name = f"for {_BOUND}; others by name: rondo report RUN --channels {','.join(missing[:2])}"
        why = _CHOSEN if wish.channels else by_name
        notes.append(f"{len(channels[most.id])} of {len(most.channels)} channels are inside this page, {why}.")
    if constant:
        by_name = f"by name: rondo report RUN --channels {','.join(constant[:2])}"
        notes.append(f"{counted(len(constant), 'channel')} without change left out ({quoted(constant)}); {by_name}.")
    return notes


def keep_wish(run: Path, wish: Wish) -> None:
    """Store the choice for the next drawing; no choice needs no file."""
    path = run / _WISH_FILE
    if wish == EVERYTHING:
        path.unlink(missing_ok=True)
        return
    stored = wish._asdict()
    if wish.truth is not None:
        where = wish.truth.path.absolute()  # the next command may run in another folder
        stored["truth"] = wish.truth._asdict() | {"path": str(where), "inode": _inode(where)}
    write_json(path, stored, "make room or give permission; the report itself is there")


def kept_wish(run: Path) -> Wish:
    """The choice with which the report of this run was last drawn."""
    try:
        stored = read_json(run / _WISH_FILE)
        wish, truth = Wish(tuple(stored["recordings"]), tuple(stored["channels"])), stored["truth"]
        if truth is None:
            return wish
        path = Path(truth["path"])
        # A run from someone else could name any file of ours; the inode is what nobody elsewhere can know.
        if not path.exists() or _inode(path) == truth.get("inode"):
            return wish._replace(truth=TruthFile(path, truth["key"], truth["rate"]))
    except (OSError, ValueError, KeyError, TypeError):
        return EVERYTHING
    warnings.warn(
        f"the report was drawn without its annotations: {path} is not the file that it was drawn with; "
        f"`rondo report {run} --truth {path}` draws them",
        RondoWarning,
        stacklevel=2,
    )
    return wish


def _inode(path: Path) -> int:
    try:
        return path.stat().st_ino
    except OSError:
        return -1
