"""Discovery from long to short: weights are repetition, the strongest claim; fitted motifs are read and restored."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.config.settings import AcceptanceConfig, MixtureConfig
from rondo.data.labels import OTHER
from rondo.errors import InputError, ModelError
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_mutual_information
from rondo.paper import motifs as discovery
from rondo.paper.candidates import Describe, LengthMotifs, match_lengths, subsequences
from rondo.paper.fusion import fuse, highest_score, link, occurrences
from rondo.paper.motifs import Coverage, FormerMotifs, copies, discover_lengths, fit_former, item_weights, joined
from rondo.paper.settings import MotifFormerConfig, PublishedMixtureConfig
from rondo.units.mixture import FittedMixture, fit_mixture
from rondo.units.viterbi import Timeline
from tests import naive_coverage
from tests.naive_motifs import speak

N_UNITS = 4


PLAIN = MotifFormerConfig(lengths=(2, 3, 4), mixture=PublishedMixtureConfig(latent_dim=0, component_cap=12))


_N_WINDOWS = 20


def describe(items: np.ndarray) -> np.ndarray:
    """How often each unit occurs, and where: (n_items, 2 * n_units)."""
    present = np.eye(N_UNITS)[items]  # (n_items, length, n_units)
    place = np.linspace(-1, 1, items.shape[1])[:, None]
    return np.concatenate([present.mean(axis=1), (present * place).mean(axis=1)], axis=1)


def phrases(n_phrases: int, seed: int = 0) -> np.ndarray:
    """Two motifs, 0 0 1 1 and 2 3 2 3, with a run of either in between."""
    rng = np.random.default_rng(seed)
    parts = [([0, 0, 1, 1], [2, 3, 2, 3])[rng.integers(2)] + [int(rng.integers(4))] * 3 for _ in range(n_phrases)]
    return np.array([unit for part in parts for unit in part])


def discover(
    codes: np.ndarray,
    spans: list[tuple[int, int]] | None = None,
    config: MotifFormerConfig = PLAIN,
    seed: int = 0,
    describe: Describe = describe,
) -> tuple[LengthMotifs, ...]:
    whole = [(0, codes.size)]
    return discover_lengths(
        describe, codes, whole if spans is None else spans, config, np.random.default_rng(seed), "cpu"
    )


@given(
    st.lists(st.integers(0, 2), min_size=5, max_size=25), st.lists(st.integers(0, 20), max_size=4), st.integers(2, 4)
)
def test_an_item_weighs_what_its_candidates_do(units: list[int], claims: list[int], length: int) -> None:
    codes = np.array(units)
    pairs = [(start, 4) for start in claims if start + 4 <= codes.size]
    coverage = Coverage.none(codes.size).claim(np.array([start for start, _ in pairs], dtype=np.int64), 4)
    candidates = subsequences(codes, [(0, codes.size)], length)
    union = naive_coverage.claimed(pairs)
    expected = [0.0] * len(candidates.items)
    for start, item in zip(candidates.starts, candidates.item_of, strict=True):
        expected[item] += 1 - naive_coverage.ratio(int(start), length, union)
    npt.assert_allclose(item_weights(candidates, coverage), expected, atol=1e-12)


@settings(max_examples=15)
@given(st.lists(st.integers(0, 2), min_size=8, max_size=30), st.integers(0, 4), st.integers(0, 1000))
def test_weights_are_repetition(units: list[int], n_claimed: int, seed: int) -> None:
    """Items with weights, candidates with weights, and candidates as often as they weigh: the same mixture."""
    codes = np.array(units)
    coverage = Coverage.none(codes.size).claim(np.zeros(min(n_claimed, 1), np.int64), max(n_claimed, 1))
    candidates = subsequences(codes, [(0, codes.size)], 2)
    of_candidates = 1 - coverage.ratio(candidates.starts, 2)  # 0, 1/2 or 1
    latents = describe(candidates.items)
    start = np.random.default_rng(seed).dirichlet(np.ones(3), size=len(latents))
    config = MixtureConfig(covariance="diagonal", max_iterations=500, min_weight=0.0)
    rng = np.random.default_rng(0)

    weights = item_weights(candidates, coverage)
    by_item = fit_mixture(latents, config, rng, weights, start=start)
    own = candidates.item_of
    by_candidate = fit_mixture(latents[own], config, rng, of_candidates, start=start[own])
    twice = np.repeat(own, np.round(2 * of_candidates).astype(int))
    repeated = fit_mixture(latents[twice], config, rng, None, start=start[twice])
    doubled = fit_mixture(latents, config, rng, 2 * weights, start=start)
    for some, other in ((by_item, by_candidate), (doubled, repeated)):
        npt.assert_allclose(some.weights, other.weights, rtol=1e-5)
        npt.assert_allclose(some.means, other.means, rtol=1e-5, atol=1e-6)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=20), st.integers(0, 1000))
def test_copies_are_the_weights_up_to_one(weights: list[float], seed: int) -> None:
    drawn = copies(np.array(weights), np.random.default_rng(seed))
    assert (np.abs(drawn - weights) < 1 + 1e-9).all()
    assert abs(drawn.sum() - sum(weights)) < 1 + 1e-9


def test_motifs_come_longest_first_with_what_they_accept() -> None:
    codes = phrases(25)
    found = discover(codes)
    assert [motifs.length for motifs in found] == [4, 3, 2]
    for motifs in found:
        n_candidates = codes.size - motifs.length + 1
        assert motifs.centres.shape == (motifs.n_components, 2 * N_UNITS)
        assert motifs.radii.shape == motifs.floors.shape == motifs.supports.shape == (motifs.n_components,)
        assert motifs.supports.sum() == n_candidates
        assert (motifs.radii > 0).all()
        assert (motifs.supports >= 1).all()


def test_acceptance_counts_every_candidate_not_every_item() -> None:
    """Members at the centre of mass of 98 equal candidates and one other: P95 is the distance of the 98."""
    codes = np.array([0] * 100 + [1])
    config = replace_mixture(PLAIN, component_cap=1, lengths=(2,))
    (motifs,) = discover(codes, config=config)
    latents = describe(np.array([[0, 0], [0, 1]]))
    centre = (99 * latents[0] + latents[1]) / 100
    npt.assert_allclose(motifs.centres, [centre])
    npt.assert_allclose(motifs.radii, [np.linalg.norm(latents[0] - centre)])
    npt.assert_array_equal(motifs.supports, [100])


def replace_mixture(config: MotifFormerConfig, lengths: tuple[int, ...], **settings: object) -> MotifFormerConfig:
    return config.model_copy(update={"lengths": lengths, "mixture": config.mixture.model_copy(update=settings)})


def test_a_component_that_wins_no_candidate_is_no_motif() -> None:
    """The middle component is as wide as the others and lighter than both wherever there is a candidate."""
    candidates = subsequences(np.array([0, 0, 1, 1]), [(0, 2), (2, 4)], 2)
    means, roots = np.array([[0.0], [1.0], [2.0]]), np.ones((3, 1, 1))
    mixture = FittedMixture(np.array([0.45, 0.1, 0.45]), means, roots, np.array([0.0, -9.0, 0.0]))
    latents = np.array([[0.0], [2.0]])
    motifs = discovery._with_acceptance(mixture, candidates, latents, AcceptanceConfig(), None)
    npt.assert_array_equal(motifs.mixture.means, [[0.0], [2.0]])
    npt.assert_array_equal(motifs.centres, [[0.0], [2.0]])
    npt.assert_array_equal(motifs.supports, [1, 1])
    npt.assert_array_equal(motifs.mixture.posterior(latents).argmax(axis=1), [0, 1])


def test_the_order_of_recordings_does_not_matter() -> None:
    codes = phrases(40)
    cut = 84
    turned = np.concatenate([codes[cut:], codes[:cut]])
    config = PLAIN.model_copy(update={"lengths": (3,)})
    (there,) = discover(codes, [(0, cut), (cut, codes.size)], config)
    (back,) = discover(turned, [(0, codes.size - cut), (codes.size - cut, codes.size)], config)
    npt.assert_allclose(there.centres, back.centres, atol=1e-9)
    npt.assert_allclose(there.radii, back.radii)
    npt.assert_array_equal(there.supports, back.supports)


def test_the_autoencoder_sees_items_as_often_as_they_occur(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def fit(rows: np.ndarray, config: MixtureConfig, seed: int, device: str) -> None:
        seen.append(rows)

    monkeypatch.setattr(discovery, "fit_autoencoder", fit)
    codes = phrases(20)
    config = replace_mixture(PLAIN, (2, 3), latent_dim=2)
    discover(codes, config=config)
    every = [subsequences(codes, [(0, codes.size)], length) for length in (3, 2)]
    expected = np.concatenate([describe(own.items)[np.sort(own.item_of)] for own in every])
    npt.assert_array_equal(seen[0], expected)
    monkeypatch.setattr(discovery, "_MOST_ROWS", 50)
    discover(codes, config=config)
    assert abs(len(seen[1]) - 50) <= 1


def test_the_strongest_tenth_claims_and_ties_go_to_the_earliest() -> None:
    distances = np.array([0.5, 0.1, np.inf, 0.1, 0.1, 0.9, np.inf, 0.2, 0.3, 0.4, 0.6, 0.7])
    npt.assert_array_equal(claiming(distances, share=0.1), [1])
    npt.assert_array_equal(claiming(distances, share=0.2), [1, 3])
    assert claiming(distances, share=1.0).size == 10
    npt.assert_array_equal(claiming(np.tile([0.7, 0.2], 500), share=0.1), np.arange(1, 200, 2))
    assert claiming(np.full(5, np.inf), share=0.1).size == 0


def claiming(distances: np.ndarray, share: float, of: str = "candidates", length: int = 2) -> np.ndarray:
    """Starts of the candidates that claim, one at each window but the last ones."""
    n_windows = distances.size + length - 1
    candidates = subsequences(np.arange(n_windows), [(0, n_windows)], length)
    return discovery._claiming(candidates, distances, n_windows, MotifFormerConfig(claim_share=share, claim_of=of))


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([0.1, 0.4, 0.5, 0.9, np.inf]), min_size=1, max_size=30),
    st.floats(0.01, 1.0),
    st.integers(2, 5),
)
def test_a_share_of_the_windows_is_claimed_by_as_few_candidates_as_do(
    distances: list[float], share: float, length: int
) -> None:
    taken: set[int] = set()
    wanted = []
    for start in sorted(np.flatnonzero(np.isfinite(distances)).tolist(), key=lambda at: distances[at]):
        if len(taken) >= share * (len(distances) + length - 1):
            break
        wanted.append(start)
        taken |= set(range(start, start + length))
    npt.assert_array_equal(claiming(np.array(distances), share, "windows", length), wanted)


def test_what_is_claimed_weighs_less_at_the_next_length(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []

    def fit(rows: np.ndarray, *rest: object, **more: object) -> object:
        fits.append(np.asarray(rest[2]).sum())
        return fit_mixture(rows, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(discovery, "fit_mixture", fit)
    codes = phrases(40)
    discover(codes)
    assert fits[0] == codes.size - 3
    assert fits[1] < codes.size - 2
    assert fits[2] < codes.size - 1


def test_full_weight_looks_at_what_is_unclaimed_with_the_weight_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []

    def fit(rows: np.ndarray, config: MixtureConfig, rng: np.random.Generator, weights: np.ndarray) -> object:
        fits.append(weights.sum())
        return fit_mixture(rows, config, rng, weights)

    monkeypatch.setattr(discovery, "fit_mixture", fit)
    codes = phrases(40)
    discover(codes, config=PLAIN.model_copy(update={"full_weight": True}))
    assert fits == pytest.approx([codes.size - 3, codes.size - 2, codes.size - 1])


def test_a_length_whose_windows_are_all_claimed_has_no_motifs() -> None:
    everything = PLAIN.model_copy(
        update={"claim_share": 1.0, "acceptance": AcceptanceConfig(radius_quantile=1.0, posterior_quantile=0.0)}
    )
    found = discover(phrases(20), config=everything)
    assert [motifs.length for motifs in found] == [4]


@pytest.mark.parametrize(
    ("codes", "spans"), [([], []), ([0], [(0, 1)]), ([0, 1, 0, 1], [(i, i + 1) for i in range(4)])], ids=str
)
@pytest.mark.parametrize("latent_dim", [0, 2])
def test_no_candidates_at_any_length(codes: list[int], spans: list[tuple[int, int]], latent_dim: int) -> None:
    units = np.array(codes, dtype=np.int64)
    assert discover(units, spans, replace_mixture(PLAIN, PLAIN.lengths, latent_dim=latent_dim)) == ()
    assert match_lengths(describe, units, spans, ()) == ()


def test_a_radius_that_accepts_nothing_claims_nothing_and_labels_other() -> None:
    codes = phrases(20)
    found = tuple(replace(motifs, floors=np.full(motifs.n_components, 2.0)) for motifs in discover(codes))
    matches = match_lengths(describe, codes, [(0, codes.size)], found)
    fused = fuse(matches, link(found, matches, "overlap"), codes.size, 0.02)
    assert set(fused.ids.tolist()) == {-1} and not fused.scores.any()
    assert occurrences(fused, codes, [(0, codes.size)]) == []


def test_deep_dpm_takes_repeated_rows_for_weights() -> None:
    codes = np.array([0, 0, 0, 1, 1, 1] * 12)
    found = discover(codes, config=replace_mixture(PLAIN, (3, 2), kind="deep_dpm"))
    assert [motifs.length for motifs in found] == [3, 2]


_claims = st.integers(1, 8).flatmap(lambda length: st.tuples(st.integers(0, _N_WINDOWS - length), st.just(length)))


def covered(claims: list[tuple[int, int]]) -> Coverage:
    coverage = Coverage.none(_N_WINDOWS)
    for start, length in claims:
        coverage = coverage.claim(np.array([start]), length)
    return coverage


@given(st.lists(_claims, max_size=6), st.integers(1, _N_WINDOWS))
def test_coverage_is_that_of_sets(claims: list[tuple[int, int]], length: int) -> None:
    coverage, union = covered(claims), naive_coverage.claimed(claims)
    assert set(np.flatnonzero(coverage.claimed)) == union
    starts = np.arange(_N_WINDOWS - length + 1)
    expected = [naive_coverage.ratio(int(start), length, union) for start in starts]
    npt.assert_array_equal(coverage.ratio(starts, length), expected)


SMALL = MotifFormerConfig(
    lengths=(2, 3, 4),
    model_dim=16,
    epochs=3,
    link="overlap",
    mixture=PublishedMixtureConfig(latent_dim=4, component_cap=8),
)


PROTOTYPES = np.random.default_rng(7).normal(size=(7, 5))


UNIT_IDS = (0, 1, 2, 4, 5, 7, 9)  # an id is not a row


def spoken(seed: int, n_phrases: int = 60) -> tuple[Timeline, NDArray[np.int64]]:
    """Phrases of three, each unit one or two windows long, a silence between; and the phrase of each window."""
    rng = np.random.default_rng(seed)
    runs, truth = speak([[1, 2, 3], [4, 1, 5], [2, 6]], separator=0, n_phrases=n_phrases, rng=rng)
    durations = rng.integers(1, 3, len(runs))
    ids = np.array(UNIT_IDS, dtype=np.int32)[np.repeat(np.array(runs), durations)]
    return Timeline(ids, np.full(ids.size, 0.5), ((0, ids.size // 3), (ids.size // 3, ids.size))), np.repeat(
        np.array(truth), durations
    )


def fitted(units: Timeline, config: MotifFormerConfig = SMALL, seed: int = 0) -> FormerMotifs:
    return fit_former(units, UNIT_IDS, PROTOTYPES, config, np.random.default_rng(seed), "cpu")


@pytest.fixture(scope="module")
def model() -> FormerMotifs:
    return fitted(spoken(0)[0])


def test_windows_get_motifs_that_say_something_about_the_phrases(model: FormerMotifs) -> None:
    units, truth = spoken(0)
    read = model.timeline(units)
    assert read.ids.shape == units.ids.shape
    assert set(read.ids.tolist()) - {OTHER} <= set(model.ids)
    assert adjusted_mutual_information(Overlap.of(truth, read.ids)) > 0.2
    assert ((read.scores > 0) == (read.ids != OTHER)).all()
    codes = np.searchsorted(UNIT_IDS, units.ids)
    matches = match_lengths(model.former.describe, codes, units.spans, model.lengths)
    fused = fuse(matches, model.motif_ids, codes.size, model.bonus)
    npt.assert_allclose(read.scores * highest_score(model.bonus), fused.scores)


def test_occurrences_begin_where_ids_or_spans_do(model: FormerMotifs) -> None:
    units, _ = spoken(0)
    read = model.timeline(units)
    begins = {0, units.spans[1][0], *(np.flatnonzero(np.diff(read.ids)) + 1).tolist()}
    assert set(np.flatnonzero(read.begins).tolist()) == begins
    apart = Timeline(np.full(12, 4, np.int32), np.full(12, 0.5), ((0, 6), (6, 12)))  # one unit, before and after a gap
    read = model.timeline(apart)
    assert read.ids[5] == read.ids[6]
    assert read.begins[6]


def test_every_motif_that_occurs_has_a_composition_of_known_units(model: FormerMotifs) -> None:
    units, _ = spoken(0)
    known = {f"u{id}" for id in UNIT_IDS}
    for motif in set(model.timeline(units).ids.tolist()) - {OTHER}:
        words = re.findall(r"u\d+", model.composition(motif))
        assert words
        assert set(words) <= known
    assert model.composition(9999) == ""


def test_restored_reads_the_same_bits(model: FormerMotifs) -> None:
    again = FormerMotifs.restore({name: np.array(t) for name, t in model.tensors().items()}, SMALL)
    for seed in (0, 3):
        units, _ = spoken(seed)
        for name in ("ids", "scores", "begins"):
            npt.assert_array_equal(getattr(again.timeline(units), name), getattr(model.timeline(units), name))
    assert (again.phrases, again.ids, again.curves) == (model.phrases, model.ids, model.curves)


@pytest.mark.parametrize("name", ["lengths", "unit_ids", "phrases.table", "length.3.ids", "former.lengths"])
def test_a_missing_tensor_is_named(model: FormerMotifs, name: str) -> None:
    cut = {key: tensor for key, tensor in model.tensors().items() if key != name}
    with pytest.raises(ModelError) as caught:
        FormerMotifs.restore(cut, SMALL)
    assert "\n" not in str(caught.value)


def test_same_seed_same_motifs_and_each_recording_reads_as_in_company(model: FormerMotifs) -> None:
    units, _ = spoken(0)
    npt.assert_array_equal(fitted(units).timeline(units).ids, model.timeline(units).ids)
    other, _ = spoken(4)
    together = model.timeline(joined([units, other]))
    npt.assert_array_equal(together.ids[: units.ids.size], model.timeline(units).ids)
    npt.assert_array_equal(together.ids[units.ids.size :], model.timeline(other).ids)


def test_a_timeline_shorter_than_any_motif_is_other(model: FormerMotifs) -> None:
    one = Timeline(np.array([4], np.int32), np.array([0.5]), ((0, 1),))
    assert model.timeline(one).ids.tolist() == [OTHER]
    assert model.timeline(one).scores.tolist() == [0.0]
    empty = Timeline(np.zeros(0, np.int32), np.zeros(0), ())
    assert model.timeline(empty).ids.size == 0


def test_too_few_windows_for_any_length_are_refused_in_one_line() -> None:
    units = Timeline(np.array([4, 5], np.int32), np.full(2, 0.5), ((0, 1), (1, 2)))
    with pytest.raises(InputError, match=r"motifs\.lengths|length") as caught:
        fitted(units)
    assert "\n" not in str(caught.value)
