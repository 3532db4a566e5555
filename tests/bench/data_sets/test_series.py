"""The labels that the repository of the CLaP paper stores: read, and refused where they are not those published."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

from rondo.errors import AnnotationError
from rondo_bench.data_sets.read import find_copy
from rondo_bench.data_sets.series import find_clap_suite, find_labels, read_labels
from tests.bench.data_sets.published import CLAP_FRAMES, clap_clone, clap_track, write_clap_labels, written


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    return clap_clone(tmp_path / "classification-label-profile")


def test_only_described_series_that_are_there_are_found(clone: Path, tmp_path: Path) -> None:
    folder = clone / "datasets" / "TSSB"
    written(folder / "Other.txt", "1\n2\n")
    (folder / "Steps.txt").unlink()
    written(folder / "desc.txt", (folder / "desc.txt").read_text() + "../UTSA/Steps,10\n\n")
    assert [path.stem for path in find_clap_suite(folder)] == ["Sines", "Alone"]
    assert find_clap_suite(tmp_path) == []


def test_labels_are_states_of_frames_and_segments(clone: Path) -> None:
    path = clone / "experiments" / "state_detection" / "TSSB_CLaP.csv.gz"
    for folder in (clone, clone.parent, clone / "datasets"):
        assert find_labels("tssb", "CLaP", folder) == path
    assert find_labels("tssb", "no such method", clone) is None is find_labels("tssb", "CLaP", None)
    stored = read_labels(path, "Sines", clap_track("Sines"))
    npt.assert_array_equal(stored.states, 7 + clap_track("Sines", late=20))
    assert np.flatnonzero(np.diff(stored.segments)).tolist() == [219, 399]
    assert read_labels(path, "Alone", clap_track("Alone")).segments.tolist() == [0] * CLAP_FRAMES


def test_labels_that_end_early_hold_to_the_end(clone: Path) -> None:
    path = find_labels("utsa", "TICC", clone)
    assert path is not None
    npt.assert_array_equal(read_labels(path, "Steps", clap_track("Steps")).states, 7 + clap_track("Steps"))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ami_score": "0.9"}, "AMI"),
        ({"covering_score": "0.5"}, "covering"),
        ({"ami_score": ""}, "no numbers"),
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
    with pytest.raises(AnnotationError, match="'found_labels', only dataset, found_cps"):
        read_labels(other, "Sines", clap_track("Sines"))


@pytest.mark.data
def test_the_stored_copy_of_tssb_has_no_other_names(data_dir: Path) -> None:
    copy = find_copy("tssb", data_dir)
    assert len(copy.ids) == copy.listing.n_recordings == 75  # type: ignore[union-attr]
