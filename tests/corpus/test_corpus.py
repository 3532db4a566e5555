"""Every file of the corpus is read as its case says; or refused, and then read when the advice is followed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.testing as npt
import pytest

import rondo
from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.reading import Reading
from tests.corpus import tables
from tests.corpus.case import Case, Table
from tests.corpus.documented import FAMILIES
from tests.corpus.every_case import CASES

N_ROWS = 240


def test_files_have_names_of_their_own() -> None:
    assert len({case.file for case in CASES}) == len(CASES)


def test_every_program_has_a_source_or_says_that_it_has_none() -> None:
    programs = [family for family in FAMILIES if family is not tables]  # whose libraries decide alone
    assert [case.file for family in programs for case in family.CASES if not case.source] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file)
def test_it_is_read(case: Case, tmp_path: Path) -> None:
    for library in case.needs:
        pytest.importorskip(library, reason=f"needs {library}")
    path = tmp_path / case.file
    made = case.write(path, N_ROWS)
    if case.refused:
        path = _refused_and_mended(case, path)
    read = rondo.read(path, Reading(**case.options))
    found, expected = _listed(read), [made] if isinstance(made, np.ndarray) else list(made)
    assert len(found) == len(expected)
    for recording, values in zip(found, expected, strict=True):
        _check(recording, values, case)


def _refused_and_mended(case: Case, path: Path) -> Path:
    with pytest.raises(RecordingError) as caught:
        rondo.read(path)
    message = str(caught.value)
    assert message.startswith(str(path)) and "\n" not in message
    assert case.refused in message
    assert all(f"--{name.replace('_', '-')}" in message for name in case.options)
    assert case.rename in message
    assert case.options or case.rename or case.mend
    if case.rename:
        return path.rename(path.with_suffix(case.rename))
    return (case.mend(path) if case.mend else None) or path


def _listed(read: Recording | list[Recording]) -> list[Recording]:
    return [read] if isinstance(read, Recording) else read


def _check(recording: Recording, values: Table, case: Case) -> None:
    assert recording.channels == case.channels
    npt.assert_allclose(recording.values, values, rtol=1e-5, atol=1e-5)
    if case.rate is None:
        assert recording.rate is None
    else:
        assert recording.rate == pytest.approx(case.rate, rel=2e-3)
    if case.began_s is not None:
        assert recording.timestamps_s is not None
        assert recording.timestamps_s[0] == pytest.approx(case.began_s, abs=1e-3)
    _check_notes(recording.notes, case.notes)


def _check_notes(notes: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """Each part stands in a note of its own, and there is no other note."""
    left = list(notes)
    for part in expected:
        fitting = next((note for note in left if part in note), None)
        assert fitting is not None, f"no note has {part!r}; notes: {notes}"
        left.remove(fitting)
    assert left == []
