"""Survey: what is learned from one recording before any window is cut. It is small, and the recording can go.

A data set is prepared from the surveys of its recordings alone, so that it makes no difference whether they lie in
memory or are read one after the other, here or elsewhere.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from rondo.arrays import Floats
from rondo.config.settings import PreprocessConfig
from rondo.data.body import BodyFrame
from rondo.data.known_channels import KnownValues
from rondo.data.moments import ChannelMoments
from rondo.data.recording import Recording
from rondo.data.relations import ChannelRelations
from rondo.data.signal import Signal, fitting, plan_of, regularise, select
from rondo.data.sound import mended
from rondo.data.windows import Span

_NUMBERED = re.compile(r"recording[0-9]*")  # ids that `rondo.files.inputs` gives to arrays and tables
_MOST_SPREAD, _LEAST_SHARE = (
    0.85,
    0.4,
)  # by hand: MoCap6, PTE, MoCap and USC-HAD chose them, OpenPack and ActRecTut agree

ONE_EACH = (
    "recordings vary little and differ from each other, as if each held one activity; scaled each by itself they look "
    "the same: try --set preprocess.statistics=dataset, together with --group-by (people or machines) or --set "
    "units.places=false"
)


@dataclass(frozen=True, eq=False)
class Survey:
    """Size, rate, spans and moments of one recording, in the channels of its data set."""

    id: str
    n_rows: int  # of its file, n_channels likewise
    n_channels: int
    rate: float | None
    n_frames: int  # on the regular grid
    spans: tuple[Span, ...]  # that windows may use
    spacing: tuple[int, ...]  # frames between two values of each slow sensor, 0 for others
    moments: ChannelMoments
    known: KnownValues | None = None  # None in a survey that an earlier version has kept
    relations: ChannelRelations | None = None  # of its channels; None where dropouts are boundaries
    silent: tuple[int, ...] = ()  # channels without any value
    n_filled: tuple[int, ...] = ()  # rows in which each channel was predicted; empty: none was
    poor: tuple[Span, ...] = ()  # frames of which too much was predicted to learn from them
    checksum: int | None = None  # of all values on the grid; None in a survey that an earlier version has kept
    still_rows: tuple[float, ...] = ()  # equal values in a row after which a channel is stuck; empty likewise
    body: BodyFrame | None = None  # that its channels show

    @property
    def sound(self) -> tuple[Span, ...]:
        """The parts of the spans that are not poor."""
        return without(self.spans, self.poor)

    def as_json(self) -> dict[str, Any]:
        """Plain values that `from_json` reads back to the last digit."""
        relations = None if self.relations is None else self.relations.as_json()
        body = None if self.body is None else self.body.as_json()
        return vars(self) | {"moments": self.moments.as_json(), "relations": relations, "body": body}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Survey:
        """What `as_json` gave; 0.2.0 kept `deviations` too."""
        spans, poor = (tuple((int(start), int(stop)) for start, stop in stored[name]) for name in ("spans", "poor"))
        more = {
            "spans": spans,
            "spacing": tuple(stored["spacing"]),
            "moments": ChannelMoments.from_json(stored["moments"]),
            "known": None if stored.get("known") is None else KnownValues.from_json(stored["known"]),
            "relations": None if stored["relations"] is None else ChannelRelations.from_json(stored["relations"]),
            "silent": tuple(stored["silent"]),
            "n_filled": tuple(stored["n_filled"]),
            "poor": poor,
            "still_rows": tuple(stored.get("still_rows", ())),
            "body": None if stored.get("body") is None else BodyFrame.from_json(stored["body"]),
        }
        kept = {name: value for name, value in stored.items() if name != "deviations"}
        return cls(**(kept | more))


class Surveyed(NamedTuple):
    """A survey, and the regular signal that it is about."""

    survey: Survey
    signal: Signal


def survey_of(recording: Recording, channels: tuple[str, ...], config: PreprocessConfig) -> Surveyed:
    """Look at one recording in these channels; one that lacks them or cannot be repaired is refused."""
    chosen, still_rows = mended(fitting(recording, channels, config), channels, config)
    plan = plan_of(chosen, channels, config)
    signal = regularise(chosen, channels, config, plan)
    if config.scaling == "none" and not config.pca_components:
        moments = ChannelMoments.none(len(channels))
    else:
        moments = ChannelMoments.of(signal, products=bool(config.pca_components))
    codes = [[code for name, code in chosen.missing_codes if name == channel] for channel in channels]
    values, relations = select(chosen, channels), plan.relations
    if relations is None and config.dropouts == "fill":
        relations = ChannelRelations.of(values, plan.offsets)
    survey = Survey(
        recording.id,
        recording.n_frames,
        recording.n_channels,
        recording.rate,
        signal.n_frames,
        signal.spans,
        plan.spacing,
        moments,
        KnownValues.of(values, codes),
        relations,
        signal.silent,
        signal.n_filled,
        signal.poor,
        zlib.crc32(np.ascontiguousarray(signal.values).data),
        still_rows,
        recording.body,
    )
    return Surveyed(survey, signal)


def in_learning_order(recordings: Sequence[Recording]) -> list[Recording]:
    """Recordings by their ids, those that are numbered as they were given (recording0, ...) by their values.

    Whatever is learned from several recordings is learned in this order, so that the order in which they are given
    changes nothing.
    """

    def place(recording: Recording) -> tuple[str, int]:
        is_numbered = _NUMBERED.fullmatch(recording.id) is not None
        return ("recording", zlib.crc32(recording.values.data)) if is_numbered else (recording.id, 0)

    return sorted(recordings, key=place)


def hold_one_each(levels: Sequence[Floats], moments: Sequence[ChannelMoments]) -> bool:
    """Whether recordings hold one activity each, so that scaling each by itself removes what differs between them.

    `levels`: the logarithms of deviations in windows (n_windows, n_channels) of each recording, scaled; `moments`: of
    each recording. Such windows vary little, and such recordings differ in how much they move; means are left out, as
    they also depend on how a sensor is worn. Of eight public sets, in draws of 2 to 8 recordings, whole recordings of
    many activities have a spread of at least 0.87 and a share between recordings of at most 0.44. Cut into single
    activities, the medians are 0.55 to 0.80 and 0.36 to 0.91 (Suturing, cut into gestures, 1.30 and 0.25: no note).
    """
    if len(levels) < 2:
        return False
    deviations = np.array([np.sqrt(own.squares / max(1, own.count)) for own in moments])
    varying = (deviations > 0).all(axis=0)
    if not varying.any():
        return False
    within = np.mean([own[:, varying].var(axis=0) for own in levels], axis=0)
    means = np.array([own[:, varying].mean(axis=0) for own in levels]) + np.log(deviations[:, varying])
    between = means.var(axis=0, ddof=1)
    share = np.divide(between, between + within, out=np.zeros_like(between), where=between > 0)
    return bool(np.sqrt(within.mean()) <= _MOST_SPREAD and np.median(share) >= _LEAST_SHARE)


def copies_in(surveys: Sequence[Survey]) -> dict[str, str]:
    """Recordings with the values of another one: id of the copy -> id of the recording that stands for both.

    A file under two names would be evidence that all of it recurs.
    """
    first: dict[tuple[object, ...], str] = {}
    copies = {}
    for survey in sorted(surveys, key=lambda survey: survey.id):
        values = (survey.checksum, survey.n_rows, survey.rate, survey.spans, *survey.moments.mean.tolist())
        original = first.setdefault(values, survey.id)
        if survey.checksum is not None and original != survey.id:
            copies[survey.id] = original
    return copies


def without(spans: Sequence[Span], poor: Sequence[Span]) -> tuple[Span, ...]:
    """What is left of spans where others, in order, are taken out."""
    left: list[Span] = []
    for start, stop in spans:
        for first, past in poor:
            if past <= start or first >= stop:
                continue
            if first > start:
                left.append((start, first))
            start = past
        if start < stop:
            left.append((start, stop))
    return tuple(left)


class SurveyedSize(NamedTuple):
    """What window lengths are chosen by, of a recording that is not at hand; as `Signal` has it."""

    id: str
    rate: float | None
    n_frames: int
    longest_span: int
    n_dims: int  # channels of a window
    period_of: Callable[[str], float]  # reads the recording of this id once more

    @property
    def period_frames(self) -> float:
        return self.period_of(self.id)


def sizes_of(surveys: Sequence[Survey], n_dims: int, period_of: Callable[[str], float]) -> list[SurveyedSize]:
    """What window lengths are chosen by, of each recording."""
    longest = [max(stop - start for start, stop in survey.spans) for survey in surveys]
    return [
        SurveyedSize(survey.id, survey.rate, survey.n_frames, span, n_dims, period_of)
        for survey, span in zip(surveys, longest, strict=True)
    ]


# A fair sample of recordings that are too many to learn from at once: whole stretches, each frame as likely as any.
#
# The usable frames of all recordings, laid one after the other, are cut into pieces of equal length. Of every k pieces
# that follow each other one is drawn. So each frame has the same chance, every recording gives its share, and
# recordings of one length are not always met at the same place, as every k-th piece from one start would meet them.

MOST_VALUES = 1 << 25  # frames x channels that a vocabulary is learned from: 134 MB
MOST_WINDOWS = 1 << 17  # that it is learned from: about 0.5 GB while it is. What is smaller in both is taken whole
STRETCH_WINDOWS = 40  # long windows in a piece: enough to see contexts change
_FEWEST_WINDOWS, _FEWEST_PIECES = 4, 64  # long windows in a piece, and pieces; ours, not measured


def most_frames(n_dims: int, step_frames: int) -> int:
    """Frames that are learned from, at most."""
    return max(1, min(MOST_VALUES // n_dims, MOST_WINDOWS * step_frames))


def stretch_frames(motif_window_frames: int, most: int) -> int:
    """Frames of a piece: 40 long windows; fewer where 64 such pieces would be more than the `most` frames."""
    fewest = max(_FEWEST_WINDOWS * motif_window_frames, most // _FEWEST_PIECES)
    return max(1, min(most, STRETCH_WINDOWS * motif_window_frames, fewest))


def fair_sample(
    spans_of_each: Sequence[Sequence[Span]], stretch: int, most: int, rng: np.random.Generator
) -> list[tuple[Span, ...]]:
    """The stretches of each recording to learn from: at most so many frames, or all spans where there are no more.

    >>> fair_sample([[(0, 50)], [(0, 10), (20, 40)]], 10, 30, np.random.default_rng(0))
    [((20, 30), (40, 50)), ((30, 40),)]
    """
    total = sum(stop - start for spans in spans_of_each for start, stop in spans)
    if total <= most:
        return [tuple(spans) for spans in spans_of_each]
    n_pieces = -(-total // stretch)
    every = -(-n_pieces // max(1, most // stretch))
    firsts = np.arange(0, n_pieces, every)
    pieces = firsts + rng.integers(0, every, firsts.size)
    pieces = pieces[pieces < n_pieces]
    return _cut(spans_of_each, [(int(piece) * stretch, (int(piece) + 1) * stretch) for piece in pieces])


def _cut(spans_of_each: Sequence[Sequence[Span]], chosen: Sequence[Span]) -> list[tuple[Span, ...]]:
    """The parts of spans that lie in the chosen stretches of the axis on which all spans follow each other."""
    at, place, found = 0, 0, []
    for spans in spans_of_each:
        taken: list[Span] = []
        for start, stop in spans:
            end = at + stop - start
            while place < len(chosen) and chosen[place][1] <= at:
                place += 1
            for i in range(place, len(chosen)):
                first, past = chosen[i]
                if first >= end:
                    break
                begin, end_here = max(first, at) - at + start, min(past, end) - at + start
                if taken and taken[-1][1] == begin != start:  # it goes on within the span
                    taken[-1] = (taken[-1][0], end_here)
                else:
                    taken.append((begin, end_here))
            at = end
        found.append(tuple(taken))
    return found


def n_taken(n_frames: int, spans: Sequence[Span], stretches: Sequence[Span]) -> int:
    """Frames of the signal that `taken` gives."""
    return n_frames if tuple(stretches) == tuple(spans) else sum(stop - start for start, stop in stretches)


def taken(signal: Signal, stretches: Sequence[Span]) -> Signal:
    """The signal of these stretches alone, each a span of its own; the very signal where they are all its spans."""
    if tuple(stretches) == signal.spans:
        return signal
    values = np.concatenate([signal.values[:0], *(signal.values[start:stop] for start, stop in stretches)])
    return replace(signal, values=values, spans=rebased(stretches), n_rows=len(values), frame_of_row=None)


def rebased(stretches: Sequence[Span]) -> tuple[Span, ...]:
    """Where stretches lie once they follow each other."""
    stops = list(accumulate(stop - start for start, stop in stretches))
    return tuple(zip([0, *stops[:-1]], stops, strict=True)) if stops else ()
