"""A few files of the corpus from the command to the labels: one label for each row, and the notes on the screen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.running import call
from tests.corpus.case import Case
from tests.corpus.every_case import CASES

N_ROWS = 1500
NAMES = (
    "empatica_ACC.csv", "sensorlog.csv", "geneactiv.csv", "skab.csv", "household_power.txt", "movebank.csv",
    "hall3.xlsx", "mouseDLC_resnet50.csv", "thousands.csv", "two_headers_named.csv",
)  # fmt: skip
CHOSEN = [case for case in CASES if case.file in NAMES]


def test_all_of_them_are_there() -> None:
    assert len(CHOSEN) == len(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("case", CHOSEN, ids=lambda case: case.file)
def test_discover_reads_what_read_reads(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for library in case.needs:
        pytest.importorskip(library, reason=f"needs {library}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ".settings"))
    made = case.write(Path(case.file), N_ROWS)
    options = [word for name, value in case.options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    if case.refused:
        refused = call("discover", case.file, "--out", "run")
        assert (refused.code, case.refused in refused.err) == (2, True)
        assert not Path("run").exists()
    found = call("discover", case.file, "--out", "run", *options)
    assert found.code == 0, found.err
    expected = [made] if isinstance(made, np.ndarray) else made
    labels = sorted(Path("run/labels").iterdir())
    assert [len(np.load(path)) for path in labels] == [len(table) for table in expected]
    said = " ".join(found.err.split())
    assert [part for part in case.notes if part not in said] == []
