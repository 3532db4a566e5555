from __future__ import annotations

import numpy as np
import numpy.testing as npt
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rondo.data.labels import OTHER
from rondo.errors import ModelError, RecordingError, SettingError
from rondo.paper import motif_former as train
from rondo.paper.candidates import Pool
from rondo.paper.motif_former import (
    Epoch,
    MotifFormer,
    MotifFormerNet,
    contrast,
    pseudo_label_loss,
    pseudo_labels,
    train_motif_former,
)
from rondo.paper.settings import MotifFormerConfig, PublishedMixtureConfig
from rondo.paper.unit_align import variance_hinge

MIXTURE = PublishedMixtureConfig(latent_dim=3, component_cap=5, max_iterations=30)
SMALL = MotifFormerConfig(lengths=(2, 3, 4), model_dim=8, heads=2, epochs=6, mixture=MIXTURE)
PROTOTYPES = np.random.default_rng(7).normal(size=(3, 4))


def timeline(n_windows: int, n_units: int = 3, seed: int = 0) -> NDArray[np.int64]:
    """Units in runs of about four windows."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.integers(n_units, size=n_windows), rng.geometric(0.25, n_windows))[:n_windows]


def trained(n_windows: int = 60, config: MotifFormerConfig = SMALL, seed: int = 0) -> MotifFormer:
    return train_motif_former(PROTOTYPES, timeline(n_windows), [(0, n_windows)], config, seed, "cpu")


ITEMS = np.array([[0, 1, 2], [2, 1, 0], [0, 0, 0], [1, 1, 1]])


def test_pseudo_labels_are_the_sure_components() -> None:
    rng = np.random.default_rng(0)
    centres = np.repeat(np.array([[-9.0, 0.0], [9.0, 0.0]]), 40, axis=0)
    descriptors = np.vstack([centres + rng.normal(size=(80, 2)), [[0.0, 0.0]]])
    flat = SMALL.model_copy(update={"mixture": MIXTURE.model_copy(update={"latent_dim": 0, "component_cap": 2})})
    labels = pseudo_labels(descriptors, np.ones(81, np.int64), flat, np.random.default_rng(0), "cpu")
    left, right = set(labels[:40].tolist()), set(labels[40:80].tolist())
    assert len(left) == len(right) == 1
    assert left != right
    assert OTHER not in left | right


def test_unsure_items_have_no_label(monkeypatch: pytest.MonkeyPatch) -> None:
    descriptors = np.random.default_rng(0).normal(size=(60, 2))  # one cloud, in two halves
    flat = SMALL.model_copy(update={"mixture": MIXTURE.model_copy(update={"latent_dim": 0, "component_cap": 2})})
    shares = []
    for confident in (0.5, 0.9, 1.1):
        monkeypatch.setattr(train, "_CONFIDENT", confident)
        labels = pseudo_labels(descriptors, np.ones(60, np.int64), flat, np.random.default_rng(0), "cpu")
        shares.append(float((labels != OTHER).mean()))
    assert shares[0] == 1.0 > shares[1] > shares[2] == 0.0


def test_members_of_light_components_have_no_label() -> None:
    descriptors = np.vstack([np.random.default_rng(0).normal(size=(60, 2)), [[30.0, 30.0], [30.1, 30.0]]])
    mixture = MIXTURE.model_copy(update={"latent_dim": 0, "component_cap": 2, "min_weight": 0.05})
    config = SMALL.model_copy(update={"mixture": mixture})
    few, many = np.ones(62, np.int64), np.array([1] * 60 + [10, 10])
    counted_once = pseudo_labels(descriptors, few, config, np.random.default_rng(0), "cpu")
    counted_often = pseudo_labels(descriptors, many, config, np.random.default_rng(0), "cpu")
    assert (counted_once[60:] == OTHER).all()
    assert (counted_often[60:] != OTHER).all()


def test_terms_of_a_batch_are_the_losses_of_what_is_in_it() -> None:
    clean = SMALL.model_copy(update={"mask_probability": 0.0, "drop_probability": 0.0})
    pool = Pool.of(timeline(50), [(0, 20), (20, 50)], SMALL.lengths)
    generator = torch.Generator().manual_seed(0)
    net = MotifFormerNet(torch.from_numpy(PROTOTYPES).float(), SMALL, generator)
    labels = np.arange(pool.n_items) % 5 - 1
    for batch in pool.epoch(10**6, np.random.default_rng(0)):
        terms = train._terms(net, batch, labels, clean, generator)
        h, partners = net(torch.from_numpy(batch.codes))[0], net(torch.from_numpy(batch.partner_codes))[0]
        weights = torch.from_numpy(batch.weights / batch.weights.mean()).float()
        paired, kinds = torch.from_numpy(batch.paired), torch.from_numpy(batch.partner_kinds)
        expected = [
            torch.zeros(()),  # nothing is masked
            contrast(h, h, torch.from_numpy(batch.items), weights, SMALL.temperature),
            contrast(h[paired], partners[batch.partner_of], kinds, weights[paired], SMALL.temperature),
            pseudo_label_loss(net.classify(h), torch.from_numpy(labels[batch.items]), weights),
            variance_hinge(h, weights),
        ]
        npt.assert_allclose(terms.detach(), torch.stack(expected).detach(), rtol=1e-4, atol=1e-5)


def test_a_step_counts_as_much_as_the_candidates_it_stands_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool.of(timeline(50), [(0, 50)], SMALL.lengths)
    batches = pool.epoch(10**6, np.random.default_rng(0))[:2]
    net = MotifFormerNet(torch.zeros(3, 4), SMALL, torch.Generator())
    start = float(net.cls.detach().sum())
    slopes = {id(batches[0]): 1.0, id(batches[1]): 4.0}
    monkeypatch.setattr(train, "_terms", lambda net, batch, *_: slopes[id(batch)] * net.cls.sum() * torch.ones(5))
    optimiser = torch.optim.SGD(net.parameters(), lr=1e-3)
    train._descend(net, optimiser, batches, np.zeros(0, np.int64), SMALL, torch.Generator())
    n_candidates = [batch.weights.sum() for batch in batches]
    slope = (n_candidates[0] + 4 * n_candidates[1]) / np.mean(n_candidates)
    weights = 0.1 + 1.0 + 0.5 + 0.5 + 0.01  # the paper's
    npt.assert_allclose(float(net.cls.detach().sum()) - start, -1e-3 * weights * slope * 8, rtol=1e-3)
    assert n_candidates[0] != n_candidates[1]


def test_log_has_every_epoch_and_what_was_labelled() -> None:
    log = trained(config=SMALL.model_copy(update={"epochs": 11})).log
    assert [line.number for line in log] == list(range(1, 12))
    assert all(np.isfinite(line).all() for line in log)
    assert all(line.n_pseudo_labels == 0 == line.share_confident == line.pseudo for line in log[:5])
    for line in log[5:]:
        assert 1 <= line.n_pseudo_labels <= 5
        assert 0 < line.share_confident <= 1
    assert log[9].pseudo < log[5].pseudo
    npt.assert_allclose([log[5].pseudo, log[10].pseudo], np.log(5), atol=0.02)  # the classifier starts again


def test_same_seed_same_descriptors() -> None:
    first, again, other = trained(), trained(), trained(seed=1)
    npt.assert_array_equal(first.describe(ITEMS), again.describe(ITEMS))
    assert first.log == again.log
    assert not np.allclose(first.describe(ITEMS), other.describe(ITEMS))


def test_place_and_scale_of_prototypes_do_not_matter() -> None:
    codes, spans = timeline(40), [(0, 40)]
    one, two = (
        train_motif_former(rows, codes, spans, SMALL, 0, "cpu").describe(ITEMS)
        for rows in (PROTOTYPES, 4 * PROTOTYPES + 8)
    )
    npt.assert_allclose(one, two, atol=1e-3)


@settings(max_examples=3)
@given(st.integers(0, 1000))
def test_restored_describes_to_the_bit(seed: int) -> None:
    fitted = trained(20, SMALL.model_copy(update={"epochs": 1}), seed)
    restored = MotifFormer.restore(fitted.tensors(), SMALL)
    npt.assert_array_equal(restored.describe(ITEMS), fitted.describe(ITEMS))
    assert restored.lengths == fitted.lengths
    assert restored.log == fitted.log
    assert all(isinstance(line, Epoch) for line in restored.log)


def test_foreign_tensors_are_refused() -> None:
    tensors = trained(20, SMALL.model_copy(update={"epochs": 0})).tensors()
    assert MotifFormer.restore(tensors, SMALL).log == ()
    for name in ("lengths", "log", "network.centroids", "network.project.weight"):
        rest = {key: tensor for key, tensor in tensors.items() if key != name}
        with pytest.raises(ModelError, match="fit") as caught:
            MotifFormer.restore(rest, SMALL)
        assert "\n" not in str(caught.value)
    with pytest.raises(ModelError, match="settings make it"):
        MotifFormer.restore(tensors, SMALL.model_copy(update={"model_dim": 16}))


def test_descriptors_do_not_depend_on_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = trained(20, SMALL.model_copy(update={"epochs": 1}))
    whole = fitted.describe(ITEMS)
    monkeypatch.setattr(train, "_DESCRIBED_AT_ONCE", 3)
    npt.assert_allclose(fitted.describe(ITEMS), whole, atol=1e-12)
    assert whole.shape == (4, 8)
    assert whole.dtype == np.float64
    assert fitted.describe(np.zeros((0, 3), np.int64)).shape == (0, 8)


@pytest.mark.parametrize(
    ("codes", "spans", "lengths"),
    [
        ([0] * 12, [(0, 12)], (2, 3, 4)),  # one unit only
        ([0, 1, 2], [(0, 3)], (2, 3)),  # fewer windows than the longest length
        ([0, 1], [(0, 2)], (2,)),  # one candidate
        ([0, 1, 2, 0, 1], [(0, 1), (1, 4), (4, 5)], (2, 3)),  # spans that hold nothing
        ([0, 0, 0, 1, 1, 1], [(0, 3), (3, 6)], (2, 3)),
    ],
)
def test_short_and_monotonous_recordings_train(
    codes: list[int], spans: list[tuple[int, int]], lengths: tuple[int, ...]
) -> None:
    fitted = train_motif_former(PROTOTYPES, np.array(codes), spans, SMALL, 0, "cpu")
    assert fitted.lengths == lengths
    assert all(np.isfinite(line).all() for line in fitted.log)
    for length in lengths:
        assert np.isfinite(fitted.describe(np.zeros((2, length), np.int64))).all()


@pytest.mark.parametrize(("spans", "longest"), [([(i, i + 1) for i in range(5)], 1), ([], 0)])
def test_no_candidate_is_one_clear_line(spans: list[tuple[int, int]], longest: int) -> None:
    with pytest.raises(RecordingError, match=f"{longest} windows, motifs.lengths starts at 2") as caught:
        train_motif_former(PROTOTYPES, np.zeros(5, np.int64), spans, SMALL, 0, "cpu")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("rows", [np.zeros((0, 3)), np.zeros(3), np.full((3, 2), np.nan)])
def test_prototypes_must_be_finite_rows(rows: NDArray[np.float64]) -> None:
    with pytest.raises(RecordingError, match="finite unit prototypes"):
        train_motif_former(rows, timeline(20), [(0, 20)], SMALL, 0, "cpu")


@pytest.mark.parametrize("shape", [(2, 5), (3,)])
def test_other_lengths_are_refused(shape: tuple[int, ...]) -> None:
    fitted = trained(20, SMALL.model_copy(update={"epochs": 0}))
    with pytest.raises(SettingError, match="lengths 2, 3, 4, got items") as caught:
        fitted.describe(np.zeros(shape, np.int64))
    assert "\n" not in str(caught.value)
