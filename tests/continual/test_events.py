"""Event: frozen, plain, and the same to the last bit after a way through JSON."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.continual.events import Event, EventLevel, Kind
from rondo.errors import ModelError

finite = st.floats(allow_nan=False, allow_infinity=False)
events = st.builds(
    Event,
    kind=st.sampled_from(get_args(Kind)),
    level=st.sampled_from(get_args(EventLevel)),
    frame=st.integers(0, 2**62),
    time_s=st.none() | finite,
    ids=st.lists(st.integers(-1, 2**40), max_size=4).map(tuple),
    evidence=st.dictionaries(st.text(max_size=8), finite | st.integers() | st.text(max_size=8), max_size=4),
)

PLAIN: dict[str, Any] = {
    "kind": "merge", "level": "motif", "frame": 3, "time_s": 0.1, "ids": (1, 2), "evidence": {"distance": 0.3}
}  # fmt: skip


@given(event=events)
def test_the_way_through_json_is_exact(event: Event) -> None:
    again = Event.from_json(event.to_json())
    assert again == event
    assert again.to_json() == event.to_json()  # keeps -0.0, the order of evidence, and 1 apart from 1.0


@given(event=events)
def test_an_event_is_one_line(event: Event) -> None:
    assert len(event.to_json().splitlines()) == 1


def test_an_event_is_frozen_and_its_evidence_its_own() -> None:
    evidence = {"distance": 0.3}
    event = Event(**(PLAIN | {"evidence": evidence}))
    evidence["distance"] = 9.0
    assert event.evidence == {"distance": 0.3}
    with pytest.raises(FrozenInstanceError):
        event.frame = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "update"),
        ("level", "component"),
        ("frame", -1),
        ("frame", 1.0),
        ("frame", True),
        ("time_s", float("nan")),
        ("time_s", 3),
        ("ids", [1]),
        ("ids", (1.0,)),
        ("ids", (np.int64(1),)),
        ("evidence", None),
        ("evidence", {"distance": float("inf")}),
        ("evidence", {"distance": np.float32(1)}),
        ("evidence", {"distance": None}),
        ("evidence", {1: 1.0}),
    ],
)
def test_what_json_cannot_give_back_is_refused(field: str, value: object) -> None:
    with pytest.raises(ModelError, match="not an event: expected"):
        Event(**(PLAIN | {field: value}))


WHOLE = '{"kind":"merge","level":"unit","frame":0,"time_s":null,"ids":[],"evidence":{}}'


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "7",
        '{"kind":"merge"}',
        WHOLE.replace("[]", "3"),
        WHOLE.replace("null", "NaN"),
        WHOLE[:-1] + ',"more":1}',
        "[" * 100_000,
    ],
)
def test_a_line_that_is_no_event_is_refused_in_one_line(line: str) -> None:
    with pytest.raises(ModelError) as refused:
        Event.from_json(line)
    assert len(str(refused.value).splitlines()) == 1


def test_the_same_line_unspoilt_is_an_event() -> None:
    assert Event.from_json(WHOLE) == Event("merge", "unit", 0, None, (), {})
