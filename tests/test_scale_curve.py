"""The curve over window lengths, and the levels that stand out of it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from rondo import scale_curve as module
from rondo.data.signal import Signal
from rondo.data.windows import Span
from rondo.scale_curve import Scale, ScaleCurve, ladder, levels_of, scale_curve
from rondo.synthetic.plan import StreamPlan
from rondo.synthetic.streams import plant, structureless


def signal_of(n_frames: int, n_channels: int = 4, rate: float | None = 50.0, spans: tuple[Span, ...] = ()) -> Signal:
    values = np.random.default_rng(0).standard_normal((n_frames, n_channels)).astype(np.float32)
    return Signal("s", values, rate, tuple(map(str, range(n_channels))), spans or ((0, n_frames),), n_frames)


def scales_of(*agreements: float, spread: float = 0.0, by_chance: float = 0.0) -> list[Scale]:
    """Lengths 10, 20 .. with these agreements; two deals differ by twice the spread where the agreement is highest."""
    highest = max(agreements, default=0.0)
    deals = [(value - spread, value + spread) if value == highest else (value, value) for value in agreements]
    return [Scale(10 * (i + 1), 400, 5.0, own, by_chance) for i, own in enumerate(deals)]


# ---------------------------------------------------------------- what the curve shows


@pytest.mark.slow
def test_two_planted_levels_stand_out_at_about_half_their_length() -> None:
    plan = StreamPlan(motifs="contexts", n_channels=8, unit_s=(1.5, 2.5), context_s=(14, 20))
    curve = scale_curve(plant(plan, n_frames=40_000, seed=1).recording)
    units, *_, contexts = curve.levels
    assert 0.5 <= units / 50 <= 2.0
    assert 4.0 <= contexts / 50 <= 17.0
    assert curve.views == "channels"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_noise_has_no_level(seed: int) -> None:
    curve = scale_curve(structureless(12_000, seed=seed))
    assert curve.levels == ()
    assert abs(np.median([scale.agreement for scale in curve.scales])) < 0.02


@pytest.mark.slow
def test_few_channels_are_dealt_by_their_statistics() -> None:
    curve = scale_curve(plant(StreamPlan(n_channels=2), n_frames=3_000, seed=0).recording)
    assert curve.views == "statistics"
    assert max(scale.agreement for scale in curve.scales) > 0.2


@pytest.mark.slow
def test_the_same_seed_gives_the_same_curve() -> None:
    recording = plant(n_frames=2_000, seed=0).recording
    assert scale_curve(recording, seed=3) == scale_curve(recording, seed=3)


def test_what_is_too_short_for_a_window_has_an_empty_curve() -> None:
    curve = scale_curve(np.zeros((60, 5)) + np.arange(60)[:, None], rate=50.0)
    assert curve == ScaleCurve((), "channels", ())
    assert not curve.rises_at_end


# ---------------------------------------------------------------- the rule of levels


def test_a_level_falls_off_on_both_sides() -> None:
    assert levels_of(scales_of(0.1, 0.1, 0.5, 0.1, 0.1, 0.6, 0.1)) == (30, 60)


@pytest.mark.parametrize(
    "agreements",
    [
        (0.3, 0.31, 0.32, 0.31, 0.3),  # falls by less than 0.03
        (0.1, 0.2, 0.3, 0.4, 0.5),  # rises to its end
        (0.5, 0.4, 0.3, 0.2, 0.1),
        (0.3, 0.9),
        (),
    ],
)
def test_a_curve_without_a_clear_maximum_inside_has_no_level(agreements: tuple[float, ...]) -> None:
    assert levels_of(scales_of(*agreements)) == ()


def test_a_maximum_on_which_deals_disagree_is_no_level() -> None:
    hill = (0.1, 0.1, 0.3, 0.1, 0.1)
    assert levels_of(scales_of(*hill)) == (30,)
    assert levels_of(scales_of(*hill, spread=0.2)) == ()


def test_an_agreement_that_shifts_reach_is_no_level() -> None:
    hill = (0.1, 0.1, 0.3, 0.1, 0.1)
    assert levels_of(scales_of(*hill, by_chance=0.29)) == (30,)
    assert levels_of(scales_of(*hill, by_chance=0.31)) == ()


def test_an_agreement_of_a_few_hundredths_is_no_level() -> None:
    assert levels_of(scales_of(0.0, 0.0, 0.09, 0.0, 0.0)) == ()
    assert levels_of(scales_of(0.0, 0.0, 0.11, 0.0, 0.0)) == (30,)


@pytest.mark.parametrize(("agreements", "rises"), [((0.1, 0.2, 0.4), True), ((0.4, 0.2, 0.1), False)])
def test_a_curve_that_rises_at_its_end_says_so(agreements: tuple[float, ...], rises: bool) -> None:
    assert ScaleCurve(tuple(scales_of(*agreements)), "channels", ()).rises_at_end is rises
    assert not ScaleCurve(tuple(scales_of(*agreements, by_chance=0.9)), "channels", ()).rises_at_end


# ---------------------------------------------------------------- the ladder, the sample, the figure


def test_the_ladder_is_in_seconds_where_there_is_a_rate() -> None:
    lengths = ladder([signal_of(60_000)])
    assert (lengths[0], lengths[-1], len(lengths)) == (15, 1200, module.N_LENGTHS)


@pytest.mark.parametrize("rate", [None, 1.0])
def test_without_a_usable_rate_the_ladder_is_in_typical_periods(rate: float | None) -> None:
    wave = np.sin(2 * np.pi * np.arange(60_000) / 64)[:, None].repeat(4, axis=1).astype(np.float32)
    lengths = ladder([Signal("s", wave, rate, tuple("abcd"), ((0, 60_000),), 60_000)])
    assert lengths[0] == pytest.approx(16, abs=1)
    assert lengths[-1] == pytest.approx(20 * 64, rel=0.05)


def test_no_length_is_too_long_for_the_recordings() -> None:
    assert max(ladder([signal_of(4_000)])) <= 200  # a twentieth of the whole
    pieces = tuple((start, start + 200) for start in range(0, 60_000, 200))
    assert max(ladder([signal_of(60_000, spans=pieces)])) <= 50  # a quarter of the longest stretch


def test_long_recordings_are_looked_at_in_blocks_within_their_stretches() -> None:
    spans = ((0, 70_000), (70_100, 200_000))
    signal = signal_of(200_000, spans=spans)
    windows = module._sample([signal], 40)
    assert 1000 <= sum(map(len, windows)) <= 1600
    starts = [int(np.flatnonzero((signal.values == w.values[0]).all(axis=1))[0]) for w in windows]
    for start, w in zip(starts, windows, strict=True):
        assert any(a <= start and start + len(w.values) <= b for a, b in spans)
    assert max(starts) - min(starts) > 150_000


def test_agreement_is_that_beyond_shifted_tracks() -> None:
    rng = np.random.default_rng(0)
    one = np.repeat(rng.integers(0, 3, 60), 5).astype(np.int32)
    other = np.where(rng.random(300) < 0.8, one, 3).astype(np.int32)
    shifted = [adjusted_mutual_info_score(one, np.roll(other, round(share * 300))) for share in module._SHIFTS]
    own, by_chance = module._agreement(one, other)
    assert own == pytest.approx(adjusted_mutual_info_score(one, other) - np.mean(shifted))
    assert by_chance == pytest.approx(max(shifted) - np.mean(shifted))
