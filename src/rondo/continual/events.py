"""Event: one thing that happened to a vocabulary, a novelty buffer or the input, as it stands in the journal."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from rondo.errors import ModelError

Kind = Literal["refine", "merge", "promote", "expire", "gap", "skip"]
EventLevel = Literal["unit", "motif", "input"]
Evidence = Mapping[str, float | int | str]

_FIELDS = ("kind", "level", "frame", "time_s", "ids", "evidence")


@dataclass(frozen=True)
class Event:
    """What happened, to which entries or micro-clusters, when, and on what evidence.

    >>> event = Event("promote", "unit", frame=1200, time_s=12.0, ids=(4,), evidence={"support": 9.5, "regions": 3})
    >>> event.to_json()
    '{"kind":"promote","level":"unit","frame":1200,"time_s":12.0,"ids":[4],"evidence":{"support":9.5,"regions":3}}'
    >>> Event.from_json(event.to_json()) == event
    True

    `frame` is the prepared frame at which it happened; `time_s` comes from the data, never from the wall clock, and is
    None where the data have no clock. The kinds "gap" and "skip" belong to the level "input": what was bridged, cut or
    dropped there. Numbers are plain and finite, so that the line in the journal is the event to the last bit.
    """

    kind: Kind
    level: EventLevel
    frame: int
    time_s: float | None
    ids: tuple[int, ...]
    evidence: Evidence

    def __post_init__(self) -> None:
        _require(self.kind in get_args(Kind), f"a kind among {', '.join(get_args(Kind))}", self.kind)
        _require(self.level in get_args(EventLevel), f"a level among {', '.join(get_args(EventLevel))}", self.level)
        _require(_is_int(self.frame) and self.frame >= 0, "a frame number from 0 on", self.frame)
        _require(self.time_s is None or _is_finite(self.time_s), "a finite time_s, or none", self.time_s)
        ids_are_plain = isinstance(self.ids, tuple) and all(map(_is_int, self.ids))
        _require(ids_are_plain, "ids as a tuple of whole numbers", self.ids)
        _require(isinstance(self.evidence, Mapping), "evidence as a mapping", self.evidence)
        for name, value in self.evidence.items():
            is_plain = isinstance(value, str) or _is_int(value) or _is_finite(value)
            _require(isinstance(name, str) and is_plain, "evidence of names with finite numbers or text", {name: value})
        object.__setattr__(self, "evidence", dict(self.evidence))  # the caller may go on with its own

    def to_json(self) -> str:
        """One line of JSON; floats are written so that they are read back to the bit."""
        return json.dumps(asdict(self), separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, line: str) -> Event:
        """The event that wrote this line; anything else is refused."""
        try:
            fields: Any = json.loads(line)
        except (ValueError, RecursionError):
            raise ModelError(f"not an event: expected one line of JSON, got {_shown(line)}") from None
        _require(isinstance(fields, dict) and set(fields) == set(_FIELDS), f"an object of {', '.join(_FIELDS)}", fields)
        _require(isinstance(fields["ids"], list), "ids as a list", fields["ids"])
        return cls(**(fields | {"ids": tuple(fields["ids"])}))


def _is_int(value: object) -> bool:
    """Python's own whole numbers; those of numpy are not JSON, and True is no number here."""
    return type(value) is int


def _is_finite(value: object) -> bool:
    return type(value) is float and math.isfinite(value)


def _require(holds: bool, expected: str, got: object) -> None:
    if not holds:
        raise ModelError(f"not an event: expected {expected}, got {_shown(got)}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"
