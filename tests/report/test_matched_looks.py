"""True classes in the colours of what was found: one to one, by shared time."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from rondo.report.lanes import OTHER_LOOK, look_of, match_looks


def lane(kind: str, names: list[str], length: int = 10) -> dict[str, Any]:
    """Segments of equal length one after the other; ids are the numbers in their names."""
    level = kind if kind != "annotation" else "true unit"
    looks = [OTHER_LOOK if name == "OTHER" else look_of(level, int(name.lstrip("um") or 0)) for name in names]
    starts = [length * i for i in range(len(names))]
    return {
        "kind": kind,
        "names": names,
        "colours": [look.colour for look in looks],
        "patterns": [look.pattern for look in looks],
        "start_frames": starts,
        "end_frames": [start + length for start in starts],
    }


def matched(*lanes: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The looks of the classes of the last lane."""
    n_frames = max(it["end_frames"][-1] for it in lanes)
    match_looks([{"n_frames": n_frames, "lanes": [*lanes]}])
    last = lanes[-1]
    return dict(zip(last["names"], zip(last["colours"], last["patterns"], strict=True), strict=True))


def test_a_class_looks_like_the_entry_that_it_shares_most_time_with() -> None:
    found = matched(lane("unit", ["u3", "u3", "u1", "u1", "u7"]), lane("true unit", ["0", "0", "1", "1", "2"]))
    assert found == {"0": look_of("unit", 3), "1": look_of("unit", 1), "2": look_of("unit", 7)}


def test_two_classes_in_one_entry_do_not_share_its_look_and_the_second_has_one_that_no_entry_has() -> None:
    found = matched(lane("unit", ["u0", "u0", "u0", "u1"]), lane("true unit", ["0", "0", "1", "2"]))
    assert found["0"] == look_of("unit", 0) and found["2"] == look_of("unit", 1)
    assert found["1"] not in (look_of("unit", 0), look_of("unit", 1), OTHER_LOOK)


def test_other_stays_grey_and_is_no_partner() -> None:
    found = matched(lane("unit", ["OTHER", "OTHER", "u1"]), lane("true unit", ["OTHER", "3", "4"]))
    assert found["OTHER"] == OTHER_LOOK
    assert found["3"] != OTHER_LOOK and found["4"] == look_of("unit", 1)


def test_an_annotation_takes_the_level_that_it_agrees_with() -> None:
    units, motifs = ["u0", "u1", "u0", "u1", "u2", "u3"], ["m4", "m4", "m4", "m4", "m5", "m5"]
    found = matched(lane("unit", units), lane("motif", motifs), lane("annotation", ["0", "0", "0", "0", "1", "1"]))
    assert found == {"0": look_of("motif", 4), "1": look_of("motif", 5)}


@pytest.mark.parametrize("seed", range(5))
def test_the_pairs_share_as_much_time_as_any_pairs_could(seed: int) -> None:
    """Against all permutations."""
    rng = np.random.default_rng(seed)
    units, classes = rng.integers(4, size=60), rng.integers(4, size=60)
    found = matched(lane("unit", [f"u{i}" for i in units]), lane("true unit", [f"{i}" for i in classes]))
    partner = {look_of("unit", i): i for i in range(4)}
    shared = sum(((units == partner[found[f"{i}"]]) & (classes == i)).sum() for i in range(4))
    best = max(
        sum(((units == order[i]) & (classes == i)).sum() for i in range(4))
        for order in itertools.permutations(range(4))
    )
    assert shared == best
