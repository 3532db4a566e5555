"""The search for what is like one marked span: against a slow twin, by what must not matter, and on planted streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.data.signal import Signal
from rondo.data.windows import Span
from rondo.errors import SettingError
from rondo.motifs import alike
from rondo.motifs.alike import Alike, channel_distances, find_alike, n_suggested, stretched

Values = NDArray[np.floating]
FLOOR = 0.1


def signal(values: Values, id: str = "a", spans: Sequence[Span] = ()) -> Signal:
    names = tuple(f"c{i}" for i in range(values.shape[1]))
    return Signal(id, values.astype(np.float32), None, names, tuple(spans) or ((0, len(values)),), len(values))


def slow_distances(values: Values, query: Values) -> Values:
    """The twin of `channel_distances`: every place and channel by itself."""
    n_places, n_channels = len(values) - len(query) + 1, values.shape[1]
    found = np.zeros((n_places, 2 * n_channels))
    for place in range(n_places):
        for channel in range(n_channels):
            own, other = query[:, channel], values[place : place + len(query), channel]
            shapes = [(each - each.mean()) / np.sqrt(each.var() + FLOOR**2) for each in (own, other)]
            found[place, channel] = np.sqrt(((shapes[0] - shapes[1]) ** 2).mean() / 2)
            found[place, n_channels + channel] = abs(own.mean() - other.mean())
    return found


def planted(n: int = 8, seed: int = 0, length: int = 80) -> tuple[Values, list[Span]]:
    """One shape in three of five channels, at several speeds, in slow noise."""
    rng = np.random.default_rng(seed)
    values = np.stack([np.convolve(each, np.ones(15) / 4, "same") for each in rng.normal(size=(5, 4_000))], axis=1)
    shape = np.convolve(rng.normal(size=length), np.ones(9) / 2, "same")[:, None] * [3.0, -2.0, 4.0]
    spans = []
    for at in np.linspace(100, 3_700, n).astype(int).tolist():
        copy = stretched(shape, length + int(rng.integers(-12, 13)))
        values[at : at + len(copy), :3] = copy + rng.normal(size=copy.shape) * 0.3
        spans.append((at, at + len(copy)))
    return values, spans


def suggested(found: Sequence[Alike]) -> list[Alike]:
    return [one for one in found if one.suggested]


def shared(one: Alike, span: Span) -> float:
    """The part of the shorter that both cover."""
    both = min(one.stop, span[1]) - max(one.start, span[0])
    return max(0, both) / min(one.stop - one.start, span[1] - span[0])


def same(first: Sequence[Alike], second: Sequence[Alike]) -> None:
    assert [one[:3] for one in first] == [one[:3] for one in second]
    assert [one.suggested for one in first] == [one.suggested for one in second]
    npt.assert_allclose([one.score for one in first], [one.score for one in second], atol=1e-5)


@pytest.fixture(scope="module")
def case() -> tuple[Values, list[Span], list[Alike]]:
    values, spans = planted()
    return values, spans, find_alike([signal(values)], "a", *spans[3])


@pytest.mark.parametrize("length", [2, 7, 40])
def test_distances_are_those_of_a_slow_twin(length: int) -> None:
    values = np.random.default_rng(length).normal(size=(90, 3)).cumsum(axis=0)
    values[20:60, 1] = 5.0  # a channel at rest
    query = values[25 : 25 + length] + 0.1
    npt.assert_allclose(channel_distances(values, query), slow_distances(values, query), atol=1e-6)


def test_a_span_is_at_no_distance_of_itself_and_scores_lie_between(case: Any) -> None:
    values, spans, found = case
    assert found[0] == Alike("a", spans[3][0], spans[3][1], 1.0, True)
    npt.assert_allclose(channel_distances(values, values[10:60])[10], 0, atol=1e-6)
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True) and min(scores) >= 0
    flags = [one.suggested for one in found]
    assert flags == sorted(flags, reverse=True)
    assert np.diff(np.sort([one.start for one in found[1:]])).min() >= (spans[3][1] - spans[3][0]) // 2


def test_planted_copies_are_what_is_suggested(case: Any) -> None:
    _values, spans, found = case
    assert len(suggested(found)) == len(spans)
    for span in spans:
        assert max(shared(one, span) for one in suggested(found)) > 0.7


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(lambda values: values[:, [4, 2, 0, 1, 3]], id="the order of channels"),
        pytest.param(lambda values: values * [1, 100, 0.01, 3, 7] + [0, 5, 9, -4, 1], id="their units and offsets"),
        pytest.param(lambda values: values * [1, -1, 1, 1, -1], id="channels upside down"),
        pytest.param(lambda values: np.insert(values, 2, 7.0, axis=1), id="a constant channel"),
    ],
)
def test_what_does_not_matter(case: Any, changed: Callable[[Values], Values]) -> None:
    values, spans, found = case
    same(find_alike([signal(changed(values))], "a", *spans[3]), found)


def test_nor_how_much_is_transformed_at_once_nor_the_order_of_recordings(
    case: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, spans, found = case
    parts = [signal(values[:2_000], "a"), signal(values[2_000:], "b")]
    apart = find_alike(parts, "a", *spans[3])
    same(find_alike(parts[::-1], "a", *spans[3]), apart)
    assert {one.recording for one in suggested(apart)} == {"a", "b"}
    monkeypatch.setattr(alike, "_BLOCK_VALUES", 1_700)
    same(find_alike([signal(values)], "a", *spans[3]), found)


def test_noise_channels_are_weighed_down() -> None:
    values, spans = planted()
    noise = np.random.default_rng(1).normal(size=(len(values), 20))
    found = find_alike([signal(np.hstack([values, noise]))], "a", *spans[3])
    hits = [any(shared(one, span) >= 0.5 for span in spans) for one in found[1 : len(spans)]]
    assert np.mean(hits) > 0.8  # of the first ranks: the copies


def test_no_place_lies_over_a_gap(case: Any) -> None:
    values, spans, found = case
    first, _past = spans[5]
    held = values.copy()
    held[first + 20 : first + 30] = 0.0
    parts = ((0, first + 20), (first + 30, len(values)))
    gapped = find_alike([signal(held, spans=parts)], "a", *spans[3])
    assert not any(one.start < first + 30 and one.stop > first + 20 for one in gapped)
    assert len(suggested(gapped)) >= len(suggested(found)) - 1
    short = find_alike([signal(values, spans=(*spans[3:4], (3_000, 3_020)))], "a", *spans[3])
    assert [one.suggested for one in short] == [True]  # nothing else is long enough


def test_noise_suggests_next_to_nothing() -> None:
    counts = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(4_000, 4))
        start, walk = int(rng.integers(0, 3_500)), values.cumsum(axis=0)
        counts += [len(suggested(find_alike([signal(each)], "a", start, start + 200))) - 1 for each in (values, walk)]
    assert np.mean(counts) < 1.5 and max(counts[::2]) <= 1, counts
    with pytest.raises(SettingError, match="no channel changes"):
        find_alike([signal(np.ones((100, 2)))], "a", 10, 30)


def test_rests_are_like_rests_though_each_is_its_own_mirror() -> None:
    moving = np.sin(np.arange(4_000) / 5) * (np.arange(4_000) // 250 % 2)
    values = moving[:, None] + np.random.default_rng(0).normal(size=(4_000, 3)) * 0.01
    found = suggested(find_alike([signal(values)], "a", 10, 240))
    assert len(found) == 8 and all((one.stop - 1) // 250 % 2 == 0 == one.start // 250 % 2 for one in found)


def test_the_cut_lies_at_the_largest_relative_fall() -> None:
    scores = np.array([0.9, 0.8, 0.7, 0.3, 0.25, 0.1])
    assert n_suggested(scores, -np.inf) == 5  # 0.25 to 0.1 is 60 %, 0.7 to 0.3 is 57 %
    assert n_suggested(np.append(scores[:5], [0.2, 0.14]), -np.inf) == 3
    assert n_suggested(scores, 0.75) == 2  # a mirrored span is as like
    assert n_suggested(np.array([0.1, 0.05]), -np.inf) == n_suggested(np.array([]), -np.inf) == 0
