"""Survey: what is learned from one recording before any window is cut. It is small, and the recording can go.

A data set is prepared from the surveys of its recordings alone, so that it makes no difference whether they lie in
memory or are read one after the other, here or elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rondo.config.schema import PreprocessConfig
from rondo.data.channels import fitting
from rondo.data.moments import ChannelMoments
from rondo.data.recording import Recording
from rondo.data.relations import ChannelRelations
from rondo.data.signal import Signal, plan_of, regularise, select
from rondo.data.windows import Span
from rondo.formats.known_values import KnownValues


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

    @property
    def longest_span(self) -> int:
        """Frames of the longest span."""
        return max(stop - start for start, stop in self.spans)

    @property
    def sound(self) -> tuple[Span, ...]:
        """The parts of the spans that are not poor."""
        return without(self.spans, self.poor)

    def as_json(self) -> dict[str, Any]:
        """Plain values that `from_json` reads back to the last digit."""
        relations = None if self.relations is None else self.relations.as_json()
        return vars(self) | {"moments": self.moments.as_json(), "relations": relations}

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
        }
        kept = {name: value for name, value in stored.items() if name != "deviations"}
        return cls(**(kept | more))


class Surveyed(NamedTuple):
    """A survey, and the regular signal that it is about."""

    survey: Survey
    signal: Signal


def survey_of(recording: Recording, channels: tuple[str, ...], config: PreprocessConfig) -> Surveyed:
    """Look at one recording in these channels; one that lacks them or cannot be repaired is refused."""
    own = fitting(recording, channels, config)
    plan = plan_of(own, channels, config)
    signal = regularise(own, channels, config, plan)
    if config.scaling == "none" and not config.pca_components:
        moments = ChannelMoments.none(len(channels))
    else:
        moments = ChannelMoments.of(signal, products=bool(config.pca_components))
    codes = [[code for name, code in own.missing_codes if name == channel] for channel in channels]
    known = KnownValues.of(select(own, channels), codes)
    size = (recording.n_frames, recording.n_channels, recording.rate)
    relations = plan.relations
    if relations is None and config.dropouts == "fill":
        relations = ChannelRelations.of(select(own, channels))
    about = (signal.n_frames, signal.spans, plan.spacing)
    gone = (signal.silent, signal.n_filled, signal.poor)
    return Surveyed(Survey(recording.id, *size, *about, moments, known, relations, *gone), signal)


def without(spans: Sequence[Span], poor: Sequence[Span]) -> tuple[Span, ...]:
    """What is left of spans where others, in order, are taken out.

    >>> without([(0, 10), (20, 30)], [(4, 6), (8, 22)])
    ((0, 4), (6, 8), (22, 30))
    """
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


@dataclass(frozen=True)
class SurveyedSize:
    """What window lengths are chosen by, of a recording that is not at hand; as `Signal` has it."""

    survey: Survey
    n_dims: int  # channels of a window
    period_of: Callable[[str], float]  # reads the recording of this id once more

    @property
    def id(self) -> str:
        return self.survey.id

    @property
    def rate(self) -> float | None:
        return self.survey.rate

    @property
    def n_frames(self) -> int:
        return self.survey.n_frames

    @property
    def longest_span(self) -> int:
        return self.survey.longest_span

    @property
    def period_frames(self) -> float:
        return self.period_of(self.id)


def sizes_of(surveys: Sequence[Survey], n_dims: int, period_of: Callable[[str], float]) -> list[SurveyedSize]:
    """What window lengths are chosen by, of each recording."""
    return [SurveyedSize(survey, n_dims, period_of) for survey in surveys]
