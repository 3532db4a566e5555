"""AIOI: 60 spoken sentences of the words {aioi, aue, ao, ie, uo} in five Japanese vowels, labelled at two levels.

github.com/EmergentSystemLabStudent/aioi_dataset. Give --data the clone, or the folder that holds the clone. Each of its
folders `aioi_12dim` (MFCC) and `aioi_3dim` (the same compressed by a deep sparse autoencoder) has the same sentences:

    DATA/aioi_ao.txt     features of a frame in a row, numbers between blanks
    LABEL/aioi_ao.lab    the letter (phoneme) of each frame, a number in a row
    LABEL/aioi_ao.lab2   the word of each frame

Numbers of letters and words mean the same in all sentences; they have no names. No rate is given.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError
from rondo_bench.data_sets.number_table import read_numbers

_WHAT = "AIOI"
_LETTERS, _WORDS = ".lab", ".lab2"


def find_files(folder: Path) -> list[Path]:
    """The sentences that have features and both kinds of labels."""
    labels = folder / "LABEL"
    found = sorted((folder / "DATA").glob("*.txt"))
    return [path for path in found if all((labels / f"{path.stem}{end}").is_file() for end in (_LETTERS, _WORDS))]


def read_recording(path: Path) -> Recording:
    """One sentence, without its labels."""
    try:
        with path.open("rb") as file:
            n_columns = len(file.readline(1 << 16).split())
    except OSError:
        n_columns = 1  # what is wrong is told below
    return Recording(read_numbers(path, n_columns, range(n_columns), _WHAT), id=path.stem)


def read_letters(path: Path) -> Annotation:
    """The letter of each frame, the short level."""
    return _read_labels(path, _LETTERS)


def read_words(path: Path) -> Annotation:
    """The word of each frame, the long level."""
    return _read_labels(path, _WORDS)


def _read_labels(path: Path, end: str) -> Annotation:
    where = path.parent.with_name("LABEL") / f"{path.stem}{end}"
    numbers = read_numbers(where, 1, [0], _WHAT)[:, 0]
    odd = np.flatnonzero(~((numbers >= 0) & (numbers == np.floor(numbers))))
    if odd.size:
        raise AnnotationError(
            f"{where}: row {odd[0] + 1} has {numbers[odd[0]]:g} where the number of a label is expected; "
            "give the file as it is published"
        )
    return Annotation(numbers.astype(np.int64), id=path.stem)
