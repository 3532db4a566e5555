from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.errors import ModelError, RecordingError, RondoWarning
from rondo.paper import unit_align as align
from rondo.paper.settings import PublishedMixtureConfig, UnitAlignConfig
from rondo.paper.unit_align import UnitAlignment, balanced_batches, fit_unit_align
from tests import naive_align as naive

MIXTURE = PublishedMixtureConfig(latent_dim=3, component_cap=6, max_iterations=50, tolerance=1e-4)
SMALL = UnitAlignConfig(
    bottleneck_dim=8, output_dim=6, init_epochs=4, refine_epochs=1, max_rounds=3, stable_ari=0.9, mixture=MIXTURE
)
ONCE = SMALL.model_copy(update={"max_rounds": 0})


def representations(n_windows: int, n_dims: int = 5, seed: int = 0) -> NDArray[np.float32]:
    """Four planted components, in runs of five windows."""
    rng = np.random.default_rng(seed)
    centres = 4 * rng.normal(size=(4, n_dims))
    return (centres[np.arange(n_windows) // 5 % 4] + rng.normal(size=(n_windows, n_dims))).astype(np.float32)


def aligned(y: NDArray[np.floating], config: UnitAlignConfig = SMALL, seed: int = 0) -> UnitAlignment:
    """Fitted, whether or not so few rounds were enough."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RondoWarning)
        return fit_unit_align(np.asarray(y, dtype=np.float32), ((0, len(y)),), config, seed, "cpu")


@given(st.lists(st.integers(-1, 5), min_size=1, max_size=80), st.integers(2, 32), st.integers(0, 1000))
def test_batches_are_balanced(listed: list[int], batch_size: int, seed: int) -> None:
    labels = np.array(listed)
    sizes = Counter(listed)
    for batch in balanced_batches(labels, batch_size, 3, torch.Generator().manual_seed(seed)):
        indices = batch.tolist()
        assert len(set(indices)) == len(indices)
        taken = Counter(labels[indices].tolist())
        share = max(taken.values())
        assert taken == {label: min(size, max(2, share)) for label, size in sizes.items()}
        assert len(indices) <= max(batch_size, 2 * len(sizes))
        if len(indices) < len(labels) and share > 2:  # one more of each would have been too many
            assert sum(min(size, share + 1) for size in sizes.values()) > batch_size


def scripted(monkeypatch: pytest.MonkeyPatch, rounds: list[list[int]]) -> None:
    """Clustering gives these labels, one list per call."""
    answers = iter(rounds)
    monkeypatch.setattr(align, "_clustered", lambda *_: (np.array(next(answers)), None))


A, B, C = [0, 0, 1, 1, 2, 2], [0, 1, 1, 0, 2, 2], [0, 1, 2, 0, 1, 2]


@pytest.mark.parametrize(
    ("rounds", "patience", "n_rounds", "settles"),
    [
        ([A, A, A], 2, 2, True),
        ([A, B, B, B], 2, 3, True),
        ([A, A, B, B, B], 2, 4, True),  # one agreement, then a change: patience starts again
        ([A, A], 1, 1, True),
        ([A, B, A, B, A], 2, 4, False),
        ([A, B, C, A, A], 2, 4, False),
    ],
)
def test_stops_when_components_stay(
    rounds: list[list[int]], patience: int, n_rounds: int, settles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, rounds)
    config = SMALL.model_copy(update={"max_rounds": 4, "patience": patience, "stable_ari": 0.995})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = fit_unit_align(representations(6), ((0, 6),), config, 0, "cpu")
    assert [line.number for line in fitted.log] == list(range(n_rounds + 1))
    assert ["not settle" in str(warning.message) for warning in caught] == ([] if settles else [True])


def test_not_settling_is_one_line_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted(monkeypatch, [A, C])
    config = SMALL.model_copy(update={"max_rounds": 1})
    with pytest.warns(RondoWarning, match=r"in 1 rounds: ARI .*3 -> 3 components.*units.max_rounds = 0") as caught:
        fit_unit_align(representations(6), ((0, 6),), config, 0, "cpu")
    assert "\n" not in str(caught[0].message)


def test_log_says_what_each_round_found(monkeypatch: pytest.MonkeyPatch) -> None:
    noisy = [0, 0, 1, 1, -1, -1]
    scripted(monkeypatch, [A, noisy, C])
    config = SMALL.model_copy(update={"max_rounds": 2})
    with pytest.warns(RondoWarning, match="did not settle"):
        log = fit_unit_align(representations(6), ((0, 4), (4, 6)), config, 0, "cpu").log
    assert [line.n_components for line in log] == [3, 2, 3]
    assert [line.kept_neighbours for line in log] == [0.75, 0.75, 0.0]  # nobody is a neighbour across spans
    npt.assert_allclose([line.ari_to_previous for line in log], [0, 1, naive.adjusted_rand(A, C)])
    npt.assert_allclose([line.ari_to_start for line in log], [1, 1, naive.adjusted_rand(A, C)])
    assert log[0].contrast == 0.0
    assert all(line.contrast > 0 for line in log[1:])


def test_initialisation_only_is_round_zero_of_the_whole() -> None:
    y = representations(60)
    once, whole = aligned(y, ONCE), aligned(y)
    assert len(once.log) == 1 < len(whole.log)
    assert once.log[0] == whole.log[0]


def test_planted_components_are_apart_in_the_latents() -> None:
    y, truth = representations(120), np.arange(120) // 5 % 4
    latents = aligned(y, SMALL.model_copy(update={"init_epochs": 20, "refine_epochs": 5})).apply(y)
    centres = np.stack([latents[truth == k].mean(axis=0) for k in range(4)])
    nearest = np.linalg.norm(latents[:, None] - centres, axis=2).argmin(axis=1)
    assert (nearest == truth).mean() > 0.9


def test_noise_are_the_members_of_components_too_light() -> None:
    z = np.concatenate([np.tile([[1.0, 0.0]], (30, 1)), np.tile([[0.0, 1.0]], (30, 1)), [[-1.0, -1.0]]])
    z += 0.01 * np.random.default_rng(0).normal(size=z.shape)
    config = MIXTURE.model_copy(update={"latent_dim": 0, "component_cap": 3})
    every, _ = align._clustered(z.astype(np.float32), config.model_copy(update={"min_weight": 0.0}), 0, "cpu")
    heavy, _ = align._clustered(z.astype(np.float32), config.model_copy(update={"min_weight": 0.05}), 0, "cpu")
    assert every.min() == 0
    assert np.flatnonzero(heavy == -1).tolist() == [60]
    npt.assert_array_equal(heavy[:60], every[:60])


@pytest.fixture(scope="module")
def fitted() -> UnitAlignment:
    return aligned(representations(40))


def test_without_an_autoencoder_the_latents_are_the_embeddings() -> None:
    y = representations(40)
    direct = ONCE.model_copy(update={"mixture": MIXTURE.model_copy(update={"latent_dim": 0})})
    fitted = aligned(y, direct)
    npt.assert_array_equal(fitted.apply(y), fitted.embed(y))
    npt.assert_array_equal(UnitAlignment.restore(fitted.tensors(), direct).apply(y), fitted.apply(y))
    with pytest.raises(ModelError, match="autoencoder's tensors"):
        UnitAlignment.restore(fitted.tensors(), SMALL)


def test_repeats_per_seed_and_leaves_everything_else_alone() -> None:
    y = representations(40)
    before, torch_state = y.copy(), torch.random.get_rng_state()
    numpy_state = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    once, again, other = (aligned(y, seed=seed) for seed in (3, 3, 4))
    npt.assert_array_equal(once.apply(y), again.apply(y))
    assert once.log == again.log
    assert np.abs(once.apply(y) - other.apply(y)).max() > 1e-3
    npt.assert_array_equal(y, before)
    npt.assert_array_equal(torch.random.get_rng_state(), torch_state)
    npt.assert_array_equal(np.random.get_state()[1], numpy_state)  # type: ignore[index]  # noqa: NPY002


def test_a_subset_is_the_slice_of_the_whole(fitted: UnitAlignment) -> None:
    y = representations(90, seed=1)
    npt.assert_allclose(fitted.apply(y[13:21]), fitted.apply(y)[13:21], rtol=0, atol=1e-10)
    npt.assert_allclose(fitted.apply(y[5:6]), fitted.apply(y)[5:6], rtol=0, atol=1e-10)
    assert fitted.apply(y[:0]).shape == (0, 3)


def test_tensors_round_trip_to_the_bit(fitted: UnitAlignment) -> None:
    y = representations(40)
    tensors = fitted.tensors()
    restored = UnitAlignment.restore({name: tensor.copy() for name, tensor in tensors.items()}, SMALL)
    npt.assert_array_equal(restored.apply(y), fitted.apply(y))
    assert restored.log == fitted.log
    assert restored.tensors().keys() == tensors.keys()
    for name, tensor in restored.tensors().items():
        npt.assert_array_equal(tensor, tensors[name])
        assert np.isfinite(tensor).all(), name  # a model folder with other numbers is refused


@pytest.mark.parametrize("name", ["centre", "spread", "log", "adaptor.up.weight", "autoencoder.centre"])
def test_foreign_tensors_are_refused_in_one_line(name: str, fitted: UnitAlignment) -> None:
    tensors = fitted.tensors()
    missing = {key: tensor for key, tensor in tensors.items() if key != name}
    misshapen = {**tensors, name: np.zeros((2, 3, 4), dtype=np.float32)}
    for wrong in (missing, misshapen):
        with pytest.raises(ModelError, match=r"not fit together|tensor '(up|inward)\.weight'") as caught:
            UnitAlignment.restore(wrong, SMALL)
        assert "\n" not in str(caught.value)


def assert_usable(y: NDArray[np.floating], config: UnitAlignConfig = SMALL) -> UnitAlignment:
    fitted = aligned(y, config)
    latents = fitted.apply(y)
    assert latents.shape == (len(y), 3)
    assert np.isfinite(latents).all()
    assert all(np.isfinite(line).all() for line in fitted.log)
    assert all(1 <= line.n_components <= min(len(y), MIXTURE.component_cap) for line in fitted.log)
    return fitted


@pytest.mark.parametrize("n_windows", [1, 2, 9, 131])
def test_few_windows_and_small_rests(n_windows: int) -> None:
    assert_usable(representations(n_windows))


@pytest.mark.parametrize(("n_windows", "value"), [(1, 0.1), (20, 0.0), (20, -1e6)])
def test_constant_representations_are_one_component(n_windows: int, value: float) -> None:
    y = np.full((n_windows, 4), value, dtype=np.float32)
    fitted = assert_usable(y)
    assert [line.n_components for line in fitted.log] == [1] * len(fitted.log)
    npt.assert_allclose(fitted.apply(y), fitted.apply(y)[:1].repeat(n_windows, axis=0), rtol=0, atol=1e-10)


def test_scale_and_place_of_a_dimension_do_not_matter() -> None:
    y = representations(40).astype(np.float64)
    moved = y * np.array([0.25, 0.5, 1, 2, 4]) + np.array([0, 1, 2, 3, 4])
    plain, other = (aligned(rows, ONCE).apply(rows.astype(np.float32)) for rows in (y, moved))
    npt.assert_allclose(other, plain, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_non_finite_representation_is_named(bad: float, fitted: UnitAlignment) -> None:
    y = representations(10)
    y[4, 2] = bad
    with pytest.raises(RecordingError, match="window 4, dimension 2"):
        fit_unit_align(y, ((0, 10),), SMALL, 0, "cpu")
    with pytest.raises(RecordingError, match="window 4, dimension 2"):
        fitted.apply(y)


@pytest.mark.parametrize("shape", [(0, 4), (5, 0), (5,)])
def test_no_representations_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(RecordingError, match="expect representations"):
        fit_unit_align(np.zeros(shape, dtype=np.float32), (), SMALL, 0, "cpu")


def test_representations_of_another_encoder_are_refused(fitted: UnitAlignment) -> None:
    with pytest.raises(RecordingError, match=r"\(n_windows, 5\), got \(3, 4\)"):
        fitted.apply(np.zeros((3, 4)))


def test_a_mixture_that_does_not_settle_in_a_round_is_silent() -> None:
    """The pseudo-labels of a round may be rough; only UnitAlign itself has something to say."""
    restless = SMALL.model_copy(
        update={"mixture": MIXTURE.model_copy(update={"max_iterations": 1, "tolerance": 1e-12})}
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit_unit_align(representations(30), ((0, 30),), restless, 0, "cpu")
    assert not [warning for warning in caught if "mixture did not settle" in str(warning.message)]


def test_representations_are_standardised_unless_told() -> None:
    y = representations(60) * np.float32([1, 10, 100, 1, 1]) + np.float32(5)
    own, plain = aligned(y, ONCE), aligned(y, ONCE.model_copy(update={"standardise": False}))
    npt.assert_allclose(own.centre, y.mean(axis=0), rtol=1e-3)
    npt.assert_array_equal(plain.centre, np.zeros(5))
    npt.assert_array_equal(plain.spread, np.ones(5))
    scaled = y * np.float32([3, 1, 1, 1, 1])
    npt.assert_allclose(aligned(scaled, ONCE).embed(scaled), own.embed(y), atol=1e-2)
    assert not np.allclose(
        aligned(scaled, ONCE.model_copy(update={"standardise": False})).embed(scaled), plain.embed(y)
    )
