"""Data sets kept as plain files: one .npz (X, perhaps y) or table per recording, and perhaps a `meta.json` beside them.

    X           (n_frames, n_channels); with it `rate`, `channels`, `time` if known, as in any recording
    y           the class of each frame, for evaluation only; a csv has a column `label`, `class`, `activity` ...
                or, for `day1.npz`, a file `day1_labels.npy`, .csv or .npz beside it
    meta.json   "channels": the name of each column, "classes": the names of classes 0, 1, ..., or {"5": "sitting"}

A folder of one's own files is read in the same way; where they hold no classes there is nothing to score against.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from rondo.annotations import annotation as label_tracks
from rondo.annotations.annotation import Annotation
from rondo.arrays import npy_header
from rondo.data.recording import Recording
from rondo.errors import AnnotationError, RecordingError
from rondo.files import read as files
from rondo.files.column_values import is_label_name
from rondo.files.columns import class_codes, signals_of
from rondo.files.reading import Reading
from rondo.wording import counted

META = "meta.json"
_HEAD_BYTES = 1 << 16


def find_npz(folder: Path) -> list[Path]:
    """The .npz directly in a folder: the form in which data sets are kept once they are read."""
    found = sorted(path for path in folder.glob("*.npz") if path.is_file() and not path.name.startswith("."))
    return files.without_label_files(found)


def find_files(folder: Path) -> list[Path]:
    """Files of a known suffix directly in a folder of one's own, sorted."""
    return [Path(file) for file in files.find_recordings([folder])]


def read_recording(path: Path) -> Recording:
    """One recording, without its classes; channels are named by `meta.json` where the file does not."""
    named = annotation_key(path) if path.suffix.lower() != ".npz" else None
    recording = files.read_all_columns(path, Reading(leave_out=named or ()))
    channels = _meta(path).get("channels")
    if not channels or not recording.is_unnamed:
        return signals_of(recording, rules=(class_codes,))
    if len(channels) != recording.n_channels:
        where = path.with_name(META)
        raise RecordingError(
            f"{path}: it has {counted(recording.n_channels, 'channel')}, but {where} names {len(channels)}; "
            "get the file again, or correct the names"
        )
    return signals_of(replace(recording, channels=tuple(channels)), rules=(class_codes,))


def read_annotation(path: Path) -> Annotation | None:
    """The classes stored with a recording, for evaluation; None where there are none."""
    key = annotation_key(path)
    beside = [path.with_name(f"{path.stem}{files.LABELS}{suffix}") for suffix in label_tracks.SUFFIXES]
    apart = next((file for file in beside if file.is_file()), None)
    if key is None and apart is None:
        return None
    if key is not None:
        track = label_tracks.read_annotation(path, key)
    else:
        found = label_tracks.read_annotation(cast(Path, apart))
        track = Annotation(found.classes, found.names, id=path.stem)
    classes = _meta(path).get("classes")
    if track.names or not classes or isinstance(classes, str):  # a text is a remark on the classes
        return track
    return named_by_number(
        track, dict(enumerate(classes)) if isinstance(classes, list) else classes, path.with_name(META)
    )


def size_of(path: Path) -> tuple[int, int]:
    """Frames and channels of a file without reading all of it: an .npz tells it, text by the length of its lines.

    About, for text: columns of time and of classes count as channels.
    """
    match path.suffix.lower():
        case ".npz":
            return _size_of_array(path)
        case ".csv" | ".tsv" | ".txt":
            with path.open("rb") as file:
                lines = file.read(_HEAD_BYTES).split(b"\n")
            whole = lines[1:-1] or lines
            n_columns = max(whole[0].count(separator) for separator in (b",", b";", b"\t", b" ")) + 1
            return int(path.stat().st_size * len(whole) / sum(len(line) + 1 for line in whole)), n_columns
        case _:
            recording = files.read_recording(path)
            return recording.n_frames, recording.n_channels


def _size_of_array(path: Path) -> tuple[int, int]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open("X.npy") as member:
            shape = npy_header(member).shape
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise RecordingError(f"{path}: it is damaged, or no .npz with X ({error}); get it again") from None
    return shape[0] if shape else 0, shape[1] if len(shape) > 1 else 1


def annotation_key(path: Path) -> str | None:
    """The array or column that holds classes, by its name; None where there is none."""
    match path.suffix.lower():
        case ".npz":
            try:
                with zipfile.ZipFile(path) as archive:
                    return "y" if "y.npy" in archive.namelist() else None
            except (OSError, zipfile.BadZipFile) as error:
                raise RecordingError(f"{path}: it is damaged, or no .npz ({error}); get it again") from None
        case ".csv":
            with path.open(encoding="utf-8-sig", errors="replace") as file:
                columns = [name.strip().strip('"') for name in file.readline().split(",")]
            return next((name for name in columns if is_label_name(name)), None)  # `y` may be an axis
        case _:
            return None


def named_by_number(track: Annotation, names: Mapping[Any, str], where: Path) -> Annotation:
    """Classes renumbered 0, 1, ... in the order of their published numbers, so that each has its name.

    0 is `none` where it has no name; with a number that has none the track stays as it is.
    """
    try:
        by_number = {0: "none"} | {int(number): str(name) for number, name in names.items()}
    except (AttributeError, TypeError, ValueError):
        raise AnnotationError(f"{where}: 'classes' must be a list of names, or names by number") from None
    known = np.array(sorted(by_number))
    if not np.isin(track.classes, known).all():
        return track
    return Annotation(np.searchsorted(known, track.classes), tuple(by_number[int(i)] for i in known), id=track.id)


def _meta(path: Path) -> dict[str, Any]:
    where = path.with_name(META)
    if not where.is_file():
        return {}
    try:
        meta = json.loads(where.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RecordingError(f"{where}: it cannot be read as JSON ({error}); correct it or take it away") from None
    return meta if isinstance(meta, dict) else {}
