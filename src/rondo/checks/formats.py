"""What every format of recordings does: each check is a function that takes a `Sample`, a sound file and its format.

The format is one that `rondo discover` finds: of Rondo, or of an installed package that names it as an entry point.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.testing as npt

from rondo.checks.running import run_checks
from rondo.data.recording import Recording
from rondo.errors import RecordingError
from rondo.files.read import read_recording
from rondo.files.reading import RECORDING_FORMATS, Reading, RecordingFormat
from rondo.store.reading import read_regular

FOREIGN = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


class Sample(NamedTuple):
    """A file that may be written over, and what it holds."""

    path: Path
    content: bytes
    whole: Recording
    reading: Reading | None = None
    n_tries: int = 40
    n_unsure: int = 0  # frames at the end of a file that was cut: the last number of a text may lack digits

    def read_or_refused(self, content: bytes) -> Recording | None:
        """What a file of this name holds; or one line that names it, and nothing else."""
        self.path.write_bytes(content)
        try:
            recording = read_recording(self.path, self.reading)
        except RecordingError as error:
            assert str(error).startswith(f"{self.path}: "), "an error names the file"
            assert len(str(error).splitlines()) == 1, "an error is one line"
            return None
        finally:
            self.path.write_bytes(self.content)
        assert np.issubdtype(recording.values.dtype, np.floating) and np.isfinite(recording.values).any()
        return recording


Check = Callable[[Sample], object]


def reading_twice_gives_the_same(sample: Sample) -> None:
    again = read_recording(sample.path, sample.reading)
    npt.assert_array_equal(again.values, sample.whole.values)
    assert (again.channels, again.rate, again.id) == (sample.whole.channels, sample.whole.rate, sample.whole.id)
    assert read_regular(sample.path) == sample.content, "reading leaves the file alone"


def cut_anywhere_it_is_refused_or_gives_its_beginning(sample: Sample) -> int:
    """How often a file that was cut could be read."""
    n_read = 0
    for part in range(sample.n_tries):
        found = sample.read_or_refused(sample.content[: len(sample.content) * part // sample.n_tries])
        if found is not None:
            n_read += 1
            n_sure = found.n_frames - sample.n_unsure
            assert 0 < found.n_frames <= sample.whole.n_frames
            npt.assert_array_equal(found.values[:n_sure], sample.whole.values[:n_sure])
    return n_read


def flipped_bits_and_other_files_are_refused_or_read(sample: Sample) -> None:
    rng = np.random.default_rng(5)
    for _ in range(sample.n_tries + sample.n_tries // 2):
        damaged = np.frombuffer(sample.content, np.uint8).copy()
        damaged[rng.integers(0, damaged.size, 3)] ^= np.uint8(1 << rng.integers(0, 8))
        sample.read_or_refused(damaged.tobytes())
    for size in (1, 8, 300):
        sample.read_or_refused(rng.bytes(size))


def a_picture_is_no_recording(sample: Sample) -> None:
    assert sample.read_or_refused(FOREIGN) is None


FORMAT_CHECKS: tuple[Check, ...] = (
    reading_twice_gives_the_same,
    cut_anywhere_it_is_refused_or_gives_its_beginning,
    flipped_bits_and_other_files_are_refused_or_read,
    a_picture_is_no_recording,
)


def check_format(format: RecordingFormat, file: str | Path, reading: Reading | None = None, n_unsure: int = 0) -> None:
    """Run `FORMAT_CHECKS` on a sound file of a format; copies are damaged, the file is left alone.

    `n_unsure` frames at the end of a file that was cut may differ, as where numbers are text.
    """
    file = Path(file)
    assert RECORDING_FORMATS.get(format.name) is format, "an installed package names it: see CONTRIBUTING.md"
    assert format.suffixes or format.knows_folder is not None
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in format.suffixes)
    assert file.suffix.lower() in format.suffixes, "the file has one of its suffixes"
    assert format.help, "`help` says what is read"
    with tempfile.TemporaryDirectory() as folder:
        for part in file.parent.glob(f"{file.stem}.*"):  # a header and its samples
            shutil.copyfile(part, Path(folder, part.name))
        path = Path(folder, file.name)
        whole = read_recording(path, reading)
        run_checks(FORMAT_CHECKS, Sample(path, read_regular(path), whole, reading, n_unsure=n_unsure), format.name)
