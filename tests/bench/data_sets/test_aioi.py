"""AIOI in the form of its repository: features, letters and words of sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import AnnotationError, RecordingError
from rondo_bench.data_sets import aioi
from rondo_bench.data_sets.read import find_copy, read_data_set
from tests.bench.data_sets.published import aioi_clone, aioi_track, written


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return aioi_clone(tmp_path / "aioi_dataset")


@pytest.mark.parametrize(("name", "n_channels"), [("aioi_letters", 12), ("aioi3_letters", 3)])
def test_features_and_letters(clone: Path, name: str, n_channels: int) -> None:
    data_set = read_data_set(name, clone)
    assert [own.id for own in data_set.recordings] == ["ao_ie", "ao_ie2", "ie_ao"]
    for own in data_set.recordings:
        assert own.rate is None and own.values.shape == (80, n_channels)
        npt.assert_array_equal(data_set.annotations[own.id].classes, aioi_track(own.id, "letters"))


def test_words_are_the_other_level_of_the_same_features(clone: Path) -> None:
    letters, words = (read_data_set(name, clone) for name in ("aioi_letters", "aioi_words"))
    for one, other in zip(letters.recordings, words.recordings, strict=True):
        npt.assert_array_equal(one.values, other.values)
        npt.assert_array_equal(words.annotations[other.id].classes, aioi_track(other.id, "words"))
    assert any((letters.annotations[id].classes != words.annotations[id].classes).any() for id in words.annotations)


def test_the_clone_or_the_folder_around_it_will_do(clone: Path) -> None:
    assert find_copy("aioi_words", clone).paths == find_copy("AIOI words", clone.parent).paths


def test_a_sentence_without_both_labels_is_left_out(clone: Path) -> None:
    (clone / "aioi_12dim" / "LABEL" / "ie_ao.lab2").unlink()
    assert find_copy("aioi_letters", clone).ids == ("ao_ie", "ao_ie2")
    assert aioi.find_files(clone) == []


@pytest.mark.parametrize("number", ["1.5", "-1", "nan"])
def test_a_label_that_is_no_number_of_one_is_named(clone: Path, number: str) -> None:
    path = clone / "aioi_12dim" / "LABEL" / "ie_ao.lab2"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:7], number, *lines[8:]]) + "\n")
    with pytest.raises(AnnotationError, match=r"ie_ao.lab2: row 8 has .* where the number of a label is expected"):
        aioi.read_words(clone / "aioi_12dim" / "DATA" / "ie_ao.txt")


def test_features_that_are_no_table_are_refused(clone: Path) -> None:
    path = clone / "aioi_12dim" / "DATA" / "ie_ao.txt"
    with pytest.raises(RecordingError, match=r"ie_ao.txt: expected 2 numbers in a row, as in AIOI"):
        aioi.read_recording(written(path, "1 2\n3\n"))
    with pytest.raises(RecordingError, match="cannot be read"):
        aioi.read_recording(path.with_name("other.txt"))


def test_labels_that_are_short_are_refused(clone: Path) -> None:
    path = clone / "aioi_12dim" / "LABEL" / "ie_ao.lab"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(AnnotationError, match="it has 80 frames, but its annotation 79"):
        read_data_set("aioi_letters", clone)


def test_numbers_mean_the_same_in_all_sentences(clone: Path) -> None:
    words = read_data_set("aioi_words", clone).annotations
    assert np.unique(words["ao_ie"].classes).tolist() == np.unique(words["ie_ao"].classes).tolist() == [2, 3]
