"""Tables below pages of statistics, as Actiware writes them; ActiGraph's epochs; OpenBCI's header with the rate."""

from __future__ import annotations

from pathlib import Path

import numpy.testing as npt
import pytest

from tests.formats.reading import read_one, refusal, write

EPOCHS = "".join(
    f'"{i + 1}","11/14/2026","{8 + i // 60:02d}:{i % 60:02d}:00","{i % 7}","{i % 11 / 10}"\n' for i in range(99)
)


@pytest.mark.parametrize("n_statistics", [5, 30, 59, 64, 300])
def test_a_table_begins_below_statistics(tmp_path: Path, n_statistics: int) -> None:
    statistics = "".join(f'"REST","{i}","{i * 1.5}"\n' for i in range(n_statistics))
    text = (
        '"------- Subject Properties -------"\n\n"Identity:","S05"\n\n"------- Statistics -------"\n\n'
        f'"Interval Type","Interval#","Avg AC"\n{statistics}\n"------- Epoch-by-Epoch Data -------"\n\n'
        f'"Line","Date","Time","Counts","White Light"\n{EPOCHS}'
    )
    recording = read_one(write(tmp_path, "a.csv", text))
    assert recording.channels == ("Counts", "White Light")
    assert recording.rate == pytest.approx(1 / 60)
    npt.assert_array_equal(recording.values[:, 0], [i % 7 for i in range(99)])
    assert "skipped: " in recording.notes[0]


ACTIWARE = {
    "Actiware Export File": ("Line", "Date", "Time", "Activity", "White Light", "Sleep/Wake", "Marker"),
    "Fichier d'exportation Actiware": (
        "Ligne", "Date", "Heure", "Activité", "Lumière blanche", "Sommeil/Éveil", "Marqueur",
    ),
    "Actiware-Exportdatei": ("Zeile", "Datum", "Zeit", "Aktivität", "Weißes Licht", "Schlaf/Wach", "Markierung"),
}  # fmt: skip


@pytest.mark.parametrize("first", ACTIWARE)
@pytest.mark.parametrize("ends", ["both", "header"])
def test_an_export_of_actiware(tmp_path: Path, first: str, ends: str) -> None:
    """Sections, a legend above each table, lines that end in a separator; as in the examples of pyActigraphy."""
    names = ACTIWARE[first]
    statistics = "".join(f'"REST","{i}","{i}.50","NaN",\n' for i in range(40)) + '"Rest Summary","n","8","NaN",\n'
    legend = '"Column Title","Notes"\n"------------------","---------"\n' + "".join(f'"{n}:","what"\n' for n in names)
    header = ",".join(f'"{name}"' for name in names) + ",\n\n"
    end = "," if ends == "both" else ""
    rows = "".join(
        f'"{i + 1}","{14 + i // 1440}.11.2026","{i // 60:02d}:{i % 60:02d}:00","{0 if i < 90 else i % 7}","0.{i % 9}",'
        f'"{"kZ" if i < 4 else i // 50 % 2}","0"{end}\n'
        for i in range(300)
    )
    text = (
        f'"{first}"\n"Identity:","S05"\n\n"---- Statistics ----"\n\n"Interval Type","Interval#","Duration",'
        f'"Efficiency",\n"","","(minutes)","(%)",\n\n{statistics}\n\n"---- Epoch-by-Epoch Data ----"\n\n'
        f"{legend}\n{header}{rows}"
    )
    recording = read_one(write(tmp_path, "a.csv", text))
    assert recording.channels == names[3:5]
    assert (recording.n_frames, recording.rate) == (300, pytest.approx(1 / 60))
    npt.assert_array_equal(recording.values[:, 0], [0 if i < 90 else i % 7 for i in range(300)])
    assert f"column '{names[5]}' left out" in "\n".join(recording.notes)
    kept = read_one(tmp_path / "a.csv", keep=[names[5]])
    assert kept.channels == names[3:6]


def test_a_wrong_line_in_a_table_is_still_a_fault(tmp_path: Path) -> None:
    rows = "".join(f"{i % 7},{i * i}\n" for i in range(100))
    for wrong in ("oops\n", "1,2,3\n", "oops\na,b\n1,2,3\n"):
        path = write(tmp_path, "a.csv", "x,y\n" + rows + wrong + rows)
        assert "line 102" in refusal(lambda path=path: read_one(path), naming=path)  # type: ignore[misc]
