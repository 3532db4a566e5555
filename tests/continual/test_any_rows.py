"""Every kind of stream: any chunks are the whole, and resumed at any row it goes on as if never interrupted."""

from __future__ import annotations

import json
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.continual.stream import Stream
from rondo.model.rondo import Rondo
from rondo.synthetic.streams import PlantedStream

pytestmark = pytest.mark.filterwarnings("ignore::rondo.errors.RondoWarning")  # training this short does not settle

N_ROWS = 2_600
KINDS = {
    "learning": ("stream_model", False),
    "frozen": ("stream_model", True),
    "contexts": ("context_model", False),
    "frozen contexts": ("context_model", True),
    "published": ("paper_model", False),
    "published, slow units": ("slow_units_model", False),
}


class Source(NamedTuple):
    model: Rondo
    frozen: bool
    rows: NDArray[np.float32]

    def begun(self) -> Stream:
        return self.model.stream(frozen=self.frozen)

    def resumed(self, stream: Stream) -> Stream:
        """Written down, and read by another process."""
        tensors, plain = stream.state()
        copied: dict[str, Any] = {name: tensor.copy() for name, tensor in tensors.items()}
        return Stream.restore(self.begun(), copied, json.loads(json.dumps(plain)))


PARAMS = [pytest.param(kind, marks=pytest.mark.slow) if kind == "published" else kind for kind in KINDS]


@pytest.fixture(scope="module", params=PARAMS)
def source(request: pytest.FixtureRequest) -> Source:
    name, frozen = KINDS[request.param]
    novel: PlantedStream = request.getfixturevalue("novel_stream")
    rows = {
        "stream_model": lambda: novel.recording.values[15_000:],
        "context_model": lambda: request.getfixturevalue("context_values"),
    }.get(name, lambda: request.getfixturevalue("published_values")[12_000:])()[:N_ROWS].copy()
    rows[500::700, 1] = np.nan  # bridged, again and again, also while units are refined
    rows[1_500:1_700] = np.nan  # a boundary
    return Source(request.getfixturevalue(name), frozen, rows)


@pytest.mark.promise
@settings(max_examples=4)
@given(
    cuts=st.sets(st.integers(0, N_ROWS), max_size=8),
    stops=st.sets(st.integers(0, N_ROWS) | st.sampled_from([0, 10, 75, 1_499, 1_600, 1_700, N_ROWS - 1]), max_size=3),
    singles=st.integers(0, N_ROWS - 60),
)
def test_any_chunks_and_any_interruption_are_one_stream(
    source: Source, cuts: set[int], stops: set[int], singles: int
) -> None:
    """Some sixty rows come one by one; state and all that was issued are the same to the bit."""
    whole, parts = source.begun(), source.begun()
    expected = [whole.feed(source.rows), whole.finish()]
    found, start = [], 0
    for stop in sorted({*cuts, *stops, *range(singles, singles + 60), N_ROWS}):
        found.append(parts.feed(source.rows[start:stop]))
        start = stop
        if stop in stops:
            parts = source.resumed(parts)
    found.append(parts.finish())
    for name in ("decisions", "events"):
        assert [*chain(*(getattr(one, name) for one in found))] == [*chain(*(getattr(one, name) for one in expected))]
    assert json.dumps(whole.state()[1]) == json.dumps(parts.state()[1])
    for name, tensor in whole.state()[0].items():
        npt.assert_array_equal(parts.state()[0][name], tensor, err_msg=name)
