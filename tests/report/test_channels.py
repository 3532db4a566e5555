"""Which channels a page draws: the telling ones first, none that never changes; and how their names are shortened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rondo.data.recording import Recording
from rondo.report.contents import DRAWN_AT_FIRST, MAX_CHANNELS_INSIDE, Wish
from rondo.report.render import write_page
from rondo.report.summarize import summarize
from rondo.result import Result, make_result
from tests.report.by_hand import labelling_of

N, TELLING = 1200, (7, 19, 23)


def many_channels(n_recordings: int = 1, n_channels: int = 24, n_constant: int = 2) -> Result:
    """Noise in which three channels follow the unit, and some that stand still."""
    rng, units = np.random.default_rng(0), (np.arange(N) // 100 % 3).astype(np.int32)
    values = rng.normal(size=(N, n_channels)).astype(np.float32)
    values[:, list(TELLING)[: n_channels // 8]] += 3 * units[:, None]
    values[:, :n_constant] = 5.0
    names = tuple(f"c{place}" for place in range(n_channels))
    recordings = [Recording(values, 50.0, names, f"r{number}") for number in range(n_recordings)]
    return make_result("by hand", recordings, [labelling_of(one, units, units) for one in recordings])


def test_telling_channels_come_first_and_constants_not_at_all() -> None:
    page = summarize(many_channels())
    signal = page["recordings"][0]["signal"]
    first, rest = signal["channels"][:DRAWN_AT_FIRST], signal["channels"][DRAWN_AT_FIRST:]
    assert {f"c{place}" for place in TELLING} <= set(first)
    assert {*first, *rest} == {f"c{place}" for place in range(2, 24)}
    assert [first, rest] == [sorted(own, key=lambda name: int(name[1:])) for own in (first, rest)]
    assert [words for words in page["left_out"] if "without change" in words and "'c0', 'c1'" in words]


def test_what_is_asked_for_is_drawn_in_its_place_though_it_is_constant() -> None:
    page = summarize(many_channels(), Wish(channels=("c0", "c9", "c3")))
    assert page["recordings"][0]["signal"]["channels"] == ["c0", "c3", "c9"]
    assert not [words for words in page["left_out"] if "without change" in words]


def test_too_many_are_left_out_and_named() -> None:
    page = summarize(many_channels(1, MAX_CHANNELS_INSIDE + 3, 0))
    drawn = page["recordings"][0]["signal"]["channels"]
    missing = [f"c{place}" for place in range(MAX_CHANNELS_INSIDE + 3) if f"c{place}" not in drawn]
    assert len(drawn) == len(set(drawn)) == MAX_CHANNELS_INSIDE
    assert f"--channels {','.join(missing[:2])}" in page["left_out"][0]


@pytest.mark.parametrize(("n_channels", "n_constant"), [(8, 0), (8, 3), (2, 2)])
def test_few_channels_stay_in_their_order(n_channels: int, n_constant: int) -> None:
    drawn = summarize(many_channels(1, n_channels, n_constant))["recordings"][0]["signal"]["channels"]
    assert drawn == [f"c{place}" for place in range(n_constant % n_channels, n_channels)]


def test_of_many_recordings_none_loses_a_channel_that_only_some_have_still() -> None:
    page = summarize(many_channels(10))
    assert all(set(one["signal"]["channels"]) == {f"c{place}" for place in range(24)} for one in page["recordings"])
    assert all("c19" in one["signal"]["channels"][:DRAWN_AT_FIRST] for one in page["recordings"])


HANDS = [f"Hand {side} {sensor} {axis} in the lab" for side in "LR" for sensor in ("acc", "gyr") for axis in "xyz"]
NAMES = [
    ["acc x", "acc y"],
    ["Right Hand acceleration x", "Right Hand acceleration y"],
    ["Right Hand_x_acceleration", "Right Hand_y_acceleration", "Right Hand_z_acceleration"],
    ["LeftArm.sensor.gyroscope.x", "RightArm.sensor.gyroscope.x"],
    HANDS,
]


@pytest.mark.browser
def test_long_names_keep_what_tells_them_apart(opened: Any, tmp_path: Path) -> None:
    page = opened(write_page(many_channels(), tmp_path / "report.html").as_uri())
    for names in NAMES:
        short = page.evaluate("(names) => shortNames(names)", names)
        assert len(set(short)) == len(names) and max(map(len, short)) <= 19, short
        whole = zip(short, names, strict=True)
        assert all(part in name for own, name in whole for part in own.split("…")), short
    assert page.evaluate("(names) => shortNames(names)", NAMES[0]) == NAMES[0]
    assert [one[-4:] for one in page.evaluate("(names) => shortNames(names)", NAMES[1])] == ["on x", "on y"]
