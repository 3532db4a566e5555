"""Planted streams: the truth is consistent, follows the plan, and can be recovered from the values."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.data.labels import OTHER, runs_of
from rondo.errors import SettingError
from rondo.synthetic.motifs import PlantedMotif
from rondo.synthetic.plan import Gaps, Novelty, StreamPlan
from rondo.synthetic.streams import PlantedStream, plant, plant_subjects, structureless
from rondo.synthetic.units import SEPARATION, PlantedUnit, Variation, draw_units, rest, signature, signature_distance


def eventful_plan() -> StreamPlan:
    """Everything at once."""
    novelty = (Novelty(0.4, n_motifs=1, n_units=1), Novelty(0.7, n_motifs=2, n_units=2))
    return StreamPlan(drift=0.3, novelty=novelty, n_one_offs=2, gaps=Gaps(n_silent=4, n_missing=3))


some_gaps = st.builds(lambda n_silent, n_missing: Gaps(n_silent, n_missing), st.integers(0, 3), st.integers(0, 3))

plans = st.builds(
    StreamPlan,
    rate=st.sampled_from([20.0, 50.0, 100.0]),
    n_channels=st.integers(3, 8),
    n_units=st.integers(5, 9),
    n_motifs=st.integers(4, 6),
    noise=st.floats(0, 0.5),
    variation=st.floats(0, 2),
    drift=st.floats(0, 1),
    novelty=st.sampled_from([(), (Novelty(0.5),), (Novelty(0.3, 1, 0), Novelty(0.6, 1, 2))]),
    gaps=some_gaps,
)


def grammar_pattern(motif: PlantedMotif) -> re.Pattern[str]:
    """The grammar as a regular expression over 'u3 u1 ', written independently of the generator."""
    parts = [f"(?:(?:u{i.unit} ){{{i.repeats[0]},{i.repeats[1]}}}){'?' if i.present < 1 else ''}" for i in motif.items]
    return re.compile("".join(parts))


def instances_of(stream: PlantedStream) -> list[tuple[int, int, int]]:
    """(unit, start, stop) of every unit instance that kept a frame."""
    return [
        (unit, start, stop)
        for o in stream.occurrences
        for unit, start, stop in zip(o.units, o.unit_starts, (*o.unit_starts[1:], o.stop), strict=True)
        if start < stop
    ]


OWN = StreamPlan(motifs="own", n_units=12, n_motifs=3)
CYCLES = StreamPlan(motifs="cycles", n_units=12, n_motifs=3)
CONTEXTS = StreamPlan(motifs="contexts")


@given(
    plan=plans | st.sampled_from([OWN, CYCLES, CONTEXTS]),
    n_frames=st.integers(2_000, 12_000),
    seed=st.integers(0, 2**32),
)
def test_truth_at_both_levels_is_what_the_occurrences_say(plan: StreamPlan, n_frames: int, seed: int) -> None:
    stream = plant(plan, n_frames=n_frames, seed=seed)
    unit_truth = np.full(n_frames, OTHER)
    motif_truth = np.full(n_frames, OTHER)
    for occurrence in stream.occurrences:
        motif_truth[occurrence.start : occurrence.stop] = occurrence.motif
    for unit, start, stop in instances_of(stream):
        unit_truth[start:stop] = unit
    npt.assert_array_equal(stream.unit_truth, unit_truth)
    npt.assert_array_equal(stream.motif_truth, motif_truth)
    npt.assert_array_equal(stream.unit_truth == OTHER, stream.motif_truth == OTHER)
    assert stream.unit_truth.dtype == stream.motif_truth.dtype == np.int32
    assert stream.recording.values.shape == (n_frames, plan.n_channels)
    assert stream.recording.values.dtype == np.float32


@given(plan=plans, seed=st.integers(0, 2**32))
def test_every_occurrence_follows_its_grammar(plan: StreamPlan, seed: int) -> None:
    stream = plant(plan, n_frames=12_000, seed=seed)
    patterns = {motif.id: grammar_pattern(motif) for motif in stream.motifs}
    assert stream.occurrences
    for occurrence in stream.occurrences:
        performed = "".join(f"u{unit} " for unit in occurrence.units)
        fitting = [id for id, pattern in patterns.items() if pattern.fullmatch(performed)]
        assert fitting == [occurrence.motif], "no unit sequence fits two motifs"


def test_motifs_repeat_units_leave_them_out_and_share_them() -> None:
    stream = plant(n_frames=60_000, seed=1)
    lengths = {m.id: {len(o.units) for o in stream.occurrences if o.motif == m.id} for m in stream.motifs}
    assert all(len(found) > 1 for found in lengths.values()), "repeats and missing units vary the length"
    optional = [(motif.id, item.unit) for motif in stream.motifs for item in motif.items if item.present < 1]
    taken = [unit in o.units for o in stream.occurrences for motif, unit in optional if o.motif == motif]
    assert 0.4 < np.mean(taken) < 0.95, "an optional unit is there in seven cases of ten"
    used = [item.unit for motif in stream.motifs for item in motif.items]
    assert set(used) == {unit.id for unit in stream.units}
    assert len(used) > len(set(used)), "motifs share units"


def test_motifs_recur_about_equally_often_and_last_as_long_as_planned_each_instance_its_own_way() -> None:
    stream = plant(StreamPlan(noise=0.0, style=0.0), n_frames=60_000, seed=2)
    counts = np.bincount([o.motif for o in stream.occurrences])
    assert counts.size == 5 and np.ptp(counts) <= 1
    seconds = np.array([(o.stop - o.start) / 50 for o in stream.occurrences])
    assert 4.5 < seconds.min() < 8 < np.median(seconds) < 14 < seconds.max() < 24
    for unit in stream.units:
        spans = np.array([(start, stop) for u, start, stop in instances_of(stream) if u == unit.id])
        lasting = np.diff(spans)[:, 0] / 50
        assert lasting.min() >= 1.5 and np.ptp(lasting) > 0.5 and lasting.max() <= 4.0
        levels = np.array([stream.recording.values[start:stop].mean(axis=0) for start, stop in spans])
        assert (levels.std(axis=0) > 0.03).all()


def test_same_seed_same_bytes_other_seed_other_problem() -> None:
    first, again, other = (plant(eventful_plan(), n_frames=20_000, seed=seed) for seed in (5, 5, 6))
    assert first.recording.values.tobytes() == again.recording.values.tobytes()
    npt.assert_array_equal(first.recording.timestamps_s, again.recording.timestamps_s)
    npt.assert_array_equal(first.unit_truth, again.unit_truth)
    assert first.occurrences == again.occurrences
    assert first.describe() == again.describe()
    assert first.describe() != other.describe()
    assert first.recording.values.tobytes() != other.recording.values.tobytes()


@pytest.mark.parametrize("seed", range(2))
def test_novelties_do_not_occur_before_their_time_and_come_soon_after(seed: int) -> None:
    plan = replace(eventful_plan(), gaps=Gaps())
    stream = plant(plan, n_frames=40_000, seed=seed)
    starts = np.array([0, 0.4, 0.7]) * 40_000
    for unit, frame in stream.unit_first_seen.items():
        stage = 0 if unit < 5 else 1 if unit < 6 else 2
        assert frame == np.flatnonzero(stream.unit_truth == unit)[0]
        assert frame >= starts[stage]
    for motif, frame in stream.motif_first_seen.items():
        stage = 0 if motif < 2 else 1 if motif < 3 else 2
        assert frame == np.flatnonzero(stream.motif_truth == motif)[0]
        assert starts[stage] <= frame
        assert stage == 0 or frame - starts[stage] < 75 * plan.rate
    assert sorted(stream.unit_first_seen) == list(range(8))
    assert sorted(stream.motif_first_seen) == list(range(5))


def test_subjects_share_the_units_but_no_motif() -> None:
    few_units = StreamPlan(n_units=4, n_motifs=3)  # so that chance alone would repeat a motif
    streams = plant_subjects(few_units, 5, n_frames=500, seed=4)
    for stream in streams[1:]:
        assert all(mine is theirs for mine, theirs in zip(stream.units, streams[0].units, strict=True))
    orders = [order for stream in streams for motif in stream.motifs for order in motif.orders]
    assert len(orders) == len(set(orders)), "no order of units belongs to two motifs of any subjects"
    assert [motif.id for stream in streams for motif in stream.motifs] == list(range(15))
    assert len({stream.recording.id for stream in streams}) == 5


def test_more_subjects_and_more_units_leave_the_first_ones_as_they_are() -> None:
    alone, beside = plant(n_frames=3_000, seed=9), plant_subjects(n_subjects=3, n_frames=3_000, seed=9)[0]
    npt.assert_array_equal(alone.recording.values, beside.recording.values)
    few, many = (draw_units(n, 4, (1.5, 4.0), np.random.default_rng(0)) for n in (3, 6))
    for mine, theirs in zip(few, many, strict=False):
        npt.assert_array_equal(mine.waveform, theirs.waveform)


@given(gaps=some_gaps, seed=st.integers(0, 1000))
def test_gaps_are_where_they_are_declared_and_nowhere_else(gaps: Gaps, seed: int) -> None:
    stream = plant(StreamPlan(gaps=gaps), n_frames=5_000, seed=seed)
    silent = np.zeros(stream.recording.values.shape, dtype=bool)
    for silence in stream.silences:
        silent[silence.start : silence.stop, silence.channels] = True
    npt.assert_array_equal(np.isnan(stream.recording.values), silent)
    assert len(stream.silences) == gaps.n_silent
    assert len(stream.jumps) == gaps.n_missing
    times_s = stream.recording.timestamps_s
    if times_s is None:
        assert gaps.n_missing == 0
        return
    steps = np.diff(times_s) * 50
    npt.assert_array_equal(np.flatnonzero(steps > 1.5) + 1, stream.jumps)
    npt.assert_allclose(np.delete(steps, np.array(stream.jumps) - 1), 1.0, rtol=1e-6)
    assert ((steps[np.array(stream.jumps) - 1] - 1).round() >= 10).all(), "at least 0.2 s of rows are missing"


def test_missing_rows_cut_the_truth_like_the_values() -> None:
    """Away from edges a noiseless stream is at rest exactly where the truth is OTHER, holes or not."""
    plan = StreamPlan(noise=0.0, variation=0.0, style=0.0, gaps=Gaps(n_missing=6, seconds=(3.0, 6.0)))
    stream = plant(plan, n_frames=8_000, seed=0)
    quiet = np.abs(stream.recording.values).max(axis=1) == 0
    edge = 10 + 5  # frames that a cross-fade touches, rounded up
    inside = np.ones(8_000, dtype=bool)
    for cut in [*runs_of(stream.motif_truth).starts.tolist(), *stream.jumps]:
        inside[max(cut - edge, 0) : cut + edge] = False
    npt.assert_array_equal(quiet[inside], (stream.motif_truth == OTHER)[inside])


def test_one_offs_lie_in_the_background_and_are_no_unit() -> None:
    plan = StreamPlan(n_one_offs=3, noise=0.0, variation=0.0, style=0.0)
    stream = plant(plan, n_frames=20_000, seed=3)
    assert len(stream.one_offs) == 3
    for start, stop in stream.one_offs:
        assert (stream.motif_truth[start:stop] == OTHER).all()
        assert np.abs(stream.recording.values[start:stop]).max() > 0.3
    background = stream.motif_truth == OTHER
    for start, stop in stream.one_offs:
        background[start:stop] = False
    assert np.median(np.abs(stream.recording.values[background])) == 0


def test_style_differs_between_subjects_and_drift_is_slow_and_not_there_at_first() -> None:
    still = StreamPlan(noise=0.0, variation=0.0, style=0.0)

    def at_rest(plan: StreamPlan) -> Any:
        return np.array([stream.recording.values[5] for stream in plant_subjects(plan, 4, n_frames=4_000)])

    npt.assert_array_equal(at_rest(still), 0.0)
    assert (at_rest(replace(still, style=0.5)).std(axis=0) > 0.05).all()
    drifting, resting = (plant(replace(still, drift=drift), n_frames=30_000) for drift in (1.0, 0.0))
    difference = drifting.recording.values - resting.recording.values
    npt.assert_allclose(difference[0], 0.0, atol=1e-6)
    assert np.abs(np.diff(difference[:50], axis=0)).max() < 0.01
    assert (np.ptp(difference[resting.motif_truth == OTHER], axis=0) > 0.3).all()


def test_joins_are_no_spikes() -> None:
    """Between postures the step from frame to frame stays far below the distance of the two levels."""
    stream = plant(StreamPlan(noise=0.0, variation=0.0), n_frames=20_000, seed=0)
    postures = [unit.id for unit in stream.units if unit.kind in ("posture", "transient")]
    steps = np.abs(np.diff(stream.recording.values, axis=0))
    calm = np.isin(stream.unit_truth, [*postures, OTHER])
    calm = np.convolve(calm, np.ones(41), mode="same")[1:] == 41  # a whole neighbourhood without fast movement
    jumps = np.abs(stream.recording.values[20:] - stream.recording.values[:-20])[calm[:-19]]
    assert jumps.max() > 1.0
    assert steps[calm].max() < 0.25 * jumps.max()


def summary(values: Any) -> Any:
    return np.concatenate([values.mean(0), values.std(0), np.abs(np.diff(values, axis=0)).mean(0)])


@pytest.mark.parametrize("seed", range(2))
def test_units_can_be_recovered_by_the_nearest_centroid_of_simple_statistics(seed: int) -> None:
    stream = plant(seed=seed)
    instances = instances_of(stream)
    units = np.array([unit for unit, _, _ in instances])
    rows = np.array([summary(stream.recording.values[start:stop]) for _, start, stop in instances])
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    half = len(units) // 2
    centroids = np.array([rows[:half][units[:half] == unit].mean(axis=0) for unit in range(8)])
    distances = np.linalg.norm(rows[half:, None] - centroids, axis=2)
    assert (distances.argmin(axis=1) == units[half:]).mean() > 0.9
    alike = np.corrcoef(rows)
    same = units[:, None] == units
    np.fill_diagonal(same, False)
    assert alike[same].mean() > 0.6 > 0.2 > alike[units[:, None] != units].mean()


@pytest.mark.parametrize("n_channels", [1, 3, 6])
def test_all_units_are_separated_from_each_other_and_from_rest(n_channels: int) -> None:
    units = draw_units(8, n_channels, (1.5, 4.0), np.random.default_rng(n_channels))
    signatures = [signature(unit) for unit in (rest(n_channels), *units)]
    distances = [signature_distance(a, b) for i, a in enumerate(signatures) for b in signatures[:i]]
    assert min(distances) >= SEPARATION
    assert sorted(unit.kind for unit in units) == sorted(2 * ["oscillation", "burst", "posture", "transient"])


def test_a_trace_reads_the_waveform_at_the_warped_phase() -> None:
    """Against the waveform's own equation: a sine at 2 Hz, and a ramp that passes once."""
    phase = np.linspace(0, 1, 257)[:, None]
    sine = PlantedUnit(
        0,
        "oscillation",
        np.array([0.5], np.float32),
        np.sin(2 * np.pi * phase).astype(np.float32),
        2.0,
        (1.5, 4.0),
    )
    position = np.linspace(0, 1, 101, dtype=np.float32)
    expected = 0.5 + 0.2 + 3 * np.sin(2 * np.pi * (0.25 + 2.0 * 1.1 * 2.0 * position))
    traced = sine.trace(position, 2.0, Variation(amplitude=3.0, tempo=1.1, phase=0.25, level=0.2))
    npt.assert_allclose(traced[:, 0], expected, atol=2e-3)
    ramp = PlantedUnit(1, "transient", np.array([0.0], np.float32), phase.astype(np.float32), 0.0, (1.5, 4.0))
    warped = ramp.trace(position, 2.0, Variation(warp=0.8))[:, 0]
    npt.assert_allclose(warped, position + 0.8 * np.sin(2 * np.pi * position) / (2 * np.pi), atol=1e-5)
    assert (np.diff(warped) >= 0).all()


def test_structureless_noise_is_stationary_autocorrelated_and_seeded() -> None:
    noise = structureless(200_000, n_channels=4, rate=50.0, seed=1)
    npt.assert_array_equal(noise.values, structureless(200_000, n_channels=4, rate=50.0, seed=1).values)
    assert noise.rate == 50.0
    npt.assert_allclose(noise.values.std(axis=0), 1.0, atol=0.15)
    for channel in noise.values.T:
        assert np.corrcoef(channel[1:], channel[:-1])[0, 1] > 0.75
        assert abs(np.corrcoef(channel[1000:], channel[:-1000])[0, 1]) < 0.1


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("rate", float("nan")),
        ("n_channels", 0),
        ("n_units", 21),
        ("n_one_offs", -1),
        ("drift", 9.0),
        ("unit_s", (4.0, 1.5)),
        ("gaps", Gaps(seconds=(2.0, float("inf")))),
        ("novelty", (Novelty(0.6), Novelty(0.4))),
        ("novelty", (Novelty(0.5, n_motifs=2, n_units=6),)),
        ("motifs", "words"),
    ],
)
def test_bad_plans_are_refused_in_one_line(setting: str, value: Any) -> None:
    with pytest.raises(SettingError, match=r"^planted stream: .* must be") as caught:
        StreamPlan(**{setting: value})
    assert "\n" not in str(caught.value)


def test_plans_that_cannot_be_drawn_are_refused() -> None:
    with pytest.raises(SettingError, match="told apart on 1 channels"):
        plant(StreamPlan(n_units=40, n_motifs=12, n_channels=1), n_frames=1_000)
    with pytest.raises(SettingError, match="3 units do not give"):
        plant(StreamPlan(n_units=3, n_motifs=9), n_frames=1_000)
    with pytest.raises(SettingError, match="n_one_offs"):
        plant(StreamPlan(n_one_offs=5), n_frames=1_000)
    with pytest.raises(SettingError, match="gaps must be fewer"):
        plant(StreamPlan(gaps=Gaps(n_silent=20)), n_frames=1_000)
    for bad in ({"n_frames": 0}, {"seed": -1}, {"n_subjects": 0}):
        with pytest.raises(SettingError, match="at least"):
            plant_subjects(**bad)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="rate must be"):
        structureless(100, rate=0.0)


@given(n_frames=st.integers(1, 400), n_missing=st.integers(0, 1), seed=st.integers(0, 100))
def test_very_short_streams_are_background(n_frames: int, n_missing: int, seed: int) -> None:
    gaps = Gaps(n_missing=n_missing if n_frames > 3 else 0)
    stream = plant(StreamPlan(gaps=gaps), n_frames=n_frames, seed=seed)
    assert stream.recording.n_frames == n_frames
    assert np.isfinite(stream.recording.values).all()


# ---------------------------------------------------------------- structures of motifs


def test_the_standard_plan_draws_what_it_always_drew() -> None:
    """The programme of version 0.1.0."""
    stream = plant(n_frames=5_000, seed=20)
    digest = hashlib.sha256(stream.unit_truth.tobytes() + stream.motif_truth.tobytes()).hexdigest()
    assert digest[:16] == "ecec036128ebda8c"


@pytest.mark.parametrize("plan", [OWN, CYCLES])
def test_no_unit_is_in_two_motifs(plan: StreamPlan) -> None:
    motifs = plant(plan, n_frames=3_000, seed=1).motifs
    units = [item.unit for motif in motifs for item in motif.items]
    assert sorted(units) == list(range(12))


def test_a_cycle_goes_round_without_a_rest_and_each_round_is_an_occurrence() -> None:
    stream = plant(CYCLES, n_frames=20_000, seed=1)
    for occurrence in stream.occurrences:
        assert occurrence.units == tuple(item.unit for item in stream.motifs[occurrence.motif].items)
    follow = [(a, b) for a, b in pairwise(stream.occurrences) if a.stop == b.start]
    assert all(a.motif == b.motif for a, b in follow)
    assert len(follow) >= 0.6 * len(stream.occurrences)


def test_a_context_lasts_long_and_holds_its_few_units_in_any_order() -> None:
    stream = plant(CONTEXTS, n_frames=60_000, seed=2)
    seconds = [(own.stop - own.start) / 50 for own in stream.occurrences]
    assert 15 < min(seconds) < max(seconds) < 50
    for own in stream.occurrences:
        assert set(own.units) <= {item.unit for item in stream.motifs[own.motif].items}
        assert all(a != b for a, b in pairwise(own.units))
    assert len({own.units for own in stream.occurrences}) == len(stream.occurrences)
    members = [frozenset(item.unit for item in motif.items) for motif in stream.motifs]
    assert len(set(members)) == len(members)
    assert sum(map(len, members)) > 8  # contexts share units
