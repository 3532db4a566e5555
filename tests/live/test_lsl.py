"""The LSL feed with outlets in other processes: rows and times, senders and readers that are killed, wrong streams."""

from __future__ import annotations

import io
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rondo.errors import RecordingError, SettingError
from rondo.live.lsl import FEED
from rondo.live.source import Feed, Message
from tests.live.feeding import Asked, after_loss
from tests.live.lsl_outlet import Outlet, OutletPlan, configure
from tests.live.servers import wait_until

CHANNELS = ("x", "y")


@pytest.fixture(scope="module", autouse=True)
def _loopback(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """liblsl reads its file when it is loaded: so before pylsl is imported anywhere in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LSLAPICFG", str(configure(tmp_path_factory.mktemp("lsl"))))
        pytest.importorskip("pylsl")
        yield


@pytest.fixture
def outlets() -> Iterator[Callable[..., Outlet]]:
    begun: list[Outlet] = []

    def begin(name: str, **more: Any) -> Outlet:
        begun.append(Outlet(OutletPlan(name, **more)))
        return begun[-1]

    yield begin
    for outlet in begun:
        if outlet.process.poll() is None:
            outlet.kill()


@pytest.fixture
def name() -> str:
    """Of a stream that no other test on this machine has."""
    return f"imu-{uuid.uuid4().hex[:12]}"


def wanted(folder: Path, mark: int | None = None) -> Asked:
    return Asked(folder, {} if mark is None else {"inbox": mark}, CHANNELS)


def read(feed: Feed, holds: Callable[[list[Message]], bool], what: str = "messages") -> list[Message]:
    found: list[Message] = []
    wait_until(lambda: found.extend(feed.poll(0.1)) or holds(found), what)
    return found


def rows(messages: list[Message]) -> np.ndarray[Any, Any]:
    return np.concatenate([np.load(io.BytesIO(one.payload), allow_pickle=False) for one in messages])


@pytest.mark.slow
def test_rows_and_times_arrive(outlets: Callable[..., Outlet], name: str, tmp_path: Path) -> None:
    asked = wanted(tmp_path)
    outlets(name, source_id=f"{name}-1")
    with closing(FEED.open(f"lsl:name='{name}'", asked.request)) as feed:
        found = read(feed, lambda found: sum(len(rows([one])) for one in found) > 100)
        assert feed.backlog == 0
    array = rows(found)
    assert array.dtype == np.dtype("<f8")
    numbers = array[:, 1]
    assert np.array_equal(np.diff(numbers), np.ones(len(numbers) - 1))  # none lost, none twice
    assert np.allclose(array[:, 2], numbers + 0.1, atol=1e-3)
    assert np.all(np.diff(array[:, 0]) > 0)
    assert abs(array[-1, 0] - time.time()) < 60  # seconds since 1970
    assert {one.device for one in found} == {f"{name}-1"}
    assert [one.offset for one in found] == list(range(1, len(found) + 1))
    assert after_loss(found) == [True] + [False] * (len(found) - 1)
    assert asked.says(f"the stream '{name}-1' is read (2 channels, 50 Hz")


@pytest.mark.slow
def test_an_outlet_that_is_killed_and_back_is_a_loss(outlets: Callable[..., Outlet], name: str, tmp_path: Path) -> None:
    asked = wanted(tmp_path)
    first = outlets(name, source_id=name)
    with closing(FEED.open(f"lsl:{name}", asked.request)) as feed:
        before = read(feed, lambda found: len(found) >= 3)
        first.kill()
        before += read(feed, lambda found: asked.says("is gone; waiting for it"), "a word that it is gone")
        outlets(name, source_id=name, first=10_000)
        after = read(feed, lambda found: len(found) >= 3)
    assert after_loss(after) == [True] + [False] * (len(after) - 1)
    numbers = rows(before + after)[:, 1]
    assert np.sum(np.diff(numbers) != 1) == 1  # one boundary, and nothing lost besides
    assert numbers[-1] > 10_000
    assert np.all(np.diff(rows(before + after)[:, 0]) > 0)
    assert asked.says("is read again")


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"rate": 100.0}, "it has 100 Hz, the model has 50 Hz; name another stream"),
        ({"rate": 0.0}, "it has no regular rate, expected one; name another stream"),
        ({"rate": 0.0, "format": "string"}, "it sends texts"),
        ({"labels": (), "n_channels": 3}, "it has 3 channels without names, expected 2"),
        ({"labels": ("x", "z")}, "lacks the channel 'y'"),
        ({"labels": ("x",)}, "lacks the channel 'y'"),
    ],
)
def test_a_stream_that_does_not_fit_is_refused(
    outlets: Callable[..., Outlet], name: str, tmp_path: Path, plan: dict[str, Any], message: str
) -> None:
    outlets(name, **plan)
    with (
        closing(FEED.open(f"lsl:{name}", wanted(tmp_path).request)) as feed,
        pytest.raises(RecordingError) as caught,
    ):
        read(feed, bool)
    assert f"the LSL stream '{name}': " in str(caught.value)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_one_that_does_not_fit_stops_no_others(outlets: Callable[..., Outlet], name: str, tmp_path: Path) -> None:
    asked = wanted(tmp_path)
    outlets(f"{name}-a", type=name)
    with closing(FEED.open(f"lsl:type={name}", asked.request)) as feed:
        read(feed, bool)
        outlets(f"{name}-b", type=name, rate=20.0)
        outlets(f"{name}-c", type=name)
        found = read(feed, lambda found: {one.device for one in found} >= {f"{name}-a", f"{name}-c"})
        found += read(feed, lambda found: asked.says(f"'{name}-b': it has 20 Hz") and bool(found))
        assert f"{name}-b" not in {one.device for one in found}


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("lsl:", "expected the streams to read"),
        ("lsl:typ=EEG", "there is no field 'typ'; did you mean 'type'"),
        ("lsl:imu?inbx=1GiB", "there is no option 'inbx'; did you mean 'inbox'"),
        ("lsl:imu?inbox=big", "inbox=big: expected a size"),
    ],
)
def test_an_address_that_cannot_be_used_is_one_line(tmp_path: Path, where: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        FEED.open(where, wanted(tmp_path).request)
    assert message in str(caught.value)
