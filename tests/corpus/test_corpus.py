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
from tests.cli.running import call
from tests.corpus import devices, misread, plants, programs
from tests.corpus.case import Case, Made, cases, flag
from tests.golden_files import Golden

CASES = {case.file: case for case in cases()}
WRITERS = devices.WRITERS | programs.WRITERS | misread.WRITERS | plants.WRITERS
MENDS = programs.MENDS | misread.MENDS
DISCOVERED = ("empatica_ACC.csv", "sensorlog.csv", "geneactiv.csv", "skab.csv", "household_power.txt", "movebank.csv",
              "hall3.xlsx", "mouseDLC_resnet50.csv", "thousands.csv", "two_headers_named.csv")  # fmt: skip


def _made(case: Case, folder: Path, n_rows: int) -> tuple[Path, list[np.ndarray]]:
    for library in case.needs:
        pytest.importorskip(library, reason=f"needs {library}")
    made: Made = WRITERS[case.file](folder / case.file, n_rows)
    return folder / case.file, [made] if isinstance(made, np.ndarray) else list(made)


@pytest.mark.promise
@pytest.mark.parametrize("file", CASES)
def test_it_is_read(file: str, tmp_path: Path, golden: Golden) -> None:
    case = CASES[file]
    path, expected = _made(case, tmp_path, 240)
    words = []
    if case.refused:
        with pytest.raises(RecordingError) as caught:
            rondo.read(path)
        words.append(f"refused: {caught.value}")
        assert all(f"--{flag(name)}" in words[0] for name in case.options) and case.rename in words[0]
        path = _mended(case, path)
    read = rondo.read(path, Reading(**case.options))
    found = [read] if isinstance(read, Recording) else read
    for recording, values in zip(found, expected, strict=True):
        assert recording.channels == case.channels
        npt.assert_allclose(recording.values, values, rtol=1e-5, atol=1e-5)
        assert recording.rate == (None if case.rate is None else pytest.approx(case.rate, rel=2e-3))
        if case.began_s is not None:
            assert recording.timestamps_s is not None
            assert recording.timestamps_s[0] == pytest.approx(case.began_s, abs=1e-3)
        assert recording.notes == found[0].notes
    golden.check("corpus", file, "\n".join([*words, *(f"note: {note}" for note in found[0].notes)]))


def _mended(case: Case, path: Path) -> Path:
    """As the refusal advises."""
    if case.rename:
        return path.rename(path.with_suffix(case.rename))
    return path if case.options else MENDS[case.file](path) or path


def test_every_case_has_its_writer_its_words_and_a_source(golden: Golden) -> None:
    assert list(CASES) == [case.file for case in cases()]
    assert set(WRITERS) == set(CASES) == set(golden.keys("corpus"))
    libraries = ("tables", "clocks", "layouts")  # which decide alone how they write
    assert [case.file for case in cases() if not case.source and case.family not in libraries] == []


@pytest.mark.slow
@pytest.mark.parametrize("file", DISCOVERED)
def test_discover_reads_what_read_reads(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".settings"))
    case = CASES[file]
    path, expected = _made(case, tmp_path, 1500)
    options = [word for name, value in case.options.items() for word in (f"--{flag(name)}", str(value))]
    if case.refused:
        assert call("discover", path.name, "--out", "run").code == 2
        assert not Path("run").exists()
    found = call("discover", path.name, "--out", "run", *options)
    assert found.code == 0, found.err
    labels = sorted(Path("run/labels").iterdir())
    assert [len(np.load(one)) for one in labels] == [len(values) for values in expected]
