from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.errors import ModelError
from rondo.units.vocabulary import Entry, Vocabulary


def grown(n_entries: int, n_dims: int = 3, seed: int = 0) -> Vocabulary:
    rng = np.random.default_rng(seed)
    vocabulary = Vocabulary("unit")
    for _ in range(n_entries):
        radius, floor, support = rng.uniform(0.1, 2, size=3)
        vocabulary = vocabulary.with_entry(rng.normal(size=n_dims), radius, floor, support, rng.normal(size=n_dims + 2))
    return vocabulary


def without(vocabulary: Vocabulary, dropped: int) -> Vocabulary:
    return replace(vocabulary, entries=tuple(entry for entry in vocabulary if entry.id != dropped))


def assert_same_entries(a: Vocabulary, b: Vocabulary) -> None:
    assert (a.level, a.ids, a.next_id) == (b.level, b.ids, b.next_id)
    for mine, other in zip(a, b, strict=True):
        npt.assert_array_equal(mine.centre, other.centre)
        npt.assert_array_equal(mine.prototype, other.prototype)
        assert (mine.radius, mine.posterior_floor, mine.support) == (
            other.radius,
            other.posterior_floor,
            other.support,
        )


@given(st.lists(st.none() | st.integers(0, 30), max_size=40))
def test_ids_are_never_used_again(events: list[int | None]) -> None:
    """None adds an entry, a number drops the entry of that rank; now and then all goes through tensors."""
    vocabulary, given_out = Vocabulary("motif"), []
    for event in events:
        if event is None:
            vocabulary = vocabulary.with_entry(np.zeros(2), 1.0, 0.5, 1.0)
            given_out.append(vocabulary.ids[-1])
        elif vocabulary.ids:
            vocabulary = without(vocabulary, vocabulary.ids[event % len(vocabulary)])
            vocabulary = Vocabulary.restore("motif", vocabulary.tensors())
    assert given_out == list(range(len(given_out)))
    assert vocabulary.next_id == len(given_out)
    assert list(vocabulary.ids) == sorted(vocabulary.ids)


def test_dropping_the_newest_entry_does_not_free_its_id() -> None:
    vocabulary = without(grown(3), dropped=2)
    assert vocabulary.with_entry(np.zeros(3), 1.0, 0.5, 1.0).ids == (0, 1, 3)


def test_adding_leaves_the_old_vocabulary_as_it_was() -> None:
    old = grown(2)
    new = old.with_entry(np.zeros(3), 1.0, 0.5, 1.0)
    assert (len(old), old.next_id) == (2, 2)
    assert (len(new), new.next_id) == (3, 3)
    assert new.entries[:2] == old.entries


def test_columns_follow_the_entries() -> None:
    vocabulary = without(grown(4), dropped=1)
    assert vocabulary.ids == (0, 2, 3)
    for row, entry in enumerate(vocabulary):
        npt.assert_array_equal(vocabulary.centres[row], entry.centre)
        npt.assert_array_equal(vocabulary.prototypes[row], entry.prototype)
        assert vocabulary.radii[row] == entry.radius


def test_without_embeddings_of_its_own_an_entry_is_its_centre() -> None:
    npt.assert_array_equal(Vocabulary("unit").with_entry(np.arange(3.0), 1.0, 0.5, 1.0).prototypes, [[0, 1, 2]])


@pytest.mark.parametrize("n_entries", [0, 1, 5])
@pytest.mark.parametrize("n_dims", [1, 4])
def test_restored_is_identical(n_entries: int, n_dims: int) -> None:
    vocabulary = grown(n_entries, n_dims)
    assert_same_entries(Vocabulary.restore("unit", vocabulary.tensors()), vocabulary)


def test_an_emptied_vocabulary_keeps_its_counter() -> None:
    emptied = replace(grown(3), entries=())
    restored = Vocabulary.restore("unit", emptied.tensors())
    assert len(restored) == 0
    assert restored.next_id == 3


def test_tensors_are_plain_arrays() -> None:
    tensors = grown(3).tensors()
    assert {name: (array.shape, array.dtype.kind) for name, array in tensors.items()} == {
        "ids": ((3,), "i"),
        "next_id": ((1,), "i"),
        "centres": ((3, 3), "f"),
        "prototypes": ((3, 5), "f"),
        "radii": ((3,), "f"),
        "posterior_floors": ((3,), "f"),
        "supports": ((3,), "f"),
    }


@pytest.mark.parametrize("name", ["ids", "next_id", "centres", "radii", "posterior_floors", "supports"])
def test_missing_or_cut_tensors_are_refused(name: str) -> None:
    tensors = grown(3).tensors()
    cut = tensors | {name: tensors[name][:-1]}
    with pytest.raises(ModelError, match=r"unit vocabulary .*not complete"):
        Vocabulary.restore("unit", cut)
    del tensors[name]
    with pytest.raises(ModelError, match=f"not complete .*'{name}'"):
        Vocabulary.restore("unit", tensors)


@pytest.mark.parametrize(("ids", "next_id"), [([0, 1, 1], 3), ([0, 2, 1], 3), ([0, 1, 2], 2), ([-1, 0, 1], 3)])
def test_ids_that_could_be_given_twice_are_refused(ids: list[int], next_id: int) -> None:
    tensors = grown(3).tensors() | {"ids": np.array(ids), "next_id": np.array([next_id])}
    with pytest.raises(ModelError, match=f"below its next id {next_id}") as caught:
        Vocabulary.restore("unit", tensors)
    assert "\n" not in str(caught.value)


def test_an_entry_shows_what_matters() -> None:
    assert repr(Entry(3, np.zeros(2), 0.12345, 0.5, 20.0, np.zeros(4))) == "Entry(3, support=20, radius=0.123)"
