"""One file of the corpus: what cases.toml says of it, and the tools with which writers make it.

Nothing here is written with Rondo. Every file comes from another library, or is written line by line in the layout of
its program. Where a public file, reader or writer of that layout was found, the case names it as its source.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Table = NDArray[np.float64]
Made = Table | Sequence[Table]  # several tables where the file holds several recordings
Writer = Callable[[Path, int], Made]  # writes so many rows and returns the values that must be read
Before = Callable[[int], str]

XYZ = ("x", "y", "z")
BEGAN_S = 1_794_774_665  # 2026-11-15 20:31:05 UTC
EARLY = datetime(2026, 2, 3, tzinfo=UTC)  # may be 3 February or 2 March
WAYS_OF_WRITING = ("clocks", "layouts")  # no programs: the documentation explains them one by one


@dataclass(frozen=True, kw_only=True)
class Case:
    """What cases.toml says of a file, in its words."""

    family: str
    file: str
    program: str
    made: str = "bytes"
    source: str = ""
    channels: Sequence[str] = XYZ
    rate: float | None = None
    began_s: float | None = None
    refused: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    rename: str = ""
    needs: Sequence[str] = ()

    @property
    def row(self) -> str:
        """In the table of docs/results/programs.md."""
        read = f"{len(self.channels):,} channel" + ("s" if len(self.channels) > 1 else "")
        read += "" if self.rate is None else f", {self.rate:.4g} Hz"
        if self.options:
            read += f"; with {', '.join(f'`--{flag(name)} {value}`' for name, value in self.options.items())}"
        if self.rename:
            read += f"; after renaming to `{self.rename}`"
        elif self.refused and not self.options:
            read += "; after the change that the message names"
        return f"| {self.program} | {self.made} | {read} | {self.source or f'written by {self.made}'} |"


def cases() -> Iterator[Case]:
    for family, members in tomllib.loads(Path(__file__).with_name("cases.toml").read_text(encoding="utf-8")).items():
        for member in members:
            yield Case(family=family, **member | {"channels": tuple(_numbered(member.get("channels", XYZ)))})


def corpus_table() -> list[str]:
    """The lines of the table in docs/results/programs.md."""
    head = ["| program | made with | read as | layout looked up in |", "|---|---|---|---|"]
    return head + [case.row for case in cases() if case.family not in WAYS_OF_WRITING]


def flag(name: str) -> str:
    return name.replace("_", "-")


def _numbered(names: Sequence[str]) -> Sequence[str]:
    """
    >>> _numbered(["ch2", "…", "ch5"])
    ['ch2', 'ch3', 'ch4', 'ch5']
    """
    if "…" not in names:
        return names
    stem, first, last = re.fullmatch(r"(\D+)(\d+)…\D+(\d+)", "".join(names)).groups()  # type: ignore[union-attr]
    return [f"{stem}{number}" for number in range(int(first), int(last) + 1)]


def signal(n_rows: int, n_channels: int = 3, digits: int = 3) -> Table:
    """Three movements in turn, with noise, to as many digits as a file holds."""
    rng = np.random.default_rng(7)
    kind = np.arange(n_rows) // 150 % 3
    phase = np.cumsum(np.array([0.1, 0.4, 0.9])[kind])
    strength = np.array([2.0, 0.5, 1.0])[kind]
    clean = [strength * np.sin(phase + channel) + 0.4 * kind * (channel % 5) for channel in range(n_channels)]
    return np.round(np.stack(clean, axis=1) + 0.05 * rng.normal(size=(n_rows, n_channels)), digits)


def text(path: Path, *lines: str, end: str = "\n", encoding: str = "utf-8") -> None:
    """Lines as a device writes them."""
    path.write_bytes("".join(line + end for line in lines).encode(encoding))


def rows(values: Table, before: Before = lambda row: "", separator: str = ",", after: str = "") -> list[str]:
    """Each row between separators, after what comes before it."""
    return [before(row) + separator.join(f"{cell:g}" for cell in line) + after for row, line in enumerate(values)]


def table(
    *head: str,
    before: Before = lambda row: "",
    values: Callable[[int], Table] = signal,
    separator: str = ",",
    after: str = "",
    end: str = "\n",
    encoding: str = "utf-8",
) -> Writer:
    """The writer of a file that is head lines and rows, and nothing else."""

    def write(path: Path, n: int) -> Table:
        text(path, *head, *rows(values(n), before, separator, after), end=end, encoding=encoding)
        return values(n)

    return write


def frame(n: int, names: Sequence[str] = XYZ, rate: float = 50) -> pd.DataFrame:
    """A clock in seconds, and the signal."""
    found = pd.DataFrame(signal(n, len(names)), columns=list(names))
    found.insert(0, "time", np.arange(n) / rate)
    return found


def at(row: int, rate: float) -> datetime:
    """The moment of a row, of those that begin at BEGAN_S."""
    return datetime.fromtimestamp(BEGAN_S, UTC) + timedelta(seconds=row / rate)


def early(row: int, minutes: float = 1) -> datetime:
    """The moment of a row, of those that begin at EARLY."""
    return EARLY + timedelta(minutes=minutes * row)


def seconds(row: int) -> str:
    """The first cell of a row, at 50 Hz."""
    return f"{row / 50:.2f},"


def java_number(number: float) -> str:
    """A double as Java prints it: from ten millions on with an exponent."""
    if abs(number) < 1e7:
        return repr(float(number))
    digits, exponent = f"{number:.15e}".split("e")
    return f"{digits.rstrip('0')}E{int(exponent)}"
