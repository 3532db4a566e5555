"""Boards and headbands that record EEG, and what their own programs write."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.corpus.case import BEGAN_S, UNVERIFIED, Case, Table, at, java_number, rows, signal, text


def _openbci(path: Path, n: int) -> Table:
    """A Ganglion: what the board does not send is 0 in columns that are all named Other."""
    values = np.column_stack([signal(n, 4) * 20 - 4000, signal(n, 3)])
    head = ["%OpenBCI Raw EXG Data", "%Number of channels = 4", "%Sample Rate = 200 Hz"]
    head += ["%Board = OpenBCI_GUI$BoardGanglionBLE"]
    names = ["Sample Index", *(f"EXG Channel {i}" for i in range(4)), *(f"Accel Channel {i}" for i in range(3))]
    names += [*["Other"] * 5, "Timestamp", "Other", "Timestamp (Formatted)"]
    cells = [
        ", ".join(java_number(cell) for cell in (row % 201, *line, *[0.0] * 5, BEGAN_S + row / 200, 0.0))
        + f", {at(row, 200):%Y-%m-%d %H:%M:%S}.{row * 5 % 1000:03d}"
        for row, line in enumerate(values)
    ]
    text(path, *head, ", ".join(names), *cells)
    return values


def _openbci_2018(path: Path, n: int) -> Table:
    values = np.column_stack([np.round(signal(n, 4) * 20 - 4000, 2), signal(n, 3)])
    head = ["%OpenBCI Raw EEG Data", "%Number of channels = 4", "%Sample Rate = 200.0 Hz"]
    head += ["%First Column = SampleIndex", "%Last Column = Timestamp "]
    head += ["%Other Columns = EEG data in microvolts followed by Accel Data (in G) interleaved with Aux Data"]
    cells = [
        f"{row % 201}, "
        + ", ".join([*(f"{cell:.2f}" for cell in line[:4]), *(f"{cell:.3f}" for cell in line[4:])])
        + f", {at(row, 200):%H:%M:%S}.{row * 5 % 1000:03d}, {BEGAN_S * 1000 + row * 5}"
        for row, line in enumerate(values)
    ]
    text(path, *head, *cells)
    return values


def _openbci_rate_only(path: Path, n: int) -> Table:
    """As the first program wrote it, without a clock."""
    values = signal(n, 4) * 20 - 4000
    head = ["%OpenBCI Raw EEG Data", "%", "%Sample Rate = 250.0 Hz", "%First Column = SampleIndex"]
    head += ["%Other Columns = EEG data in microvolts"]
    cells = [f"{row % 256}, " + ", ".join(f"{cell:.2f}" for cell in line) for row, line in enumerate(values)]
    text(path, *head, *cells)
    return np.round(values, 2)


def _mind_monitor(path: Path, n: int) -> Table:
    """Rows have no cell for the events; an event has a row of its own, without values, and comes a little early."""
    values = np.column_stack([signal(n, 31), np.ones((n, 5)), np.full(n, 100.0)])
    cells = rows(values, lambda row: f"{at(row, 10):%Y-%m-%d %H:%M:%S}.{row % 10}00,")
    blink = f"{at(21, 10):%Y-%m-%d %H:%M:%S}.106," + "," * 37 + "/muse/elements/blink"
    text(path, ",".join(["TimeStamp", *_MUSE, "Elements"]), *cells[:21], blink, *cells[21:])
    return values


_EEG = ("TP9", "AF7", "AF8", "TP10")
_MUSE = (
    *(f"{band}_{place}" for band in ("Delta", "Theta", "Alpha", "Beta", "Gamma", "RAW") for place in _EEG),
    "AUX_RIGHT",
    *(f"{sensor}_{axis}" for sensor in ("Accelerometer", "Gyro") for axis in "XYZ"),
    "HeadBandOn",
    *(f"HSI_{place}" for place in _EEG),
    "Battery",
)


CASES = (
    Case(
        file="openbci.txt",
        program="OpenBCI GUI",
        made="bytes",
        write=_openbci,
        source="OpenBCI/OpenBCI_GUI `OpenBCI_GUI/DataWriterODF.pde`, `Board.pde`, `BoardGanglion.pde`",
        channels=(*(f"EXG Channel {i}" for i in range(4)), *(f"Accel Channel {i}" for i in range(3))),
        rate=200.0,
        began_s=BEGAN_S,
        notes=(
            "lines 1 to 4 skipped: remarks",
            "the columns named 'Other' left out: they share the name",
            "column 'Timestamp (Formatted)' left out: 'Timestamp' is the",
            "column 'Sample Index' left out: it only counts the rows",
        ),
    ),
    Case(
        file="openbci_2018.txt",
        program="OpenBCI GUI before 2020",
        made="bytes",
        write=_openbci_2018,
        source="OpenBCI/OpenBCI_GUI `OpenBCI_GUI/DataLogging.pde`",
        channels=tuple(f"ch{place}" for place in range(1, 8)),
        rate=200.0,
        began_s=BEGAN_S,
        notes=(
            "lines 1 to 6 skipped: remarks",
            "no header line",
            "column 'ch9' is the clock, because its numbers count from 1970",
            "column 'ch8' left out: 'ch9' is the clock, and it tells",
            "column 'ch0' left out: it only counts the rows",
            "clock 'ch9' read as milliseconds since 1970",
        ),
    ),
    Case(
        file="openbci_old.txt",
        program="OpenBCI, its first program",
        made="bytes",
        write=_openbci_rate_only,
        source=UNVERIFIED,
        channels=("ch1", "ch2", "ch3", "ch4"),
        rate=250.0,
        notes=(
            "lines 1 to 5 skipped: remarks",
            "no header line: the channels are named ch0 to ch4",
            "column 'ch0' left out: it only counts the rows",
            "rate of 250 Hz taken from the lines above the table",
        ),
    ),
    Case(
        file="mind_monitor.csv",
        program="Mind Monitor (Muse)",
        made="bytes",
        write=_mind_monitor,
        source="hpi-dhc/devicely `tests/Muse_test_data/read_test_data.csv`",
        channels=_MUSE,
        rate=10.0,
        began_s=BEGAN_S,
        notes=(
            "column 'Elements' left out: it holds text",
            "1 row without a value left out: the clock 'TimeStamp' goes",
        ),
    ),
)
