"""Annotations beside entries: counted as one would by hand, and the same however classes and recordings come."""

from __future__ import annotations

from collections import Counter

import numpy as np
import numpy.testing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rondo.annotations.annotation import Annotation
from rondo.data.labels import OTHER
from rondo.errors import AnnotationError
from rondo.metrics.comparison import Comparison, compare

TRACKS = st.integers(1, 25).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from(["sit", "walk", "run"]), min_size=n, max_size=n),
        st.lists(st.integers(OTHER, 3), min_size=n, max_size=n),
    )
)
RECORDINGS = st.lists(TRACKS, min_size=1, max_size=3)


def compared(recordings: list[tuple[list[str], list[int]]]) -> Comparison:
    pairs = {f"r{i}": (Annotation(classes), np.array(labels)) for i, (classes, labels) in enumerate(recordings)}
    return compare(pairs)


@given(RECORDINGS)
def test_everything_is_counted_as_by_hand(recordings: list[tuple[list[str], list[int]]]) -> None:
    comparison = compared(recordings)
    frames = [pair for classes, labels in recordings for pair in zip(labels, classes, strict=True)]
    cells = Counter(frames)
    entries = sorted({label for label, _ in frames}, key=lambda id: (id == OTHER, id))
    assert list(comparison.ids) == entries
    assert list(comparison.class_names) == list(dict.fromkeys(name for _, name in frames))
    for row in comparison.entries:
        own = {name: cells[row.id, name] for name in comparison.class_names}
        assert (row.frames, row.purity) == (sum(own.values()), max(own.values()) / sum(own.values()))
        assert own[row.main_class] == max(own.values())
        runs = sum(label == row.id and (i == 0 or labels[i - 1] != label) for _, labels in recordings
                   for i, label in enumerate(labels))  # fmt: skip
        assert row.n_occurrences == runs
    main = {row.id: row.main_class for row in comparison.entries if row.id != OTHER}
    for one in comparison.classes:
        n = sum(name == one.name for _, name in frames)
        mostly = sum(cells[id, one.name] for id, name in main.items() if name == one.name)
        assert (one.frames, one.coverage, one.share_other) == (n, mostly / n, cells[OTHER, one.name] / n)
        assert one.best_share == max(cells[id, one.name] for id in entries) / n
    found = [name for label, name in frames if label != OTHER]
    right = sum(main[label] == name for label, name in frames if label != OTHER)
    assert comparison.purity == (right / len(found) if found else 0)
    assert comparison.largest_class_share == (max(Counter(found).values()) / len(found) if found else 0)
    assert comparison.share_other == pytest.approx(1 - len(found) / len(frames))
    assert comparison.as_dict()["confusion"]["frames"] == comparison.frames.tolist()


@given(RECORDINGS)
def test_no_two_entries_get_the_same_name_and_other_none(recordings: list[tuple[list[str], list[int]]]) -> None:
    comparison = compared(recordings)
    names = comparison.suggested_names()
    purity = {row.id: (row.purity, row.main_class) for row in comparison.entries}
    assert len(set(names.values())) == len(names) and OTHER not in names
    for id, name in names.items():
        share, main_class = purity[id]
        assert share > 0.5 and main_class == name


def test_classes_are_told_by_name_and_not_by_the_numbers_of_a_file() -> None:
    first, second = Annotation(["walk", "walk"]), Annotation(["sit", "walk"])  # walk is 0 there and 1 here
    comparison = compare({"a": (first, np.array([1, 1])), "b": (second, np.array([2, 1]))})
    assert comparison.class_names == ("walk", "sit")
    npt.assert_array_equal(comparison.frames, [[3, 0], [0, 1]])


def test_a_class_that_is_a_number_is_called_so() -> None:
    comparison = compare({"a": (Annotation([3, 3, -1]), np.array([0, 0, 1]))})
    assert comparison.suggested_names() == {0: "class 3", 1: "class -1"}


def test_tracks_that_do_not_fit() -> None:
    with pytest.raises(AnnotationError, match="nothing to compare"):
        compare({})
    with pytest.raises(AnnotationError, match=r"'a': .*1 frames, .*2"):
        compare({"a": (Annotation([1]), np.array([1, 2]))})
