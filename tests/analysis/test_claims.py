"""What is claimed about entries holds: each value is computed again from the rows and labels; words follow from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rondo
from rondo.analysis.claims import (
    ChannelClaim,
    Claim,
    DurationClaim,
    FollowsClaim,
    HoursClaim,
    MotionClaim,
    RhythmClaim,
    claims_of,
    in_a_sentence,
)
from rondo.data.recording import Recording
from rondo.editing.edits import KnownIds
from rondo.result import Result, make_result
from rondo.run.labelling import Labelling
from rondo.synthetic import plant
from tests import naive_claims as naive

MIDNIGHT = 1_794_700_800.0  # 2026-11-15
NIGHT, SWING, STEP = 0, 1, 2
RATE = 1.0
OFF = np.zeros(0, np.int64)


def _result(values: np.ndarray, track: np.ndarray, rate: float | None = RATE, start_s: float | None = None) -> Result:
    times = None if start_s is None or rate is None else start_s + np.arange(len(values)) / rate
    channels = tuple(f"c{place}" for place in range(values.shape[1]))
    recording = Recording(values, rate, channels, "day", times)
    ones = np.ones(len(values), np.float32)
    times_s = None if rate is None else recording.times_s
    labelling = Labelling("day", track.astype(np.int32), track.astype(np.int32), ones, ones, times_s, rate, OFF, 1.0)
    return make_result("clock", [recording], [labelling])


def _days(n_days: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Every 20 s: u0 at night (22 to 6 h), c0 high; by day u1 swings c1 with a period of 120 s, and u2 follows."""
    rng = np.random.default_rng(seed)
    n, hours = n_days * 4320, np.arange(n_days * 4320) / 180 % 24
    track = np.where((hours >= 22) | (hours < 6), NIGHT, np.where(hours * 2 % 3 < 2, SWING, STEP))
    values = rng.normal(0, 0.1, (n, 3))
    values[track == NIGHT, 0] += 2
    values[:, 1] += np.where(track == SWING, 3 * np.sin(2 * np.pi * np.arange(n) / 6), 0)
    values[track == STEP, 2] -= 1
    return values, track


def _kinds(claims: tuple[Claim, ...]) -> dict[type, Claim]:
    return {type(claim): claim for claim in claims}


@pytest.fixture(scope="module")
def days() -> tuple[Result, np.ndarray, np.ndarray]:
    values, track = _days()
    return _result(values, track, 0.05, MIDNIGHT), values, track


def test_what_was_planted_is_claimed(days: tuple[Result, np.ndarray, np.ndarray]) -> None:
    result, _, _ = days
    night, swing, step = (_kinds(claims_of(result.run)["unit", id]) for id in (NIGHT, SWING, STEP))
    assert (night[HoursClaim].first, night[HoursClaim].end, night[HoursClaim].share) == (22, 6, pytest.approx(1.0))
    channels = {one.channel: one for one in claims_of(result.run)["unit", NIGHT] if isinstance(one, ChannelClaim)}
    assert channels["c0"].kind == "level" and channels["c0"].d > 5
    assert (swing[RhythmClaim].channel, swing[RhythmClaim].hertz) == ("c1", pytest.approx(1 / 120, rel=0.02))
    assert step[FollowsClaim] == FollowsClaim("u1", 1.0)
    assert RhythmClaim not in night and RhythmClaim not in step
    first = next(one.description for one in result.summary.units if one.id == NIGHT)
    assert first == in_a_sentence(claims_of(result.run)["unit", NIGHT]) and "22-06 h" in first and "c0 high" in first


def _check(claim: Claim, result: Result, level: str, id: int) -> None:
    """One claim, from the rows and the labels."""
    recording, track = result.at_hand[result[0].recording_id], result[0].labels_of(level)
    labels, rate, values = track.tolist(), recording.rate or 1.0, recording.values.astype(np.float64)
    match claim:
        case ChannelClaim(channel, kind, d):
            own = values[:, recording.channels.index(channel)]
            assert d == pytest.approx(naive.d_of(own, labels, id, kind), abs=0.02)
            assert abs(d) >= 0.8
        case MotionClaim(is_more, share):
            every = [naive.d_of(column, labels, id, "movement") for column in values.T]
            assert share == pytest.approx(
                np.mean([d >= 0.5 if is_more else d <= -0.5 for d in every]), abs=1 / len(every)
            )
        case DurationClaim(median, in_seconds):
            expected = np.median(naive.durations(labels, id)) / (rate if in_seconds else 1.0)
            assert median == pytest.approx(expected, rel=1e-6)
        case HoursClaim(first, end, share):
            shares = naive.hour_shares(labels, id, recording.times_s)
            inside = [shares[(first + i) % 24] for i in range((end - first) % 24)]
            assert share == pytest.approx(sum(inside), abs=0.01)
            assert share >= 0.9
        case FollowsClaim(entry, share):
            assert share == pytest.approx(naive.share_after(labels, id, int(entry[1:])))
        case RhythmClaim(channel, hertz, share):
            own = values[:, recording.channels.index(channel)]
            places = [(a, b) for label, a, b in naive.runs(labels) if label == id and b - a >= 16]
            found = [naive.power_near(own[a : min(b, a + 1024)], hertz, 1.25, rate, 2048) for a, b in places]
            weights = [min(b - a, 1024) for a, b in places]
            if len(places) <= 12:  # else some of them are read
                assert share == pytest.approx(np.average([near for _, near in found], weights=weights), abs=0.01)
            assert np.median([peak for peak, _ in found]) == pytest.approx(hertz, rel=0.3)


def test_every_claim_is_computed_again_from_rows_and_labels(days: tuple[Result, np.ndarray, np.ndarray]) -> None:
    result, _, _ = days
    claims = claims_of(result.run)
    for (level, id), own in claims.items():
        for claim in own:
            _check(claim, result, level, id)
    assert {type(claim) for own in claims.values() for claim in own} >= {
        ChannelClaim, DurationClaim, HoursClaim, FollowsClaim, RhythmClaim,
    }  # fmt: skip


def test_claims_about_what_was_found_hold_too() -> None:
    stream = plant(n_frames=6_000, seed=3).recording
    result = rondo.discover(stream, window="1.5s", settings={"evidence.surrogates": 0})
    shown = {("unit", one.id) for one in result.summary.units} | {
        ("motif", one.id) for one in result.summary.shown_motifs
    }
    claims = {key: own for key, own in claims_of(result.run).items() if key in shown}
    breaks_none = len(result[0].breaks) == 0 and len(result[0].motif_begins) == 0
    for (level, id), own in claims.items():
        for claim in own:
            if breaks_none or level == "unit":
                _check(claim, result, level, id)
    assert sum(map(len, claims.values())) > len(claims)


def test_noise_is_claimed_to_do_nothing() -> None:
    """Labels that know nothing of the signal: no channel, no motion, no rhythm, no hours, no predecessor."""
    rng = np.random.default_rng(1)
    track = np.repeat(rng.integers(0, 4, 300), 40)
    result = _result(rng.normal(size=(len(track), 4)), track, 0.05, MIDNIGHT)
    kinds = {type(claim) for own in claims_of(result.run).values() for claim in own}
    assert kinds == {DurationClaim}


def test_channels_in_another_order_and_other_units_change_no_claim(days: tuple[Result, np.ndarray, np.ndarray]) -> None:
    result, values, track = days
    other = _result(1000 + 7 * values[:, ::-1], track, 0.05, MIDNIGHT)

    def named(claims: tuple[Claim, ...], moved: bool) -> list[str]:
        turned = [
            replace(one, channel=f"c{2 - int(one.channel[1])}") if moved and hasattr(one, "channel") else one
            for one in claims
        ]
        return sorted(one.in_words() for one in turned)

    for key, claims in claims_of(result.run).items():
        assert named(claims_of(other.run)[key], moved=True) == named(claims, moved=False)


def test_without_a_clock_durations_are_frames_and_there_are_no_hours() -> None:
    values, track = _days(3)
    claims = claims_of(_result(values, track, None).run)["unit", NIGHT]
    duration = _kinds(claims)[DurationClaim]
    assert not duration.in_seconds and "frames" in duration.in_words()
    assert not {HoursClaim, RhythmClaim} & _kinds(claims).keys()


def test_a_name_keeps_the_sentence_and_a_merge_makes_another(days: tuple[Result, np.ndarray, np.ndarray]) -> None:
    result, _, _ = days
    known = KnownIds({"unit": (0, 1, 2), "motif": (0, 1, 2)})
    before = {one.id: one.description for one in result.summary.units}
    named = result.edited(result.run.edits.named("u0", "sleep", "2026-01-01T00:00:00", known))
    assert {one.id: one.description for one in named.summary.units} == before
    merged = result.edited(result.run.edits.merged(("u1", "u2"), "2026-01-01T00:00:00", known))
    after = {one.id: one.description for one in merged.summary.units}
    assert after.keys() == {0, 1} and after[1] != before[1] and after[1]
