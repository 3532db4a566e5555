"""Copies held against the catalogue: what agrees, and what does not."""

from __future__ import annotations

from dataclasses import replace

from rondo.annotations.annotation import Annotation
from rondo_bench.data_sets.catalogue import Listing, find_data_set
from rondo_bench.data_sets.verify import (
    CONSTANT_SCORES,
    Counts,
    check_constant,
    check_counts,
    differences,
)

MOCAP = find_data_set("mocap")


def counts(n_recordings: int = 9, n_channels: int = 4, n_frames: int = 65_611, n_classes: int = 9) -> Counts:
    """A copy with these counts; its first recording is as long as the others leave it."""
    ids = [f"r{i}" for i in range(n_recordings)]
    frames = dict.fromkeys(ids, 9) | {"r0": n_frames - 9 * (n_recordings - 1)}
    return Counts(frames, dict.fromkeys(ids, n_channels), {id: Annotation(range(n_classes), id=id) for id in ids})


def differing(found: Counts, listing: Listing = MOCAP) -> set[str]:
    return {check.what for check in check_counts(listing, found) if not check.agrees}


def test_a_sample_that_was_counted_may_be_exceeded() -> None:
    sample = replace(MOCAP, source="counted")
    whole = counts(n_recordings=104, n_frames=9_000_000, n_classes=11)
    assert differing(whole) == {"recordings", "annotated", "frames", "classes"}
    assert differing(whole, sample) == set()
    assert differing(counts(n_recordings=104, n_frames=60_000), sample) == {"frames"}
    assert differing(counts(n_frames=65_612), sample) == {"frames"}  # as many recordings: it must be the sample


def test_constant_scores_agree_to_the_printed_digits() -> None:
    assert CONSTANT_SCORES["opportunity"] == {"mof": 37.64, "recall": 20.83, "edit": 0.63}
    assert CONSTANT_SCORES["drive_act"] == {"mof": 39.42, "recall": 8.08, "edit": 4.32}
    found = {"mof": 37.6449, "recall": 20.84, "edit": 0.625}
    assert [check.agrees for check in check_constant("opportunity", found)] == [True, False, True]
    assert check_constant("lara", found) == []


def test_a_rate_may_be_rounded_but_not_be_another() -> None:
    opportunity = replace(MOCAP, rate=30.3)
    for rate, agrees in ((30.0, True), (30.3, True), (60.0, False), (25.0, False)):
        found = replace(counts(), rates={f"r{i}": rate for i in range(9)})
        (check,) = [check for check in check_counts(opportunity, found) if check.what == "rate"]
        assert (check.expected, check.agrees) == ("30.3 Hz", agrees)
        told = [line for line in differences(opportunity, found) if line.startswith("r0: ") and "Hz" in line]
        assert told == ([] if agrees else [f"r0: {rate:g} Hz, expected 30.3 Hz"])
