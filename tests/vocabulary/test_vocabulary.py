from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import ModelError
from rondo.units.vocabulary import Vocabulary


def vocabulary_of(n_entries: int, n_dims: int = 3) -> Vocabulary:
    rng = np.random.default_rng(0)
    centres, prototypes = rng.normal(size=(n_entries, n_dims)), rng.normal(size=(n_entries, n_dims + 2))
    columns = rng.uniform(0.1, 2, size=(3, n_entries))
    return Vocabulary(tuple(range(n_entries)), n_entries + 1, centres, prototypes, *columns)


@pytest.mark.parametrize("n_entries", [0, 1, 5])
def test_restored_is_identical(n_entries: int) -> None:
    vocabulary = vocabulary_of(n_entries)
    restored = Vocabulary.restore(vocabulary.tensors())
    for field in fields(Vocabulary):
        npt.assert_array_equal(getattr(restored, field.name), getattr(vocabulary, field.name))


@pytest.mark.parametrize("name", ["ids", "next_id", "centres", "prototypes", "radii", "posterior_floors", "supports"])
def test_missing_or_cut_tensors_are_refused(name: str) -> None:
    tensors = vocabulary_of(3).tensors()
    with pytest.raises(ModelError, match=r"unit vocabulary .*not complete"):
        Vocabulary.restore(tensors | {name: tensors[name][:-1]})
    del tensors[name]
    with pytest.raises(ModelError, match=f"not complete .*'{name}'"):
        Vocabulary.restore(tensors)


@pytest.mark.parametrize(("ids", "next_id"), [([0, 1, 1], 3), ([0, 2, 1], 3), ([0, 1, 2], 2), ([-1, 0, 1], 3)])
def test_ids_that_could_be_given_twice_are_refused(ids: list[int], next_id: int) -> None:
    tensors = vocabulary_of(3).tensors() | {"ids": np.array(ids), "next_id": np.array([next_id])}
    with pytest.raises(ModelError, match=f"below its next id {next_id}") as caught:
        Vocabulary.restore(tensors)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("name", "number"), [("supports", 0.0), ("radii", -1.0)])
def test_entries_without_windows_or_with_a_negative_radius_are_refused(name: str, number: float) -> None:
    vocabulary = replace(vocabulary_of(2), **{name: np.array([1.0, number])})
    with pytest.raises(ModelError, match="unit 1 has a support"):
        Vocabulary.restore(vocabulary.tensors())
