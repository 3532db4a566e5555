"""TSSB, UTSA and SKAB in the form of the CLaP paper's repository, and the labels that it stores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import AnnotationError, RecordingError
from rondo_bench.data_sets.read import find_copy, read_data_set
from rondo_bench.data_sets.series import find_labels, read_labels
from tests.bench.data_sets.published import (
    CLAP_FRAMES,
    CLAP_STATES,
    clap_clone,
    clap_series,
    clap_track,
    write_clap_labels,
    written,
)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return clap_clone(tmp_path / "classification-label-profile")


@pytest.mark.parametrize("name", ["tssb", "utsa", "skab"])
def test_series_and_states(clone: Path, name: str) -> None:
    data_set = read_data_set(name, clone)
    assert [own.id for own in data_set.recordings] == list(CLAP_STATES)
    for own in data_set.recordings:
        assert own.rate is None
        npt.assert_allclose(own.values, clap_series(own.id, 3 if name == "skab" else 1), atol=1e-6)
        npt.assert_array_equal(data_set.annotations[own.id].classes, clap_track(own.id))


@pytest.mark.parametrize("given", ["", "classification-label-profile", "classification-label-profile/datasets"])
def test_the_clone_its_data_sets_or_the_folder_around_it_will_do(clone: Path, given: str) -> None:
    data = clone.parent / given
    assert find_copy("SKAB", data).ids == tuple(CLAP_STATES)
    labels = clone / "experiments" / "state_detection" / "SKAB_CLaP.csv.gz"
    assert find_labels("skab", "CLaP", data) == labels
    assert find_labels("skab", "no such method", data) is None
    assert find_labels("skab", "CLaP", None) is None


def test_periods_are_never_read(clone: Path) -> None:
    before = read_data_set("utsa", clone)
    path = clone / "datasets" / "UTSA" / "desc.txt"
    path.write_text(path.read_text().replace(",10", ",no number"))
    after = read_data_set("utsa", clone)
    for one, other in zip(before.recordings, after.recordings, strict=True):
        npt.assert_array_equal(one.values, other.values)
        npt.assert_array_equal(before.annotations[one.id].classes, after.annotations[one.id].classes)


def test_only_described_series_that_are_there_are_found(clone: Path, tmp_path: Path) -> None:
    folder = clone / "datasets" / "TSSB"
    written(folder / "Other.txt", "1\n2\n")
    (folder / "Steps.txt").unlink()
    written(folder / "desc.txt", (folder / "desc.txt").read_text() + "../UTSA/Steps,10\n\n")
    assert [clap_suite.recording_id(path) for path in clap_suite.find_files(folder)] == ["Sines", "Alone"]
    assert clap_suite.find_files(tmp_path) == []


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("desc.txt", "Sines,10,200,400", "Sines,10,400,200", r"desc.txt: segments of 'Sines' begin at \[400, 200\]"),
        ("desc.txt", "Sines,10,200,400", "Sines,10,200,600", "expected rising numbers below its 600 rows"),
        ("desc.txt", "Sines,10,200", "Sines,10,2e2", "desc.txt: 'Sines' has '2e2' where a whole number is expected"),
        ("properties.txt", "Sines,0,1,0", "Sines,0,1", "properties.txt: 'Sines' has 2 states, in desc.txt 3 segments"),
        ("properties.txt", "Sines,0,1,0", "Sines", "properties.txt: 'Sines' has 0 states"),
        ("properties.txt", "Sines,", "Sine,", "properties.txt: there is no line of 'Sines'"),
    ],
)
def test_what_is_wrong_with_states_is_said(clone: Path, file: str, old: str, new: str, message: str) -> None:
    path = clone / "datasets" / "UTSA" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(AnnotationError, match=message):
        clap_suite.read_annotation(path.with_name("Sines.txt"))


def test_what_is_wrong_with_series_is_said(clone: Path) -> None:
    with pytest.raises(RecordingError, match=r"Steps.txt: expected 1 numbers in a row"):
        clap_suite.read_recording(written(clone / "datasets" / "UTSA" / "Steps.txt", "1 2\n"))
    arrays = clone / "datasets" / "SKAB" / "data.npz"
    with pytest.raises(RecordingError, match=r"data.npz: it has no array 'Other', which desc.txt names"):
        clap_suite.read_recording(arrays / "Other")
    arrays.write_bytes(b"PK and no more")
    with pytest.raises(RecordingError, match=r"data.npz: 'Steps' cannot be read .* get the file again"):
        clap_suite.read_recording(arrays / "Steps")


def test_nothing_pickled_is_read(clone: Path) -> None:
    arrays = clone / "datasets" / "SKAB" / "data.npz"
    np.savez(arrays, Steps=np.array([{"a": 1}], dtype=object))
    with pytest.raises(RecordingError, match=r"'Steps' cannot be read"):
        clap_suite.read_recording(arrays / "Steps")


# ---------------------------------------------------------------- stored labels


def test_labels_are_states_of_frames_and_segments(clone: Path) -> None:
    path = find_labels("tssb", "CLaP", clone)
    assert path is not None
    stored = read_labels(path, "Sines", clap_track("Sines"))
    npt.assert_array_equal(stored.states, 7 + clap_track("Sines", late=20))
    assert np.flatnonzero(np.diff(stored.segments)).tolist() == [219, 399]
    assert read_labels(path, "Alone", clap_track("Alone")).segments.tolist() == [0] * CLAP_FRAMES


def test_labels_that_end_early_hold_to_the_end(clone: Path) -> None:
    path = find_labels("utsa", "TICC", clone)
    assert path is not None
    npt.assert_array_equal(read_labels(path, "Steps", clap_track("Steps")).states, 7 + clap_track("Steps"))


def test_segments_may_be_more_than_runs_of_states(clone: Path) -> None:
    wrong = {"found_cps": "[0, 100, 200, 400, 600]", "covering_score": str(round((400 + 200 / 2) / 600, 3))}
    path = write_clap_labels(clone, "TSSB", "ClaSP2Feat", 0, 0, **wrong)
    stored = read_labels(path, "Sines", clap_track("Sines"))
    assert np.flatnonzero(np.diff(stored.segments)).tolist() == [99, 199, 399]
    npt.assert_array_equal(stored.states, 7 + clap_track("Sines"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ami_score": "0.9"}, r"AMI of 'Sines' comes out as 8\d\.\d, published is 90\.0: labels and series are not"),
        ({"covering_score": "0.5"}, r"covering of 'Sines' comes out as 9\d\.\d, published is 50\.0"),
        ({"ami_score": "nan"}, "AMI of 'Sines' comes out as"),
        ({"found_labels": "[0 0 1]"}, "labels or scores of 'Sines' are no numbers"),
        ({"ami_score": ""}, "labels or scores of 'Sines' are no numbers"),
        ({"found_labels": "[]"}, "'Sines' has 0 labels for 600 frames"),
        ({"found_labels": str([1] * 601)}, "'Sines' has 601 labels for 600 frames"),
        ({"dataset": "Other"}, "there is no line of 'Sines'"),
    ],
)
def test_labels_that_are_not_those_published_are_refused(clone: Path, wrong: dict[str, str], message: str) -> None:
    path = write_clap_labels(clone, "UTSA", "Wrong", 20, 0, **wrong)
    with pytest.raises(AnnotationError, match=message):
        read_labels(path, "Sines", clap_track("Sines"))


def test_files_that_are_no_results_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "TSSB_CLaP.csv.gz"
    path.write_bytes(b"\x1f\x8b no more")
    with pytest.raises(AnnotationError, match=r"TSSB_CLaP.csv.gz: cannot be read"):
        read_labels(path, "Sines", clap_track("Sines"))
    other = written(tmp_path / "UTSA_CLaP.csv.gz", "dataset,found_cps\nSines,[]\n")
    with pytest.raises(AnnotationError, match="it has no column 'found_labels', only dataset, found_cps"):
        read_labels(other, "Sines", clap_track("Sines"))


@pytest.mark.data
def test_the_stored_copy_of_tssb_has_no_other_names(data_dir: Path) -> None:
    copy = find_copy("tssb", data_dir)
    assert len(copy.ids) == copy.listing.n_recordings == 75  # type: ignore[union-attr]
