"""The paper's motif stage whole: fit, read, keep, and what it says at the edges."""

from __future__ import annotations

import re

import numpy as np
import numpy.testing as npt
import pytest
from numpy.typing import NDArray

from rondo.config.settings import MixtureConfig
from rondo.data.labels import OTHER
from rondo.errors import InputError, ModelError
from rondo.metrics.overlap import Overlap
from rondo.metrics.recurrence import adjusted_mutual_information
from rondo.model.rondo import Rondo
from rondo.paper.candidates import match_lengths
from rondo.paper.fusion import HIGHEST_SCORE, fuse
from rondo.paper.motifs import FormerMotifs, fit_former
from rondo.paper.settings import MotifFormerConfig
from rondo.synthetic.streams import plant
from rondo.units.viterbi import Timeline, joined
from tests.naive_motifs import speak

SMALL = MotifFormerConfig(
    lengths=(2, 3, 4),
    model_dim=16,
    epochs=3,
    link="overlap",
    mixture=MixtureConfig(covariance="diagonal", latent_dim=4, component_cap=8),
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
    fused = fuse(match_lengths(model.former.describe, codes, units.spans, model.lengths), model.motif_ids, codes.size)
    npt.assert_allclose(read.scores * HIGHEST_SCORE, fused.scores)


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


def test_one_unit_only_is_one_motif_or_none() -> None:
    units = Timeline(np.full(30, 4, np.int32), np.full(30, 0.5), ((0, 30),))
    read = fitted(units).timeline(units)
    assert np.unique(read.ids[read.ids != OTHER]).size <= len(SMALL.lengths)


def test_too_few_windows_for_any_length_are_refused_in_one_line() -> None:
    units = Timeline(np.array([4, 5], np.int32), np.full(2, 0.5), ((0, 1), (1, 2)))
    with pytest.raises(InputError, match=r"motifs\.lengths|length") as caught:
        fitted(units)
    assert "\n" not in str(caught.value)


def test_rondo_whole_with_motif_former() -> None:
    stream = plant(n_frames=6_000, seed=3)
    settings = {"motifs": SMALL.model_dump()}
    model = Rondo(window=75, settings=settings, seed=1).fit(stream.recording)
    out = model.predict(stream.recording)
    assert out.motifs.shape == (6_000,)
    assert adjusted_mutual_information(Overlap.of(stream.motif_truth, out.motifs)) > 0.3
    other = plant(n_frames=3_000, seed=3).recording
    npt.assert_array_equal(model.fit_motifs(other).predict(other).units, model.predict(other).units)
