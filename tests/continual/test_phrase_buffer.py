from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from rondo.continual.phrases import _CAPACITY, _MOST_WORDINGS, Occurrence, PhraseBuffer, Wordings

PHRASES = st.lists(st.integers(0, 6), min_size=2, max_size=5).map(tuple)


def begun(half_life: float = 100.0) -> PhraseBuffer:
    return PhraseBuffer(reach=0.5, half_life=half_life, apart=10)


def test_support_counts_windows_and_halves_regions_lie_apart() -> None:
    buffer = begun()
    buffer.add(Occurrence((1, 2, 3), 0, 9))
    index, _ = buffer.add(Occurrence((1, 2, 3), 15, 24))  # too near to be another visit
    assert buffer.kinds[index][0].regions == 1
    index, _ = buffer.add(Occurrence((1, 3), 100, 109))  # a unit left out
    cluster, wordings = buffer.kinds[index]
    assert (cluster.regions, cluster.first, cluster.last) == (2, 0, 109)
    assert wordings.typical == (1, 2, 3)
    expected = 10 + (10 + 10 * 0.5 ** (15 / 100)) * 0.5 ** (85 / 100)
    assert abs(cluster.support - expected) < 1e-9
    assert len(buffer.kinds) == 1


def test_another_kind_is_kept_apart_and_what_stays_away_is_given_up() -> None:
    buffer = begun()
    buffer.add(Occurrence((1, 2, 3), 0, 9))
    buffer.add(Occurrence((4, 5, 6), 20, 29))
    assert len(buffer.kinds) == 2
    _, expired = buffer.add(Occurrence((1, 2, 3), 480, 489))  # 10 windows are worth 0.4 by then, of the other kind 0.45
    assert [cluster.id for cluster in expired] == [0, 1]
    assert [cluster.id for cluster, _ in buffer.kinds] == [2]


def test_memory_is_bounded() -> None:
    buffer, wordings = begun(1e9), Wordings()
    for number in range(3 * _CAPACITY):
        buffer.add(Occurrence((2 * number, 2 * number + 1), 10 * number, 10 * number + 5))
        wordings.add((number, number + 1))
    assert len(buffer.kinds) == _CAPACITY
    assert len(wordings.counts) == _MOST_WORDINGS
    assert wordings.counts[(number, number + 1)] == 1  # the newest has its place


@given(st.lists(PHRASES, max_size=30), st.integers(0, 30))
def test_written_down_and_read_again_it_goes_on_the_same(phrases: list[tuple[int, ...]], stop: int) -> None:
    plain, kept = begun(30.0), begun(30.0)
    for number, phrase in enumerate(phrases):
        if number == stop:
            kept = begun(30.0).restored(json.loads(json.dumps(kept.state())))
        found = Occurrence(phrase, 12 * number, 12 * number + 5)
        assert plain.add(found) == kept.add(found)
    assert plain.state() == kept.state()
