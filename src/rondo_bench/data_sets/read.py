"""Read a data set by name: recordings for those who learn, annotations apart for those who score.

Under the data directory (option --data, the variable RONDO_DATA, or the user's settings) each set has a folder of its
name, whatever the case and punctuation of that; those of one repository may lie in its clone. Its files are found by
what lies there: our .npz form first, then the official files. A path instead of a name is a folder of one's own
recordings.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from rondo.annotations.annotation import Annotation
from rondo.data.recording import Recording
from rondo.errors import AnnotationError, RecordingError, SettingError
from rondo_bench.data_sets import motion, series, stored, wearables, work
from rondo_bench.data_sets.catalogue import Listing, find_data_set, folders_of, is_known
from rondo_bench.data_sets.tables import Reader


class DataSet(NamedTuple):
    """Recordings without classes, and the annotations of those that have one."""

    name: str  # of the set, or of the folder
    recordings: tuple[Recording, ...]
    annotations: Mapping[str, Annotation]  # by id of the recording


_STORED = Reader(stored.find_npz, stored.read_recording, stored.read_annotation)
_OWN_FILES = Reader(stored.find_files, stored.read_recording, stored.read_annotation)
_OFFICIAL = motion.READERS | wearables.READERS | work.READERS | series.READERS


class Copy(NamedTuple):
    """A copy of a data set on this machine: its files in order, each a recording, and what reads them."""

    name: str
    listing: Listing | None  # None: a folder of one's own
    reader: Reader
    paths: tuple[Path, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self.reader.recording_id(path) for path in self.paths)

    def read_recording(self, path: Path) -> Recording:
        """One recording; at the rate of the catalogue where the file does not tell its own."""
        recording = self.reader.read_recording(path)
        if recording.rate is None and self.listing is not None and self.listing.rate is not None:
            return replace(recording, rate=self.listing.rate)
        return recording

    def read(self, path: Path) -> tuple[Recording, Annotation | None]:
        """One recording and, apart, its annotation if it has one; they must be of one length."""
        recording, annotation = self.read_recording(path), self.reader.read_annotation(path)
        if annotation is not None and annotation.n_frames != recording.n_frames:
            raise AnnotationError(
                f"{path}: it has {recording.n_frames} frames, but its annotation {annotation.n_frames}; "
                "label every frame once, or get it again"
            )
        return recording, annotation


def read_data_set(name: str, folder: Path | None = None, limit: int | None = None, only: Sequence[str] = ()) -> DataSet:
    """A public data set from a local copy (`folder` as in `data_directory`), or the recordings of a folder of your own.

    `only` names recordings, in the order in which they are wanted; `limit` takes the first so many.
    """
    if limit is not None and limit < 1:
        raise SettingError(f"a limit of {limit} recordings leaves none; expected 1 or more")
    copy = find_copy(name, folder)
    by_id = dict(zip(copy.ids, copy.paths, strict=True))
    missing = next((id for id in only if id not in by_id), None)
    if missing is not None:
        raise SettingError(f"{copy.name} has no recording '{missing}'; it has {', '.join(list(by_id)[:12])}")
    paths = [by_id[id] for id in only] or copy.paths
    pairs = [copy.read(path) for path in paths[:limit]]
    annotations = {recording.id: annotation for recording, annotation in pairs if annotation is not None}
    return DataSet(copy.name, tuple(recording for recording, _ in pairs), annotations)


def find_copy(name: str, folder: Path | None = None) -> Copy:
    """Where a data set lies, without reading it; an error where there is no copy."""
    if os.sep in name or (not is_known(name) and Path(name).is_dir()):  # a known name is no path, whatever lies here
        path = Path(name)
        return Copy(path.resolve().name, None, _OWN_FILES, tuple(stored.find_files(path)))
    known, data_dir = find_data_set(name), data_directory(folder)
    copy = None if data_dir is None else local_copy(known, data_dir)
    if copy is not None:
        return copy
    if data_dir is None:
        raise SettingError(
            f"where is {known.name}? Give the folder of data sets with --data or the variable RONDO_DATA"
        )
    raise RecordingError(
        f"{data_dir}: no files of {known.title} in {data_dir / known.name}; "
        f"get them with `rondo datasets download {known.name} --data {data_dir}`"
    )


def local_copy(known: Listing, data_dir: Path | None) -> Copy | None:
    """The copy of a data set under the data directory, or None."""
    if data_dir is None:
        return None
    if not data_dir.is_dir():
        raise SettingError(f"{data_dir}: no such folder of data sets; check --data or the variable RONDO_DATA")
    readers = [_STORED, *([_OFFICIAL[known.name]] if known.name in _OFFICIAL else [])]
    readers.sort(key=lambda reader: not reader.comes_first)
    for place in folders_of(known, data_dir):
        for reader in readers:
            paths = reader.find_files(place)
            if paths:
                return Copy(known.name, known, reader, tuple(paths))
    return None


def data_directory(given: Path | None = None) -> Path | None:
    """The folder that holds data sets: the one given, that of the variable RONDO_DATA, that of the settings, or none.

    The settings are the line `data = "DIR"` in `rondo/rondo.toml` under the user's folder of settings (~/.config).
    """
    if given is not None:
        return given
    named = os.environ.get("RONDO_DATA")
    if named:
        return Path(named)
    home = os.environ.get("XDG_CONFIG_HOME")
    settings = (Path(home) if home else Path("~/.config").expanduser()) / "rondo" / "rondo.toml"
    try:
        folder = tomllib.loads(settings.read_text(encoding="utf-8")).get("data")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise SettingError(f"{settings}: it cannot be read ({error}); correct it or take it away") from None
    if folder is not None and not isinstance(folder, str):
        raise SettingError(
            f'{settings}: data is {folder!r}; expected the path of a folder, as data = "/where/they/are"'
        )
    return Path(folder).expanduser() if folder else None
