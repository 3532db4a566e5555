"""Motifs of MotifFormer in a stream: read as in a whole recording, refined, gathered, merged and promoted by length."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.config.settings import ContinualConfig
from rondo.continual.phrases import Motif
from rondo.data.labels import OTHER
from rondo.paper.settings import MotifFormerConfig, PublishedMixtureConfig
from rondo.units.viterbi import Timeline
from tests.naive_motifs import speak

pytest.importorskip("torch")

from rondo.paper.former_reader import FormerReader
from rondo.paper.motifs import FormerMotifs, fit_former

CONFIG = MotifFormerConfig(
    lengths=(2, 3, 5),
    model_dim=16,
    epochs=3,
    mixture=PublishedMixtureConfig(latent_dim=4, component_cap=8),
)
PROTOTYPES = np.random.default_rng(7).normal(size=(7, 5))
UNIT_IDS = (0, 1, 2, 4, 5, 7, 9)  # an id is not a row
HALF_LIFE = 500.0


def spoken(phrases: list[list[int]], seed: int, n_phrases: int = 80) -> NDArray[np.int32]:
    """Units of phrases with silences between, each unit one to three windows long."""
    rng = np.random.default_rng(seed)
    runs, _ = speak(phrases, separator=0, n_phrases=n_phrases, rng=rng)
    return np.array(UNIT_IDS, np.int32)[np.repeat(np.array(runs), rng.integers(1, 4, len(runs)))]


OLD, NEW = [[1, 2, 3], [4, 1, 5], [2, 6]], [[3, 6, 5], [6, 4, 3]]


@pytest.fixture(scope="module")
def model() -> FormerMotifs:
    units = spoken(OLD, seed=0)
    timeline = Timeline(units, np.zeros(units.size), ((0, units.size),))
    return fit_former(timeline, UNIT_IDS, PROTOTYPES, CONFIG, np.random.default_rng(0), "cpu")


def begun(model: FormerMotifs) -> FormerReader:
    return FormerReader(model, PROTOTYPES, ContinualConfig(), HALF_LIFE)


def pushed(reader: FormerReader, units: list[int]) -> list[Motif]:
    return [motif for unit in units for motif in reader.push(unit)]


def test_before_it_has_learned_it_reads_as_the_model_does(model: FormerMotifs) -> None:
    units = spoken(OLD + NEW, seed=1, n_phrases=30)
    expected = model.timeline(Timeline(units, np.zeros(units.size), ((0, units.size),)))
    read = begun(model).read(units)
    assert len(read) == units.size and np.unique(expected.ids).size > 3
    npt.assert_array_equal([motif for motif, _ in read], expected.ids)
    npt.assert_allclose([score for _, score in read], expected.scores, atol=1e-8)


def test_a_window_is_labelled_when_the_longest_subsequence_over_it_is_known(model: FormerMotifs) -> None:
    reader, units = begun(model), spoken(OLD, seed=2)[:40].tolist()
    counts = [len(reader.push(unit)) for unit in units]
    assert counts == [0] * 4 + [1] * 36
    assert len(reader.boundary()) == 4 and reader.boundary() == []


def test_no_subsequence_crosses_what_is_no_unit(model: FormerMotifs) -> None:
    units = spoken(OLD, seed=2)[:20].tolist()
    apart = begun(model).read(np.array([*units, OTHER, *units], np.int32))
    alone = begun(model).read(np.array(units, np.int32))
    assert apart == [*alone, (OTHER, 0.0), *alone]
    reader = begun(model)
    assert len(pushed(reader, [*units, OTHER])) == 20  # nothing to come can change those before it
    assert len(pushed(reader, [OTHER, OTHER])) == 2  # the last one always waits


@pytest.mark.slow
def test_what_is_new_is_merged_or_promoted_by_length(model: FormerMotifs) -> None:
    reader = begun(model)
    pushed(reader, spoken(OLD, seed=3).tolist())
    known = reader.take_changes()
    pushed(reader, spoken(OLD + NEW + NEW, seed=4, n_phrases=160).tolist())
    changes = reader.take_changes()
    lengths = {kind: {own.evidence["length"] for own in changes if own.kind == kind} for kind in ("refine", "promote")}
    assert lengths["refine"] == {2, 3, 5} and lengths["promote"]
    kinds = Counter(own.kind for own in known)
    assert kinds["promote"] < Counter(own.kind for own in changes)["promote"]
    promoted = [own.id for own in changes if own.kind == "promote"]
    assert len(set(promoted)) == len(promoted) and not set(promoted) & set(model.ids)
    assert set(promoted) <= set(reader.ids)
    assert all(own.id in reader.ids for own in changes if own.kind in ("merge", "refine"))
    read = {motif for motif, _ in reader.read(spoken(NEW, seed=5))}
    assert read & set(promoted)


def test_reading_a_whole_stretch_changes_nothing(model: FormerMotifs) -> None:
    reader = begun(model)
    pushed(reader, spoken(OLD, seed=3, n_phrases=20).tolist())
    before = json.dumps(reader.state()[1])
    reader.read(spoken(NEW, seed=4, n_phrases=20))
    assert json.dumps(reader.state()[1]) == before and reader.n_windows == spoken(OLD, seed=3, n_phrases=20).size


def test_a_promoted_unit_is_described_by_its_prototype(model: FormerMotifs) -> None:
    reader = begun(model)
    twin, other = PROTOTYPES[2], PROTOTYPES[2] + 3.0
    reader.add_unit(11, twin)
    reader.add_unit(12, other)
    items = np.array([[1, 2, 3], [1, 7, 3], [1, 8, 3]])  # with the unit, its twin, and another in the middle
    described = [reader.former.describe(item[None])[0] for item in items]
    npt.assert_allclose(described[0], described[1], atol=1e-5)
    assert np.abs(described[0] - described[2]).max() > 0.01
    npt.assert_allclose(described[0], model.former.describe(items[:1])[0], atol=1e-10)
    assert len(pushed(reader, [0, 11, 12, 0, 1, 2, 12, 0])) == 4


@pytest.mark.parametrize("at", [3, 90])
def test_written_down_and_restored_it_goes_on_as_if_nothing_had_been(model: FormerMotifs, at: int) -> None:
    units = [*spoken(OLD + NEW, seed=6, n_phrases=40).tolist(), OTHER, 11, 11, 2, 11, 4]
    whole = begun(model)
    first = begun(model)
    for reader in (whole, first):
        reader.add_unit(11, PROTOTYPES[0] + 1)
    assert pushed(first, units[:at]) == pushed(whole, units[:at])
    assert first.take_changes() == whole.take_changes()
    tensors, plain = first.state()
    copied: dict[str, Any] = {name: tensor.copy() for name, tensor in tensors.items()}
    second = begun(model).restored(copied, json.loads(json.dumps(plain)))
    assert pushed(second, units[at:]) == pushed(whole, units[at:])
    assert second.take_changes() == whole.take_changes() and second.boundary() == whole.boundary()
    for one, two in zip(second.state()[0].values(), whole.state()[0].values(), strict=True):
        npt.assert_array_equal(one, two)


def test_memory_is_bounded(model: FormerMotifs, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept of twice the windows is not twice as much."""
    monkeypatch.setattr("rondo.paper.former_reader._MOST_LATENTS", 50)
    reader, sizes = begun(model), []
    for seed in range(4):
        pushed(reader, spoken(OLD + NEW, seed=seed, n_phrases=60).tolist())
        reader.take_changes()
        tensors, plain = reader.state()
        sizes.append(sum(tensor.nbytes for tensor in tensors.values()) + len(json.dumps(plain)))
        assert 0 < len(reader._latents) <= 50
    assert sizes[-1] < 1.5 * sizes[1]
