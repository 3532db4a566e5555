"""Annotation: the ground-truth class of every frame. For evaluation only: no learner may import this file.

Readers of label tracks, for truth and for predictions alike. A label is a whole number or a name; names are
numbered in sorted order, and no score depends on the numbers.

    .npy   one integer per frame
    .npz   the array `y`, or the one named by `key`
    .csv   a header, then one row per frame; the column named by `key`, or the first there is of y, label,
           labels, class, annotation, or the only column

Truth may also be spans that people drew in another program, or segments of a run (`rondo.annotations.formats`):
they are laid on the frames that the labels have, by a clock where their times are seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rondo.annotations import formats as annotation_files
from rondo.annotations.tracks import Track, choose_track, on_frames
from rondo.data.grid import FrameClock
from rondo.errors import AnnotationError, RecordingError
from rondo.files.column_values import is_label_name
from rondo.files.reading import id_of, packing_of, suffix_of
from rondo.files.text.spelling import is_number
from rondo.store.reading import open_regular, regular
from rondo.wording import quoted

if TYPE_CHECKING:
    import polars as pl


Classes = NDArray[np.int64]

USUAL_COLUMNS = ("y", "label", "labels", "class", "annotation")
SUFFIXES = (".csv", ".npy", ".npz")


@dataclass(frozen=True, eq=False)
class Annotation:
    """The class of every frame of a recording, for evaluation only.

    Parameters
    ----------
    classes : array
        A class for each frame (n_frames,): whole numbers, or names, which are numbered in sorted order. The attribute
        `classes` is a read-only array of int64.
    names : tuple of str
        The names of the classes 0, 1, ...; () if they have none.
    id : str
        The id of the recording.

    Raises
    ------
    AnnotationError
        If `classes` is empty, has another shape or no whole numbers, or `names` does not match it.

    Examples
    --------
    >>> annotation = Annotation(["walk", "walk", "sit"], id="day1")
    >>> annotation.classes.tolist(), annotation.names
    ([1, 1, 0], ('sit', 'walk'))
    """

    classes: Classes
    names: tuple[str, ...] = ()
    id: str = "recording"

    def __init__(self, classes: ArrayLike, names: tuple[str, ...] = (), id: str = "recording") -> None:
        numbers, found_names = _numbered(classes, f"annotation '{id}'")
        if names and found_names:
            raise AnnotationError(f"annotation '{id}': the classes are names already; leave out `names`")
        if names and not (numbers.min() >= 0 and numbers.max() < len(names)):
            raise AnnotationError(
                f"annotation '{id}': classes run from {numbers.min()} to {numbers.max()}, "
                f"but there are {len(names)} names; give one name for each of 0, 1, ..."
            )
        numbers.flags.writeable = False
        store = object.__setattr__
        store(self, "classes", numbers)
        store(self, "names", found_names or tuple(names))
        store(self, "id", str(id))

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return int(self.classes.size)


def classes_of(track: ArrayLike, where: str) -> Classes:
    """A label track (n_frames,) as int64; `where` names it in errors.

    >>> classes_of(["b", "a", "b"], "truth").tolist()
    [1, 0, 1]
    """
    return _numbered(track, where)[0]


def read_annotation(path: str | Path, key: str | None = None) -> Annotation:
    """Read one track from .npy, .npz or .csv, with the names of its classes if it has any."""
    path = Path(path)
    _refuse_no_file(path)
    suffix = suffix_of(path)
    if suffix not in SUFFIXES:
        raise AnnotationError(f"'{path}': cannot read '{suffix}'; give {quoted(SUFFIXES)}")
    track = _read_csv(path, key) if suffix == ".csv" else _read_numpy(path, key, is_archive=suffix == ".npz")
    numbers, names = _numbered(track, f"'{path}'")
    return Annotation(numbers, names, id=id_of(path))


def _refuse_no_file(path: Path) -> None:
    if not path.is_file():
        what = "not a regular file" if path.exists() else "no such file"
        raise AnnotationError(f"'{path}': {what}; expected a track of labels in {quoted(SUFFIXES)}")


def read_labels(path: str | Path, key: str | None = None) -> Classes:
    """Read one track of labels (n_frames,) from .npy, .npz or .csv."""
    return read_annotation(path, key).classes


def read_annotated(
    truth_path: str | Path,
    labels_path: str | Path,
    key: str | None = None,
    clock_of: Callable[[Path], FrameClock | None] = lambda _: None,
) -> dict[str, tuple[Annotation, Classes]]:
    """Truth and labels of each recording, from two files, or from two folders matched by file stem.

    `key` names the array, column or track of the truth; labels are read by the usual names. A file of annotations
    that tells recordings apart may be the truth of a whole folder. `clock_of` gives the clock of a file of labels.
    """
    truth_path, labels_path = Path(truth_path), Path(labels_path)
    is_for_all = truth_path.is_file() and labels_path.is_dir() and annotation_files.holds_spans(truth_path)
    if is_for_all and (labels_path / "labels").is_dir():
        raise AnnotationError(
            f"'{labels_path}': a run holds more than labels; did you mean '{labels_path / 'labels'}'?"
        )
    label_files = track_files(labels_path)
    if is_for_all:
        matched = {stem: (truth_path, file) for stem, file in label_files.items()}
    elif truth_path.is_dir() != labels_path.is_dir():
        raise AnnotationError(f"'{truth_path}' and '{labels_path}': give two files or two folders, not one of each")
    elif truth_path.is_dir():
        truth_files = track_files(truth_path, label_files)
        for here, there, where in ((truth_files, label_files, labels_path), (label_files, truth_files, truth_path)):
            if missing := sorted(here.keys() - there.keys()):
                inside = where / "labels"
                advice = f"did you mean '{inside}'?" if inside.is_dir() else "files are matched by stem"
                raise AnnotationError(f"'{where}': nothing there for {quoted(missing)}; {advice}")
        matched = {stem: (file, label_files[stem]) for stem, file in truth_files.items()}
    else:
        matched = {id_of(truth_path): (truth_path, labels_path)}
    is_only = len(matched) == 1 or truth_path.is_dir()
    pairs = {}
    for name, (truth_file, labels_file) in matched.items():
        _refuse_no_file(truth_file)
        labels = read_labels(labels_file)
        whose = f"'{labels_file}'"
        truth = _truth(
            truth_file, labels_file.stem, labels.size, key, clock_of(labels_file), is_only=is_only, whose=whose
        )
        pairs[name] = truth, labels
    return pairs


def track_files(path: Path, stems: Collection[str] = ()) -> dict[str, Path]:
    """The label tracks under `path` by stem; the file itself if it is none of a folder.

    Files of spans count only under one of the `stems` that has no track: a folder may hold other .txt and .json files.
    """
    if not path.is_dir():
        return {id_of(path): path}
    files: dict[str, Path] = {}
    inside = [file for file in sorted(path.iterdir()) if not file.name.startswith(".")]
    tracks = [file for file in inside if suffix_of(file) in SUFFIXES]
    wanted = set(stems) - {id_of(file) for file in tracks}
    of_spans = set(annotation_files.suffixes_of_spans()) - set(SUFFIXES)
    spans = [file for file in inside if file.suffix.lower() in of_spans and file.stem in wanted]
    for file in tracks + spans:
        stem = id_of(file)
        if stem in files:
            raise AnnotationError(f"'{files[stem]}' and '{file}' are both '{stem}'; keep one of them")
        files[stem] = file
    if not files:
        raise AnnotationError(f"'{path}': no label tracks in this folder; expected files in {quoted(SUFFIXES)}")
    return files


def _read_numpy(path: Path, key: str | None, *, is_archive: bool) -> NDArray[np.generic]:
    if key is not None and not is_archive:
        raise AnnotationError(f"'{path}': an .npy holds a single array, which has no name '{key}'; leave the key out")
    name = key or "y"
    try:
        with open_regular(path) as stream:  # np.load leaves a path it cannot read open
            stored = np.load(stream, allow_pickle=False)
            if isinstance(stored, np.ndarray) and not is_archive:
                return stored
            names = [] if isinstance(stored, np.ndarray) else sorted(stored.files)
            if is_archive and name in names:
                return np.asarray(stored[name])
    except Exception as error:  # foreign bytes make numpy raise almost anything, from EOFError to MemoryError
        what = f"cannot read '{name}' from this .npz" if is_archive else "not a readable .npy of numbers"
        raise AnnotationError(f"'{path}': {what} ({_first_line(error)})") from error
    if not is_archive:
        raise AnnotationError(f"'{path}': this is an .npz archive; rename it, or save one array with numpy.save")
    if isinstance(stored, np.ndarray):
        raise AnnotationError(f"'{path}': this is a single .npy array; rename it")
    raise AnnotationError(f"'{path}': no array '{name}', it holds {quoted(names)}; name one as the key")


def _read_csv(path: Path, key: str | None) -> NDArray[np.generic]:
    import polars as pl

    from rondo.files.text.lines import opened_text

    try:
        source: Path | bytes = regular(path)
        if packing_of(path):
            with opened_text(path) as file:  # bounded by the memory that is free; polars would unpack all there is
                source = file.read()
        table = pl.read_csv(source, infer_schema=False, glob=False)
        column = table[_column_of(table.columns, key, path)].str.strip_chars()
    except (AnnotationError, RecordingError, pl.exceptions.PolarsError, OSError, UnicodeError) as error:
        column = _column_as_recordings_have_it(path, key, error)
    missing = column.is_null() | (column == "")
    if missing.any():
        row = missing.arg_true()[0] + 2  # the header is line 1
        raise AnnotationError(f"'{path}', line {row}: no label in column '{column.name}'; label every frame")
    for kind in (pl.Int64, pl.Float64):
        numbers = column.cast(kind, strict=False)
        if not numbers.has_nulls():
            return numbers.to_numpy()
    return column.to_numpy().astype(np.str_)


def _column_as_recordings_have_it(path: Path, key: str | None, first: Exception) -> pl.Series:
    """From a table as `rondo discover` reads it: remarks above it, other separators, units, other encodings."""
    import polars as pl

    from rondo.files.text.layout import layout_of
    from rondo.files.text.table import read_cells

    try:
        layout, cells = read_cells(path, layout_of)
        if not layout.has_header:
            raise AnnotationError(f"'{path}': expected a header")
        table = pl.read_csv(
            cells,
            separator=layout.delimiter,
            has_header=False,
            new_columns=list(layout.names),
            infer_schema=False,
            encoding="utf8-lossy",
        )
        return table[_column_of(table.columns, key, path)].str.strip_chars()
    except (AnnotationError, RecordingError, pl.exceptions.PolarsError, OSError, UnicodeError):
        if isinstance(first, AnnotationError):
            raise first from None
        raise AnnotationError(f"'{path}': not a readable csv ({_first_line(first)})") from first


def _column_of(columns: list[str], key: str | None, path: Path) -> str:
    usual = [name for name in USUAL_COLUMNS if name in columns]
    usual = usual or [name for name in columns if is_label_name(name)]
    if key is not None:
        if key not in columns:
            has = f"it has {quoted(columns)}"
            raise AnnotationError(f"'{path}': no column '{key}', {has}; name one as the key (--key NAME)")
        return key
    if not usual and len(columns) != 1:
        raise AnnotationError(
            f"'{path}': which column holds the labels? None is called {quoted(USUAL_COLUMNS)}; "
            f"it has {quoted(columns)}; name one as the key (--key NAME)"
        )
    column = usual[0] if usual else columns[0]
    if is_number(column) or ";" in column or "\t" in column:
        raise AnnotationError(
            f"'{path}': the first line is '{column[:40]}'; expected a header, columns split by commas"
        )
    return column


def _numbered(track: ArrayLike, where: str) -> tuple[Classes, tuple[str, ...]]:
    """A track as whole numbers, and the names of 0, 1, ... where it was a track of names."""
    try:
        array = np.asarray(track)
    except ValueError as error:  # numpy's word for ragged nesting
        raise AnnotationError(f"{where}: expected one label per frame, got rows of unequal length") from error
    if array.ndim != 1:
        raise AnnotationError(f"{where}: expected one label per frame, shape (n_frames,), got {array.shape}")
    if array.size == 0:
        raise AnnotationError(f"{where}: it is empty; expected one label per frame")
    if array.dtype.kind in "OT" and all(isinstance(label, str) for label in array):  # text of pandas is objects
        array = array.astype(str)
    if array.dtype.kind == "U" and array.dtype.itemsize:
        names, numbers = np.unique(array, return_inverse=True)
        try:
            return numbers.astype(np.int64), tuple(names.tolist())
        except ValueError as error:  # bytes that are no characters
            raise AnnotationError(f"{where}: the class names are not text ({_first_line(error)})") from error
    if array.dtype.kind not in "iubf":
        raise AnnotationError(f"{where}: expected whole numbers or names as labels, got an array of {array.dtype}")
    if array.dtype.kind in "uf":
        values = array.astype(np.float64)
        unfit = (values != np.rint(values)) | ~(np.abs(values) <= 2**53)  # NaN fails both, infinity the second
        if unfit.any():
            frame = int(np.flatnonzero(unfit)[0])
            raise AnnotationError(
                f"{where}: labels must be whole numbers, got {values[frame]} in frame {frame}; "
                "name the column or array that holds them as the key (--key)"
            )
    return array.astype(np.int64), ()


def _first_line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:120]


def truth_of(
    path: Path, n_frames: Mapping[str, int], key: str | None, clock_of: Callable[[str], FrameClock | None], *,
    goes_on: bool = False,
) -> dict[str, Annotation]:  # fmt: skip
    """The annotation of each recording, by its id; `n_frames` says how long they are, `clock_of` by which clock.

    A folder holds a file for each recording, matched by file stem; a file is about the only recording, or holds spans
    that tell recordings apart. Of a stream that `goes_on`, what was annotated of the frames that have come.
    """
    if not path.exists():
        raise AnnotationError(f"'{path}': no such file or folder; give annotations as for `rondo evaluate`")
    is_only = len(n_frames) == 1 or path.is_dir()
    if path.is_dir():
        files = track_files(path, list(n_frames))
        missing = [id for id in n_frames if id not in files]
        if missing:
            raise AnnotationError(
                f"'{path}': no file there is called '{missing[0]}', as the recording is; files are matched by stem"
            )
    elif is_only or annotation_files.holds_spans(path):
        files = dict.fromkeys(n_frames, path)
    else:
        raise AnnotationError(
            f"'{path}': one file for {len(n_frames)} recordings; give two files or two folders, one recording, or "
            "annotations that name the recordings"
        )
    return {
        id: _truth(files[id], id, n_frames[id], key, clock_of(id), is_only=is_only, goes_on=goes_on) for id in n_frames
    }


def _truth(
    file: Path, id: str, n_frames: int, key: str | None, clock: FrameClock | None, *, is_only: bool,
    goes_on: bool = False, whose: str = "",
) -> Annotation:  # fmt: skip
    """The class of each frame of a recording, from spans or from one label per frame."""
    if annotation_files.holds_spans(file):
        track = choose_track(annotation_files.read_tracks(file), key, id, file, is_only=is_only)
        reach = max(n_frames, _reach(track, clock)) if goes_on else n_frames
        return Annotation(on_frames(track, reach, clock, file)[:n_frames], id=id)
    found = read_annotation(file, key)
    if found.n_frames < n_frames or (found.n_frames > n_frames and not goes_on):
        whose = whose or f"the recording '{id}'"
        raise AnnotationError(
            f"'{file}' has {found.n_frames} frames, but {whose} has {n_frames}; give one class per frame"
        )
    return Annotation(found.classes[:n_frames], found.names, id)


def _reach(track: Track, clock: FrameClock | None) -> int:
    """Frames up to the end of the last annotation, wherever the stream is: nothing of it lies outside then."""
    last = max((span.stop for span in track.spans), default=0.0)
    if track.axis == "frames" or clock is None:
        return int(last) + 1
    return int(clock.frames_at(last + (clock.start_s if track.axis == "seconds" else 0.0))) + 1
