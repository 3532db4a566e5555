"""One file as a person has it: who writes such files, how this one is made, and what must be read from it.

Nothing here is written with Rondo. Every file comes from another library, or is written line by line in the layout of
its program. Where a public file, reader or writer of that layout was found, the case names it as its source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = NDArray[np.float64]
Made = Table | Sequence[Table]
Writer = Callable[[Path, int], Made]

XYZ = ("x", "y", "z")
UNVERIFIED = "unverified"
NO_PROGRAM = "no one program"
BEGAN_S = 1_794_774_665  # 2026-11-15 20:31:05 UTC
EARLY = datetime(2026, 2, 3, tzinfo=UTC)  # may be 3 February or 2 March
EARLY_S = EARLY.timestamp()


@dataclass(frozen=True, kw_only=True)
class Case:
    """A file, and what `rondo.read` must make of it.

    Parameters
    ----------
    file
        Its name, unique in the corpus.
    program
        Who writes such files.
    made
        How this one is made: a library, or "bytes".
    source
        Where the layout was looked up: a file of a public repository, or a document; `UNVERIFIED` where none was
        found, `NO_PROGRAM` where no particular program writes it so. None for what the library decides alone.
    write
        `write(path, n_rows)` writes it and returns the values that must be read; a list of tables where the file holds
        several recordings.
    channels, rate, began_s
        Of what is read; `rate` None where nothing tells it, `began_s` None where it does not matter.
    notes
        A part of each note: one for each that is given, and none is given besides.
    refused
        A part of the refusal that comes first, where `options` are needed. It must name each of them.
    options
        Of `rondo.read`, as the refusal advises, if there is one.
    rename
        The suffix that the refusal advises to give the file.
    mend
        Follows any other advice: changes the file, or makes another and returns it.
    needs
        A library without which it cannot be made or read.
    """

    file: str
    program: str
    made: str
    write: Writer
    source: str = ""
    channels: tuple[str, ...] = XYZ
    rate: float | None = None
    began_s: float | None = None
    notes: tuple[str, ...] = ()
    refused: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    rename: str = ""
    mend: Callable[[Path], Path | None] | None = None
    needs: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """What is read, in a few words for the table in the documentation."""
        n_channels = len(self.channels)
        read = f"{n_channels:,} channel" + ("s" if n_channels > 1 else "")
        if self.rate is not None:
            read += f", {self.rate:.4g} Hz"
        told = [f"`--{name.replace('_', '-')} {_spelled(value)}`" for name, value in self.options.items()]
        if told:
            read += f"; with {', '.join(told)}"
        if self.rename:
            return f"{read}; after renaming to `{self.rename}`"
        return f"{read}; after the change that the message names" if self.mend else read


def _spelled(value: object) -> str:
    names = value if isinstance(value, list | tuple) else [value]
    return " ".join(str(name) for name in names)


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


def rows(
    values: Table, before: Callable[[int], str] = lambda row: "", separator: str = ",", after: str = ""
) -> list[str]:
    """Each row between separators, after what comes before it."""
    return [before(row) + separator.join(f"{cell:g}" for cell in line) + after for row, line in enumerate(values)]


def at(row: int, rate: float) -> datetime:
    """The moment of a row, of those that begin at BEGAN_S."""
    return datetime.fromtimestamp(BEGAN_S, UTC) + timedelta(seconds=row / rate)


def minute(row: int, minutes: float = 1) -> datetime:
    """The moment of a row, of those that begin at EARLY."""
    return EARLY + timedelta(minutes=minutes * row)


def java_number(number: float) -> str:
    """A double as Java prints it: from ten millions on with an exponent."""
    if abs(number) < 1e7:
        return repr(float(number))
    digits, exponent = f"{number:.15e}".split("e")
    return f"{digits.rstrip('0')}E{int(exponent)}"
