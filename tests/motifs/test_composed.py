"""ComposedMotifs: each kind is shown when it is asked for, and a folder keeps all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.testing as npt
import pytest

from rondo.config.settings import ComposedMotifsConfig, SlowUnitsConfig
from rondo.data.labels import OTHER
from rondo.data.windows import Windows
from rondo.motifs.base import MotifKind, MotifTimeline, UnitRuns
from rondo.motifs.composed import ComposedMotifs
from rondo.motifs.contexts import LongWindows, fit_contexts
from rondo.motifs.discover import fit_phrases, flat_motifs
from rondo.units.viterbi import Timeline
from tests.motifs.planted_contexts import LENGTH, LONG, STEP, cut, planted
from tests.naive_motifs import speak

UNITS = tuple(range(7))
KINDS: tuple[MotifKind, ...] = ("unit", "phrase", "context")


@pytest.fixture(scope="module")
def cuts() -> tuple[Windows, Timeline]:
    """Units that come in phrases, for a while in those of one kind and for a while in those of another."""
    rng = np.random.default_rng(0)
    kinds = [[1, 2, 3], [4, 1, 5]], [[2, 6], [6, 3, 2]]
    runs = np.concatenate([speak(list(kinds[i % 2]), separator=0, n_phrases=15, rng=rng)[0] for i in range(12)])
    ids = np.repeat(runs, rng.integers(2, 6, len(runs)))
    values = planted(LENGTH + STEP * (ids.size - 1))[0]
    windows, timeline = cut(values, np.zeros(len(values), np.int64))
    return windows, replace(timeline, ids=ids.astype(np.int32))


@pytest.fixture(scope="module")
def motifs(cuts: tuple[Windows, Timeline]) -> ComposedMotifs:
    windows, timeline = cuts
    rng = np.random.default_rng(0)
    phrases = fit_phrases([timeline], UNITS, ComposedMotifsConfig(), rng)
    wide = LongWindows.of(LONG, (LENGTH, STEP))
    contexts = fit_contexts([windows], [timeline], UNITS, wide, SlowUnitsConfig(), rng)
    assert phrases.composed and contexts is not None
    return ComposedMotifs(flat_motifs(UnitRuns.of([timeline]), UNITS), phrases, contexts, "context")


def assert_same(one: MotifTimeline, other: MotifTimeline) -> None:
    npt.assert_array_equal(one.ids, other.ids)
    npt.assert_array_equal(one.scores, other.scores)
    npt.assert_array_equal(one.begins, other.begins)


def test_each_kind_is_shown(motifs: ComposedMotifs, cuts: tuple[Windows, Timeline]) -> None:
    _, timeline = cuts
    assert motifs.phrases is not None and motifs.contexts is not None
    expected = {
        "unit": (motifs.flat, motifs.flat.timeline(timeline)),
        "phrase": (motifs.phrases, motifs.phrases.timeline(timeline)),
        "context": (motifs.contexts, motifs.contexts.timeline(timeline)),
    }
    for kind in KINDS:
        shown = motifs.showing(kind)
        model, read = expected[kind]
        assert shown.shown == kind and shown.composed == (kind != "unit")
        assert shown.ids == model.ids and shown.unit_ids == UNITS
        assert_same(shown.timeline(timeline), read)
        assert [shown.composition(id) for id in shown.ids] == [model.composition(id) for id in model.ids]
        assert set(read.ids.tolist()) <= set(shown.ids)
    npt.assert_array_equal(motifs.showing("unit").timeline(timeline).ids, timeline.ids)


def test_only_phrases_tell_of_phrases_and_of_units_between_them(motifs: ComposedMotifs) -> None:
    by_phrases = motifs.showing("phrase")
    assert motifs.phrases is not None
    assert by_phrases.by_units is motifs.phrases and by_phrases.known_phrases == motifs.phrases.known_phrases
    assert by_phrases.standing_units == motifs.phrases.standing_units
    assert motifs.showing("unit").by_units is motifs.flat and list(motifs.showing("unit").known_phrases) == []
    assert motifs.shown_contexts is motifs.contexts and by_phrases.shown_contexts is None
    assert motifs.by_units is motifs.flat and list(motifs.known_phrases) == [] and motifs.standing_units == ()
    assert motifs.curves == {}


@pytest.mark.parametrize("kind", KINDS)
def test_restored_it_reads_the_same(motifs: ComposedMotifs, cuts: tuple[Windows, Timeline], kind: MotifKind) -> None:
    shown = motifs.showing(kind)
    tensors = shown.tensors()
    again = ComposedMotifs.restore({name: tensor.copy() for name, tensor in tensors.items()})
    assert (again.shown, again.ids) == (kind, shown.ids)
    restored = again.tensors()
    assert set(restored) == set(tensors)
    for name, tensor in tensors.items():
        npt.assert_array_equal(restored[name], tensor, err_msg=name)
    _, timeline = cuts
    for other in KINDS:  # what is not shown is kept too
        assert_same(again.showing(other).timeline(timeline), motifs.showing(other).timeline(timeline))


def test_what_there_is_none_of_is_kept_as_none_and_cannot_be_shown(motifs: ComposedMotifs) -> None:
    bare = ComposedMotifs.restore(ComposedMotifs(motifs.flat, None, None, "unit").tensors())
    assert (bare.phrases, bare.contexts, bare.composed, bare.ids) == (None, None, False, UNITS)
    for kind in KINDS[1:]:
        with pytest.raises(ValueError, match=f"kind '{kind}'"):
            _ = bare.showing(kind).ids


# ---------------------------------------------------------------- the kind that is not shown


@pytest.mark.parametrize("kind", KINDS)
def test_motifs_of_the_other_kind_follow_in_one_space_of_ids(
    motifs: ComposedMotifs, cuts: tuple[Windows, Timeline], kind: MotifKind
) -> None:
    _, timeline = cuts
    every = motifs.showing(kind).with_all_unshown()
    other = every.unshown_model
    assert other is (motifs.contexts if kind == "phrase" else motifs.phrases) and other is not None
    assert every.ids == motifs.showing(kind).ids and not set(every.ids) & set(every.unshown_ids)
    assert min(every.unshown_ids) == max(every.ids) + 1
    assert {every.kind(id) for id in every.unshown_ids} == {"context" if kind == "phrase" else "phrase"}
    assert {every.kind(id) for id in every.ids} == ({"phrase", "unit"} if kind == "phrase" else {kind})
    for id, own in zip(every.unshown_ids, every.unshown, strict=True):
        assert every.composition(id) == other.composition(own)
    assert_same(every.timeline(timeline), motifs.showing(kind).timeline(timeline))
    some = replace(every, unshown=every.unshown[1:])
    read, everything = (
        some.unshown_timeline(timeline),
        motifs.showing("context" if kind == "phrase" else "phrase"),
    )
    assert read is not None
    expected = everything.timeline(timeline)
    own = dict(zip(some.unshown_ids, some.unshown, strict=True))
    listed = np.isin(expected.ids, some.unshown)
    assert listed.any() and not listed.all()
    npt.assert_array_equal(read.ids == OTHER, ~listed)
    assert [own[id] for id in read.ids[listed].tolist()] == expected.ids[listed].tolist()
    npt.assert_array_equal(read.scores, np.where(listed, expected.scores, 0.0))
    again = ComposedMotifs.restore(some.tensors())
    assert again.unshown == some.unshown and again.unshown_ids == some.unshown_ids
    assert motifs.showing(kind).unshown_timeline(timeline) is None


def test_what_is_unshown_stays_so_until_it_is_shown(motifs: ComposedMotifs) -> None:
    every = motifs.with_all_unshown()
    assert every.showing("unit").unshown == every.unshown and every.showing("phrase").unshown == ()
    tensors = every.tensors() | {"unshown": np.array([99])}
    with pytest.raises(ValueError, match="none of the model"):
        ComposedMotifs.restore(tensors)
